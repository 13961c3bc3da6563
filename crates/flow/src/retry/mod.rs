//! Law 2: a retry changes something.
//!
//! After an attempt that failed, [`decide`] says whether another one may follow. It may when the next rung of the ladder
//! ([`ladder`]) is a call that was not made before, or when something measurable changed since that call was made
//! ([`progress`]); and it comes with a Lesson ([`lesson`]). Otherwise it is refused, with a reason for people and a code for
//! programs. Everything here is pure: the same record gives the same answer, also after a crash. What is measured is measured
//! by the shell ([`measure`]), never taken from a model.
//!
//! Limits: only what is measured counts: tests, files, artifacts, and results of workers that are no models. A model that
//! says something else each time has not changed anything; a worker that changes a file in a new way each time has, whether or
//! not that helps, until its ladder ends.

mod decide;
pub mod graph;
pub mod ladder;
mod lesson;
pub mod measure;
mod progress;
#[cfg(test)]
mod properties;
mod seen;
mod signatures;
#[cfg(test)]
mod tests;

pub use decide::{Decision, Task, decide};
pub use graph::{Cycle, Delegations};
pub use ladder::Strategy;
pub use measure::{AttemptCounts, Snapshot, measure};
pub use progress::{Progress, best};
pub use seen::AttemptLog;
pub use signatures::{call_signature, failure_key, subtree_signature};

use crate::worker::Status;
use serde::{Deserialize, Serialize};

/// One attempt at a step, as the record keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// 1 for the first.
    pub attempt_id: u32,
    /// How it ended.
    pub status: Status,
    /// What was asked: see [`call_signature`].
    pub call_signature: String,
    /// Who was asked.
    pub worker_type: String,
    /// How.
    pub strategy_id: String,
    /// How widely lessons were looked for.
    pub retrieval_stage: u8,
    /// What the worker said of it: a claim.
    pub summary: String,
    /// A stable name of the failure.
    pub failure_signature: Option<String>,
    /// What the shell measured.
    #[serde(rename = "progress_metrics", alias = "progress")]
    pub progress: Progress,
    /// What it left.
    pub artifacts: Vec<String>,
}
