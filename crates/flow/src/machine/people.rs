//! Decisions of people about steps.

use super::{Machine, Payload};
use crate::record::{Answer, Data, StepStatus};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Names of workers that represent a person.
pub const PEOPLE: [&str; 2] = ["approve", "answer"];

/// The key of an answer that identifies the person.
const DECIDED_BY: &str = "decided_by";

#[must_use]
pub fn is_person(worker: &str) -> bool {
    PEOPLE.contains(&worker)
}

/// The outputs of a step that asks a question.
#[must_use]
pub fn answer_outputs(answer: &Value) -> Map<String, Value> {
    std::iter::once(("answer".to_string(), answer.clone())).collect()
}

impl Machine {
    pub(super) fn take_answers(&mut self, answers: Vec<Answer>) {
        let mut last = BTreeMap::new();
        for answer in answers {
            self.state.last_answer = self.state.last_answer.max(answer.id);
            last.insert(answer.step, answer);
        }
        for answer in last.into_values() {
            if self.status(answer.step) == StepStatus::Blocked {
                self.apply_answer(answer);
            }
        }
    }

    fn apply_answer(&mut self, answer: Answer) {
        let Answer { id, step, mut answer } = answer;
        let decided_by = answer.as_object_mut().and_then(|answer| answer.remove(DECIDED_BY));
        let tried = self.state.tried.entry(step).or_default();
        let kind = tried.blocked.clone().unwrap_or_default();
        let reason = answer.get("reason").and_then(Value::as_str).unwrap_or_default().to_string();
        let settle = answer.get("settle").and_then(Value::as_str);
        let mut data = Data {
            answer: Some(id),
            said: Some(answer.clone()),
            decided_by,
            attempt: tried.attempt,
            key: tried.key.clone(),
            ..Data::default()
        };
        let approved = answer.get("approved").and_then(Value::as_bool);
        let status = match (kind.as_str(), approved, answer.get("answer"), settle) {
            ("approve", Some(true), _, _) => {
                let outputs = [("approved".into(), true.into()), ("reason".into(), reason.into())];
                data.outputs = Some(outputs.into_iter().collect());
                StepStatus::Succeeded
            }
            ("approve", Some(false), _, _) => {
                data.error = Some(if reason.is_empty() {
                    "not approved".into()
                } else {
                    format!("not approved: {reason}")
                });
                StepStatus::Failed
            }
            ("answer", _, Some(value), _) => {
                data.outputs = Some(answer_outputs(value));
                StepStatus::Succeeded
            }
            ("worker", Some(false), _, _) | (_, _, _, Some("failed")) => {
                data.error =
                    Some(format!("a person gave it up{}{reason}", if reason.is_empty() { "" } else { ": " }));
                StepStatus::Failed
            }
            (_, _, _, Some("done")) => {
                let outputs = answer.get("outputs").and_then(Value::as_object);
                data.outputs = Some(outputs.cloned().unwrap_or_default());
                data.reason = Some("a person says that it is done".into());
                StepStatus::Succeeded
            }
            // The answer is what changes in the next attempt.
            ("worker", _, _, _) => {
                data.reason = Some("a person answered".into());
                data.said = Some(answer.get("answer").cloned().unwrap_or_else(|| answer.clone()));
                StepStatus::RetryPending
            }
            (_, _, _, Some("again")) => {
                data.again = true;
                StepStatus::Ready
            }
            _ => {
                data.blocked = Some(kind.clone());
                StepStatus::Blocked
            }
        };
        self.transition(step, status, data, Payload::Previous);
    }
}
