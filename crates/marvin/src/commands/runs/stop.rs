//! `marvin runs stop` and `marvin stop-run`: stops a workflow or self-improve run from another process.

use super::which::WhichRun;
use crate::commands::fleet;
use crate::failure::Failure;
use crate::{deciding, output};
use clap::Args;
use marvin_base::Exit;
use marvin_base::run_record::{RunRecord, RunStatus};
use marvin_flow::engine;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a run may take to stop once it got the signal.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Stop the run of a workflow, or of self-improve, from anywhere
#[derive(Debug, Args)]
#[command(
    after_help = "Its steps are ended, its state is kept, and `marvin runs resume` resumes it later.\n\nExamples:\n  marvin runs stop run_20260203_040506_1a2b\n  marvin runs stop --run-path .marvin/runs/run_20260203_040506_1a2b"
)]
pub(crate) struct StopRunArguments {
    #[command(flatten)]
    which: WhichRun,
}

#[derive(Serialize)]
struct StoppedRun {
    stopped: String,
    /// The process that ran it; none if other machines do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
}

pub(crate) fn run(arguments: &StopRunArguments) -> Result<Exit, Failure> {
    deciding::refuse_agents()?;
    let path = arguments.which.find()?;
    if let Some(record) = fleet::record_of(&path) {
        fleet::stop(&path, &record)?;
        return report(arguments, &path, None);
    }
    let holder = engine::holder(&path).ok_or_else(|| not_running(&path))?;
    let process = i32::try_from(holder.pid).ok().and_then(Pid::from_raw);
    let Some(process) = process else {
        return Err(Failure::failed(format!("{} is held by an unknown process", path.display())));
    };
    kill_process(process, Signal::TERM)
        .map_err(|error| Failure::failed(format!("cannot stop {holder}: {error}")))?;
    let until = Instant::now() + STOP_TIMEOUT;
    while engine::holder(&path).is_some() {
        if Instant::now() > until {
            return Err(Failure::failed(format!(
                "{holder} did not stop within {} s",
                STOP_TIMEOUT.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    report(arguments, &path, Some(holder.pid))
}

/// The failure of a run that no process works on. One that is complete cannot be resumed.
fn not_running(path: &Path) -> Failure {
    let path_text = path.display();
    match RunRecord::read(path).ok().and_then(|record| record.status) {
        Some(status @ (RunStatus::Success | RunStatus::Succeeded | RunStatus::NotVerified)) => {
            Failure::failed(format!(
                "{path_text} is not running: it ended as {}",
                RunStatus::shown_word(status.word())
            ))
        }
        _ => Failure::failed(format!("{path_text} is not running")).hint("`marvin resume-run` resumes it"),
    }
}

fn report(arguments: &StopRunArguments, path: &Path, pid: Option<u32>) -> Result<Exit, Failure> {
    if arguments.which.project.json {
        return output::json(&StoppedRun { stopped: path.display().to_string(), pid });
    }
    output::line(&format!("stopped {}", path.display()))
}
