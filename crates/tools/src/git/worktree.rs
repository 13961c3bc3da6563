//! Worktrees for parallel agents: created from the workspace as it is, and merged back as a patch.
//!
//! Limits: files that git ignores and secret files are not in a worktree; a patch of more than 4 MB is refused.

use super::commit::{FALLBACK_AUTHOR, add};
use super::read::status;
use super::repository::{Repository, complaint};
use super::status::Status;
use crate::context::ToolContext;
use crate::result::ToolError;
use std::path::Path;

/// The commit that a worktree began at; a ref of the worktree, so that a commit made in it does not hide its changes.
const BASE: &str = "refs/worktree/marvin-base";

/// Creates a worktree at a path of the workspace, in place of an existing one.
///
/// # Errors
/// When the workspace is not a repository, or git fails.
pub async fn add_worktree(path: &str, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    let commit = snapshot(path, &repository, context).await?;
    // It fails where no worktree exists yet.
    repository.change(&["worktree", "remove", "--force", "--force", path], Vec::new(), &[], context).await?;
    // Twice: also where a killed process left the path registered and locked. `prune` would take away what another process is
    // just adding.
    let words = ["worktree", "add", "--quiet", "--force", "--force", "--detach", path, &commit];
    repository.change_checked(&words, Vec::new(), &[], context).await?;
    Ok(())
}

/// A commit of the workspace with its uncommitted changes. Branches and the person's index stay as they are.
async fn snapshot(path: &str, repository: &Repository, context: &ToolContext) -> Result<String, ToolError> {
    let changes = status(repository, "all", context).await?;
    if changes.head.is_some() && changes.changes.is_empty() {
        return Ok("HEAD".to_string());
    }
    let index = repository.own_directory().join(format!("marvin-index-{}", path.replace('/', "-")));
    let commit = commit_through(&index, &changes, repository, context).await;
    // Best effort: git does not create the index when adding fails.
    std::fs::remove_file(&index).ok();
    commit
}

/// Writes the changes to an index of their own, and returns a commit of it on top of `HEAD`.
async fn commit_through(
    index: &Path,
    changes: &Status,
    repository: &Repository,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let persons = repository.own_directory().join("index");
    if persons.exists() {
        // A copy, so that git need not hash unchanged files again.
        std::fs::copy(&persons, index)
            .map_err(|error| ToolError::Failed(format!("cannot copy git's index: {error}")))?;
    }
    let name = index.display().to_string();
    let variables = [("GIT_INDEX_FILE", name.as_str())];
    add(repository, changes, &variables, context).await?;
    let tree = repository.change_checked(&["write-tree"], Vec::new(), &variables, context).await?;
    let tree = tree.outcome.stdout.text();
    let mut words = vec!["commit-tree", tree.trim(), "-m", "The workspace, for a worktree of Marvin"];
    if changes.head.is_some() {
        words.extend(["-p", "HEAD"]);
    }
    let commit = repository.change_checked(&words, Vec::new(), &FALLBACK_AUTHOR, context).await?;
    Ok(commit.outcome.stdout.text().trim().to_string())
}

/// Remembers where a worktree began. The context's workspace is the worktree.
///
/// # Errors
/// When git fails.
pub async fn mark_worktree_base(context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    repository.change_checked(&["update-ref", BASE, "HEAD"], Vec::new(), &[], context).await?;
    Ok(())
}

/// The changes in a worktree, as a patch. The context's workspace is the worktree.
///
/// # Errors
/// When git fails, or the patch is too large.
pub async fn worktree_patch(context: &ToolContext) -> Result<Vec<u8>, ToolError> {
    let repository = Repository::open(context).await?;
    repository.change_checked(&["add", "--all"], Vec::new(), &[], context).await?;
    let words = ["diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", BASE];
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

/// Removes a worktree, also one whose creation was interrupted.
///
/// # Errors
/// When git fails.
pub async fn remove_worktree(path: &str, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    repository
        .change_checked(&["worktree", "remove", "--force", "--force", path], Vec::new(), &[], context)
        .await?;
    Ok(())
}
