//! Other programs, run so that none is lost.
//!
//! A child gets its own process group, a deadline, closed or given input, bounded output, no descriptors but its
//! standard streams, and an environment without `GIT_DIR`, `GIT_WORK_TREE` and `GIT_INDEX_FILE`. When it ends, is
//! cancelled or is late, everything that it started ends with it, in whatever group or session; the same when this
//! process is killed. See [`keeper`] for how, and its limits.

mod common;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod other;

#[cfg(target_os = "linux")]
pub use linux::hide_environment;
#[cfg(target_os = "linux")]
use linux::keeper;
#[cfg(not(target_os = "linux"))]
use other as keeper;

use crate::environment::Environment;
use rustix::process::{Pid, Signal};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

/// Variables that would make git work on another repository.
pub const GIT_VARIABLES: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// How long a child may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long ending everything may take after that; the keeper continues, but is not waited for.
const LAST: Duration = Duration::from_secs(12);
/// How long to wait for output once the child and all that it started have ended.
const DRAIN: Duration = Duration::from_millis(300);

/// A last change to a command before it starts, such as setting up the sandbox; an error keeps it from starting.
pub type Prepare = Arc<dyn Fn(&mut std::process::Command) -> std::io::Result<()> + Send + Sync>;

/// Variables that every child gets, set once when the program starts (`-B`).
static FOR_ALL: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Sets variables for every child from now on. Only the first call counts.
pub fn set_for_all(variables: BTreeMap<String, String>) {
    FOR_ALL.get_or_init(|| variables);
}

/// The environment that children start from: that of this process, with the variables of [`set_for_all`].
#[must_use]
pub fn environment() -> Environment {
    let shared = FOR_ALL.get().into_iter().flatten();
    shared.fold(Environment::of_process(), |environment, (name, value)| environment.with(name, value))
}

/// Set-up that runs inside the namespaces, as their first process, before the program is forked.
///
/// It must be async-signal-safe: system calls only, no allocation, no locks.
pub type Setup = Arc<dyn Fn() -> std::io::Result<()> + Send + Sync>;

/// The namespaces that a child starts in.
#[derive(Clone)]
pub struct Namespaces {
    /// `CLONE_NEW…` flags; `CLONE_NEWUSER` and `CLONE_NEWPID` are always added.
    pub flags: i32,
    /// Runs inside them before the program is forked.
    pub setup: Setup,
}

impl std::fmt::Debug for Namespaces {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Namespaces").field("flags", &self.flags).finish_non_exhaustive()
    }
}

/// Limits of a child with everything that it starts. Core dumps are never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Processes at the same time (and eight times as many threads); with more, everything is ended. `None`: no bound.
    pub processes: Option<u32>,
    /// Whether every new process is counted before it begins, so that none is too many; else they are counted now and then.
    /// The program then gains no rights by what it runs (`sudo`).
    pub hard: bool,
    /// Bytes of one file. `None`: no bound of ours.
    pub file_bytes: Option<u64>,
    /// Whether the system ends it first when memory runs out.
    pub expendable: bool,
}

/// A program to run, with its limits.
#[derive(Clone)]
pub struct Child {
    /// The program; looked for on `PATH` when it has no slash.
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// Its working directory.
    pub directory: Option<PathBuf>,
    /// Variables set on top of this process's environment.
    pub set: BTreeMap<String, String>,
    /// Variables taken away (besides [`GIT_VARIABLES`], which always are).
    pub remove: Vec<String>,
    /// When false, the child sees only what `set` says.
    pub inherit: bool,
    /// Its standard input, which is closed after it.
    pub input: Vec<u8>,
    /// The timeout.
    pub deadline: Duration,
    /// How many bytes of each output stream are kept; the rest is read, counted and dropped.
    pub keep: usize,
    pub limits: Limits,
    /// Namespaces that it starts in, with an init process that ends everything with it.
    pub namespaces: Option<Namespaces>,
    /// Whether it starts a session of its own, without a controlling terminal.
    pub own_session: bool,
    /// Files that take its output and its errors in place of this process, so that they outlast it.
    pub output_files: Option<(PathBuf, PathBuf)>,
    /// File that gets its exit code when it has ended by itself, also when this process is gone by then.
    pub status_file: Option<PathBuf>,
    /// Called on the command before it starts.
    pub prepare: Option<Prepare>,
}

impl fmt::Debug for Child {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Child")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("directory", &self.directory)
            .field("deadline", &self.deadline)
            .field("prepared", &self.prepare.is_some())
            .finish_non_exhaustive()
    }
}

impl Child {
    /// A child with a minute to live and a megabyte of output.
    pub fn new(program: impl Into<OsString>) -> Self {
        Child {
            program: program.into(),
            arguments: Vec::new(),
            directory: None,
            set: BTreeMap::new(),
            remove: Vec::new(),
            inherit: true,
            input: Vec::new(),
            deadline: Duration::from_secs(60),
            keep: 1024 * 1024,
            limits: Limits::default(),
            namespaces: None,
            own_session: false,
            output_files: None,
            status_file: None,
            prepare: None,
        }
    }

