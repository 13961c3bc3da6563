//! Closing a session: one `result`, `run.json`, and the cost of the run.

use super::Session;
use crate::error::SessionError;
use crate::outcome::Outcome;
use crate::verification::VerificationResult;
use marvin_base::run_record::{RunRecord, TurnRecord};
use marvin_base::settings::table;
use marvin_base::trace_event::TurnResult;
use marvin_base::{atomic, clock, signature};
use marvin_model::cost::Lifetime;
use serde_json::Value;

impl Session {
    /// Writes the one `result`, `run.json` and lifetime usage, and forces the record to the disk.
    pub(super) fn close(&mut self, outcome: &Outcome) -> Result<(), SessionError> {
        let totals = self.cost.totals()?;
        let duration = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        let structured = || serde_json::from_str(&outcome.text).unwrap_or(Value::Null);
        let result = TurnResult {
            status: outcome.status.name().to_string(),
            reason: outcome.reason.to_string(),
            exit_code: outcome.status.exit().code(),
            text: outcome.text.clone(),
            error: outcome.error.clone(),
            failure_signature: outcome.failure_signature.clone(),
            data: Value::Object(outcome.data.clone()),
            verification: outcome.verification.json(),
            cost: totals.report(),
            rounds: outcome.rounds as u64,
            tool_calls: outcome.calls as u64,
            duration_ms: duration,
            run_id: Some(self.run.id().to_string()),
            run_path: Some(self.run.path().display().to_string()),
            tampered: self.trace.tampered(),
            structured_output: self.turn.response_schema.as_ref().map(|_| structured()),
        };
        let turn = TurnRecord {
            result: Some(self.trace.within_text(&outcome.text, 4_000)),
            result_signature: Some(signature::hash_bytes(self.redactor.text(&outcome.text).as_bytes())),
            verifications: outcome.verification.proved.iter().map(VerificationResult::record).collect(),
            ..*self.record.turn.take().unwrap_or_default()
        };
        self.record = RunRecord {
            status: Some(outcome.status.into()),
            end_reason: Some(outcome.reason.to_string()),
            ended_at: Some(clock::now_stamp()),
            tool_call_count: Some(result.tool_calls),
            cost: Some(result.cost.clone()),
            exit_code: Some(result.exit_code),
            verification: Some(self.trace.within(&result.verification, 2_000)),
            tampered: result.tampered.clone(),
            turn: Some(Box::new(turn)),
            ..std::mem::take(&mut self.record)
        };
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
                self.trace.notice(text)?;
            }
        }
        self.trace.event(result)?;
        self.trace.sync()?;
        Ok(())
    }
}
