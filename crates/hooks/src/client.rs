//! The hook process: reads an event, asks the daemon, prints the answer.
//!
//! It does as little as possible: no settings, no runtime, no parsing of the event. Where the daemon is missing, of another
//! build, late or sends an invalid answer, the hook answers itself. A call that could not be judged is never allowed: both
//! clients take silence for a yes.

use crate::event::{self, Client, Event};
use crate::event_handler::{self, EventHandler, Reply};
use crate::wire::{self, Place};
use crate::{daemon, verify};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::path::DecInt;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::fs::Metadata;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The longest silence of a living daemon. It sends a line every [`wire::PULSE`], except while it waits for the lock of a
/// ledger that hundreds of hooks append to at once.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(6);
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that an answer is polled for before the process sleeps: waking it up takes longer than most answers.
const POLL_TIME: Duration = Duration::from_micros(500);
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The output of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutcome {
    /// Text for standard output.
    pub print: String,
    /// Text for standard error; the exit code then blocks the call.
    pub blocked: Option<String>,
}

impl HookOutcome {
    fn print(text: impl Into<String>) -> HookOutcome {
        HookOutcome { print: text.into(), blocked: None }
    }
}

/// The connection to the daemon.
enum Connection {
    Open(UnixStream),
    /// No daemon listens, so one is started.
    NoDaemon,
    /// No daemon can be used.
    Unusable,
}

enum DaemonReply {
    Answer(String),
    /// The session whose commitments have to be verified.
    Verify(String),
    /// The daemon is of another build and ends.
    OtherBuild,
    /// No daemon listens.
    NoDaemon,
    /// No valid answer.
    Unusable,
}

#[derive(Debug)]
pub struct Hook {
    environment: Environment,
    name: String,
    client: Client,
    /// Whether a person can be asked.
    attended: bool,
    project: PathBuf,
}

impl Hook {
    #[must_use]
    pub fn new(environment: Environment, name: &str, client: Option<Client>, directory: &Path) -> Hook {
        let named = ["MARVIN_PROJECT_DIR", "CLAUDE_PROJECT_DIR"];
        let given = named.iter().find_map(|name| environment.get(name)).map(PathBuf::from);
        let client = client.unwrap_or(if given.is_some() { Client::Claude } else { Client::Codex });
        let attended =
            client == Client::Claude && environment.get("CLAUDE_CODE_SESSION_ATTENDED") != Some("0");
        let home = Layout::new(&environment, None).home().to_path_buf();
        let project = wire::project(given.as_deref().unwrap_or(directory), &home);
        Hook { environment, name: name.to_string(), client, attended, project }
    }

    fn event(&self) -> Option<Event> {
        Event::read(&self.name)
    }

    /// Answers the event on `input`. If that takes longer than the client waits, `late` gets an answer on another thread,
    /// and ends the process.
    pub fn run(
        &mut self,
        input: &mut impl Read,
        late: impl FnOnce(HookOutcome) + Send + 'static,
    ) -> HookOutcome {
        // A hook of a model that judges a command does not ask the daemon.
        let evaluating = is_evaluating(&self.environment);
        // The daemon wakes up while this process reads the event.
        let connection = if evaluating { Connection::Unusable } else { self.connect() };
        let mut event = Vec::new();
        match input.take(wire::MAX_EVENT_BYTES as u64 + 1).read_to_end(&mut event) {
            Ok(_) if event.len() <= wire::MAX_EVENT_BYTES => {}
            Ok(_) => return self.doubt("more was told than is read"),
            Err(error) => return self.doubt(&format!("standard input cannot be read: {error}")),
        }
        if event.trim_ascii().is_empty() {
            return self.doubt("the input is empty");
        }
        if self.event().is_none()
            && let Some(name) = event::named(&event)
        {
            // The name on the command line may be misspelt; the client's own is in its input.
            self.name = name;
        }
        if evaluating {
            return HookOutcome::print(event_handler::evaluating(self.client, self.event()));
        }
        let reply = self.ask(connection, &event);
        if !matches!(reply, DaemonReply::Answer(_)) {
            self.watch(late);
        }
        match reply {
            DaemonReply::Answer(text) => HookOutcome::print(text),
            DaemonReply::Verify(session) => {
                let input = event::parse(&event).unwrap_or_default();
                self.with_handler(&input, |hook, handler| hook.verify(handler, &session))
            }
            DaemonReply::NoDaemon => {
                // A session that ends does not need a daemon.
                if self.event() != Some(Event::SessionEnd) {
                    self.start();
                }
                self.answer_here(&event)
            }
            DaemonReply::OtherBuild | DaemonReply::Unusable => self.answer_here(&event),
        }
    }

