//! The workflow code of a wave: attempts that begin together, as a child workflow of their run.
//!
//! It gives the attempts to workers, short ones several at a time, and reports their ends to the run in signals. What was not
//! reported is its result. Like that of a run, this code has no clock and does no I/O ([`crate::wave_plan::WavePlan`]).

use crate::activities::Activities;
use crate::config::role_queue;
use crate::task::{AttemptDone, TaskEnd, WaveInput, WaveReport, WaveTask};
use crate::wave_plan::{WavePlan, run_of};
use crate::workflow::{MarvinRun, attempt_time, retry};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use std::future::poll_fn;
use std::ops::Range;
use std::task::Poll;
use std::time::Duration;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityCancellationType, ActivityOptions, SignalWorkflowOptions, TimerOptions,
    WorkflowCancellationToken, WorkflowContext, WorkflowResult,
};

/// How long ends wait for others that are reported with them.
const REPORT_PAUSE: Duration = Duration::from_secs(1);

/// The workflow code of a wave.
#[workflow]
#[derive(Debug, Default)]
pub struct MarvinWave;

#[workflow_methods]
impl MarvinWave {
    #[run(name = "marvin_wave")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, input: WaveInput) -> WorkflowResult<Vec<WaveReport>> {
        Ok(Wave::new(ctx, input).run().await)
    }
}

/// How a delivery ended.
struct DeliveryEnd {
    reports: Vec<WaveReport>,
    /// Attempts that the worker could not make, among others: by themselves, they are delivered until one can.
    alone: Vec<WaveTask>,
}

type Delivery<'a> = LocalBoxFuture<'a, DeliveryEnd>;

struct Wave<'a> {
    ctx: &'a WorkflowContext<MarvinWave>,
    input: WaveInput,
    plan: WavePlan,
    deliveries: Vec<Delivery<'a>>,
    /// Attempts that are to be delivered by themselves.
    alone: Vec<WaveTask>,
    /// The moment that the plan waits for.
    moment: Option<LocalBoxFuture<'a, ()>>,
    /// The report on its way, which comes back if it does not arrive.
    report: Option<LocalBoxFuture<'a, Vec<WaveReport>>>,
    /// The run takes no reports any more.
    is_run_gone: bool,
}

impl<'a> Wave<'a> {
    fn new(ctx: &'a WorkflowContext<MarvinWave>, input: WaveInput) -> Self {
        let plan = WavePlan::new(input.tasks.len(), input.pace_ms);
        Wave {
            ctx,
            input,
            plan,
            deliveries: Vec::new(),
            alone: Vec::new(),
            moment: None,
            report: None,
            is_run_gone: false,
        }
    }

    async fn run(mut self) -> Vec<WaveReport> {
        loop {
            self.begin();
            if self.deliveries.is_empty() && self.report.is_none() {
                return self.plan.rest();
            }
            if self.moment.is_none() && self.plan.needs_moment(!self.is_run_gone) {
                // One that was cancelled would be over at once, again and again.
                let options =
                    TimerOptions::builder(REPORT_PAUSE).cancellation_token(WorkflowCancellationToken::new());
                self.moment = Some(self.ctx.timer(options.build()).map(drop).boxed_local());
            }
            self.take_events().await;
        }
    }

    /// Gives attempts to workers, and reports ends.
    fn begin(&mut self) {
        let alone = std::mem::take(&mut self.alone);
        if self.ctx.cancellation_token().is_cancelled() {
            let unbegun = self.plan.cancel();
            let unbegun = self.input.tasks.get(unbegun).unwrap_or_default();
            for task in unbegun.iter().chain(&alone) {
                self.plan.end(WaveReport::new(task.id, TaskEnd::Failed));
            }
        } else {
            self.deliveries.extend(alone.into_iter().map(|task| deliver_alone(self.ctx, &self.input, task)));
        }
        let (places, bundle) = self.plan.begin();
        self.deliver(places, bundle);
        if self.report.is_none()
            && !self.is_run_gone
            && let Some(reports) = self.plan.report()
        {
            self.send(reports);
        }
    }

    fn deliver(&mut self, places: Range<usize>, bundle: usize) {
        let tasks = self.input.tasks.get(places).unwrap_or_default();
        let mut together: Vec<WaveTask> = Vec::new();
        for task in tasks {
            if bundle > 1 && self.may_share(task) {
                together.push(task.clone());
                if together.len() == bundle {
                    self.deliveries.push(self.deliver_together(std::mem::take(&mut together)));
                }
            } else {
                self.deliveries.push(deliver_alone(self.ctx, &self.input, task.clone()));
            }
        }
        if !together.is_empty() {
            self.deliveries.push(self.deliver_together(together));
        }
    }

