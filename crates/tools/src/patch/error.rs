//! Errors of patches.

use crate::result::ToolError;

/// Why a text is not a patch, or does not fit the file.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatchError {
    #[error("line {number} of the {language}: {problem}: `{text}`")]
    Line { language: &'static str, number: usize, problem: &'static str, text: String },
    #[error("{0}")]
    Malformed(String),
    /// A hunk whose lines are not in the file, or not only once.
    #[error("{0}")]
    Misplaced(String),
}

impl PatchError {
    pub(super) fn line(language: &'static str, number: usize, problem: &'static str, text: &str) -> Self {
        PatchError::Line { language, number, problem, text: text.to_string() }
    }
}

pub(super) fn malformed(problem: impl Into<String>) -> PatchError {
    PatchError::Malformed(problem.into())
}

pub(super) fn misplaced(problem: impl Into<String>) -> PatchError {
    PatchError::Misplaced(problem.into())
}

impl From<PatchError> for ToolError {
    fn from(error: PatchError) -> Self {
        match error {
            PatchError::Line { .. } | PatchError::Malformed(_) => ToolError::Usage(format!("{error}.")),
            PatchError::Misplaced(_) => ToolError::Failed(error.to_string()),
        }
    }
}
