//! The tool log of a sub-agent: one line per call, in the format that the parent reads.

use crate::context::ToolContext;
use crate::result::ToolResult;
use marvin_base::ledger::{Durability, Ledger};
use marvin_base::settings::table;
use marvin_base::{clock, truncate};
use marvin_model::Arguments;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Characters of the arguments and of the result that a line keeps.
const ARGUMENTS: usize = 200;
const RESULT: usize = 400;

/// A line of the log.
#[derive(Serialize)]
struct LogEntry<'a> {
    ts: String,
    tool: &'a str,
    args: String,
    result: String,
    elapsed_ms: u64,
}

/// Appends a call to the log that the settings name, if they name one. Returns why it could not be written; the call
/// itself stands.
pub(crate) fn append(
    tool: &str,
    arguments: &Arguments,
    result: &ToolResult,
    context: &ToolContext,
) -> Option<String> {
    let path = context.settings.given(&table::SUBAGENT_LOG)?;
    // Redacted before it is cut: a secret cut in half would no longer be recognised.
    let short = |text: &str, limit| truncate::line(&context.redactor.text(text), limit);
    let entry = LogEntry {
        ts: clock::now_stamp(),
        tool,
        args: short(&flat(arguments), ARGUMENTS),
        result: short(&result.for_model(), RESULT),
        elapsed_ms: result.elapsed_ms,
    };
    let written = Ledger::open_shared(Path::new(path), Durability::System, Arc::clone(&context.redactor))
        .and_then(|mut ledger| ledger.append(&entry));
    written.err().map(|error| error.to_string())
}

/// `path=a, content=b`, or the text as it came.
fn flat(arguments: &Arguments) -> String {
    let Some(map) = arguments.object() else { return arguments.to_text() };
    let show = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    map.iter().map(|(key, value)| format!("{key}={}", show(value))).collect::<Vec<_>>().join(", ")
}
