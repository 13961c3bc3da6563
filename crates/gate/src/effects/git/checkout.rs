//! `git checkout`: the same verb changes the branch and throws away changes of files; and `git worktree add`, which checks
//! out beside it.
//!
//! Limit: a name that may be a branch or a file is told by its form and by a list of usual names.

use super::{LOST, Subcommand};
use crate::effects::arguments::Arguments;
use crate::effects::look::Look;
use crate::effects::severity::Act;
use crate::effects::words;
use crate::shell::Word;

/// Judges `git checkout`.
pub(super) fn judge(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    if sub.has(&["-f", "--force"]) {
        return look.deny("git.lost", LOST);
    }
    let paths_follow = sub.rest.iter().position(|word| word.is("--"));
    if let Some(at) = paths_follow {
        let paths = sub.rest.get(at + 1..).unwrap_or_default();
        if !paths.is_empty() {
            return look.deny("git.lost", LOST);
        }
    }
    let creates = sub.has(&["-b", "-B", "--orphan", "--track", "-t", "--detach", "-d"]);
    if sub.has(&["-B"]) {
        look.ask("git.branch", "it moves a branch by force");
    }
    if creates {
        return;
    }
    const OF_FILES: [&str; 9] =
        ["-2", "-3", "--ours", "--theirs", "--merge", "-m", "-p", "--patch", "--pathspec-from-file"];
    // A word that is not known may be a file, whose changes would be lost.
    if sub.has(&OF_FILES) || sub.operands.iter().any(|word| word.text().is_none()) {
        return look.ask("git.lost", LOST);
    }
    // `git checkout .`, `git checkout HEAD file`, `git checkout src/a.rs`: files, not branches.
    let is_path = |word: &&Word| {
        word.text().is_some_and(|text| {
            // No branch begins with a dot.
            text.starts_with(['.', ':'])
                || words::FILE_NAMES_WITHOUT_ENDING.matches(&text)
                || text.ends_with('/')
                || text.contains('*')
                || has_extension(&text)
        })
    };
    match sub.operands.as_slice() {
        [only] if is_path(only) => look.deny("git.lost", LOST),
        [_, _, ..] => look.deny("git.lost", LOST),
        _ => {}
    }
}

/// Ends like a file's name. Branches may hold dots too, but versions have digits behind them.
fn has_extension(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(name, end)| {
        !name.is_empty() && (1..=5).contains(&end.len()) && end.chars().all(|char| char.is_ascii_alphabetic())
    })
}

/// Judges `git worktree add PATH [COMMIT]`.
pub(super) fn add_worktree(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let arguments = Arguments::new(sub.rest, &["-b", "-B", "--reason"]);
    if arguments.has(&["-B"]) {
        look.ask("git.branch", "it moves a branch by force");
    }
    // The first operand is the verb itself.
    if let Some(path) = arguments.operands.get(1) {
        look.act(Act::Write, path);
    }
}
