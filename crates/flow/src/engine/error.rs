//! Why a run cannot go on.

use super::Holder;
use crate::record::RecordError;
use marvin_base::Exit;
use marvin_base::atomic::WriteError;
use marvin_base::ledger::LedgerError;

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no such run.
    #[error("there is no run {0}\n  hint: `marvin list-runs` shows the runs of workflows")]
    NoRun(String),
    /// It is a run of something else.
    #[error("{0} is no run of a workflow\n  hint: `marvin list-runs` shows the runs of workflows")]
    NoWorkflow(String),
    /// Another process works on it.
    #[error(
        "{path} is held by {holder}\n  hint: wait for it, or end it with `marvin stop-run --run-path {path}`"
    )]
    Held {
        /// The directory of the run.
        path: String,
        /// Who holds it.
        holder: Holder,
    },
    /// A worker is not there.
    #[error("step `{step}` is for `{worker}`, and there is no such worker{hint}")]
    NoWorker {
        /// The step.
        step: String,
        /// The worker.
        worker: String,
        /// What would be right.
        hint: String,
    },
    /// What a person said does not fit.
    #[error("{0}")]
    Said(String),
    /// A file that a finished step left is gone.
    #[error(
        "step `{step}` left {path}, and it is gone\n  hint: bring it back, then `marvin resume-run` goes on"
    )]
    Gone {
        /// The step.
        step: String,
        /// The file.
        path: String,
    },
    /// The record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The trace.
    #[error(transparent)]
    Trace(#[from] LedgerError),
    /// A file.
    #[error(transparent)]
    File(#[from] WriteError),
    /// Something that should not happen.
    #[error("{0}")]
    Broken(String),
}

impl EngineError {
    /// The exit code that goes with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            EngineError::NoRun(_)
            | EngineError::NoWorkflow(_)
            | EngineError::NoWorker { .. }
            | EngineError::Said(_) => Exit::Usage,
            EngineError::Record(RecordError::Missing { .. }) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}
