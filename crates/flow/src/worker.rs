//! Who does a step: a [`Worker`] gets an [`Order`] and gives a [`Report`]. The engine knows nothing else of it, and believes
//! nothing of a report that it can find out itself.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// What a worker says of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// It is done.
    Success,
    /// It is not done.
    Failure,
    /// A person is needed.
    Blocked,
    /// Some of it is done.
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
    /// The run.
    pub run_id: String,
    /// The directory of the run.
    pub run_directory: PathBuf,
    /// Where the work is: the workspace, or a worktree of it.
    pub workspace: PathBuf,
    /// The goal of the workflow.
    pub goal: String,
    /// The step.
    pub step_id: String,
    /// Its name for people.
    pub name: String,
    /// What is to be done.
    pub description: String,
    /// Who is asked: `Implementer`, `Command`, `Echo` …
    pub worker: String,
    /// The inputs, with references resolved.
    pub inputs: Map<String, Value>,
    /// What the outputs must look like, as a JSON Schema; empty: anything.
    pub outputs_schema: Value,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The same for every repetition of this attempt, also after a crash: what is done under it is done once.
    pub key: String,
    /// `call-n`, echoed in the report.
    pub call_id: String,
    /// The strategy: `draft`, `patch`, `refactor` …
    pub strategy_id: String,
    /// How widely lessons are looked for: 1 to 3.
    pub retrieval_stage: u8,
    /// Text of lessons and earlier attempts for this attempt; empty at the first.
    pub lessons: Vec<String>,
    /// How the attempt before this one failed; none at the first.
    pub failure_signature: Option<String>,
    /// What must hold before a success counts, each `KIND:ASSERTION`.
    pub commitments: Vec<String>,
}

/// What a worker gives back: the worker protocol of workflows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The order's call.
    pub call_id: String,
    /// What it says of its work.
    pub status: Status,
    /// One or two sentences.
    pub summary: String,
    /// Values for the steps that depend on this one.
    #[serde(default)]
    pub outputs: Map<String, Value>,
    /// Files that it made, relative to the workspace.
    #[serde(default)]
    pub artifacts: Vec<String>,
    /// `model_calls`, `tool_calls`, `elapsed_ms`, `iteration_count`, `terminate_workflow` … as it says.
    #[serde(default)]
    pub metrics: Map<String, Value>,
    /// What it would do next.
    #[serde(default)]
    pub next_actions: Vec<String>,
    /// A stable name of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_signature: Option<String>,
}

impl Report {
    /// A report about an order.
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

    /// The report of an order that could not be done, with the stable name of the failure.
    #[must_use]
    pub fn failed(order: &Order, failure_signature: &str, summary: impl Into<String>) -> Self {
        Report {
            failure_signature: Some(failure_signature.into()),
            ..Report::new(order, Status::Failure, summary)
        }
    }
}

/// Somebody who does steps.
#[async_trait]
pub trait Worker: std::fmt::Debug + Send + Sync {
    /// Whether it may change files of the workspace: then nobody else works there at the same time.
    fn writes(&self, order: &Order) -> bool;

    /// Whether its work may be done again without harm when a process died in the middle of it.
    fn repeatable(&self, order: &Order) -> bool;

    /// Whether its outputs are its inputs, so that there is nothing to do: such a step is done by being recorded.
    fn is_echo(&self) -> bool {
        false
    }

    /// Whether what it gives are facts, and not a model's words.
    fn gives_facts(&self) -> bool {
        false
    }

    /// What came of an order that an earlier process gave under the same key, when that is known.
    fn recall(&self, _order: &Order) -> Option<Report> {
        None
    }

    /// Does it, until it is done or cancelled.
    async fn work(&self, order: &Order, cancel: &CancellationToken) -> Report;
}