    /// Its working directory, else `default`.
    #[must_use]
    pub fn directory_in(&self, default: &std::path::Path) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| default.to_path_buf())
    }

    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Ended by us: the deadline passed.
    Late,
    /// Ended by us: the run was cancelled.
    Cancelled,
    /// Ended by us: it had more processes than [`Limits::processes`].
    Crowded,
}

/// One output stream, bounded.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// The bytes kept: the beginning and the end.
    pub head: Vec<u8>,
    /// The end, when something between was dropped.
    pub tail: Vec<u8>,
    /// How many bytes were dropped between head and tail.
    pub dropped: u64,
}

impl Output {
    /// The text, saying what is missing; bytes that are not UTF-8 become `�`.
    #[must_use]
    pub fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        if self.dropped == 0 {
            return format!("{head}{}", String::from_utf8_lossy(&self.tail));
        }
        format!("{head}\n… [{} bytes cut here] …\n{}", self.dropped, String::from_utf8_lossy(&self.tail))
    }
}

#[derive(Debug, Clone)]
pub struct Outcome {
    pub ending: Ending,
    pub stdout: Output,
    pub stderr: Output,
    pub elapsed: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    #[error("the program `{0}` is not installed or not on PATH")]
    Missing(String),
    #[error("cannot start `{program}`: {source}")]
    Start {
        program: String,
        #[source]
        source: std::io::Error,
    },
}

/// Runs a child to its end, its deadline, or `cancel`, whichever comes first.
///
/// # Errors
/// When the program cannot be started. A child that fails is an [`Outcome`], not an error.
pub async fn run(child: Child, cancel: &CancellationToken) -> Result<Outcome, ChildError> {
    let started = std::time::Instant::now();
    let program = child.program.to_string_lossy().into_owned();
    let fail = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => ChildError::Missing(program.clone()),
        _ => ChildError::Start { program: program.clone(), source },
    };
    let (mut process, word) = start(&child).map_err(fail)?;
    // Not the arguments: they may hold what the caller got from a person or a model.
    tracing::debug!(program, id = process.id(), "process started");
    // Ends everything even when this future is dropped.
    let mut guard = Guard { keeper: process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) };

    let stdin = process.stdin.take();
    let input = child.input;
    let feed = async move {
        if let Some(mut stdin) = stdin {
            // A child that does not read its input is not an error of ours.
            stdin.write_all(&input).await.ok();
            stdin.shutdown().await.ok();
        }
    };
    let (stop_sender, stop) = tokio::sync::watch::channel(false);
    let stdout = tokio::spawn(collect(process.stdout.take(), child.keep, stop.clone()));
    let stderr = tokio::spawn(collect(process.stderr.take(), child.keep, stop));
    let feeding = tokio::spawn(feed);

    let ending = tokio::select! {
        status = process.wait() => ending(status.ok()),
        () = tokio::time::sleep(child.deadline) => Ending::Late,
        () = cancel.cancelled() => Ending::Cancelled,
    };
    if matches!(ending, Ending::Late | Ending::Cancelled) {
        guard.tell(common::ASK);
        if tokio::time::timeout(GRACE, process.wait()).await.is_err() {
            guard.tell(common::END);
            // Something may take longer, or cannot be ended. It must not hold us; the keeper stays with it.
            tokio::time::timeout(LAST, process.wait()).await.ok();
        }
    }
    let ending =
        if ending != Ending::Cancelled && keeper::was_crowded(word) { Ending::Crowded } else { ending };
    // It was waited for: its process id may soon be reused.
    guard.keeper = None;
    feeding.abort();
    // A process outside may have been handed the pipes: wait a moment, then stop reading.
    let both = async { (stdout.await.unwrap_or_default(), stderr.await.unwrap_or_default()) };
    tokio::pin!(both);
    let (stdout, stderr) = match tokio::time::timeout(DRAIN, &mut both).await {
        Ok(outputs) => outputs,
        Err(_) => {
            stop_sender.send(true).ok();
            both.await
        }
    };
    tracing::debug!(program, ?ending, ms = started.elapsed().as_millis(), "process ended");
    Ok(Outcome { ending, stdout, stderr, elapsed: started.elapsed() })
}

/// A child that stays: its streams are the caller's, and it is ended when this is dropped. Its deadline, its input and how
/// much of its output to keep do not count.
#[derive(Debug)]
pub struct ChildHandle {
    process: tokio::process::Child,
    guard: Guard,
    /// Where the keeper holds the other end, closing this one ends the child.
    _word: keeper::Word,
}

/// The streams of a child that stays: its input, its output, what it says besides.
pub type Streams = (tokio::process::ChildStdin, tokio::process::ChildStdout, tokio::process::ChildStderr);

