//! A run whose attempts other machines make: the state machine with the values that its transitions carry.
//!
//! [`RemoteRun`] takes what happened in a batch and returns what is to be asked of other machines: attempts, lessons, merges,
//! and what became of an attempt whose worker was lost. The transitions that follow are given by [`RemoteRun::take_transitions`]. Like the
//! machine it has no clock and does no I/O, so that the same batches give the same transitions in every process: in the
//! workflow code of a durable engine, and in a client that folds the engine's history ([`crate::engine::Run::append`]).
//!
//! [`attempt`] is the other side: one attempt, made by a process that has nothing of the run but the order.
//!
//! Limits: outputs that other steps refer to are held in memory.

pub mod attempt;
mod values;

pub use attempt::{AttemptOrder, AttemptReply};

use crate::engine::WorkflowStatus;
use crate::engine::outcome::status_of;
use crate::engine::people::question;
use crate::engine::perform::skip_data;
use crate::engine::resolve::Inputs;
use crate::machine::{
    AttemptEnd, Change, Effect, Input, LessonResult, Machine, Payload, Preparation, Recollection, StateError,
    Ticket,
};
use crate::record::{Answer, Data, NewTransition, StepStatus, WorkflowState};
use crate::retry::{Attempt, Progress};
use crate::spec::{Step, Workflow};
use crate::worker::Status;
use crate::workers::{WorkerFacts, worker_facts};
use marvin_base::truncate;
use marvin_memory::lessons::Lesson;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::Values;

/// Characters of a lesson that an attempt is given.
const MAX_LESSON_CHARS: usize = 2_000;

/// What happened to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RemoteInput {
    /// An attempt ended.
    Finished {
        step: u32,
        reply: Box<AttemptReply>,
    },
    /// An attempt was delivered, and has no end: its worker was lost, or it was cancelled.
    Lost {
        step: u32,
        attempt: u32,
    },
    /// The changes of an attempt were merged, or conflict.
    Merged {
        step: u32,
        reply: Box<AttemptReply>,
    },
    /// The end of an attempt whose worker was lost, if it left one.
    Recalled {
        step: u32,
        reply: Option<Box<AttemptReply>>,
    },
    Taught {
        step: u32,
        lesson: LessonResult,
    },
    /// The decision of a person about a step.
    Answer {
        step: u32,
        answer: Value,
    },
    /// Nothing begins any more.
    Stop,
    /// A run that was stopped continues.
    Resume,
}

/// What other machines are to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RemoteEffect {
    Attempt(Box<AttemptOrder>),
    /// Find the end of an attempt whose worker was lost.
    Recall(Box<AttemptOrder>),
    /// Merge the changes of an attempt that succeeded.
    Merge {
        order: Box<AttemptOrder>,
        reply: Box<AttemptReply>,
    },
    /// Write a lesson.
    Teach {
        step: u32,
        lesson: Box<Lesson>,
    },
    /// Cancel every attempt that runs.
    CancelAttempts,
}

/// The state of a run between two batches, for another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemoteState {
    machine: crate::machine::MachineState,
    values: Values,
    attempts: BTreeMap<u32, AttemptOrder>,
}

/// A run whose attempts other machines make.
#[derive(Debug)]
pub struct RemoteRun {
    workflow: Arc<Workflow>,
    machine: Machine,
    values: Values,
    /// Attempts that were started, by step.
    attempts: BTreeMap<u32, AttemptOrder>,
    /// The attempt that the machine asked about, with its facts.
    prepared: BTreeMap<u32, AttemptOrder>,
    /// Results that the machine has not judged yet.
    results: BTreeMap<u32, Box<AttemptReply>>,
    transitions: Vec<NewTransition>,
    effects: Vec<RemoteEffect>,
}

fn is_echo(worker: &str) -> bool {
    worker == "Echo"
}

