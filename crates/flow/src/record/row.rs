//! Transitions of steps and their data.

use crate::record::Artifact;
use crate::retry::{Attempt, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The status of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(u8)]
pub enum StepStatus {
    /// It waits for its dependencies.
    New,
    /// It can begin.
    Ready,
    Running,
    Succeeded,
    /// The workflow ended before it began.
    Skipped,
    Failed,
    /// A person is needed.
    Blocked,
    /// It failed with a partial result, which dependent steps may use.
    Partial,
    /// It failed, and another attempt follows.
    RetryPending,
}

impl StepStatus {
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

    /// The word in records.
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

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        StepStatus::ALL.into_iter().find(|status| status.word() == word)
    }

    /// May dependent steps begin?
    #[must_use]
    pub fn is_complete(self) -> bool {
        matches!(self, StepStatus::Succeeded | StepStatus::Partial | StepStatus::Skipped)
    }
}

/// One row of the log.
#[derive(Debug, Clone, Copy)]
pub struct Transition<'a> {
    /// Counted from 1, without gaps.
    pub seq: i64,
    pub step: u32,
    pub status: StepStatus,
    /// Milliseconds since 1970.
    pub at: i64,
    /// [`Data`] as JSON, or empty.
    pub data: &'a str,
}

/// A transition that is not in a record yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewTransition {
    pub step: u32,
    pub status: StepStatus,
    pub data: Data,
}

/// The data of a transition besides its status.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Data {
    /// Its attempt, from 1; 0: none.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// The key of the attempt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The call id that the worker was given.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Resolved inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Map<String, Value>>,
    /// The finished attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Attempt>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why another attempt is allowed or refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The code of a refusal, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The id of the lesson for the next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lesson: Option<String>,
    /// What a person is needed for: `approve`, `answer`, `worker`, `unknown`, `artifact` or `merge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// The number of the answer that caused the transition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<i64>,
    /// The answer itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Value>,
    /// The person, their terminal and process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Value>,
    /// The attempt is resumed under its key after a process died.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The reason why the whole workflow ends with this step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminates: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Data {
    /// Does a transition have only outputs, as those of echo steps and skipped steps?
    #[must_use]
    pub fn is_echo(text: &str) -> bool {
        text.is_empty() || text.starts_with("{\"outputs\"")
    }

    /// Parses the data of a transition; empty if it is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Data {
        if text.is_empty() { Data::default() } else { serde_json::from_str(text).unwrap_or_default() }
    }

    /// The JSON text in the record.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
