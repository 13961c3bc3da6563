//! Steps for people: `approve` and `answer`, and whatever else only a person can settle.
//!
//! Such a step is BLOCKED and holds nothing. What a person says is kept in the record at once, by whatever process they say it
//! with; the run hears it while it goes, or when it is resumed.

use super::EngineError;
use super::dispatch::Dispatcher;
use crate::record::{Data, Record, StepStatus};
use crate::spec::Step;
use marvin_base::person::DecidedBy;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The workers that are people.
pub(super) const PEOPLE: [&str; 2] = ["approve", "answer"];

/// The key of an answer that names the person.
const DECIDED_BY: &str = "decided_by";

/// Is this worker a person?
#[must_use]
pub fn is_person(worker: &str) -> bool {
    PEOPLE.contains(&worker)
}

/// What a person can say of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum PersonDecision {
    /// Yes or no, and why.
    Approve {
        /// Yes.
        yes: bool,
        /// Why.
        reason: String,
    },
    /// An answer.
    Answer(Value),
    /// What became of a step that nobody knows of.
    Settle {
        /// `done`, `failed` or `again`.
        word: String,
        /// What it gave, when it is done.
        outputs: Map<String, Value>,
    },
}

impl PersonDecision {
    fn json(&self, by: &DecidedBy) -> Value {
        let mut said = match self {
            PersonDecision::Approve { yes, reason } => json!({"approved": yes, "reason": reason}),
            PersonDecision::Answer(value) => json!({ "answer": value }),
            PersonDecision::Settle { word, outputs } => json!({"settle": word, "outputs": outputs}),
        };
        if let Value::Object(said) = &mut said {
            said.insert(DECIDED_BY.into(), json!(by));
        }
        said
    }
}

/// What a person is asked.
pub(super) fn question(step: &Step, inputs: &Map<String, Value>) -> String {
    let asked =
        ["question", "text", "prompt"].iter().find_map(|key| inputs.get(*key)).and_then(Value::as_str);
    match asked {
        Some(asked) => asked.to_string(),
        None if step.description.is_empty() => step.name().to_string(),
        None => step.description.to_string(),
    }
}

/// Keeps what a person says of a step of a run.
///
/// # Errors
/// When there is no such step, nobody asked, or the answer does not fit.
pub fn say(
    directory: &Path,
    step_id: &str,
    said: &PersonDecision,
    by: &DecidedBy,
) -> Result<(), EngineError> {
    let (record, workflow, folded) = Record::look(directory)?;
    let Some(at) = workflow.find(step_id) else {
        return Err(EngineError::Said(format!("there is no step `{step_id}` in this run")));
    };
    let step = u32::try_from(at).unwrap_or(u32::MAX);
    let status = folded.status.get(at).copied().unwrap_or(StepStatus::New);
    if status != StepStatus::Blocked {
        return Err(EngineError::Said(format!(
            "step `{step_id}` waits for nobody: it is {}\n  hint: `marvin inspect-run` shows which steps do",
            status.word()
        )));
    }
    let kind = folded.tried.get(&step).and_then(|tried| tried.blocked.clone()).unwrap_or_default();
    let fits = match said {
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
        return Err(EngineError::Said(format!(
            "step `{step_id}` is asked about in another way\n  hint: {how}"
        )));
    }
    if let (PersonDecision::Answer(value), "answer") = (said, kind.as_str())
        && let Some(schema) = workflow.steps.get(at).and_then(|step| step.outputs_schema.as_ref())
        && let Some(why) = schema.complaint(&json!({ "answer": value }))
    {
        return Err(EngineError::Said(format!("the answer does not fit the step's outputs_schema: {why}")));
    }
    if let (PersonDecision::Settle { word, outputs }, Some(schema)) =
        (said, workflow.steps.get(at).and_then(|step| step.outputs_schema.as_ref()))
        && word == "done"
        && let Some(why) = schema.complaint(&Value::Object(outputs.clone()))
    {
        let hint = "say what it gave with --outputs";
        return Err(EngineError::Said(format!(
            "the outputs do not fit the step's outputs_schema: {why}\n  hint: {hint}"
        )));
    }
    Ok(record.answer(step, &said.json(by))?)
}

impl Dispatcher {
    /// Hears what people said.
    pub(super) fn listen(&mut self) -> Result<(), EngineError> {
        for answer in self.record.answers_after(self.heard)? {
            self.heard = answer.id;
            if self.status(answer.step) == StepStatus::Blocked {
                self.hear(answer.step, answer.id, &answer.answer)?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, step: u32, id: i64, said: &Value) -> Result<(), EngineError> {
        let before = self.last_of(step)?;
        let mut said = self.clean(said);
        let decided_by = said.as_object_mut().and_then(|said| said.remove(DECIDED_BY));
        let said = &said;
        let kind = before.blocked.clone().unwrap_or_default();
        let reason = said.get("reason").and_then(Value::as_str).unwrap_or_default().to_string();
        let settle = said.get("settle").and_then(Value::as_str);
        let mut data = Data {
            answer: Some(id),
            said: Some(said.clone()),
            decided_by,
            inputs: before.inputs.clone(),
            attempt: before.attempt,
            key: before.key.clone(),
            ..Data::default()
        };
        let approved = said.get("approved").and_then(Value::as_bool);
        let status = match (kind.as_str(), approved, said.get("answer"), settle) {
            ("approve", Some(true), _, _) => {
                data.outputs = Some(object(&json!({"approved": true, "reason": reason})));
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
                data.outputs = Some(object(&json!({ "answer": value })));
                StepStatus::Succeeded
            }
            ("worker", Some(false), _, _) | (_, _, _, Some("failed")) => {
                data.error =
                    Some(format!("a person gave it up{}{reason}", if reason.is_empty() { "" } else { ": " }));
                StepStatus::Failed
            }
            (_, _, _, Some("done")) => {
                data.outputs = Some(said.get("outputs").map(object).unwrap_or_default());
                data.reason = Some("a person says that it is done".into());
                StepStatus::Succeeded
            }
            // What the person said is what is new.
            ("worker", _, _, _) => {
                data.reason = Some("a person answered".into());
                data.said = Some(said.get("answer").cloned().unwrap_or_else(|| said.clone()));
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
        self.become_(step, status, &data)?;
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

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
