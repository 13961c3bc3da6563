//! The driver of the machine on one machine: it feeds what happens, records what follows, and starts what was recorded.

use super::execute::{AttemptResult, Event, Job};
use super::outcome::{BlockedStep, Outcome, status_of};
use super::prepare::PreparedAttempt;
use super::{EngineError, Teacher, files};
use crate::machine::{Effect, Input, Machine, is_unverified};
use crate::record::{Data, Record, StepStatus, WorkflowState};
use crate::spec::{Step, Workflow};
use crate::worker::Workers;
use marvin_agent::trace::Trace;
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_base::trace_event::{StepEvent, TraceEvent};
use marvin_base::truncate;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// How often answers of people are looked for while other steps run.
const ANSWER_POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Steps of one status that an outcome lists.
const MAX_LISTED_STEPS: usize = 20;
/// Steps that share one event.
pub(super) const MAX_STEPS_PER_EVENT: usize = 64;

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

pub(super) struct Dispatcher {
    pub(super) directory: RunDirectory,
    pub(super) trace: Arc<Trace>,
    pub(super) record: Record,
    pub(super) workflow: Arc<Workflow>,
    pub(super) workers: Workers,
    pub(super) teacher: Box<dyn Teacher>,
    pub(super) workspace: PathBuf,
    pub(super) redactor: Arc<Redactor>,
    inbox: mpsc::Receiver<Event>,
    starts: UnboundedSender<Job>,

    pub(super) machine: Machine,
    /// The last transition of each step.
    pub(super) seq: Vec<i64>,
    /// The resolved inputs of the echo step or of the step for a person that the machine asked about last.
    pub(super) resolved: Option<Map<String, Value>>,
    /// The attempt that the machine asked about last.
    pub(super) prepared: Option<Box<PreparedAttempt>>,
    /// Results that the machine has not judged yet.
    pub(super) results: BTreeMap<u32, Box<AttemptResult>>,
    /// Jobs that begin after the commit.
    pub(super) launches: Vec<Job>,
    /// Events that are written after the commit.
    pub(super) pending_events: Vec<TraceEvent>,
    pub(super) completed_echoes: Vec<u32>,
    answers_read_at: Option<Instant>,
    commits: u64,
}

impl Dispatcher {
    pub(super) fn new(mut parts: Parts) -> Self {
        let workflow = Arc::new(parts.workflow);
        let seq = std::mem::take(&mut parts.folded.seq);
        let workers = parts.workers;
        let is_echo = |name: &str| workers.get(name).is_some_and(|worker| worker.is_echo());
        let machine = Machine::restore(
            workflow.clone(),
            parts.directory.id(),
            parts.folded,
            parts.concurrency,
            &is_echo,
        );
        Dispatcher {
            directory: parts.directory,
            trace: parts.trace,
            record: parts.record,
            workflow,
            workers,
            teacher: parts.teacher,
            workspace: parts.workspace,
            redactor: parts.redactor,
            inbox: parts.inbox,
            starts: parts.starts,
            machine,
            seq,
            resolved: None,
            prepared: None,
            results: BTreeMap::new(),
            launches: Vec::new(),
            pending_events: Vec::new(),
            completed_echoes: Vec::new(),
            answers_read_at: None,
            commits: 0,
        }
    }

