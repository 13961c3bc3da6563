//! The dispatcher: what is true of every step, and what follows from it.

use super::execute::{AttemptResult, Event, Job};
use super::outcome::{BlockedStep, Outcome, status_of};
use super::{EngineError, Teacher, Workers, files};
use crate::record::{Data, Record, StepHistory, StepStatus, WorkflowState};
use crate::retry::AttemptLog;
use crate::spec::{Followers, Step, Workflow};
use crate::worker::Status;
use marvin_agent::trace::Trace;
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_base::trace_event::{StepEvent, TraceEvent};
use marvin_base::truncate;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// How often people are listened to while something else goes on.
const LISTEN: Duration = Duration::from_millis(300);
/// Steps of one kind that are named one by one.
const NAMED: usize = 20;
/// Repeated steps that are told as one event.
const TOGETHER: usize = 64;

/// What a dispatcher is made of.
pub(super) struct Parts {
    pub(super) directory: RunDirectory,
    pub(super) trace: Arc<Trace>,
    pub(super) record: Record,
    pub(super) workflow: Workflow,
    pub(super) folded: WorkflowState,
    pub(super) workers: Workers,
    pub(super) teacher: Box<dyn Teacher>,
    pub(super) concurrency: usize,
    pub(super) workspace: PathBuf,
    pub(super) redactor: Arc<Redactor>,
    pub(super) inbox: mpsc::Receiver<Event>,
    pub(super) starts: UnboundedSender<Job>,
}

/// An attempt that is being made.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunningAttempt {
    /// It holds the workspace.
    pub(super) writes: bool,
    /// It works in a worktree of its own.
    pub(super) worktree: bool,
}

/// The dispatcher.
pub(super) struct Dispatcher {
    pub(super) directory: RunDirectory,
    trace: Arc<Trace>,
    pub(super) record: Record,
    pub(super) workflow: Workflow,
    pub(super) workers: Workers,
    pub(super) teacher: Box<dyn Teacher>,
    pub(super) concurrency: usize,
    pub(super) workspace: PathBuf,
    redactor: Arc<Redactor>,
    inbox: mpsc::Receiver<Event>,
    pub(super) starts: UnboundedSender<Job>,

    followers: Followers,
    pub(super) status: Vec<StepStatus>,
    /// The transition that says so.
    pub(super) seq: Vec<i64>,
    /// How many of its dependencies are not over.
    missing: Vec<u32>,
    /// Steps that repeat their inputs, and can.
    echoes: BTreeSet<u32>,
    /// Steps that need somebody, and can begin.
    pub(super) ready: BTreeSet<u32>,
    /// Those among them that wait for the one who writes.
    pub(super) queued: BTreeSet<u32>,
    pub(super) running: BTreeMap<u32, RunningAttempt>,
    pub(super) writer: Option<u32>,
    /// What was done in worktrees and is not in the workspace yet.
    pub(super) held: BTreeMap<u32, Box<AttemptResult>>,
    pub(super) tried: BTreeMap<u32, StepHistory>,
    pub(super) seen: AttemptLog,
    pub(super) calls: u64,
    pub(super) heard: i64,
    parked: usize,
    pub(super) stopping: bool,
    pub(super) terminated: Option<(u32, String)>,
    unverified: bool,

    pub(super) launches: Vec<Job>,
    told: Vec<TraceEvent>,
    repeated: Vec<u32>,
    listened: Option<Instant>,
    commits: u64,
    finished: u64,
}

