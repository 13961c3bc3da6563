//! The dispatcher: the state of every step, and the transitions that follow from it.

use super::execute::{AttemptResult, Event, Job};
use super::outcome::{BlockedStep, Outcome, status_of};
use super::{EngineError, Teacher, files};
use crate::record::{Data, Record, StepHistory, StepStatus, WorkflowState};
use crate::retry::AttemptLog;
use crate::spec::{Followers, Step, Workflow};
use crate::worker::{Status, Workers};
use marvin_agent::trace::Trace;
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_base::trace_event::{StepEvent, TraceEvent};
use marvin_base::truncate;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// How often answers of people are looked for while other steps run.
const ANSWER_POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Steps of one status that an outcome lists.
const MAX_LISTED_STEPS: usize = 20;
/// Echo steps that share one event.
const MAX_STEPS_PER_EVENT: usize = 64;

/// The parts of a new dispatcher.
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
    /// Whether it holds the workspace.
    pub(super) writes: bool,
    /// Whether it works in a worktree of its own.
    pub(super) worktree: bool,
}

pub(super) struct Dispatcher {
    pub(super) directory: RunDirectory,
    pub(super) trace: Arc<Trace>,
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
    /// The last transition of each step.
    pub(super) seq: Vec<i64>,
    /// The number of dependencies of each step that are not complete.
    missing: Vec<u32>,
    /// Echo steps that can begin.
    echoes: BTreeSet<u32>,
    /// Other steps that can begin.
    pub(super) ready: BTreeSet<u32>,
    /// Ready steps that wait until no other step writes to the workspace.
    pub(super) queued: BTreeSet<u32>,
    pub(super) running: BTreeMap<u32, RunningAttempt>,
    pub(super) writer: Option<u32>,
    /// Results in worktrees that are not merged into the workspace yet.
    pub(super) unmerged: BTreeMap<u32, Box<AttemptResult>>,
    pub(super) tried: BTreeMap<u32, StepHistory>,
    pub(super) seen: AttemptLog,
    pub(super) calls: u64,
    pub(super) last_answer: i64,
    parked: usize,
    pub(super) stopping: bool,
    pub(super) terminated: Option<(u32, String)>,
    unverified: bool,

