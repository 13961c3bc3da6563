//! What is wrong with a file of a pack, and how to mend it.

use serde::Serialize;
use std::path::Path;

/// One mistake in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The field, or the line; empty where it is the whole file.
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub mend: String,
}

impl Problem {
    pub(crate) fn new(
        file: &Path,
        field: impl Into<String>,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Problem {
            file: file.display().to_string(),
            field: field.into(),
            what: what.into(),
            mend: mend.into(),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let field = if self.field.is_empty() { String::new() } else { format!("{}: ", self.field) };
        write!(to, "{}: {field}{}\n  hint: {}", self.file, self.what, self.mend)
    }
}
