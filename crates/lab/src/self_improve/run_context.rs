//! The context of a run: its plan, record and worktrees, and the signals that stop it.

use super::ImproveError;
use super::evaluation::Evaluation;
use super::evaluator::Evaluator;
use super::journal::Journal;
use super::plan::Plan;
use super::progress::Progress;
use super::session_report::SessionReport;
use super::suite_evaluation::SuiteEvaluator;
use marvin_agent::{ProjectContext, step_agents};
use marvin_base::atomic;
use marvin_base::layout::Layout;
use marvin_base::ledger::{Durability, LedgerError};
use marvin_base::run::RunDirectory;
use marvin_base::settings::table;
use marvin_model::cost::CostLedger;
use marvin_model::price;
use marvin_tools::git::integrate;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// A batch: what all its sessions share.
pub(super) struct Batch<'a> {
    pub(super) number: u32,
    pub(super) base: &'a str,
    pub(super) baseline: &'a Evaluation,
    pub(super) evaluator: &'a Arc<Evaluator>,
    pub(super) shared: &'a RunContext,
}

/// An open run: what all its batches and sessions share.
pub(super) struct RunContext {
    pub(super) plan: Plan,
    pub(super) project: Arc<ProjectContext>,
    pub(super) run: RunDirectory,
    pub(super) journal: Journal,
    pub(super) progress: Progress,
    /// One change of git's worktrees at a time.
    pub(super) git: Mutex<()>,
    /// Cancelled by every stop signal.
    pub(super) stop: CancellationToken,
    /// Cancelled when the budget is spent.
    pub(super) spent: CancellationToken,
    /// The benchmark suite, where it is the evaluation.
    pub(super) suite: Option<Arc<SuiteEvaluator>>,
}

impl RunContext {
    /// Checks a commit out in a worktree of this run, and opens it with the project's own record.
    pub(super) async fn check_out(
        &self,
        name: &str,
        number: u32,
        commit: &str,
    ) -> Result<Arc<ProjectContext>, ImproveError> {
        let path = self.worktree(name, number);
        let context = self.project.tool_context(CancellationToken::new(), None);
        let root = context.workspace()?.root().to_path_buf();
        let guard = self.git.lock().await;
        let place = root.join(&path);
        if let Some(trees) = place.parent().and_then(Path::parent) {
            std::fs::create_dir_all(trees).map_err(|error| ImproveError::file(trees, error))?;
            atomic::replace(&trees.join(".gitignore"), b"*\n")?;
        }
        integrate::check_out_commit(&path.display().to_string(), commit, &context).await?;
        drop(guard);
        Ok(step_agents::at(&self.project, Some(&place))?)
    }

    pub(super) fn worktree(&self, name: &str, number: u32) -> PathBuf {
        Layout::worktree(self.run.id(), name, number)
    }

    pub(super) fn session_directory(&self, id: &str) -> PathBuf {
        session_directory(self.run.path(), id)
    }

    /// The state directory of a session.
    pub(super) fn session_state(&self, id: &str) -> PathBuf {
        session_state(self.run.path(), id)
    }

    /// Stops the whole run: the budget is that of all sessions.
    pub(super) fn stop_spent(&self) {
        self.spent.cancel();
        self.stop.cancel();
    }

    /// Stops the run where the solvers of the suite have spent its budget.
    pub(super) fn stop_if_spent(&self) -> Result<(), ImproveError> {
        if self.suite.is_some() && cost_ledger(&self.run, &self.project)?.is_spent()? {
            self.stop_spent();
        }
        Ok(())
    }

    /// Writes `session.json`, redacted.
    pub(super) fn save(&self, report: &SessionReport) -> Result<(), ImproveError> {
        let directory = self.session_directory(&report.session_id);
        std::fs::create_dir_all(&directory).map_err(|error| ImproveError::file(&directory, error))?;
        let mut value = serde_json::to_value(report).unwrap_or_default();
        self.project.redactor.value(&mut value);
        Ok(atomic::replace(&directory.join("session.json"), format!("{value:#}\n").as_bytes())?)
    }
}

fn session_directory(run: &Path, id: &str) -> PathBuf {
    run.join("sessions").join(format!("session-{id}"))
}

/// The state directory of a session of a run.
pub(super) fn session_state(run: &Path, id: &str) -> PathBuf {
    session_directory(run, id).join("state")
}

/// The ledger of what all sessions and solvers of a run cost.
pub(super) fn cost_ledger(run: &RunDirectory, project: &ProjectContext) -> Result<CostLedger, LedgerError> {
    let limit = project.settings.amount(&table::MAX_COST).map(price::nanos);
    CostLedger::open(&run.cost(), &[], limit, Durability::System, project.redactor.clone())
}
