//! Files of a run besides the record: the outputs of steps, and `workflow_state.json`.
//!
//! Both are copies of the record for people and programs. Echo steps have no files of their own; their outputs are in the
//! record and in `workflow_state.json`.

use super::{EngineError, step_directory};
use crate::record::{Artifact, Data, Record, StepStatus};
use crate::retry::{Attempt, Progress, call_signature};
use crate::spec::Workflow;
use crate::worker::Status;
use marvin_base::atomic::{self, WriteError};
use marvin_base::open_dir::OpenDir;
use marvin_base::redact::Redactor;
use serde_json::{Map, Value, json};
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
    let directory = step_directory(artifacts, step_id).map_err(wrap)?;
    let write = |name: &str, value: Value| {
        atomic::replace_copy(&directory.join(name), format!("{value:#}\n").as_bytes())
    };
    write("outputs.json", Value::Object(outputs.clone()))?;
    Ok(write("artifacts.json", json!(left))?)
}

/// The state of one step, as `workflow_state.json` has it.
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
    if let Some((step, reason)) = termination {
        metadata.insert(
            "termination".into(),
            json!({"triggered_by": step, "reason": reason, "skipped_steps": skipped}),
        );
    }
    let mut text = Vec::with_capacity(workflow.steps.len() * 400 + 1_000);
    let mut put = |piece: &str| text.extend_from_slice(piece.as_bytes());
    let clean = |mut value: Value| {
        redactor.value(&mut value);
        value
    };
    let head = |metadata: &Map<String, Value>| {
        let head =
            clean(json!({"workflow_id": workflow.workflow_id, "goal": workflow.goal, "metadata": metadata}));
        let head = head.to_string();
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
        let value = match state {
            None => {
                let inputs = clean(Value::Object(step.inputs()));
                json!({"step_id": step.id, "status": StepStatus::New, "inputs": inputs, "outputs": {}, "error": null, "attempts": []})
            }
            // An echo step has no recorded attempt: it is done by its transition.
            Some(state) if state.is_echo() => {
                let attempts = [echoed(workflow, step, &state.outputs)];
                let same = clean(Value::Object(state.outputs));
                json!({"step_id": step.id, "status": state.status, "inputs": same, "outputs": same, "error": null, "attempts": attempts})
            }
            // Reports were redacted before they were recorded; the specification was not.
            Some(state) => {
                let inputs = clean(Value::Object(state.inputs.unwrap_or_else(|| step.inputs())));
                json!({
                    "step_id": step.id, "status": state.status, "inputs": inputs, "outputs": state.outputs,
                    "error": state.error, "attempts": state.attempts,
                })
            }
        };
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