impl RemoteRun {
    /// A new run; its first batch may be empty.
    #[must_use]
    pub fn new(workflow: Arc<Workflow>, run_id: &str, slots: usize) -> Self {
        let folded = WorkflowState::empty(workflow.steps.len());
        let machine = Machine::restore(workflow.clone(), run_id, folded, slots, &is_echo);
        RemoteRun::assemble(workflow, machine)
    }

    fn assemble(workflow: Arc<Workflow>, machine: Machine) -> Self {
        RemoteRun {
            values: Values::new(&workflow),
            workflow,
            machine,
            attempts: BTreeMap::new(),
            prepared: BTreeMap::new(),
            results: BTreeMap::new(),
            transitions: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// The run in a state that another process gave.
    ///
    /// # Errors
    /// When the state is of another version or of another workflow.
    pub fn load(workflow: Arc<Workflow>, state: RemoteState) -> Result<Self, StateError> {
        let RemoteState { machine, values, attempts } = state;
        let machine = Machine::load(workflow.clone(), machine, &is_echo)?;
        Ok(RemoteRun { values, attempts, ..RemoteRun::assemble(workflow, machine) })
    }

    /// The whole state between two batches.
    #[must_use]
    pub fn state(&self) -> RemoteState {
        RemoteState {
            machine: self.machine.state().clone(),
            values: self.values.clone(),
            attempts: self.attempts.clone(),
        }
    }

    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Takes the transitions since the last call, in order.
    pub fn take_transitions(&mut self) -> Vec<NewTransition> {
        std::mem::take(&mut self.transitions)
    }

    /// Whether nothing follows without a person: all steps are over, one waits for an answer, or the run was stopped.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.machine.is_idle()
    }

    /// Whether the run is over: nothing can ever follow.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let state = self.machine.state();
        let waits = !state.ready.is_empty() || !state.queued.is_empty() || !state.echoes.is_empty();
        let is_open = |status: &StepStatus| *status == StepStatus::Running;
        let is_stuck = state.parked == 0 && !state.stopping && !state.status.iter().any(is_open);
        self.is_idle() && !waits && is_stuck
    }

    /// The status of a run in which nothing is under way.
    #[must_use]
    pub fn status(&self) -> WorkflowStatus {
        let state = self.machine.state();
        let mut counts = BTreeMap::new();
        for status in &state.status {
            *counts.entry(status.word()).or_insert(0) += 1;
        }
        status_of(&counts, state.stopping)
    }

    /// Takes everything that happened together, and begins nothing: until nothing is under way, and the state can be given to
    /// another process.
    pub fn hold(&mut self, batch: Vec<RemoteInput>) -> Vec<RemoteEffect> {
        for input in batch {
            self.take(input);
        }
        std::mem::take(&mut self.effects)
    }

    /// Takes everything that happened together; the effects are to be carried out in this order.
    pub fn on(&mut self, batch: Vec<RemoteInput>) -> Vec<RemoteEffect> {
        for input in batch {
            self.take(input);
        }
        loop {
            let before = (self.transitions.len(), self.effects.len());
            self.feed(Input::Advance);
            if before == (self.transitions.len(), self.effects.len()) {
                break;
            }
        }
        std::mem::take(&mut self.effects)
    }

    fn take(&mut self, input: RemoteInput) {
        match input {
            RemoteInput::Finished { step, reply } => {
                let end = Box::new(reply.end.clone());
                self.results.insert(step, reply);
                self.feed(Input::Finished { step, end });
            }
            RemoteInput::Lost { step, attempt } => {
                self.feed(Input::Finished { step, end: Box::new(lost_end(attempt)) });
                if !self.machine.state().stopping {
                    self.feed(Input::Open);
                }
            }
            RemoteInput::Merged { step, reply } => {
                let end = Box::new(reply.end.clone());
                self.results.insert(step, reply);
                self.feed(Input::Merged { step, end });
            }
            RemoteInput::Recalled { step, reply } => self.take_recollection(step, reply),
            RemoteInput::Taught { step, lesson } => {
                if let LessonResult::Written { id } = &lesson {
                    self.values.name_lesson(step, id);
                }
                self.feed(Input::Taught { step, lesson });
            }
            RemoteInput::Answer { step, answer } => {
                let id = self.machine.state().last_answer + 1;
                self.feed(Input::Answers(vec![Answer { id, step, answer }]));
            }
            RemoteInput::Stop => {
                self.feed(Input::Stop);
                self.effects.push(RemoteEffect::CancelAttempts);
            }
            RemoteInput::Resume => self.resume(),
        }
    }

