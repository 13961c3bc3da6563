//! The run that a command is about.

use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::project::run_directories;
use clap::Args;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::run_record::{self, RunKind, RunRecord, RunStatus};
use marvin_flow::engine::EngineError;
use marvin_flow::view;
use marvin_hooks::inspect;
use std::path::{Path, PathBuf};

/// The name of a run.
#[derive(Debug, Args)]
pub(crate) struct RunName {
    /// The run's id, the beginning of it, or its directory
    #[arg(value_name = "RUN", conflicts_with = "run_path")]
    run: Option<String>,
    /// The directory of the run, or its id
    #[arg(long, value_name = "PATH")]
    run_path: Option<String>,
}

impl RunName {
    /// The run that is named, if one is.
    pub(crate) fn given(&self) -> Option<&str> {
        self.run.as_deref().or(self.run_path.as_deref())
    }
}

/// A run of a project.
#[derive(Debug, Args)]
pub(crate) struct WhichRun {
    #[command(flatten)]
    name: RunName,
    #[command(flatten)]
    pub(crate) project: ProjectArguments,
}

impl WhichRun {
    /// The workflow or self-improve run that is named, else the newest.
    pub(crate) fn find(&self) -> Result<PathBuf, Failure> {
        let places = run_directories(self.project.working_dir.as_deref())?;
        let path = match self.name.given() {
            Some(name) => inspect::find(Some(name), &places).map_err(Failure::usage)?,
            None => newest(&places).ok_or_else(|| Failure::usage("no workflow was run here"))?,
        };
        if !Layout::new(&Environment::of_process(), None).is_own_run(&path) {
            let runs = places.first().map(|place| place.display().to_string()).unwrap_or_default();
            return Err(Failure::refused(format!(
                "{} is not in the state directory, so its approvals and results count for nothing",
                path.display()
            ))
            .hint(format!("`marvin inspect-run --run-path` shows it; runs of this project are in {runs}")));
        }
        if is_without_plan(&path) {
            let text = format!("{} has no plan: it ended during planning, or still plans", path.display());
            return Err(Failure::usage(text).hint(
                "give the goal again, with `marvin run-workflow --goal`; older runs are named by --run-path",
            ));
        }
        if let Ok(RunRecord { manner: RunKind::NonInteractive, .. }) = RunRecord::read(&path) {
            let text = format!("{} is the run of a prompt, not of a workflow", path.display());
            let hint = "`marvin --non-interactive --resume RUN` continues it; Ctrl-C or SIGTERM stops it";
            return Err(Failure::usage(text).hint(hint));
        }
        if !view::is_workflow(&path) && !is_self_improve(&path) {
            return Err(EngineError::NoWorkflow(path.display().to_string()).into());
        }
        Ok(path)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Failure::new(error.exit(), error)
    }
}

/// The newest run of a workflow or of self-improve, also one that did not get beyond its plan.
fn newest(places: &[PathBuf]) -> Option<PathBuf> {
    let is_one = |path: &PathBuf| view::is_workflow(path) || is_self_improve(path) || is_without_plan(path);
    places.iter().find_map(|place| run_record::list(place).into_iter().find(is_one))
}

/// Whether a run is one of self-improve.
pub(crate) fn is_self_improve(run: &Path) -> bool {
    RunRecord::read(run).is_ok_and(|record| record.manner == RunKind::SelfImprove)
}

/// Whether a run ended while its goal was planned.
fn is_without_plan(run: &Path) -> bool {
    let record = RunRecord::read(run).unwrap_or_default();
    let is_planning = record.manner == RunKind::Workflow && record.status == Some(RunStatus::Planning);
    is_planning && !view::is_workflow(run)
}
