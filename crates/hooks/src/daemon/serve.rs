//! The server of the daemon: accepts hooks until the project has no sessions.

use super::{DaemonError, make_private, try_lock};
use crate::event::{self, Client, Event};
use crate::event_handler::{self, EventHandler, Reply};
use marvin_base::atomic;
use marvin_base::clock;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::trim_memory;
use marvin_hook_client::wire::{self, CONTROL, Place, Request};
use rustix::net::RecvFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The time between the end of the last session and the end of the daemon.
const LINGER_TIME: Duration = Duration::from_millis(500);
const IDLE_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// The time without a request after which memory is returned to the system.
const TRIM_AFTER: Duration = Duration::from_secs(2);
/// The interval of maintenance.
const TICK: Duration = Duration::from_secs(1);

struct Daemon {
    handler: EventHandler,
    build: String,
    /// The files of settings as they were when they were read.
    settings: [Option<FileMark>; 2],
    end: CancellationToken,
    started: Instant,
    /// Milliseconds from the start to the last request.
    last_request: AtomicU64,
    requests: AtomicU64,
    /// Requests of clients. A question about the status neither begins nor ends a session.
    events: AtomicU64,
    open: AtomicUsize,
}

/// The content of an answer to the hook itself; it follows [`CONTROL`].
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Control {
    Bad(&'static str),
    Ends(bool),
    /// The daemon is of this other build, and ends.
    Build(String),
    /// Text for the client that is not a JSON object.
    Text(String),
    /// The session whose commitments the hook verifies.
    Verify(String),
    #[serde(untagged)]
    Status(DaemonStatus),
}

/// The answer to `status`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DaemonStatus {
    status: String,
    pid: u32,
    build: String,
    pub(super) sessions: u64,
    pub(super) requests: u64,
    pub(super) seconds: u64,
}

/// Serves the project until it has no sessions. Returns at once when another daemon serves it.
///
/// # Errors
/// When it cannot listen, or its directory is not private.
pub async fn serve(
    environment: &Environment,
    project: &Path,
    end: CancellationToken,
) -> Result<(), DaemonError> {
    let place = Place::for_project(environment, project).ok_or(DaemonError::LongSocketPath)?;
    make_private(place.directory())?;
    let Some(_lock) = try_lock(&place.lock())? else { return Ok(()) };
    // The terminal of the session that started it must not end it.
    rustix::process::setsid().ok();
    // Before they are read, so that no change is missed.
    let layout = Layout::new(environment, Some(project));
    let settings = settings_marks(&layout);
    let handler = EventHandler::open(environment, project, &end)?;
    let build = wire::own_build();
    let about = format!("{}\n{}\n{build}\n", std::process::id(), project.display());
    // Before the socket has its name: `daemon start` waits for that, and then says which process it is.
    atomic::replace_private(&place.pid(), about.as_bytes())?;
    let listener = listen(&place)?;
    log(&format!("serves {}", project.display()));
    tracing::info!(project = %project.display(), build, "daemon serves");
    if let Some(trouble) = handler.trouble() {
        log(trouble);
    }
    let daemon = Arc::new(Daemon {
        handler,
        build,
        settings,
        end: end.clone(),
        started: Instant::now(),
        last_request: AtomicU64::new(0),
        requests: AtomicU64::new(0),
        events: AtomicU64::new(0),
        open: AtomicUsize::new(0),
    });
    let why = accept(&daemon, &listener, project, &place.socket()).await;
    // No new connections are accepted; open ones get an answer.
    std::fs::remove_file(place.socket()).ok();
    drop(listener);
    let closed = Instant::now();
    while daemon.open.load(Ordering::Acquire) > 0 && closed.elapsed() < Duration::from_secs(60) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    std::fs::remove_file(place.pid()).ok();
    let requests = daemon.requests.load(Ordering::Relaxed);
    log(&format!("ends: {why}, {requests} requests"));
    tracing::info!(why, requests, "daemon ends");
    Ok(())
}

