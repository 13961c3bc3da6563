//! Worktrees for parallel agents: created from the workspace's last commit, and merged back as a patch.
//!
//! Limits: uncommitted changes of the workspace are not in a worktree; a patch of more than 4 MB is refused.

use super::repository::{Repository, complaint};
use crate::context::ToolContext;
use crate::result::ToolError;

/// Creates a worktree at a path of the workspace, in place of an existing one.
///
/// # Errors
/// When the workspace is not a repository with a commit, or git fails.
pub async fn add_worktree(path: &str, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    // It fails where no worktree exists yet.
    repository.change(&["worktree", "remove", "--force", "--force", path], Vec::new(), &[], context).await?;
    repository.change(&["worktree", "prune"], Vec::new(), &[], context).await?;
    let words = ["worktree", "add", "--quiet", "--force", "--detach", path, "HEAD"];
    repository.change_checked(&words, Vec::new(), &[], context).await?;
    Ok(())
}

/// The changes in a worktree, as a patch. The context's workspace is the worktree.
///
/// # Errors
/// When git fails, or the patch is too large.
pub async fn worktree_patch(context: &ToolContext) -> Result<Vec<u8>, ToolError> {
    let repository = Repository::open(context).await?;
    repository.change_checked(&["add", "--all"], Vec::new(), &[], context).await?;
    let words = ["diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD"];
    let done = repository.show(&words, context).await?;
    if done.code() != Some(0) {
        return Err(complaint(&done));
    }
    let output = &done.outcome.stdout;
    if output.dropped > 0 {
        return Err(ToolError::Failed("the changes are more than a patch of 4 MB".into()));
    }
    Ok(output.head.iter().chain(&output.tail).copied().collect())
}

/// Applies a patch to the workspace, all of it or nothing. One that is applied already is left as it is.
///
/// # Errors
/// When it does not fit, with git's output.
pub async fn apply_whole(patch: &[u8], context: &ToolContext) -> Result<(), ToolError> {
    if patch.is_empty() {
        return Ok(());
    }
    let repository = Repository::open(context).await?;
    let words = ["apply", "--whitespace=nowarn", "--check", "--reverse", "-"];
    let there = repository.change(&words, patch.to_vec(), &[], context).await?;
    if there.code() == Some(0) {
        return Ok(());
    }
    repository.change_checked(&["apply", "--whitespace=nowarn", "-"], patch.to_vec(), &[], context).await?;
    Ok(())
}

/// Removes a worktree.
///
/// # Errors
/// When git fails.
pub async fn remove_worktree(path: &str, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    repository.change_checked(&["worktree", "remove", "--force", path], Vec::new(), &[], context).await?;
    Ok(())
}
