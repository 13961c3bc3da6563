//! The driver of a run: what follows from events, without a clock and without I/O.
//!
//! The workflow code and a client that folds the history use the same driver, and give it the same batches: what happened
//! between two tasks of the workflow code. Within a batch, signals come first in their order, then the ends of tasks by step.

use crate::budget::Budget;
use crate::task::{
    AttemptDone, AttemptTask, RunInput, RunResult, RunSignal, RunState, Task, TaskEnd, TaskId, TaskKind,
    WaveInput, WaveTask,
};
use crate::wave_plan::{Beginning, Waves};
use marvin_base::run_record::RunStatus;
use marvin_flow::machine::{LessonResult, MERGE_CONFLICT, Machine, VERSION};
use marvin_flow::record::NewTransition;
use marvin_flow::remote::attempt::AttemptRequest;
use marvin_flow::remote::{AttemptOrder, AttemptReply, RemoteEffect, RemoteInput, RemoteRun};
use marvin_flow::spec::{self, Workflow};
use marvin_flow::worker::Status;
use marvin_store::BlobId;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What happened to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    Signal(RunSignal),
    Ended(TaskId, TaskEnd),
    /// The wave with this number is closed: those of its attempts that did not end are lost.
    WaveClosed(u32),
}

/// What is to be done for a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunCommand {
    Start(TaskId, Task),
    /// Start the wave with this number.
    StartWave(u32, Box<WaveInput>),
    /// Cancel the attempts that run, also those of waves.
    CancelAttempts,
}

/// What a run does between two batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Tasks are under way, or a person is needed.
    Open,
    /// Nothing is under way, and the next execution of the workflow code is to continue.
    Continue,
    /// Nothing can ever follow.
    Over,
}

/// Why a run cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("the run is of version {0} of the workflow engine, and this program knows {VERSION}")]
    Version(u32),
    #[error("its workflow is invalid: {0}")]
    Workflow(String),
    #[error(transparent)]
    State(#[from] marvin_flow::machine::StateError),
}

/// The driver of a run.
#[derive(Debug)]
pub struct RunDriver {
    input: RunInput,
    workflow: Arc<Workflow>,
    remote: RemoteRun,
    /// Tasks under way, with the reply whose changes are merged.
    pending: BTreeMap<TaskId, Option<Box<AttemptReply>>>,
    /// Changes of attempts that are to be merged, by step.
    unmerged: BTreeMap<u32, BlobId>,
    budget: Budget,
    waves: Waves,
    /// Attempts that were cancelled before a worker was given them.
    unbegun: Vec<RemoteInput>,
    /// No further attempt begins in this execution of the workflow code.
    draining: bool,
}

impl RunDriver {
    /// A driver for one execution of the workflow code; its first batch may be empty.
    ///
    /// # Errors
    /// When the run is of another version, or its workflow is invalid.
    pub fn open(mut input: RunInput, document: &RawValue) -> Result<Self, DriverError> {
        if input.version != VERSION {
            return Err(DriverError::Version(input.version));
        }
        let workflow = spec::from_text(document.get(), "run.json")
            .map_err(|error| DriverError::Workflow(error.to_string()))?;
        let workflow = Arc::new(workflow);
        let (remote, budget, waves) = match input.state.take() {
            Some(state) => {
                let RunState { remote, spent, highest_cost, last_wave, pace_ms } = *state;
                let remote = RemoteRun::load(workflow.clone(), remote)?;
                (remote, Budget::new(input.limit, spent, highest_cost), Waves::new(last_wave, pace_ms))
            }
            None => {
                let remote = RemoteRun::new(workflow.clone(), &input.run_id, input.slots);
                (remote, Budget::new(input.limit, 0, None), Waves::default())
            }
        };
        Ok(RunDriver {
            input,
            workflow,
            remote,
            pending: BTreeMap::new(),
            unmerged: BTreeMap::new(),
            budget,
            waves,
            unbegun: Vec::new(),
            draining: false,
        })
    }

