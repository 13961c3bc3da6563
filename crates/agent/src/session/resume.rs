//! Taking up a run that broke off: the same directory, the same record, the same budget.
//!
//! What was done is told to the model from the record; no call is repeated by the shell. A run that ended is not taken up.

use super::SessionError;
use crate::compose::Extra;
use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::run::RunDirectory;
use marvin_base::{clock, ledger, truncate};
use serde_json::{Map, Value};

/// A `run.json` larger than this is not one.
const MAX_RUN_JSON_BYTES: u64 = 64 * 1024 * 1024;

/// A run that broke off.
#[derive(Debug)]
pub(crate) struct InterruptedRun {
    pub(crate) run: RunDirectory,
    /// What `run.json` says.
    pub(crate) facts: Map<String, Value>,
    /// Its events.
    pub(crate) events: Vec<Value>,
}

impl InterruptedRun {
    /// Finds a run of this project by its id.
    pub(crate) fn find(layout: &Layout, id: &str) -> Result<InterruptedRun, SessionError> {
        let wrong = |problem: String| SessionError::Resume(truncate::line(id, 80), problem);
        let id = id.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let run = RunDirectory::open(&layout.runs(), id)
            .map_err(|error| wrong(format!("there is no such run here ({error})")))?;
        let text = files::read_text(&run.path().join("run.json"), MAX_RUN_JSON_BYTES, Links::Refuse)
            .map_err(|error| wrong(format!("its run.json cannot be read: {error}")))?;
        let facts: Map<String, Value> = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("its run.json is damaged: {error}")))?;
        let status = facts.get("status").and_then(Value::as_str).unwrap_or_default();
        if status != "running" {
            return Err(wrong(format!("it ended ({})", truncate::line(status, 40))));
        }
        if facts.get("prompt").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(wrong("it had no prompt yet".into()));
        }
        let events = ledger::read_chained(&run.trace())?.entries;
        Ok(InterruptedRun { run, facts, events })
    }

    /// What was brought into its prompts.
    pub(crate) fn extras(&self) -> Vec<Extra> {
        self.facts.get("extras").map(brought).unwrap_or_default()
    }

    /// What was asked.
    pub(crate) fn prompt(&self) -> &str {
        self.facts.get("prompt").and_then(Value::as_str).unwrap_or_default()
    }
}

/// What was brought into the prompts of a run, as its `run.json` says.
#[must_use]
pub fn brought(extras: &Value) -> Vec<Extra> {
    serde_json::from_value(extras.clone()).unwrap_or_default()
}

/// Says of a run that broke off that nobody will take it up.
///
/// # Errors
/// When there is no such run, it ended, or that cannot be written.
pub fn close_broken(layout: &Layout, id: &str) -> Result<(), SessionError> {
    let mut broken = InterruptedRun::find(layout, id)?;
    for (key, value) in [("status", "interrupted"), ("endReason", "broken_off")] {
        broken.facts.insert(key.into(), value.into());
    }
    broken.facts.insert("endedAt".into(), clock::now_stamp().into());
    Ok(broken.run.save(broken.facts)?)
}

/// The prompt of a run that broke off.
///
/// # Errors
/// When there is no such run, or it ended.
pub fn prompt_of(layout: &Layout, id: &str) -> Result<String, SessionError> {
    Ok(InterruptedRun::find(layout, id)?.prompt().to_string())
}
