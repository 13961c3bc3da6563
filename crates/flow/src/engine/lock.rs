//! The lock of a run: one process at a time works on it.
//!
//! It is a lock of the operating system on `run.lock` in the run directory, so it is released however the process ends. The
//! file names the holder.

use super::EngineError;
use marvin_base::clock;
use marvin_base::files::{self, Links};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILE: &str = "run.lock";
/// Attempts to take the lock, 5 ms apart.
const MAX_TRIES: u32 = 400;

/// The process that holds a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// 0: not known.
    pub pid: u32,
    pub since: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            0 => formatter.write_str("another process"),
            pid => write!(formatter, "process {pid} since {}", self.since),
        }
    }
}

/// A held lock.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

fn open(path: &Path) -> std::io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(flags)
        .mode(0o600)
        .open(path)
}

impl Lock {
    /// Takes the lock of a run.
    ///
    /// # Errors
    /// When another process holds it.
    pub fn take(directory: &Path) -> Result<Self, EngineError> {
        let path: PathBuf = directory.join(FILE);
        let wrap = |source| marvin_base::atomic::WriteError { path: path.display().to_string(), source };
        let mut file = open(&path).map_err(wrap)?;
        // A process that only looks at the holder has the lock for a moment.
        let mut tries = 0;
        while matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && tries < MAX_TRIES {
            tries += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let unknown = Holder { pid: 0, since: String::new() };
                let holder = read(&path).unwrap_or(unknown);
                return Err(EngineError::Held { path: directory.display().to_string(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(wrap(source).into()),
        }
        let holder = Holder { pid: std::process::id(), since: clock::now_stamp() };
        let text = serde_json::to_string(&holder).unwrap_or_default();
        let mut write = || {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(text.as_bytes())
        };
        write().map_err(wrap)?;
        Ok(Lock { _file: file })
    }
}

fn read(path: &Path) -> Option<Holder> {
    serde_json::from_str(&files::read_text(path, 4096, Links::Refuse).ok()?).ok()
}

/// The process that works on a run now.
#[must_use]
pub fn holder(directory: &Path) -> Option<Holder> {
    let path = directory.join(FILE);
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => read(&path),
        _ => None,
    }
}
