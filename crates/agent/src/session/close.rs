//! What a session leaves: one `result`, `run.json`, and what its run cost.

use super::{Session, SessionError};
use crate::outcome::Outcome;
use crate::verification::VerificationResult;
use marvin_base::settings::table;
use marvin_base::{atomic, clock, signature};
use marvin_model::cost::Lifetime;
use serde_json::{Value, json};

impl Session {
    /// Writes the one `result`, `run.json` and lifetime usage, and forces the record to the disk.
    pub(super) fn close(&mut self, outcome: &Outcome) -> Result<(), SessionError> {
        let totals = self.cost.totals()?;
        let duration = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut result = json!({
            "status": outcome.status.name(),
            "reason": outcome.reason,
            "exit_code": outcome.status.exit().code(),
            "text": outcome.text,
            "error": outcome.error,
            "failure_signature": outcome.failure_signature,
            "data": outcome.data,
            "verification": outcome.verification.json(),
            "cost": totals.report(),
            "rounds": outcome.rounds,
            "tool_calls": outcome.calls,
            "duration_ms": duration,
            "run_id": self.run.id(),
            "run_path": self.run.path().display().to_string(),
        });
        let tampered = self.trace.tampered();
        if let (Some(map), false) = (result.as_object_mut(), tampered.is_empty()) {
            map.insert("tampered".into(), json!(tampered));
            self.facts.insert("tampered".into(), json!(tampered));
        }
        if let (Some(map), true) = (result.as_object_mut(), self.turn.response_schema.is_some()) {
            let structured = serde_json::from_str(&outcome.text).unwrap_or(Value::Null);
            map.insert("structured_output".into(), structured);
        }
        for (key, value) in [
            ("status", json!(outcome.status.name())),
            ("endReason", json!(outcome.reason)),
            ("endedAt", json!(clock::now_stamp())),
            ("toolCallCount", json!(outcome.calls)),
            ("cost", totals.report()),
            ("exitCode", json!(outcome.status.exit().code())),
            ("result", self.trace.within(&json!(outcome.text), 4_000)),
            ("verification", self.trace.within(&outcome.verification.json(), 2_000)),
            ("verifications", outcome.verification.proved.iter().map(VerificationResult::kept).collect()),
            ("resultSignature", json!(signature::hash_bytes(self.redactor.text(&outcome.text).as_bytes()))),
        ] {
            self.facts.insert(key.into(), value);
        }
        self.save()?;
        if let Some(metrics) = self.layers.log().and_then(marvin_gate::layers::Log::metrics) {
            atomic::replace(
                &self.run.path().join("security-metrics.json"),
                format!("{metrics:#}\n").as_bytes(),
            )?;
        }
        // A replay spends nothing; a sub-agent's spending is counted by the outermost process.
        if self.replay.is_none() && self.settings.whole(&table::DEPTH) == 0 {
            // Usage over a lifetime is a convenience: a damaged file must not fail a run that is done.
            if let Err(error) = Lifetime::add(&self.layout.usage(), &totals, &self.cost.calls()) {
                let text = format!("{} was not updated: {error}", self.layout.usage().display());
                self.trace.event("notice", json!({ "text": text }))?;
            }
        }
        self.trace.event("result", result)?;
        self.trace.sync()?;
        Ok(())
    }
}
