//! Activities: what workers do for runs.
//!
//! A delivery may happen several times, also at the same time, and a worker that was frozen ends its work after another one has
//! begun it again. So an attempt first looks for an end under its key, and creates its own only if there is none; of several ends,
//! the first counts.

use crate::budget;
use crate::child::{AttemptProgram, ChildError};
use crate::key_locks::KeyLocks;
use crate::metrics::{EndDiscovery, Metrics};
use crate::task::{AttemptDone, AttemptTask, TaskKind};
use crate::workspace::{Repository, WorkspaceError, WorkspaceState, Worktree};
use bytes::Bytes;
use marvin_agent::ProjectContext;
use marvin_base::layout::Layout;
use marvin_flow::drive::teacher;
use marvin_flow::machine::{LessonResult, MERGE_CONFLICT};
use marvin_flow::remote::AttemptReply;
use marvin_flow::remote::attempt::AttemptRequest;
use marvin_flow::worker::Status;
use marvin_memory::lessons::Lesson;
use marvin_store::{BlobId, Creation, Store, StoreError};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

/// Heartbeats per heartbeat timeout.
const HEARTBEATS_PER_TIMEOUT: u32 = 4;
const DEFAULT_HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a delivery waits for a store that does not answer, before it fails.
const STORE_TIMEOUT: Duration = Duration::from_secs(600);
const STORE_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// What activities need. Clones share the locks.
#[derive(Clone)]
pub struct Activities {
    project: Arc<ProjectContext>,
    store: Store,
    repository: Repository,
    program: AttemptProgram,
    keys: Arc<KeyLocks>,
    metrics: Metrics,
}

impl std::fmt::Debug for Activities {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Activities").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Activities {
    /// Activities of a worker in this project; `program` is this program.
    #[must_use]
    pub(crate) fn new(
        project: Arc<ProjectContext>,
        store: Store,
        program: PathBuf,
        directory: PathBuf,
        metrics: Metrics,
    ) -> Self {
        let repository = Repository::new(directory.clone(), store.clone());
        let program = AttemptProgram { program, directory };
        Activities { project, store, repository, program, keys: Arc::default(), metrics }
    }

