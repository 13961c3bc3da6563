//! Worktrees: steps that write work beside each other, each in a git worktree of its own.
//!
//! A worktree begins at the workspace's last commit. When its step has succeeded, what it changed is put into the workspace as a
//! patch: all of it or nothing, and among steps that run at the same time in the order of the file. A patch that does not fit makes
//! the step BLOCKED; its worktree stays, and nothing of it is lost.
//!
//! Limits: what is not committed in the workspace is not in a worktree. In its box a command can read git's own files of a worktree,
//! but not write them.

use super::execute::AttemptResult;
use crate::worker::{Order, Report, Status};
use marvin_agent::{ProjectContext, step_agents};
use marvin_base::layout::Layout;
use marvin_tools::git;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The stable name of a patch that does not fit.
pub(super) const CONFLICT: &str = "merge-conflict";

/// Where a step's worktree is, relative to the workspace.
fn place(order: &Order) -> PathBuf {
    Layout::worktree(&order.run_id, &order.step_id, order.attempt)
}

/// Where a step works that has a worktree.
pub(super) fn path(workspace: &Path, run_id: &str, step_id: &str, attempt: u32) -> PathBuf {
    workspace.join(Layout::worktree(run_id, step_id, attempt))
}

/// Makes the worktree of an attempt.
pub(super) async fn make(
    ground: &ProjectContext,
    order: &Order,
    cancel: &CancellationToken,
) -> Result<(), Report> {
    let failed = |why: String| Report::failed(order, "worktree", format!("cannot make a worktree: {why}"));
    let path = place(order);
    let directory = path.parent().unwrap_or(Path::new("."));
    let within = ground.workspace.as_deref().map(|workspace| workspace.root().join(directory));
    if let Some(directory) = within {
        let ignored = directory.parent().map(|above| above.join(".gitignore"));
        let make = || {
            std::fs::create_dir_all(&directory)?;
            ignored.map_or(Ok(()), |file| std::fs::write(file, "*\n"))
        };
        make().map_err(|error: std::io::Error| failed(error.to_string()))?;
    }
    let context = ground.tool_context(cancel.clone(), None);
    git::add_worktree(&path.display().to_string(), &context).await.map_err(|error| failed(error.to_string()))
}

/// Puts what a step changed into the workspace.
pub(super) async fn merge(ground: &Arc<ProjectContext>, mut done: AttemptResult) -> AttemptResult {
    // Once it is begun it is ended, whatever is stopped.
    let never = CancellationToken::new();
    let result = async {
        let own = step_agents::at(ground, Some(&done.order.workspace)).map_err(|error| error.to_string())?;
        let patch = git::worktree_patch(&own.tool_context(never.clone(), None))
            .await
            .map_err(|error| error.to_string())?;
        let context = ground.tool_context(never.clone(), None);
        git::apply_whole(&patch, &context).await.map_err(|error| error.to_string())?;
        // A worktree that stays is no harm.
        git::remove_worktree(&place(&done.order).display().to_string(), &context).await.ok();
        Ok::<(), String>(())
    };
    if let Err(why) = result.await {
        let place = done.order.workspace.display();
        done.report.status = Status::Blocked;
        done.report.failure_signature = Some(CONFLICT.into());
        done.report.summary =
            format!("what it changed does not fit into the workspace; it is kept in {place}: {why}");
    }
    done
}
