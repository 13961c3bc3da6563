//! Looks after daemons: which there are, how they are, and how to end them.

use super::{CONTROL, try_lock};
use crate::event::Client;
use crate::wire::{self, Place};
use marvin_base::environment::Environment;
use marvin_base::files::{self, Links};
use serde::Serialize;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long an answer is waited for.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// How a daemon is.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Its id.
    pub id: String,
    /// `alive`, `hung` or `dead`.
    pub state: &'static str,
    /// Its process.
    pub pid: Option<u32>,
    /// Its project.
    pub project: Option<String>,
    /// Its build.
    pub build: Option<String>,
    /// Whether its socket is there.
    pub socket: bool,
    /// Bytes of its log.
    pub log_bytes: u64,
    /// Where its log is.
    pub log: PathBuf,
    /// Sessions that it serves.
    pub sessions: Option<u64>,
    /// Requests that it has answered.
    pub requests: Option<u64>,
    /// Seconds since it began.
    pub seconds: Option<u64>,
}

/// Every daemon of this person.
#[must_use]
pub fn list(environment: &Environment) -> Vec<Status> {
    Place::all(environment).iter().map(status).collect()
}

/// How one daemon is.
#[must_use]
pub fn status(place: &Place) -> Status {
    let about = files::read_text(&place.pid(), 8 * 1024, Links::Refuse).unwrap_or_default();
    let mut lines = about.lines();
    let pid = lines.next().and_then(|line| line.parse().ok());
    let (project, build) = (lines.next().map(str::to_string), lines.next().map(str::to_string));
    let answer = ask(place, "status");
    let number = |key: &str| answer.as_ref().and_then(|answer| answer.get(key)).and_then(Value::as_u64);
    Status {
        id: place.id().to_string(),
        state: match (answer.is_some(), lives(place)) {
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
        sessions: number("sessions"),
        requests: number("requests"),
        seconds: number("seconds"),
    }
}

/// Somebody holds its lock.
fn lives(place: &Place) -> bool {
    place.lock().exists() && matches!(try_lock(&place.lock()), Ok(None))
}

/// Ends a daemon, politely and then not. True when there was one.
#[must_use]
pub fn stop(place: &Place) -> bool {
    if !lives(place) {
        return false;
    }
    let pid = status(place).pid;
    ask(place, "stop");
    let started = Instant::now();
    while lives(place) {
        if started.elapsed() > ANSWER_TIMEOUT {
            // It has our lock and does not answer: its process is ours to end.
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

/// Removes what dead daemons left. Returns their ids.
#[must_use]
pub fn cleanup(environment: &Environment) -> Vec<String> {
    let dead: Vec<Place> = Place::all(environment).into_iter().filter(|place| !lives(place)).collect();
    dead.iter().for_each(sweep);
    dead.iter().map(|place| place.id().to_string()).collect()
}

/// Removes the files of a daemon that is dead; its lock is held meanwhile, so that none begins between.
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
