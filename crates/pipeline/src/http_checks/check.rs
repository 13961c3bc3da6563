//! Results of checks against the running application.

use super::http::HttpError;
use marvin_base::truncate;
use marvin_tools::ToolError;
use serde::{Deserialize, Serialize};

/// Characters of output in a detail.
pub(super) const MAX_OUTPUT_CHARS: usize = 600;

/// One check, and whether it passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub ok: bool,
    /// What was wrong, or what was seen.
    pub detail: String,
}

impl Check {
    pub(super) fn new(name: impl Into<String>, problem: Option<String>, seen: &str) -> Self {
        let ok = problem.is_none();
        let detail = problem.unwrap_or_else(|| truncate::line(seen, 120));
        Check { name: name.into(), ok, detail: truncate::head(&detail, 2_000) }
    }

    pub(super) fn failed(name: impl Into<String>, error: &impl ToString) -> Self {
        Check { name: name.into(), ok: false, detail: error.to_string() }
    }
}

/// Why a command could not be run, or the application not be asked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("the gate does not allow `{line}`: {reason} {hint}")]
    Refused { line: String, reason: String, hint: String },
    #[error("no port is free on this machine")]
    NoPort,
    #[error("it could not be started: {0}")]
    NotStarted(#[source] ToolError),
    #[error("it did not answer on port {port} within {seconds} s; its output: {output}")]
    Timeout { port: u16, seconds: u64, output: String },
    #[error("it ended; its output: {output}")]
    Ended { output: String },
    #[error("no response: {error}; the output of the application: {output}")]
    Request {
        #[source]
        error: HttpError,
        output: String,
    },
    #[error(transparent)]
    Tool(#[from] ToolError),
}

/// The failed checks, one text each.
#[must_use]
pub fn failures(checks: &[Check]) -> Vec<String> {
    checks.iter().filter(|check| !check.ok).map(|check| format!("{}: {}", check.name, check.detail)).collect()
}

/// The first of these texts that is missing.
pub(super) fn missing(expected: &[String], text: &str) -> Option<String> {
    let absent = expected.iter().find(|expected| !text.contains(expected.as_str()))?;
    Some(format!("`{absent}` is missing in: {}", truncate::middle(text.trim(), MAX_OUTPUT_CHARS)))
}
