//! Problems of a pack's files.

use serde::Serialize;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub file: String,
    /// The field or the line; empty for the whole file.
    pub field: String,
    pub what: String,
    #[serde(rename = "mend")]
    pub hint: String,
}

impl Problem {
    pub(crate) fn new(
        file: &Path,
        field: impl Into<String>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Problem {
            file: file.display().to_string(),
            field: field.into(),
            what: what.into(),
            hint: hint.into(),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let field = if self.field.is_empty() { String::new() } else { format!("{}: ", self.field) };
        write!(to, "{}: {field}{}\n  hint: {}", self.file, self.what, self.hint)
    }
}
