//! The hook itself: reads what the client tells, asks the daemon, prints the answer.
//!
//! It costs as little as a process can: no settings, no runtime, no parsing of what was told. Where the daemon is not there, is of
//! another build, is late or talks nonsense, the answer is made here. Whatever happens, a call that could not be judged
//! is not allowed: both clients take silence for a yes.

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

/// How long a daemon may show no sign of life. It shows one every [`wire::PULSE`], and none while it waits for the lock of a
/// ledger that hundreds of hooks append to at once.
const SILENCE: Duration = Duration::from_secs(6);
/// How long a request may take to be taken.
const SENDING: Duration = Duration::from_secs(5);
/// How long an answer is looked for before the process sleeps: waking it up again takes longer than most answers do.
const AT_ONCE: Duration = Duration::from_micros(500);
/// The longest answer that is read.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// What a hook does in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutcome {
    /// For standard output.
    pub print: String,
    /// For standard error; then the call is blocked by the exit code.
    pub blocked: Option<String>,
}

impl HookOutcome {
    fn print(text: impl Into<String>) -> HookOutcome {
        HookOutcome { print: text.into(), blocked: None }
    }
}

/// The line to the daemon.
enum Line {
    /// It is open.
    Open(UnixStream),
    /// Nobody is there.
    Nobody,
    /// There is none to be had.
    Nothing,
}

/// What the daemon said.
enum DaemonReply {
    /// The answer.
    Answer(String),
    /// The claim to be done of this session has to be proved.
    Verify(String),
    /// It is of another build and ends itself.
    Other,
    /// Nobody is there.
    Nobody,
    /// Nothing that could be used.
    Nothing,
}

/// One hook.
#[derive(Debug)]
pub struct Hook {
    environment: Environment,
    name: String,
    client: Client,
    /// Whether a person sits at the client.
    attended: bool,
    project: PathBuf,
}

impl Hook {
    /// A hook of an event, in a directory.
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

    /// Answers what was told on `input`. Should that take longer than the client waits, `late` is given the answer on
    /// another thread, and ends the process.
    pub fn run(&self, input: &mut impl Read, late: impl FnOnce(HookOutcome) + Send + 'static) -> HookOutcome {
        // A model that judges a command for us asks nobody.
        let evaluating = is_evaluating(&self.environment);
        // The daemon wakes up while the rest is made ready.
        let line = if evaluating { Line::Nothing } else { self.call() };
        let mut told = Vec::new();
        match input.take(wire::MAX_EVENT_BYTES as u64 + 1).read_to_end(&mut told) {
            Ok(_) if told.len() <= wire::MAX_EVENT_BYTES => {}
            Ok(_) => return self.doubt("more was told than is read"),
            Err(error) => return self.doubt(&format!("standard input cannot be read: {error}")),
        }
        if told.trim_ascii().is_empty() {
            return self.doubt("nothing was told");
        }
        if evaluating {
            return HookOutcome::print(event_handler::evaluating(self.client, self.event()));
        }
        let heard = self.ask(line, &told);
        if !matches!(heard, DaemonReply::Answer(_)) {
            self.watch(late);
        }
        match heard {
            DaemonReply::Answer(text) => HookOutcome::print(text),
            DaemonReply::Verify(session) => self.here(&Value::Null, |hook, desk| hook.prove(desk, &session)),
            DaemonReply::Nobody => {
                // A session that ends needs no daemon any more.
                if self.event() != Some(Event::SessionEnd) {
                    self.start();
                }
                self.answer_here(&told)
            }
            DaemonReply::Other | DaemonReply::Nothing => self.answer_here(&told),
        }
    }

    /// Whatever holds this process up (a file that is a pipe, a lock that nobody gives back): the client takes silence
    /// for a yes, so that an answer is given in time.
    fn watch(&self, late: impl FnOnce(HookOutcome) + Send + 'static) {
        let limit = match self.event() {
            Some(event) if event.decides() => wire::patience(Some(event)),
            // Verification sees to its own time.
            Some(Event::Stop | Event::SubagentStop) => return,
            event => wire::patience(event),
        };
        let ended = self.doubt("it took too long");
        std::thread::spawn(move || {
            std::thread::sleep(limit);
            late(ended);
        });
    }

    /// Calls the daemon, without a word yet.
    fn call(&self) -> Line {
        let Some(place) = Place::for_project(&self.environment, &self.project) else { return Line::Nothing };
        if !wire::is_private(place.directory()) {
            return Line::Nobody;
        }
        match connect(&place.socket()) {
            Ok(stream) => Line::Open(stream),
            // So many wait that no more are taken: it lives, and does not come to it.
            Err(Errno::AGAIN) => Line::Nothing,
            Err(_) => Line::Nobody,
        }
    }

    /// Asks the daemon.
    fn ask(&self, line: Line, told: &[u8]) -> DaemonReply {
        let mut stream = match line {
            Line::Open(stream) => stream,
            Line::Nobody => return DaemonReply::Nobody,
            Line::Nothing => return DaemonReply::Nothing,
        };
        let own = std::fs::metadata("/proc/self/exe").ok();
        match peer(&stream, own.as_ref(), &self.environment) {
            Peer::Own => {}
            Peer::Other => {
                // Another build is asked to end; whoever else listens there learns nothing.
                stream.write_all(&wire::request("stop", self.client, false, "", b"null")).ok();
                return DaemonReply::Other;
            }
            Peer::Stranger => return DaemonReply::Nothing,
        }
        let line = wire::request(&self.name, self.client, self.attended, &wire::build_of(own.as_ref()), told);
        stream.set_write_timeout(Some(SENDING)).ok();
        if stream.write_all(&line).is_err() {
            return DaemonReply::Nothing;
        }
        let heard = hear(&mut stream, wire::patience(self.event()));
        heard.map_or(DaemonReply::Nothing, |line| understand(&line))
    }

