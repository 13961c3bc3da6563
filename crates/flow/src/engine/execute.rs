//! Executors: each makes one attempt and measures its effects.

use super::{EngineError, Outcome, worktree};
use crate::record::Artifact;
use crate::retry::{AttemptCounts, Progress, Snapshot, measure};
use crate::spec::Schema;
use crate::worker::{Order, Report, Status, Worker};
use crate::workers::progress_of;
use futures_util::FutureExt;
use marvin_agent::ProjectContext;
use marvin_base::files::{self, Links};
use marvin_base::redact::Redactor;
use marvin_base::{signature, truncate};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::sync::{mpsc::UnboundedReceiver, oneshot};
use tokio_util::sync::CancellationToken;

/// How long a cancelled worker may take to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of an artifact that are hashed.
const MAX_HASHED_BYTES: u64 = 256 * 1024 * 1024;
const MAX_ARTIFACTS: usize = 1_000;
/// Bytes of the outputs of one attempt, as JSON.
const MAX_OUTPUTS_BYTES: usize = 4 * 1024 * 1024;

/// A message to the dispatcher.
#[derive(Debug)]
pub(crate) enum Event {
    Finished(u32, Box<AttemptResult>),
    /// The changes in a worktree were merged into the workspace, or conflict with it.
    Merged(u32, Box<AttemptResult>),
    /// The run was cancelled.
    Stop,
}

#[derive(Debug)]
pub(crate) struct AttemptResult {
    pub(crate) order: Order,
    pub(crate) report: Report,
    pub(crate) progress: Progress,
    pub(crate) artifacts: Vec<Artifact>,
    /// It was cancelled, so its effects are not known.
    pub(crate) stopped: bool,
}

/// A job for an executor.
#[derive(Debug)]
pub(super) enum Job {
    Attempt(Box<Start>),
    /// Merge the changes in a worktree into the workspace.
    Merge(u32, Box<AttemptResult>),
}

/// An attempt to be made.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) step: u32,
    pub(crate) order: Order,
    pub(crate) worker: Arc<dyn Worker>,
    pub(crate) writes: bool,
    pub(crate) worktree: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) outputs_schema: Option<Arc<Schema>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Executors {
    events: mpsc::Sender<Event>,
    cancel: CancellationToken,
    redactor: Arc<Redactor>,
    project: Arc<ProjectContext>,
}

impl Executors {
    pub(crate) fn new(
        events: mpsc::Sender<Event>,
        cancel: CancellationToken,
        redactor: Arc<Redactor>,
        project: Arc<ProjectContext>,
    ) -> Self {
        Executors { events, cancel, redactor, project }
    }

    /// Starts the jobs of the dispatcher until it returns an outcome.
    pub(super) async fn serve(
        self,
        mut orders: UnboundedReceiver<Job>,
        mut finished: oneshot::Receiver<Result<Outcome, EngineError>>,
    ) -> Result<Outcome, EngineError> {
        loop {
            tokio::select! {
                biased;
                result = &mut finished => {
                    return result.unwrap_or_else(|_| Err(EngineError::Internal("the dispatcher panicked".into())));
                }
                Some(job) = orders.recv() => {
                    let one = self.clone();
                    tokio::spawn(async move {
                        let event = match job {
                            Job::Attempt(start) => {
                                let step = start.step;
                                Event::Finished(step, Box::new(one.attempt(*start).await))
                            }
                            Job::Merge(step, done) => {
                                Event::Merged(step, Box::new(worktree::merge(&one.project, *done, &|| Ok(())).await))
                            }
                        };
                        one.events.send(event).ok();
                    });
                }
            }
        }
    }

