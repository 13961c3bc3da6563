//! Metrics of a worker, in the text format of Prometheus.
//!
//! A worker counts what the server delivers to it, what becomes of it, and how busy it is. The exporter of the SDK would need
//! another metrics library and knows nothing of ends and statuses, so these counters are ours. They have names of tasks and
//! statuses as labels, no values of a run.

mod server;

pub(crate) use server::MetricsServer;

use crate::task::{AttemptDone, TaskKind};
use marvin_flow::machine;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Metric {
    Slots,
    SlotsUsed,
    Draining,
    Deliveries,
    RepeatedDeliveries,
    FailedDeliveries,
    DeliverySeconds,
    Attempts,
    FoundEnds,
    Cost,
}

/// A metric with its name, its type, the name of its label if it has one, and what it says.
struct Description(Metric, &'static str, &'static str, Option<&'static str>, &'static str);

const DESCRIPTIONS: [Description; 10] = [
    Description(Metric::Slots, "marvin_worker_slots", "gauge", None, "Tasks that the worker does at a time"),
    Description(
        Metric::SlotsUsed,
        "marvin_worker_slots_used",
        "gauge",
        None,
        "Tasks that the worker does now",
    ),
    Description(
        Metric::Draining,
        "marvin_worker_draining",
        "gauge",
        None,
        "1 when the worker was asked to end and takes no further task",
    ),
    Description(
        Metric::Deliveries,
        "marvin_deliveries_total",
        "counter",
        Some("task"),
        "Tasks that the server delivered",
    ),
    Description(
        Metric::RepeatedDeliveries,
        "marvin_deliveries_repeated_total",
        "counter",
        Some("task"),
        "Deliveries of a task that was delivered before: to a worker that was lost, or whose delivery failed",
    ),
    Description(
        Metric::FailedDeliveries,
        "marvin_deliveries_failed_total",
        "counter",
        Some("task"),
        "Deliveries without a result: the store or the workspace could not be used, or the task was cancelled",
    ),
    Description(
        Metric::DeliverySeconds,
        "marvin_delivery_seconds_total",
        "counter",
        Some("task"),
        "Time from deliveries to their ends",
    ),
    Description(
        Metric::Attempts,
        "marvin_attempts_total",
        "counter",
        Some("status"),
        "Attempts that this worker made, by the status that they ended with",
    ),
    Description(
        Metric::FoundEnds,
        "marvin_ends_found_total",
        "counter",
        Some("when"),
        "Attempts whose end another delivery created, before this one worked on it or while it did",
    ),
    Description(
        Metric::Cost,
        "marvin_cost_dollars_total",
        "counter",
        None,
        "Cost of models in attempts of this worker",
    ),
];

/// When another delivery's end was found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EndDiscovery {
    BeforeWork,
    AfterWork,
}

/// Values by metric and label; the label is empty for metrics without one.
type Values = BTreeMap<(Metric, &'static str), f64>;

/// The metrics of one worker process. Clones share the values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics {
    values: Arc<Mutex<Values>>,
}

impl Metrics {
    /// Metrics of a worker with this many slots.
    pub(crate) fn new(slots: usize) -> Self {
        let metrics = Metrics::default();
        for metric in [Metric::SlotsUsed, Metric::Draining, Metric::Cost] {
            metrics.set(metric, 0.0);
        }
        metrics.set(Metric::Slots, slots as f64);
        for kind in TaskKind::ALL {
            for metric in [Metric::Deliveries, Metric::RepeatedDeliveries, Metric::FailedDeliveries] {
                metrics.add(metric, kind.name(), 0.0);
            }
        }
        metrics
    }

    /// Counts a delivery; it ends when the value is dropped.
    pub(crate) fn begin(&self, kind: TaskKind, delivery: u32) -> Delivery {
        self.add(Metric::Deliveries, kind.name(), 1.0);
        if delivery > 1 {
            self.add(Metric::RepeatedDeliveries, kind.name(), 1.0);
        }
        self.add(Metric::SlotsUsed, "", 1.0);
        Delivery { metrics: self.clone(), kind, began: Instant::now(), has_result: false }
    }

    /// Counts an attempt that was made here.
    pub(crate) fn count_attempt(&self, done: &AttemptDone) {
        self.add(Metric::Attempts, done.reply.end.attempt.status.word(), 1.0);
        self.add(Metric::Cost, "", done.reply.cost as f64 / 1e9);
    }

