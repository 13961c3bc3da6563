//! Judges shell commands before they run: the shell parser ([`crate::shell`]) says what a line starts,
//! [`crate::effects`] what that does, and this module looks up on the disk where the names really lead.
//!
//! Limits: this reads text. A build that is allowed runs the project's own code, which can do anything that its
//! sandbox ([`crate::sandbox`]) lets it do. Symbolic links are followed on the disk as it is now ([`reach`]); what
//! changes between the judgement and the run is stopped by the sandbox.

mod raw;
pub(crate) mod reach;

pub(crate) use raw::{Shape, raw};

use crate::effects::{self, Grounds, Judgement, MoreFacts};
use std::path::PathBuf;

/// The place in which a command would run.
#[derive(Debug, Clone)]
pub struct CommandContext {
    /// The workspace, in which it starts.
    pub workspace: PathBuf,
    /// The person's home directory.
    pub home: PathBuf,
}

/// Judges a line for `bash -c`, in the workspace.
#[must_use]
pub fn judge_command(line: &str, context: &CommandContext) -> Judgement {
    judge_command_with(line, context, None)
}

/// The same, with programs that the project knows.
#[must_use]
pub fn judge_command_with(line: &str, context: &CommandContext, more: Option<&MoreFacts>) -> Judgement {
    let workspace = context.workspace.to_string_lossy();
    let home = context.home.to_string_lossy();
    let grounds = Grounds { workspace: &workspace, home: &home };
    effects::judge_on_disk(line, &workspace, grounds, more)
}

#[cfg(test)]
mod tests;
