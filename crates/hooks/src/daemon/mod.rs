//! The daemon of a project: packs and rules in memory, and one event handler for all sessions.
//!
//! It holds a lock while it runs, so that there is one at most, and files of a dead one are never trusted. It ends when the
//! last session has ended, after a long time without a request, when its project is gone, or when a hook of another build
//! asks.

mod control;
mod serve;

pub use control::{Status, cleanup, list, status, stop};
pub use serve::serve;

use marvin_base::atomic::WriteError;
use marvin_base::environment::Environment;
use marvin_base::settings::table;
use marvin_hook_client::settings::belongs_to_session;
use marvin_hook_client::wire::{self, Place};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

/// A larger log is truncated when the daemon starts.
const MAX_LOG_BYTES: u64 = 1024 * 1024;

/// The reason why a daemon cannot be started or reached.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error("the path of its socket would be too long\n  hint: set TMPDIR to a shorter directory")]
    LongSocketPath,
    #[error(
        "{0} is not a directory that only you can use\n  hint: remove it, or set TMPDIR to a directory of your own"
    )]
    SharedDirectory(String),
    #[error("{0} is not a regular file\n  hint: remove it")]
    NotAFile(String),
    #[error("cannot {action} {path}: {source}")]
    Io { action: &'static str, path: String, source: std::io::Error },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Handler(#[from] marvin_agent::SessionError),
}

impl DaemonError {
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        DaemonError::Io { action, path: path.display().to_string(), source }
    }
}

/// Creates the directory, for this user alone.
///
/// # Errors
/// When it cannot be created, or other users can use it.
pub(crate) fn make_private(directory: &Path) -> Result<(), DaemonError> {
    match std::fs::DirBuilder::new().mode(0o700).recursive(false).create(directory) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(DaemonError::io("make", directory, error)),
    }
    if wire::is_private(directory) {
        return Ok(());
    }
    Err(DaemonError::SharedDirectory(directory.display().to_string()))
}

/// Starts the daemon of a project, detached; false when one runs or is being started.
pub fn start(environment: &Environment, project: &Path, program: &Path) -> Result<bool, DaemonError> {
    let place = Place::for_project(environment, project).ok_or(DaemonError::LongSocketPath)?;
    make_private(place.directory())?;
    // Of several hooks at once, one starts it.
    let Some(_starting) = try_lock(&place.starting())? else { return Ok(false) };
    if try_lock(&place.lock())?.is_none() {
        return Ok(false);
    }
    let log = open_log(&place.log())?;
    let errors = log.try_clone().map_err(|error| DaemonError::io("open", &place.log(), error))?;
    let mut command = Command::new(program);
    command
        .args(["daemon", "serve", "--project"])
        .arg(project)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .env_clear()
        .envs(environment.iter().filter(|(name, _)| !belongs_to_session(name) || is_log_filter(name)));
    let child = command.spawn().map_err(|error| DaemonError::io("start", program, error))?;
    // The child is not waited for: this process ends long before it.
    drop(child);
    Ok(true)
}

/// Whether a variable asks for a diagnostic log: the daemon writes it for the hooks that it answers.
fn is_log_filter(name: &str) -> bool {
    table::LOG_FILTER.variables.contains(&name)
}

/// Opens a regular file, never a pipe or a device that could block.
fn open(path: &Path, options: &mut OpenOptions) -> Result<File, DaemonError> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = options.create(true).mode(0o600).custom_flags(flags).open(path);
    let file = file.map_err(|error| DaemonError::io("open", path, error))?;
    match file.metadata() {
        Ok(facts) if facts.is_file() => Ok(file),
        _ => Err(DaemonError::NotAFile(path.display().to_string())),
    }
}

fn try_lock(path: &Path) -> Result<Option<File>, DaemonError> {
    let file = open(path, OpenOptions::new().truncate(false).write(true))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(DaemonError::io("lock", path, error)),
    }
}

fn open_log(path: &Path) -> Result<File, DaemonError> {
    let large = std::fs::symlink_metadata(path).is_ok_and(|facts| facts.len() > MAX_LOG_BYTES);
    let mut options = OpenOptions::new();
    if large {
        options.write(true).truncate(true)
    } else {
        options.append(true)
    };
    open(path, &mut options)
}
