//! The workflow code: it feeds a [`RunDriver`] with what happened, and starts the tasks that follow.
//!
//! It may be executed again at any time, by any worker, from the history. So it has no clock and does no I/O, and all that
//! happened between two tasks of the workflow code is one batch: every future is polled before the driver is asked, and ends
//! are reported only by events of the history (an attempt that is cancelled is waited for).

use crate::activities::Activities;
use crate::config::role_queue;
use crate::driver::{Phase, RunCommand, RunDriver, RunEvent};
use crate::search;
use crate::task::{RunInput, RunResult, RunSignal, Task, TaskEnd, TaskId, WaveInput, WaveReport};
use crate::wave::MarvinWave;
use crate::wave_plan;
use futures::future::LocalBoxFuture;
use futures::{FutureExt, TryFutureExt};
use marvin_base::run_record::RunStatus;
use marvin_flow::remote::attempt::AttemptRequest;
use serde_json::value::RawValue;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use temporalio_common::RetryPolicy;
use temporalio_common::data_converters::MultiArgs2;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityCancellationType, ActivityOptions, ApplicationFailure, ChildWorkflowOptions,
    ContinueAsNewOptions, SyncWorkflowContext, WorkflowCancellationToken, WorkflowContext, WorkflowResult,
    WorkflowTermination,
};

/// Time for an attempt at a step without a timeout.
const MAX_ATTEMPT_TIME: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Time that an attempt may take beyond the timeout of its step, which the attempt keeps itself.
const ATTEMPT_MARGIN: Duration = Duration::from_secs(600);
/// Time for a task that only reads or writes a little.
const SHORT_TASK_TIME: Duration = Duration::from_secs(60);
/// Time for a merge.
const MERGE_TIME: Duration = Duration::from_secs(600);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// The workflow code of a run. The state that signals change is the inbox.
#[workflow]
#[derive(Debug, Default)]
pub struct MarvinRun {
    inbox: Vec<RunEvent>,
}

#[workflow_methods]
impl MarvinRun {
    #[run(name = "marvin_run")]
    pub async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: MultiArgs2<RunInput, Box<RawValue>>,
    ) -> WorkflowResult<RunResult> {
        let MultiArgs2(input, document) = input;
        let driver = RunDriver::open(input, &document).map_err(|error| {
            WorkflowTermination::failed_application(ApplicationFailure::non_retryable(error))
        })?;
        Execution::new(ctx, driver, document).run().await
    }

    #[signal(name = "marvin_signal")]
    pub fn take_signal(&mut self, _ctx: &mut SyncWorkflowContext<Self>, signal: RunSignal) {
        self.inbox.push(RunEvent::Signal(signal));
    }

    #[signal(name = "marvin_ends")]
    pub fn take_reports(&mut self, _ctx: &mut SyncWorkflowContext<Self>, reports: Vec<WaveReport>) {
        let ends = reports.into_iter().map(WaveReport::end);
        self.inbox.extend(ends.map(|(id, end)| RunEvent::Ended(id, end)));
    }
}

type PendingEvents<'a> = LocalBoxFuture<'a, Vec<RunEvent>>;

/// One execution of the workflow code.
struct Execution<'a> {
    ctx: &'a WorkflowContext<MarvinRun>,
    driver: RunDriver,
    /// The workflow file.
    document: Box<RawValue>,
    /// Tasks and waves that were started.
    pending: Vec<PendingEvents<'a>>,
    /// Cancels the attempts that run.
    cancel: WorkflowCancellationToken,
    /// The status that the search attributes have.
    status: RunStatus,
}

impl<'a> Execution<'a> {
    fn new(ctx: &'a WorkflowContext<MarvinRun>, driver: RunDriver, document: Box<RawValue>) -> Self {
        let cancel = WorkflowCancellationToken::new();
        // An execution is started, or continued, as running.
        Execution { ctx, driver, document, pending: Vec::new(), cancel, status: RunStatus::Running }
    }

    async fn run(mut self) -> WorkflowResult<RunResult> {
        let mut batch = take_signals(self.ctx);
        loop {
            let drain = self.ctx.continue_as_new_suggested();
            for command in self.driver.on(batch, drain) {
                self.perform(command);
            }
            self.show_status();
            // Transitions are computed from the history by the client.
            self.driver.take_transitions();
            match self.driver.phase() {
                Phase::Open => {}
                Phase::Over => return Ok(self.driver.result()),
                Phase::Continue => {
                    let input = MultiArgs2(self.driver.continuation(), self.document.clone());
                    self.ctx.continue_as_new(input, ContinueAsNewOptions::default())?;
                }
            }
            batch = self.next_batch().await?;
        }
    }

    /// Keeps the search attribute with the status up to date.
    fn show_status(&mut self) {
        let status = self.driver.status();
        if self.driver.input().search_attributes && status != self.status {
            self.status = status;
            self.ctx.upsert_search_attributes([search::status(status)]);
        }
    }

    /// Waits until something happened, and takes all of it.
    async fn next_batch(&mut self) -> Result<Vec<RunEvent>, WorkflowTermination> {
        let (ctx, pending) = (self.ctx, &mut self.pending);
        let cancelled = ctx.cancellation_token();
        poll_fn(move |waker| {
            if cancelled.is_cancelled() {
                return Poll::Ready(Err(WorkflowTermination::cancelled()));
            }
            let mut batch = take_signals(ctx);
            pending.retain_mut(|started| match started.as_mut().poll(waker) {
                Poll::Ready(events) => {
                    batch.extend(events);
                    false
                }
                Poll::Pending => true,
            });
            if batch.is_empty() { Poll::Pending } else { Poll::Ready(Ok(batch)) }
        })
        .await
    }

