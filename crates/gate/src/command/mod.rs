//! Judges shell commands before they run.
//!
//! Layers, in this order, over every simple command of a line; the strictest finding stands:
//! 1. *Catastrophe* ([`catastrophe`]): destroys what cannot be brought back, or sends secrets out. Nothing lifts it.
//! 2. *Own tools*: tickets have a tool ([`tickets`]); `rm`, `rmdir` and `unlink` are asked about, behind wrappers too.
//! 3. *Doubts* ([`words`]): what cannot be resolved to literal words is asked about.
//! 4. *Table* ([`table`]): what the table names is allowed. Everything else is asked about.
//!
//! Limits: this reads text. A build that is allowed runs the project's own code, which can do anything that the box
//! around it ([`crate::containment`]) lets it do. Symbolic links are followed on the disk as it is now ([`reach`]); what
//! changes between the judgement and the run is the box's to stop.

mod catastrophe;
mod reach;
mod table;
mod target;
mod tickets;
mod words;

use crate::verdict::Verdict;
use serde::Serialize;
use std::path::{Path, PathBuf};
use words::{Line, Simple};

/// Longer lines are not judged but asked about.
const LONGEST: usize = 20_000;

/// Where a command would run.
#[derive(Debug, Clone)]
pub struct CommandContext {
    /// The workspace, in which it starts.
    pub workspace: PathBuf,
    /// The person's home folder.
    pub home: PathBuf,
}

/// One simple command of a line.
#[derive(Debug, Clone, Serialize)]
pub struct Segment {
    /// Its words, quotes removed.
    pub words: Vec<String>,
    /// What was found about it alone.
    pub verdict: Verdict,
}

/// A judged line.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// The strictest finding.
    pub verdict: Verdict,
    /// Each simple command.
    pub segments: Vec<Segment>,
}

/// Judges a line for `bash -c`.
#[must_use]
pub fn judge_command(line: &str, context: &CommandContext) -> Judged {
    if line.len() > LONGEST {
        let verdict = catastrophe::raw(line).unwrap_or_else(|| {
            Verdict::ask(
                "command.long",
                format!("the line is longer than {LONGEST} bytes"),
                "Put it into a script with create_file.",
            )
        });
        return Judged { verdict, segments: Vec::new() };
    }
    let parsed = words::split(line);
    let segments = judge_segments(&parsed, context);
    let mut findings: Vec<Verdict> = segments.iter().map(|segment| segment.verdict.clone()).collect();
    let opaque = parsed.commands.iter().any(|command| catastrophe::is_opaque(&command.words));
    if opaque || !parsed.doubts.is_empty() {
        findings.extend(catastrophe::raw(line));
    }
    findings.extend(parsed.doubts.iter().map(|doubt| {
        Verdict::ask(
            "command.unresolved",
            format!("the line holds {doubt}, so it is not certain what it does"),
            doubt.mend(),
        )
    }));
    let verdict = findings
        .into_iter()
        .reduce(Verdict::strictest)
        .unwrap_or_else(|| Verdict::ask("command.empty", "there is no command", "Say what to run."));
    Judged { verdict, segments }
}

fn judge_segments(line: &Line, context: &CommandContext) -> Vec<Segment> {
    // Folders in which the next command may run: a `cd` may succeed or fail.
    let mut folders = vec![context.workspace.clone()];
    let mut segments = Vec::new();
    for (at, command) in line.commands.iter().enumerate() {
        let before = catastrophe::feeders(&line.commands, at);
        let verdict = catastrophe::judge(command, before, &folders, context, 0)
            .or_else(|| tickets::judge(command, &folders, context, 0))
            .or_else(|| own_tools(command))
            .unwrap_or_else(|| listed(command, &folders, context));
        if verdict.is_allowed() {
            folders.extend(entered(command, &folders));
        }
        let words = command.words.iter().map(|word| word.text.clone()).collect();
        segments.push(Segment { words, verdict });
    }
    segments
}

/// The folders that an allowed `cd` may lead to.
fn entered(command: &Simple, folders: &[PathBuf]) -> Vec<PathBuf> {
    match command.words.as_slice() {
        [program, folder] if program.text == "cd" => {
            // Bounded: each `cd` doubles the possibilities.
            folders.iter().take(16).map(|from| from.join(Path::new(&folder.text))).collect()
        }
        _ => Vec::new(),
    }
}

/// Commands that a person decides.
fn own_tools(command: &Simple) -> Option<Verdict> {
    let names = catastrophe::beginnings(&command.words);
    let mut programs =
        names.iter().filter_map(|words| words.first()).map(|first| catastrophe::base_name(&first.text));
    programs.find_map(|program| match program {
        "rm" | "rmdir" | "unlink" => Some(Verdict::ask(
            "command.delete",
            format!("`{program}` deletes files"),
            "Leave the files, or say which ones are to be deleted and why.",
        )),
        _ => None,
    })
}

fn listed(command: &Simple, folders: &[PathBuf], context: &CommandContext) -> Verdict {
    match table::allows(command, folders, context) {
        Ok(rule) => Verdict::allow(rule, "it only reads, builds, tests, or changes what can be brought back"),
        Err(why) => Verdict::ask(why.rule, why.reason, why.mend),
    }
}

#[cfg(test)]
mod tests;
