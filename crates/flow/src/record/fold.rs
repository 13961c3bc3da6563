//! From transitions to where every step stands: a few bytes a step, and more only for steps with attempts.

use super::{Data, StepStatus, Transition};
use crate::retry::{Attempt, AttemptLog, Strategy};
use serde_json::Value;
use std::collections::BTreeMap;

/// Where a workflow stands.
#[derive(Debug, Default)]
pub struct WorkflowState {
    /// The status of every step.
    pub status: Vec<StepStatus>,
    /// The number of the transition that says so; 0: none.
    pub seq: Vec<i64>,
    /// Steps that were tried, or that wait for somebody.
    pub tried: BTreeMap<u32, StepHistory>,
    /// Every call of the run.
    pub seen_calls: u64,
    /// The last answer of a person that was heard.
    pub heard: i64,
    /// Attempts in the order in which they ended, with their step.
    pub order: Vec<(u32, usize)>,
    /// The step that ended the whole workflow, and why.
    pub termination: Option<(u32, String)>,
}

/// What is known of a step with attempts.
#[derive(Debug, Clone, Default)]
pub struct StepHistory {
    /// The attempts that are over.
    pub attempts: Vec<Attempt>,
    /// How it is tried, or will be.
    pub strategy: Option<Strategy>,
    /// The attempt that runs, and its key.
    pub running: Option<(u32, String, String)>,
    /// What a person is needed for.
    pub blocked: Option<String>,
    /// What a person said.
    pub said: Option<Value>,
    /// The lesson that the next attempt is given.
    pub lessons: Vec<String>,
}

impl WorkflowState {
    /// Nothing happened yet.
    #[must_use]
    pub fn empty(steps: usize) -> Self {
        WorkflowState {
            status: vec![StepStatus::New; steps],
            seq: vec![0; steps],
            ..WorkflowState::default()
        }
    }

    /// Takes the next transition.
    pub fn take(&mut self, transition: &Transition<'_>) {
        let at = transition.step as usize;
        let (Some(status), Some(seq)) = (self.status.get_mut(at), self.seq.get_mut(at)) else { return };
        *status = transition.status;
        *seq = transition.seq;
        // Most transitions of large workflows say nothing but the outputs.
        if Data::is_echo(transition.data) {
            return;
        }
        let data = Data::read(transition.data);
        self.heard = self.heard.max(data.answer.unwrap_or(0));
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

    /// What the novelty gate has seen, rebuilt.
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