    /// Starts a daemon, unless somebody else just does.
    fn start(&self) {
        if let Ok(program) = std::env::current_exe() {
            daemon::start(&self.environment, &self.project, &program).ok();
        }
    }

    /// Answers without a daemon.
    fn answer_here(&self, told: &[u8]) -> HookOutcome {
        let Some(value) = event::parse(told) else { return self.doubt("what was told is not JSON") };
        self.here(&value, |hook, desk| {
            let answer = async { desk.answer(hook.client, &hook.name, hook.attended, &value).await };
            let limit = wire::deadline(hook.event());
            match block_on(async { tokio::time::timeout(limit, answer).await }) {
                Some(Ok(Reply::Print(text))) => HookOutcome::print(text),
                Some(Ok(Reply::Verify(session))) => hook.prove(desk, &session),
                Some(Err(_)) | None => hook.doubt("it took too long"),
            }
        })
    }

    fn here(&self, told: &Value, then: impl FnOnce(&Hook, &EventHandler) -> HookOutcome) -> HookOutcome {
        match EventHandler::open(&self.environment, &self.project, &CancellationToken::new()) {
            Ok(desk) => then(self, &desk),
            Err(why) => {
                let home = Layout::new(&self.environment, None).home().to_path_buf();
                HookOutcome::print(event_handler::without(self.client, self.event(), told, &home, &why))
            }
        }
    }

    /// Verifies the commitments: in this process, so that whoever ends the hook ends it too.
    fn prove(&self, desk: &EventHandler, session: &str) -> HookOutcome {
        match block_on(verify::report(desk.ground())) {
            Some(report) => match desk.verified(self.client, session, &report) {
                Reply::Print(text) => HookOutcome::print(text),
                Reply::Verify(_) => HookOutcome::print("{}"),
            },
            None => HookOutcome::print("{}"),
        }
    }

    /// The answer when something does not work that should.
    #[must_use]
    pub fn doubt(&self, why: &str) -> HookOutcome {
        let text = event_handler::in_doubt(self.client, self.event(), why);
        let decides = self.event().is_some_and(Event::decides);
        // An empty answer to a request for permission leaves it to the person; before a tool it would let it through.
        let silent = decides && text == "{}" && self.event() == Some(Event::PreToolUse);
        HookOutcome { print: text, blocked: silent.then(|| format!("Marvin could not judge this: {why}")) }
    }
}

/// Runs something to its end on this thread.
fn block_on<T>(work: impl Future<Output = T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    Some(runtime.block_on(work))
}

/// Connects without waiting: a daemon that takes nobody must not hold anybody up.
fn connect(socket: &Path) -> Result<UnixStream, Errno> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let own = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&own, &SocketAddrUnix::new(socket)?)?;
    let stream = UnixStream::from(own);
    stream.set_nonblocking(false).map_err(|_| Errno::IO)?;
    Ok(stream)
}

/// Who listens.
enum Peer {
    /// This very program, of this person, with the same settings.
    Own,
    /// Another program of this person, perhaps another build, or one that was started with other settings.
    Other,
    /// Somebody else.
    Stranger,
}

/// Who listens; `own` is what is known of this program's file.
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

/// Whether a process was started with the variables that decide about settings as this one has them (S12): the kernel keeps them, so
/// that a daemon cannot say otherwise.
fn has_same_settings(process: &str, environment: &Environment) -> bool {
    let Ok(bytes) = std::fs::read([process, "/environ"].concat()) else { return false };
    let theirs: Environment = bytes
        .split(|byte| *byte == 0)
        .filter_map(|variable| std::str::from_utf8(variable).ok()?.split_once('='))
        .collect();
    daemon::setting_variables().all(|name| theirs.get(name) == environment.get(name))
}

/// Is this a hook of a program that judges a command for us?
fn is_evaluating(environment: &Environment) -> bool {
    let names = ["MARVIN_SECURITY_EVAL", "MARVEL_SECURITY_EVAL"];
    let off = ["0", "false", "no", "off"];
    names.iter().filter_map(|name| environment.get(name)).any(|value| !off.contains(&value))
}

/// The line of the answer; empty lines are signs of life.
fn hear(stream: &mut UnixStream, patience: Duration) -> Option<Vec<u8>> {
    let started = Instant::now();
    let mut line = Vec::new();
    let mut block = [0; 4 * 1024];
    while !is_there(stream) && started.elapsed() < AT_ONCE {
        std::thread::yield_now();
    }
    loop {
        let left = patience.checked_sub(started.elapsed()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left.min(SILENCE))).ok()?;
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

/// Is there something to read?
fn is_there(stream: &UnixStream) -> bool {
    rustix::net::recv(stream, &mut [0; 1], RecvFlags::DONTWAIT | RecvFlags::PEEK) != Err(Errno::AGAIN)
}

/// What a line of the daemon means. Nothing is printed that is not an object, or marked as text by the daemon.
fn understand(line: &[u8]) -> DaemonReply {
    let Ok(text) = std::str::from_utf8(line) else { return DaemonReply::Nothing };
    let text = text.trim();
    if let Some(rest) = text.strip_prefix(daemon::CONTROL) {
        let Ok(control) = serde_json::from_str::<Value>(&format!("{{{rest}")) else {
            return DaemonReply::Nothing;
        };
        let word = |key: &str| control.get(key).and_then(Value::as_str).map(str::to_string);
        if let Some(session) = word("verify") {
            return DaemonReply::Verify(session);
        }
        return word("text").map_or(DaemonReply::Other, DaemonReply::Answer);
    }
    let whole = text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if whole { DaemonReply::Answer(text.to_string()) } else { DaemonReply::Nothing }
}
