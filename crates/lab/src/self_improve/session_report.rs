//! `session.json`: one session and its attempts, as they are recorded and compared.

use super::evaluation::Evaluation;
use super::workflow::StepEvaluation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The changes of a session, beside its `session.json`.
pub(super) const PATCH_FILE: &str = "changes.patch";
/// Criteria of the rubric that are a yes or no; the last one is a count.
const CRITERIA: usize = 4;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum SessionStatus {
    #[default]
    Running,
    Retrying,
    Completed,
    Failed,
    Blocked,
}

/// `session.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionReport {
    pub version: u32,
    pub session_id: String,
    pub status: SessionStatus,
    pub provider: String,
    pub strategy: String,
    pub workspace_root: String,
    pub run_root: String,
    pub workflow_ok: bool,
    pub workflow_status: String,
    pub workflow_error: Option<String>,
    pub evaluation: Option<Evaluation>,
    pub model_calls: u64,
    pub tool_calls: u64,
    pub changed_files: Vec<String>,
    pub verification_ok: bool,
    pub verification_reason: String,
    pub clarifying_questions: Vec<String>,
    pub entrypoint_attempts: u32,
    pub attempts: Vec<AttemptReport>,
    pub error: Option<String>,
    pub score: [u64; 5],
    /// The commit with its changes.
    pub candidate: Option<String>,
}

impl SessionReport {
    /// Its id, with these facts about it where they are known.
    #[must_use]
    pub fn title(&self, facts: &[&str]) -> String {
        let known: Vec<&str> = facts.iter().copied().filter(|fact| !fact.is_empty()).collect();
        match known.is_empty() {
            true => self.session_id.clone(),
            false => format!("{} ({})", self.session_id, known.join(", ")),
        }
    }

    /// Model calls and tool calls.
    #[must_use]
    pub fn energy(&self) -> u64 {
        self.model_calls + self.tool_calls
    }

    /// The number of criteria that are met, of those that are a yes or no.
    #[must_use]
    pub fn criteria_met(&self) -> u64 {
        self.score.iter().take(CRITERIA).sum()
    }

    /// Tests that passed in the last evaluation.
    #[must_use]
    pub fn passed_tests(&self) -> u64 {
        self.score.last().copied().unwrap_or(0)
    }
}

/// One attempt of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptReport {
    pub attempt: u32,
    /// Only in `session.json`: prompts are long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    pub run_path: String,
    pub workflow_status: String,
    pub workflow_ok: bool,
    pub error: Option<String>,
    /// Evaluations after steps.
    pub steps: Vec<StepEvaluation>,
    pub evaluation: Option<Evaluation>,
    pub changed_files: Vec<String>,
    pub verification_ok: bool,
    pub verification_reason: String,
    pub model_calls: u64,
    pub tool_calls: u64,
    pub elapsed_s: f64,
    pub candidate: Option<String>,
    /// Whether another attempt cannot do better: the deadline passed, or no model answers.
    pub is_last: bool,
}
