//! The state machine of a workflow run: every rule about what follows from what, without a clock and without I/O.
//!
//! A driver feeds an [`Input`] and carries out the [`Effect`]s in order. Some effects are questions (`Prepare`, `Recall`,
//! `Teach` …), which the driver answers by another input. What is large stays with the driver: the machine knows the status
//! of every step, the attempts of steps that are not complete, and names of values, but neither inputs nor outputs.
//!
//! The same inputs give the same effects on every machine and in every process, so a history can be replayed: there are only
//! ordered collections, and the state has a version ([`VERSION`]). [`Machine::state`] is the whole state, for a driver that
//! continues in another process; a driver with a record restores the machine from the transitions ([`Machine::restore`]),
//! which are applied by the same code in both.
//!
//! The order of answers and ends is the driver's choice. An end that is delivered twice, or that belongs to another attempt,
//! has no effect.

mod begin;
mod input;
mod judge;
mod people;
#[cfg(test)]
mod properties;
mod resume;
#[cfg(test)]
pub(crate) mod simulation;
mod state;
#[cfg(test)]
mod tests;

pub use input::{
    AttemptEnd, Change, Effect, Input, LessonResult, Payload, Preparation, PreviousFailure, Problem,
    Recollection, Ticket,
};
pub use judge::is_unverified;
pub use people::{PEOPLE, answer_outputs, is_person};
pub use state::{MachineState, RunningAttempt, StateError, UntaughtRetry};

use crate::record::{Data, StepHistory, StepStatus, WorkflowState};
use crate::spec::{Followers, Step, Workflow};
use std::sync::Arc;

/// The version of the rules and of [`MachineState`]. A change of what follows from the same inputs is a new version.
pub const VERSION: u32 = 1;

/// The failure signature of changes in a worktree that do not apply to the workspace.
pub const MERGE_CONFLICT: &str = "merge-conflict";

/// What carries a step out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    /// Its outputs are its inputs.
    Echo,
    Person,
    Work,
}

/// The state machine of one run.
#[derive(Debug)]
pub struct Machine {
    workflow: Arc<Workflow>,
    followers: Followers,
    kinds: Vec<StepKind>,
    state: MachineState,
    effects: Vec<Effect>,
}

impl Machine {
    /// The machine of a run in the state that its transitions gave; the first input is [`Input::Open`].
    #[must_use]
    pub fn restore(
        workflow: Arc<Workflow>,
        run_id: &str,
        folded: WorkflowState,
        slots: usize,
        is_echo: &dyn Fn(&str) -> bool,
    ) -> Self {
        let WorkflowState { status, tried, calls, last_answer, termination, .. } = folded;
        let is_open = |dep: &&u32| !status.get(**dep as usize).is_some_and(|status| status.is_complete());
        let missing =
            |step: &Step| u32::try_from(step.depends_on.iter().filter(is_open).count()).unwrap_or(u32::MAX);
        let state = MachineState {
            version: VERSION,
            run_id: run_id.to_string(),
            slots,
            missing: workflow.steps.iter().map(missing).collect(),
            parked: status.iter().filter(|status| **status == StepStatus::Blocked).count(),
            status,
            tried,
            calls,
            last_answer,
            terminated: termination,
            ..MachineState::default()
        };
        let mut machine = Machine::assemble(workflow, state, is_echo);
        for step in machine.steps() {
            match machine.status(step) {
                StepStatus::New if machine.state.missing.get(step as usize) == Some(&0) => {
                    machine.enqueue(step);
                }
                StepStatus::Ready | StepStatus::RetryPending => {
                    machine.state.ready.insert(step);
                }
                _ => {}
            }
        }
        machine
    }

    /// The machine in a state that another process gave.
    ///
    /// # Errors
    /// When the state is of another version or of another workflow.
    pub fn load(
        workflow: Arc<Workflow>,
        state: MachineState,
        is_echo: &dyn Fn(&str) -> bool,
    ) -> Result<Self, StateError> {
        state.check(workflow.steps.len())?;
        Ok(Machine::assemble(workflow, state, is_echo))
    }

    fn assemble(workflow: Arc<Workflow>, state: MachineState, is_echo: &dyn Fn(&str) -> bool) -> Self {
        let kind = |step: &Step| match &*step.worker {
            worker if is_person(worker) => StepKind::Person,
            worker if is_echo(worker) => StepKind::Echo,
            _ => StepKind::Work,
        };
        Machine {
            followers: Followers::from_steps(&workflow.steps),
            kinds: workflow.steps.iter().map(kind).collect(),
            workflow,
            state,
            effects: Vec::new(),
        }
    }