    /// Makes one attempt.
    pub(crate) async fn attempt(&self, start: Start) -> AttemptResult {
        let Start { order, worker, writes, worktree, timeout, outputs_schema, .. } = start;
        if worktree && let Err(report) = worktree::create(&self.project, &order, &self.cancel).await {
            let stopped = self.cancel.is_cancelled();
            return AttemptResult {
                order,
                report,
                progress: Progress::default(),
                artifacts: Vec::new(),
                stopped,
            };
        }
        let workspace = order.workspace.clone();
        let facts = worker.gives_facts();
        // Roles measure their changes themselves, since their attempts survive a crash.
        let before = match writes && facts {
            true => {
                let place = workspace.clone();
                tokio::task::spawn_blocking(move || Snapshot::take(&place)).await.ok()
            }
            false => None,
        };
        let (mut report, stopped) = self.work(&order, worker.as_ref(), timeout).await;
        if report.call_id != order.call_id {
            let text = format!("the worker replied to another call: {}", truncate::line(&report.call_id, 80));
            report = Report::failed(&order, "worker-wrong-call", text);
        }
        self.sanitize(&mut report, &order);
        if report.status == Status::Success
            && let Some(schema) = &outputs_schema
            && let Some(complaint) = schema.complaint(&Value::Object(report.outputs.clone()))
        {
            report.status = Status::Failure;
            report.failure_signature = Some("outputs-schema".into());
            report.summary = format!("its outputs do not match its outputs_schema: {complaint}");
        }
        let measured = if facts { None } else { progress_of(&report) };
        let facts = if facts { Value::Object(report.outputs.clone()) } else { Value::Null };
        let paths = std::mem::take(&mut report.artifacts);
        let number = |key: &str| report.metrics.get(key).and_then(Value::as_u64);
        let counted = AttemptCounts {
            failing_tests: number("failing_tests"),
            passed_tests: number("passed_tests"),
            model_calls: number("model_calls").unwrap_or(0),
            tool_calls: number("tool_calls").unwrap_or(0),
            iteration_count: number("iteration_count").unwrap_or(0),
            facts,
        };
        let measuring = tokio::task::spawn_blocking(move || {
            let progress = measured.unwrap_or_else(|| measure(before.as_ref(), &workspace, &counted));
            (progress, artifacts(&workspace, paths))
        });
        let (progress, artifacts) = measuring.await.unwrap_or_default();
        let (artifacts, missing) = artifacts;
        if let Some(missing) = missing
            && report.status == Status::Success
        {
            report.status = Status::Failure;
            report.failure_signature = Some("artifact-missing".into());
            report.summary = format!("it reported the artifact {missing}, which does not exist");
        }
        report.artifacts = artifacts.iter().map(|artifact| artifact.path.clone()).collect();
        AttemptResult { order, report, progress, artifacts, stopped }
    }

    /// Runs the worker within its timeout; a worker that panics has failed.
    async fn work(&self, order: &Order, worker: &dyn Worker, timeout: Option<Duration>) -> (Report, bool) {
        let token = self.cancel.child_token();
        let work = AssertUnwindSafe(worker.work(order, &token)).catch_unwind();
        tokio::pin!(work);
        let late = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let mut is_late = false;
        let result = tokio::select! {
            biased;
            result = &mut work => Some(result),
            () = self.cancel.cancelled() => tokio::time::timeout(CANCEL_TIMEOUT, &mut work).await.ok(),
            () = late => {
                is_late = true;
                token.cancel();
                tokio::time::timeout(CANCEL_TIMEOUT, &mut work).await.ok()
            }
        };
        let stopped = self.cancel.is_cancelled();
        let report = match result {
            Some(Ok(report)) if is_late && report.status != Status::Success => {
                let seconds = timeout.unwrap_or_default().as_secs();
                Report::failed(order, "timeout", format!("not done after {seconds} s: {}", report.summary))
            }
            Some(Ok(report)) => report,
            Some(Err(_)) => Report::failed(order, "worker-broke", "the worker panicked"),
            None => Report::failed(order, "timeout", "it was cancelled, and did not end"),
        };
        let stopped = stopped && report.status != Status::Success;
        (report, stopped)
    }

    /// Redacts a report and limits its size.
    fn sanitize(&self, report: &mut Report, order: &Order) {
        let mut outputs = Value::Object(std::mem::take(&mut report.outputs));
        self.redactor.value(&mut outputs);
        if let Value::Object(outputs) = outputs {
            report.outputs = outputs;
        }
        report.summary = truncate::head(&self.redactor.text(&report.summary), 4_000);
        if let Some(failure) = &mut report.failure_signature {
            *failure = truncate::line(&self.redactor.text(failure), 200);
        }
        if serde_json::to_string(&report.outputs).map_or(0, |text| text.len()) > MAX_OUTPUTS_BYTES {
            let text =
                format!("its outputs have more than {MAX_OUTPUTS_BYTES} bytes; leave large values in files");
            *report = Report::failed(order, "outputs-too-large", text);
        }
    }
}

/// Hashes the artifacts that an attempt reported; also gives the first that does not exist in the workspace.
fn artifacts(workspace: &Path, paths: Vec<String>) -> (Vec<Artifact>, Option<String>) {
    let mut found = Vec::new();
    let mut missing = None;
    for path in paths.into_iter().take(MAX_ARTIFACTS) {
        match hash(workspace, &path) {
            Some((sha256, bytes)) => found.push(Artifact { path, sha256, bytes }),
            None => missing = missing.or(Some(path)),
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup();
    (found, missing)
}

/// The hash and size of a file in the workspace; none for a path that leads out of it.
pub(super) fn hash(workspace: &Path, path: &str) -> Option<(String, u64)> {
    let place: PathBuf = workspace.join(path);
    let inside = Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let real = place.canonicalize().ok()?;
    if !inside || !real.starts_with(workspace.canonicalize().ok()?) {
        return None;
    }
    let facts = real.metadata().ok()?;
    let bytes = files::read(&real, MAX_HASHED_BYTES, Links::Refuse).ok()?;
    Some((signature::hash_bytes(&bytes), facts.len()))
}
