//! One attempt at a step: what is asked, and what came of it.

use crate::compose::PromptExtra;
use crate::launch::ModelChoice;
use crate::outcome::Outcome;
use crate::roles::Role;
use crate::verification::VerificationResult;
use marvin_gate::{Access, Duty};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// One attempt at a step.
#[derive(Debug, Clone)]
pub struct Job {
    /// What it is written down under: the same for every repetition of the same attempt.
    pub key: String,
    /// Who does it.
    pub role: Role,
    /// The step.
    pub step: String,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The call that the report echoes.
    pub call_id: String,
    /// What is to be done, as the worker reads it.
    pub task: String,
    /// Where, if not in the workspace of the run.
    pub workspace: Option<PathBuf>,
    /// Whether it may only look. Otherwise it has the rights of whoever runs the crew.
    pub readonly: bool,
    /// What must hold before a success counts, each `KIND:ASSERTION`.
    pub commitments: Vec<String>,
    /// What the outputs of a success must look like.
    pub outputs_schema: Option<Value>,
    /// What others bring into the prompt: lessons.
    pub extras: Vec<PromptExtra>,
    /// What it may do besides, and with which model.
    pub rights: Rights,
}

/// What an attempt may do, where that is not what whoever runs the crew may do.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    /// What it may write.
    pub access: Option<Access>,
    /// The ticket that it works on.
    pub duty: Option<Arc<Duty>>,
    /// The only tools that it is offered.
    pub tools: Option<Vec<String>>,
    /// Which model.
    pub model: ModelChoice,
}

impl Job {
    /// What every event of it says.
    pub(super) fn about(&self) -> Map<String, Value> {
        let mut about = Map::new();
        about.insert("step_id".into(), self.step.clone().into());
        about.insert("worker_role".into(), self.role.name().into());
        about.insert("call_id".into(), self.call_id.clone().into());
        about.insert("attempt".into(), self.attempt.into());
        about
    }
}

/// What came of an attempt, with everything counted by the shell.
#[derive(Debug)]
pub struct JobResult {
    /// How the turn ended.
    pub outcome: Outcome,
    /// Requests to the model.
    pub model_calls: u64,
    /// Calls of tools.
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
        (self.tests, self.open) = figures(proved);
    }
}

/// Tests that passed and failed in a verification, and the ids of what does not hold.
#[must_use]
pub(super) fn figures(proved: &VerificationResult) -> (Option<(u64, u64)>, Vec<String>) {
    let none = Vec::new();
    let all = proved.report.get("commitments").and_then(Value::as_array).unwrap_or(&none);
    let mut tests = None;
    let mut open = Vec::new();
    for one in all {
        let number = |key: &str| one.pointer(&format!("/tests/{key}")).and_then(Value::as_u64);
        if let (Some(passed), Some(failed)) = (number("passed"), number("failed")) {
            let (before, also) = tests.unwrap_or((0, 0));
            tests = Some((before + passed, also + failed));
        }
        if one.get("status") != Some(&json!("passed")) {
            open.extend(one.get("id").and_then(Value::as_str).map(str::to_string));
        }
    }
    open.sort();
    (tests, open)
}
