//! What the gate decided in a session, as `security-metrics.json` holds it.

use marvin_base::clock;
use marvin_gate::Decision;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One decision.
#[derive(Debug, Clone, Copy)]
pub struct LayerDecision {
    /// Allow, ask or deny.
    pub decision: Decision,
    /// Which layer decided.
    pub layer: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct Metrics {
    layers: BTreeMap<String, u64>,
    decisions: BTreeMap<String, u64>,
    /// Allowed without a person or a model.
    alone: u64,
    started: Option<String>,
    updated: Option<String>,
}

impl Metrics {
    pub(super) fn count(&mut self, counted: LayerDecision) {
        self.add(counted.decision.word(), counted.layer, clock::now_stamp());
    }

    pub(super) fn add(&mut self, decision: &str, layer: &str, at: String) {
        *self.layers.entry(layer.to_string()).or_default() += 1;
        *self.decisions.entry(decision.to_string()).or_default() += 1;
        if decision == "allow" && layer != "llm" {
            self.alone += 1;
        }
        self.started.get_or_insert(at.clone());
        self.updated = Some(at);
    }

    /// `None` when nothing was decided.
    pub(super) fn value(&self) -> Option<Value> {
        let total: u64 = self.decisions.values().sum();
        let of = |map: &BTreeMap<String, u64>, names: &[&str]| -> Value {
            names.iter().map(|name| ((*name).to_string(), json!(map.get(*name).unwrap_or(&0)))).collect()
        };
        let layers = ["allowlist", "denylist", "learned", "llm", "error", "catastrophe", "judge", "path"];
        (total > 0).then(|| {
            #[expect(clippy::cast_precision_loss, reason = "counts of decisions")]
            let rate = self.alone as f64 / total as f64;
            json!({
                "bySource": of(&self.layers, &layers),
                "byDecision": of(&self.decisions, &["allow", "deny", "ask"]),
                "total": total,
                "autoAcceptRate": (rate * 1_000.0).round() / 1_000.0,
                "startedAt": self.started,
                "lastUpdated": self.updated,
            })
        })
    }
}