    /// Whether an attempt may share a delivery: not one that an agent makes, or that has a queue of its own.
    fn may_share(&self, task: &WaveTask) -> bool {
        let worker = &task.task.request.order.ticket.strategy.worker;
        !task.task.needs_model() && !self.input.roles.contains(worker)
    }

    /// Gives one worker several attempts, which it makes one after another.
    fn deliver_together(&self, tasks: Vec<WaveTask>) -> Delivery<'a> {
        let time = tasks.iter().map(|task| attempt_time(task.timeout_s));
        let time = time.fold(Duration::ZERO, Duration::saturating_add);
        let first = tasks.first().map(|task| task.id.to_string()).unwrap_or_default();
        let options = options(&self.input, format!("{first}-{}", tasks.len()), time, None);
        let request = tasks.iter().map(|task| task.task.clone()).collect::<Vec<_>>();
        let ended = self.ctx.execute_activity(Activities::attempts, request, options);
        ended
            .map(move |ended| {
                let mut end = DeliveryEnd { reports: Vec::new(), alone: Vec::new() };
                match ended {
                    Ok(ends) => {
                        for (task, done) in tasks.into_iter().zip(ends) {
                            match done {
                                None => end.alone.push(task),
                                done => {
                                    end.reports.push(WaveReport { id: task.id, done: done.map(Box::new) })
                                }
                            }
                        }
                    }
                    // It was cancelled.
                    Err(_) => {
                        end.reports.extend(tasks.iter().map(|task| WaveReport::new(task.id, TaskEnd::Failed)))
                    }
                }
                end
            })
            .boxed_local()
    }

    /// Reports ends to the run.
    fn send(&mut self, reports: Vec<WaveReport>) {
        let run = self.ctx.external_workflow(run_of(self.ctx.workflow_id()), None);
        // A wave that was cancelled still reports.
        let options =
            SignalWorkflowOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
        let sent = run.signal(MarvinRun::take_reports, reports.clone(), options);
        self.report = Some(sent.map(|sent| if sent.is_ok() { Vec::new() } else { reports }).boxed_local());
    }

    /// Waits until something happened, and takes all of it.
    async fn take_events(&mut self) {
        let (ctx, plan, deliveries) = (self.ctx, &mut self.plan, &mut self.deliveries);
        let (moment, report, is_run_gone) = (&mut self.moment, &mut self.report, &mut self.is_run_gone);
        let alone = &mut self.alone;
        let cancelled = ctx.cancellation_token();
        let was_cancelled = cancelled.is_cancelled();
        let passed = poll_fn(|waker| {
            let mut happened = !was_cancelled && cancelled.is_cancelled();
            deliveries.retain_mut(|delivery| match delivery.as_mut().poll(waker) {
                Poll::Ready(end) => {
                    happened = true;
                    alone.extend(end.alone);
                    end.reports.into_iter().for_each(|report| plan.end(report));
                    false
                }
                Poll::Pending => true,
            });
            if let Some(sent) = report
                && let Poll::Ready(lost) = sent.as_mut().poll(waker)
            {
                happened = true;
                *report = None;
                *is_run_gone |= !lost.is_empty();
                plan.keep(lost);
            }
            let is_due = moment.as_mut().is_some_and(|moment| moment.as_mut().poll(waker).is_ready());
            if is_due {
                *moment = None;
            }
            if happened || is_due { Poll::Ready(is_due) } else { Poll::Pending }
        })
        .await;
        if passed {
            let reports = self.plan.pass_moment(self.report.is_none() && !self.is_run_gone);
            if !reports.is_empty() {
                self.send(reports);
            }
        }
    }
}

fn deliver_alone<'a>(
    ctx: &'a WorkflowContext<MarvinWave>,
    input: &WaveInput,
    task: WaveTask,
) -> Delivery<'a> {
    let role = &task.task.request.order.ticket.strategy.worker;
    let queue = input.roles.contains(role).then(|| role_queue(ctx.task_queue(), role));
    let options = options(input, task.id.to_string(), attempt_time(task.timeout_s), queue);
    let id = task.id;
    let done = ctx.execute_activity(Activities::attempt, task.task, options);
    let end = move |done: Option<AttemptDone>| DeliveryEnd {
        reports: vec![WaveReport { id, done: done.map(Box::new) }],
        alone: Vec::new(),
    };
    done.map(move |done| end(done.ok())).boxed_local()
}

/// Options of a delivery, which a stop of the run cancels. All attempts of a wave may be repeated.
fn options(input: &WaveInput, id: String, time: Duration, queue: Option<String>) -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(time)
        .activity_id(id)
        .heartbeat_timeout(Duration::from_secs(input.heartbeat_s))
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .maybe_task_queue(queue)
        .retry_policy(retry(0))
        .build()
}
