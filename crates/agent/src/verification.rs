//! The prove stage: a final answer is a claim, and a claim counts when everything that was promised holds.
//!
//! A [`Verifier`] says how a turn's claim is verified: by the commitments of one document of the store, all of them again
//! from scratch, outside the agent's session; or, in a replay, by what was found then. What the shell itself promised
//! for the agent is kept in memory besides, so that rewriting the record does not help.

use crate::commitments::{self, Commitment, CommitmentResult, PROJECT, Report, TurnBaseline};
use crate::project_context::ProjectContext;
use marvin_base::run_record::VerificationRecord;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Characters of what the agent is told.
const FEEDBACK: usize = 8_000;

/// What came of one verification.
#[derive(Debug, Clone, Default)]
pub struct VerificationResult {
    /// Whether everything holds.
    pub verified: bool,
    /// Whether it was broken off.
    pub interrupted: bool,
    /// Whether there was nothing to verify.
    pub empty: bool,
    /// One line.
    pub summary: String,
    /// What the agent is told.
    pub feedback: String,
    /// What people are told.
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
            feedback: report.feedback(FEEDBACK),
            text: report.text(),
            report: report.json(),
        }
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

/// Everything that was verified in a turn.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Every verification, in order; the last is the one that counts.
    pub proved: Vec<VerificationResult>,
    /// What was promised when the turn ended, as far as nothing was verified.
    pub promised: Vec<Value>,
}

impl Verification {
    /// The last verification.
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
            return json!({"status": status, "rounds": 0, "commitments": self.promised, "problems": []});
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

/// How a claim is verified.
#[derive(Debug)]
pub struct Verifier {
    by: ProofSource,
    /// How often an answer is sent back because something does not hold.
    pub rounds: usize,
}

#[derive(Debug)]
enum ProofSource {
    Documents {
        ground: Arc<ProjectContext>,
        /// The agent's own, and what the shell itself put there.
        own: Option<(String, Vec<Commitment>)>,
        /// Whether what must hold in the project counts too.
        project: bool,
        /// The project before the work.
        baseline: TurnBaseline,
    },
    Recording(Mutex<VecDeque<VerificationResult>>),
}

impl Verifier {
    /// By the commitments of an agent's own document (`own`, with what the shell itself put there) and, where `project` says
    /// so, by what must hold in the project: of that only when something was changed.
    #[must_use]
    pub fn documents(
        ground: Arc<ProjectContext>,
        own: Option<(&str, Vec<Commitment>)>,
        project: bool,
        rounds: usize,
    ) -> Self {
        let own = own.map(|(id, promised)| (id.to_string(), promised));
        Verifier {
            by: ProofSource::Documents { ground, own, project, baseline: TurnBaseline::default() },
            rounds,
        }
    }

    /// The same, judged by the project as it is now: called before the agent works.
    #[must_use]
    pub fn beginning_now(mut self) -> Self {
        if let ProofSource::Documents { ground, own, project, baseline } = &mut self.by {
            let promised = own.iter().flat_map(|(_, promised)| promised);
            let has_tests = promised.into_iter().any(commitments::runs_tests);
            *baseline = TurnBaseline::take(ground, *project, has_tests);
        }
        self
    }

    /// By what a recorded run found.
    #[must_use]
    pub fn recording(kept: &[VerificationRecord], rounds: usize) -> Self {
        let proved = kept.iter().map(VerificationResult::recorded).collect();
        Verifier { by: ProofSource::Recording(Mutex::new(proved)), rounds }
    }

    /// What is to be verified: documents, with what the shell itself put there. Nothing where nothing was promised.
    fn scope(&self, changed: bool) -> Vec<(&str, &[Commitment])> {
        let ProofSource::Documents { ground, own, project, .. } = &self.by else { return Vec::new() };
        let own = own.iter().map(|(id, promised)| (id.as_str(), promised.as_slice()));
        // A turn that only looked has done no work in the project; one that promised something has.
        let given = own.clone().any(|(_, promised)| !promised.is_empty());
        let project = (*project && (changed || given)).then_some((PROJECT, [].as_slice()));
        let asked = |(id, promised): &(&str, &[Commitment])| {
            !promised.is_empty() || commitments::promises(&ground.layout, id)
        };
        own.chain(project).filter(asked).collect()
    }

    /// Is there anything to verify?
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
            ProofSource::Documents { ground, baseline, .. } => {
                let scope = self.scope(changed);
                VerificationResult::from_report(
                    &commitments::verify_documents(ground, &scope, baseline, cancel, notice).await,
                )
            }
            ProofSource::Recording(proved) => {
                proved.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default()
            }
        }
    }

    /// What is promised, for a result in which nothing was verified.
    #[must_use]
    pub fn promised(&self, changed: bool) -> Vec<Value> {
        let ProofSource::Documents { ground, .. } = &self.by else { return Vec::new() };
        let store = commitments::Store::from_layout(&ground.layout);
        let mut rows = Vec::new();
        for (id, promised) in self.scope(changed) {
            let document = store.as_ref().and_then(|store| store.read(id).ok());
            let all = document.map_or_else(|| promised.to_vec(), |document| document.commitments);
            rows.extend(all.iter().map(|one| {
                json!({
                    "document": id, "id": one.id, "description": one.description, "kind": one.kind,
                    "assertion": one.assertion, "status": "pending", "reason": "the turn ended before it was verified",
                })
            }));
        }
        rows
    }
}
