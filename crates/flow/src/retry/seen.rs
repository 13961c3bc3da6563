//! Everything that was tried in a run. It is built from the record, in whatever order that is read.

use super::Attempt;
use super::graph::Delegations;
use std::collections::BTreeMap;

/// What was tried in a run: for every call, the attempts that made it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptLog {
    calls: BTreeMap<String, BTreeMap<(String, u32), Mark>>,
    delegations: Delegations,
}

/// What counts of an attempt besides its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) failure: Option<String>,
    pub(super) hash: String,
}

impl AttemptLog {
    /// Writes down an attempt. The same attempt twice is one.
    pub fn note(&mut self, step_id: &str, attempt: &Attempt) {
        let mark = Mark {
            failure: attempt.failure_signature.clone(),
            hash: attempt.progress.artifact_delta_hash.clone(),
        };
        let of_call = self.calls.entry(attempt.call_signature.clone()).or_default();
        of_call.insert((step_id.to_string(), attempt.attempt_id), mark);
    }

    /// Writes down that one call handed work to another.
    pub fn note_delegation(&mut self, parent: &str, child: &str) {
        self.delegations.note(parent, child);
    }

    /// Whether a call was made in this run.
    #[must_use]
    pub fn knows(&self, call_signature: &str) -> bool {
        self.calls.contains_key(call_signature)
    }

    /// What came of a call in other attempts than these of a step.
    pub(super) fn elsewhere<'a>(
        &'a self,
        call_signature: &str,
        step_id: &'a str,
        attempts: &'a [Attempt],
    ) -> impl Iterator<Item = &'a Mark> {
        let is_known = move |step: &str, number: u32| {
            step == step_id && attempts.iter().any(|attempt| attempt.attempt_id == number)
        };
        let of_call = self.calls.get(call_signature).into_iter().flatten();
        of_call.filter(move |((step, number), _)| !is_known(step, *number)).map(|(_, mark)| mark)
    }

    /// Which call led to which: work that was handed on, and these attempts, which followed each other.
    #[must_use]
    pub fn graph(&self, attempts: &[Attempt]) -> Delegations {
        let mut graph = self.delegations.clone();
        for (before, after) in attempts.iter().zip(attempts.iter().skip(1)) {
            if before.call_signature != after.call_signature {
                graph.note(&before.call_signature, &after.call_signature);
            }
        }
        graph
    }
}
