//! Files of secrets in a workspace, found by a bounded walk whose results are kept per directory.
//!
//! The sandbox hides them, so the walk runs before every command. A directory whose stamp is unchanged is not listed
//! again: a repeated walk costs one look per directory. Generated directories are walked last and only within the bound.
//!
//! Limits: the walk stops after [`MAX_ENTRIES`] entries and does not follow links.

use super::{holds_secret, is_by_content, is_env_file};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Entries that one walk lists at most.
const MAX_ENTRIES: usize = 60_000;
/// Directories inside directories.
const MAX_DEPTH: usize = 24;
/// Workspaces whose directories are kept.
const MAX_ROOTS: usize = 8;
/// A directory that changed this recently is listed again: its stamp may not tell two changes apart.
const FRESH_NANOSECONDS: i128 = 100_000_000;
/// Generated directories: walked after everything else.
const GENERATED: [&str; 8] =
    ["node_modules", "target", "vendor", ".venv", "venv", "__pycache__", "dist", "build"];

/// The mark by which two states of a directory differ.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    modified: i128,
    changed: i128,
}

impl Stamp {
    fn from_metadata(facts: &Metadata) -> Self {
        let moment =
            |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        Stamp {
            device: facts.dev(),
            inode: facts.ino(),
            modified: moment(facts.mtime(), facts.mtime_nsec()),
            changed: moment(facts.ctime(), facts.ctime_nsec()),
        }
    }
}

/// The content of a directory when it was listed.
struct Listing {
    stamp: Stamp,
    listed_at: i128,
    entries: usize,
    directories: Vec<OsString>,
    secrets: Vec<OsString>,
}

type Cache = BTreeMap<PathBuf, BTreeMap<PathBuf, Listing>>;

static CACHE: Mutex<Cache> = Mutex::new(Cache::new());

/// The files of secrets below a workspace, as absolute paths.
#[must_use]
pub fn closed_in(root: &Path) -> Vec<PathBuf> {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if cache.len() > MAX_ROOTS && !cache.contains_key(root) {
        cache.clear();
    }
    let known = cache.entry(root.to_path_buf()).or_default();
    let mut next = BTreeMap::new();
    let mut closed = Vec::new();
    let mut entries = 0;
    let (mut ordinary, mut generated) = (VecDeque::from([(root.to_path_buf(), 0)]), VecDeque::new());
    while let Some((directory, depth)) = ordinary.pop_front().or_else(|| generated.pop_front()) {
        if entries > MAX_ENTRIES {
            break;
        }
        let Some(listing) = listing(&directory, known.remove(&directory)) else { continue };
        entries += listing.entries;
        for name in &listing.secrets {
            let path = directory.join(name);
            if !is_by_content(&name.to_string_lossy())
                || File::open(&path).map_or(true, |file| holds_secret(&path, file))
            {
                closed.push(path);
            }
        }
        for name in listing.directories.iter().filter(|_| depth < MAX_DEPTH) {
            let queue = match name.to_str() {
                // Closed to tools and read-only in the sandbox as a whole.
                Some(".git" | ".marvin" | ".tickets") if depth == 0 => continue,
                Some(name) if GENERATED.contains(&name) => &mut generated,
                _ => &mut ordinary,
            };
            queue.push_back((directory.join(name), depth + 1));
        }
        next.insert(directory, listing);
    }
    *known = next;
    closed.sort();
    closed
}

/// The listing of a directory: the known one if nothing changed, else a new one.
fn listing(directory: &Path, known: Option<Listing>) -> Option<Listing> {
    let facts = fs::symlink_metadata(directory).ok().filter(Metadata::is_dir)?;
    let stamp = Stamp::from_metadata(&facts);
    if let Some(known) = known
        && known.stamp == stamp
        && known.listed_at - stamp.modified.max(stamp.changed) > FRESH_NANOSECONDS
    {
        return Some(known);
    }
    let now = marvin_base::clock::now().as_nanosecond();
    let mut found =
        Listing { stamp, listed_at: now, entries: 0, directories: Vec::new(), secrets: Vec::new() };
    for entry in fs::read_dir(directory).ok()?.flatten() {
        found.entries += 1;
        let name = entry.file_name();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.directories.push(name),
            // A link is closed by its target, which is listed itself if it lies here.
            Ok(kind) if kind.is_symlink() => {}
            _ if is_env_file(&directory.join(&name)) => found.secrets.push(name),
            _ => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        marvin_testing::write(root.join(path), text);
    }

    #[test]
    fn s11_files_of_secrets_are_found_wherever_they_lie() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in
            [".env", "a/b/.env.local", "certs/tls.key", "node_modules/x/.env", "infra/terraform.tfstate"]
        {
            put(root, path, "-----BEGIN PRIVATE KEY-----");
        }
        put(root, ".env.example", "A=");
        put(root, "certs/ca.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
        put(root, ".npmrc", "registry=https://registry.npmjs.org/\n");
        put(root, "src/main.rs", "");
        let found = |root: &Path| -> Vec<String> {
            let inside = |path: PathBuf| path.strip_prefix(root).unwrap().display().to_string();
            closed_in(root).into_iter().map(inside).collect()
        };
        let first =
            [".env", "a/b/.env.local", "certs/tls.key", "infra/terraform.tfstate", "node_modules/x/.env"];
        assert_eq!(found(root), first);
        // New files and new content are seen at once.
        put(root, "src/.env", "A=1");
        put(root, ".npmrc", "//registry.npmjs.org/:_authToken=3f2504e0-4f89-41d3-9a0c-0305e82c3301\n");
        fs::remove_file(root.join("a/b/.env.local")).unwrap();
        let second =
            [".env", ".npmrc", "certs/tls.key", "infra/terraform.tfstate", "node_modules/x/.env", "src/.env"];
        assert_eq!(found(root), second);
    }

    #[test]
    #[ignore = "a measurement: cargo test -p marvin-gate --lib -- --ignored --nocapture measure_closed_in"]
    fn measure_closed_in() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..10_000 {
            put(directory.path(), &format!("d{}/e{}/f{number}.rs", number % 20, number % 400), "");
        }
        put(directory.path(), "d1/.env", "A=1");
        std::thread::sleep(std::time::Duration::from_millis(150));
        for round in ["first", "second", "third"] {
            let started = std::time::Instant::now();
            let found = closed_in(directory.path()).len();
            eprintln!("{round}: {found} found in {:?}", started.elapsed());
        }
    }
}
