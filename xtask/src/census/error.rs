//! Errors of the census.

use std::fmt::Display;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CensusError {
    #[error("cannot read {path}: {reason}")]
    Read { path: String, reason: String },
    #[error("cannot parse {path}: {reason}")]
    Parse { path: String, reason: String },
    #[error("cannot write {path}: {reason}")]
    Write { path: String, reason: String },
    #[error("cannot serialise the census: {0}")]
    Json(#[from] serde_json::Error),
    #[error("unknown argument or figure: {0}\n  hint: the figures are the names in census.toml")]
    Argument(String),
    #[error("figures beyond their limits in census.toml:\n{0}")]
    Exceeded(String),
}

impl CensusError {
    pub(super) fn read(path: &str, reason: &dyn Display) -> Self {
        Self::Read { path: path.to_owned(), reason: reason.to_string() }
    }

    pub(super) fn write(path: &str, reason: &dyn Display) -> Self {
        Self::Write { path: path.to_owned(), reason: reason.to_string() }
    }

    pub(super) fn parse(path: &str, reason: &dyn Display) -> Self {
        Self::Parse { path: path.to_owned(), reason: reason.to_string() }
    }
}