    async fn find_end(&self, key: &str) -> Result<Option<AttemptDone>, ActivityError> {
        let found = wait_for_store(|| self.store.read_end(key)).await;
        let Some(bytes) = found.map_err(|error| self.failure(&error.to_string()))? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            self.failure(&format!("the end of attempt {key} in the store is damaged: {error}"))
        })
    }

    /// Makes an attempt whose end does not exist yet, and creates its end.
    async fn make(&self, ctx: &ActivityContext, task: &AttemptTask) -> Result<AttemptDone, ActivityError> {
        let key = &task.request.order.ticket.key;
        let _guard = self.keys.lock(key).await;
        if let Some(done) = self.find_end(key).await? {
            self.metrics.count_found(EndDiscovery::BeforeWork);
            return Ok(done);
        }
        let began = Instant::now();
        let mut done = match &task.workspace {
            None => {
                let reply = self.run_within_allowance(ctx, &task.request, None).await?;
                AttemptDone::new(reply, None)
            }
            Some(state) => self.make_in_worktree(ctx, &task.request, state).await?,
        };
        if done.reply.end.stopped {
            // It has no end: whether it had effects is not known.
            return Err(ActivityError::cancelled());
        }
        done.took_ms = u64::try_from(began.elapsed().as_millis()).ok();
        self.metrics.count_attempt(&done);
        let bytes: Bytes =
            serde_json::to_vec(&done).map_err(|error| self.failure(&error.to_string()))?.into();
        // A step that must not be repeated has this delivery only, so its end must not be lost with the store.
        let created = wait_for_store(|| self.store.create_end(key, bytes.clone())).await;
        match created.map_err(|error| self.failure(&error.to_string()))? {
            Creation::Created => Ok(done),
            Creation::Exists(bytes) => {
                self.metrics.count_found(EndDiscovery::AfterWork);
                serde_json::from_slice(&bytes).map_err(|error| self.failure(&error.to_string()))
            }
        }
    }

    /// Makes an attempt in a worktree with the workspace of its run.
    async fn make_in_worktree(
        &self,
        ctx: &ActivityContext,
        request: &AttemptRequest,
        state: &WorkspaceState,
    ) -> Result<AttemptDone, ActivityError> {
        let order = &request.order;
        let name = Layout::worktree(&request.run_id, &order.ticket.key, order.ticket.attempt);
        let tree = self.check_out(&name, state).await?;
        // It is in a worktree already.
        let mut request = request.clone();
        if let Some(step) = request.workflow.pointer_mut("/steps/0").and_then(Value::as_object_mut) {
            step.remove("worktree");
        }
        let reply = self.run_within_allowance(ctx, &request, Some(&tree.path)).await?;
        let changes = if order.writes && !reply.end.stopped {
            let kept = self.repository.keep_changes(&tree).await;
            kept.map_err(|error| self.failure(&error.to_string()))?
        } else {
            None
        };
        self.repository.remove(&tree.path).await;
        Ok(AttemptDone::new(reply, changes))
    }

    async fn check_out(&self, name: &Path, state: &WorkspaceState) -> Result<Worktree, ActivityError> {
        // Git does not like two worktrees that are added at the same time.
        let _guard = self.keys.lock("git").await;
        let tree = self.repository.check_out(name, state).await;
        tree.map_err(|error| self.failure(&error.to_string()))
    }

    /// Tries the changes of an attempt on what others left.
    async fn merge_changes(
        &self,
        request: &AttemptRequest,
        state: &WorkspaceState,
        changes: Option<BlobId>,
    ) -> Result<AttemptDone, ActivityError> {
        let Some(mut reply) = request.merge.clone() else {
            return Err(self.failure("the merge has no attempt"));
        };
        let Some(changes) = changes else { return Ok(AttemptDone::new(reply, None)) };
        let mut merged = state.clone();
        merged.changes.push(changes.clone());
        let order = &request.order;
        let name = Layout::worktree(&request.run_id, &format!("{}m", order.ticket.key), order.ticket.attempt);
        let _guard = self.keys.lock("git").await;
        match self.repository.check_out(&name, &merged).await {
            Ok(tree) => {
                self.repository.remove(&tree.path).await;
                Ok(AttemptDone::new(reply, Some(changes)))
            }
            Err(WorkspaceError::Conflict(why)) => {
                reply.end.attempt.status = Status::Blocked;
                reply.end.attempt.failure_signature = Some(MERGE_CONFLICT.into());
                let why = self.project.redactor.text(&why).into_owned();
                reply.end.attempt.summary =
                    format!("its changes do not apply to the workspace; they are the blob {changes}: {why}");
                Ok(AttemptDone::new(reply, None))
            }
            Err(error) => Err(self.failure(&error.to_string())),
        }
    }

    /// Makes the attempt with the part of its allowance that earlier deliveries, whose cost is not known, left.
    async fn run_within_allowance(
        &self,
        ctx: &ActivityContext,
        request: &AttemptRequest,
        directory: Option<&Path>,
    ) -> Result<AttemptReply, ActivityError> {
        let Some(allowance) = request.allowance else { return self.run(ctx, request, directory).await };
        let delivery = ctx.info().attempt;
        let share = Some(budget::delivery_share(allowance, delivery));
        let request = AttemptRequest { allowance: share, ..request.clone() };
        let mut reply = self.run(ctx, &request, directory).await?;
        reply.cost = reply.cost.saturating_add(budget::earlier_shares(allowance, delivery));
        Ok(reply)
    }

    async fn run(
        &self,
        ctx: &ActivityContext,
        request: &AttemptRequest,
        directory: Option<&Path>,
    ) -> Result<AttemptReply, ActivityError> {
        match self.program.run(request, directory, ctx.cancelled()).await {
            Ok(reply) => Ok(reply),
            Err(ChildError::Cancelled) => Err(ActivityError::cancelled()),
            Err(error) => Err(self.failure(&error.to_string())),
        }
    }

    /// Does the work of a delivery, and counts it.
    async fn count<T>(
        &self,
        kind: TaskKind,
        ctx: &ActivityContext,
        work: impl Future<Output = Result<T, ActivityError>>,
    ) -> Result<T, ActivityError> {
        let delivery = self.metrics.begin(kind, ctx.info().attempt);
        let result = work.await;
        if result.is_ok() {
            delivery.succeed();
        }
        result
    }

    /// A failure of the delivery. Its text is in the history, so secrets are removed from it.
    fn failure(&self, text: &str) -> ActivityError {
        let text = self.project.redactor.text(text).into_owned();
        ActivityError::Application(Box::new(ApplicationFailure::new(text)))
    }
}

