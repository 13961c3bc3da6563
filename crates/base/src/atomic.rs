//! Replace a whole file, or create one: a reader sees the old bytes or the new ones, never a mixture.
//!
//! The new bytes go to a temporary file in the same directory, are synced, renamed over the target, and the directory is
//! synced so that the rename itself survives a power cut. A process that is killed before the rename leaves the temporary file; a run that
//! is resumed removes those of its predecessor by their names ([`is_temporary_name`]).

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

const TEMPORARY_PREFIX: &str = ".marvin-";
const TEMPORARY_DIGITS: usize = 12;

/// A new name for a file that will be renamed when it is complete. No file of a project has such a name by chance.
#[must_use]
pub fn temporary_name() -> String {
    [TEMPORARY_PREFIX, &crate::ids::short(TEMPORARY_DIGITS)].concat()
}

/// Whether [`temporary_name`] makes such names.
#[must_use]
pub fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(TEMPORARY_PREFIX).is_some_and(|digits| {
        digits.len() == TEMPORARY_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Removes temporary files of killed processes in a directory and, `depth` levels deep, in those below it; returns their number. What
/// cannot be read or removed stays. No process may write there meanwhile.
pub(crate) fn remove_temporary_files(directory: &Path, depth: usize) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let removed = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() && depth > 0 => remove_temporary_files(&entry.path(), depth - 1),
        Ok(kind) if kind.is_file() && entry.file_name().to_str().is_some_and(is_temporary_name) => {
            usize::from(std::fs::remove_file(entry.path()).is_ok())
        }
        _ => 0,
    });
    removed.sum()
}

fn write(path: &Path, bytes: &[u8], mode: Option<u32>, durable: bool) -> Result<(), WriteError> {
    let attempt = || -> std::io::Result<()> {
        let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory)?;
        let name = temporary_name();
        let mut file = tempfile::Builder::new().prefix(&name).rand_bytes(0).tempfile_in(directory)?;
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
    fn a_killed_writer_leaves_a_name_that_is_recognised() {
        assert!(is_temporary_name(&temporary_name()));
        for other in [".marvin-instructions", ".marvin-0123456789a", ".marvin-0123456789abc", "0123456789ab"]
        {
            assert!(!is_temporary_name(other), "{other}");
        }
        let directory = tempfile::tempdir().unwrap();
        let file = |path: &str| directory.path().join(path);
        std::fs::create_dir_all(file("a/b/c")).unwrap();
        std::os::unix::fs::symlink(file("a"), file("link")).unwrap();
        for path in ["", "a", "a/b", "a/b/c"] {
            std::fs::write(file(path).join(temporary_name()), "half").unwrap();
            std::fs::write(file(path).join(".marvin-backup"), "mine").unwrap();
        }
        assert_eq!(remove_temporary_files(directory.path(), 2), 3);
        assert_eq!(std::fs::read_dir(file("a/b/c")).unwrap().count(), 2, "too deep");
        assert_eq!(remove_temporary_files(&file("a/b/c"), 0), 1);
        assert!(file("a/b/.marvin-backup").exists());
    }

    #[test]
    fn a_directory_in_the_way_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = replace(directory.path(), b"x").unwrap_err();
        assert!(error.to_string().contains(&directory.path().display().to_string()), "{error}");
    }
}
