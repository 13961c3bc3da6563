//! The context of a run: its plan, record and worktrees, and the signals that stop it.

use super::ImproveError;
use super::journal::Journal;
use super::plan::Plan;
use super::progress::Progress;
use super::session_report::SessionReport;
use marvin_agent::{ProjectContext, step_agents};
use marvin_base::atomic;
use marvin_base::layout::Layout;
use marvin_base::run::RunDirectory;
use marvin_tools::git::integrate;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

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
        self.run.path().join("sessions").join(format!("session-{id}"))
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