impl Dispatcher {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { directory, trace, record, workflow, folded, workers, teacher, .. } = parts;
        let seen = folded.seen(&|step| {
            workflow.steps.get(step as usize).map(|step| step.id.to_string()).unwrap_or_default()
        });
        Dispatcher {
            directory,
            trace,
            record,
            workers,
            teacher,
            concurrency: parts.concurrency,
            workspace: parts.workspace,
            redactor: parts.redactor,
            inbox: parts.inbox,
            starts: parts.starts,
            followers: Followers::from_steps(&workflow.steps),
            workflow,
            status: folded.status,
            seq: folded.seq,
            missing: Vec::new(),
            echoes: BTreeSet::new(),
            ready: BTreeSet::new(),
            queued: BTreeSet::new(),
            running: BTreeMap::new(),
            writer: None,
            held: BTreeMap::new(),
            tried: folded.tried,
            seen,
            calls: folded.seen_calls,
            heard: folded.heard,
            parked: 0,
            stopping: false,
            terminated: folded.termination,
            unverified: false,
            launches: Vec::new(),
            told: Vec::new(),
            repeated: Vec::new(),
            listened: None,
            commits: 0,
            finished: 0,
        }
    }

    /// Runs until nothing more can go.
    pub(super) fn run(mut self) -> Result<Outcome, EngineError> {
        self.check_workers()?;
        self.check_artifacts()?;
        let began = Instant::now();
        self.record.expect(true)?;
        self.take_stock()?;
        self.settle()?;
        let mut heard: Vec<Event> = Vec::new();
        loop {
            heard.extend(self.inbox.try_iter());
            let before = self.record.last();
            let launched = self.round(&mut heard)?;
            if self.record.last() > before || launched {
                continue;
            }
            if self.running.is_empty() {
                break;
            }
            // Nothing follows from what is known: wait for news.
            match self.inbox.recv_timeout(if self.parked > 0 { LISTEN } else { Duration::from_secs(3_600) }) {
                Ok(event) => heard.push(event),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(EngineError::Broken("the executors are gone".into()));
                }
            }
        }
        self.end(began)
    }

    /// Everything that follows from what is known now, as one commit.
    fn round(&mut self, heard: &mut Vec<Event>) -> Result<bool, EngineError> {
        let may_listen = self.parked > 0
            && !self.stopping
            && self.listened.is_none_or(|last| last.elapsed() >= LISTEN || self.running.is_empty());
        let waits = !self.ready.is_empty() || (self.writer.is_none() && !self.queued.is_empty());
        let may_begin = !self.stopping && self.running.len() < self.concurrency && waits;
        self.record.expect(!heard.is_empty() || may_listen || may_begin)?;
        for event in heard.drain(..) {
            match event {
                Event::Stop => self.stopping = true,
                Event::Finished(step, done) => self.finished(step, done)?,
                Event::Merged(step, done) => {
                    self.leave(step);
                    self.judge(step, *done)?;
                }
            }
        }
        if may_listen {
            self.listened = Some(Instant::now());
            self.listen()?;
        }
        if !self.stopping {
            self.begin()?;
            self.repeat()?;
        }
        self.settle()
    }

    /// Commits, and lets what was written have its effects.
    fn settle(&mut self) -> Result<bool, EngineError> {
        if self.record.is_begun() {
            self.record.commit()?;
            self.commits += 1;
        }
        if !self.told.is_empty() || self.repeated.len() >= TOGETHER {
            self.tell()?;
        }
        let launched = !self.launches.is_empty();
        for job in self.launches.drain(..) {
            self.starts.send(job).map_err(|_| EngineError::Broken("the executors are gone".into()))?;
        }
        Ok(launched)
    }

    fn tell(&mut self) -> Result<(), EngineError> {
        if !self.repeated.is_empty() {
            let named = self.repeated.iter().take(TOGETHER);
            let steps = named.map(|step| name(&self.workflow, *step).to_string()).collect();
            self.trace.event(TraceEvent::StepsSucceeded { count: self.repeated.len(), steps })?;
            self.repeated.clear();
        }
        for event in self.told.drain(..) {
            self.trace.event(event)?;
        }
        Ok(())
    }

    pub(super) fn step(&self, step: u32) -> Result<&Step, EngineError> {
        let found = self.workflow.steps.get(step as usize);
        found.ok_or_else(|| EngineError::Broken(format!("there is no step {step}")))
    }

    pub(super) fn status(&self, step: u32) -> StepStatus {
        self.status.get(step as usize).copied().unwrap_or(StepStatus::New)
    }

    /// Writes a transition of a step with effects, and what is to be told of it.
    pub(super) fn become_(&mut self, step: u32, status: StepStatus, data: &Data) -> Result<(), EngineError> {
        let seq = self.record.write(step, status, &data.text())?;
        self.place(step, status, seq);
        let event = event(&self.workflow, step, status, seq, data);
        self.told.push(event);
        Ok(())
    }

    /// Where a step stands now; those that waited for it may go on.
    fn place(&mut self, step: u32, status: StepStatus, seq: i64) {
        let at = step as usize;
        let before = self.status(step);
        self.parked += usize::from(status == StepStatus::Blocked);
        self.parked -= usize::from(before == StepStatus::Blocked && self.parked > 0);
        if let Some(slot) = self.status.get_mut(at) {
            *slot = status;
        }
        if let Some(slot) = self.seq.get_mut(at) {
            *slot = seq;
        }
        if status.lets_go_on() && !before.lets_go_on() {
            self.finished += 1;
            self.release(step);
        }
        if status == StepStatus::RetryPending {
            self.ready.insert(step);
        }
    }

    fn release(&mut self, step: u32) {
        for follower in self.followers.after(step) {
            let Some(missing) = self.missing.get_mut(*follower as usize) else { continue };
            *missing = missing.saturating_sub(1);
            if *missing == 0 && self.status.get(*follower as usize) == Some(&StepStatus::New) {
                let worker = self.workflow.steps.get(*follower as usize).map(|step| &*step.worker);
                let echo =
                    worker.and_then(|worker| self.workers.get(worker)).is_some_and(|worker| worker.is_echo());
                if echo {
                    self.echoes.insert(*follower)
                } else {
                    self.ready.insert(*follower)
                };
            }
        }
    }

    /// Steps whose outputs are their inputs: those that could at the beginning of this round. What they make ready waits for
    /// the commit.
    fn repeat(&mut self) -> Result<(), EngineError> {
        if self.echoes.is_empty() {
            return Ok(());
        }
        for step in std::mem::take(&mut self.echoes) {
            if self.status(step) != StepStatus::New {
                continue;
            }
            let one = self.step(step)?;
            if one.refers || one.inputs_schema.is_some() || one.outputs_schema.is_some() {
                self.repeat_resolved(step)?;
                continue;
            }
            let mut data = String::with_capacity(one.inputs.len() + 14);
            data.push_str("{\"outputs\":");
            data.push_str(if one.inputs.is_empty() { "{}" } else { &one.inputs });
            data.push('}');
            self.repeated(step, &data)?;
        }
        Ok(())
    }

    /// What is true when this process begins.
    fn take_stock(&mut self) -> Result<(), EngineError> {
        let over = |status: &[StepStatus], dep: &u32| {
            status.get(*dep as usize).is_some_and(|status| status.lets_go_on())
        };
        let open = |step: &Step| step.depends_on.iter().filter(|dep| !over(&self.status, dep)).count();
        self.missing =
            self.workflow.steps.iter().map(|step| u32::try_from(open(step)).unwrap_or(u32::MAX)).collect();
        self.parked = self.status.iter().filter(|status| **status == StepStatus::Blocked).count();
        for step in 0..u32::try_from(self.workflow.steps.len()).unwrap_or(u32::MAX) {
            match self.status(step) {
                StepStatus::New if self.missing.get(step as usize) == Some(&0) => {
                    let worker = self.step(step)?.worker.clone();
                    let echo = self.workers.get(&*worker).is_some_and(|worker| worker.is_echo());
                    if echo {
                        self.echoes.insert(step)
                    } else {
                        self.ready.insert(step)
                    };
                }
                StepStatus::Ready | StepStatus::RetryPending => {
                    self.ready.insert(step);
                }
                _ => {}
            }
        }
        if let Some((step, reason)) = self.terminated.clone() {
            self.skip_rest(step, &reason)?;
        }
        let begun: Vec<u32> = (0_u32..)
            .zip(&self.status)
            .filter(|(_, status)| **status == StepStatus::Running)
            .map(|(step, _)| step)
            .collect();
        for step in begun {
            self.take_up(step)?;
        }
        Ok(())
    }

    /// The rest is not needed any more.
    pub(super) fn skip_rest(&mut self, by: u32, reason: &str) -> Result<(), EngineError> {
        let text = format!("skipped: {reason}");
        let data = json!({"outputs": {"summary": text}}).to_string();
        let mut names = Vec::new();
        for step in 0..u32::try_from(self.workflow.steps.len()).unwrap_or(u32::MAX) {
            if matches!(self.status(step), StepStatus::New | StepStatus::Ready | StepStatus::RetryPending) {
                let seq = self.record.write(step, StepStatus::Skipped, &data)?;
                self.place(step, StepStatus::Skipped, seq);
                names.push(step);
            }
        }
        self.ready.clear();
        self.queued.clear();
        self.echoes.clear();
        let shown = names.iter().take(TOGETHER).map(|step| name(&self.workflow, *step).to_string());
        self.told.push(TraceEvent::WorkflowTerminated {
            triggered_by: name(&self.workflow, by).to_string(),
            reason: reason.to_string(),
            count: names.len(),
            steps: shown.collect(),
        });
        Ok(())
    }

    pub(super) fn done_by_repeating(&mut self, step: u32, seq: i64) {
        self.place(step, StepStatus::Succeeded, seq);
        self.repeated.push(step);
    }

    /// Without secrets.
    pub(super) fn clean(&self, value: &Value) -> Value {
        let mut value = value.clone();
        self.redactor.value(&mut value);
        value
    }

    pub(super) fn not_verified(&mut self) {
        self.unverified = true;
    }

    /// An attempt is over.
    fn finished(&mut self, step: u32, done: Box<AttemptResult>) -> Result<(), EngineError> {
        let worktree = self.running.get(&step).is_some_and(|running| running.worktree);
        if worktree && done.report.status == Status::Success {
            self.held.insert(step, done);
            self.merge_next();
            return Ok(());
        }
        self.leave(step);
        // What it did is not known: the next process asks its worker.
        if done.stopped { Ok(()) } else { self.judge(step, *done) }
    }

    /// A step does not run any more; whoever waited for its place goes on.
    fn leave(&mut self, step: u32) {
        self.running.remove(&step);
        if self.writer == Some(step) {
            self.writer = None;
        }
        self.merge_next();
    }

    /// Puts the work of the first worktree into the workspace, when nobody before it still works and nobody writes.
    pub(super) fn merge_next(&mut self) {
        if self.writer.is_some() {
            return;
        }
        let Some((&step, _)) = self.held.first_key_value() else { return };
        let is_earlier = |(other, running): (&u32, &RunningAttempt)| running.worktree && *other < step;
        if self.running.iter().any(is_earlier) {
            return;
        }
        if let Some((step, done)) = self.held.pop_first() {
            self.writer = Some(step);
            self.launches.push(Job::Merge(step, done));
        }
    }

    fn end(mut self, began: Instant) -> Result<Outcome, EngineError> {
        let dispatched = began.elapsed();
        self.tell()?;
        let mut counts = BTreeMap::new();
        for status in &self.status {
            *counts.entry(status.word()).or_insert(0) += 1;
        }
        let status = status_of(&counts, self.stopping);
        let all = (0_u32..).zip(&self.status);
        let failed: Vec<u32> = all
            .clone()
            .filter(|(_, status)| **status == StepStatus::Failed)
            .map(|(step, _)| step)
            .take(NAMED)
            .collect();
        let waiting: Vec<u32> = all
            .filter(|(_, status)| **status == StepStatus::Blocked)
            .map(|(step, _)| step)
            .take(NAMED)
            .collect();
        let mut outcome = Outcome {
            run_id: String::new(),
            run_path: PathBuf::new(),
            status,
            counts,
            steps: self.workflow.steps.len(),
            failed: Vec::new(),
            waiting: Vec::new(),
            unverified: self.unverified,
            spent: false,
            cost: None,
            termination: self
                .terminated
                .as_ref()
                .map(|(step, why)| (name(&self.workflow, *step).to_string(), why.clone())),
            commits: self.commits,
            finished: self.finished,
            dispatched,
            elapsed: Duration::ZERO,
        };
        for step in failed {
            let data = self.last_of(step)?;
            if data.over.as_ref().is_some_and(|over| is_unverified(over.failure_signature.as_deref())) {
                outcome.unverified = true;
            }
            outcome.spent |=
                data.over.as_ref().is_some_and(|over| over.failure_signature.as_deref() == Some("max-cost"));
            outcome.failed.push((name(&self.workflow, step).to_string(), data.error.unwrap_or_default()));
        }
        for step in waiting {
            let data = self.last_of(step)?;
            outcome.waiting.push(BlockedStep {
                step_id: name(&self.workflow, step).to_string(),
                kind: data.blocked.unwrap_or_default(),
                text: data.error.unwrap_or_default(),
            });
        }
        self.record.close()?;
        files::write_state(self.directory.path(), &self.record, &self.workflow, &self.redactor)?;
        if outcome.status == super::WorkflowStatus::Succeeded {
            self.check_artifacts()?;
        }
        Ok(outcome)
    }

    pub(super) fn last_of(&self, step: u32) -> Result<Data, EngineError> {
        let seq = self.seq.get(step as usize).copied().unwrap_or(0);
        Ok(if seq > 0 { Data::read(&self.record.data(seq)?) } else { Data::default() })
    }
}

