//! The driver of a run: what follows from events, without a clock and without I/O.
//!
//! The workflow code and a client that folds the history use the same driver, and give it the same batches: what happened
//! between two tasks of the workflow code. Within a batch, signals come first in their order, then the ends of tasks by step.

use crate::budget::Budget;
use crate::task::{
    AttemptDone, AttemptTask, RunInput, RunResult, RunSignal, RunState, Task, TaskEnd, TaskId, TaskKind,
};
use marvin_base::run_record::RunStatus;
use marvin_flow::machine::{LessonResult, MERGE_CONFLICT, Machine, VERSION};
use marvin_flow::record::NewTransition;
use marvin_flow::remote::attempt::AttemptRequest;
use marvin_flow::remote::{AttemptOrder, AttemptReply, RemoteEffect, RemoteInput, RemoteRun};
use marvin_flow::spec::{self, Workflow};
use marvin_flow::worker::Status;
use marvin_store::BlobId;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What happened to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    Signal(RunSignal),
    Ended(TaskId, TaskEnd),
}

/// What is to be done for a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunCommand {
    Start(TaskId, Task),
    /// Cancel the attempts that run.
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
    /// No further attempt begins in this execution of the workflow code.
    draining: bool,
}

impl RunDriver {
    /// A driver for one execution of the workflow code; its first batch may be empty.
    ///
    /// # Errors
    /// When the run is of another version, or its workflow is invalid.
    pub fn open(mut input: RunInput, document: &Value) -> Result<Self, DriverError> {
        if input.version != VERSION {
            return Err(DriverError::Version(input.version));
        }
        let workflow = spec::from_text(&document.to_string(), "run.json")
            .map_err(|error| DriverError::Workflow(error.to_string()))?;
        let workflow = Arc::new(workflow);
        let (remote, spent) = match input.state.take() {
            Some(state) => (RemoteRun::load(workflow.clone(), state.remote)?, state.spent),
            None => (RemoteRun::new(workflow.clone(), &input.run_id, input.slots), 0),
        };
        let budget = Budget::new(input.limit, spent);
        Ok(RunDriver {
            input,
            workflow,
            remote,
            pending: BTreeMap::new(),
            unmerged: BTreeMap::new(),
            budget,
            draining: false,
        })
    }

    /// Takes everything that happened together. With `drain`, no attempt begins from now on: the history is long enough.
    pub fn on(&mut self, mut events: Vec<RunEvent>, drain: bool) -> Vec<RunCommand> {
        self.draining |= drain;
        events.sort_by_key(|event| match event {
            RunEvent::Signal(_) => None,
            RunEvent::Ended(id, _) => Some(*id),
        });
        let batch: Vec<RemoteInput> = events.into_iter().filter_map(|event| self.translate(event)).collect();
        let effects = if self.draining { self.remote.hold(batch) } else { self.remote.on(batch) };
        let mut commands: Vec<RunCommand> =
            effects.into_iter().filter_map(|effect| self.command(effect)).collect();
        let lent = self.budget.lend().into_iter();
        commands.extend(lent.map(|(id, request)| RunCommand::Start(id, Task::Attempt(request))));
        commands
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        if !self.pending.is_empty() {
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
        self.pending.is_empty() && self.remote.is_idle() && !self.draining
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
        let state = RunState { remote: self.remote.state(), spent: self.budget.spent() };
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
        };
        // Of a task that is not under way, nothing is expected.
        let kept = self.pending.remove(&id)?;
        if id.kind == TaskKind::Attempt {
            let cost = if let TaskEnd::Done(done) = &end { Some(done.reply.cost) } else { None };
            self.budget.take_back(id, cost);
        }
        let TaskId { step, attempt, .. } = id;
        let input = match (id.kind, end) {
            (TaskKind::Attempt, TaskEnd::Done(done)) => {
                let reply = self.take_changes(step, *done);
                RemoteInput::Finished { step, reply }
            }
            (TaskKind::Attempt, _) => RemoteInput::Lost { step, attempt },
            (TaskKind::Merge, TaskEnd::Done(done)) => {
                let AttemptDone { reply, changes } = *done;
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
            RemoteEffect::CancelAttempts => Some(RunCommand::CancelAttempts),
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
        let AttemptDone { reply, changes } = done;
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
    use serde_json::json;

    /// A server refuses two tasks with one id, and the run would never continue.
    #[test]
    fn attempts_that_are_lost_after_each_other_are_looked_up_once() {
        let step =
            |id: &str| json!({"id": id, "worker": "Command", "writes": false, "inputs": {"command": "true"}});
        let workflow = json!({"workflow_id": "w", "goal": "g", "steps": [step("a"), step("b"), step("c")]});
        let input = RunInput {
            version: VERSION,
            run_id: "run_20260101_000000_abcd".into(),
            slots: 4,
            heartbeat_s: 2,
            roles: Vec::new(),
            limit: None,
            workspace: None,
            search_attributes: false,
            state: None,
        };
        let mut driver = RunDriver::open(input, &workflow).unwrap();
        let mut started = |lost: &[u32]| {
            let id = |step: u32| TaskId { step, kind: TaskKind::Attempt, attempt: 1 };
            let events = lost.iter().map(|step| RunEvent::Ended(id(*step), TaskEnd::Failed)).collect();
            let name = |command: RunCommand| match command {
                RunCommand::Start(id, _) => id.to_string(),
                RunCommand::CancelAttempts => "cancel".to_string(),
            };
            driver.on(events, false).into_iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(started(&[]), ["attempt-0-1", "attempt-1-1", "attempt-2-1"]);
        assert_eq!(started(&[0]), ["recall-0-1"]);
        assert_eq!(started(&[1, 2]), ["recall-1-1", "recall-2-1"]);
    }
}