#[activities]
impl Activities {
    /// Makes one attempt.
    #[activity(name = "attempt")]
    pub async fn attempt(
        self: Arc<Self>,
        ctx: ActivityContext,
        task: AttemptTask,
    ) -> Result<AttemptDone, ActivityError> {
        let work = self.make(&ctx, &task);
        self.count(TaskKind::Attempt, &ctx, with_heartbeats(&ctx, work)).await
    }

    /// Merges the changes of an attempt into the workspace.
    #[activity(name = "merge")]
    pub async fn merge(
        self: Arc<Self>,
        ctx: ActivityContext,
        task: AttemptTask,
    ) -> Result<AttemptDone, ActivityError> {
        let work = async {
            let _guard = self.keys.lock(&task.request.order.ticket.key).await;
            if let Some(state) = &task.workspace {
                return self.merge_changes(&task.request, state, task.merge.clone()).await;
            }
            let reply = self.run(&ctx, &task.request, None).await?;
            Ok(AttemptDone::new(reply, None))
        };
        self.count(TaskKind::Merge, &ctx, with_heartbeats(&ctx, work)).await
    }

    /// Makes several attempts, one after another; one that cannot be made here has no end. A delivery that is repeated finds the
    /// ends of those that were made.
    #[activity(name = "attempts")]
    pub async fn attempts(
        self: Arc<Self>,
        ctx: ActivityContext,
        tasks: Vec<AttemptTask>,
    ) -> Result<Vec<Option<AttemptDone>>, ActivityError> {
        let work = async {
            let mut ends = Vec::with_capacity(tasks.len());
            for task in &tasks {
                match self.make(&ctx, task).await {
                    Err(ActivityError::Cancelled { details }) => {
                        return Err(ActivityError::Cancelled { details });
                    }
                    made => ends.push(made.ok()),
                }
            }
            Ok(ends)
        };
        self.count(TaskKind::Attempt, &ctx, with_heartbeats(&ctx, work)).await
    }

    /// Finds the end of an attempt whose worker was lost.
    #[activity(name = "recall")]
    pub async fn recall(
        self: Arc<Self>,
        ctx: ActivityContext,
        key: String,
    ) -> Result<Option<AttemptDone>, ActivityError> {
        let work = self.find_end(&key);
        self.count(TaskKind::Recall, &ctx, with_heartbeats(&ctx, work)).await
    }

    /// Writes a lesson.
    #[activity(name = "teach")]
    pub async fn teach(
        self: Arc<Self>,
        ctx: ActivityContext,
        lesson: Lesson,
    ) -> Result<LessonResult, ActivityError> {
        let project = self.project.clone();
        let work = async {
            let written = tokio::task::spawn_blocking(move || teacher(&project).keep(&lesson)).await;
            match written {
                Ok(Ok(id)) => Ok(LessonResult::Written { id }),
                Ok(Err(error)) => Err(self.failure(&error.to_string())),
                Err(error) => Err(self.failure(&error.to_string())),
            }
        };
        self.count(TaskKind::Teach, &ctx, work).await
    }
}

/// Repeats a request to the store while it is away, for a while.
async fn wait_for_store<T, Request>(request: impl Fn() -> Request) -> Result<T, StoreError>
where
    Request: Future<Output = Result<T, StoreError>>,
{
    let until = Instant::now() + STORE_TIMEOUT;
    loop {
        match request().await {
            Err(error) if error.is_temporary() && Instant::now() < until => {
                tokio::time::sleep(STORE_RETRY_PAUSE).await;
            }
            other => return other,
        }
    }
}

/// Does the work, and tells the server meanwhile that this worker lives.
async fn with_heartbeats<T>(
    ctx: &ActivityContext,
    work: impl Future<Output = Result<T, ActivityError>>,
) -> Result<T, ActivityError> {
    let period = ctx.info().heartbeat_timeout.unwrap_or(DEFAULT_HEARTBEAT) / HEARTBEATS_PER_TIMEOUT;
    let period = period.max(Duration::from_millis(100));
    // The delivery itself is the first sign of life, and each further one is a request that the server keeps.
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            result = &mut work => return result,
            _ = ticks.tick() => ctx.record_heartbeat(()).await?,
        }
    }
}
