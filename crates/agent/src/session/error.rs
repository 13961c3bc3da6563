//! Why a session could not be opened or closed.

use crate::commitments::ChangeError;
use crate::servitors::RegistryError;
use marvin_base::Exit;
use marvin_base::atomic::WriteError;
use marvin_base::layout::state::StateError;
use marvin_base::ledger::LedgerError;
use marvin_base::settings::SettingsError;
use marvin_gate::Refusal;
use marvin_model::ModelError;
use marvin_model::price::PriceError;

/// Why a session could not be opened or closed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The working directory is not there.
    #[error("--working-dir {0}: there is no such directory\n  hint: make it first, or check the spelling")]
    NoDirectory(String),
    /// The working directory is refused.
    #[error("{0}")]
    Workspace(#[from] Refusal),
    /// Part of the record is a link.
    #[error("{0} is a link, and the record must not lead elsewhere\n  hint: remove the link")]
    LinkedRecord(String),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// Sub-agents are nested too deep.
    #[error("this agent would be {depth} levels deep, and {deepest} are allowed (limits.depth)")]
    TooDeep {
        /// How deep it is.
        depth: i64,
        /// How deep it may be.
        deepest: i64,
    },
    /// A run cannot be taken up again.
    #[error(
        "--resume {0}: {1}\n  hint: only a run that broke off is taken up; `marvin inspect-run` shows how runs ended"
    )]
    Resume(String, String),
    /// The model cannot be had.
    #[error("{0}")]
    Model(#[from] ModelError),
    /// The price table is wrong.
    #[error(transparent)]
    Prices(#[from] PriceError),
    /// A budget was set that cannot be kept.
    #[error(
        "--max-cost cannot be kept: no price is known for the model `{model}` of `{provider}`\n  hint: add a [[price]] row for it to {file}"
    )]
    Unpriced {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// Where a price can be put.
        file: String,
    },
    /// The schema of the answer is wrong.
    #[error("--output-schema: {0}")]
    Schema(String),
    /// What was promised is refused, or cannot be written down.
    #[error(transparent)]
    Commitment(#[from] ChangeError),
    /// Servitors cannot be had.
    #[error(transparent)]
    Servitors(#[from] RegistryError),
    /// The record cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] LedgerError),
}

impl SessionError {
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
            | SessionError::Servitors(RegistryError::Usage(_))
            | SessionError::Commitment(ChangeError::Usage(_)) => Exit::Usage,
            SessionError::Workspace(_)
            | SessionError::LinkedRecord(_)
            | SessionError::State(_)
            | SessionError::TooDeep { .. }
            | SessionError::Servitors(RegistryError::Refused(_))
            | SessionError::Commitment(ChangeError::Refused(_)) => Exit::Refused,
            // What is decided by it cannot be decided: a person must look.
            SessionError::Record(LedgerError::Broken { .. }) => Exit::Blocked,
            SessionError::Servitors(_)
            | SessionError::Commitment(ChangeError::Store(_))
            | SessionError::Write(_)
            | SessionError::Record(_) => Exit::Failed,
        }
    }
}
