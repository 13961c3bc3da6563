//! One attempt at a step, and its result.

use crate::compose::PromptExtra;
use crate::launch::ModelChoice;
use crate::outcome::Outcome;
use crate::roles::Role;
use crate::verification::VerificationResult;
use marvin_base::signature;
use marvin_gate::{Access, Duty};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// One attempt at a step.
#[derive(Debug, Clone)]
pub struct Job {
    /// Key of its record: the same for every repetition of the same attempt.
    pub key: String,
    pub role: Role,
    pub step: String,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The call that the report echoes.
    pub call_id: String,
    /// The task, as the worker reads it.
    pub task: String,
    /// Its workspace, if not that of the run.
    pub workspace: Option<PathBuf>,
    /// Whether it may only read. Otherwise it has the rights of the run.
    pub readonly: bool,
    /// Commitments that must hold before a success counts, each `KIND:ASSERTION`.
    pub commitments: Vec<String>,
    /// JSON schema of the outputs of a success.
    pub outputs_schema: Option<Value>,
    /// Additions to the prompt: lessons.
    pub extras: Vec<PromptExtra>,
    pub rights: Rights,
}

/// Rights of an attempt, where they differ from those of the run.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    pub access: Option<Access>,
    pub duty: Option<Arc<Duty>>,
    /// The only tools that it is offered.
    pub tools: Option<Vec<String>>,
    pub model: ModelChoice,
    /// Whether its calls are logged beside its record as those of a sub-agent are.
    pub logs_calls: bool,
}

impl Job {
    /// Fields of every event of the attempt.
    pub(super) fn about(&self) -> Map<String, Value> {
        let mut about = Map::new();
        about.insert("step_id".into(), self.step.clone().into());
        about.insert("worker_role".into(), self.role.name().into());
        about.insert("call_id".into(), self.call_id.clone().into());
        about.insert("attempt".into(), self.attempt.into());
        about
    }
}

/// Result of an attempt, with figures counted by the shell.
#[derive(Debug)]
pub struct JobResult {
    pub outcome: Outcome,
    pub model_calls: u64,
    pub tool_calls: u64,
    /// Milliseconds, of this process.
    pub elapsed_ms: u64,
    /// Tests that passed and that failed when they were last run by the shell.
    pub tests: Option<(u64, u64)>,
    /// Commitments that do not hold, by id.
    pub open: Vec<String>,
}

impl JobResult {
    pub(super) fn from_outcome(outcome: Outcome, before: (u64, u64)) -> Self {
        let last = outcome.verification.last().cloned();
        let mut done = JobResult {
            model_calls: before.1 + outcome.rounds as u64,
            tool_calls: before.0 + outcome.calls as u64,
            elapsed_ms: 0,
            tests: None,
            open: Vec::new(),
            outcome,
        };
        if let Some(proved) = last {
            done.count(&proved);
        }
        done
    }

    /// Takes the figures of a verification.
    pub(super) fn count(&mut self, proved: &VerificationResult) {
        (self.tests, self.open) = proved.figures();
    }
}

/// File name of a key: its plain characters, and enough of its signature to tell it apart.
pub(crate) fn file_name(key: &str) -> String {
    let plain =
        |char: char| if char.is_ascii_alphanumeric() || char == '-' || char == '_' { char } else { '-' };
    let words: String = key.chars().take(60).map(plain).collect();
    let signature = signature::hash_bytes(key.as_bytes());
    format!("worker-{words}-{}", signature.get(..12).unwrap_or_default())
}
