//! The sessions of a self-improve run, as its page shows and plots them.

use crate::answer::Refusal;
use marvin_lab::self_improve::{
    self, BatchReport, Energy, ImproveStatus, Report, SessionReport, SessionStatus,
};
use serde::Serialize;
use std::path::Path;

/// Sessions and changed files that are shown.
const MAX_SESSIONS: usize = 500;
const MAX_CHANGED_FILES: usize = 50;

#[derive(Serialize)]
pub(super) struct ImproveDetails {
    status: ImproveStatus,
    energy: Energy,
    batches: Vec<BatchDetails>,
}

#[derive(Serialize)]
struct BatchDetails {
    batch: u32,
    /// The winner, and whether it was merged.
    result: String,
    /// The evaluation of the checkout before the batch.
    baseline: String,
    sessions: Vec<SessionDetails>,
}

#[derive(Serialize)]
struct SessionDetails {
    session_id: String,
    provider: String,
    strategy: String,
    status: SessionStatus,
    is_winner: bool,
    verified: bool,
    reason: String,
    attempts: u32,
    criteria: u64,
    passed_tests: u64,
    energy: u64,
    changes: usize,
    changed_files: Vec<String>,
}

/// Reads the journal of a run; none: it is not one of self-improve.
pub(super) fn read(run: &Path) -> Result<Option<ImproveDetails>, Refusal> {
    let report = self_improve::read_report(run).map_err(|error| Refusal::broken(error.to_string()))?;
    Ok(report.as_ref().map(describe))
}

fn describe(report: &Report) -> ImproveDetails {
    let mut left = MAX_SESSIONS;
    let batches = report.batches.iter().map(|batch| {
        let shown = batch.sessions.iter().take(left);
        let sessions: Vec<SessionDetails> = shown.map(|session| describe_session(batch, session)).collect();
        left -= sessions.len();
        BatchDetails {
            batch: batch.batch_index,
            result: batch.summary(),
            baseline: batch.master_baseline_evaluation.summary(),
            sessions,
        }
    });
    ImproveDetails { status: report.status, energy: report.energy, batches: batches.collect() }
}

fn describe_session(batch: &BatchReport, session: &SessionReport) -> SessionDetails {
    SessionDetails {
        session_id: session.session_id.clone(),
        provider: session.provider.clone(),
        strategy: session.strategy.clone(),
        status: session.status,
        is_winner: batch.winner_session_id.as_deref() == Some(&session.session_id),
        verified: session.verification_ok,
        reason: session.verification_reason.clone(),
        attempts: session.entrypoint_attempts,
        criteria: session.criteria_met(),
        passed_tests: session.passed_tests(),
        energy: session.energy(),
        changes: session.changed_files.len(),
        changed_files: session.changed_files.iter().take(MAX_CHANGED_FILES).cloned().collect(),
    }
}
