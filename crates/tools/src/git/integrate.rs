//! Integration of work from worktrees: candidate commits, squash merges, and moving a checkout forward.
//!
//! The shell calls these for itself, never an agent. The project's hooks do not run.

use super::commit::{FALLBACK_AUTHOR, add, has_author};
use super::read::status;
use super::repository::{Repository, complaint};
use super::status::Change;
use crate::command::ContainedRun;
use crate::context::ToolContext;
use crate::result::ToolError;
use std::path::Path;
use std::time::SystemTime;

const NO_HOOKS: [&str; 2] = ["-c", "core.hooksPath=/dev/null"];
/// Untracked files below these belong to Marvin.
const RECORDS: [&str; 2] = [".marvin/", ".tickets/"];
/// Untracked directories that tests and builds leave behind.
const LEFTOVERS: [&str; 11] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".tokimon-tmp",
    "node_modules",
    "target",
    "runs",
    "build",
    "dist",
];

/// Whether a change does not belong to the work: an untracked record of Marvin, or what a run of tests left behind.
fn is_leftover(change: &Change) -> bool {
    let path = change.path.as_str();
    let directory = |part: &str| LEFTOVERS.contains(&part) || part.ends_with(".egg-info");
    change.is_untracked()
        && (RECORDS.iter().any(|record| path.starts_with(record))
            || path.ends_with(".pyc")
            || path.split('/').rev().skip(1).any(directory))
}

async fn change(
    repository: &Repository,
    words: &[&str],
    more: &[(&str, &str)],
    context: &ToolContext,
) -> Result<ContainedRun, ToolError> {
    let words: Vec<&str> = NO_HOOKS.iter().chain(words).copied().collect();
    repository.integrate(&words, more, context).await
}

async fn checked(
    repository: &Repository,
    words: &[&str],
    more: &[(&str, &str)],
    context: &ToolContext,
) -> Result<String, ToolError> {
    let done = change(repository, words, more, context).await?;
    if done.code() == Some(0) {
        Ok(done.outcome.stdout.text().trim().to_string())
    } else {
        Err(complaint(&done))
    }
}

/// The paths that git lists, separated by zero bytes.
pub(super) async fn list(
    repository: &Repository,
    words: &[&str],
    context: &ToolContext,
) -> Result<Vec<String>, ToolError> {
    let done = repository.show(words, context).await?;
    if done.code() != Some(0) {
        return Err(complaint(&done));
    }
    if done.outcome.stdout.dropped > 0 {
        return Err(ToolError::Failed("git: the list of files is longer than 4 MB".into()));
    }
    let text = done.outcome.stdout.text();
    Ok(text.split('\0').filter(|path| !path.is_empty()).map(str::to_string).collect())
}

/// The commit that is checked out.
///
/// # Errors
/// When the workspace is not a repository, or has no commit.
pub async fn head(context: &ToolContext) -> Result<String, ToolError> {
    let repository = Repository::open(context).await?;
    Ok(repository.ask(&["rev-parse", "--verify", "HEAD"], context).await?.trim().to_string())
}

/// The branch that is checked out; none where a commit is checked out by itself.
///
/// # Errors
/// When the workspace is not a repository.
pub async fn branch(context: &ToolContext) -> Result<Option<String>, ToolError> {
    let repository = Repository::open(context).await?;
    let asked = repository.ask(&["branch", "--show-current"], context).await?;
    Ok(Some(asked.trim().to_string()).filter(|name| !name.is_empty()))
}

/// Whether the repository has a commit to begin with.
///
/// # Errors
/// When the workspace is not a repository.
pub async fn has_commit(context: &ToolContext) -> Result<bool, ToolError> {
    let repository = Repository::open(context).await?;
    let asked = repository.show(&["rev-parse", "--verify", "--quiet", "HEAD"], context).await?;
    Ok(asked.code() == Some(0))
}

/// Whether a commit is a part of another's history.
///
/// # Errors
/// When git cannot be run.
pub async fn is_ancestor(commit: &str, of: &str, context: &ToolContext) -> Result<bool, ToolError> {
    let repository = Repository::open(context).await?;
    let words = ["merge-base", "--is-ancestor", commit, of];
    Ok(repository.show(&words, context).await?.code() == Some(0))
}