    /// Ensures an answer in time, since the client takes silence for a yes: this process may block on a pipe or on a lock
    /// that is never released.
    fn watch(&self, late: impl FnOnce(HookOutcome) + Send + 'static) {
        let limit = match self.event() {
            // Verification has its own timeout.
            Some(Event::Stop | Event::SubagentStop) => return,
            event => wire::hook_timeout(event),
        };
        let ended = self.doubt("it took too long");
        std::thread::spawn(move || {
            std::thread::sleep(limit);
            late(ended);
        });
    }

    /// Connects to the daemon.
    fn connect(&self) -> Connection {
        let Some(place) = Place::for_project(&self.environment, &self.project) else {
            return Connection::Unusable;
        };
        if !wire::is_private(place.directory()) {
            return Connection::NoDaemon;
        }
        match connect(&place.socket()) {
            Ok(stream) => Connection::Open(stream),
            // The backlog is full: the daemon runs, and is too busy.
            Err(Errno::AGAIN) => Connection::Unusable,
            Err(_) => Connection::NoDaemon,
        }
    }

    /// Asks the daemon.
    fn ask(&self, connection: Connection, event: &[u8]) -> DaemonReply {
        let mut stream = match connection {
            Connection::Open(stream) => stream,
            Connection::NoDaemon => return DaemonReply::NoDaemon,
            Connection::Unusable => return DaemonReply::Unusable,
        };
        let own = std::fs::metadata("/proc/self/exe").ok();
        match peer(&stream, own.as_ref(), &self.environment) {
            Peer::Own => {}
            Peer::Other => {
                // Another build is asked to end, without the event.
                stream.write_all(&wire::request("stop", self.client, false, "", b"null")).ok();
                return DaemonReply::OtherBuild;
            }
            Peer::Stranger => return DaemonReply::Unusable,
        }
        let line =
            wire::request(&self.name, self.client, self.attended, &wire::build_of(own.as_ref()), event);
        stream.set_write_timeout(Some(SEND_TIMEOUT)).ok();
        if stream.write_all(&line).is_err() {
            return DaemonReply::Unusable;
        }
        let answer = read_answer(&mut stream, wire::hook_timeout(self.event()));
        answer.map_or(DaemonReply::Unusable, |line| parse_reply(&line))
    }

    /// Starts a daemon, unless another process does.
    fn start(&self) {
        if let Ok(program) = std::env::current_exe() {
            daemon::start(&self.environment, &self.project, &program).ok();
        }
    }

    /// Answers without a daemon.
    fn answer_here(&self, event: &[u8]) -> HookOutcome {
        let Some(value) = event::parse(event) else { return self.doubt("the input is not JSON") };
        self.with_handler(&value, |hook, handler| {
            let answer = async { handler.answer(hook.client, &hook.name, hook.attended, &value).await };
            let limit = wire::handler_timeout(hook.event());
            match block_on(async { tokio::time::timeout(limit, answer).await }) {
                Some(Ok(Reply::Print(text))) => HookOutcome::print(text),
                Some(Ok(Reply::Verify(session))) => hook.verify(handler, &session),
                Some(Err(_)) | None => hook.doubt("it took too long"),
            }
        })
    }

    fn with_handler(
        &self,
        event: &Value,
        then: impl FnOnce(&Hook, &EventHandler) -> HookOutcome,
    ) -> HookOutcome {
        match EventHandler::open(&self.environment, &self.project, &CancellationToken::new()) {
            Ok(handler) => then(self, &handler),
            Err(error) => {
                let home = Layout::new(&self.environment, None).home().to_path_buf();
                let why = error.to_string();
                let answer = event_handler::without_handler(self.client, self.event(), event, &home, &why);
                HookOutcome::print(answer)
            }
        }
    }

