//! Steps for people: `approve`, `answer`, and other steps that only a person can settle.
//!
//! Such a step is BLOCKED and holds no resources. A person's decision is written to the record at once, by any process; the
//! machine applies it while the run runs, or when it is resumed.

use super::EngineError;
use crate::machine::answer_outputs;
use crate::record::{Record, StepStatus};
use crate::spec::Step;
use marvin_base::person::DecidedBy;
use marvin_base::run_record::RunRecord;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;

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
pub(crate) fn question(step: &Step, inputs: &Map<String, Value>) -> String {
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
    // Workers never read the copy of such a run.
    if RunRecord::read(directory).is_ok_and(|record| record.workflow.is_some_and(|run| run.fleet.is_some())) {
        let text = "other machines carry this run out".to_string();
        return Err(EngineError::decision(text, Some("use `marvin workflow approve`, `answer` or `settle`")));
    }
    let (record, step, decision) = check(directory, step_id, decision, by)?;
    // The run may have applied an earlier decision meanwhile.
    if !record.answer(step, &decision)? {
        let text = format!("step `{step_id}` does not wait for a person any more");
        return Err(EngineError::decision(text, None));
    }
    Ok(())
}

/// The index of the step and the decision for the machine, of a run that other machines carry out.
///
/// # Errors
/// When the step does not exist, does not wait for a person, or needs another decision.
pub fn check_decision(
    directory: &Path,
    step_id: &str,
    decision: &PersonDecision,
    by: &DecidedBy,
) -> Result<(u32, Value), EngineError> {
    check(directory, step_id, decision, by).map(|(_, step, decision)| (step, decision))
}

fn check(
    directory: &Path,
    step_id: &str,
    decision: &PersonDecision,
    by: &DecidedBy,
) -> Result<(Record, u32, Value), EngineError> {
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
    Ok((record, step, serde_json::to_value(decision).unwrap_or_default()))
}
