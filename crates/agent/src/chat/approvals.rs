//! Approvals: everything that waits for a person, in one list for every front end.
//!
//! These are calls that the gate asks about, steps of workflows, candidates for memory, servitors that need an answer, and
//! interrupted questions. A call waits in this process and no longer than `interface.approval_s`; no answer is a no.
//! Everything else waits on disk without a time limit.

use super::error::ChatError;
use super::events::{AnsweredEvent, Log};
use crate::commitments::TURN;
use async_trait::async_trait;
use marvin_memory::Person;
use marvin_tools::{ApprovalAnswer, Approver, Question};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Source of a call that is not a servitor's.
pub(super) const CONVERSATION: &str = "the conversation";

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approval {
    /// Id that an answer names.
    pub id: String,
    pub kind: Kind,
    /// The question in a few words.
    pub title: String,
    /// Its subject: the command, the memory, the question.
    pub text: String,
    /// The agent, tool or run that it comes from.
    pub source: String,
    /// Why a person is asked.
    pub why: String,
    /// The answers that it takes, in the order in which a front end offers them.
    pub choices: &'static [Choice],
}

impl Approval {
    /// Whether a call waits for it in this process.
    pub(super) fn is_call(&self) -> bool {
        self.kind == Kind::Command
    }

    /// Whether it takes this answer.
    #[must_use]
    pub fn takes(&self, answer: &Answer) -> bool {
        self.choices.iter().any(|choice| choice.answer == answer.word())
    }
}

/// An answer that can be given, with the words for a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub answer: AnswerWord,
    pub label: &'static str,
}

/// Offers an answer.
#[must_use]
pub const fn choice(answer: AnswerWord, label: &'static str) -> Choice {
    Choice { answer, label }
}

const COMMAND: &[Choice] = &[
    choice(AnswerWord::Yes, "Yes, once"),
    choice(AnswerWord::No, "No"),
    choice(AnswerWord::Edit, "No, with this reason"),
];
pub(super) const MEMORY: &[Choice] = &[
    choice(AnswerWord::Yes, "Remember it"),
    choice(AnswerWord::No, "No"),
    choice(AnswerWord::Edit, "Remember this instead"),
];
pub(super) const SERVITOR: &[Choice] = &[
    choice(AnswerWord::Yes, "Yes"),
    choice(AnswerWord::No, "No"),
    choice(AnswerWord::Edit, "Send this answer"),
];
pub(super) const INTERRUPTED: &[Choice] = &[
    choice(AnswerWord::Yes, "Yes, continue"),
    choice(AnswerWord::No, "No, close it"),
    choice(AnswerWord::Edit, "Ask this instead"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A call that the gate does not decide alone.
    Command,
    /// A candidate for memory.
    Memory,
    /// A servitor that needs an answer, or an interrupted question.
    Question,
    /// A step of a workflow that only a person can settle.
    Step,
}

/// The kind of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerWord {
    Yes,
    No,
    Edit,
    Again,
}

impl AnswerWord {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            AnswerWord::Yes => "yes",
            AnswerWord::No => "no",
            AnswerWord::Edit => "edit",
            AnswerWord::Again => "again",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    /// This instead: the text of a memory, the answer to a servitor or a step; of a command, no with a reason.
    Edit(String),
    /// Run a step again whose outcome is unknown.
    Again,
}

impl Answer {
    #[must_use]
    pub fn word(&self) -> AnswerWord {
        match self {
            Answer::Yes => AnswerWord::Yes,
            Answer::No => AnswerWord::No,
            Answer::Edit(_) => AnswerWord::Edit,
            Answer::Again => AnswerWord::Again,
        }
    }
}

/// Steps of workflows that wait for a person; a higher layer has them.
pub trait StepSource: Send + Sync {
    /// Waiting steps of the runs in these directories, oldest first.
    fn waiting(&self, runs: &[PathBuf]) -> Vec<Approval>;

    /// Records the answer to a step, and says what happens next.
    ///
    /// # Errors
    /// When the step does not wait, takes another answer, or the record cannot be written.
    fn answer(
        &self,
        runs: &[PathBuf],
        id: &str,
        answer: &Answer,
        person: &Person,
    ) -> Result<String, ChatError>;
}

/// Calls that wait for an answer.
#[derive(Debug)]
pub(super) struct ApprovalQueue {
    log: Log,
    timeout: Duration,
    waiting: Mutex<PendingApprovals>,
}

#[derive(Debug, Default)]
struct PendingApprovals {
    number: u64,
    all: BTreeMap<u64, (Approval, oneshot::Sender<ApprovalAnswer>)>,
}

