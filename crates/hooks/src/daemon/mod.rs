//! The daemon of a project: packs and rules in memory, and one desk for every session.
//!
//! It holds a lock for as long as it lives, so that there is one at most, and a dead one leaves nothing that has to be believed. It
//! ends when the last session has ended, when nobody asked anything for a long time, when its project is gone, or when a hook of
//! another build asks.

mod control;
mod serve;

pub use control::{Status, cleanup, list, status, stop};
pub use serve::serve;

use crate::wire::{self, Place};
use marvin_base::environment::Environment;
use marvin_base::settings::{Kind, Scope, table};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// How an answer begins that is for the hook and not for the client.
pub(crate) const CONTROL: &str = "{\"marvin\":true,";
/// A log that has grown beyond this begins anew.
const MAX_LOG_BYTES: u64 = 1024 * 1024;
/// Variables of the environment that belong to one session and must not outlive it.
const OF_A_SESSION: [&str; 4] = ["CLAUDE_", "CLAUDECODE", "CODEX_", "AI_AGENT"];

/// Starts the daemon of a project, detached. True when one was started, false when one is there or being started.
///
/// # Errors
/// When it cannot be started.
pub fn start(environment: &Environment, project: &Path, program: &Path) -> Result<bool, String> {
    let Some(place) = Place::for_project(environment, project) else {
        return Err(
            "the path of its socket would be too long\n  hint: set TMPDIR to a shorter directory".into()
        );
    };
    wire::make_private(place.directory())?;
    // Of many that come at once, one starts it.
    let Some(_starting) = try_lock(&place.starting())? else { return Ok(false) };
    if try_lock(&place.lock())?.is_none() {
        return Ok(false);
    }
    let log = open_log(&place.log())?;
    let errors = log.try_clone().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .args(["daemon", "serve", "--project"])
        .arg(project)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .env_clear()
        .envs(environment.iter().filter(|(name, _)| !is_of_a_session(name)));
    let child = command.spawn().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    // It is nobody's child: whoever started it ends long before.
    drop(child);
    Ok(true)
}

/// Variables by which the settings of a daemon are chosen. Keys of providers are not among them: they change no verdict.
pub(crate) fn setting_variables() -> impl Iterator<Item = &'static str> {
    let rows = table::TABLE.iter().filter(|row| row.scope != Scope::Process && row.kind != Kind::Secret);
    let named = rows.flat_map(|row| row.variables.iter().copied());
    let places = ["HOME", "MARVIN_HOME", "XDG_CONFIG_HOME", "MARVIN_STATE_DIR", "XDG_STATE_HOME"];
    named.filter(|name| !is_of_a_session(name)).chain(places)
}

/// Does a variable belong to one session, or tell one process what it is?
fn is_of_a_session(name: &str) -> bool {
    let process = table::TABLE
        .iter()
        .any(|setting| setting.scope == Scope::Process && setting.variables.contains(&name));
    process || OF_A_SESSION.iter().any(|own| name.starts_with(own))
}

/// Opens a regular file, and nothing that could make anybody wait.
fn open(path: &Path, options: &mut OpenOptions) -> Result<File, String> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = options.create(true).mode(0o600).custom_flags(flags).open(path);
    let file = file.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    match file.metadata() {
        Ok(facts) if facts.is_file() => Ok(file),
        _ => Err(format!("{} is no regular file\n  hint: remove it", path.display())),
    }
}

/// Takes a lock if it is free.
fn try_lock(path: &Path) -> Result<Option<File>, String> {
    let file = open(path, OpenOptions::new().truncate(false).write(true))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(format!("cannot lock {}: {error}", path.display())),
    }
}

fn open_log(path: &Path) -> Result<File, String> {
    let large = std::fs::symlink_metadata(path).is_ok_and(|facts| facts.len() > MAX_LOG_BYTES);
    let mut options = OpenOptions::new();
    if large {
        options.write(true).truncate(true)
    } else {
        options.append(true)
    };
    open(path, &mut options)
}
