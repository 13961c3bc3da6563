//! Errors of sessions and of servitors.
//!
//! They are in one module because each can cause the other: a session opens servitors, and servitors open a session.

use crate::commitments::error::{ChangeError, StoreError};
use marvin_base::Exit;
use marvin_base::atomic::WriteError;
use marvin_base::hint::HintLine;
use marvin_base::layout::state::StateError;
use marvin_base::ledger::LedgerError;
use marvin_base::settings::SettingsError;
use marvin_gate::Refusal;
use marvin_model::ModelError;
use marvin_model::price::PriceError;
use std::borrow::Cow;

/// Why a session could not be opened or closed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("--working-dir {0}: no such directory{hints}", hints = self.hint_line())]
    NoDirectory(String),
    #[error("{0}")]
    Workspace(#[from] Refusal),
    #[error("{0} is a link, and the record must not lead elsewhere{hints}", hints = self.hint_line())]
    LinkedRecord(String),
    #[error(transparent)]
    State(#[from] StateError),
    #[error("this agent would be {depth} levels deep, and {deepest} are allowed (limits.depth)")]
    TooDeep { depth: i64, deepest: i64 },
    #[error("--resume {0}: {1}{hints}", hints = self.hint_line())]
    Resume(String, String),
    #[error("{0}")]
    Model(#[from] ModelError),
    #[error(transparent)]
    Prices(#[from] PriceError),
    #[error(
        "--max-cost cannot be kept: no price is known for the model `{model}` of `{provider}`{hints}",
        hints = self.hint_line()
    )]
    Unpriced {
        provider: String,
        model: String,
        /// Where a price can be added.
        file: String,
    },
    #[error("--output-schema: {0}")]
    Schema(String),
    #[error(transparent)]
    Commitment(#[from] ChangeError),
    #[error(transparent)]
    Servitors(#[from] RegistryError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Record(#[from] LedgerError),
}

impl SessionError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            SessionError::Settings(error) => return error.hint(),
            SessionError::NoDirectory(_) => "make it first, or check the spelling".into(),
            SessionError::LinkedRecord(_) => "remove the link".into(),
            SessionError::Resume(..) => {
                "only an interrupted run can be resumed; `marvin inspect-run` shows how runs ended".into()
            }
            SessionError::Unpriced { file, .. } => format!("add a [[price]] row for it to {file}").into(),
            _ => return None,
        })
    }

    fn hint_line(&self) -> HintLine<Cow<'static, str>> {
        HintLine(self.hint())
    }

    /// Its exit code.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            SessionError::Settings(_)
            | SessionError::NoDirectory(_)
            | SessionError::Model(_)
            | SessionError::Prices(_)
            | SessionError::Unpriced { .. }
            | SessionError::Resume(..)
            | SessionError::Schema(_)
            | SessionError::Servitors(
                RegistryError::Usage(_) | RegistryError::Commitment(ChangeError::Usage(_)),
            )
            | SessionError::Commitment(ChangeError::Usage(_)) => Exit::Usage,
            SessionError::Workspace(_)
            | SessionError::LinkedRecord(_)
            | SessionError::State(_)
            | SessionError::TooDeep { .. }
            | SessionError::Servitors(
                RegistryError::Refused(_) | RegistryError::Commitment(ChangeError::Refused(_)),
            )
            | SessionError::Commitment(ChangeError::Refused(_)) => Exit::Refused,
            // Decisions depend on it, so a person must look.
            SessionError::Record(LedgerError::Broken { .. }) => Exit::Blocked,
            SessionError::Servitors(_)
            | SessionError::Commitment(ChangeError::Store(_))
            | SessionError::Write(_)
            | SessionError::Record(_) => Exit::Failed,
        }
    }
}

/// Why a request about servitors failed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Refused(String),
    #[error("the servitors of this project are run by {0}\n  hint: wait for it to end, or stop it")]
    Held(String),
    #[error(transparent)]
    Session(Box<SessionError>),
    #[error(transparent)]
    Commitment(#[from] ChangeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Record(#[from] LedgerError),
}

impl From<SessionError> for RegistryError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Servitors(error) => error,
            other => RegistryError::Session(Box::new(other)),
        }
    }
}