    /// Runs until no step can begin.
    pub(super) fn run(mut self) -> Result<Outcome, EngineError> {
        self.check_workers()?;
        self.check_artifacts()?;
        let began = Instant::now();
        self.record.expect(true)?;
        self.feed(Input::Open)?;
        self.settle()?;
        let mut events: Vec<Event> = Vec::new();
        loop {
            events.extend(self.inbox.try_iter());
            let before = self.record.last();
            let launched = self.round(&mut events)?;
            if self.record.last() > before || launched {
                continue;
            }
            if self.machine.is_idle() {
                break;
            }
            // No transition follows from the current state.
            match self.inbox.recv_timeout(if self.machine.state().parked > 0 {
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
        let state = self.machine.state();
        let is_due = |last: Instant| last.elapsed() >= ANSWER_POLL_INTERVAL || state.running.is_empty();
        let may_listen = state.parked > 0 && !state.stopping && self.answers_read_at.is_none_or(is_due);
        self.record.expect(!events.is_empty() || may_listen || self.machine.may_begin())?;
        for event in events.drain(..) {
            match event {
                Event::Stop => self.feed(Input::Stop)?,
                Event::Finished(step, done) => {
                    let end = Box::new(self.attempt_end(step, &done)?);
                    self.results.insert(step, done);
                    self.feed(Input::Finished { step, end })?;
                }
                Event::Merged(step, done) => {
                    let end = Box::new(self.attempt_end(step, &done)?);
                    self.results.insert(step, done);
                    self.feed(Input::Merged { step, end })?;
                }
            }
        }
        if may_listen {
            self.answers_read_at = Some(Instant::now());
            self.take_answers()?;
        }
        self.feed(Input::Advance)?;
        self.settle()
    }

    /// Gives the machine an input and carries out what follows from it.
    pub(super) fn feed(&mut self, input: Input) -> Result<(), EngineError> {
        // The answer to a question goes before the effects that stand behind the question.
        let mut open: Vec<std::vec::IntoIter<Effect>> = vec![self.machine.on(input).into_iter()];
        while let Some(effects) = open.last_mut() {
            let Some(effect) = effects.next() else {
                open.pop();
                continue;
            };
            if effects.as_slice().is_empty() {
                open.pop();
            }
            if let Some(answer) = self.perform(effect)? {
                open.push(self.machine.on(answer).into_iter());
            }
        }
        Ok(())
    }

    /// Gives the machine the answers that people gave since the last call.
    fn take_answers(&mut self) -> Result<(), EngineError> {
        let mut answers = self.record.answers_after(self.machine.state().last_answer)?;
        if answers.is_empty() {
            return Ok(());
        }
        for answer in &mut answers {
            self.redactor.value(&mut answer.answer);
        }
        self.feed(Input::Answers(answers))
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

    fn end(mut self, began: Instant) -> Result<Outcome, EngineError> {
        let dispatched = began.elapsed();
        self.write_events()?;
        let outcome = summarize(&self.machine, &mut |step| self.last_transition(step))?;
        self.record.close()?;
        files::write_state(self.directory.path(), &self.record, &self.workflow, &self.redactor)?;
        if outcome.status == super::WorkflowStatus::Succeeded {
            self.check_artifacts()?;
        }
        Ok(Outcome { commits: self.commits, dispatched, ..outcome })
    }

    pub(super) fn last_transition(&self, step: u32) -> Result<Data, EngineError> {
        let seq = self.seq.get(step as usize).copied().unwrap_or(0);
        Ok(if seq > 0 { Data::parse(&self.record.data(seq)?) } else { Data::default() })
    }
}

/// The outcome of a run in which nothing can begin; `last` gives the last transition of a step.
pub(crate) fn summarize(
    machine: &Machine,
    last: &mut dyn FnMut(u32) -> Result<Data, EngineError>,
) -> Result<Outcome, EngineError> {
    let (workflow, state) = (machine.workflow(), machine.state());
    let mut counts = BTreeMap::new();
    for status in &state.status {
        *counts.entry(status.word()).or_insert(0) += 1;
    }
    let with = |wanted: StepStatus| {
        let all = (0_u32..).zip(&state.status).filter(move |(_, status)| **status == wanted);
        all.map(|(step, _)| step).take(MAX_LISTED_STEPS)
    };
    let mut outcome = Outcome {
        run_id: String::new(),
        run_path: PathBuf::new(),
        status: status_of(&counts, state.stopping),
        counts,
        steps: workflow.steps.len(),
        failed: Vec::new(),
        partial: Vec::new(),
        waiting: Vec::new(),
        unverified: state.unverified,
        spent: false,
        cost: None,
        termination: state
            .terminated
            .as_ref()
            .map(|(step, why)| (step_id(workflow, *step).to_string(), why.clone())),
        commits: 0,
        finished: state.finished,
        dispatched: Duration::ZERO,
        elapsed: Duration::ZERO,
    };
    for step in with(StepStatus::Failed) {
        let data = last(step)?;
        let failure = data.over.as_ref().and_then(|over| over.failure_signature.as_deref());
        outcome.unverified |= is_unverified(failure);
        outcome.spent |= failure == Some("max-cost");
        outcome.failed.push((step_id(workflow, step).to_string(), data.error.unwrap_or_default()));
    }
    for step in with(StepStatus::Partial) {
        let data = last(step)?;
        let why = data.error.or(data.reason).unwrap_or_default();
        outcome.partial.push((step_id(workflow, step).to_string(), why));
    }
    for step in with(StepStatus::Blocked) {
        let data = last(step)?;
        outcome.waiting.push(BlockedStep {
            step_id: step_id(workflow, step).to_string(),
            kind: data.blocked.unwrap_or_default(),
            text: data.error.unwrap_or_default(),
        });
    }
    Ok(outcome)
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
