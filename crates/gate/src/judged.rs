//! Commands that passed the gate, as types.
//!
//! A process for an agent starts from a [`JudgedCommand`], and only this module makes one: from a line whose verdict allows
//! it, from a line that a person approved, or from a program that Marvin runs for itself with words of its own. The sandbox
//! takes nothing else, so that a line which was not judged cannot run by mistake.
//!
//! Limits: the type says that the line was judged, not that it is harmless; what it does is contained by the sandbox.

use crate::intent::{Context, Intent, Touches, decide, judge};
use crate::verdict::{Decision, Verdict};
use marvin_base::child::{self, Child, ChildError, Outcome};
use std::ffi::OsString;
use std::ops::{Deref, DerefMut};
use tokio_util::sync::CancellationToken;

/// A process that may be started for an agent. Bounds, input and environment are set on the [`Child`] inside.
#[derive(Debug, Clone)]
pub struct JudgedCommand {
    line: String,
    /// On the heap, because it is held across the awaits of every caller.
    child: Box<Child>,
}

impl JudgedCommand {
    fn from_line(line: &str) -> Self {
        let child = Child::new("bash").args(["-o", "pipefail", "-c", line]);
        JudgedCommand { line: line.to_string(), child: Box::new(child) }
    }

    /// A program that Marvin runs for itself: its first words are part of the source, and no agent chose it.
    pub fn own(program: impl Into<OsString>, words: &'static [&'static str]) -> Self {
        let child = Child::new(program).args(words);
        JudgedCommand { line: String::new(), child: Box::new(child) }
    }

    /// The same command without a shell between: `words` are those of the line, with the options of a report.
    #[must_use]
    pub fn with_words(mut self, words: &[String]) -> Self {
        if let Some((program, rest)) = words.split_first() {
            *self.child = Child::new(program).args(rest);
        }
        self
    }

    /// Runs it until it ends, is late or is cancelled.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn run(self, cancel: &CancellationToken) -> Result<Outcome, ChildError> {
        Box::pin(child::run(*self.child, cancel)).await
    }
}

impl Deref for JudgedCommand {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for JudgedCommand {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

/// Puts a line to the gate; what may be run, or the verdict against it.
///
/// # Errors
/// The verdict, when it does not allow the line.
pub async fn decide_command(line: &str, context: &Context<'_>) -> Result<JudgedCommand, Verdict> {
    let verdict = Box::pin(decide(&Intent::Command { line: line.to_string() }, context)).await;
    if verdict.is_allowed() { Ok(JudgedCommand::from_line(line)) } else { Err(verdict) }
}

/// Puts a line that a person approved to the gate: a question counts as answered, a refusal stands.
///
/// # Errors
/// The verdict, when it refuses the line.
pub async fn decide_approved_command(line: &str, context: &Context<'_>) -> Result<JudgedCommand, Verdict> {
    match decide_command(line, context).await {
        Err(verdict) if verdict.decision == Decision::Ask => Ok(JudgedCommand::from_line(line)),
        judged => judged,
    }
}

/// The lines that a tool call may run.
#[derive(Debug, Clone, Default)]
pub struct Permit {
    lines: Vec<String>,
}

impl Permit {
    /// The command for a line, if the line is the one that was judged.
    #[must_use]
    pub fn command(&self, line: &str) -> Option<JudgedCommand> {
        self.lines.iter().any(|own| own == line).then(|| JudgedCommand::from_line(line))
    }
}

impl From<JudgedCommand> for Permit {
    fn from(command: JudgedCommand) -> Self {
        Permit { lines: vec![command.line] }
    }
}

/// A tool call that was put to the gate.
#[derive(Debug)]
pub struct JudgedCall {
    verdict: Verdict,
    lines: Vec<String>,
}

impl JudgedCall {
    /// Judges a call that is about to be made: a model may be asked, and what is decided on commands is logged.
    pub async fn decide(tool: &str, touches: Touches, intents: &[Intent], context: &Context<'_>) -> Self {
        let offered = judge(&Intent::Tool { name: tool.to_string(), touches }, context);
        let mut call = JudgedCall { verdict: offered, lines: Vec::new() };
        if !call.verdict.is_allowed() {
            return call;
        }
        for (at, intent) in intents.iter().enumerate() {
            let verdict = decide(intent, context).await;
            let denied = verdict.decision == Decision::Deny;
            // The first of the intents says more than that the tool is offered.
            call.verdict = if at == 0 { verdict } else { call.verdict.strictest(verdict) };
            if let Intent::Command { line } | Intent::Install { line, .. } = intent {
                call.lines.push(line.clone());
            }
            // Nothing is stricter; no model need be asked about the rest.
            if denied {
                break;
            }
        }
        call
    }

    /// The verdict on the whole call.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The permit of a call that is allowed, or that was a question and the person said yes.
    #[must_use]
    pub fn permit(self, approved: bool) -> Option<Permit> {
        let passes = match self.verdict.decision {
            Decision::Allow => true,
            Decision::Ask => approved,
            Decision::Deny => false,
        };
        passes.then_some(Permit { lines: self.lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_judged_lines_become_commands() {
        let permit = Permit { lines: vec!["cargo test".into()] };
        let command = permit.command("cargo test").unwrap();
        assert_eq!(command.program, "bash");
        assert!(permit.command("cargo test; rm -rf .").is_none());
        assert!(Permit::default().command("ls").is_none());
    }

    #[test]
    fn a_permit_needs_an_allowance_or_an_answered_question() {
        let call = |verdict| JudgedCall { verdict, lines: vec!["ls".into()] };
        let permits = |verdict: Verdict, approved| call(verdict).permit(approved).is_some();
        assert!(permits(Verdict::allow("r", "fine"), false));
        assert!(!permits(Verdict::ask("r", "odd", ""), false));
        assert!(permits(Verdict::ask("r", "odd", ""), true));
        assert!(!permits(Verdict::deny("r", "no", ""), true));
    }
}
