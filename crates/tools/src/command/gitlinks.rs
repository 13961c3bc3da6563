//! Repositories that the index of a workspace's repository names as submodules. Git enters them for a plain `git status`,
//! and obeys the settings that it finds there.
//!
//! Limit: an index above [`MAX_INDEX_BYTES`] is not read.

use marvin_base::files::{self, Links};
use marvin_gate::steering;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

const MAX_INDEX_BYTES: u64 = 256 * 1024 * 1024;
/// The mode of an entry that is a commit of another repository.
const GITLINK: u32 = 0o160_000;
/// Bytes of an entry before its object's name.
const STAT_BYTES: usize = 40;
/// Bytes of an object's name: SHA-1, SHA-256.
const HASHES: [usize; 2] = [20, 32];
const EXTENDED: u16 = 0x4000;

/// The directories of the repositories that the index names.
pub(super) fn named_by_index(root: &Path) -> BTreeSet<PathBuf> {
    let Some(directory) = steering::git_directory(root) else { return BTreeSet::new() };
    let names = read(&directory.join("index"), &directory);
    let is_below = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    names.iter().map(Path::new).filter(|path| is_below(path)).map(|path| root.join(path)).collect()
}

/// The names of an index, and of the one that it shares entries with.
fn read(index: &Path, directory: &Path) -> Vec<String> {
    let Ok(bytes) = files::read(index, MAX_INDEX_BYTES, Links::Refuse) else { return Vec::new() };
    let Some(mut parsed) = HASHES.iter().find_map(|hash| Index::parse(&bytes, *hash)) else {
        return Vec::new();
    };
    if let Some(shared) = parsed.shared {
        let path = directory.join(format!("sharedindex.{shared}"));
        let shared = files::read(&path, MAX_INDEX_BYTES, Links::Refuse).unwrap_or_default();
        let shared = HASHES.iter().find_map(|hash| Index::parse(&shared, *hash));
        parsed.gitlinks.extend(shared.into_iter().flat_map(|shared| shared.gitlinks));
    }
    parsed.gitlinks
}

#[derive(Debug, Default)]
struct Index {
    gitlinks: Vec<String>,
    /// The name of the index that holds the other entries.
    shared: Option<String>,
}

impl Index {
    /// Reads an index with object names of this length; none where it is not one to its end.
    fn parse(bytes: &[u8], hash: usize) -> Option<Index> {
        let mut reader = Reader { rest: bytes };
        (reader.take(4)? == b"DIRC").then_some(())?;
        let version = reader.number()?;
        (2..=4).contains(&version).then_some(())?;
        let count = reader.number()?;
        let mut index = Index::default();
        let mut name: Vec<u8> = Vec::new();
        for _ in 0..count {
            let before = reader.rest.len();
            let stat = reader.take(STAT_BYTES)?;
            let mode = u32::from_be_bytes(stat.get(24..28)?.try_into().ok()?);
            reader.take(hash)?;
            let flags = reader.take(2)?;
            if u16::from_be_bytes(flags.try_into().ok()?) & EXTENDED != 0 {
                reader.take(2)?;
            }
            if version == 4 {
                let kept = name.len().checked_sub(reader.offset()?)?;
                name.truncate(kept);
            } else {
                name.clear();
            }
            name.extend_from_slice(reader.text()?);
            if version < 4 {
                // Entries end at a multiple of eight bytes.
                let taken = before - reader.rest.len();
                reader.take(taken.next_multiple_of(8) - taken)?;
            }
            if mode == GITLINK {
                index.gitlinks.push(String::from_utf8_lossy(&name).into_owned());
            }
        }
        while reader.rest.len() > hash {
            let kind = reader.take(4)?;
            let size = usize::try_from(reader.number()?).ok()?;
            let content = reader.take(size)?;
            if kind == b"link" {
                index.shared = content.get(..hash).map(hex::encode);
            }
        }
        (reader.rest.len() == hash).then_some(index)
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Bytes up to the next zero, which is taken too.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.rest)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    /// A number in the form of git's offsets.
    fn offset(&mut self) -> Option<usize> {
        let mut value: usize = 0;
        for digit in 0_usize.. {
            let byte = *self.take(1)?.first()?;
            let carry = usize::from(digit > 0);
            value = value.checked_add(carry)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_testing::git;

    #[test]
    fn gitlinks_are_found_in_every_form_of_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        git(root, &["init", "-q"]);
        for name in ["a.txt", "deep/er/b.txt", "deep/er/c.txt"] {
            marvin_testing::write(root.join(name), "x");
        }
        git(root, &["add", "."]);
        assert_eq!(named_by_index(root), BTreeSet::new());
        let link = "160000,4b825dc642cb6eb9a060e54bf8d69288fbee4904,deep/er/repo";
        git(root, &["update-index", "--add", "--cacheinfo", link]);
        let expected = BTreeSet::from([root.join("deep/er/repo")]);
        for form in [&["--index-version", "2"][..], &["--index-version", "4"], &["--split-index"]] {
            git(root, &[&["update-index"], form].concat());
            assert_eq!(named_by_index(root), expected, "{form:?}");
        }
    }

    #[test]
    fn what_is_not_an_index_names_nothing() {
        for bytes in [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\xff\xff\xff\xff", b"DIRC\0\0\0\x04\0\0\0\x01"] {
            assert!(HASHES.iter().all(|hash| Index::parse(bytes, *hash).is_none()));
        }
    }
}