/// Did it fail because what was promised does not hold?
pub(super) fn is_unverified(failure: Option<&str>) -> bool {
    failure.is_some_and(|failure| failure.starts_with("not-verified"))
}

/// The id of a step.
pub(super) fn name(workflow: &Workflow, step: u32) -> &str {
    workflow.steps.get(step as usize).map_or("?", |step| &step.id)
}

/// What is told of a transition.
pub(super) fn event(workflow: &Workflow, step: u32, status: StepStatus, seq: i64, data: &Data) -> TraceEvent {
    let mut event = StepEvent {
        step_id: name(workflow, step).to_string(),
        status: status.word().to_string(),
        record: seq,
        attempt: data.attempt,
        call_id: data.call_id.clone(),
        error: data.error.as_ref().map(|error| truncate::head(error, 2_000)),
        reason: data.reason.clone(),
        code: data.code.clone(),
        lesson: data.lesson.clone(),
        blocked: data.blocked.clone(),
        ..StepEvent::default()
    };
    if let Some(strategy) = &data.strategy {
        event.worker.clone_from(&strategy.worker);
        event.strategy_id.clone_from(&strategy.strategy_id);
        event.retrieval_stage = strategy.retrieval_stage;
    }
    if let Some(over) = &data.over {
        event.worker.clone_from(&over.worker_type);
        event.call_signature.clone_from(&over.call_signature);
        event.summary = truncate::head(&over.summary, 2_000);
        event.failure_signature.clone_from(&over.failure_signature);
        event.progress_metrics = Some(json!(over.progress));
        event.artifacts = Some(truncate::value(&json!(over.artifacts), 200, 50, 2));
    }
    match status {
        StepStatus::New | StepStatus::Ready => TraceEvent::StepReady(event),
        StepStatus::Running => TraceEvent::StepStarted(event),
        StepStatus::Succeeded => TraceEvent::StepSucceeded(event),
        StepStatus::Skipped => TraceEvent::StepSkipped(event),
        StepStatus::Failed => TraceEvent::StepFailed(event),
        StepStatus::Blocked => TraceEvent::StepBlocked(event),
        StepStatus::Partial => TraceEvent::StepPartial(event),
        StepStatus::RetryPending => TraceEvent::StepRetry(event),
    }
}
