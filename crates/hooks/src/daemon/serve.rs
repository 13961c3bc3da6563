//! Serves a project until nobody needs it.

use super::{CONTROL, try_lock};
use crate::event::{self, Client, Event};
use crate::event_handler::{self, EventHandler, Reply};
use crate::wire::{self, Place, Request};
use marvin_base::atomic;
use marvin_base::clock;
use marvin_base::environment::Environment;
use marvin_base::trim_memory;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

/// How long a request may take to arrive.
const ARRIVING: Duration = Duration::from_secs(10);
/// How long a request is looked for before the daemon sleeps.
const AT_ONCE: Duration = Duration::from_micros(400);
/// How long the daemon stays when the last session has ended.
const LINGER: Duration = Duration::from_millis(500);
/// How long it stays without a request.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// After this time without a request it gives memory back.
const QUIET: Duration = Duration::from_secs(2);
/// How often it looks after itself.
const TICK: Duration = Duration::from_secs(1);

struct Daemon {
    desk: EventHandler,
    build: String,
    end: CancellationToken,
    started: Instant,
    /// Milliseconds after the start at which the last request came.
    asked: AtomicU64,
    requests: AtomicU64,
    open: AtomicUsize,
}

/// Serves the project until nobody needs it. Returns at once when another daemon does.
///
/// # Errors
/// When it cannot listen, or its directory is not its own.
pub async fn serve(environment: &Environment, project: &Path, end: CancellationToken) -> Result<(), String> {
    let place = Place::for_project(environment, project).ok_or("the path of its socket would be too long")?;
    wire::make_private(place.directory())?;
    let Some(_lock) = try_lock(&place.lock())? else { return Ok(()) };
    // The terminal of the session that needed it first must not end it.
    rustix::process::setsid().ok();
    let desk = EventHandler::open(environment, project, &end)?;
    let listener = listen(&place)?;
    let build = wire::build();
    let about = format!("{}\n{}\n{build}\n", std::process::id(), project.display());
    atomic::replace_private(&place.pid(), about.as_bytes()).map_err(|error| error.to_string())?;
    say(&format!("serves {}", project.display()));
    if let Some(trouble) = desk.trouble() {
        say(trouble);
    }
    let daemon = Arc::new(Daemon {
        desk,
        build,
        end: end.clone(),
        started: Instant::now(),
        asked: AtomicU64::new(0),
        requests: AtomicU64::new(0),
        open: AtomicUsize::new(0),
    });
    let why = accept(&daemon, &listener, project, &place.socket()).await;
    // Nobody new is let in; whoever is in gets an answer.
    std::fs::remove_file(place.socket()).ok();
    drop(listener);
    let patience = Instant::now();
    while daemon.open.load(Ordering::Acquire) > 0 && patience.elapsed() < Duration::from_secs(60) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    std::fs::remove_file(place.pid()).ok();
    say(&format!("ends: {why}, {} requests", daemon.requests.load(Ordering::Relaxed)));
    Ok(())
}

/// Lets hooks in. Returns why it ends.
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
    let mut given_back = 0;
    loop {
        let served = daemon.requests.load(Ordering::Relaxed) > 0;
        let empty = served && daemon.desk.sessions() == 0;
        if empty {
            empty_since.get_or_insert(Instant::now());
        } else {
            empty_since = None;
        }
        let linger = empty_since.map_or(IDLE, |since| LINGER.saturating_sub(since.elapsed()));
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
                // Too many open files: those that are open will end.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            () = tokio::time::sleep(linger) => {
                let open = daemon.open.load(Ordering::Acquire) > 0;
                if !open && empty_since.is_some_and(|since| since.elapsed() >= LINGER) {
                    return "the last session has ended";
                }
            }
            _ = tick.tick() => {
                let asked = Duration::from_millis(daemon.asked.load(Ordering::Relaxed));
                let quiet = daemon.started.elapsed().saturating_sub(asked);
                // A moment of quiet, after the first request and after every busy time.
                let requests = daemon.requests.load(Ordering::Relaxed);
                if requests != given_back && (given_back == 0 || quiet > QUIET) {
                    given_back = requests;
                    trim_memory::give_back();
                }
                if let Some(due) = daemon.desk.due() {
                    // Forcing something to the disk takes its time, and nobody waits for this.
                    tokio::task::spawn_blocking(move || due.write());
                }
                if identity(project) != at_first.0 {
                    return "its project is gone";
                }
                if identity(socket) != at_first.1 {
                    return "its socket is gone";
                }
                if quiet > IDLE {
                    return "nobody asked for a long time";
                }
            }
            () = daemon.end.cancelled() => return "it was asked to",
        }
    }
}