    pub(super) launches: Vec<Job>,
    pending_events: Vec<TraceEvent>,
    completed_echoes: Vec<u32>,
    answers_read_at: Option<Instant>,
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
            unmerged: BTreeMap::new(),
            tried: folded.tried,
            seen,
            calls: folded.seen_calls,
            last_answer: folded.last_answer,
            parked: 0,
            stopping: false,
            terminated: folded.termination,
            unverified: false,
            launches: Vec::new(),
            pending_events: Vec::new(),
            completed_echoes: Vec::new(),
            answers_read_at: None,
            commits: 0,
            finished: 0,
        }
    }

    /// Runs until no step can begin.
    pub(super) fn run(mut self) -> Result<Outcome, EngineError> {
        self.check_workers()?;
        self.check_artifacts()?;
        let began = Instant::now();
        self.record.expect(true)?;
        self.restore_queues()?;
        self.settle()?;
        let mut events: Vec<Event> = Vec::new();
        loop {
            events.extend(self.inbox.try_iter());
            let before = self.record.last();
            let launched = self.round(&mut events)?;
            if self.record.last() > before || launched {
                continue;
            }
            if self.running.is_empty() {
                break;
            }
            // No transition follows from the current state.
            match self.inbox.recv_timeout(if self.parked > 0 {
                ANSWER_POLL_INTERVAL
            } else {
                Duration::from_secs(3_600)
            }) {
                Ok(event) => events.push(event),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(EngineError::Internal("the executors are gone".into()));
                }
            }
        }
        self.end(began)
    }

    /// Makes all transitions that follow from the current state and these events, in one commit.
    fn round(&mut self, events: &mut Vec<Event>) -> Result<bool, EngineError> {
        let may_listen = self.parked > 0
            && !self.stopping
            && self
                .answers_read_at
                .is_none_or(|last| last.elapsed() >= ANSWER_POLL_INTERVAL || self.running.is_empty());
        let waits = !self.ready.is_empty() || (self.writer.is_none() && !self.queued.is_empty());
        let may_begin = !self.stopping && self.running.len() < self.concurrency && waits;
        self.record.expect(!events.is_empty() || may_listen || may_begin)?;
        for event in events.drain(..) {
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
            self.answers_read_at = Some(Instant::now());
            self.take_answers()?;
        }
        if !self.stopping {
            self.begin()?;
            self.complete_echoes()?;
        }
        self.settle()
    }

    /// Commits; then writes the events and starts the jobs of what was committed.
    fn settle(&mut self) -> Result<bool, EngineError> {
        if self.record.is_begun() {
            self.record.commit()?;
            self.commits += 1;
        }
        if !self.pending_events.is_empty() || self.completed_echoes.len() >= MAX_STEPS_PER_EVENT {
            self.write_events()?;
        }
        let launched = !self.launches.is_empty();
        for job in self.launches.drain(..) {
            self.starts.send(job).map_err(|_| EngineError::Internal("the executors are gone".into()))?;
        }
        Ok(launched)
    }

    fn write_events(&mut self) -> Result<(), EngineError> {
        if !self.completed_echoes.is_empty() {
            let named = self.completed_echoes.iter().take(MAX_STEPS_PER_EVENT);
            let steps = named.map(|step| step_id(&self.workflow, *step).to_string()).collect();
            self.trace.event(TraceEvent::StepsSucceeded { count: self.completed_echoes.len(), steps })?;
            self.completed_echoes.clear();
        }
        for event in self.pending_events.drain(..) {
            self.trace.event(event)?;
        }
        Ok(())
    }

    pub(super) fn step(&self, step: u32) -> Result<&Step, EngineError> {
        let found = self.workflow.steps.get(step as usize);
        found.ok_or_else(|| EngineError::Internal(format!("step {step} does not exist")))
    }

    pub(super) fn status(&self, step: u32) -> StepStatus {
        self.status.get(step as usize).copied().unwrap_or(StepStatus::New)
    }

    /// Writes a transition of a step with effects; its event follows after the commit.
    pub(super) fn transition(
        &mut self,
        step: u32,
        status: StepStatus,
        data: &Data,
    ) -> Result<(), EngineError> {
        let seq = self.record.write(step, status, &data.to_text())?;
        self.set_status(step, status, seq);
        let event = event(&self.workflow, step, status, seq, data);
        self.pending_events.push(event);
        Ok(())
    }

    /// Sets the status of a step; dependent steps may become ready.
    fn set_status(&mut self, step: u32, status: StepStatus, seq: i64) {
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
        if status.is_complete() && !before.is_complete() {
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

    /// Completes the echo steps that were ready at the beginning of this round; steps that they unblock wait for the commit.
    fn complete_echoes(&mut self) -> Result<(), EngineError> {
        if self.echoes.is_empty() {
            return Ok(());
        }
        for step in std::mem::take(&mut self.echoes) {
            if self.status(step) != StepStatus::New {
                continue;
            }
            let one = self.step(step)?;
            if one.refers || one.inputs_schema.is_some() || one.outputs_schema.is_some() {
                self.complete_resolved_echo(step)?;
                continue;
            }
            let mut data = String::with_capacity(one.inputs.len() + 14);
            data.push_str("{\"outputs\":");
            data.push_str(if one.inputs.is_empty() { "{}" } else { &one.inputs });
            data.push('}');
            self.complete_echo(step, &data)?;
        }
        Ok(())
    }

    /// Derives the sets of ready steps from the recorded statuses.
    fn restore_queues(&mut self) -> Result<(), EngineError> {
        let over = |status: &[StepStatus], dep: &u32| {
            status.get(*dep as usize).is_some_and(|status| status.is_complete())
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
            self.resume_step(step)?;
        }
        Ok(())
    }

    /// Skips every step that has not begun.
    pub(super) fn skip_rest(&mut self, by: u32, reason: &str) -> Result<(), EngineError> {
        let summary = format!("skipped: {reason}");
        let outputs = Map::from_iter([("summary".to_string(), summary.into())]);
        let data = Data { outputs: Some(outputs), ..Data::default() }.to_text();
        let mut names = Vec::new();
        for step in 0..u32::try_from(self.workflow.steps.len()).unwrap_or(u32::MAX) {
            if matches!(self.status(step), StepStatus::New | StepStatus::Ready | StepStatus::RetryPending) {
                let seq = self.record.write(step, StepStatus::Skipped, &data)?;
                self.set_status(step, StepStatus::Skipped, seq);
                names.push(step);
            }
        }
        self.ready.clear();
        self.queued.clear();
        self.echoes.clear();
        let shown =
            names.iter().take(MAX_STEPS_PER_EVENT).map(|step| step_id(&self.workflow, *step).to_string());
        self.pending_events.push(TraceEvent::WorkflowTerminated {
            triggered_by: step_id(&self.workflow, by).to_string(),
            reason: reason.to_string(),
            count: names.len(),
            steps: shown.collect(),
        });
        Ok(())
    }

    pub(super) fn note_echo(&mut self, step: u32, seq: i64) {
        self.set_status(step, StepStatus::Succeeded, seq);
        self.completed_echoes.push(step);
    }

    pub(super) fn redact(&self, value: &Value) -> Value {
        let mut value = value.clone();
        self.redactor.value(&mut value);
        value
    }

    pub(super) fn not_verified(&mut self) {
        self.unverified = true;
    }

    fn finished(&mut self, step: u32, done: Box<AttemptResult>) -> Result<(), EngineError> {
        let worktree = self.running.get(&step).is_some_and(|running| running.worktree);
        if worktree && done.report.status == Status::Success {
            self.unmerged.insert(step, done);
            self.merge_next();
            return Ok(());
        }
        self.leave(step);
        // Whether it had effects is not known: the next process asks its worker.
        if done.stopped { Ok(()) } else { self.judge(step, *done) }
    }

    /// Frees the workspace and the slot of a step that no longer runs.
    fn leave(&mut self, step: u32) {
        self.running.remove(&step);
        if self.writer == Some(step) {
            self.writer = None;
        }
        self.merge_next();
    }

    /// Merges the first worktree once no earlier step with a worktree runs and no step writes to the workspace.
    pub(super) fn merge_next(&mut self) {
        if self.writer.is_some() {
            return;
        }
        let Some((&step, _)) = self.unmerged.first_key_value() else { return };
        let is_earlier = |(other, running): (&u32, &RunningAttempt)| running.worktree && *other < step;
        if self.running.iter().any(is_earlier) {
            return;
        }
        if let Some((step, done)) = self.unmerged.pop_first() {
            self.writer = Some(step);
            self.launches.push(Job::Merge(step, done));
        }
    }

    fn end(mut self, began: Instant) -> Result<Outcome, EngineError> {
        let dispatched = began.elapsed();
        self.write_events()?;
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
            .take(MAX_LISTED_STEPS)
            .collect();
        let waiting: Vec<u32> = all
            .filter(|(_, status)| **status == StepStatus::Blocked)
            .map(|(step, _)| step)
            .take(MAX_LISTED_STEPS)
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
                .map(|(step, why)| (step_id(&self.workflow, *step).to_string(), why.clone())),
            commits: self.commits,
            finished: self.finished,
            dispatched,
            elapsed: Duration::ZERO,
        };
        for step in failed {
            let data = self.last_transition(step)?;
            if data.over.as_ref().is_some_and(|over| is_unverified(over.failure_signature.as_deref())) {
                outcome.unverified = true;
            }
            outcome.spent |=
                data.over.as_ref().is_some_and(|over| over.failure_signature.as_deref() == Some("max-cost"));
            outcome.failed.push((step_id(&self.workflow, step).to_string(), data.error.unwrap_or_default()));
        }
        for step in waiting {
            let data = self.last_transition(step)?;
            outcome.waiting.push(BlockedStep {
                step_id: step_id(&self.workflow, step).to_string(),
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

    pub(super) fn last_transition(&self, step: u32) -> Result<Data, EngineError> {
        let seq = self.seq.get(step as usize).copied().unwrap_or(0);
        Ok(if seq > 0 { Data::parse(&self.record.data(seq)?) } else { Data::default() })
    }
}

/// Is this the signature of a failed verification?
pub(super) fn is_unverified(failure: Option<&str>) -> bool {
    failure.is_some_and(|failure| failure.starts_with("not-verified"))
}

pub(super) fn step_id(workflow: &Workflow, step: u32) -> &str {
    workflow.steps.get(step as usize).map_or("?", |step| &step.id)
}

/// The event of a transition.
pub(super) fn event(workflow: &Workflow, step: u32, status: StepStatus, seq: i64, data: &Data) -> TraceEvent {
    let mut event = StepEvent {
        step_id: step_id(workflow, step).to_string(),
        status: status.word().to_string(),
        record: seq,
        attempt: data.attempt,
        call_id: data.call_id.clone(),
        error: data.error.as_ref().map(|error| truncate::head(error, 2_000)),
        reason: data.reason.clone(),
        code: data.code.clone(),
        lesson: data.lesson.clone(),
        blocked: data.blocked.clone(),
        decided_by: data.decided_by.clone(),
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
        event.progress_metrics = serde_json::to_value(&over.progress).ok();
        let artifacts = serde_json::to_value(&over.artifacts).unwrap_or_default();
        event.artifacts = Some(truncate::value(&artifacts, 200, 50, 2));
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
