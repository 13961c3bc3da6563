//! Asking a person: the one way in which a verdict of "ask" becomes a yes. A denial is never asked about.

use async_trait::async_trait;
use marvin_gate::{Decision, Verdict};

/// Characters of a call that are shown. A person who sees less than the whole is told so, and can say no to the rest.
const MAX_QUESTION_CHARS: usize = 20_000;

/// A question to the person about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub tool: String,
    /// The command line, else the arguments. Without secrets.
    pub what: String,
    /// The agent that calls, where that is not the conversation itself.
    pub agent: Option<String>,
    /// Why the gate asks.
    pub verdict: Verdict,
}

/// The person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Do it, once.
    Yes,
    /// Do not; with a reason for the model.
    No(String),
}

/// A way to ask the person. No answer means no.
#[async_trait]
pub trait Approver: Send + Sync {
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

/// The verdict after the person's answer.
pub(crate) fn verdict_after(verdict: Verdict, answer: &ApprovalAnswer) -> Verdict {
    let Verdict { reason, rule, how_to_fix, .. } = verdict;
    match answer {
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