    /// Takes everything that happened together. With `drain`, no attempt begins from now on: the history is long enough.
    pub fn on(&mut self, mut events: Vec<RunEvent>, drain: bool) -> Vec<RunCommand> {
        self.draining |= drain;
        events.sort_by_key(|event| match event {
            RunEvent::Signal(_) => (0, None),
            RunEvent::Ended(id, _) => (1, Some(*id)),
            RunEvent::WaveClosed(number) => (2 + u64::from(*number), None),
        });
        let mut batch: Vec<RemoteInput> = Vec::new();
        for event in events {
            match event {
                RunEvent::WaveClosed(number) => {
                    for id in self.waves.close(number) {
                        batch.extend(self.translate(RunEvent::Ended(id, TaskEnd::Failed)));
                    }
                }
                event => batch.extend(self.translate(event)),
            }
        }
        let mut commands = self.feed(batch);
        let lost = std::mem::take(&mut self.unbegun);
        if !lost.is_empty() {
            commands.extend(self.feed(lost));
        }
        let lent = self.budget.lend().into_iter();
        commands.extend(lent.map(|(id, request)| RunCommand::Start(id, Task::Attempt(request))));
        commands.extend(self.begin_waves());
        commands
    }

    /// Gives the run inputs; returns what follows.
    fn feed(&mut self, batch: Vec<RemoteInput>) -> Vec<RunCommand> {
        let effects = if self.draining { self.remote.hold(batch) } else { self.remote.on(batch) };
        effects.into_iter().filter_map(|effect| self.command(effect)).collect()
    }

    /// Takes attempts that no worker was given, as others are cancelled.
    fn cancel_unbegun(&mut self) {
        for id in self.waves.take_gathered().into_iter().chain(self.budget.take_waiting()) {
            self.pending.remove(&id);
            self.unbegun.push(RemoteInput::Lost { step: id.step, attempt: id.attempt });
        }
    }

    /// Attempts that were gathered and begin now.
    fn begin_waves(&mut self) -> Vec<RunCommand> {
        let under_way = self.pending.len().saturating_sub(self.waves.gathered());
        let more = !self.draining && !self.machine().state().ready.is_empty();
        let begun = self.waves.begin(under_way, more);
        let command = |beginning| match beginning {
            Beginning::Alone(id, task) => RunCommand::Start(id, Task::Attempt(task)),
            Beginning::Wave(number, tasks) => RunCommand::StartWave(number, Box::new(self.wave(tasks))),
        };
        begun.into_iter().map(command).collect()
    }

    fn wave(&self, tasks: Vec<(TaskId, Box<AttemptTask>)>) -> WaveInput {
        let task = |(id, task): (TaskId, Box<AttemptTask>)| {
            let step = self.workflow.steps.get(id.step as usize);
            WaveTask { id, timeout_s: step.and_then(|step| step.extra().timeout_s), task: *task }
        };
        WaveInput {
            heartbeat_s: self.input.heartbeat_s,
            roles: self.input.roles.clone(),
            pace_ms: self.waves.pace_ms(),
            tasks: tasks.into_iter().map(task).collect(),
        }
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        if !self.pending.is_empty() || !self.waves.are_closed() {
            Phase::Open
        } else if self.remote.is_over() {
            Phase::Over
        } else if self.draining && self.remote.is_idle() {
            Phase::Continue
        } else {
            Phase::Open
        }
    }

