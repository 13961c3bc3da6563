//! Worktrees: steps that write at the same time, each in a git worktree of its own.
//!
//! A worktree begins with the workspace as it is when its step starts, uncommitted changes included: it sees what earlier steps
//! wrote. When its step has succeeded, its changes are applied to the workspace
//! as a patch: all or nothing, and for concurrent steps in the order of the file. A patch that does not apply makes the step
//! BLOCKED; its worktree is kept.
//!
//! Limits: files that git ignores and secret files are not in a worktree; half-written files of a step that writes to the workspace
//! at the same time may be. A command in the sandbox can read git's own files of a
//! worktree, but not write them.

use super::execute::AttemptResult;
use crate::machine::MERGE_CONFLICT;
use crate::worker::{Order, Report, Status};
use marvin_agent::{ProjectContext, step_agents};
use marvin_base::layout::Layout;
use marvin_tools::git;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The worktree of a step, relative to the workspace.
fn relative_path(order: &Order) -> PathBuf {
    Layout::worktree(&order.run_id, &order.step_id, order.attempt)
}

/// The absolute path of the worktree of a step.
pub(super) fn path(workspace: &Path, run_id: &str, step_id: &str, attempt: u32) -> PathBuf {
    workspace.join(Layout::worktree(run_id, step_id, attempt))
}

/// Creates the worktree of an attempt.
pub(super) async fn create(
    project: &Arc<ProjectContext>,
    order: &Order,
    cancel: &CancellationToken,
) -> Result<(), Report> {
    let failed = |why: String| Report::failed(order, "worktree", format!("cannot create a worktree: {why}"));
    let path = relative_path(order);
    let directory = path.parent().unwrap_or(Path::new("."));
    let within = project.workspace.as_deref().map(|workspace| workspace.root().join(directory));
    if let Some(directory) = within {
        let ignored = directory.parent().map(|above| above.join(".gitignore"));
        let make = || {
            std::fs::create_dir_all(&directory)?;
            ignored.map_or(Ok(()), |file| std::fs::write(file, "*\n"))
        };
        make().map_err(|error: std::io::Error| failed(error.to_string()))?;
    }
    let context = project.tool_context(cancel.clone(), None);
    git::add_worktree(&path.display().to_string(), &context)
        .await
        .map_err(|error| failed(error.to_string()))?;
    let own = step_agents::at(project, Some(&order.workspace)).map_err(|error| failed(error.to_string()))?;
    git::mark_worktree_base(&own.tool_context(cancel.clone(), None))
        .await
        .map_err(|error| failed(error.to_string()))
}

/// Applies the changes of a step to the workspace. `mark` is called when they are applied and the worktree still exists.
pub(crate) async fn merge(
    project: &Arc<ProjectContext>,
    done: AttemptResult,
    mark: &(dyn Fn() -> std::io::Result<()> + Sync),
) -> AttemptResult {
    // A merge that has begun is completed even if the run is cancelled.
    let never = CancellationToken::new();
    let result = async {
        let own = step_agents::at(project, Some(&done.order.workspace)).map_err(|error| error.to_string())?;
        let patch = git::worktree_patch(&own.tool_context(never.clone(), None))
            .await
            .map_err(|error| error.to_string())?;
        let context = project.tool_context(never.clone(), None);
        git::apply_whole(&patch, &context).await.map_err(|error| error.to_string())?;
        mark().map_err(|error| error.to_string())?;
        // Best effort: a leftover worktree is harmless.
        git::remove_worktree(&relative_path(&done.order).display().to_string(), &context).await.ok();
        Ok::<(), String>(())
    };
    let Err(why) = result.await else { return done };
    let place = done.order.workspace.display().to_string();
    conflict(done, format!("its changes do not apply to the workspace; they are kept in {place}: {why}"))
}

/// The end of an attempt whose changes cannot be merged.
pub(crate) fn conflict(mut done: AttemptResult, why: String) -> AttemptResult {
    done.report.status = Status::Blocked;
    done.report.failure_signature = Some(MERGE_CONFLICT.into());
    done.report.summary = why;
    done
}