/// Paths with uncommitted changes; untracked records of Marvin and what tests left behind do not count.
///
/// # Errors
/// When git fails.
pub async fn uncommitted(context: &ToolContext) -> Result<Vec<String>, ToolError> {
    let repository = Repository::open(context).await?;
    let changes = status(&repository, "all", context).await?.changes;
    let paths = changes.into_iter().filter(|change| !is_leftover(change));
    Ok(paths.flat_map(|change| [Some(change.path), change.from]).flatten().collect())
}

/// The files that git knows or would add, sorted.
///
/// # Errors
/// When git fails.
pub async fn files(context: &ToolContext) -> Result<Vec<String>, ToolError> {
    let repository = Repository::open(context).await?;
    let mut files = list(&repository, &["ls-files", "-z", "--cached"], context).await?;
    files.sort();
    files.dedup();
    Ok(files)
}

/// Repositories inside the workspace that git tracks, with their commits.
///
/// # Errors
/// When git fails.
pub async fn nested_repositories(context: &ToolContext) -> Result<Vec<(String, String)>, ToolError> {
    let repository = Repository::open(context).await?;
    let entries = list(&repository, &["ls-files", "-z", "--cached", "--stage"], context).await?;
    // `160000 COMMIT 0<tab>PATH`
    let nested = entries.iter().filter_map(|entry| {
        let (facts, path) = entry.split_once('\t')?;
        let commit = facts.strip_prefix("160000 ")?.split(' ').next()?;
        Some((path.to_string(), commit.to_string()))
    });
    Ok(nested.collect())
}

/// Paths that differ between two commits.
///
/// # Errors
/// When git fails.
pub async fn changed_between(from: &str, to: &str, context: &ToolContext) -> Result<Vec<String>, ToolError> {
    let repository = Repository::open(context).await?;
    list(&repository, &["diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to], context).await
}

/// The difference of two commits as a patch, cut at 4 MB.
///
/// # Errors
/// When git fails.
pub async fn patch_between(from: &str, to: &str, context: &ToolContext) -> Result<String, ToolError> {
    let repository = Repository::open(context).await?;
    let words = ["diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", from, to];
    repository.ask(&words, context).await
}

/// Creates a worktree of a commit, in place of whatever is at its path.
///
/// # Errors
/// When git fails.
pub async fn check_out_commit(path: &str, commit: &str, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    change(&repository, &["worktree", "remove", "--force", "--force", path], &[], context).await?;
    let place = context.workspace()?.root().join(path);
    match std::fs::remove_dir_all(&place) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(ToolError::Failed(format!("cannot remove {}: {error}", place.display())));
        }
        _ => {}
    }
    // Twice, as in `add_worktree`.
    let words = ["worktree", "add", "--quiet", "--force", "--force", "--detach", path, commit];
    checked(&repository, &words, &[], context).await?;
    Ok(())
}

/// Commits the working tree on top of `base`, without moving a branch; none when it has the tree of `base`. Untracked
/// records of Marvin, what tests left behind, and secret files are left out.
///
/// # Errors
/// When git fails.
pub async fn commit_on(
    base: &str,
    message: &str,
    context: &ToolContext,
) -> Result<Option<String>, ToolError> {
    let repository = Repository::open(context).await?;
    let mut changes = status(&repository, "all", context).await?;
    changes.changes.retain(|change| !is_leftover(change));
    // An index of its own: the lock of one that a killed process left is not in the way.
    let index = repository.own_directory().join(format!("marvin-index-{}", marvin_base::ids::short(12)));
    let own = repository.own_directory().join("index");
    let result = async {
        if own.exists() {
            std::fs::copy(&own, &index)
                .map_err(|error| ToolError::Failed(format!("cannot copy git's index: {error}")))?;
        }
        let name = index.display().to_string();
        let variables = [("GIT_INDEX_FILE", name.as_str())];
        add(&repository, &changes, &variables, context).await?;
        let tree = checked(&repository, &["write-tree"], &variables, context).await?;
        commit_tree(&repository, &tree, base, message, context).await
    };
    let result = result.await;
    std::fs::remove_file(&index).ok();
    result
}

