//! How a turn ended, and what came of it.

use crate::verification::Verification;
use marvin_base::Exit;
use marvin_base::run_record::RunStatus;
use serde_json::{Map, Value};

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The model gave its answer.
    Success,
    /// The work failed.
    Failed,
    /// Some of it is done.
    Partial,
    /// A person is needed.
    Blocked,
    /// The budget is spent.
    Budget,
    /// Somebody interrupted it.
    Interrupted,
    /// It claims success, and what was promised does not hold.
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

/// What came of a turn.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Why, in one word: `answered`, `no_progress`, `max_rounds`, `deadline`, `model_error` …
    pub reason: &'static str,
    /// The final answer; empty when there is none.
    pub text: String,
    /// One sentence for a person, when it did not go well.
    pub error: Option<String>,
    /// A stable name of the failure.
    pub failure_signature: Option<String>,
    /// What a worker's final object held besides.
    pub data: Map<String, Value>,
    /// Requests made.
    pub rounds: usize,
    /// Calls made.
    pub calls: usize,
    /// What was verified of it.
    pub verification: Verification,
}
