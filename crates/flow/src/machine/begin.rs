//! Beginning steps, as many as there are slots, and one writer to the workspace at a time.

use super::{
    Effect, Machine, Payload, Preparation, PreviousFailure, Problem, RunningAttempt, StepKind, Ticket,
    is_waiting,
};
use crate::record::{CallIdentity, Data, StepStatus, call_id};
use crate::retry::{Strategy, ladder};
use marvin_base::signature;
use serde_json::Value;

/// Digits of the key of an attempt.
const KEY_DIGITS: usize = 32;

/// Whether a person's decision on a step is a yes.
fn is_approval(said: &Value) -> bool {
    said.get("approved").and_then(Value::as_bool) == Some(true)
}

impl Machine {
    /// Begins steps; while one is being prepared, the next one waits for it.
    pub(super) fn advance(&mut self) {
        if self.state.stopping || self.state.preparing.is_some() {
            return;
        }
        while self.state.running.len() < self.state.slots {
            let state = &mut self.state;
            // When no step writes, the first that waits for the workspace may begin.
            let next = match state.ready.pop_first() {
                None if state.writer.is_none() => state.queued.pop_first(),
                next => next,
            };
            let Some(step) = next else { break };
            if !is_waiting(self.status(step)) {
                continue;
            }
            self.state.preparing = Some(step);
            let effect = match self.kind(step) {
                StepKind::Person => Effect::Ask { step },
                StepKind::Echo | StepKind::Work => {
                    Effect::Prepare { step, ticket: Box::new(self.ticket(step)) }
                }
            };
            self.effects.push(effect);
            return;
        }
        self.complete_echoes();
    }

    /// The next attempt of a step; the same one for an attempt that is resumed.
    pub(super) fn ticket(&self, step: u32) -> Ticket {
        let tried = self.state.tried.get(&step);
        let attempt = self.next_attempt(step);
        let running = tried.and_then(|tried| tried.running.as_ref());
        let key = match running.filter(|running| running.attempt == attempt && !running.key.is_empty()) {
            Some(running) => running.key.clone(),
            None => self.key(step, attempt),
        };
        let last = tried.and_then(|tried| tried.attempts.last());
        Ticket {
            attempt,
            key,
            strategy: self.strategy(step),
            previous: last.map(|last| PreviousFailure {
                summary: last.summary.clone(),
                failure_signature: last.failure_signature.clone(),
            }),
            lesson: tried.and_then(|tried| tried.lessons.last().cloned()),
            is_approved: tried.and_then(|tried| tried.said.as_ref()).is_some_and(is_approval),
        }
    }

    fn next_attempt(&self, step: u32) -> u32 {
        let made = self.state.tried.get(&step).map_or(0, |tried| tried.attempts.len());
        u32::try_from(made).unwrap_or(u32::MAX).saturating_add(1)
    }

    fn key(&self, step: u32, attempt: u32) -> String {
        let id = self.step(step).map_or("", |step| &*step.id);
        signature::hash(&(&self.state.run_id, id, attempt)).chars().take(KEY_DIGITS).collect()
    }

    fn strategy(&self, step: u32) -> Strategy {
        let chosen = self.state.tried.get(&step).and_then(|tried| tried.strategy.clone());
        let own = self.step(step);
        let worker = own.map_or("", |step| &*step.worker);
        let first = || ladder::rung(worker, own.map(|step| &*step.extra().ladder).unwrap_or_default(), 1);
        chosen.or_else(first).unwrap_or_else(|| Strategy::new(worker, ladder::DRAFT, 1))
    }

    pub(super) fn take_preparation(&mut self, step: u32, preparation: Preparation) {
        if self.state.preparing != Some(step) {
            return;
        }
        self.state.preparing = None;
        let waits = is_waiting(self.status(step));
        if self.state.stopping && waits {
            self.state.ready.insert(step);
            return;
        }
        // The workflow may have ended meanwhile.
        if waits {
            self.begin(step, preparation);
        }
        self.advance();
    }

    fn begin(&mut self, step: u32, preparation: Preparation) {
        match preparation {
            Preparation::Invalid(problem) => self.fail(step, problem),
            Preparation::NoWorker => {
                let strategy = self.strategy(step);
                let error = format!(
                    "the strategy `{}` names the worker `{}`, which does not exist",
                    strategy.strategy_id, strategy.worker
                );
                self.fail(step, Problem { error, code: "no_strategies".into() });
            }
            Preparation::Ready { .. } if self.kind(step) == StepKind::Person => {
                let worker = self.step(step).map(|step| step.worker.to_string());
                let data = Data { blocked: worker, ..Data::default() };
                self.transition(step, StepStatus::Blocked, data, Payload::Question);
            }
            Preparation::Ready { writes } => {
                if writes && self.state.writer.is_some() && !self.has_worktree(step) {
                    self.state.queued.insert(step);
                } else {
                    self.launch(step, writes, false);
                }
            }
        }
    }

    /// Fails a step without an attempt.
    fn fail(&mut self, step: u32, problem: Problem) {
        let data = Data { error: Some(problem.error), code: Some(problem.code), ..Data::default() };
        self.transition(step, StepStatus::Failed, data, Payload::Nothing);
    }

    /// Starts an attempt.
    pub(super) fn launch(&mut self, step: u32, writes: bool, again: bool) {
        let Ticket { attempt, key, strategy, .. } = self.ticket(step);
        let running = self.state.tried.get(&step).and_then(|tried| tried.running.as_ref());
        let call_id = match running {
            Some(CallIdentity { attempt: number, call_id, .. })
                if *number == attempt && !call_id.is_empty() =>
            {
                call_id.clone()
            }
            _ => {
                self.state.calls += 1;
                call_id(self.state.calls)
            }
        };
        let worktree = self.has_worktree(step);
        let data = Data {
            attempt,
            key,
            call_id: call_id.clone(),
            strategy: Some(strategy),
            again,
            ..Data::default()
        };
        self.transition(step, StepStatus::Running, data, Payload::Inputs);
        self.state.running.insert(step, RunningAttempt { worktree });
        if writes && !worktree {
            self.state.writer = Some(step);
        }
        self.effects.push(Effect::Start { step, call_id });
    }

    /// Completes the echo steps that can begin; steps that they unblock wait for the next advance.
    fn complete_echoes(&mut self) {
        let echoes = std::mem::take(&mut self.state.echoes);
        self.effects.reserve(echoes.len());
        for step in echoes {
            if self.status(step) != StepStatus::New {
                continue;
            }
            let is_resolved = |step: &crate::spec::Step| {
                !step.refers && step.inputs_schema.is_none() && step.outputs_schema.is_none()
            };
            if self.step(step).is_some_and(is_resolved) {
                self.set_status(step, StepStatus::Succeeded);
                self.effects.push(Effect::Echo { step });
            } else {
                self.state.resolving.insert(step);
                self.effects.push(Effect::Resolve { step });
            }
        }
    }

    pub(super) fn take_resolution(&mut self, step: u32, problem: Option<Problem>) {
        if !self.state.resolving.remove(&step) || self.status(step) != StepStatus::New {
            return;
        }
        match problem {
            Some(problem) => self.fail(step, problem),
            None => self.transition(step, StepStatus::Succeeded, Data::default(), Payload::Echo),
        }
    }
}