    /// Counts an attempt whose end another delivery created.
    pub(crate) fn count_found(&self, when: EndDiscovery) {
        let when = match when {
            EndDiscovery::BeforeWork => "before_work",
            EndDiscovery::AfterWork => "after_work",
        };
        self.add(Metric::FoundEnds, when, 1.0);
    }

    pub(crate) fn drain(&self) {
        self.set(Metric::Draining, 1.0);
    }

    /// Whether further tasks are taken.
    fn is_draining(&self) -> bool {
        self.lock().get(&(Metric::Draining, "")).is_some_and(|value| *value > 0.0)
    }

    fn set(&self, metric: Metric, value: f64) {
        self.lock().insert((metric, ""), value);
    }

    fn add(&self, metric: Metric, label: &'static str, value: f64) {
        *self.lock().entry((metric, label)).or_default() += value;
    }

    fn lock(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The values in the text format of Prometheus, version 0.0.4.
    fn text(&self) -> String {
        let values = self.lock().clone();
        let mut text = String::new();
        for Description(metric, name, kind, label, help) in &DESCRIPTIONS {
            // Writing to a string cannot fail.
            write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n").ok();
            for ((_, value_label), value) in values.iter().filter(|((one, _), _)| one == metric) {
                match label {
                    Some(label) => writeln!(text, "{name}{{{label}=\"{value_label}\"}} {value}").ok(),
                    None => writeln!(text, "{name} {value}").ok(),
                };
            }
        }
        let (program, rules) = (env!("CARGO_PKG_VERSION"), machine::VERSION);
        write!(
            text,
            "# HELP marvin_worker_info The program of the worker, and the version of its rules\n# TYPE marvin_worker_info gauge\nmarvin_worker_info{{version=\"{program}\",rules=\"{rules}\"}} 1\n"
        )
        .ok();
        text
    }
}

/// A delivery that is being worked on.
#[derive(Debug)]
pub(crate) struct Delivery {
    metrics: Metrics,
    kind: TaskKind,
    began: Instant,
    has_result: bool,
}

impl Delivery {
    /// Notes that the delivery has a result, and does not end by a failure.
    pub(crate) fn succeed(mut self) {
        self.has_result = true;
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let time: Duration = self.began.elapsed();
        self.metrics.add(Metric::SlotsUsed, "", -1.0);
        self.metrics.add(Metric::DeliverySeconds, self.kind.name(), time.as_secs_f64());
        if !self.has_result {
            self.metrics.add(Metric::FailedDeliveries, self.kind.name(), 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_with_their_labels() {
        let metrics = Metrics::new(4);
        let (first, second) = (metrics.begin(TaskKind::Attempt, 1), metrics.begin(TaskKind::Attempt, 2));
        metrics.count_found(EndDiscovery::AfterWork);
        first.succeed();
        metrics.drain();
        let text = metrics.text();
        for line in [
            "# TYPE marvin_worker_slots gauge",
            "marvin_worker_slots 4",
            "marvin_worker_slots_used 1",
            "marvin_worker_draining 1",
            "marvin_deliveries_total{task=\"attempt\"} 2",
            "marvin_deliveries_repeated_total{task=\"attempt\"} 1",
            "marvin_deliveries_failed_total{task=\"attempt\"} 0",
            "marvin_deliveries_total{task=\"merge\"} 0",
            "marvin_ends_found_total{when=\"after_work\"} 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
        }
        drop(second);
        let text = metrics.text();
        assert!(text.contains("marvin_worker_slots_used 0\n"), "{text}");
        assert!(text.contains("marvin_deliveries_failed_total{task=\"attempt\"} 1\n"), "{text}");
        assert!(metrics.is_draining());
    }

    #[test]
    fn every_metric_is_described_once() {
        let mut described: Vec<Metric> = DESCRIPTIONS.iter().map(|one| one.0).collect();
        let names: std::collections::BTreeSet<&str> = DESCRIPTIONS.iter().map(|one| one.1).collect();
        assert_eq!(names.len(), DESCRIPTIONS.len());
        assert!(described.is_sorted());
        described.dedup();
        assert_eq!(described.len(), DESCRIPTIONS.len());
        assert_eq!(described.last(), Some(&Metric::Cost), "the last one of the enum");
    }
}
