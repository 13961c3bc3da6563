//! Assertions: command lines whose exit code is to prove something.
//!
//! A line is accepted only when it is in a small grammar of commands that can fail. What is not in the grammar is refused
//! with a hint, however honest it may be: a script file of the project can hold anything.
//!
//! ```text
//! line      := [set -e…] item (";" item)*        `;` and newlines only behind `set -e`
//!            | search "&&" failing "||" ("exit 0" | "true")
//!            | pipeline ";" "exit ${PIPESTATUS[0]}"
//! item      := step ("&&" step)* ["||" failing]
//! failing   := "exit N" | "false" | "{ echo …; exit N; }" | "(echo …; exit N)"     N in 1..=255
//! step      := ["!"] pipeline | "(" line ")" | "{" line "}"
//! pipeline  := command ("|" command)*           only under pipefail; `!` only before a search
//! command   := [NAME=literal] program word* redirection*
//! ```
//!
//! Every step of such a line is heard, so that the line proves something as soon as one step is a check. Which programs
//! check, search, compare, print or prepare is data: `data/assertions.toml`, with examples that a test checks. A program
//! that is not in the table and lies in the project is a check.
//!
//! Limits: what a script file, a Makefile or a program does inside is not visible here; a search that must find nothing
//! (`! grep -rn TODO src`) also passes where there is nothing to search in.

mod code;
mod command;
mod compare;
mod condition;
mod files;
mod grammar;
mod program;
mod regexes;
mod search;
mod statements;
mod table;
#[cfg(test)]
mod tests;
mod word;

use super::{bounds, cross_check};
use brush_parser::ast::Program;
use files::WrittenFile;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Commands of one line.
const MAX_STEPS: usize = 400;
/// Nesting of groups, substitutions and scripts.
const MAX_NESTING: usize = 16;
/// Characters of a part that are shown.
const MAX_PART_CHARS: usize = 100;

/// Said of everything that is not in the grammar.
const SCRIPT_HINT: &str =
    "put it into a script file of the project and run that, for example `bash check.sh`";

/// The reason why a line is not accepted as an assertion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{part}` {reason}\n  hint: {hint}")]
pub struct AssertionRefusal {
    /// The part of the line.
    pub part: String,
    /// The fault.
    pub reason: String,
    /// The hint.
    pub hint: String,
}

impl AssertionRefusal {
    fn new(part: &str, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        let flat = part.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut shown: String = flat.chars().take(MAX_PART_CHARS).collect();
        if shown.len() < flat.len() {
            shown.push('…');
        }
        AssertionRefusal { part: shown, reason: reason.into(), hint: hint.into() }
    }

    /// A part that is not in the grammar.
    fn beyond(part: &str, reason: impl Into<String>) -> Self {
        Self::new(part, reason, SCRIPT_HINT)
    }
}

/// Checks that a line, run by `bash -o pipefail -c`, fails when what it checks does not hold.
///
/// # Errors
/// The part that is not accepted, and what to write instead.
pub fn check_assertion(line: &str) -> Result<(), AssertionRefusal> {
    check_line(line, Purpose::Assertion).map(drop)
}

/// Checks a line that runs tests and prints how many: it must start a program, and may not print such a text itself.
///
/// # Errors
/// The part that is not accepted, and what to write instead.
pub fn check_test_command(line: &str) -> Result<(), AssertionRefusal> {
    let summary = check_line(line, Purpose::Tests)?;
    let hint = "write the command that runs the tests";
    match summary.shown {
        Some(part) => {
            Err(AssertionRefusal::new(&part, "only shows a text, which could say anything about tests", hint))
        }
        None if !summary.runs => {
            Err(AssertionRefusal::new(line, "runs no tests: it only looks at what is there", hint))
        }
        None => Ok(()),
    }
}

fn check_line(line: &str, purpose: Purpose) -> Result<Summary, AssertionRefusal> {
    super::begin();
    if line.trim().is_empty() {
        let hint = "write a command that fails, for example `pytest -q`";
        return Err(AssertionRefusal::new(line, "is empty: it checks nothing", hint));
    }
    let mut checker = Checker::new(purpose, true);
    let summary = checker.script(line)?;
    if summary.checks {
        return Ok(summary);
    }
    let hint = "write a command whose exit code tells whether it holds, for example `pytest -q`";
    Err(summary
        .idle
        .unwrap_or_else(|| AssertionRefusal::new(line, "cannot fail, so it proves nothing", hint)))
}

/// The kind of assertion that the line is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// `shell`: only the exit code counts.
    Assertion,
    /// `tests_pass`: the tests are counted, too.
    Tests,
}

/// The findings on a line or a group.
#[derive(Debug, Clone, Default)]
struct Summary {
    /// A step of it fails when the work is not done.
    checks: bool,
    /// A program of the project or a tool ran.
    runs: bool,
    /// A command that prints a text that stands somewhere.
    shown: Option<String>,
    /// The first reason why a step is not a check.
    idle: Option<AssertionRefusal>,
}

impl Summary {
    fn add(&mut self, other: Summary) {
        self.checks |= other.checks;
        self.runs |= other.runs;
        self.shown = self.shown.take().or(other.shown);
        self.idle = self.idle.take().or(other.idle);
    }
}

/// Checks one line.
#[derive(Debug)]
struct Checker {
    purpose: Purpose,
    pipefail: bool,
    steps: usize,
    depth: usize,
    /// The working directory, from the project's root.
    directory: String,
    written: BTreeMap<String, WrittenFile>,
    /// Pipelines so far.
    pipelines: usize,
}

impl Checker {
    fn new(purpose: Purpose, pipefail: bool) -> Self {
        Checker {
            purpose,
            pipefail,
            steps: 0,
            depth: 0,
            directory: String::new(),
            written: BTreeMap::new(),
            pipelines: 0,
        }
    }

    /// Parses a text with both parsers.
    fn parse(text: &str) -> Result<Rc<Program>, AssertionRefusal> {
        if let Some(obstacle) = bounds::obstacle(text) {
            return Err(AssertionRefusal::beyond(text, format!("cannot be parsed: {obstacle}")));
        }
        if text.contains('\r') || !text.is_ascii() && super::is_disguised(text) {
            let reason = "cannot be parsed: characters that look like others or are not visible";
            return Err(AssertionRefusal::new(text, reason, "type it again with plain letters"));
        }
        match bounds::parse(text) {
            Some(program) if cross_check::agrees(text, &program) => Ok(program),
            Some(_) => {
                Err(AssertionRefusal::beyond(text, "cannot be parsed: two parsers understand it differently"))
            }
            None => Err(AssertionRefusal::new(
                text,
                "cannot be parsed as shell",
                "close every quote and bracket, and try it in a terminal",
            )),
        }
    }

    /// Counts a command, and refuses a line that has too many.
    fn count_step(&mut self, part: &str) -> Result<(), AssertionRefusal> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            Err(AssertionRefusal::beyond(part, "is one command too many"))
        } else {
            Ok(())
        }
    }

    /// Runs one level deeper.
    fn nested<T>(
        &mut self,
        part: &str,
        run: impl FnOnce(&mut Self) -> Result<T, AssertionRefusal>,
    ) -> Result<T, AssertionRefusal> {
        if self.depth >= MAX_NESTING {
            return Err(AssertionRefusal::beyond(part, "is nested too deep"));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }
}
