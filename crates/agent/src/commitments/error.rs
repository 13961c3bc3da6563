//! Errors of the store of commitments and of changes to it.

/// Why a document cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("unknown document `{0}`\n  hint: `marvin commitments list` shows what there is")]
    Missing(String),
    #[error("the document `{0}` exists already")]
    Exists(String),
    #[error("`{0}` cannot be the name of a document\n  hint: letters, digits, `-` and `_`, at most 64")]
    Name(String),
    #[error("{path}:{line}: {problem}\n  hint: fix that line, or move the file away")]
    Damaged { path: String, line: usize, problem: String },
    #[error("cannot {doing} {path}: {reason}")]
    Io {
        /// The verb of the operation.
        doing: &'static str,
        path: String,
        reason: String,
    },
    #[error("{0} is held by another process\n  hint: wait for it to end, and try again")]
    Busy(String),
}

/// Why commitments were not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a commitment is refused before the gate judges it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", self.shown_hint())]
pub struct InvalidCommitment {
    pub reason: String,
    /// What to write instead; may be empty.
    pub hint: String,
}

impl InvalidCommitment {
    pub(super) fn new(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        InvalidCommitment { reason: reason.into(), hint: hint.into() }
    }

    fn shown_hint(&self) -> String {
        if self.hint.is_empty() { String::new() } else { format!("\n  hint: {}", self.hint) }
    }
}

impl From<InvalidCommitment> for ChangeError {
    fn from(error: InvalidCommitment) -> Self {
        ChangeError::Usage(format!("this commitment is refused: {error}"))
    }
}
