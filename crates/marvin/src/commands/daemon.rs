//! `marvin daemon`: the daemons that answer hooks.

use crate::failure::Failure;
use crate::project::current_directory;
use crate::runtime::cancel_on_signal;
use crate::{deciding, output};
use clap::{Args, Subcommand};
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::printable::count;
use marvin_hook_client::wire::{self, Place};
use marvin_hooks::daemon::{self, Status};
use serde::Serialize;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a daemon may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of the log that are shown.
const LOG_TAIL_BYTES: u64 = 16 * 1024;

/// Manage the daemons that answer hooks: start, stop, list, status, log, restart, cleanup
#[derive(Debug, Subcommand)]
#[command(
    after_help = "A hook starts the daemon of its project by itself, and it ends with the last session.\n\nExamples:\n  marvin daemon status\n  marvin daemon list --json | jq -r '.[].project'\n  marvin daemon log --follow"
)]
pub(crate) enum DaemonCommand {
    /// Start this project's daemon, unless it runs
    #[command(after_help = "Example:\n  marvin daemon start")]
    Start(DaemonPlace),
    /// Stop this project's daemon; the next hook starts it again
    #[command(after_help = "Example:\n  marvin daemon stop ~/src/app")]
    Stop(DaemonPlace),
    /// Restart this project's daemon
    #[command(after_help = "Example:\n  marvin daemon restart")]
    Restart(DaemonPlace),
    /// Show the status of this project's daemon
    #[command(after_help = "Examples:\n  marvin daemon status\n  marvin daemon status --json | jq .pid")]
    Status(DaemonPlace),
    /// Show the log of this project's daemon
    #[command(after_help = "Examples:\n  marvin daemon log\n  marvin daemon log --follow")]
    Log {
        #[command(flatten)]
        place: DaemonPlace,
        /// Follow the log until interrupted
        #[arg(long, short)]
        follow: bool,
    },
    /// List the daemons of all projects
    #[command(
        after_help = "Examples:\n  marvin daemon list\n  marvin daemon list --json | jq -r '.[].project'"
    )]
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove files of dead daemons
    #[command(after_help = "Example:\n  marvin daemon cleanup")]
    Cleanup {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Serve a project's hooks in the foreground, until its last session ends
    #[command(hide = true)]
    Serve {
        /// The project's directory
        #[arg(long, value_name = "PATH")]
        project: PathBuf,
        /// Accepted for symmetry
        #[arg(long)]
        json: bool,
    },
}

/// The project of a daemon.
#[derive(Debug, Args)]
pub(crate) struct DaemonPlace {
    /// A directory of the project (default: CLAUDE_PROJECT_DIR, else this directory)
    #[arg(value_name = "PATH")]
    directory: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct StopReport<'a> {
    project: &'a Path,
    stopped: bool,
}

#[derive(Serialize)]
struct StartReport<'a> {
    #[serde(flatten)]
    status: &'a Status,
    started: bool,
}

#[derive(Serialize)]
struct Log<'a> {
    log: PathBuf,
    lines: Vec<&'a str>,
}

pub(crate) fn run(command: DaemonCommand) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    match command {
        DaemonCommand::Start(place) => start(&environment, &place),
        DaemonCommand::Stop(place) => {
            let (project, at) = find(&environment, &place)?;
            deciding::decide("daemon stop", &project.display().to_string())?;
            let stopped = daemon::stop(&at);
            let text = if stopped { "Ended." } else { "It did not run." };
            show(&place, &StopReport { project: &project, stopped }, text)
        }
        DaemonCommand::Restart(place) => {
            let (project, at) = find(&environment, &place)?;
            deciding::decide("daemon restart", &project.display().to_string())?;
            let _ = daemon::stop(&at);
            start(&environment, &place)
        }
        DaemonCommand::Status(place) => {
            let (project, at) = find(&environment, &place)?;
            let status = daemon::status(&at);
            let text = match status.state {
                "dead" => format!("No daemon runs for {}; a hook starts it.", project.display()),
                _ => describe(&status),
            };
            show(&place, &status, &text)
        }
        DaemonCommand::Log { place, follow } => log(&environment, &place, follow),
        DaemonCommand::List { json } => {
            let all = daemon::list(&environment);
            if json {
                return output::json(&all);
            }
            if all.is_empty() {
                return output::line("No daemons.");
            }
            output::line(&all.iter().map(describe).collect::<Vec<_>>().join("\n"))
        }
        DaemonCommand::Cleanup { json } => {
            let removed = daemon::cleanup(&environment);
            if json {
                return output::json_entry("removed", &removed);
            }
            if removed.is_empty() {
                return output::line("No daemon left anything.");
            }
            output::line(&format!("Removed what {} left.", count(removed.len(), "dead daemon")))
        }
        DaemonCommand::Serve { project, .. } => serve(&environment, &project),
    }
}

