//! Files of a run besides the record: the outputs of steps, and `workflow_state.json`.
//!
//! Both are copies of the record for people and programs. Echo steps have no files of their own; their outputs are in the
//! record and in `workflow_state.json`.

use super::EngineError;
use crate::record::{Artifact, Data, Record, StepStatus};
use crate::retry::{Attempt, Progress, call_signature};
use crate::spec::Workflow;
use crate::worker::Status;
use marvin_base::atomic::{self, WriteError};
use marvin_base::open_dir::OpenDir;
use marvin_base::redact::Redactor;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;

/// Writes the outputs and artifacts of a step.
pub(super) fn write_step(
    artifacts: &OpenDir,
    step_id: &str,
    outputs: &Map<String, Value>,
    left: &[Artifact],
) -> Result<(), EngineError> {
    let wrap = |source| WriteError {
        path: artifacts.path().join("steps").join(step_id).display().to_string(),
        source,
    };
    let directory = artifacts.place().join("steps").join(step_id);
    std::fs::create_dir_all(&directory).map_err(wrap)?;
    let write = |name: &str, text: serde_json::Result<String>| {
        let text = text.unwrap_or_default() + "\n";
        atomic::replace_copy(&directory.join(name), text.as_bytes())
    };
    write("outputs.json", serde_json::to_string_pretty(outputs))?;
    Ok(write("artifacts.json", serde_json::to_string_pretty(left))?)
}

/// The folded transitions of a step.
struct StepState {
    status: StepStatus,
    inputs: Option<Map<String, Value>>,
    outputs: Map<String, Value>,
    error: Option<String>,
    attempts: Vec<Attempt>,
}

impl StepState {
    fn is_echo(&self) -> bool {
        self.attempts.is_empty() && self.inputs.is_none() && self.status == StepStatus::Succeeded
    }
}

/// The early end of a workflow in its metadata.
#[derive(Serialize)]
struct TerminationEntry<'a> {
    triggered_by: &'a str,
    reason: &'a str,
    skipped_steps: Vec<&'a str>,
}

/// A step in `workflow_state.json`.
#[derive(Serialize)]
struct StepEntry<'a> {
    step_id: &'a str,
    status: StepStatus,
    inputs: Value,
    outputs: Value,
    error: Option<String>,
    attempts: Vec<Attempt>,
}

/// The content of `workflow_state.json`: the specification and the state of every step.
///
/// # Errors
/// When the record cannot be read.
pub fn state(record: &Record, workflow: &Workflow, redactor: &Redactor) -> Result<Vec<u8>, EngineError> {
    let mut steps: Vec<Option<StepState>> = Vec::new();
    steps.resize_with(workflow.steps.len(), || None);
    let mut termination: Option<(String, String)> = None;
    let mut skipped: Vec<&str> = Vec::new();
    record.each(&mut |transition| {
        let Some(slot) = steps.get_mut(transition.step as usize) else { return };
        let data = Data::parse(transition.data);
        let state = slot.get_or_insert_with(|| StepState {
            status: StepStatus::New,
            inputs: None,
            outputs: Map::new(),
            error: None,
            attempts: Vec::new(),
        });
        state.status = transition.status;
        state.error = data.error;
        state.outputs = data.outputs.unwrap_or_default();
        state.attempts.extend(data.over);
        if data.inputs.is_some() {
            state.inputs = data.inputs;
        }
        let id = workflow.steps.get(transition.step as usize).map_or("", |step| &*step.id);
        if let Some(reason) = data.terminates {
            termination = Some((id.to_string(), reason));
        }
        if transition.status == StepStatus::Skipped {
            skipped.push(id);
        }
    })?;
    let mut metadata = workflow.metadata.clone();
    if let Some((triggered_by, reason)) = &termination {
        let termination = TerminationEntry { triggered_by, reason, skipped_steps: skipped };
        metadata.insert("termination".into(), serde_json::to_value(termination).unwrap_or_default());
    }
    let mut text = Vec::with_capacity(workflow.steps.len() * 400 + 1_000);
    let mut put = |piece: &str| text.extend_from_slice(piece.as_bytes());
    let clean = |mut value: Value| {
        redactor.value(&mut value);
        value
    };
    let head = |metadata: &Map<String, Value>| {
        let head = serde_json::to_value(workflow.head(metadata)).unwrap_or_default();
        let head = clean(head).to_string();
        head.strip_suffix('}').unwrap_or(&head).to_string()
    };
    put(&format!("{{\"spec\":{},\"steps\":[", head(&workflow.metadata)));
    for (at, step) in workflow.steps.iter().enumerate() {
        put(if at == 0 { "\n" } else { ",\n" });
        put(&clean(step.to_json(workflow)).to_string());
    }
    put(&format!("]}},\n\"state\":{},\"steps\":{{", head(&metadata)));
    for (at, (step, state)) in workflow.steps.iter().zip(steps).enumerate() {
        put(if at == 0 { "\n" } else { ",\n" });
        let clean = |inputs: Map<String, Value>| clean(Value::Object(inputs));
        let mut entry = StepEntry {
            step_id: &step.id,
            status: StepStatus::New,
            inputs: Value::Null,
            outputs: Value::Object(Map::new()),
            error: None,
            attempts: Vec::new(),
        };
        match state {
            None => entry.inputs = clean(step.inputs()),
            // An echo step has no recorded attempt: it is done by its transition.
            Some(state) if state.is_echo() => {
                entry.attempts.push(echoed(workflow, step, &state.outputs));
                entry.status = state.status;
                entry.outputs = clean(state.outputs);
                entry.inputs = entry.outputs.clone();
            }
            // Reports were redacted before they were recorded; the specification was not.
            Some(state) => {
                entry.inputs = clean(state.inputs.unwrap_or_else(|| step.inputs()));
                entry.status = state.status;
                entry.outputs = Value::Object(state.outputs);
                entry.error = state.error;
                entry.attempts = state.attempts;
            }
        }
        let value = serde_json::to_string(&entry).unwrap_or_default();
        put(&format!("{}:{value}", Value::from(&*step.id)));
    }
    put("}}}\n");
    Ok(text)
}

fn echoed(workflow: &Workflow, step: &crate::spec::Step, inputs: &Map<String, Value>) -> Attempt {
    Attempt {
        attempt_id: 1,
        status: Status::Success,
        call_signature: call_signature(&workflow.goal, &step.id, &step.worker, inputs, "draft", 1),
        worker_type: step.worker.to_string(),
        strategy_id: "draft".into(),
        retrieval_stage: 1,
        summary: String::new(),
        failure_signature: None,
        progress: Progress::default(),
        artifacts: Vec::new(),
    }
}

/// Writes `workflow_state.json`.
pub(super) fn write_state(
    directory: &Path,
    record: &Record,
    workflow: &Workflow,
    redactor: &Redactor,
) -> Result<(), EngineError> {
    let text = state(record, workflow, redactor)?;
    Ok(atomic::replace(&directory.join("workflow_state.json"), &text)?)
}
