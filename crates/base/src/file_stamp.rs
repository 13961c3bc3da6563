//! Facts of a file that change with its content, by which a cache knows when to read it again.

use crate::clock;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file changed less than this before it was read may change again without its facts telling.
const RACY_NS: i128 = 50_000_000;

/// The facts of a file or a directory at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// Read so soon after it was written that it must be read again.
    racy: bool,
}

impl FileStamp {
    /// The facts now; `None` when the file does not exist.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<FileStamp> {
        std::fs::metadata(path).ok().map(|facts| FileStamp::from_metadata(&facts))
    }

    /// The facts that were just read of a file.
    #[must_use]
    pub fn from_metadata(facts: &Metadata) -> FileStamp {
        FileStamp {
            inode: facts.ino(),
            size: facts.size(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            changed: (facts.ctime(), facts.ctime_nsec()),
            racy: clock::now().as_nanosecond()
                - (i128::from(facts.ctime()) * 1_000_000_000 + i128::from(facts.ctime_nsec()))
                < RACY_NS,
        }
    }

    /// Is the file still the one that this was taken of?
    #[must_use]
    pub fn still(old: Option<FileStamp>, new: Option<FileStamp>) -> bool {
        match (old, new) {
            (None, None) => true,
            (Some(old), Some(new)) => !old.racy && FileStamp { racy: false, ..new } == old,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_rewritten_at_once_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, "a").unwrap();
        let first = FileStamp::from_path(&path);
        std::fs::write(&path, "b").unwrap();
        assert!(!FileStamp::still(first, FileStamp::from_path(&path)));
        std::thread::sleep(std::time::Duration::from_millis(80));
        let settled = FileStamp::from_path(&path);
        assert!(FileStamp::still(settled, FileStamp::from_path(&path)));
        assert!(!FileStamp::still(settled, None) && FileStamp::still(None, None));
    }
}
