//! Why something was not done with servitors.

use crate::commitments::{ChangeError, StoreError};
use crate::session::SessionError;
use marvin_base::ledger::LedgerError;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The request was wrong.
    #[error("{0}")]
    Usage(String),
    /// It is not allowed.
    #[error("{0}")]
    Refused(String),
    /// Somebody else looks after the servitors.
    #[error("the servitors of this project are looked after by {0}\n  hint: wait for it to end, or stop it")]
    Held(String),
    /// There is nothing for them to work with: no model, or no record.
    #[error(transparent)]
    Session(Box<SessionError>),
    /// The commitments were refused.
    #[error(transparent)]
    Commitment(#[from] ChangeError),
    /// A document cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record cannot be written.
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
