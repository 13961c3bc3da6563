//! The lock file of a project's servitors: one process at a time works on them.

use marvin_base::clock;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Why the lock cannot be taken.
pub(super) enum LockError {
    /// Another process holds it: the text of the lock file.
    By(String),
    /// The file cannot be used.
    Io(std::io::Error),
}

/// Takes a lock file that names its holder.
pub(super) fn lock(path: &Path, who: &str) -> Result<File, LockError> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o644).custom_flags(flags);
    let mut file = options.open(path).map_err(LockError::Io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            (&file).take(400).read_to_string(&mut holder).ok();
            let holder = holder.lines().next().unwrap_or_default().trim().to_string();
            return Err(LockError::By(if holder.is_empty() { "another process".into() } else { holder }));
        }
        Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
    }
    let text = format!("process {} ({who}) since {}\n", std::process::id(), clock::now_stamp());
    file.set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(text.as_bytes()))
        .map_err(LockError::Io)?;
    Ok(file)
}
