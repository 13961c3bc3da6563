//! Counts of the gate's decisions in a session: `security-metrics.json`.

use marvin_base::clock;
use marvin_gate::Decision;
use serde::Serialize;
use std::collections::BTreeMap;

/// A decision and the layer that made it.
#[derive(Debug, Clone, Copy)]
pub struct LayerDecision {
    pub decision: Decision,
    pub layer: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct Metrics {
    layers: BTreeMap<String, u64>,
    decisions: BTreeMap<String, u64>,
    /// Decisions that allowed without a person or a model.
    automatic: u64,
    started: Option<String>,
    updated: Option<String>,
}

/// The content of `security-metrics.json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SecurityMetrics {
    by_source: BTreeMap<&'static str, u64>,
    by_decision: BTreeMap<&'static str, u64>,
    total: u64,
    auto_accept_rate: f64,
    started_at: Option<String>,
    last_updated: Option<String>,
}

impl Metrics {
    pub(super) fn count(&mut self, counted: LayerDecision) {
        self.add(counted.decision.word(), counted.layer, clock::now_stamp());
    }

    pub(super) fn add(&mut self, decision: &str, layer: &str, at: String) {
        *self.layers.entry(layer.to_string()).or_default() += 1;
        *self.decisions.entry(decision.to_string()).or_default() += 1;
        if decision == "allow" && layer != "llm" {
            self.automatic += 1;
        }
        self.started.get_or_insert(at.clone());
        self.updated = Some(at);
    }

    /// `None` when nothing was decided.
    pub(super) fn summary(&self) -> Option<SecurityMetrics> {
        let total: u64 = self.decisions.values().sum();
        let counts = |map: &BTreeMap<String, u64>, names: &[&'static str]| {
            names.iter().map(|name| (*name, map.get(*name).copied().unwrap_or(0))).collect()
        };
        let layers = ["allowlist", "denylist", "learned", "llm", "error", "catastrophe", "judge", "path"];
        (total > 0).then(|| {
            #[expect(clippy::cast_precision_loss, reason = "counts of decisions")]
            let rate = self.automatic as f64 / total as f64;
            SecurityMetrics {
                by_source: counts(&self.layers, &layers),
                by_decision: counts(&self.decisions, &["allow", "deny", "ask"]),
                total,
                auto_accept_rate: (rate * 1_000.0).round() / 1_000.0,
                started_at: self.started.clone(),
                last_updated: self.updated.clone(),
            }
        })
    }
}