    /// Whether nothing follows without a person.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.waves.are_closed() && self.remote.is_idle() && !self.draining
    }

    /// Where the run stands.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match self.phase() {
            Phase::Over => self.remote.status().into(),
            Phase::Open if self.is_idle() => self.remote.status().into(),
            Phase::Open | Phase::Continue => RunStatus::Running,
        }
    }

    #[must_use]
    pub fn machine(&self) -> &Machine {
        self.remote.machine()
    }

    #[must_use]
    pub fn workflow(&self) -> &Arc<Workflow> {
        &self.workflow
    }

    #[must_use]
    pub fn input(&self) -> &RunInput {
        &self.input
    }

    /// The input of the next execution of the workflow code.
    #[must_use]
    pub fn continuation(&self) -> RunInput {
        let state = RunState {
            remote: self.remote.state(),
            spent: self.budget.spent(),
            highest_cost: self.budget.highest_cost(),
            last_wave: self.waves.last(),
            pace_ms: self.waves.pace_ms(),
        };
        RunInput { state: Some(Box::new(state)), ..self.input.clone() }
    }

    #[must_use]
    pub fn result(&self) -> RunResult {
        RunResult { finished: self.machine().state().finished, steps: self.workflow.steps.len() }
    }

    /// Takes the transitions since the last call, in order.
    pub fn take_transitions(&mut self) -> Vec<NewTransition> {
        self.remote.take_transitions()
    }

    fn translate(&mut self, event: RunEvent) -> Option<RemoteInput> {
        let (id, end) = match event {
            RunEvent::Signal(RunSignal::Stop) => return Some(RemoteInput::Stop),
            RunEvent::Signal(RunSignal::Resume { limit }) => {
                if let Some(limit) = limit {
                    self.input.limit = Some(limit);
                    self.budget.set_limit(limit);
                }
                return Some(RemoteInput::Resume);
            }
            RunEvent::Signal(RunSignal::Decide { step, decision: answer }) => {
                return Some(RemoteInput::Answer { step, answer });
            }
            RunEvent::Ended(id, end) => (id, end),
            RunEvent::WaveClosed(_) => return None,
        };
        // Of a task that is not under way, nothing is expected.
        let kept = self.pending.remove(&id)?;
        if id.kind == TaskKind::Attempt {
            let done = if let TaskEnd::Done(done) = &end { Some(&**done) } else { None };
            self.budget.take_back(id, done.map(|done| done.reply.cost));
            self.waves.end(id, done);
        }
        let TaskId { step, attempt, .. } = id;
        let input = match (id.kind, end) {
            (TaskKind::Attempt, TaskEnd::Done(done)) => {
                let reply = self.take_changes(step, *done);
                RemoteInput::Finished { step, reply }
            }
            (TaskKind::Attempt, _) => RemoteInput::Lost { step, attempt },
            (TaskKind::Merge, TaskEnd::Done(done)) => {
                let AttemptDone { reply, changes, .. } = *done;
                self.unmerged.remove(&step);
                if reply.end.attempt.status == Status::Success {
                    self.add_changes(changes);
                }
                RemoteInput::Merged { step, reply: Box::new(reply) }
            }
            (TaskKind::Merge, _) => RemoteInput::Merged { step, reply: Box::new(unmerged(*kept?)) },
            (TaskKind::Recall, TaskEnd::Recalled(done)) => {
                let reply = done.map(|done| self.take_changes(step, *done));
                RemoteInput::Recalled { step, reply }
            }
            (TaskKind::Recall, _) => RemoteInput::Recalled { step, reply: None },
            (TaskKind::Teach, TaskEnd::Taught(lesson)) => RemoteInput::Taught { step, lesson },
            (TaskKind::Teach, _) => {
                let error = "no worker could write it".to_string();
                RemoteInput::Taught { step, lesson: LessonResult::Failed { error } }
            }
        };
        Some(input)
    }

    fn command(&mut self, effect: RemoteEffect) -> Option<RunCommand> {
        match effect {
            RemoteEffect::Attempt(order) => {
                let id = task_id(TaskKind::Attempt, &order);
                let task = self.task(*order, None)?;
                if self.budget.concerns(&task) {
                    self.pending.insert(id, None);
                    self.budget.wait(id, task);
                    return None;
                }
                if task.request.order.repeatable {
                    self.pending.insert(id, None);
                    self.waves.gather(id, task);
                    return None;
                }
                Some(self.start(id, Task::Attempt(task), None))
            }
            RemoteEffect::Recall(order) => {
                let id = task_id(TaskKind::Recall, &order);
                Some(self.start(id, Task::Recall(order.ticket.key), None))
            }
            RemoteEffect::Merge { order, reply } => {
                let id = task_id(TaskKind::Merge, &order);
                let task = self.task(*order, Some((*reply).clone()))?;
                Some(self.start(id, Task::Merge(task), Some(reply)))
            }
            RemoteEffect::Teach { step, lesson } => {
                let history = self.machine().history(step);
                let attempt = history.map_or(0, |tried| tried.attempts.len());
                let attempt = u32::try_from(attempt).unwrap_or(u32::MAX).saturating_add(1);
                let id = TaskId { step, kind: TaskKind::Teach, attempt };
                Some(self.start(id, Task::Teach(lesson), None))
            }
            RemoteEffect::CancelAttempts => {
                self.cancel_unbegun();
                Some(RunCommand::CancelAttempts)
            }
        }
    }

    fn start(&mut self, id: TaskId, task: Task, merged: Option<Box<AttemptReply>>) -> RunCommand {
        self.pending.insert(id, merged);
        RunCommand::Start(id, task)
    }

    fn task(&self, order: AttemptOrder, merge: Option<AttemptReply>) -> Option<Box<AttemptTask>> {
        let step = self.workflow.steps.get(order.step as usize)?;
        let workspace = self.input.workspace.clone();
        let changes = self.unmerged.get(&order.step).filter(|_| merge.is_some()).cloned();
        let request = AttemptRequest {
            version: VERSION,
            run_id: self.input.run_id.clone(),
            workflow: self.workflow.single_step(step),
            order,
            merge,
            allowance: None,
        };
        Some(Box::new(AttemptTask { request, workspace, merge: changes }))
    }

    /// Keeps the changes of an attempt: those of a step with a worktree until they are merged.
    fn take_changes(&mut self, step: u32, done: AttemptDone) -> Box<AttemptReply> {
        let AttemptDone { reply, changes, .. } = done;
        let worktree = self.workflow.steps.get(step as usize).is_some_and(|step| step.extra().worktree);
        match changes {
            Some(changes) if worktree => drop(self.unmerged.insert(step, changes)),
            changes => self.add_changes(changes),
        }
        Box::new(reply)
    }

    fn add_changes(&mut self, changes: Option<BlobId>) {
        if let Some(workspace) = &mut self.input.workspace {
            workspace.changes.extend(changes);
        }
    }
}

