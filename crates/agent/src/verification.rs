//! Verification of a turn: a final answer is a claim, which counts when all commitments hold.
//!
//! A [`Verifier`] verifies a claim by the commitments of documents of the store, all of them again from scratch, outside the
//! agent's session; or, in a replay, by the recorded results. Commitments that the shell itself added for the agent are also kept
//! in memory, so that rewriting the record does not help.

use crate::commitments::{self, Commitment, CommitmentResult, Kind, PROJECT, Report, Status, TurnBaseline};
use crate::project_context::ProjectContext;
use marvin_base::run_record::VerificationRecord;
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Characters of the feedback to the agent.
const MAX_FEEDBACK_CHARS: usize = 8_000;

#[derive(Debug, Clone, Default)]
pub struct VerificationResult {
    /// Whether everything holds.
    pub verified: bool,
    pub interrupted: bool,
    /// Whether there was nothing to verify.
    pub empty: bool,
    /// One line.
    pub summary: String,
    /// Text for the agent.
    pub feedback: String,
    /// Text for people.
    pub text: String,
    /// Commitment by commitment.
    pub report: Value,
}

impl VerificationResult {
    fn from_report(report: &Report) -> Self {
        VerificationResult {
            verified: report.verified(),
            interrupted: report.interrupted,
            empty: report.is_empty() && !report.interrupted,
            summary: report.summary(),
            feedback: report.feedback(MAX_FEEDBACK_CHARS),
            text: report.text(),
            report: report.json(),
        }
    }

    /// Tests that passed and failed, and the ids of the commitments that do not hold.
    #[must_use]
    pub fn figures(&self) -> (Option<(u64, u64)>, Vec<String>) {
        let all = self.report.get("commitments").and_then(Value::as_array);
        let (mut tests, mut open) = (None, Vec::new());
        for one in all.into_iter().flatten() {
            let number = |key: &str| one.pointer(&format!("/tests/{key}")).and_then(Value::as_u64);
            if let (Some(passed), Some(failed)) = (number("passed"), number("failed")) {
                let (before, also) = tests.unwrap_or((0, 0));
                tests = Some((before + passed, also + failed));
            }
            if one.get("status").and_then(Value::as_str) != Some(Status::Passed.word()) {
                open.extend(one.get("id").and_then(Value::as_str).map(str::to_string));
            }
        }
        open.sort();
        (tests, open)
    }

    /// As a recorded run keeps it, for a replay.
    #[must_use]
    pub fn record(&self) -> VerificationRecord {
        VerificationRecord {
            verified: self.verified,
            empty: self.empty,
            summary: self.summary.clone(),
            feedback: self.feedback.clone(),
            report: self.report.clone(),
        }
    }

    fn recorded(record: &VerificationRecord) -> Self {
        VerificationResult {
            verified: record.verified,
            interrupted: false,
            empty: record.empty,
            summary: record.summary.clone(),
            feedback: record.feedback.clone(),
            text: record.summary.clone(),
            report: record.report.clone(),
        }
    }
}

/// All verifications of a turn.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Every verification, in order; the last is the one that counts.
    pub proved: Vec<VerificationResult>,
    /// Commitments at the end of the turn, where nothing was verified.
    pub promised: Vec<OpenCommitment>,
}

/// A commitment of a turn that ended before it was verified.
#[derive(Debug, Clone, Serialize)]
pub struct OpenCommitment {
    document: String,
    id: String,
    description: String,
    kind: Kind,
    assertion: String,
    status: Status,
    reason: &'static str,
}

/// The report of a turn in which nothing was verified.
#[derive(Serialize)]
struct EmptyReport<'a> {
    status: &'static str,
    rounds: usize,
    commitments: &'a [OpenCommitment],
    problems: [&'a str; 0],
}

impl Verification {
    #[must_use]
    pub fn last(&self) -> Option<&VerificationResult> {
        self.proved.last()
    }

    /// For the result of a turn: `status` is `none`, `passed`, `failed`, or `not_run` where a turn ended before anything
    /// could be verified.
    #[must_use]
    pub fn json(&self) -> Value {
        let Some(last) = self.last() else {
            let status = if self.promised.is_empty() { "none" } else { "not_run" };
            let report = EmptyReport { status, rounds: 0, commitments: &self.promised, problems: [] };
            return serde_json::to_value(report).unwrap_or_default();
        };
        let mut value = last.report.clone();
        if let Value::Object(map) = &mut value {
            let status = match (last.empty, last.verified, last.interrupted) {
                (true, ..) => "none",
                (_, true, _) => "passed",
                (_, _, true) => "not_run",
                _ => "failed",
            };
            map.insert("status".into(), status.into());
            map.insert("rounds".into(), self.proved.len().into());
        }
        value
    }
}

