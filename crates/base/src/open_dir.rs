//! A directory that is held open: what is written through it lands in it, wherever its name leads by then.
//!
//! The record lies in directories that a contained program may write to. It can put a link in their place, but it cannot
//! change what an open handle means.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open directory and its name.
#[derive(Debug, Clone)]
pub struct OpenDir {
    path: PathBuf,
    directory: Arc<File>,
}

impl OpenDir {
    /// Makes a new directory and holds it.
    ///
    /// # Errors
    /// When it exists, or cannot be made or opened.
    pub fn create(path: &Path) -> std::io::Result<Self> {
        std::fs::create_dir(path)?;
        OpenDir::open(path)
    }

    /// Holds a directory that is there; a link in its place is refused.
    ///
    /// # Errors
    /// When it is not a directory, or cannot be opened.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let directory = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        Ok(OpenDir { path: path.to_path_buf(), directory: Arc::new(directory) })
    }

    /// Makes a directory in this one and holds it too.
    ///
    /// # Errors
    /// When it exists, or cannot be made or opened.
    pub fn inner(&self, name: &str) -> std::io::Result<Self> {
        let inner = OpenDir::create(&self.place().join(name))?;
        Ok(OpenDir { path: self.path.join(name), ..inner })
    }

    /// Its name, for people and for reading.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The handle as a path of this process, to write below.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        let place = PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd()));
        // A machine without /proc cannot contain programs either.
        if place.exists() { place } else { self.path.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_name_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (run, outside) = (directory.path().join("run"), directory.path().join("outside"));
        std::fs::create_dir(&outside).unwrap();
        let held = OpenDir::create(&run).unwrap();
        let inner = held.inner("artifacts").unwrap();
        assert_eq!(inner.path(), run.join("artifacts"));
        std::fs::rename(&run, directory.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(&outside, &run).unwrap();
        std::fs::write(held.place().join("a"), "a").unwrap();
        std::fs::write(inner.place().join("b"), "b").unwrap();
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(std::fs::read(directory.path().join("moved/artifacts/b")).unwrap(), b"b");
        assert!(OpenDir::open(&run).is_err(), "a link is refused");
    }
}
