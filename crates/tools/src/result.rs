//! Results of tool calls, for the record and for the model.

use crate::artifact::Artifact;
use marvin_base::hint::HintLine;
use marvin_base::redact::{Redactor, Scope};
use marvin_base::truncate;
use marvin_gate::Refusal;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// Characters of a result that a model sees.
pub const TEXT_LIMIT: usize = 20_000;
/// The same for texts of files.
pub const FILE_LIMIT: usize = 60_000;

/// How faithful a result is to what the tool saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    #[default]
    Verbatim,
    /// Cut or condensed.
    Summarized,
}

/// Source of facts that Marvin itself read or ran.
pub const FROM_TOOL: &str = "tool_output";
/// Source of facts from the network.
pub const FROM_WEB: &str = "web";
/// Source of facts from an MCP server.
pub const FROM_SERVER: &str = "mcp";

/// Output of a tool.
#[derive(Debug, Clone)]
pub struct Output<D = Value> {
    /// One line for lists and records.
    pub summary: String,
    /// Text that the model reads.
    pub text: String,
    /// The whole text, where `text` is only a part of it; it is kept as an artifact of the run.
    pub whole: Option<String>,
    /// Facts for the record.
    pub data: D,
    /// Set when the tool did its work but the work failed (a command that exits with 1).
    pub error: Option<String>,
    pub confidence: Confidence,
    /// Characters of `text` that a model sees.
    pub limit: usize,
    /// Where the facts come from: [`FROM_TOOL`], [`FROM_WEB`] or [`FROM_SERVER`].
    pub source: &'static str,
    /// Whether the tool took the secrets out of `text` itself, because it shows only parts of what it read.
    pub is_redacted: bool,
}

impl<D> Output<D> {
    pub fn new(summary: impl Into<String>, text: impl Into<String>, data: D) -> Self {
        Output {
            summary: summary.into(),
            text: text.into(),
            whole: None,
            source: FROM_TOOL,
            data,
            error: None,
            confidence: Confidence::Verbatim,
            limit: TEXT_LIMIT,
            is_redacted: false,
        }
    }

    /// A success whose text is its summary.
    pub fn line(summary: impl Into<String>, data: D) -> Self {
        let summary = summary.into();
        Output::new(summary.clone(), summary, data)
    }

    /// The text of a file, cut here: the whole lies in the file, so it is not kept once more.
    #[must_use]
    pub fn of_file(mut self) -> Self {
        if is_over(&self.text, FILE_LIMIT) {
            self.text = truncate::head_whole(&self.text, FILE_LIMIT);
            self.confidence = Confidence::Summarized;
        }
        self.limit = usize::MAX;
        self
    }
}

impl<D: Serialize> Output<D> {
    /// The same with its facts as JSON.
    ///
    /// # Errors
    /// When the facts cannot be written as JSON.
    pub fn erased(self) -> Result<Output, ToolError> {
        let data = serde_json::to_value(&self.data).map_err(|error| {
            ToolError::Failed(format!("cannot write the facts of the result as JSON: {error}"))
        })?;
        let Output { summary, text, whole, error, confidence, limit, source, is_redacted, .. } = self;
        Ok(Output { summary, text, whole, data, error, confidence, limit, source, is_redacted })
    }
}

/// Failure of a call; each reads as advice to the model.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Arguments that make no sense; the model sees a correct call with it.
    #[error("{0}")]
    Usage(String),
    /// The gate or the disk refused a path.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{0}")]
    Failed(String),
    /// There was nothing to do, which a caller may take for a success.
    #[error("{0}")]
    NothingToDo(String),
}

impl ToolError {
    /// The failure of a family, told apart by whether other arguments would have helped.
    pub(crate) fn from_reason(
        error: &dyn std::error::Error,
        hint: Option<&'static str>,
        is_usage: bool,
    ) -> Self {
        let text = format!("{error}{}", HintLine(hint));
        if is_usage { ToolError::Usage(text) } else { ToolError::Failed(text) }
    }
}

/// Result of a call as it is recorded, with the text for the model beside it.
#[derive(Debug, Clone, Serialize)]
pub struct ToolResult {
    pub ok: bool,
    /// One line.
    pub summary: String,
    pub data: Value,
    pub error: Option<String>,
    pub elapsed_ms: u64,
    pub source: &'static str,
    pub confidence: Confidence,
    /// Where the whole text is kept, when the model saw only a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// The whole text, before the bound for models.
    #[serde(skip)]
    pub text: String,
    /// Characters of the text that a model sees.
    #[serde(skip)]
    pub limit: usize,
    /// Whether it failed because there was nothing to do.
    #[serde(skip)]
    pub nothing_to_do: bool,
    /// Whether the tool took the secrets out of the text itself.
    #[serde(skip)]
    pub is_redacted: bool,
}

/// Is the text longer than this many characters?
pub(crate) fn is_over(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().nth(limit).is_some()
}

/// An error as a summary.
fn short(error: &str) -> String {
    truncate::line(error, 200)
}

impl ToolResult {
    /// The result of a tool that worked.
    #[must_use]
    pub fn from_output(output: Output, elapsed_ms: u64) -> Self {
        let cut = is_over(&output.text, output.limit);
        ToolResult {
            ok: output.error.is_none(),
            summary: output.summary,
            data: output.data,
            error: output.error,
            elapsed_ms,
            source: output.source,
            artifact: None,
            confidence: if cut { Confidence::Summarized } else { output.confidence },
            text: output.text,
            limit: output.limit,
            nothing_to_do: false,
            is_redacted: output.is_redacted,
        }
    }

    /// The result of a call that was not made or failed.
    #[must_use]
    pub fn failed(error: impl Into<String>, elapsed_ms: u64) -> Self {
        let error = error.into();
        ToolResult {
            ok: false,
            summary: short(&error),
            data: Value::Null,
            error: Some(error.clone()),
            elapsed_ms,
            source: FROM_TOOL,
            artifact: None,
            confidence: Confidence::Verbatim,
            text: error,
            limit: TEXT_LIMIT,
            nothing_to_do: false,
            is_redacted: false,
        }
    }

    /// The text for the model, within its bound; a cut is marked, and no token is cut in half.
    #[must_use]
    pub fn for_model(&self) -> String {
        let mut text = truncate::head_whole(&self.text, self.limit);
        if let Some(artifact) = &self.artifact {
            text.push_str(&artifact.note());
        }
        text
    }

    /// Redacts what is recorded (summary, facts, error) and, unless a person `granted` this call, the text for the model.
    /// The summary of a failure is made again from the error, since half of a secret would no longer be recognised.
    pub(crate) fn redact(&mut self, redactor: &Redactor, granted: bool) {
        if !granted
            && !self.is_redacted
            && let Cow::Owned(clean) = redactor.text_for(&self.text, Scope::Model)
        {
            self.text = clean;
        }
        if let Some(error) = &mut self.error {
            if self.summary == short(error) {
                self.summary = short(&redactor.text(error));
            }
            *error = redactor.text(error).into_owned();
        }
        if let Cow::Owned(clean) = redactor.text(&self.summary) {
            self.summary = clean;
        }
        redactor.value(&mut self.data);
    }
}