    /// Takes an input; the effects are to be carried out in this order.
    pub fn on(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Open => self.open(),
            Input::Advance => self.advance(),
            Input::Prepared { step, preparation } => self.take_preparation(step, preparation),
            Input::Resolved { step, problem } => self.take_resolution(step, problem),
            Input::Recalled { step, recollection } => self.take_recollection(step, recollection),
            Input::Finished { step, end } => self.finish(step, end),
            Input::Merged { step, end } => self.take_merge(step, end),
            Input::Taught { step, lesson } => self.take_lesson(step, lesson),
            Input::Answers(answers) => self.take_answers(answers),
            Input::Stop => self.state.stopping = true,
        }
        std::mem::take(&mut self.effects)
    }

    /// The whole state, between two inputs.
    #[must_use]
    pub fn state(&self) -> &MachineState {
        &self.state
    }

    #[must_use]
    pub fn workflow(&self) -> &Arc<Workflow> {
        &self.workflow
    }

    #[must_use]
    pub fn status(&self, step: u32) -> StepStatus {
        self.state.status.get(step as usize).copied().unwrap_or(StepStatus::New)
    }

    /// The history of a step that is not complete.
    #[must_use]
    pub fn history(&self, step: u32) -> Option<&StepHistory> {
        self.state.tried.get(&step)
    }

    /// Whether nothing is under way: without an answer of a person, nothing follows.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let state = &self.state;
        state.running.is_empty()
            && state.preparing.is_none()
            && state.resolving.is_empty()
            && state.recalling.is_empty()
            && state.untaught.is_empty()
    }

    /// Whether [`Input::Advance`] may begin a step with effects.
    #[must_use]
    pub fn may_begin(&self) -> bool {
        let state = &self.state;
        let waits = !state.ready.is_empty() || (state.writer.is_none() && !state.queued.is_empty());
        !state.stopping && state.running.len() < state.slots && waits
    }

    fn steps(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.workflow.steps.len()).unwrap_or(u32::MAX)
    }

    fn kind(&self, step: u32) -> StepKind {
        self.kinds.get(step as usize).copied().unwrap_or(StepKind::Work)
    }

    fn step(&self, step: u32) -> Option<&Step> {
        self.workflow.steps.get(step as usize)
    }

    fn has_worktree(&self, step: u32) -> bool {
        self.step(step).is_some_and(|step| step.extra().worktree)
    }

    /// Makes a transition of a step.
    fn transition(&mut self, step: u32, status: StepStatus, data: Data, payload: Payload) {
        self.state.tried.entry(step).or_default().apply(status, &data);
        self.set_status(step, status);
        self.effects.push(Effect::Record(Box::new(Change { step, status, data, payload })));
    }

    /// Sets the status of a step; dependent steps may become ready.
    fn set_status(&mut self, step: u32, status: StepStatus) {
        let before = self.status(step);
        let state = &mut self.state;
        state.parked += usize::from(status == StepStatus::Blocked);
        state.parked -= usize::from(before == StepStatus::Blocked && state.parked > 0);
        if let Some(slot) = state.status.get_mut(step as usize) {
            *slot = status;
        }
        if status.is_complete() {
            state.tried.remove(&step);
        }
        if status.is_complete() && !before.is_complete() {
            state.finished += 1;
            self.release(step);
        }
        if matches!(status, StepStatus::RetryPending | StepStatus::Ready) {
            self.state.ready.insert(step);
        }
    }

    fn release(&mut self, step: u32) {
        for at in 0..self.followers.after(step).len() {
            let Some(&follower) = self.followers.after(step).get(at) else { continue };
            let Some(missing) = self.state.missing.get_mut(follower as usize) else { continue };
            *missing = missing.saturating_sub(1);
            if *missing == 0 && self.status(follower) == StepStatus::New {
                self.enqueue(follower);
            }
        }
    }

    fn enqueue(&mut self, step: u32) {
        if self.kind(step) == StepKind::Echo {
            self.state.echoes.insert(step);
        } else {
            self.state.ready.insert(step);
        }
    }

    /// Skips every step that has not begun.
    fn skip_rest(&mut self, by: u32, reason: String) {
        let mut steps = Vec::new();
        for step in self.steps() {
            if is_waiting(self.status(step)) {
                self.set_status(step, StepStatus::Skipped);
                steps.push(step);
            }
        }
        self.state.ready.clear();
        self.state.queued.clear();
        self.state.echoes.clear();
        self.effects.push(Effect::Skip { by, reason: reason.into(), steps: steps.into() });
    }
}

/// Whether a step has not begun, or is to be attempted again.
fn is_waiting(status: StepStatus) -> bool {
    matches!(status, StepStatus::New | StepStatus::Ready | StepStatus::RetryPending)
}