/// Starts a child that stays.
///
/// # Errors
/// When the program cannot be started.
pub fn keep(child: &Child) -> Result<(ChildHandle, Streams), ChildError> {
    let program = child.program.to_string_lossy().into_owned();
    let fail = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => ChildError::Missing(program.clone()),
        _ => ChildError::Start { program: program.clone(), source },
    };
    let (mut process, word) = start(child).map_err(fail)?;
    tracing::debug!(program, id = process.id(), "process started, which stays");
    let guard = Guard { keeper: process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) };
    match (process.stdin.take(), process.stdout.take(), process.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => {
            Ok((ChildHandle { process, guard, _word: word }, (stdin, stdout, stderr)))
        }
        _ => Err(fail(std::io::Error::other("it has no pipes"))),
    }
}

impl ChildHandle {
    /// Asks it to end, and ends it with all that it started when it takes too long.
    pub async fn end(mut self) {
        self.guard.tell(common::ASK);
        if tokio::time::timeout(GRACE, self.process.wait()).await.is_err() {
            self.guard.tell(common::END);
            tokio::time::timeout(LAST, self.process.wait()).await.ok();
        }
        // It was waited for: its process id may soon be reused.
        self.guard.keeper = None;
    }
}

fn ending(status: Option<std::process::ExitStatus>) -> Ending {
    use std::os::unix::process::ExitStatusExt;
    match status {
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, signal) => Ending::Signalled(signal.unwrap_or(0)),
        },
        None => Ending::Signalled(0),
    }
}

/// Runs a short child to its end without a runtime: for probes. Its deadline and how much to keep do not count.
///
/// # Errors
/// When it cannot be started.
pub fn run_blocking(child: &Child) -> std::io::Result<std::process::Output> {
    let (mut command, _word) = command(child)?;
    command.stdin(Stdio::null()).output()
}

/// Starts the child. Beside it comes what the keeper has to say at the end.
fn start(child: &Child) -> std::io::Result<(tokio::process::Child, keeper::Word)> {
    let (command, word) = command(child)?;
    Ok((tokio::process::Command::from(command).spawn()?, word))
}

/// The command of a child: keeper, environment, pipes.
fn command(child: &Child) -> std::io::Result<(std::process::Command, keeper::Word)> {
    let mut command = std::process::Command::new(&child.program);
    command.args(&child.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(directory) = &child.directory {
        command.current_dir(directory);
    }
    if !child.inherit {
        command.env_clear();
    }
    for name in GIT_VARIABLES.iter().copied().chain(child.remove.iter().map(String::as_str)) {
        command.env_remove(name);
    }
    command.envs(FOR_ALL.get().into_iter().flatten());
    command.envs(&child.set);
    if let Some((output, errors)) = &child.output_files {
        command.stdout(create_private(output)?).stderr(create_private(errors)?);
    }
    let word = keeper::keep(&mut command, child)?;
    if let Some(prepare) = &child.prepare {
        prepare(&mut command)?;
    }
    Ok((command, word))
}

/// A new file that only this user can read.
fn create_private(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// The keeper of a running child, told to end everything when the run is given up.
#[derive(Debug)]
struct Guard {
    keeper: Option<Pid>,
}

impl Guard {
    fn tell(&self, signal: Signal) {
        if let Some(keeper) = self.keeper {
            // It may have ended already, which is what we want.
            rustix::process::kill_process(keeper, signal).ok();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.tell(common::END);
    }
}

/// Reads a stream to its end, keeping its beginning and its end within `keep` bytes.
async fn collect(
    stream: Option<impl AsyncRead + Unpin>,
    keep: usize,
    mut stop: tokio::sync::watch::Receiver<bool>,
) -> Output {
    let mut output = Output::default();
    let Some(mut stream) = stream else { return output };
    let head_limit = keep - keep / 3;
    let tail_limit = keep / 3;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = stream.read(&mut buffer) => read.unwrap_or(0),
            _ = stop.changed() => 0,
        };
        if read == 0 {
            break;
        }
        let piece = buffer.get(..read).unwrap_or_default();
        let room = head_limit.saturating_sub(output.head.len()).min(piece.len());
        let (head, rest) = piece.split_at(room);
        output.head.extend_from_slice(head);
        output.tail.extend_from_slice(rest);
        // Trim in steps of the limit, so that the bytes are moved rarely.
        if output.tail.len() > tail_limit * 2 {
            let excess = output.tail.len() - tail_limit;
            output.tail.drain(..excess);
            output.dropped += excess as u64;
        }
    }
    if output.tail.len() > tail_limit && output.dropped > 0 {
        let excess = output.tail.len() - tail_limit;
        output.tail.drain(..excess);
        output.dropped += excess as u64;
    }
    output
}

#[cfg(test)]
mod tests;
