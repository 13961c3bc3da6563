//! Executors: each makes one attempt, and measures what came of it.

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

/// How long a worker may take to end once it was told to.
const GRACE: Duration = Duration::from_secs(15);
/// The largest artifact that is hashed whole, in bytes; of a larger one the beginning.
const MAX_HASHED_BYTES: u64 = 256 * 1024 * 1024;
/// The most artifacts of one attempt.
const MAX_ARTIFACTS: usize = 1_000;
/// The most bytes of outputs of one attempt.
const OUTPUTS: usize = 4 * 1024 * 1024;

/// What the dispatcher is told.
#[derive(Debug)]
pub(super) enum Event {
    /// An attempt is over.
    Finished(u32, Box<AttemptResult>),
    /// What an attempt changed in its worktree is in the workspace, or does not fit.
    Merged(u32, Box<AttemptResult>),
    /// Somebody wants everything to stop.
    Stop,
}

/// What came of an attempt.
#[derive(Debug)]
pub(super) struct AttemptResult {
    pub(super) order: Order,
    pub(super) report: Report,
    pub(super) progress: Progress,
    pub(super) artifacts: Vec<Artifact>,
    /// It was ended because everything stops; what it did is not known.
    pub(super) stopped: bool,
}

/// What an executor is to do.
#[derive(Debug)]
pub(super) enum Job {
    /// Make an attempt.
    Attempt(Box<Start>),
    /// Put what an attempt changed in its worktree into the workspace.
    Merge(u32, Box<AttemptResult>),
}

/// An attempt that is to be made.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) step: u32,
    pub(super) order: Order,
    pub(super) worker: Arc<dyn Worker>,
    pub(super) writes: bool,
    pub(super) worktree: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) outputs_schema: Option<Arc<Schema>>,
}

/// The executors of a run.
#[derive(Debug, Clone)]
pub(super) struct Executors {
    events: mpsc::Sender<Event>,
    cancel: CancellationToken,
    redactor: Arc<Redactor>,
    ground: Arc<ProjectContext>,
}

impl Executors {
    pub(super) fn new(
        events: mpsc::Sender<Event>,
        cancel: CancellationToken,
        redactor: Arc<Redactor>,
        ground: Arc<ProjectContext>,
    ) -> Self {
        Executors { events, cancel, redactor, ground }
    }

    /// Starts what the dispatcher wants started, until the dispatcher is done.
    pub(super) async fn serve(
        self,
        mut orders: UnboundedReceiver<Job>,
        mut finished: oneshot::Receiver<Result<Outcome, EngineError>>,
    ) -> Result<Outcome, EngineError> {
        loop {
            tokio::select! {
                biased;
                result = &mut finished => {
                    return result.unwrap_or_else(|_| Err(EngineError::Broken("the dispatcher broke".into())));
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
                                Event::Merged(step, Box::new(worktree::merge(&one.ground, *done).await))
                            }
                        };
                        one.events.send(event).ok();
                    });
                }
            }
        }
    }

    async fn attempt(&self, start: Start) -> AttemptResult {
        let Start { order, worker, writes, worktree, timeout, outputs_schema, .. } = start;
        if worktree && let Err(report) = worktree::make(&self.ground, &order, &self.cancel).await {
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
        // Roles measure themselves, also over a crash.
        let before = match writes && facts {
            true => {
                let place = workspace.clone();
                tokio::task::spawn_blocking(move || Snapshot::take(&place)).await.ok()
            }
            false => None,
        };
        let (mut report, stopped) = self.work(&order, worker.as_ref(), timeout).await;
        if report.call_id != order.call_id {
            let text = format!("the worker answered another call: {}", truncate::line(&report.call_id, 80));
            report = Report::failed(&order, "worker-wrong-call", text);
        }
        self.clean(&mut report, &order);
        if report.status == Status::Success
            && let Some(schema) = &outputs_schema
            && let Some(complaint) = schema.complaint(&Value::Object(report.outputs.clone()))
        {
            report.status = Status::Failure;
            report.failure_signature = Some("outputs-schema".into());
            report.summary = format!("its outputs do not fit its outputs_schema: {complaint}");
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
        let looked = tokio::task::spawn_blocking(move || {
            let progress = measured.unwrap_or_else(|| measure(before.as_ref(), &workspace, &counted));
            (progress, artifacts(&workspace, paths))
        });
        let (progress, artifacts) = looked.await.unwrap_or_default();
        let (artifacts, missing) = artifacts;
        if let Some(missing) = missing
            && report.status == Status::Success
        {
            report.status = Status::Failure;
            report.failure_signature = Some("artifact-missing".into());
            report.summary = format!("it says that it made {missing}, and that is not there");
        }
        report.artifacts = artifacts.iter().map(|artifact| artifact.path.clone()).collect();
        AttemptResult { order, report, progress, artifacts, stopped }
    }

    /// Lets the worker work, within its time; a worker that breaks has failed.
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
            () = self.cancel.cancelled() => tokio::time::timeout(GRACE, &mut work).await.ok(),
            () = late => {
                is_late = true;
                token.cancel();
                tokio::time::timeout(GRACE, &mut work).await.ok()
            }
        };
        let stopped = self.cancel.is_cancelled();
        let report = match result {
            Some(Ok(report)) if is_late && report.status != Status::Success => {
                let seconds = timeout.unwrap_or_default().as_secs();
                Report::failed(order, "timeout", format!("not done after {seconds} s: {}", report.summary))
            }
            Some(Ok(report)) => report,
            Some(Err(_)) => Report::failed(order, "worker-broke", "the worker broke; this is a fault of it"),
            None => Report::failed(order, "timeout", "it was told to end, and did not"),
        };
        let stopped = stopped && report.status != Status::Success;
        (report, stopped)
    }

    /// Nothing secret is written down, and nothing without bounds.
    fn clean(&self, report: &mut Report, order: &Order) {
        let mut outputs = Value::Object(std::mem::take(&mut report.outputs));
        self.redactor.value(&mut outputs);
        if let Value::Object(outputs) = outputs {
            report.outputs = outputs;
        }
        report.summary = truncate::head(&self.redactor.text(&report.summary), 4_000);
        if let Some(failure) = &mut report.failure_signature {
            *failure = truncate::line(&self.redactor.text(failure), 200);
        }
        if serde_json::to_string(&report.outputs).map_or(0, |text| text.len()) > OUTPUTS {
            let text = format!("its outputs are larger than {OUTPUTS} bytes; leave large things in files");
            *report = Report::failed(order, "outputs-too-large", text);
        }
    }
}

/// The files that an attempt says it left, hashed, and the first that is not there. Only those inside the workspace count.
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

/// The hash and the size of a file of the workspace; a path that leads elsewhere is not there.
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
