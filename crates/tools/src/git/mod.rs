//! Git: inspect the workspace's repository, commit, change branches.
//!
//! The real git runs in the sandbox, without pager, prompts, network and automatic maintenance, and only on the workspace's
//! own repository ([`repository`]). The tools that read run nothing of the project: configuration that would start programs
//! (hooks, file system monitors, filters, external diffs) is overridden, and the sandbox lets them write nothing.
//! `git_commit` and `git_checkout` run the project's hooks and filters, sandboxed like any command.

mod checkout;
mod commit;
pub mod integrate;
mod read;
mod repository;
mod status;
mod worktree;

pub use checkout::GitCheckout;
pub use commit::GitCommit;
pub use read::{Commit, DiffFile, GitDiff, GitLog, GitStatus};
pub use worktree::{add_worktree, apply_whole, mark_worktree_base, remove_worktree, worktree_patch};

use crate::tool::DynTool;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(GitStatus), Arc::new(GitDiff), Arc::new(GitLog), Arc::new(GitCommit), Arc::new(GitCheckout)]
}
