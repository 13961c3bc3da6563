//! Transitions that follow from the end of an attempt.

use super::{AttemptEnd, Effect, LessonResult, MERGE_CONFLICT, Machine, Payload, UntaughtRetry};
use crate::record::{CallIdentity, Data, StepStatus};
use crate::retry::{Attempt, AttemptLog, Candidate, Decision, StepFacts, decide_candidate, ladder::rung};
use crate::worker::Status;
use marvin_base::truncate;

/// Is this the signature of a failed verification?
#[must_use]
pub fn is_unverified(failure: Option<&str>) -> bool {
    failure.is_some_and(|failure| failure.starts_with("not-verified"))
}

impl Machine {
    pub(super) fn finish(&mut self, step: u32, end: Box<AttemptEnd>) {
        let worktree = self.state.running.get(&step).is_some_and(|running| running.worktree);
        let merges = worktree && (self.state.writer == Some(step) || self.state.unmerged.contains(&step));
        if merges || !self.is_current(step, &end) {
            return;
        }
        if worktree && end.attempt.status == Status::Success {
            self.state.unmerged.insert(step);
            self.merge_next();
            return;
        }
        self.leave(step);
        // Whether it had effects is not known: the next process asks its worker.
        if !end.stopped {
            self.judge(step, *end);
        }
    }

    pub(super) fn take_merge(&mut self, step: u32, end: Box<AttemptEnd>) {
        let merges = self.state.writer == Some(step) && self.has_worktree(step);
        if merges && self.is_current(step, &end) {
            self.leave(step);
            self.judge(step, *end);
        }
    }

    /// Is this the end of the attempt that runs?
    fn is_current(&self, step: u32, end: &AttemptEnd) -> bool {
        let running = self.state.tried.get(&step).and_then(|tried| tried.running.as_ref());
        self.state.running.contains_key(&step)
            && running.is_some_and(|running| running.attempt == end.attempt.attempt_id)
    }

    /// Frees the workspace and the slot of a step that no longer runs.
    fn leave(&mut self, step: u32) {
        self.state.running.remove(&step);
        if self.state.writer == Some(step) {
            self.state.writer = None;
        }
        self.merge_next();
    }

    /// Merges the first worktree once no earlier step with a worktree runs and no step writes to the workspace.
    pub(super) fn merge_next(&mut self) {
        if self.state.writer.is_some() {
            return;
        }
        let Some(&step) = self.state.unmerged.first() else { return };
        if self.state.running.range(..step).any(|(_, running)| running.worktree) {
            return;
        }
        self.state.unmerged.remove(&step);
        self.state.writer = Some(step);
        self.effects.push(Effect::Merge { step });
    }

    /// Decides after an attempt: the step is done, is retried in another way, or has failed.
    pub(super) fn judge(&mut self, step: u32, end: AttemptEnd) {
        let tried = self.state.tried.entry(step).or_default();
        let CallIdentity { key, call_id, .. } = tried.running.clone().unwrap_or_default();
        let AttemptEnd { attempt, next_signature, component, retryable, terminates, .. } = end;
        let error = || {
            let signature = attempt.failure_signature.as_deref();
            let signature = signature.map(|name| format!(" [{name}]")).unwrap_or_default();
            format!("{}{signature}", truncate::head(&attempt.summary, 2_000))
        };
        let mut data = Data { attempt: attempt.attempt_id, key, call_id, ..Data::default() };
        match attempt.status {
            Status::Success => {
                data.terminates = terminates;
                data.over = Some(attempt);
                self.complete(step, StepStatus::Succeeded, data);
            }
            Status::Blocked => {
                let conflict = attempt.failure_signature.as_deref() == Some(MERGE_CONFLICT);
                data.blocked = Some(if conflict { "merge" } else { "worker" }.into());
                data.error = Some(error());
                data.over = Some(attempt);
                self.complete(step, StepStatus::Blocked, data);
            }
            Status::Failure | Status::Partial => {
                data.error = Some(error());
                data.over = Some(attempt.clone());
                match self.decide(step, attempt, next_signature, &component, retryable) {
                    Decision::Retry { strategy, lesson, reason } => {
                        self.state.untaught.insert(step, UntaughtRetry { data, strategy, reason });
                        self.effects.push(Effect::Teach { step, lesson });
                    }
                    Decision::Refuse { reason, code } => self.refuse(step, data, reason, code),
                }
            }
        }
    }

    fn decide(
        &mut self,
        step: u32,
        last: Attempt,
        next_signature: Option<String>,
        component: &str,
        retryable: bool,
    ) -> Decision {
        let workflow = self.workflow.clone();
        let refuse = |reason: String| Decision::Refuse { reason, code: "no_strategies" };
        let Some(own) = workflow.steps.get(step as usize) else {
            return refuse(format!("step {step} does not exist"));
        };
        let tried = self.state.tried.entry(step).or_default();
        // The transition adds the attempt to the history; until then it is there for the decision only.
        tried.attempts.push(last);
        let made = tried.attempts.len();
        let decision = match own.extra().max_attempts {
            Some(max) if made >= max as usize => refuse(format!("the step allows {max} attempts")),
            None if !retryable => refuse(
                "a command with effects is not repeated automatically; the step has no `repeatable`, `max_attempts` or `ladder`"
                    .into(),
            ),
            _ => {
                let facts = StepFacts {
                    run_id: &self.state.run_id,
                    goal: &workflow.goal,
                    step_id: &own.id,
                    component,
                };
                let strategy = rung(&own.worker, &own.extra().ladder, made + 1);
                let candidate = strategy.zip(next_signature);
                let candidate = candidate.map(|(strategy, signature)| Candidate { strategy, signature });
                // A call signature contains the step, so other steps never made the same call.
                decide_candidate(facts, candidate, &tried.attempts, &AttemptLog::default())
            }
        };
        tried.attempts.pop();
        decision
    }

    pub(super) fn take_lesson(&mut self, step: u32, lesson: LessonResult) {
        let Some(UntaughtRetry { mut data, strategy, reason }) = self.state.untaught.remove(&step) else {
            return;
        };
        match lesson {
            LessonResult::Written { id } => {
                data.reason = Some(reason);
                data.strategy = Some(strategy);
                data.lesson = Some(id);
                self.complete(step, StepStatus::RetryPending, data);
            }
            LessonResult::Failed { error } => {
                let reason = format!("cannot write the lesson of the failure: {error}");
                self.refuse(step, data, reason, "no_lesson");
            }
        }
    }

    /// Ends a step without another attempt: with a partial result, if an attempt left one.
    fn refuse(&mut self, step: u32, mut data: Data, reason: String, code: &str) {
        data.reason = Some(reason);
        data.code = Some(code.to_string());
        let earlier = self.state.tried.get(&step).map(|tried| &*tried.attempts).unwrap_or_default();
        let is_part = |one: &Attempt| one.status == Status::Partial || !one.artifacts.is_empty();
        let has_part = earlier.iter().chain(&data.over).any(is_part);
        let last = data.over.as_ref().and_then(|last| last.failure_signature.as_deref());
        let failed = is_unverified(last) || !has_part;
        self.state.unverified |= is_unverified(last);
        self.complete(step, if failed { StepStatus::Failed } else { StepStatus::Partial }, data);
    }

    fn complete(&mut self, step: u32, status: StepStatus, data: Data) {
        let ends = data.terminates.clone().filter(|_| self.state.terminated.is_none());
        self.transition(step, status, data, Payload::Report);
        if let Some(reason) = ends {
            self.state.terminated = Some((step, reason.clone()));
            self.skip_rest(step, reason);
        }
    }
}
