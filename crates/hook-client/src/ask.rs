//! A hook's question to the daemon of its project.
//!
//! It does as little as possible: no settings, no runtime, no parsing of the event. Where the daemon is missing, of another
//! build, late or sends an invalid answer, `marvin hook` answers itself.

use crate::event::{Client, Event};
use crate::wire::{self, Place};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use other as platform;
pub use platform::own_program;

/// The longest silence of a living daemon. It sends a line every [`wire::PULSE`], except while it waits for the lock of a
/// ledger that hundreds of hooks append to at once.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(6);
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that an answer is polled for before the process sleeps: waking it up takes longer than most answers.
const POLL_TIME: Duration = Duration::from_micros(500);
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The connection to the daemon.
#[derive(Debug)]
pub enum Connection {
    Open(UnixStream),
    /// No daemon listens, so one is started.
    NoDaemon,
    /// No daemon can be used.
    Unusable,
}

/// The process that listens.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux tells who listens"))]
enum Peer {
    /// The same program, of this user, with the same settings.
    Own,
    /// Another program or build of this user, or other settings.
    Other,
    /// A process of another user.
    Stranger,
}

/// The reason why the daemon gave no answer for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The commitments of this session have to be verified.
    Verify(String),
    /// The daemon is of another build and ends.
    OtherBuild,
    /// No daemon listens.
    NoDaemon,
    /// No valid answer.
    Unusable,
}

impl NoAnswer {
    /// How `marvin-hook` tells it to `marvin hook`.
    #[must_use]
    pub fn to_argument(&self) -> String {
        match self {
            NoAnswer::Verify(session) => ["verify:", session].concat(),
            NoAnswer::OtherBuild => "other-build".to_string(),
            NoAnswer::NoDaemon => "no-daemon".to_string(),
            NoAnswer::Unusable => "unusable".to_string(),
        }
    }

    #[must_use]
    pub fn from_argument(text: &str) -> Option<NoAnswer> {
        match text {
            "other-build" => Some(NoAnswer::OtherBuild),
            "no-daemon" => Some(NoAnswer::NoDaemon),
            "unusable" => Some(NoAnswer::Unusable),
            text => text.strip_prefix("verify:").map(|session| NoAnswer::Verify(session.to_string())),
        }
    }
}

/// Parses `EVENT [--client NAME]`, as `marvin init` writes it.
#[must_use]
pub fn parse_words(words: &[OsString]) -> Option<(String, Option<Client>)> {
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let (event, client) = match words.as_slice() {
        [event] => (event, None),
        [event, "--client", client] => (event, Some(Client::read(client)?)),
        _ => return None,
    };
    (!event.starts_with('-')).then(|| ((*event).to_string(), client))
}

/// The call of a hook by a client.
#[derive(Debug)]
pub struct HookCall {
    pub environment: Environment,
    /// The event, as it is named on the command line.
    pub name: String,
    pub client: Client,
    /// Whether a person can be asked.
    pub attended: bool,
    pub project: PathBuf,
}