    /// Verifies the commitments in this process, so that the verification ends with the hook.
    fn verify(&self, handler: &EventHandler, session: &str) -> HookOutcome {
        match block_on(verify::report(handler.context())) {
            Some(report) => match handler.verified(self.client, session, &report) {
                Reply::Print(text) => HookOutcome::print(text),
                Reply::Verify(_) => self.doubt("it was verified again and again"),
            },
            None => self.doubt("the verification cannot be started"),
        }
    }

    /// The answer after a failure.
    #[must_use]
    pub fn doubt(&self, why: &str) -> HookOutcome {
        let text = event_handler::in_doubt(self.client, self.event(), why);
        let decides = self.event().is_some_and(Event::decides);
        // An empty answer to a permission request leaves the decision to the person; before a call it would allow it.
        let silent = decides && text == "{}" && self.event() == Some(Event::PreToolUse);
        HookOutcome { print: text, blocked: silent.then(|| format!("Marvin could not judge this: {why}")) }
    }
}

/// Runs a future to its end on this thread.
fn block_on<T>(work: impl Future<Output = T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    Some(runtime.block_on(work))
}

/// Connects without blocking, also to a daemon that does not accept.
fn connect(socket: &Path) -> Result<UnixStream, Errno> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let own = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&own, &SocketAddrUnix::new(socket)?)?;
    let stream = UnixStream::from(own);
    stream.set_nonblocking(false).map_err(|_| Errno::IO)?;
    Ok(stream)
}

/// The process that listens.
enum Peer {
    /// This very program, of this user, with the same settings.
    Own,
    /// Another program or build of this user, or other settings.
    Other,
    /// A process of another user.
    Stranger,
}

/// Identifies the process that listens; `own` is the metadata of this program's file.
fn peer(stream: &UnixStream, own: Option<&Metadata>, environment: &Environment) -> Peer {
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return Peer::Stranger };
    if peer.uid != rustix::process::getuid() {
        return Peer::Stranger;
    }
    let identity = |facts: &Metadata| (facts.dev(), facts.ino());
    let process = ["/proc/", DecInt::new(peer.pid.as_raw_nonzero().get()).as_str()].concat();
    let theirs = std::fs::metadata([&process, "/exe"].concat()).ok();
    let same = theirs.is_some() && theirs.as_ref().map(identity) == own.map(identity);
    if same && has_same_settings(&process, environment) { Peer::Own } else { Peer::Other }
}

/// Whether a process was started with the same variables for settings (S12). The kernel keeps them, so that a daemon cannot
/// claim others.
fn has_same_settings(process: &str, environment: &Environment) -> bool {
    let Ok(bytes) = std::fs::read([process, "/environ"].concat()) else { return false };
    let theirs: Environment = bytes
        .split(|byte| *byte == 0)
        .filter_map(|variable| std::str::from_utf8(variable).ok()?.split_once('='))
        .collect();
    daemon::setting_variables().all(|name| theirs.get(name) == environment.get(name))
}

/// Whether this is a hook of a model that judges a command.
fn is_evaluating(environment: &Environment) -> bool {
    let names = ["MARVIN_SECURITY_EVAL", "MARVEL_SECURITY_EVAL"];
    let off = ["0", "false", "no", "off"];
    names.iter().filter_map(|name| environment.get(name)).any(|value| !off.contains(&value))
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
fn parse_reply(line: &[u8]) -> DaemonReply {
    let Ok(text) = std::str::from_utf8(line) else { return DaemonReply::Unusable };
    let text = text.trim();
    if let Some(rest) = text.strip_prefix(daemon::CONTROL) {
        let Ok(control) = serde_json::from_str::<Value>(&format!("{{{rest}")) else {
            return DaemonReply::Unusable;
        };
        let word = |key: &str| control.get(key).and_then(Value::as_str).map(str::to_string);
        if let Some(session) = word("verify") {
            return DaemonReply::Verify(session);
        }
        return word("text").map_or(DaemonReply::OtherBuild, DaemonReply::Answer);
    }
    let whole = text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if whole { DaemonReply::Answer(text.to_string()) } else { DaemonReply::Unusable }
}
