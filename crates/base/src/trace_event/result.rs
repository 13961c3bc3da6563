//! The last event of a run.

use crate::run_record::CostReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RunResult {
    /// Of a turn or a pipeline.
    Turn(Box<TurnResult>),
    /// Of a workflow.
    Workflow(Box<WorkflowResult>),
}

/// How a turn or a pipeline ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnResult {
    /// The status.
    pub status: String,
    /// The key of the reason.
    pub reason: String,
    /// The exit code of the process.
    pub exit_code: u8,
    /// The answer.
    pub text: String,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// The key of the failure.
    pub failure_signature: Option<String>,
    /// Data that the reply protocol delivered.
    pub data: Value,
    /// What was verified.
    pub verification: Value,
    /// What it cost, with its sub-agents.
    pub cost: CostReport,
    /// Requests to the model.
    pub rounds: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// The run's id; none where no run could be created.
    pub run_id: Option<String>,
    /// The run's directory.
    pub run_path: Option<String>,
    /// Paths that programs changed and should not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tampered: Vec<String>,
    /// The answer as the response schema asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Value>,
}

/// How a workflow ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowResult {
    /// The run's id.
    pub run_id: String,
    /// The run's directory.
    pub run_path: String,
    /// The status.
    pub status: String,
    /// How many steps have which status.
    pub steps: BTreeMap<String, usize>,
    /// How long it took.
    pub elapsed_ms: u64,
    /// Commits of the record.
    pub commits: u64,
    /// Steps that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedStep>,
    /// Steps that wait for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingStep>,
    /// What it cost, with its sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostReport>,
    /// The step that ended it early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination: Option<Termination>,
}

/// A step that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedStep {
    /// The step.
    pub step_id: String,
    /// Why.
    pub error: String,
}

/// A step that waits for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingStep {
    /// The step.
    pub step_id: String,
    /// What it waits for.
    pub kind: Option<String>,
    /// The question.
    pub text: String,
}

/// The step that ended a workflow early.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Termination {
    /// The step.
    pub triggered_by: String,
    /// Why.
    pub reason: String,
}
