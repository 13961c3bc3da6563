//! The daemon of a project: packs and rules in memory, and one event handler for all sessions.
//!
//! It holds a lock while it runs, so that there is one at most, and files of a dead one are never trusted. It ends when the
//! last session has ended, after a long time without a request, when its project is gone, or when a hook of another build
//! asks.

mod control;
mod serve;

pub use control::{Status, cleanup, list, status, stop};
pub use serve::serve;

use crate::wire::{self, DaemonError, Place};
use marvin_base::environment::Environment;
use marvin_base::settings::{Kind, Scope, table};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The prefix of an answer that is for the hook and not for the client.
pub(crate) const CONTROL: &str = "{\"marvin\":true,";
/// A larger log is truncated when the daemon starts.
const MAX_LOG_BYTES: u64 = 1024 * 1024;
/// Prefixes of environment variables that belong to one session.
const SESSION_VARIABLES: [&str; 4] = ["CLAUDE_", "CLAUDECODE", "CODEX_", "AI_AGENT"];

/// Starts the daemon of a project, detached; false when one runs or is being started.
pub fn start(environment: &Environment, project: &Path, program: &Path) -> Result<bool, DaemonError> {
    let place = Place::for_project(environment, project).ok_or(DaemonError::LongSocketPath)?;
    wire::make_private(place.directory())?;
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
        .envs(environment.iter().filter(|(name, _)| !belongs_to_session(name)));
    let child = command.spawn().map_err(|error| DaemonError::io("start", program, error))?;
    // The child is not waited for: this process ends long before it.
    drop(child);
    Ok(true)
}

/// Environment variables that determine a daemon's settings, without keys of providers, which do not affect verdicts.
pub(crate) fn setting_variables() -> impl Iterator<Item = &'static str> {
    let rows = table::TABLE.iter().filter(|row| row.scope != Scope::Process && row.kind != Kind::Secret);
    let named = rows.flat_map(|row| row.variables.iter().copied());
    let places = ["HOME", "MARVIN_HOME", "XDG_CONFIG_HOME", "MARVIN_STATE_DIR", "XDG_STATE_HOME"];
    named.filter(|name| !belongs_to_session(name)).chain(places)
}

/// Whether a variable belongs to one session or to one process.
fn belongs_to_session(name: &str) -> bool {
    let process = table::TABLE
        .iter()
        .any(|setting| setting.scope == Scope::Process && setting.variables.contains(&name));
    process || SESSION_VARIABLES.iter().any(|own| name.starts_with(own))
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
