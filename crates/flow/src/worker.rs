//! Workers do steps: a [`Worker`] gets an [`Order`] and returns a [`Report`]. The engine measures for itself whatever it can
//! instead of believing the report.

use crate::spec::Poll;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The status that a worker reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    Success,
    Failure,
    /// A person is needed.
    Blocked,
    Partial,
}

impl Status {
    /// The word for it in the record.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Status::Success => "SUCCESS",
            Status::Failure => "FAILURE",
            Status::Blocked => "BLOCKED",
            Status::Partial => "PARTIAL",
        }
    }
}

/// One attempt at one step.
#[derive(Debug, Clone)]
pub struct Order {
    pub run_id: String,
    pub run_directory: PathBuf,
    /// The workspace, or a worktree of it.
    pub workspace: PathBuf,
    /// The goal of the workflow.
    pub goal: String,
    pub step_id: String,
    /// The step's name for people.
    pub name: String,
    pub description: String,
    /// `Implementer`, `Command`, `Echo` …
    pub worker: String,
    /// Resolved inputs.
    pub inputs: Map<String, Value>,
    /// The JSON Schema of the outputs; empty: anything.
    pub outputs_schema: Value,
    /// Counted from 1.
    pub attempt: u32,
    /// The idempotency key of the attempt, also after a crash.
    pub key: String,
    /// `call-n`, echoed in the report.
    pub call_id: String,
    /// `draft`, `patch`, `refactor` …
    pub strategy_id: String,
    /// How broadly lessons are searched: 1 to 3.
    pub retrieval_stage: u8,
    /// Lessons of earlier attempts.
    pub lessons: Vec<String>,
    /// The failure of the previous attempt.
    pub failure_signature: Option<String>,
    /// What must hold before a success counts, each `KIND:ASSERTION`.
    pub commitments: Vec<String>,
    /// How its command is polled.
    pub poll: Option<Poll>,
    /// Whether a person allowed what the gate asked about.
    pub is_approved: bool,
}

/// The report of a worker: the worker protocol of workflows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The call id of the order.
    pub call_id: String,
    pub status: Status,
    /// One or two sentences.
    pub summary: String,
    /// Values for the steps that depend on this one.
    #[serde(default)]
    pub outputs: Map<String, Value>,
    /// Created files, relative to the workspace.
    #[serde(default)]
    pub artifacts: Vec<String>,
    /// `model_calls`, `tool_calls`, `elapsed_ms`, `iteration_count`, `terminate_workflow` …
    #[serde(default)]
    pub metrics: Map<String, Value>,
    #[serde(default)]
    pub next_actions: Vec<String>,
    /// The stable name of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_signature: Option<String>,
}

impl Report {
    #[must_use]
    pub fn new(order: &Order, status: Status, summary: impl Into<String>) -> Self {
        Report {
            call_id: order.call_id.clone(),
            status,
            summary: summary.into(),
            outputs: Map::new(),
            artifacts: Vec::new(),
            metrics: Map::new(),
            next_actions: Vec::new(),
            failure_signature: None,
        }
    }

    /// A report of failure.
    #[must_use]
    pub fn failed(order: &Order, failure_signature: &str, summary: impl Into<String>) -> Self {
        Report {
            failure_signature: Some(failure_signature.into()),
            ..Report::new(order, Status::Failure, summary)
        }
    }
}

/// Workers by name.
pub type Workers = BTreeMap<String, Arc<dyn Worker>>;

/// Does steps of workflows.
#[async_trait]
pub trait Worker: std::fmt::Debug + Send + Sync {
    /// Whether it may change files in the workspace: then it runs alone there.
    fn writes(&self, order: &Order) -> bool;

    /// Whether repeating its work after a crash is harmless.
    fn repeatable(&self, order: &Order) -> bool;

    /// Whether its outputs are its inputs: then a step is done by its transition.
    fn is_echo(&self) -> bool {
        false
    }

    /// Whether its outputs are facts and not a model's words.
    fn gives_facts(&self) -> bool {
        false
    }

    /// The recorded result of an order of an earlier process with the same key.
    fn recall(&self, _order: &Order) -> Option<Report> {
        None
    }

    /// Works until the order is done or cancelled.
    async fn work(&self, order: &Order, cancel: &CancellationToken) -> Report;
}
