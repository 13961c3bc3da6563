//! Errors of reading a model.

use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("cannot read {path}: {source}{hint}")]
    Read { path: String, source: std::io::Error, hint: &'static str },
    #[error("{path}: {source}")]
    Json { path: String, source: serde_json::Error },
    /// A file is readable, but is not one of a supported model.
    #[error("{0}")]
    Unsupported(String),
}

impl ModelError {
    pub(super) fn read(path: &Path, source: std::io::Error) -> Self {
        ModelError::Read { path: path.display().to_string(), source, hint: "" }
    }

    pub(super) fn json(path: &Path, source: serde_json::Error) -> Self {
        ModelError::Json { path: path.display().to_string(), source }
    }
}
