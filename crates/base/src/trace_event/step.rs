//! Events of workflows and of the agents that work on their steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The beginning of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowOpened {
    /// The workflow's id.
    pub workflow_id: String,
    /// Its goal, shortened.
    pub goal: String,
    /// The number of steps.
    pub steps: usize,
    /// How many steps may run at once.
    pub concurrency: usize,
    /// How commits are forced to the disk.
    pub sync: String,
    /// The run's id.
    pub run_id: String,
}

/// A transition of a workflow step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StepEvent {
    /// The step.
    pub step_id: String,
    /// Its status.
    pub status: String,
    /// The number of the transition in the workflow's record.
    pub record: i64,
    /// The attempt.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// The id of the call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call_id: String,
    /// The worker.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub worker: String,
    /// The strategy.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub strategy_id: String,
    /// How widely lessons are looked for: 1 to 3.
    #[serde(skip_serializing_if = "is_zero")]
    pub retrieval_stage: u8,
    /// The hash of the call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call_signature: String,
    /// The worker's summary, shortened.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The key of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_signature: Option<String>,
    /// What the attempt changed, for the retry gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_metrics: Option<Value>,
    /// Files that it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Value>,
    /// Why it failed, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it is tried again or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The key of that reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The lesson of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lesson: Option<String>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// The person whose decision this is: who, when and from where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Value>,
}

/// An agent's work on a step: its facts when it begins, and its outcome when it is over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkerEvent {
    /// The phase of a pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The step.
    pub step_id: String,
    /// The agent's role.
    pub worker_role: String,
    /// The id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The strategy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy_id: Option<String>,
    /// How widely lessons are looked for: 1 to 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval_stage: Option<u8>,
    /// The hash of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_signature: Option<String>,
    /// The number of lessons in its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lessons: Option<usize>,
    /// The number of its commitments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commitments: Option<usize>,
    /// Whether it may only read.
    pub readonly: bool,
    /// Its ticket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// How it ended.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<WorkerOutcome>,
}

/// How an agent's work on a step ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkerOutcome {
    /// The status.
    pub status: String,
    /// The summary, shortened.
    pub summary: String,
    /// The key of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_signature: Option<String>,
    /// What it counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Value>,
    /// Files that it changed and should not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tampered: Option<Vec<String>>,
    /// Files that it changed outside its scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Vec<String>>,
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}
