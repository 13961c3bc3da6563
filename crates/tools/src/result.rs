//! What comes of a call: for the record, and for the model.

use marvin_base::redact::Redactor;
use marvin_base::truncate;
use marvin_gate::Refusal;
use serde::Serialize;
use serde_json::Value;

/// Characters of a result that a model gets to see.
pub const TEXT_LIMIT: usize = 20_000;
/// The same for tools that read files.
pub const FILE_LIMIT: usize = 60_000;

/// How faithful a result is to what the tool saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// As it was.
    #[default]
    Verbatim,
    /// Cut or condensed.
    Summarized,
}

/// What a tool hands back.
#[derive(Debug, Clone)]
pub struct Output {
    /// One line for lists and records.
    pub summary: String,
    /// The text that the model reads.
    pub text: String,
    /// Facts for the record.
    pub data: Value,
    /// Set when the tool did its work but the work failed (a command that exits with 1).
    pub error: Option<String>,
    /// Whether something was left out.
    pub confidence: Confidence,
    /// Characters of `text` that a model gets to see.
    pub limit: usize,
}

impl Output {
    /// A success.
    pub fn new(summary: impl Into<String>, text: impl Into<String>, data: Value) -> Self {
        Output {
            summary: summary.into(),
            text: text.into(),
            data,
            error: None,
            confidence: Confidence::Verbatim,
            limit: TEXT_LIMIT,
        }
    }

    /// A success whose text is its summary.
    pub fn line(summary: impl Into<String>, data: Value) -> Self {
        let summary = summary.into();
        Output::new(summary.clone(), summary, data)
    }
}

/// Why a tool has nothing to hand back; each reads as advice to the model.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The arguments make no sense; the correct call is shown along with this.
    #[error("{0}")]
    Usage(String),
    /// The gate or the disk refused a path.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be done.
    #[error("{0}")]
    Failed(String),
}

/// The result of a call as it is recorded. The text for the model is kept beside it.
#[derive(Debug, Clone, Serialize)]
pub struct ToolResult {
    /// Whether it succeeded.
    pub ok: bool,
    /// One line.
    pub summary: String,
    /// Facts.
    pub data: Value,
    /// What went wrong.
    pub error: Option<String>,
    /// How long it took.
    pub elapsed_ms: u64,
    /// Where the facts come from.
    pub source: &'static str,
    /// How faithful they are.
    pub confidence: Confidence,
    /// The whole text, before the bound for models.
    #[serde(skip)]
    pub text: String,
    /// Characters of the text that a model gets to see.
    #[serde(skip)]
    pub limit: usize,
}

/// An error as a summary.
fn short(error: &str) -> String {
    truncate::line(error, 200)
}

impl ToolResult {
    /// The result of a tool that worked.
    #[must_use]
    pub fn from_output(output: Output, elapsed_ms: u64) -> Self {
        let cut = output.text.chars().nth(output.limit).is_some();
        ToolResult {
            ok: output.error.is_none(),
            summary: output.summary,
            data: output.data,
            error: output.error,
            elapsed_ms,
            source: "tool_output",
            confidence: if cut { Confidence::Summarized } else { output.confidence },
            text: output.text,
            limit: output.limit,
        }
    }

    /// The result of a call that did not come about.
    #[must_use]
    pub fn failed(error: impl Into<String>, elapsed_ms: u64) -> Self {
        let error = error.into();
        ToolResult {
            ok: false,
            summary: short(&error),
            data: Value::Null,
            error: Some(error.clone()),
            elapsed_ms,
            source: "tool_output",
            confidence: Confidence::Verbatim,
            text: error,
            limit: TEXT_LIMIT,
        }
    }

    /// The text for the model, within its bound; what was cut is said, and no token is cut in half.
    #[must_use]
    pub fn for_model(&self) -> String {
        truncate::head_whole(&self.text, self.limit)
    }

    /// Takes secrets out of what is recorded (summary, facts, error); the text for the model stays as it is. The summary of
    /// a failure is made anew, since half of a secret would no longer be recognised.
    pub(crate) fn redact(&mut self, redactor: &Redactor) {
        if let Some(error) = &mut self.error {
            if self.summary == short(error) {
                self.summary = short(&redactor.text(error));
            }
            *error = redactor.text(error).into_owned();
        }
        self.summary = redactor.text(&self.summary).into_owned();
        redactor.value(&mut self.data);
    }
}
