//! `marvin runs resume` and `marvin resume-run`: resumes a workflow or self-improve run.

use super::which::{self, WhichRun};
use crate::commands::workflow::progress;
use crate::commands::workflow::run::{FlowArguments, execute, run_to_end};
use crate::commands::{fleet, self_improve};
use crate::failure::Failure;
use crate::runtime::cancel_on_signal;
use clap::Args;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_flow::engine::Run;

/// Resume the run of a workflow, or of self-improve, that was interrupted, was stopped, or waited for a person
#[derive(Debug, Args)]
#[command(
    after_help = "Finished steps do not run again. A step that was running when the process died is taken from what it left behind, or run again where that does no harm, or asked about.\n\nExamples:\n  marvin runs resume --run-path .marvin/runs/run_20260203_040506_1a2b\n  marvin runs resume run_20260203_040506_1a2b --json"
)]
pub(crate) struct ResumeRunArguments {
    #[command(flatten)]
    which: WhichRun,
    #[command(flatten)]
    flow: FlowArguments,
}

pub(crate) fn run(arguments: &ResumeRunArguments) -> Result<Exit, Failure> {
    let path = arguments.which.find()?;
    // A run of a project is in its state directory, which names the project.
    let project = Layout::new(&Environment::of_process(), None).project_of_run(&path);
    let working_dir = arguments.which.project.working_dir.as_deref().or(project.as_deref());
    let context = arguments.flow.resumed_context(working_dir, &path)?;
    if which::is_self_improve(&path) {
        return self_improve::resume(context, &path, arguments.which.project.json);
    }
    execute(arguments.which.project.json, async move || {
        let (listener, progress) = progress::listener();
        let (options, cancel) = (arguments.flow.options(listener), cancel_on_signal());
        if let Some(record) = fleet::record_of(&path) {
            let followed = fleet::resume(&context, &path, &record, options, cancel, &progress);
            return Box::pin(followed).await;
        }
        let run = Run::resume(&context, &path, options)?;
        run_to_end(context, run, cancel, &progress).await.map(Some)
    })
}