/// Commits what is in the index on top of `base`; none when it has the tree of `base`.
///
/// # Errors
/// When git fails.
pub async fn commit_index(
    base: &str,
    message: &str,
    context: &ToolContext,
) -> Result<Option<String>, ToolError> {
    let repository = Repository::open(context).await?;
    let tree = checked(&repository, &["write-tree"], &[], context).await?;
    commit_tree(&repository, &tree, base, message, context).await
}

async fn commit_tree(
    repository: &Repository,
    tree: &str,
    base: &str,
    message: &str,
    context: &ToolContext,
) -> Result<Option<String>, ToolError> {
    let before = repository.ask(&["rev-parse", "--verify", &format!("{base}^{{tree}}")], context).await?;
    if before.trim() == tree {
        return Ok(None);
    }
    let author = if has_author(repository, context).await? { &[][..] } else { &FALLBACK_AUTHOR[..] };
    let words = ["commit-tree", tree, "-p", base, "-m", message];
    checked(repository, &words, author, context).await.map(Some)
}

/// Squashes a commit onto the workspace's own, and stages the result. On conflicts the commit wins; their paths are returned.
///
/// # Errors
/// When git fails; then the workspace is reset.
pub async fn squash(commit: &str, context: &ToolContext) -> Result<Vec<String>, ToolError> {
    let repository = Repository::open(context).await?;
    let squash = |words: &'static [&'static str]| {
        let words: Vec<&str> = words.iter().copied().chain([commit]).collect();
        let (repository, context) = (&repository, context);
        async move { change(repository, &words, &FALLBACK_AUTHOR, context).await }
    };
    if squash(&["merge", "--squash", "--quiet"]).await?.code() == Some(0) {
        return Ok(Vec::new());
    }
    let unmerged = ["diff", "--name-only", "-z", "--diff-filter=U"];
    let conflicts = list(&repository, &unmerged, context).await?;
    reset_hard("HEAD", context).await?;
    let again = squash(&["merge", "--squash", "--quiet", "-X", "theirs"]).await?;
    if again.code() == Some(0) {
        return Ok(conflicts);
    }
    // What no strategy settles: a file that one side changed and the other removed.
    let left = list(&repository, &unmerged, context).await?;
    if left.is_empty() {
        reset_hard("HEAD", context).await?;
        return Err(complaint(&again));
    }
    for path in &left {
        let literal = [("GIT_LITERAL_PATHSPECS", "1")];
        let taken =
            change(&repository, &["checkout", "--quiet", commit, "--", path], &literal, context).await?;
        if taken.code() != Some(0) {
            checked(&repository, &["rm", "--quiet", "--force", "--", path], &literal, context).await?;
        }
    }
    Ok(conflicts.into_iter().chain(left).collect::<std::collections::BTreeSet<_>>().into_iter().collect())
}

/// Moves the checked-out branch and the files to a commit that follows it.
///
/// # Errors
/// When the commit does not follow, or a file is in the way.
pub async fn fast_forward(commit: &str, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    let words = ["merge", "--ff-only", "--quiet", "--no-autostash", commit];
    checked(&repository, &words, &FALLBACK_AUTHOR, context).await.map(|_| ())
}

/// Sets branch, index and files to a commit.
///
/// # Errors
/// When git fails.
pub async fn reset_hard(commit: &str, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    checked(&repository, &["reset", "--hard", "--quiet", commit], &[], context).await.map(|_| ())
}

/// Removes lock files that a killed git left in the repository since a moment.
///
/// # Errors
/// When the workspace is not a repository.
pub async fn remove_stale_locks(since: SystemTime, context: &ToolContext) -> Result<(), ToolError> {
    let repository = Repository::open(context).await?;
    let branch =
        repository.ask(&["rev-parse", "--symbolic-full-name", "HEAD"], context).await.unwrap_or_default();
    let names = ["index.lock", "HEAD.lock", "ORIG_HEAD.lock", &format!("{}.lock", branch.trim())];
    for path in names.map(|name| repository.own_directory().join(name)) {
        if changed_since(&path, since) {
            std::fs::remove_file(&path)
                .map_err(|error| ToolError::Failed(format!("cannot remove {}: {error}", path.display())))?;
        }
    }
    Ok(())
}

fn changed_since(path: &Path, since: SystemTime) -> bool {
    path.symlink_metadata().and_then(|facts| facts.modified()).is_ok_and(|changed| changed >= since)
}