    fn resume(&mut self) {
        if !self.machine.state().stopping {
            return;
        }
        let mut state = self.machine.state().clone();
        state.stopping = false;
        // The state is this machine's own, so it fits.
        if let Ok(machine) = Machine::load(self.workflow.clone(), state, &is_echo) {
            self.machine = machine;
            self.feed(Input::Open);
        }
    }

    fn take_recollection(&mut self, step: u32, reply: Option<Box<AttemptReply>>) {
        let recollection = match reply {
            Some(reply) => {
                let end = Box::new(reply.end.clone());
                self.results.insert(step, reply);
                Recollection::Ended { end, has_worktree: true }
            }
            None => match self.prepared.get(&step) {
                Some(order) => Recollection::Unknown { repeatable: order.repeatable, writes: order.writes },
                None => Recollection::NoWorker,
            },
        };
        self.feed(Input::Recalled { step, recollection });
    }

    /// Gives the machine an input and carries out what follows from it.
    fn feed(&mut self, input: Input) {
        // The answer to a question goes before the effects that stand behind the question.
        let mut open = vec![self.machine.on(input).into_iter()];
        while let Some(effects) = open.last_mut() {
            match effects.next() {
                None => drop(open.pop()),
                Some(effect) => {
                    if let Some(answer) = self.perform(effect) {
                        open.push(self.machine.on(answer).into_iter());
                    }
                }
            }
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Record(change) => self.record(*change),
            Effect::Echo { step } => {
                let outputs = self.workflow.steps.get(step as usize).map(Step::inputs);
                self.write(step, StepStatus::Succeeded, Data { outputs, ..Data::default() });
            }
            Effect::Skip { reason, steps, .. } => {
                let data = skip_data(&reason);
                for step in steps {
                    self.write(step, StepStatus::Skipped, data.clone());
                }
            }
            Effect::Resolve { step } => {
                let inputs = self.inputs(step);
                let inputs = match self.workflow.steps.get(step as usize) {
                    Some(one) => inputs.check_echo(one),
                    None => inputs,
                };
                let problem = self.values.keep_resolved(step, inputs);
                return Some(Input::Resolved { step, problem });
            }
            Effect::Ask { step } => {
                let inputs = self.inputs(step);
                let preparation = match self.values.keep_resolved(step, inputs) {
                    Some(problem) => Preparation::Invalid(problem),
                    None => Preparation::Ready { writes: false },
                };
                return Some(Input::Prepared { step, preparation });
            }
            Effect::Prepare { step, ticket } => {
                let preparation = self.prepare(step, *ticket);
                return Some(Input::Prepared { step, preparation });
            }
            Effect::Recall { step, ticket, call_id } => {
                let inputs = self.attempts.remove(&step).map(|order| order.inputs).unwrap_or_default();
                let Some(mut order) = self.order(step, *ticket, inputs) else {
                    return Some(Input::Recalled { step, recollection: Recollection::NoWorker });
                };
                order.call_id = call_id;
                self.prepared.insert(step, order.clone());
                self.effects.push(RemoteEffect::Recall(Box::new(order)));
            }
            Effect::Start { step, call_id } => {
                if let Some(mut order) = self.prepared.remove(&step) {
                    order.call_id = call_id;
                    self.attempts.insert(step, order.clone());
                    self.effects.push(RemoteEffect::Attempt(Box::new(order)));
                }
            }
            Effect::Merge { step } => {
                let reply = self.results.remove(&step);
                let order = self.attempts.get(&step).or(self.prepared.get(&step)).cloned();
                let merge = |(order, reply)| RemoteEffect::Merge { order: Box::new(order), reply };
                self.effects.extend(order.zip(reply).map(merge));
            }
            Effect::Teach { step, lesson } => {
                self.values.keep_lesson(step, truncate::head(&lesson.body, MAX_LESSON_CHARS));
                self.effects.push(RemoteEffect::Teach { step, lesson });
            }
        }
        None
    }

