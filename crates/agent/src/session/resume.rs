//! Resuming an interrupted run: the same directory, the same record, the same budget.
//!
//! The model is given an account of the work from the record; the shell repeats no call. A run that ended cannot be resumed.

use crate::error::SessionError;
use marvin_base::layout::Layout;
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{RunRecord, RunStatus, TurnRecord};
use marvin_base::{clock, ledger, truncate};
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct InterruptedRun {
    pub(crate) run: RunDirectory,
    pub(crate) record: RunRecord,
    /// The part of it that turns have.
    pub(crate) turn: Box<TurnRecord>,
    pub(crate) events: Vec<Value>,
}

impl InterruptedRun {
    /// Finds a run of this project by its id.
    pub(crate) fn find(layout: &Layout, id: &str) -> Result<InterruptedRun, SessionError> {
        let wrong = |problem: String| SessionError::Resume(truncate::line(id, 80), problem);
        let id = id.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let run = RunDirectory::open(&layout.runs(), id)
            .map_err(|error| wrong(format!("no such run here ({error})")))?;
        let record = RunRecord::read(run.path()).map_err(|error| wrong(error.to_string()))?;
        if record.status != Some(RunStatus::Running) {
            return Err(wrong(format!("it ended ({})", record.status.map_or("", RunStatus::word))));
        }
        let turn =
            record.turn.clone().filter(|turn| turn.prompt.as_deref().is_some_and(|text| !text.is_empty()));
        let Some(turn) = turn else { return Err(wrong("it had no prompt yet".into())) };
        let events = ledger::read_chained(&run.trace())?.entries;
        Ok(InterruptedRun { run, record, turn, events })
    }

    pub(crate) fn prompt(&self) -> &str {
        self.turn.prompt.as_deref().unwrap_or_default()
    }
}

/// Closes an interrupted run that will not be resumed.
pub fn close_broken(layout: &Layout, id: &str) -> Result<(), SessionError> {
    let mut broken = InterruptedRun::find(layout, id)?;
    broken.record.status = Some(RunStatus::Interrupted);
    broken.record.end_reason = Some("broken_off".into());
    broken.record.ended_at = Some(clock::now_stamp());
    // What was written has no secrets any more; the patterns find none in it either.
    Ok(broken.run.save(&broken.record, &Redactor::patterns_only())?)
}

/// Prompt of an interrupted run.
pub fn prompt_of(layout: &Layout, id: &str) -> Result<String, SessionError> {
    Ok(InterruptedRun::find(layout, id)?.prompt().to_string())
}