impl Daemon {
    async fn attend(&self, mut stream: UnixStream) {
        let own = rustix::process::getuid().as_raw();
        if !stream.peer_cred().is_ok_and(|peer| peer.uid() == own) {
            return;
        }
        let Some(line) = tokio::time::timeout(ARRIVING, read_line(&mut stream)).await.ok().flatten() else {
            return;
        };
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.asked.store(now, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let answer = self.answer(&line);
        tokio::pin!(answer);
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                () = tokio::time::sleep(wire::PULSE) => {
                    // Whoever asked may be gone; what was begun is finished all the same.
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
            return control(&json!({"bad": "what was told is not JSON"}));
        };
        match request.hook {
            "status" => return control(&self.status()),
            "stop" => {
                self.end.cancel();
                return control(&json!({"ends": true}));
            }
            _ if request.build != self.build => {
                self.end.cancel();
                return control(&json!({"build": self.build}));
            }
            _ => {}
        }
        let event = Event::read(request.hook);
        let client = Client::read(request.client).unwrap_or(Client::Codex);
        let input: Option<Value> = request.input.and_then(|input| event::parse(input.get().as_bytes()));
        let Some(input) = input else {
            return event_handler::in_doubt(client, event, "what was told is not JSON");
        };
        let answer = self.desk.answer(client, request.hook, request.attended, &input);
        match tokio::time::timeout(wire::deadline(event), answer).await {
            Ok(Reply::Print(text)) if text.starts_with('{') => text,
            Ok(Reply::Print(text)) => control(&json!({ "text": text })),
            Ok(Reply::Verify(session)) => control(&json!({ "verify": session })),
            Err(_) => event_handler::in_doubt(client, event, "it took too long"),
        }
    }

    fn status(&self) -> Value {
        json!({
            "status": "alive", "pid": std::process::id(), "build": self.build, "sessions": self.desk.sessions(),
            "requests": self.requests.load(Ordering::Relaxed), "seconds": self.started.elapsed().as_secs(),
        })
    }
}

/// An answer for the hook.
fn control(value: &Value) -> String {
    let text = value.to_string();
    format!("{CONTROL}{}", text.strip_prefix('{').unwrap_or(&text))
}

async fn read_line(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut line = Vec::with_capacity(8 * 1024);
    // A hook calls first and speaks a moment later; to sleep in between takes longer than that moment.
    let called = Instant::now();
    while called.elapsed() < AT_ONCE {
        match stream.try_read_buf(&mut line) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => tokio::task::yield_now().await,
            Ok(0) | Err(_) => return None,
            Ok(_) => break,
        }
    }
    if line.last() == Some(&b'\n') {
        return Some(line);
    }
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

/// Listens. The socket appears under its name only when it answers.
fn listen(place: &Place) -> Result<UnixListener, String> {
    let socket = place.socket();
    let new = socket.with_extension("new");
    std::fs::remove_file(&new).ok();
    let fail = |what: &str, error: std::io::Error| format!("cannot {what} {}: {error}", socket.display());
    let listener = UnixListener::bind(&new).map_err(|error| fail("listen on", error))?;
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&new, private).map_err(|error| fail("guard", error))?;
    std::fs::rename(&new, &socket).map_err(|error| fail("name", error))?;
    Ok(listener)
}

/// A line in the log.
#[expect(clippy::print_stderr, reason = "standard error is the daemon's log")]
fn say(text: &str) {
    eprintln!("{} {text}", clock::now_stamp());
}
