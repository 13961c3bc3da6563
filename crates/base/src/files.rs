//! Reading of untrusted files: only regular ones, never more than asked for, never waiting.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Whether a link in the last place is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Follow it: the file is the person's own.
    Follow,
    /// Refuse it: the file is a project's, and a link could lead anywhere.
    Refuse,
}

/// The text of a regular file of at most `limit` bytes; bytes that are not UTF-8 are an error.
///
/// # Errors
/// When it is not there, not regular, larger, or not text.
pub fn read_text(path: &Path, limit: u64, links: Links) -> std::io::Result<String> {
    let bytes = read_stream(open(path, links)?, limit)?;
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not UTF-8 text"))
}

/// The bytes of a stream of at most `limit` bytes, which may be a pipe.
///
/// # Errors
/// When it cannot be read or is longer.
pub fn read_stream(stream: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(std::io::Error::other(format!("it is larger than {limit} bytes")));
    }
    Ok(bytes)
}

/// The first `limit` bytes of a regular file, and one more where there are more.
///
/// # Errors
/// When it is not there or not regular.
pub fn read(path: &Path, limit: u64, links: Links) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, links)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A regular file, opened for reading.
///
/// # Errors
/// When it is not there or not regular.
pub fn open(path: &Path, links: Links) -> std::io::Result<std::fs::File> {
    // Without O_NONBLOCK opening a pipe without a writer would block.
    let mut flags = libc::O_NONBLOCK;
    if links == Links::Refuse {
        flags |= libc::O_NOFOLLOW;
    }
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_bounded_size() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a");
        std::fs::write(&file, "hello").unwrap();
        assert_eq!(read_text(&file, 5, Links::Refuse).unwrap(), "hello");
        assert!(read_text(&file, 4, Links::Refuse).unwrap_err().to_string().contains("larger"));
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read_text(&link, 9, Links::Refuse).is_err());
        assert_eq!(read_text(&link, 9, Links::Follow).unwrap(), "hello");
        assert!(read_text(directory.path(), 9, Links::Follow).is_err());
        assert!(read_text(Path::new("/dev/zero"), 9, Links::Follow).is_err());
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success() && read_text(&pipe, 9, Links::Follow).is_err(), "a pipe is not waited for");
    }
}