impl ApprovalQueue {
    pub(super) fn new(log: Log, timeout: Duration) -> Self {
        ApprovalQueue { log, timeout, waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, PendingApprovals> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that waits, oldest first.
    pub(super) fn all(&self) -> Vec<Approval> {
        self.waiting().all.values().map(|(approval, _)| approval.clone()).collect()
    }

    /// Answers a call; false when it no longer waits.
    pub(super) fn answer(&self, id: &str, answer: &Answer) -> bool {
        let mut waiting = self.waiting();
        let found =
            waiting.all.iter().find(|(_, (approval, _))| approval.id == id).map(|(number, _)| *number);
        let Some((_, sender)) = found.and_then(|number| waiting.all.remove(&number)) else { return false };
        drop(waiting);
        let answer = match answer {
            Answer::Yes => ApprovalAnswer::Yes,
            Answer::No | Answer::Again => ApprovalAnswer::No("the person said no".into()),
            Answer::Edit(text) => ApprovalAnswer::No(format!("the person said no: {}", text.trim())),
        };
        sender.send(answer).is_ok()
    }
}

/// Withdraws a question when its caller stops waiting, and reports how it ended.
struct ApprovalGuard<'a> {
    asking: &'a ApprovalQueue,
    number: u64,
    id: String,
    answer: &'static str,
}

impl Drop for ApprovalGuard<'_> {
    fn drop(&mut self) {
        self.asking.waiting().all.remove(&self.number);
        let answered = AnsweredEvent { id: &self.id, answer: self.answer };
        self.asking.log.push("approval.answered", &answered);
    }
}

#[async_trait]
impl Approver for ApprovalQueue {
    async fn ask(&self, question: Question) -> ApprovalAnswer {
        let (sender, receiver) = oneshot::channel();
        let (approval, number) = {
            let mut waiting = self.waiting();
            waiting.number += 1;
            let number = waiting.number;
            let is_command = question.tool == "run_command";
            let approval = Approval {
                id: format!("command:{number}"),
                kind: Kind::Command,
                title: if is_command {
                    "Run this command?".into()
                } else {
                    format!("Let {} do this?", question.tool)
                },
                text: question.what,
                source: question
                    .agent
                    .filter(|agent| !agent.starts_with(TURN))
                    .unwrap_or_else(|| CONVERSATION.into()),
                why: format!("{} [{}]", question.verdict.reason, question.verdict.rule),
                choices: COMMAND,
            };
            waiting.all.insert(number, (approval.clone(), sender));
            (approval, number)
        };
        let mut asked = ApprovalGuard { asking: self, number, id: approval.id.clone(), answer: "broken_off" };
        self.log.push("approval.asked", &approval);
        match tokio::time::timeout(self.timeout, receiver).await {
            Ok(Ok(answer)) => {
                asked.answer = if answer == ApprovalAnswer::Yes { "yes" } else { "no" };
                answer
            }
            Ok(Err(_)) => ApprovalAnswer::No("no person is there to ask".into()),
            Err(_) => {
                asked.answer = "late";
                ApprovalAnswer::No(format!("no answer within {} seconds", self.timeout.as_secs()))
            }
        }
    }
}

/// Approves a command because the person typed it; a denial by the gate stays one.
#[derive(Debug)]
pub(super) struct TypedCommandApprover;

#[async_trait]
impl Approver for TypedCommandApprover {
    async fn ask(&self, _: Question) -> ApprovalAnswer {
        ApprovalAnswer::Yes
    }
}

/// Approver of a conversation, if a person is there.
pub(super) fn approver(asking: &Arc<ApprovalQueue>, attended: bool) -> Option<Arc<dyn Approver>> {
    attended.then(|| asking.clone() as Arc<dyn Approver>)
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_gate::Verdict;

    fn question() -> Question {
        Question {
            tool: "run_command".into(),
            what: "make".into(),
            agent: None,
            verdict: Verdict::ask("r", "it is not known", ""),
        }
    }

    #[tokio::test]
    async fn no_answer_is_a_no() {
        let log = Log::new();
        let asking = ApprovalQueue::new(log.clone(), Duration::from_millis(20));
        assert_eq!(asking.ask(question()).await, ApprovalAnswer::No("no answer within 0 seconds".into()));
        assert!(asking.all().is_empty());
        let kinds: Vec<String> = log.read(Some(0)).ready(9).iter().map(|event| event.kind.clone()).collect();
        assert_eq!(kinds, ["approval.asked", "approval.answered"]);
    }

    #[tokio::test]
    async fn answers_reach_the_call_they_are_for() {
        let asking = Arc::new(ApprovalQueue::new(Log::new(), Duration::from_secs(9)));
        let ask = || {
            let asking = asking.clone();
            tokio::spawn(async move { asking.ask(question()).await })
        };
        let (first, second) = (ask(), ask());
        while asking.all().len() < 2 {
            tokio::task::yield_now().await;
        }
        assert!(!asking.answer("command:7", &Answer::Yes));
        assert!(asking.answer("command:2", &Answer::Edit("use cargo".into())));
        assert!(asking.answer("command:1", &Answer::Yes));
        assert!(!asking.answer("command:1", &Answer::Yes), "once");
        assert_eq!(first.await.unwrap(), ApprovalAnswer::Yes);
        assert_eq!(second.await.unwrap(), ApprovalAnswer::No("the person said no: use cargo".into()));
    }
}
