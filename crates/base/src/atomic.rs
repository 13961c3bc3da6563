//! Replace a whole file, or create one: a reader sees the old bytes or the new ones, never a mixture.
//!
//! The new bytes go to a temporary file in the same directory, are synced, renamed over the target, and the directory is
//! synced so that the rename itself survives a power cut.

use std::fs::File;
use std::io::Write;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}{}", hint(.source))]
pub struct WriteError {
    /// The file that was to be written.
    pub path: String,
    /// The error of the operating system.
    #[source]
    pub source: std::io::Error,
}

/// A hint for an I/O error, as a clause to append.
#[must_use]
pub fn hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            " (the disk is full: free some room and try again)"
        }
        std::io::ErrorKind::ReadOnlyFilesystem => " (the file system is read-only)",
        std::io::ErrorKind::PermissionDenied => " (no permission: check the owner and mode of the directory)",
        std::io::ErrorKind::NotFound => " (a directory on the way does not exist)",
        _ => "",
    }
}

/// Replaces `path` by `bytes`, durably. Missing directories on the way are made.
///
/// # Errors
/// Returns the path and the operating system's reason; the old file is then untouched.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write(path, bytes, None, true)
}

/// Like [`replace`], for a copy of what is recorded elsewhere: when it reaches the disk is for the system to say.
///
/// # Errors
/// As [`replace`].
pub fn replace_copy(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write(path, bytes, None, false)
}

/// Like [`replace`], for a file that only its owner may read.
///
/// # Errors
/// As [`replace`].
pub fn replace_private(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write(path, bytes, Some(0o600), true)
}

/// Like [`replace`], for a program.
///
/// # Errors
/// As [`replace`].
pub fn replace_executable(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write(path, bytes, Some(0o755), true)
}

fn write(path: &Path, bytes: &[u8], mode: Option<u32>, durable: bool) -> Result<(), WriteError> {
    let attempt = || -> std::io::Result<()> {
        let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory)?;
        let mut file = tempfile::Builder::new().prefix(".marvin-").tempfile_in(directory)?;
        file.write_all(bytes)?;
        use std::os::unix::fs::PermissionsExt;
        let mode = match (mode, std::fs::metadata(path)) {
            (Some(mode), _) => mode,
            (None, Ok(old)) => old.permissions().mode() & 0o7777,
            (None, Err(_)) => 0o644,
        };
        file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
        if durable {
            file.as_file().sync_all()?;
        }
        file.persist(path).map_err(|error| error.error)?;
        if durable { File::open(directory)?.sync_all() } else { Ok(()) }
    };
    attempt().map_err(|source| WriteError { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_keeps_the_mode() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/er/file");
        replace(&path, b"one").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn a_directory_in_the_way_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = replace(directory.path(), b"x").unwrap_err();
        assert!(error.to_string().contains(&directory.path().display().to_string()), "{error}");
    }
}
