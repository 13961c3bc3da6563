//! What waits for a person: calls that the gate asks about, candidates for memory, servitors that need an answer, and questions
//! that broke off.
//!
//! A call waits in this process and no longer than `interface.approval_s`; no answer is a no. Everything else waits on the disk,
//! for as long as it takes.

use super::events::Log;
use crate::commitments::TURN;
use async_trait::async_trait;
use marvin_tools::{ApprovalAnswer, Approver, Question};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Where a call comes from that no servitor makes.
pub(super) const CONVERSATION: &str = "the conversation";

/// Something that a person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approval {
    /// Its name, for the answer.
    pub id: String,
    /// What kind of thing.
    pub kind: Kind,
    /// In a few words.
    pub title: String,
    /// What it is about: the command, the memory, the question.
    pub text: String,
    /// Where it comes from.
    pub source: String,
    /// Why somebody is asked.
    pub why: String,
}

/// What kind of thing waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A call that the gate does not decide alone.
    Command,
    /// Something that may be remembered.
    Memory,
    /// A servitor that needs an answer, or a question that broke off.
    Question,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Yes.
    Yes,
    /// No.
    No,
    /// This instead: the text of a memory, the answer to a servitor; of a command, no with a reason.
    Edit(String),
}

/// Calls that wait.
#[derive(Debug)]
pub(super) struct ApprovalQueue {
    log: Log,
    patience: Duration,
    waiting: Mutex<PendingApprovals>,
}

#[derive(Debug, Default)]
struct PendingApprovals {
    number: u64,
    all: BTreeMap<u64, (Approval, oneshot::Sender<ApprovalAnswer>)>,
}

impl ApprovalQueue {
    pub(super) fn new(log: Log, patience: Duration) -> Self {
        ApprovalQueue { log, patience, waiting: Mutex::default() }
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
        let said = match answer {
            Answer::Yes => ApprovalAnswer::Yes,
            Answer::No => ApprovalAnswer::No("the person said no".into()),
            Answer::Edit(text) => ApprovalAnswer::No(format!("the person said no: {}", text.trim())),
        };
        sender.send(said).is_ok()
    }
}

/// Takes a question back when nobody waits for its answer any more, and says how it ended.
struct ApprovalGuard<'a> {
    asking: &'a ApprovalQueue,
    number: u64,
    id: String,
    answer: &'static str,
}

impl Drop for ApprovalGuard<'_> {
    fn drop(&mut self) {
        self.asking.waiting().all.remove(&self.number);
        self.asking.log.push("approval.answered", json!({"id": self.id, "answer": self.answer}));
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
            };
            waiting.all.insert(number, (approval.clone(), sender));
            (approval, number)
        };
        let mut asked = ApprovalGuard { asking: self, number, id: approval.id.clone(), answer: "broken_off" };
        self.log.push("approval.asked", json!(approval));
        match tokio::time::timeout(self.patience, receiver).await {
            Ok(Ok(said)) => {
                asked.answer = if said == ApprovalAnswer::Yes { "yes" } else { "no" };
                said
            }
            Ok(Err(_)) => ApprovalAnswer::No("nobody is there to ask".into()),
            Err(_) => {
                asked.answer = "late";
                ApprovalAnswer::No(format!("nobody answered within {} seconds", self.patience.as_secs()))
            }
        }
    }
}

/// The one who typed a command themselves: the gate's question is answered by that. A denial stays one.
#[derive(Debug)]
pub(super) struct TypedCommandApprover;

#[async_trait]
impl Approver for TypedCommandApprover {
    async fn ask(&self, _: Question) -> ApprovalAnswer {
        ApprovalAnswer::Yes
    }
}

/// The approver of a conversation, if a person is there.
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
        assert_eq!(
            asking.ask(question()).await,
            ApprovalAnswer::No("nobody answered within 0 seconds".into())
        );
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
