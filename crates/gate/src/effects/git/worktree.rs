//! `git worktree add`: the directory that it makes, and the branch that it may reset.

use super::Subcommand;
use crate::effects::arguments::Arguments;
use crate::effects::look::Look;
use crate::effects::severity::Act;

/// Judges `git worktree add PATH [COMMIT]`.
pub(super) fn add(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let arguments = Arguments::new(sub.rest, &["-b", "-B", "--reason"]);
    if arguments.has(&["-B"]) {
        look.ask("git.branch", "it moves a branch by force");
    }
    // The first operand is the verb itself.
    if let Some(path) = arguments.operands.get(1) {
        look.act(Act::Write, path);
    }
}
