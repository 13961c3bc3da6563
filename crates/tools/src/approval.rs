//! Asking a person: the one way in which a verdict of "ask" becomes a yes. A denial is never put to anybody.

use async_trait::async_trait;
use marvin_gate::{Decision, Verdict};

/// Characters of what is shown of a call. Who sees less than the whole is told so, and can only say no to the rest.
const MAX_QUESTION_CHARS: usize = 20_000;

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The tool, by its own name.
    pub tool: String,
    /// What it would do: the command line, else its arguments. Without secrets.
    pub what: String,
    /// Who wants it, where that is not the conversation itself.
    pub agent: Option<String>,
    /// Why the gate asks.
    pub verdict: Verdict,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Do it, once.
    Yes,
    /// Do not; with what the model is told besides.
    No(String),
}

/// Somebody who can be asked. Whoever does not answer has said no.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer.
    async fn ask(&self, question: Question) -> ApprovalAnswer;
}

impl Question {
    pub(crate) fn new(tool: &str, what: &str, agent: Option<&str>, verdict: &Verdict) -> Self {
        let mut shown = marvin_base::truncate::head(what, MAX_QUESTION_CHARS);
        if shown.len() < what.len() {
            shown.push_str("\n(it is longer than can be shown)");
        }
        Question {
            tool: tool.to_string(),
            what: shown,
            agent: agent.map(str::to_string),
            verdict: verdict.clone(),
        }
    }
}

/// The verdict once a person has spoken.
pub(crate) fn settled(verdict: Verdict, said: &ApprovalAnswer) -> Verdict {
    let Verdict { reason, rule, how_to_fix, .. } = verdict;
    match said {
        ApprovalAnswer::Yes => Verdict {
            decision: Decision::Allow,
            reason: format!("{reason}; a person said yes"),
            rule,
            how_to_fix: String::new(),
        },
        ApprovalAnswer::No(why) => {
            Verdict { decision: Decision::Deny, reason: format!("{reason}; {why}"), rule, how_to_fix }
        }
    }
}