impl HookCall {
    #[must_use]
    pub fn new(environment: Environment, name: &str, client: Option<Client>, directory: &Path) -> HookCall {
        let named = ["MARVIN_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];
        let given = named.iter().find_map(|name| environment.get(name)).map(PathBuf::from);
        let client = client.unwrap_or(if given.is_some() { Client::Claude } else { Client::Codex });
        let attended =
            client == Client::Claude && environment.get("CLAUDE_CODE_SESSION_ATTENDED") != Some("0");
        let home = Layout::new(&environment, None).home().to_path_buf();
        let project = wire::project(given.as_deref().unwrap_or(directory), &home);
        HookCall { environment, name: name.to_string(), client, attended, project }
    }

    #[must_use]
    pub fn event(&self) -> Option<Event> {
        Event::read(&self.name)
    }

    /// Whether this is a hook of a model that judges a command; it does not ask the daemon.
    #[must_use]
    pub fn is_evaluating(&self) -> bool {
        let names = ["MARVIN_SECURITY_EVAL", "MARVEL_SECURITY_EVAL"];
        let off = ["0", "false", "no", "off"];
        names.iter().filter_map(|name| self.environment.get(name)).any(|value| !off.contains(&value))
    }

    /// Connects to the daemon, which wakes up while the event is read.
    #[must_use]
    pub fn connect(&self) -> Connection {
        let place = Place::for_project(&self.environment, &self.project);
        place.map_or(Connection::Unusable, |place| platform::connect(&place))
    }

    /// Asks the daemon about an event; `program` is the metadata of the file of `marvin`.
    ///
    /// # Errors
    /// When the daemon gives no answer for the client.
    pub fn ask(
        &self,
        connection: Connection,
        event: &[u8],
        program: Option<&Metadata>,
    ) -> Result<String, NoAnswer> {
        let mut stream = match connection {
            Connection::Open(stream) => stream,
            Connection::NoDaemon => return Err(NoAnswer::NoDaemon),
            Connection::Unusable => return Err(NoAnswer::Unusable),
        };
        match platform::peer(&stream, program, &self.environment) {
            Peer::Own => {}
            Peer::Other => {
                // Another build is asked to end, without the event.
                stream.write_all(&wire::request("stop", self.client, false, "", b"null")).ok();
                return Err(NoAnswer::OtherBuild);
            }
            Peer::Stranger => return Err(NoAnswer::Unusable),
        }
        let line = wire::request(&self.name, self.client, self.attended, &wire::build(program), event);
        stream.set_write_timeout(Some(SEND_TIMEOUT)).ok();
        stream.write_all(&line).map_err(|_| NoAnswer::Unusable)?;
        let Some(answer) = read_answer(&mut stream, wire::hook_timeout(self.event())) else {
            stream.write_all(wire::WITHDRAWN).ok();
            return Err(NoAnswer::Unusable);
        };
        parse_reply(&answer)
    }
}

/// Reads the line of the answer; empty lines only show that the daemon is alive.
fn read_answer(stream: &mut UnixStream, timeout: Duration) -> Option<Vec<u8>> {
    let started = Instant::now();
    let mut line = Vec::new();
    let mut block = [0; 4 * 1024];
    while !is_readable(stream) && started.elapsed() < POLL_TIME {
        std::thread::yield_now();
    }
    loop {
        let left = timeout.checked_sub(started.elapsed()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left.min(SILENCE_TIMEOUT))).ok()?;
        match stream.read(&mut block) {
            Ok(0) => return None,
            Ok(count) => {
                let read = block.get(..count)?;
                let read = if line.is_empty() { read.trim_ascii_start() } else { read };
                line.extend_from_slice(read);
                if line.last() == Some(&b'\n') {
                    return Some(line);
                }
                if line.len() > MAX_ANSWER_BYTES {
                    return None;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

fn is_readable(stream: &UnixStream) -> bool {
    rustix::net::recv(stream, &mut [0; 1], RecvFlags::DONTWAIT | RecvFlags::PEEK) != Err(Errno::AGAIN)
}

/// Parses a line of the daemon. Only a JSON object, or text that the daemon marks as such, is printed.
fn parse_reply(line: &[u8]) -> Result<String, NoAnswer> {
    let text = std::str::from_utf8(line).map_err(|_| NoAnswer::Unusable)?.trim();
    if let Some(rest) = text.strip_prefix(wire::CONTROL) {
        let control = serde_json::from_str::<Value>(&["{", rest].concat()).map_err(|_| NoAnswer::Unusable)?;
        let word = |key: &str| control.get(key).and_then(Value::as_str).map(str::to_string);
        if let Some(session) = word("verify") {
            return Err(NoAnswer::Verify(session));
        }
        return word("text").ok_or(NoAnswer::OtherBuild);
    }
    let whole = text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if whole { Ok(text.to_string()) } else { Err(NoAnswer::Unusable) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_survives_the_handover() {
        let verify = NoAnswer::Verify("s-1".to_string());
        for reason in [verify, NoAnswer::OtherBuild, NoAnswer::NoDaemon, NoAnswer::Unusable] {
            assert_eq!(NoAnswer::from_argument(&reason.to_argument()), Some(reason));
        }
        assert_eq!(NoAnswer::from_argument("answer"), None);
    }

    #[test]
    fn only_whole_objects_are_answers() {
        assert_eq!(parse_reply(b"{\"a\":1}\n"), Ok("{\"a\":1}".to_string()));
        for line in [&b"{\"a\":1\n"[..], b"yes\n", b"\xff\n", b"[]\n", b"{\"marvin\":true,"] {
            assert_eq!(parse_reply(line), Err(NoAnswer::Unusable), "{line:?}");
        }
    }
}
