//! The result of evaluating a checkout.

use marvin_base::truncate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of an evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    pub ok: bool,
    pub passed: u64,
    pub failed: u64,
    /// At most 20 names.
    pub failing_tests: Vec<String>,
    pub elapsed_s: f64,
    /// Why it is not ok, whatever was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether anything was run.
    #[serde(default)]
    pub ran: bool,
}

impl Evaluation {
    /// Nothing could be run, for this reason.
    pub(super) fn failed(reason: String) -> Self {
        Evaluation { reason: Some(reason), ..Evaluation::default() }
    }

    /// The result in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = format!("ok={}, {} passed, {} failed", self.ok, self.passed, self.failed);
        if !self.failing_tests.is_empty() {
            text.push_str(&format!(", failing: {}", self.failing_tests.join(", ")));
        }
        // Where tests failed, the counts say it.
        if let Some(reason) = self.reason.as_ref().filter(|_| self.failed == 0) {
            text.push_str(&format!(" ({})", truncate::line(reason, 300)));
        }
        text
    }
}
