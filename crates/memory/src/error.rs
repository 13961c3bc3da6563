//! Errors of the memory.

use marvin_base::atomic::WriteError;
use marvin_base::ledger::LedgerError;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("cannot read {path}: {reason}")]
    Read { path: String, reason: String },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The index did not answer and could not be rebuilt either.
    #[error("the index {path} does not work: {reason}\n  hint: remove it; it is built again from the files")]
    Index { path: String, reason: String },
    /// The request is wrong, or names something that does not exist.
    #[error("{0}")]
    Asked(String),
    /// The caller may not do it.
    #[error("{0}")]
    Refused(String),
}

impl MemoryError {
    pub(crate) fn read(path: &Path, reason: &dyn ToString) -> Self {
        MemoryError::Read { path: path.display().to_string(), reason: reason.to_string() }
    }

    pub(crate) fn index(path: &Path, reason: &dyn ToString) -> Self {
        MemoryError::Index { path: path.display().to_string(), reason: reason.to_string() }
    }
}