fn find(environment: &Environment, place: &DaemonPlace) -> Result<(PathBuf, Place), Failure> {
    let given = match (&place.directory, environment.get("CLAUDE_PROJECT_DIR")) {
        (Some(path), _) => current_directory()?.join(path),
        (None, Some(path)) => PathBuf::from(path),
        (None, None) => current_directory()?,
    };
    let home = Layout::new(environment, None).home().to_path_buf();
    let project = wire::project(&given, &home);
    let place = Place::for_project(environment, &project).ok_or_else(|| {
        Failure::failed("the path of its socket would be too long").hint("set TMPDIR to a shorter directory")
    })?;
    Ok((project, place))
}

fn start(environment: &Environment, place: &DaemonPlace) -> Result<Exit, Failure> {
    let (project, at) = find(environment, place)?;
    if let Some(given) = place.directory.as_deref().filter(|given| !given.is_dir()) {
        let fault = if given.exists() { "is not a directory" } else { "does not exist" };
        return Err(Failure::usage(format!("{} {fault}", given.display())).hint("name a project's directory"));
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("this program cannot be found: {error}")))?;
    let started =
        daemon::start(environment, &project, &program).map_err(|error| Failure::failed(error.to_string()))?;
    let since = Instant::now();
    let status = loop {
        let status = daemon::status(&at);
        if status.state == "alive" {
            break status;
        }
        if since.elapsed() > START_TIMEOUT {
            return Err(Failure::failed("the daemon does not answer")
                .hint(format!("`marvin daemon log` shows why ({})", at.log().display())));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = if started { "Started." } else { "It runs already." };
    show(place, &StartReport { status: &status, started }, &format!("{text} {}", describe(&status)))
}

fn describe(status: &Status) -> String {
    let counted = |value: Option<u64>, noun: &str| match value {
        Some(value) => count(value, noun),
        None => format!("? {noun}s"),
    };
    format!(
        "{:5} {} pid {} socket {} log {}, {}, {}  {}",
        status.state.to_uppercase(),
        status.id,
        status.pid.map_or_else(|| "?".to_string(), |pid| pid.to_string()),
        if status.socket { "yes" } else { "no" },
        counted(Some(status.log_bytes), "byte"),
        counted(status.sessions, "session"),
        counted(status.requests, "request"),
        status.project.as_deref().unwrap_or("?"),
    )
}

fn log(environment: &Environment, place: &DaemonPlace, follow: bool) -> Result<Exit, Failure> {
    let (_, at) = find(environment, place)?;
    let path = at.log();
    let mut shown = std::fs::metadata(&path).map_or(0, |facts| facts.len().saturating_sub(LOG_TAIL_BYTES));
    let read = |shown: &mut u64| -> String {
        let mut text = Vec::new();
        if let Ok(mut file) = std::fs::File::open(&path) {
            let length = file.metadata().map_or(0, |facts| facts.len());
            *shown = if length < *shown { 0 } else { *shown };
            file.seek(SeekFrom::Start(*shown)).ok();
            file.take(8 * LOG_TAIL_BYTES).read_to_end(&mut text).ok();
        }
        *shown += text.len() as u64;
        String::from_utf8_lossy(&text).into_owned()
    };
    let first = read(&mut shown);
    if place.json {
        return output::json(&Log { log: at.log(), lines: first.lines().collect() });
    }
    if first.is_empty() && !follow {
        return output::line("The log is empty.");
    }
    output::raw(&first)?;
    if !follow {
        return Ok(Exit::Success);
    }
    loop {
        std::thread::sleep(Duration::from_millis(200));
        output::raw(&read(&mut shown))?;
    }
}

fn serve(environment: &Environment, project: &Path) -> Result<Exit, Failure> {
    // One thread: to pass a request between threads would take longer than to answer it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_keep_alive(Duration::from_millis(10))
        .build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    runtime.block_on(async {
        let cancel = cancel_on_signal();
        daemon::serve(environment, project, cancel).await.map_err(|error| Failure::failed(error.to_string()))
    })?;
    Ok(Exit::Success)
}

fn show(place: &DaemonPlace, value: &impl Serialize, text: &str) -> Result<Exit, Failure> {
    if place.json { output::json(value) } else { output::line(text) }
}