/// Accepts hooks; returns the reason for the end.
async fn accept(
    daemon: &Arc<Daemon>,
    listener: &UnixListener,
    project: &Path,
    socket: &Path,
) -> &'static str {
    let identity = |path: &Path| std::fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok();
    let at_first = (identity(project), identity(socket));
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut empty_since: Option<Instant> = None;
    let mut trimmed_at = 0;
    let mut written = false;
    loop {
        let served = daemon.events.load(Ordering::Relaxed) > 0;
        let empty = served && daemon.handler.sessions() == 0;
        if empty {
            empty_since.get_or_insert(Instant::now());
        } else {
            empty_since = None;
        }
        let linger = empty_since.map_or(IDLE_TIMEOUT, |since| LINGER_TIME.saturating_sub(since.elapsed()));
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    daemon.open.fetch_add(1, Ordering::AcqRel);
                    let daemon = daemon.clone();
                    tokio::spawn(async move {
                        daemon.attend(stream).await;
                        daemon.open.fetch_sub(1, Ordering::AcqRel);
                    });
                }
                // Too many open files: some will be closed soon.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            () = tokio::time::sleep(linger) => {
                let open = daemon.open.load(Ordering::Acquire) > 0;
                if !open && empty_since.is_some_and(|since| since.elapsed() >= LINGER_TIME) {
                    return "the last session has ended";
                }
            }
            _ = tick.tick() => {
                let last = Duration::from_millis(daemon.last_request.load(Ordering::Relaxed));
                let quiet = daemon.started.elapsed().saturating_sub(last);
                // After the first request, after every busy time and after the state of sessions was written.
                let requests = daemon.requests.load(Ordering::Relaxed);
                if (written || requests != trimmed_at) && (trimmed_at == 0 || quiet > TRIM_AFTER) {
                    (trimmed_at, written) = (requests, false);
                    trim_memory::give_back();
                }
                if let Some(due) = daemon.handler.due() {
                    // A sync to the disk is slow, and no answer depends on it.
                    tokio::task::spawn_blocking(move || due.write());
                    // The write brings back what was trimmed.
                    written = true;
                }
                if at_first.0.is_none() || identity(project) != at_first.0 {
                    return "its project is gone";
                }
                if identity(socket) != at_first.1 {
                    return "its socket is gone";
                }
                if quiet > IDLE_TIMEOUT {
                    return "no request for a long time";
                }
            }
            () = daemon.end.cancelled() => return "it was asked to",
        }
    }
}

/// Facts of a file that change with its content: device, inode, size, times.
type FileMark = (u64, u64, u64, (i64, i64), (i64, i64));

fn settings_marks(layout: &Layout) -> [Option<FileMark>; 2] {
    [layout.project_config(), Some(layout.user_config())].map(|file| {
        let facts = std::fs::metadata(file?).ok()?;
        let (modified, changed) = ((facts.mtime(), facts.mtime_nsec()), (facts.ctime(), facts.ctime_nsec()));
        Some((facts.dev(), facts.ino(), facts.size(), modified, changed))
    })
}

impl Daemon {
    fn has_other_settings(&self) -> bool {
        settings_marks(&self.handler.context().layout) != self.settings
    }

