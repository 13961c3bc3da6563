//! The state of a workflow from its transitions: a few bytes per step, and more only for steps with attempts.

use super::{Data, StepStatus, Transition};
use crate::retry::{Attempt, AttemptLog, Strategy};
use serde_json::Value;
use std::collections::BTreeMap;

/// The state of a workflow.
#[derive(Debug, Default)]
pub struct WorkflowState {
    pub status: Vec<StepStatus>,
    /// The last transition of every step; 0: none.
    pub seq: Vec<i64>,
    /// Steps that were attempted, or that wait for a person.
    pub tried: BTreeMap<u32, StepHistory>,
    /// The number of calls in the run.
    pub seen_calls: u64,
    /// The last answer of a person that was applied.
    pub last_answer: i64,
    /// Attempts in the order in which they ended, with their step.
    pub order: Vec<(u32, usize)>,
    /// The step that ended the whole workflow, and its reason.
    pub termination: Option<(u32, String)>,
}

/// The history of a step.
#[derive(Debug, Clone, Default)]
pub struct StepHistory {
    /// The finished attempts.
    pub attempts: Vec<Attempt>,
    /// The strategy of the running or next attempt.
    pub strategy: Option<Strategy>,
    /// Number, key and call id of the running attempt.
    pub running: Option<(u32, String, String)>,
    /// What a person is needed for.
    pub blocked: Option<String>,
    /// The answer of a person to the next attempt.
    pub said: Option<Value>,
    /// Lessons for the next attempt; it is given the last one.
    pub lessons: Vec<String>,
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
        if Data::is_echo(transition.data) {
            return;
        }
        let data = Data::parse(transition.data);
        self.last_answer = self.last_answer.max(data.answer.unwrap_or(0));
        if let Some(reason) = &data.terminates {
            self.termination = Some((transition.step, reason.clone()));
        }
        let tried = self.tried.entry(transition.step).or_default();
        tried.blocked = data.blocked;
        match transition.status {
            StepStatus::Running => {
                self.seen_calls += u64::from(!data.again);
                tried.running = Some((data.attempt, data.key, data.call_id));
                if data.strategy.is_some() {
                    tried.strategy = data.strategy;
                }
            }
            _ => {
                tried.running = None;
                if let Some(over) = data.over {
                    self.order.push((transition.step, tried.attempts.len()));
                    tried.attempts.push(over);
                }
                if transition.status == StepStatus::RetryPending {
                    tried.strategy = data.strategy.or(tried.strategy.take());
                    tried.lessons.extend(data.lesson);
                    if data.said.is_some() {
                        tried.said = data.said;
                    }
                }
            }
        }
    }

    /// Rebuilds the attempt log of the retry rule.
    #[must_use]
    pub fn seen(&self, name: &dyn Fn(u32) -> String) -> AttemptLog {
        let mut seen = AttemptLog::default();
        for (step, at) in &self.order {
            if let Some(attempt) = self.tried.get(step).and_then(|tried| tried.attempts.get(*at)) {
                seen.note(&name(*step), attempt);
            }
        }
        seen
    }
}