/// Verifies the claim of a turn.
#[derive(Debug)]
pub struct Verifier {
    by: ProofSource,
    /// How often an answer is sent back because something does not hold.
    pub rounds: usize,
}

#[derive(Debug)]
enum ProofSource {
    Documents {
        project: Arc<ProjectContext>,
        /// The agent's own document, and the commitments that the shell itself added.
        own: Option<(String, Vec<Commitment>)>,
        /// Whether the project's commitments count too.
        with_project: bool,
        /// The project before the work.
        baseline: TurnBaseline,
    },
    Recording(Mutex<VecDeque<VerificationResult>>),
}

impl Verifier {
    /// By the commitments of an agent's own document (`own`, with those that the shell itself added) and, `with_project`, by
    /// those of the project, which count only when something was changed.
    #[must_use]
    pub fn documents(
        project: Arc<ProjectContext>,
        own: Option<(&str, Vec<Commitment>)>,
        with_project: bool,
        rounds: usize,
    ) -> Self {
        let own = own.map(|(id, promised)| (id.to_string(), promised));
        Verifier {
            by: ProofSource::Documents { project, own, with_project, baseline: TurnBaseline::default() },
            rounds,
        }
    }

    /// The same, judged by the project as it is now: called before the agent works.
    #[must_use]
    pub fn beginning_now(mut self) -> Self {
        if let ProofSource::Documents { project, own, with_project, baseline } = &mut self.by {
            let promised = own.iter().flat_map(|(_, promised)| promised);
            let has_tests = promised.into_iter().any(commitments::runs_tests);
            *baseline = TurnBaseline::take(project, *with_project, has_tests);
        }
        self
    }

    /// By the results of a recorded run.
    #[must_use]
    pub fn recording(kept: &[VerificationRecord], rounds: usize) -> Self {
        let proved = kept.iter().map(VerificationResult::recorded).collect();
        Verifier { by: ProofSource::Recording(Mutex::new(proved)), rounds }
    }

    /// Documents to verify, with the commitments that the shell itself added.
    fn scope(&self, changed: bool) -> Vec<(&str, &[Commitment])> {
        let ProofSource::Documents { project, own, with_project, .. } = &self.by else { return Vec::new() };
        let own = own.iter().map(|(id, promised)| (id.as_str(), promised.as_slice()));
        // A turn that only read has done no work in the project; one with commitments has.
        let given = own.clone().any(|(_, promised)| !promised.is_empty());
        let of_project = (*with_project && (changed || given)).then_some((PROJECT, [].as_slice()));
        let asked = |(id, promised): &(&str, &[Commitment])| {
            !promised.is_empty() || commitments::promises(&project.layout, id)
        };
        own.chain(of_project).filter(asked).collect()
    }

    /// Whether there is anything to verify.
    #[must_use]
    pub fn applies(&self, changed: bool) -> bool {
        match &self.by {
            ProofSource::Documents { .. } => !self.scope(changed).is_empty(),
            ProofSource::Recording(proved) => {
                !proved.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
            }
        }
    }

    /// Verifies everything again from scratch.
    pub async fn verify(
        &self,
        changed: bool,
        cancel: &CancellationToken,
        notice: &mut (dyn FnMut(&CommitmentResult) + Send),
    ) -> VerificationResult {
        match &self.by {
            ProofSource::Documents { project, baseline, .. } => {
                let scope = self.scope(changed);
                VerificationResult::from_report(
                    &commitments::verify_documents(project, &scope, baseline, cancel, notice).await,
                )
            }
            ProofSource::Recording(proved) => {
                proved.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default()
            }
        }
    }

    /// Commitments, for a result in which nothing was verified.
    #[must_use]
    pub fn promised(&self, changed: bool) -> Vec<OpenCommitment> {
        let ProofSource::Documents { project, .. } = &self.by else { return Vec::new() };
        let store = commitments::Store::from_layout(&project.layout);
        let mut rows = Vec::new();
        for (id, promised) in self.scope(changed) {
            let document = store.as_ref().and_then(|store| store.read(id).ok());
            let all = document.map_or_else(|| promised.to_vec(), |document| document.commitments);
            rows.extend(all.into_iter().map(|one| OpenCommitment {
                document: id.to_string(),
                id: one.id,
                description: one.description,
                kind: one.kind,
                assertion: one.assertion,
                status: Status::Pending,
                reason: "the turn ended before it was verified",
            }));
        }
        rows
    }
}