    fn record(&mut self, change: Change) {
        let Change { step, status, mut data, payload } = change;
        match payload {
            Payload::Nothing => {}
            Payload::Inputs => {
                data.inputs = self.prepared.get(&step).map(|order| order.inputs.clone());
            }
            Payload::Question => {
                let inputs = self.values.take_resolved(step);
                data.error = self.workflow.steps.get(step as usize).map(|one| question(one, &inputs));
                data.inputs = Some(inputs);
            }
            Payload::Echo => data.outputs = Some(self.values.take_resolved(step)),
            Payload::Report => {
                if let Some(reply) = self.results.remove(&step) {
                    data.outputs = Some(reply.outputs);
                    data.artifacts = reply.artifacts;
                }
            }
            Payload::Previous => {
                let (inputs, error) = self.values.question(step);
                data.inputs = inputs;
                if status == StepStatus::Blocked {
                    data.error = error;
                }
            }
        }
        if !matches!(status, StepStatus::Running | StepStatus::Ready) {
            self.attempts.remove(&step);
        }
        self.write(step, status, data);
    }

    fn write(&mut self, step: u32, status: StepStatus, data: Data) {
        self.values.keep(&self.workflow, step, status, &data);
        self.transitions.push(NewTransition { step, status, data });
    }

    fn inputs(&mut self, step: u32) -> Inputs {
        let answer = self.machine.history(step).and_then(|tried| tried.said.clone());
        self.values.inputs(&self.workflow, step, answer)
    }

    fn prepare(&mut self, step: u32, ticket: Ticket) -> Preparation {
        let inputs = match self.inputs(step) {
            Inputs::Valid(inputs) => inputs,
            Inputs::Invalid(problem) => return Preparation::Invalid(problem),
        };
        let Some(order) = self.order(step, ticket, inputs) else { return Preparation::NoWorker };
        let writes = order.writes;
        self.prepared.insert(step, order);
        Preparation::Ready { writes }
    }

    /// The order of an attempt, still without its call id; none if its worker does not exist.
    fn order(&self, step: u32, ticket: Ticket, inputs: Map<String, Value>) -> Option<AttemptOrder> {
        let extra = self.workflow.steps.get(step as usize)?.extra();
        let WorkerFacts { writes, repeatable } =
            worker_facts(&ticket.strategy.worker, &ticket.strategy.strategy_id, extra.poll.is_some())?;
        Some(AttemptOrder {
            step,
            lesson: ticket.lesson.as_deref().and_then(|id| self.values.lesson(step, id)),
            ticket,
            call_id: String::new(),
            inputs,
            writes: extra.writes.unwrap_or(writes),
            repeatable: extra.repeatable.unwrap_or(repeatable),
        })
    }
}

/// The end of an attempt that has none.
fn lost_end(attempt: u32) -> AttemptEnd {
    AttemptEnd {
        attempt: Attempt {
            attempt_id: attempt,
            status: Status::Failure,
            call_signature: String::new(),
            worker_type: String::new(),
            strategy_id: String::new(),
            retrieval_stage: 1,
            summary: String::new(),
            failure_signature: None,
            progress: Progress::default(),
            artifacts: Vec::new(),
        },
        stopped: true,
        next_signature: None,
        component: String::new(),
        retryable: false,
        terminates: None,
    }
}
