//! Errors of the engine.

use super::Holder;
use crate::record::RecordError;
use crate::spec::Step;
use marvin_base::Exit;
use marvin_base::atomic::WriteError;
use marvin_base::ledger::LedgerError;

/// Why a run cannot begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("run {0} does not exist\n  hint: `marvin list-runs` shows the runs of workflows")]
    NoRun(String),
    #[error("{0} is not a workflow run\n  hint: `marvin list-runs` shows the runs of workflows")]
    NoWorkflow(String),
    /// Another process works on the run.
    #[error(
        "{path} is held by {holder}\n  hint: wait for it, or end it with `marvin stop-run --run-path {path}`"
    )]
    Held { path: String, holder: Holder },
    #[error("step `{step}` names the worker `{worker}`, which does not exist{hint}")]
    NoWorker { step: String, worker: String, hint: String },
    #[error("step `{step}`: {problem}\n  hint: {hint}")]
    InvalidStep { step: String, problem: String, hint: String },
    /// A person's decision does not fit the step.
    #[error("{0}")]
    Decision(String),
    /// An artifact of a completed step no longer exists.
    #[error(
        "step `{step}` left {path}, which no longer exists\n  hint: restore it, then continue with `marvin resume-run`"
    )]
    MissingArtifact { step: String, path: String },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Trace(#[from] LedgerError),
    #[error(transparent)]
    File(#[from] WriteError),
    /// A fault of the engine itself.
    #[error("{0}")]
    Internal(String),
}

impl EngineError {
    pub(super) fn invalid(step: &Step, problem: &str, hint: &str) -> Self {
        EngineError::InvalidStep { step: step.id.to_string(), problem: problem.into(), hint: hint.into() }
    }

    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            EngineError::NoRun(_)
            | EngineError::NoWorkflow(_)
            | EngineError::NoWorker { .. }
            | EngineError::InvalidStep { .. }
            | EngineError::Decision(_) => Exit::Usage,
            EngineError::Record(RecordError::Missing { .. }) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}
