//! One transition of one step, and what it tells.

use crate::record::Artifact;
use crate::retry::{Attempt, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(u8)]
pub enum StepStatus {
    /// It waits for others.
    New,
    /// It can begin.
    Ready,
    /// Somebody works on it.
    Running,
    /// It is done.
    Succeeded,
    /// It is not needed any more.
    Skipped,
    /// It is given up.
    Failed,
    /// A person is needed.
    Blocked,
    /// Some of it is done, and that must do.
    Partial,
    /// It failed, and will be tried in another way.
    RetryPending,
}

impl StepStatus {
    /// Every status.
    pub const ALL: [StepStatus; 9] = [
        StepStatus::New,
        StepStatus::Ready,
        StepStatus::Running,
        StepStatus::Succeeded,
        StepStatus::Skipped,
        StepStatus::Failed,
        StepStatus::Blocked,
        StepStatus::Partial,
        StepStatus::RetryPending,
    ];

    /// Its word in records.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            StepStatus::New => "NEW",
            StepStatus::Ready => "READY",
            StepStatus::Running => "RUNNING",
            StepStatus::Succeeded => "SUCCEEDED",
            StepStatus::Skipped => "SKIPPED",
            StepStatus::Failed => "FAILED",
            StepStatus::Blocked => "BLOCKED",
            StepStatus::Partial => "PARTIAL",
            StepStatus::RetryPending => "RETRY_PENDING",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        StepStatus::ALL.into_iter().find(|status| status.word() == word)
    }

    /// May those that depend on it begin?
    #[must_use]
    pub fn lets_go_on(self) -> bool {
        matches!(self, StepStatus::Succeeded | StepStatus::Partial | StepStatus::Skipped)
    }
}

/// One row of the log.
#[derive(Debug, Clone, Copy)]
pub struct Transition<'a> {
    /// Its number, from 1, without gaps.
    pub seq: i64,
    /// The step.
    pub step: u32,
    /// What it became.
    pub status: StepStatus,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The rest, as JSON ([`Data`]); empty: nothing.
    pub data: &'a str,
}

/// What a transition tells besides the status.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Data {
    /// The attempt that it is about, 1 for the first; 0: none.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// The key of the attempt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The call, as the worker was told it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call_id: String,
    /// How it is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The inputs, with references resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Map<String, Value>>,
    /// What it gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Map<String, Value>>,
    /// The attempt as it was measured, when it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Attempt>,
    /// The files that it left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it may be tried again, or why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The reason as a word for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The lesson that was written before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lesson: Option<String>,
    /// What a person is needed for: `approve`, `answer`, `worker`, `unknown`, `artifact` or `merge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// The answer of a person that this follows from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<i64>,
    /// What the person said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Value>,
    /// The person who said it, their terminal and process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Value>,
    /// Taken up again after a process died: the same attempt under the same key.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// That the whole workflow ends with this: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminates: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Data {
    /// Whether a transition says nothing but the outputs: of a step that repeats its inputs, or that is not needed any more.
    #[must_use]
    pub fn is_echo(text: &str) -> bool {
        text.is_empty() || text.starts_with("{\"outputs\"")
    }

    /// Reads it; what cannot be read is empty.
    #[must_use]
    pub fn read(text: &str) -> Data {
        if text.is_empty() { Data::default() } else { serde_json::from_str(text).unwrap_or_default() }
    }

    /// As the record keeps it.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
