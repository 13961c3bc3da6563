//! `marvin runs`: list, show, stop and resume runs.
//!
//! `list-runs`, `inspect-run`, `stop-run` and `resume-run` are older names of the same commands.

pub(crate) mod list;
pub(crate) mod resume;
pub(crate) mod show;
mod show_workflow;
pub(crate) mod stop;
pub(crate) mod which;

use crate::failure::Failure;
use clap::Subcommand;
use marvin_base::Exit;

/// List, show, stop and resume runs
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin runs list\n  marvin runs show run_20260203_040506_1a2b\n  marvin runs resume run_20260203_040506_1a2b"
)]
pub(crate) enum RunsCommand {
    List(list::AllRunsArguments),
    Show(show::ShowRunArguments),
    Stop(stop::StopRunArguments),
    Resume(resume::ResumeRunArguments),
}

pub(crate) fn run(command: &RunsCommand) -> Result<Exit, Failure> {
    match command {
        RunsCommand::List(arguments) => list::list_all(arguments),
        RunsCommand::Show(arguments) => show::run(arguments),
        RunsCommand::Stop(arguments) => stop::run(arguments),
        RunsCommand::Resume(arguments) => resume::run(arguments),
    }
}