    async fn attend(&self, mut stream: UnixStream) {
        let own = rustix::process::getuid().as_raw();
        if !stream.peer_cred().is_ok_and(|peer| peer.uid() == own) {
            return;
        }
        let Some(line) = tokio::time::timeout(REQUEST_TIMEOUT, read_line(&mut stream)).await.ok().flatten()
        else {
            return;
        };
        if is_withdrawn(&line, &stream) {
            return;
        }
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_request.store(now, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let answer = self.answer(&line);
        tokio::pin!(answer);
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                () = tokio::time::sleep(wire::PULSE) => {
                    // The hook may be gone; the event is handled anyway.
                    stream.write_all(b"\n").await.ok();
                }
            }
        };
        let mut line = answer.into_bytes();
        line.push(b'\n');
        stream.write_all(&line).await.ok();
        stream.shutdown().await.ok();
    }

    async fn answer(&self, line: &[u8]) -> String {
        let Ok(request) = serde_json::from_slice::<Request<'_>>(line) else {
            return control(&Control::Bad("the input is not JSON"));
        };
        match request.hook {
            "status" => return control(&Control::Status(self.status())),
            "stop" => {
                self.end.cancel();
                return control(&Control::Ends(true));
            }
            // The hook judges by itself, and the next one starts a daemon with the new settings.
            _ if request.build != self.build || self.has_other_settings() => {
                self.end.cancel();
                return control(&Control::Build(self.build.clone()));
            }
            _ => {}
        }
        self.events.fetch_add(1, Ordering::Relaxed);
        let event = Event::read(request.hook);
        let client = Client::read(request.client).unwrap_or(Client::Codex);
        let input: Option<Value> = request.input.and_then(|input| event::parse(input.get().as_bytes()));
        let Some(input) = input else {
            return event_handler::in_doubt(client, event, "the input is not JSON");
        };
        let answer = self.handler.answer(client, request.hook, request.attended, &input);
        let started = Instant::now();
        let answer = tokio::time::timeout(wire::handler_timeout(event), answer).await;
        let (client_name, ms) = (client.name(), started.elapsed().as_millis());
        tracing::info!(
            hook = request.hook,
            client = client_name,
            ms,
            late = answer.is_err(),
            "hook answered"
        );
        match answer {
            Ok(Reply::Print(text)) if text.starts_with('{') => text,
            Ok(Reply::Print(text)) => control(&Control::Text(text)),
            Ok(Reply::Verify(session)) => control(&Control::Verify(session)),
            Err(_) => event_handler::in_doubt(client, event, "it took too long"),
        }
    }

    fn status(&self) -> DaemonStatus {
        DaemonStatus {
            status: "alive".into(),
            pid: std::process::id(),
            build: self.build.clone(),
            sessions: self.handler.sessions() as u64,
            requests: self.requests.load(Ordering::Relaxed),
            seconds: self.started.elapsed().as_secs(),
        }
    }
}

/// An answer for the hook itself.
fn control(value: &Control) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    format!("{CONTROL}{}", text.strip_prefix('{').unwrap_or(&text))
}

async fn read_line(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut line = Vec::with_capacity(8 * 1024);
    loop {
        let count = stream.read_buf(&mut line).await.ok()?;
        if line.last() == Some(&b'\n') {
            return Some(line);
        }
        if count == 0 || line.len() > wire::MAX_EVENT_BYTES + 4096 {
            return None;
        }
    }
}

/// Whether the hook no longer waits: on a machine that is overloaded, its request may lie here longer than it waits.
fn is_withdrawn(line: &[u8], stream: &UnixStream) -> bool {
    let mut next = [0; wire::WITHDRAWN.len()];
    let read = rustix::net::recv(stream, &mut next, RecvFlags::DONTWAIT | RecvFlags::PEEK);
    line.ends_with(wire::WITHDRAWN) || (read.is_ok() && next == *wire::WITHDRAWN)
}

/// Binds the socket, which gets its name only when it accepts connections.
fn listen(place: &Place) -> Result<UnixListener, DaemonError> {
    let socket = place.socket();
    let new = socket.with_extension("new");
    std::fs::remove_file(&new).ok();
    let fail = |action, error| DaemonError::io(action, &socket, error);
    let listener = UnixListener::bind(&new).map_err(|error| fail("listen on", error))?;
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&new, private).map_err(|error| fail("guard", error))?;
    std::fs::rename(&new, &socket).map_err(|error| fail("name", error))?;
    Ok(listener)
}

#[expect(clippy::print_stderr, reason = "standard error is the daemon's log")]
fn log(text: &str) {
    eprintln!("{} {text}", clock::now_stamp());
}
