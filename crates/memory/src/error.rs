//! Why something could not be remembered or found.

use marvin_base::atomic::WriteError;
use marvin_base::ledger::LedgerError;
use std::path::Path;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// A file could not be read.
    #[error("cannot read {path}: {reason}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A ledger could not be read or appended to.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The index did not answer, and could not be built again either.
    #[error("the index {path} does not work: {reason}\n  hint: remove it; it is built again from the files")]
    Index {
        /// The index.
        path: String,
        /// Why.
        reason: String,
    },
    /// What was asked for is wrong, or is not there.
    #[error("{0}")]
    Asked(String),
    /// It may not be done by whoever asks.
    #[error("{0}")]
    Refused(String),
}

impl MemoryError {
    /// A file could not be read.
    pub(crate) fn read(path: &Path, reason: &dyn ToString) -> Self {
        MemoryError::Read { path: path.display().to_string(), reason: reason.to_string() }
    }

    /// The index did not answer.
    pub(crate) fn index(path: &Path, reason: &dyn ToString) -> Self {
        MemoryError::Index { path: path.display().to_string(), reason: reason.to_string() }
    }
}
