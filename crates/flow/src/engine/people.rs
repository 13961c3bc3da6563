//! Steps for people: `approve`, `answer`, and other steps that only a person can settle.
//!
//! Such a step is BLOCKED and holds no resources. A person's decision is written to the record at once, by any process; the
//! run applies it while it runs, or when it is resumed.

use super::EngineError;
use super::dispatch::Dispatcher;
use crate::record::{Data, Record, StepStatus};
use crate::spec::Step;
use marvin_base::person::DecidedBy;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Names of workers that represent a person.
pub(super) const PEOPLE: [&str; 2] = ["approve", "answer"];

/// The key of an answer that identifies the person.
const DECIDED_BY: &str = "decided_by";

#[must_use]
pub fn is_person(worker: &str) -> bool {
    PEOPLE.contains(&worker)
}

/// A person's decision about a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum PersonDecision {
    #[serde(rename = "answer")]
    Answer(Value),
    #[serde(untagged)]
    Approve {
        #[serde(rename = "approved")]
        yes: bool,
        reason: String,
    },
    /// The result of a step whose result is not known.
    #[serde(untagged)]
    Settle {
        /// `done`, `failed` or `again`.
        #[serde(rename = "settle")]
        word: String,
        /// The outputs of a step that is done.
        outputs: Map<String, Value>,
    },
}

/// A decision in the record.
#[derive(Serialize)]
struct RecordedDecision<'a> {
    #[serde(flatten)]
    decision: &'a PersonDecision,
    decided_by: &'a DecidedBy,
}

/// The question that a person is asked.
pub(super) fn question(step: &Step, inputs: &Map<String, Value>) -> String {
    let question =
        ["question", "text", "prompt"].iter().find_map(|key| inputs.get(*key)).and_then(Value::as_str);
    match question {
        Some(question) => question.to_string(),
        None if step.description.is_empty() => step.name().to_string(),
        None => step.description.to_string(),
    }
}

/// Records a person's decision about a step.
///
/// # Errors
/// When the step does not exist, does not wait for a person, or needs another decision.
pub fn record_decision(
    directory: &Path,
    step_id: &str,
    decision: &PersonDecision,
    by: &DecidedBy,
) -> Result<(), EngineError> {
    let (record, workflow, folded) = Record::look(directory)?;
    let Some(at) = workflow.find(step_id) else {
        return Err(EngineError::decision(format!("this run has no step `{step_id}`"), None));
    };
    let step = u32::try_from(at).unwrap_or(u32::MAX);
    let status = folded.status.get(at).copied().unwrap_or(StepStatus::New);
    if status != StepStatus::Blocked {
        let text = format!("step `{step_id}` does not wait for a person: it is {}", status.word());
        return Err(EngineError::decision(text, Some("`marvin inspect-run` shows which steps do")));
    }
    let kind = folded.tried.get(&step).and_then(|tried| tried.blocked.clone()).unwrap_or_default();
    let fits = match decision {
        PersonDecision::Approve { .. } => kind == "approve" || kind == "worker",
        PersonDecision::Answer(_) => kind == "answer" || kind == "worker",
        PersonDecision::Settle { .. } => kind != "approve" && kind != "answer",
    };
    if !fits {
        let how = match kind.as_str() {
            "approve" => "marvin workflow approve",
            "answer" => "marvin workflow answer",
            _ => "marvin workflow settle --as done|failed|again",
        };
        return Err(EngineError::decision(format!("step `{step_id}` needs another command"), Some(how)));
    }
    if let (PersonDecision::Answer(value), "answer") = (decision, kind.as_str())
        && let Some(schema) = workflow.steps.get(at).and_then(|step| step.outputs_schema.as_ref())
        && let Some(why) = schema.complaint(&Value::Object(answer_outputs(value)))
    {
        let text = format!("the answer does not match the step's outputs_schema: {why}");
        return Err(EngineError::decision(text, None));
    }
    if let (PersonDecision::Settle { word, outputs }, Some(schema)) =
        (decision, workflow.steps.get(at).and_then(|step| step.outputs_schema.as_ref()))
        && word == "done"
        && let Some(why) = schema.complaint(&Value::Object(outputs.clone()))
    {
        let text = format!("the outputs do not match the step's outputs_schema: {why}");
        return Err(EngineError::decision(text, Some("give its outputs with --outputs")));
    }
    let decision = RecordedDecision { decision, decided_by: by };
    // The run may have applied an earlier decision meanwhile.
    if !record.answer(step, &serde_json::to_value(decision).unwrap_or_default())? {
        let text = format!("step `{step_id}` does not wait for a person any more");
        return Err(EngineError::decision(text, None));
    }
    Ok(())
}

impl Dispatcher {
    /// Applies the answers that people gave since the last call. Of several about one step, the last counts.
    pub(super) fn take_answers(&mut self) -> Result<(), EngineError> {
        let mut last = BTreeMap::new();
        for answer in self.record.answers_after(self.last_answer)? {
            self.last_answer = answer.id;
            last.insert(answer.step, answer);
        }
        for answer in last.into_values() {
            if self.status(answer.step) == StepStatus::Blocked {
                self.apply_answer(answer.step, answer.id, &answer.answer)?;
            }
        }
        Ok(())
    }

    fn apply_answer(&mut self, step: u32, id: i64, answer: &Value) -> Result<(), EngineError> {
        let before = self.last_transition(step)?;
        let mut answer = self.redact(answer);
        let decided_by = answer.as_object_mut().and_then(|answer| answer.remove(DECIDED_BY));
        let answer = &answer;
        let kind = before.blocked.clone().unwrap_or_default();
        let reason = answer.get("reason").and_then(Value::as_str).unwrap_or_default().to_string();
        let settle = answer.get("settle").and_then(Value::as_str);
        let mut data = Data {
            answer: Some(id),
            said: Some(answer.clone()),
            decided_by,
            inputs: before.inputs.clone(),
            attempt: before.attempt,
            key: before.key.clone(),
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
                data.outputs = Some(answer.get("outputs").map(object).unwrap_or_default());
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
                data.error = before.error.clone();
                StepStatus::Blocked
            }
        };
        self.transition(step, status, &data)?;
        let tried = self.tried.entry(step).or_default();
        tried.blocked = data.blocked;
        if status == StepStatus::RetryPending {
            tried.said = data.said;
        }
        if status == StepStatus::Ready {
            self.ready.insert(step);
        }
        Ok(())
    }
}

/// The outputs of a step that asks a question.
fn answer_outputs(answer: &Value) -> Map<String, Value> {
    std::iter::once(("answer".to_string(), answer.clone())).collect()
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
