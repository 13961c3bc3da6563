//! Management of daemons: list, status, stop, cleanup.

use super::serve::DaemonStatus;
use super::try_lock;
use crate::event::Client;
use marvin_base::environment::Environment;
use marvin_base::files::{self, Links};
use marvin_hook_client::wire::{self, CONTROL, Place};
use serde::Serialize;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Serialize)]
pub struct Status {
    pub id: String,
    /// `alive`, `hung` or `dead`.
    pub state: &'static str,
    pub pid: Option<u32>,
    pub project: Option<String>,
    pub build: Option<String>,
    /// Whether its socket exists.
    pub socket: bool,
    pub log_bytes: u64,
    pub log: PathBuf,
    pub sessions: Option<u64>,
    pub requests: Option<u64>,
    /// Seconds since it started.
    pub seconds: Option<u64>,
}

/// Every daemon of this user.
#[must_use]
pub fn list(environment: &Environment) -> Vec<Status> {
    Place::all(environment).iter().map(status).collect()
}

#[must_use]
pub fn status(place: &Place) -> Status {
    let answer: Option<DaemonStatus> =
        ask(place, "status").and_then(|control| serde_json::from_value(control).ok());
    let about = files::read_text(&place.pid(), 8 * 1024, Links::Refuse).unwrap_or_default();
    let mut lines = about.lines();
    let pid = lines.next().and_then(|line| line.parse().ok());
    let (project, build) = (lines.next().map(str::to_string), lines.next().map(str::to_string));
    Status {
        id: place.id().to_string(),
        state: match (answer.is_some(), is_running(place)) {
            (true, _) => "alive",
            (false, true) => "hung",
            (false, false) => "dead",
        },
        pid,
        project,
        build,
        socket: place.socket().exists(),
        log_bytes: std::fs::metadata(place.log()).map_or(0, |facts| facts.len()),
        log: place.log(),
        sessions: answer.as_ref().map(|answer| answer.sessions),
        requests: answer.as_ref().map(|answer| answer.requests),
        seconds: answer.as_ref().map(|answer| answer.seconds),
    }
}

/// Whether a process holds its lock.
fn is_running(place: &Place) -> bool {
    place.lock().exists() && matches!(try_lock(&place.lock()), Ok(None))
}

/// Stops a daemon, by a signal if it does not answer; false when there was none.
#[must_use]
pub fn stop(place: &Place) -> bool {
    if !is_running(place) {
        return false;
    }
    let pid = status(place).pid;
    ask(place, "stop");
    let started = Instant::now();
    while is_running(place) {
        if started.elapsed() > ANSWER_TIMEOUT {
            // It holds the lock of this user's daemon and does not answer.
            let pid = pid.and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?));
            if let Some(pid) = pid {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
            }
        }
        if started.elapsed() > 2 * ANSWER_TIMEOUT {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    sweep(place);
    true
}

/// Removes the files of dead daemons; returns their ids.
#[must_use]
pub fn cleanup(environment: &Environment) -> Vec<String> {
    let dead: Vec<Place> = Place::all(environment).into_iter().filter(|place| !is_running(place)).collect();
    dead.iter().for_each(sweep);
    dead.iter().map(|place| place.id().to_string()).collect()
}

/// Removes the files of a dead daemon, under its lock, so that none starts meanwhile.
fn sweep(place: &Place) {
    let Ok(Some(_lock)) = try_lock(&place.lock()) else { return };
    for path in [place.socket(), place.pid(), place.log()] {
        std::fs::remove_file(path).ok();
    }
}

fn ask(place: &Place, word: &str) -> Option<Value> {
    if !wire::is_private(place.directory()) {
        return None;
    }
    let mut stream = UnixStream::connect(place.socket()).ok()?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    stream.write_all(&wire::request(word, Client::Claude, false, "", b"null")).ok()?;
    let mut text = String::new();
    stream.take(64 * 1024).read_to_string(&mut text).ok()?;
    let rest = text.trim().strip_prefix(CONTROL)?;
    serde_json::from_str(&format!("{{{rest}")).ok()
}
