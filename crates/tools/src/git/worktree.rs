//! Worktrees for whoever works beside others: made from the workspace's last commit, and taken back as a patch.
//!
//! Limits: what is not committed in the workspace is not in a worktree; a patch of more than 4 MB is refused.

use super::repository::{Repository, complaint};
use crate::context::ToolContext;
use crate::result::ToolError;

/// Makes a worktree at a path of the workspace; one that is there is made anew.
///
/// # Errors
/// When the workspace is no repository with a commit, or git fails.
pub async fn add_worktree(path: &str, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    // What is not there cannot be removed, and that is fine.
    repository.change(&["worktree", "remove", "--force", "--force", path], Vec::new(), &[], context).await?;
    repository.change(&["worktree", "prune"], Vec::new(), &[], context).await?;
    let words = ["worktree", "add", "--quiet", "--force", "--detach", path, "HEAD"];
    let done = repository.change(&words, Vec::new(), &[], context).await?;
    if done.code() == Some(0) { Ok(()) } else { Err(complaint(&done)) }
}

/// What was changed in a worktree, as a patch. The context's workspace is the worktree.
///
/// # Errors
/// When git fails, or the patch is too large.
pub async fn worktree_patch(context: &ToolContext) -> Result<Vec<u8>, ToolError> {
    let repository = Repository::open(context).await?;
    let done = repository.change(&["add", "--all"], Vec::new(), &[], context).await?;
    if done.code() != Some(0) {
        return Err(complaint(&done));
    }
    let words = ["diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD"];
    let done = repository.show(&words, context).await?;
    if done.code() != Some(0) {
        return Err(complaint(&done));
    }
    let output = &done.outcome.stdout;
    if output.dropped > 0 {
        return Err(ToolError::Failed("what was changed is more than a patch of 4 MB".into()));
    }
    Ok(output.head.iter().chain(&output.tail).copied().collect())
}

/// Puts a patch into the workspace, all of it or nothing. One that is in it already is left as it is.
///
/// # Errors
/// When it does not fit, with what git says of it.
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
    let done =
        repository.change(&["apply", "--whitespace=nowarn", "-"], patch.to_vec(), &[], context).await?;
    if done.code() == Some(0) { Ok(()) } else { Err(complaint(&done)) }
}

/// Takes a worktree away.
///
/// # Errors
/// When git fails.
pub async fn remove_worktree(path: &str, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    let done = repository.change(&["worktree", "remove", "--force", path], Vec::new(), &[], context).await?;
    if done.code() == Some(0) { Ok(()) } else { Err(complaint(&done)) }
}
