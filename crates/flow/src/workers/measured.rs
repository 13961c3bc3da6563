//! An attempt of any worker, with what it changed.

use super::progress_of;
use crate::retry::{AttemptCounts, Progress, Snapshot, measure};
use crate::worker::{Order, Report, Worker};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// An attempt, and what the shell measured of it.
#[derive(Debug, Clone)]
pub struct MeasuredAttempt {
    /// What the worker reports.
    pub report: Report,
    /// What it changed.
    pub progress: Progress,
}

/// Lets a worker work, and measures what it changed. A role measures itself, also over a crash; of the others, who are no
/// models, the workspace is compared, and their outputs are facts.
pub async fn measured(worker: &dyn Worker, order: &Order, cancel: &CancellationToken) -> MeasuredAttempt {
    let is_role = super::ROLES.iter().any(|role| role.name() == order.worker);
    let before = (!is_role && worker.writes(order)).then(|| Snapshot::take(&order.workspace));
    let report = worker.work(order, cancel).await;
    let progress = progress_of(&report).filter(|_| is_role).unwrap_or_else(|| {
        let number = |key: &str| report.metrics.get(key).and_then(Value::as_u64);
        let counted = AttemptCounts {
            failing_tests: number("failing_tests"),
            passed_tests: number("passed_tests"),
            facts: if is_role { Value::Null } else { Value::Object(report.outputs.clone()) },
            ..AttemptCounts::default()
        };
        measure(before.as_ref(), &order.workspace, &counted)
    });
    MeasuredAttempt { report, progress }
}
