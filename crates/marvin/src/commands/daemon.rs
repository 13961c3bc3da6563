//! `marvin daemon`: looks after the daemons of hooks.

use crate::cli::{DaemonCommand, DaemonPlace};
use crate::commands::{cancel_on_signal, deciding, directory};
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_hooks::daemon::{self, Status};
use marvin_hooks::wire::{self, Place};
use serde_json::json;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a daemon may take to listen.
const STARTING: Duration = Duration::from_secs(5);
/// Bytes of the log that are shown.
const TAIL: u64 = 16 * 1024;

/// Runs one of the daemon's commands.
pub(super) fn run(command: DaemonCommand) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    match command {
        DaemonCommand::Start { place } => start(&environment, &place),
        DaemonCommand::Stop { place } => {
            let (project, at) = find(&environment, &place)?;
            deciding::decide("daemon stop", &project.display().to_string())?;
            let stopped = daemon::stop(&at);
            let text = if stopped { "Ended." } else { "It did not run." };
            say(&place, &json!({"project": project, "stopped": stopped}), text)
        }
        DaemonCommand::Restart { place } => {
            let (project, at) = find(&environment, &place)?;
            deciding::decide("daemon restart", &project.display().to_string())?;
            let _ = daemon::stop(&at);
            start(&environment, &place)
        }
        DaemonCommand::Status { place } => {
            let (_, at) = find(&environment, &place)?;
            let status = daemon::status(&at);
            say(&place, &serde_json::to_value(&status).unwrap_or_default(), &describe(&status))
        }
        DaemonCommand::Log { place, follow } => log(&environment, &place, follow),
        DaemonCommand::List { json } => {
            let all = daemon::list(&environment);
            if json {
                return output::json(&serde_json::to_value(&all).unwrap_or_default());
            }
            if all.is_empty() {
                return output::line("No daemons.");
            }
            output::line(&all.iter().map(describe).collect::<Vec<_>>().join("\n"))
        }
        DaemonCommand::Cleanup { json } => {
            let removed = daemon::cleanup(&environment);
            if json {
                return output::json(&json!({ "removed": removed }));
            }
            output::line(&format!("Removed what {} dead daemons left.", removed.len()))
        }
        DaemonCommand::Serve { project, .. } => serve(&environment, &project),
    }
}

fn find(environment: &Environment, place: &DaemonPlace) -> Result<(PathBuf, Place), Failure> {
    let given = match (&place.directory, environment.get("CLAUDE_PROJECT_DIR")) {
        (Some(path), _) => directory()?.join(path),
        (None, Some(path)) => PathBuf::from(path),
        (None, None) => directory()?,
    };
    let home = Layout::new(environment, None).home().to_path_buf();
    let project = wire::project(&given, &home);
    let place = Place::for_project(environment, &project).ok_or_else(|| {
        Failure::failed("the path of its socket would be too long\n  hint: set TMPDIR to a shorter directory")
    })?;
    Ok((project, place))
}

fn start(environment: &Environment, place: &DaemonPlace) -> Result<Exit, Failure> {
    let (project, at) = find(environment, place)?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("this program cannot be found: {error}")))?;
    let started = daemon::start(environment, &project, &program).map_err(Failure::failed)?;
    let since = Instant::now();
    let status = loop {
        let status = daemon::status(&at);
        if status.state == "alive" {
            break status;
        }
        if since.elapsed() > STARTING {
            return Err(Failure::failed(format!(
                "the daemon does not answer\n  hint: `marvin daemon log` shows why ({})",
                at.log().display()
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let text = if started { "Started." } else { "It runs already." };
    let mut value = serde_json::to_value(&status).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.insert("started".into(), started.into());
    }
    say(place, &value, &format!("{text} {}", describe(&status)))
}

fn describe(status: &Status) -> String {
    let number = |value: Option<u64>| value.map_or_else(|| "?".to_string(), |value| value.to_string());
    format!(
        "{:5} {} pid {} socket {} log {} bytes, {} sessions, {} requests  {}",
        status.state.to_uppercase(),
        status.id,
        status.pid.map_or_else(|| "?".to_string(), |pid| pid.to_string()),
        if status.socket { "yes" } else { "no" },
        status.log_bytes,
        number(status.sessions),
        number(status.requests),
        status.project.as_deref().unwrap_or("?"),
    )
}

fn log(environment: &Environment, place: &DaemonPlace, follow: bool) -> Result<Exit, Failure> {
    let (_, at) = find(environment, place)?;
    let path = at.log();
    let mut shown = std::fs::metadata(&path).map_or(0, |facts| facts.len().saturating_sub(TAIL));
    let read = |shown: &mut u64| -> Result<String, Failure> {
        let mut text = Vec::new();
        if let Ok(mut file) = std::fs::File::open(&path) {
            let length = file.metadata().map_or(0, |facts| facts.len());
            *shown = if length < *shown { 0 } else { *shown };
            file.seek(SeekFrom::Start(*shown)).ok();
            file.take(8 * TAIL).read_to_end(&mut text).ok();
        }
        *shown += text.len() as u64;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let first = read(&mut shown)?;
    if place.json {
        let lines: Vec<&str> = first.lines().collect();
        return output::json(&json!({"log": at.log(), "lines": lines}));
    }
    if first.is_empty() && !follow {
        return output::line("Nothing was said.");
    }
    output::raw(&first)?;
    if !follow {
        return Ok(Exit::Success);
    }
    loop {
        std::thread::sleep(Duration::from_millis(200));
        output::raw(&read(&mut shown)?)?;
    }
}

fn serve(environment: &Environment, project: &Path) -> Result<Exit, Failure> {
    // One thread: handing a request from thread to thread would take longer than answering it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_keep_alive(Duration::from_millis(10))
        .build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    runtime.block_on(async {
        let cancel = cancel_on_signal();
        daemon::serve(environment, project, cancel).await.map_err(Failure::failed)
    })?;
    Ok(Exit::Success)
}

fn say(place: &DaemonPlace, value: &serde_json::Value, text: &str) -> Result<Exit, Failure> {
    if place.json { output::json(value) } else { output::line(text) }
}