    fn perform(&mut self, command: RunCommand) {
        match command {
            RunCommand::CancelAttempts => {
                let next = WorkflowCancellationToken::new();
                std::mem::replace(&mut self.cancel, next).cancel();
            }
            RunCommand::Start(id, task) => {
                let end = self.start(id, task).map(move |end| vec![RunEvent::Ended(id, end)]);
                self.pending.push(end.boxed_local());
            }
            RunCommand::StartWave(number, input) => self.pending.push(self.start_wave(number, *input)),
        }
    }

    fn start(&self, id: TaskId, task: Task) -> LocalBoxFuture<'a, TaskEnd> {
        let ctx = self.ctx;
        match task {
            Task::Attempt(task) => {
                let options = self.attempt_options(id, &task.request);
                let done = ctx.execute_activity(Activities::attempt, *task, options);
                done.map_ok(|done| TaskEnd::Done(Box::new(done))).unwrap_or_else(fail).boxed_local()
            }
            Task::Merge(task) => {
                let options = self.options(id, MERGE_TIME, 0);
                let done = ctx.execute_activity(Activities::merge, *task, options);
                done.map_ok(|done| TaskEnd::Done(Box::new(done))).unwrap_or_else(fail).boxed_local()
            }
            Task::Recall(key) => {
                let options = self.options(id, SHORT_TASK_TIME, 0);
                let found = ctx.execute_activity(Activities::recall, key, options);
                found.map_ok(|done| TaskEnd::Recalled(done.map(Box::new))).unwrap_or_else(fail).boxed_local()
            }
            Task::Teach(lesson) => {
                let options = self.options(id, SHORT_TASK_TIME, MAX_LESSON_DELIVERIES);
                let taught = ctx.execute_activity(Activities::teach, *lesson, options);
                taught.map_ok(TaskEnd::Taught).unwrap_or_else(fail).boxed_local()
            }
        }
    }

    fn start_wave(&self, number: u32, input: WaveInput) -> PendingEvents<'a> {
        let options = ChildWorkflowOptions::builder()
            .workflow_id(wave_plan::id(self.ctx.workflow_id(), number))
            .cancellation_token(self.cancel.clone())
            .build();
        let starting = self.ctx.start_child_workflow(MarvinWave::run, input, options);
        let closed = async move {
            // One without a result left nothing that was not reported before.
            let reports = match starting.await {
                Ok(started) => started.result().await.unwrap_or_default(),
                Err(_) => Vec::new(),
            };
            let ends = reports.into_iter().map(WaveReport::end).map(|(id, end)| RunEvent::Ended(id, end));
            ends.chain([RunEvent::WaveClosed(number)]).collect()
        };
        closed.boxed_local()
    }

    /// Options of a task that a stop of the run does not cancel; `deliveries` 0 means any number.
    fn options(&self, id: TaskId, time: Duration, deliveries: u32) -> ActivityOptions {
        ActivityOptions::with_start_to_close_timeout(time)
            .activity_id(id.to_string())
            .heartbeat_timeout(self.heartbeat())
            .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
            .cancellation_token(WorkflowCancellationToken::new())
            .retry_policy(retry(deliveries))
            .build()
    }

    fn attempt_options(&self, id: TaskId, request: &AttemptRequest) -> ActivityOptions {
        let step = self.driver.workflow().steps.get(id.step as usize);
        let role = &request.order.ticket.strategy.worker;
        let has_queue = self.driver.input().roles.contains(role);
        // Repeating it may do harm: then only one worker is ever given it, and a person decides if that one is lost.
        let deliveries = if request.order.repeatable { 0 } else { 1 };
        ActivityOptions::with_start_to_close_timeout(attempt_time(
            step.and_then(|step| step.extra().timeout_s),
        ))
        .activity_id(id.to_string())
        .heartbeat_timeout(self.heartbeat())
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .cancellation_token(self.cancel.clone())
        .maybe_task_queue(has_queue.then(|| role_queue(self.ctx.task_queue(), role)))
        .retry_policy(retry(deliveries))
        .build()
    }

    fn heartbeat(&self) -> Duration {
        Duration::from_secs(self.driver.input().heartbeat_s)
    }
}

/// Takes the signals that arrived.
fn take_signals(ctx: &WorkflowContext<MarvinRun>) -> Vec<RunEvent> {
    // The SDK polls again after every change of the state, even if nothing changes.
    if ctx.state(|run| run.inbox.is_empty()) {
        return Vec::new();
    }
    ctx.state_mut(|run| std::mem::take(&mut run.inbox))
}

/// Time for an attempt, with the timeout of its step.
pub(crate) fn attempt_time(timeout_s: Option<u64>) -> Duration {
    let timeout = timeout_s.map(Duration::from_secs);
    timeout.map_or(MAX_ATTEMPT_TIME, |timeout| timeout.saturating_add(ATTEMPT_MARGIN))
}

/// How often a lesson is delivered before the retry that needs it is given up.
const MAX_LESSON_DELIVERIES: u32 = 5;

/// How often a task is delivered; 0 means any number.
pub(crate) fn retry(deliveries: u32) -> RetryPolicy {
    RetryPolicy::builder()
        .initial_interval(FIRST_RETRY)
        .maximum_interval(MAX_RETRY_INTERVAL)
        .maximum_attempts(deliveries)
        .build()
}

fn fail<E>(_: E) -> TaskEnd {
    TaskEnd::Failed
}
