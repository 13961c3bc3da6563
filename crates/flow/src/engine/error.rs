//! Errors of the engine.

use super::Holder;
use crate::record::RecordError;
use crate::spec::Step;
use marvin_base::Exit;
use marvin_base::atomic::WriteError;
use marvin_base::hint::HintLine;
use marvin_base::ledger::LedgerError;
use std::borrow::Cow;

/// Why a run cannot begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("run {0} does not exist{hints}", hints = self.hint_line())]
    NoRun(String),
    #[error("{0} is not a workflow run{hints}", hints = self.hint_line())]
    NoWorkflow(String),
    /// Another process works on the run.
    #[error("{path} is held by {holder}{hints}", hints = self.hint_line())]
    Held { path: String, holder: Holder },
    #[error("step `{step}` names the worker `{worker}`, which does not exist{hints}", hints = self.hint_line())]
    NoWorker { step: String, worker: String, hint: String },
    #[error("step `{step}`: {problem}{hints}", hints = self.hint_line())]
    InvalidStep { step: String, problem: String, hint: String },
    /// A person's decision does not fit the step.
    #[error("{text}{hints}", hints = self.hint_line())]
    Decision { text: String, hint: Option<&'static str> },
    /// An artifact of a completed step no longer exists.
    #[error("step `{step}` left {path}, which no longer exists{hints}", hints = self.hint_line())]
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

    pub(crate) fn decision(text: impl Into<String>, hint: Option<&'static str>) -> Self {
        EngineError::Decision { text: text.into(), hint }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            EngineError::NoRun(_) | EngineError::NoWorkflow(_) => {
                Some("`marvin list-runs` shows the runs of workflows".into())
            }
            EngineError::Held { path, .. } => {
                Some(format!("wait for it, or end it with `marvin stop-run --run-path {path}`").into())
            }
            EngineError::NoWorker { hint, .. } | EngineError::InvalidStep { hint, .. } => Some(hint.into()),
            EngineError::Decision { hint, .. } => hint.map(Cow::from),
            EngineError::MissingArtifact { .. } => {
                Some("restore it, then continue with `marvin resume-run`".into())
            }
            EngineError::Record(_)
            | EngineError::Trace(_)
            | EngineError::File(_)
            | EngineError::Internal(_) => None,
        }
    }

    fn hint_line(&self) -> HintLine<Cow<'_, str>> {
        HintLine(self.hint())
    }

    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            EngineError::NoRun(_)
            | EngineError::NoWorkflow(_)
            | EngineError::NoWorker { .. }
            | EngineError::InvalidStep { .. }
            | EngineError::Decision { .. } => Exit::Usage,
            EngineError::Record(RecordError::Missing { .. }) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}
