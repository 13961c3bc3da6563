//! Outcome of a turn.

use crate::verification::Verification;
use marvin_base::Exit;
use marvin_base::run_record::RunStatus;
use serde_json::{Map, Value};

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The model gave its answer.
    Success,
    Failed,
    /// Some of it is done.
    Partial,
    /// A person is needed.
    Blocked,
    Budget,
    Interrupted,
    /// It claims success, and its commitments do not hold.
    NotVerified,
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Success => RunStatus::Success,
            Status::Failed => RunStatus::Failed,
            Status::Partial => RunStatus::Partial,
            Status::Blocked => RunStatus::Blocked,
            Status::Budget => RunStatus::BudgetSpent,
            Status::Interrupted => RunStatus::Interrupted,
            Status::NotVerified => RunStatus::NotVerified,
        }
    }
}

impl Status {
    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        RunStatus::from(self).word()
    }

    /// Its exit code.
    #[must_use]
    pub fn exit(self) -> Exit {
        match self {
            Status::Success => Exit::Success,
            Status::Failed | Status::Partial => Exit::Failed,
            Status::Blocked => Exit::Blocked,
            Status::Budget => Exit::Budget,
            Status::Interrupted => Exit::Interrupted,
            Status::NotVerified => Exit::NotVerified,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Outcome {
    pub status: Status,
    /// Why, in one word: `answered`, `no_progress`, `max_rounds`, `deadline`, `model_error` …
    pub reason: &'static str,
    /// The final answer; empty when there is none.
    pub text: String,
    /// One sentence for a person, when it did not go well.
    pub error: Option<String>,
    /// A stable name of the failure.
    pub failure_signature: Option<String>,
    /// Other keys of a worker's final object.
    pub data: Map<String, Value>,
    pub rounds: usize,
    pub calls: usize,
    pub verification: Verification,
}

impl Outcome {
    /// Outcome without an answer.
    pub(crate) fn new(status: Status, reason: &'static str, error: Option<String>) -> Self {
        Outcome {
            status,
            reason,
            text: String::new(),
            error,
            failure_signature: None,
            data: Map::new(),
            rounds: 0,
            calls: 0,
            verification: Verification::default(),
        }
    }
}
