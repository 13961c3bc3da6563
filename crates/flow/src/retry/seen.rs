//! The log of all attempts in a run, built from the record in any order.

use super::attempt::Attempt;
use std::collections::BTreeMap;

/// All attempts in a run: for every call, the attempts that made it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptLog {
    calls: BTreeMap<String, BTreeMap<(String, u32), Mark>>,
}

/// Failure and artifacts of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) failure: Option<String>,
    pub(super) hash: String,
}

impl AttemptLog {
    /// Adds an attempt; adding it twice has no further effect.
    pub fn note(&mut self, step_id: &str, attempt: &Attempt) {
        let mark = Mark {
            failure: attempt.failure_signature.clone(),
            hash: attempt.progress.artifact_delta_hash.clone(),
        };
        let of_call = self.calls.entry(attempt.call_signature.clone()).or_default();
        of_call.insert((step_id.to_string(), attempt.attempt_id), mark);
    }

    /// Marks of a call in attempts other than these of a step.
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
}