fn task_id(kind: TaskKind, order: &AttemptOrder) -> TaskId {
    TaskId { step: order.step, kind, attempt: order.ticket.attempt }
}

/// The end of an attempt whose changes no worker could merge.
fn unmerged(mut reply: AttemptReply) -> AttemptReply {
    reply.end.attempt.status = Status::Blocked;
    reply.end.attempt.failure_signature = Some(MERGE_CONFLICT.into());
    reply.end.attempt.summary = "no worker could merge its changes".into();
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn open(slots: usize, limit: Option<u64>, steps: &[Value]) -> RunDriver {
        let workflow = json!({"workflow_id": "w", "goal": "g", "steps": steps});
        let input = RunInput {
            version: VERSION,
            run_id: "run_20260101_000000_abcd".into(),
            slots,
            heartbeat_s: 2,
            roles: Vec::new(),
            limit,
            workspace: None,
            search_attributes: false,
            state: None,
        };
        RunDriver::open(input, &serde_json::value::to_raw_value(&workflow).unwrap()).unwrap()
    }

    fn attempt(step: u32) -> TaskId {
        TaskId { step, kind: TaskKind::Attempt, attempt: 1 }
    }

    fn names(commands: Vec<RunCommand>) -> Vec<String> {
        let name = |command| match command {
            RunCommand::Start(id, _) => id.to_string(),
            RunCommand::StartWave(number, input) => format!("wave {number} of {}", input.tasks.len()),
            RunCommand::CancelAttempts => "cancel".to_string(),
        };
        commands.into_iter().map(name).collect()
    }

    fn step(number: usize, repeatable: bool) -> Value {
        json!({"id": format!("s{number}"), "worker": "Command", "writes": false, "repeatable": repeatable,
               "inputs": {"command": "true"}})
    }

    /// A server refuses two tasks with one id, and the run would never continue.
    #[test]
    fn attempts_that_are_lost_after_each_other_are_looked_up_once() {
        let mut driver = open(4, None, &[0, 1, 2].map(|number| step(number, false)));
        let mut started = |lost: &[u32]| {
            let events = lost.iter().map(|step| RunEvent::Ended(attempt(*step), TaskEnd::Failed)).collect();
            names(driver.on(events, false))
        };
        assert_eq!(started(&[]), ["attempt-0-1", "attempt-1-1", "attempt-2-1"]);
        assert_eq!(started(&[0]), ["recall-0-1"]);
        assert_eq!(started(&[1, 2]), ["recall-1-1", "recall-2-1"]);
    }

    #[test]
    fn a_wide_run_begins_in_waves_and_a_narrow_one_does_not() {
        let steps = |count: usize| (0..count).map(|number| step(number, true)).collect::<Vec<_>>();
        let mut narrow = open(8, None, &steps(2_000));
        assert_eq!(names(narrow.on(Vec::new(), false)).len(), 8);
        assert_eq!(names(open(1_000, None, &steps(99)).on(Vec::new(), false)).len(), 99);
        assert_eq!(names(open(1_000, None, &steps(100)).on(Vec::new(), false)), ["wave 1 of 100"]);
        let wide = &["wave 1 of 500", "wave 2 of 500"];
        let mut driver = open(1_000, None, &steps(2_000));
        assert_eq!(names(driver.on(Vec::new(), false)), wide);
        assert_eq!(driver.phase(), Phase::Open);
        // Of a step that must not be repeated, a person would be asked for nothing.
        let mut once = open(1_000, None, &(0..500).map(|number| step(number, false)).collect::<Vec<_>>());
        assert_eq!(names(once.on(Vec::new(), false)).len(), 500);
    }

    #[test]
    fn attempts_that_were_gathered_are_lost_with_a_stop_and_begin_again_with_a_resume() {
        let steps: Vec<_> = (0..900).map(|number| step(number, true)).collect();
        let mut driver = open(600, None, &steps);
        assert_eq!(names(driver.on(Vec::new(), false)), ["wave 1 of 300", "wave 2 of 300"]);
        let ended = |step: u32| RunEvent::Ended(attempt(step), TaskEnd::Failed);
        // Three attempts are lost and looked up; three of others are gathered.
        let lost = driver.on((0..3).map(ended).collect(), false);
        assert_eq!(names(lost), ["recall-0-1", "recall-1-1", "recall-2-1"]);
        let none = (0..3).map(|step| {
            let id = TaskId { step, kind: TaskKind::Recall, attempt: 1 };
            RunEvent::Ended(id, TaskEnd::Recalled(None))
        });
        assert_eq!(names(driver.on(none.collect(), false)), Vec::<String>::new());
        assert_eq!(names(driver.on(vec![RunEvent::Signal(RunSignal::Stop)], false)), ["cancel"]);
        let closed = vec![RunEvent::WaveClosed(2), RunEvent::WaveClosed(1)];
        assert_eq!(names(driver.on(closed, false)), Vec::<String>::new());
        assert!(driver.is_idle());
        let resumed = names(driver.on(vec![RunEvent::Signal(RunSignal::Resume { limit: None })], false));
        let (last, recalls) = resumed.split_last().unwrap();
        assert_eq!((recalls.len(), &**last), (603, "wave 3 of 297"), "all attempts of before are looked up");
        assert!(recalls.iter().all(|name| name.starts_with("recall-")), "{resumed:?}");
    }

    /// It would spend after the stop.
    #[test]
    fn an_attempt_that_waits_for_the_budget_does_not_begin_after_a_stop() {
        let agent =
            |id: &str| json!({"id": id, "worker": "Implementer", "writes": false, "inputs": {"task": "t"}});
        let mut driver = open(2, Some(1_000_000), &[agent("a"), agent("b")]);
        assert_eq!(names(driver.on(Vec::new(), false)), ["attempt-0-1", "attempt-1-1"]);
        let mut end = |kind: TaskKind, step: u32, end: TaskEnd| {
            let id = TaskId { step, kind, attempt: 1 };
            names(driver.on(vec![RunEvent::Ended(id, end)], false))
        };
        assert_eq!(end(TaskKind::Attempt, 0, TaskEnd::Failed), ["recall-0-1"]);
        // Half of the budget counts as spent, the other half is lent.
        assert_eq!(end(TaskKind::Recall, 0, TaskEnd::Recalled(None)), Vec::<String>::new());
        assert_eq!(names(driver.on(vec![RunEvent::Signal(RunSignal::Stop)], false)), ["cancel"]);
        let ended = RunEvent::Ended(attempt(1), TaskEnd::Failed);
        assert_eq!(names(driver.on(vec![ended], false)), Vec::<String>::new());
        assert!(driver.is_idle());
    }
}
