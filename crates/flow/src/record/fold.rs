//! The state of a workflow from its transitions: a few bytes per step, and more only for steps with attempts.

use super::{Data, StepStatus, Transition};
use crate::retry::{Attempt, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The state of a workflow.
#[derive(Debug, Default)]
pub struct WorkflowState {
    pub status: Vec<StepStatus>,
    /// The last transition of every step; 0: none.
    pub seq: Vec<i64>,
    /// Steps that were attempted and are not complete, or that wait for a person.
    pub tried: BTreeMap<u32, StepHistory>,
    /// The number in the last call id.
    pub calls: u64,
    /// The last answer of a person that was applied.
    pub last_answer: i64,
    /// The step that ended the whole workflow, and its reason.
    pub termination: Option<(u32, String)>,
}

/// The history of a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepHistory {
    /// The finished attempts.
    pub attempts: Vec<Attempt>,
    /// The strategy of the running or next attempt.
    pub strategy: Option<Strategy>,
    /// The running attempt, or the one that is to be resumed.
    pub running: Option<CallIdentity>,
    /// What a person is needed for.
    pub blocked: Option<String>,
    /// The answer of a person to the next attempt.
    pub said: Option<Value>,
    /// Lessons for the next attempt; it is given the last one.
    pub lessons: Vec<String>,
    /// The attempt of the last transition; 0: none.
    pub attempt: u32,
    /// The key of the last transition.
    pub key: String,
}

/// Number, key and call id of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallIdentity {
    /// Counted from 1.
    pub attempt: u32,
    pub key: String,
    pub call_id: String,
}

impl StepHistory {
    /// Applies a transition of the step.
    pub(crate) fn apply(&mut self, status: StepStatus, data: &Data) {
        self.blocked.clone_from(&data.blocked);
        self.attempt = data.attempt;
        self.key.clone_from(&data.key);
        let identity =
            || CallIdentity { attempt: data.attempt, key: data.key.clone(), call_id: data.call_id.clone() };
        if status == StepStatus::Running {
            self.running = Some(identity());
            if data.strategy.is_some() {
                self.strategy.clone_from(&data.strategy);
            }
            return;
        }
        // An attempt that waits to be resumed keeps its call.
        let waits = status == StepStatus::Ready && !data.call_id.is_empty();
        self.running = waits.then(identity);
        self.attempts.extend(data.over.clone());
        if status == StepStatus::RetryPending {
            if data.strategy.is_some() {
                self.strategy.clone_from(&data.strategy);
            }
            self.lessons.extend(data.lesson.clone());
            if data.said.is_some() {
                self.said.clone_from(&data.said);
            }
        }
    }
}

/// `call-n`, the id of a call.
pub(crate) fn call_id(number: u64) -> String {
    format!("call-{number}")
}

fn call_number(call_id: &str) -> u64 {
    call_id.strip_prefix("call-").and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

impl WorkflowState {
    /// The state before the first transition.
    #[must_use]
    pub fn empty(steps: usize) -> Self {
        WorkflowState {
            status: vec![StepStatus::New; steps],
            seq: vec![0; steps],
            ..WorkflowState::default()
        }
    }

    pub fn apply(&mut self, transition: &Transition<'_>) {
        let at = transition.step as usize;
        let (Some(status), Some(seq)) = (self.status.get_mut(at), self.seq.get_mut(at)) else { return };
        *status = transition.status;
        *seq = transition.seq;
        // Most transitions of large workflows have only outputs.
        if !Data::is_echo(transition.data) {
            let data = Data::parse(transition.data);
            self.last_answer = self.last_answer.max(data.answer.unwrap_or(0));
            self.calls = self.calls.max(call_number(&data.call_id));
            if let (Some(reason), None) = (&data.terminates, &self.termination) {
                self.termination = Some((transition.step, reason.clone()));
            }
            self.tried.entry(transition.step).or_default().apply(transition.status, &data);
        }
        if transition.status.is_complete() {
            // Nothing is decided about it any more.
            self.tried.remove(&transition.step);
        }
    }
}
