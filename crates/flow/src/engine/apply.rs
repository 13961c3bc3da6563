//! Transitions that follow from a finished attempt.

use super::dispatch::{Dispatcher, RunningAttempt, is_unverified};
use super::execute::{AttemptResult, hash};
use super::worktree::CONFLICT;
use super::{EngineError, files};
use crate::record::{Artifact, Data, StepStatus};
use crate::retry::{Attempt, AttemptCounts, Decision, Task, decide, measure};
use crate::worker::{Order, Report, Status};
use marvin_base::truncate;
use serde_json::Value;

impl Dispatcher {
    /// Applies the recorded result of an attempt that an earlier process made.
    pub(super) fn judge_recalled(
        &mut self,
        step: u32,
        order: Order,
        mut report: Report,
        facts: Value,
    ) -> Result<(), EngineError> {
        let counted = AttemptCounts { facts, ..AttemptCounts::default() };
        let progress = measure(None, &order.workspace, &counted);
        let found = |path: &String| {
            let (sha256, bytes) = hash(&order.workspace, path)?;
            Some(Artifact { path: path.clone(), sha256, bytes })
        };
        let artifacts: Vec<Artifact> = report.artifacts.iter().filter_map(found).collect();
        if artifacts.len() < report.artifacts.len() && report.status == Status::Success {
            report.status = Status::Failure;
            report.failure_signature = Some("artifact-missing".into());
            report.summary = "it ended, but some of its artifacts do not exist".into();
        }
        report.artifacts = artifacts.iter().map(|artifact| artifact.path.clone()).collect();
        let done = AttemptResult { order, report, progress, artifacts, stopped: false };
        // Changes in a worktree may not be merged yet; a worktree that is gone was merged.
        let worktree = self.step(step)?.extra().worktree;
        if worktree && done.report.status == Status::Success && done.order.workspace.exists() {
            self.running.insert(step, RunningAttempt { writes: false, worktree });
            self.unmerged.insert(step, Box::new(done));
            self.merge_next();
            return Ok(());
        }
        self.judge(step, done)
    }

    /// Decides after an attempt: the step is done, is retried in another way, or has failed.
    pub(super) fn judge(&mut self, step: u32, done: AttemptResult) -> Result<(), EngineError> {
        let AttemptResult { order, report, progress, artifacts, .. } = done;
        let one = self.step(step)?;
        let (ladder, max_attempts) = (one.extra().ladder.clone(), one.extra().max_attempts);
        let own = one.worker.clone();
        let task = Task {
            run_id: &order.run_id,
            goal: &order.goal,
            step_id: &order.step_id,
            worker: &own,
            inputs: &order.inputs,
            ladder: &ladder,
        };
        let strategy = crate::retry::Strategy {
            strategy_id: order.strategy_id.clone(),
            worker: order.worker.clone(),
            retrieval_stage: order.retrieval_stage,
        };
        let attempt = Attempt {
            attempt_id: order.attempt,
            status: report.status,
            call_signature: task.signature(&strategy),
            worker_type: order.worker.clone(),
            strategy_id: order.strategy_id.clone(),
            retrieval_stage: order.retrieval_stage,
            summary: report.summary.clone(),
            failure_signature: report.failure_signature.clone(),
            progress,
            artifacts: report.artifacts.clone(),
        };
        self.seen.note(&order.step_id, &attempt);
        let tried = self.tried.entry(step).or_default();
        tried.running = None;
        tried.attempts.push(attempt.clone());
        let attempts = tried.attempts.clone();
        let mut data = Data {
            attempt: order.attempt,
            key: order.key.clone(),
            call_id: order.call_id.clone(),
            outputs: Some(report.outputs.clone()),
            over: Some(attempt),
            artifacts: artifacts.clone(),
            ..Data::default()
        };
        let what_failed = || {
            let signature =
                report.failure_signature.as_deref().map(|name| format!(" [{name}]")).unwrap_or_default();
            format!("{}{signature}", truncate::head(&report.summary, 2_000))
        };
        let status = match report.status {
            Status::Success => StepStatus::Succeeded,
            Status::Blocked => {
                let conflict = report.failure_signature.as_deref() == Some(CONFLICT);
                data.blocked = Some(if conflict { "merge" } else { "worker" }.into());
                data.error = Some(what_failed());
                StepStatus::Blocked
            }
            Status::Failure | Status::Partial => {
                data.error = Some(what_failed());
                let decision = match (max_attempts, self.is_retryable(step, &order)?) {
                    (Some(max), _) if attempts.len() >= max as usize => Decision::Refuse {
                        reason: format!("the step allows {max} attempts"),
                        code: "no_strategies",
                    },
                    (None, false) => Decision::Refuse {
                        reason: "a command with effects is not repeated automatically; the step has no `repeatable`, `max_attempts` or `ladder`".into(),
                        code: "no_strategies",
                    },
                    _ => decide(&task, &attempts, &self.seen),
                };
                self.retry_or_not(decision, &attempts, &mut data)
            }
        };
        if status == StepStatus::Failed && is_unverified(report.failure_signature.as_deref()) {
            self.not_verified();
        }
        // Files are written before the transition that names them is committed.
        if matches!(status, StepStatus::Succeeded | StepStatus::Partial) || !artifacts.is_empty() {
            files::write_step(self.directory.artifacts(), &order.step_id, &report.outputs, &artifacts)?;
        }
        if !artifacts.is_empty() {
            self.record.write_artifacts(step, order.attempt, &artifacts)?;
        }
        if status == StepStatus::Succeeded {
            data.terminates = termination(&report, data.over.as_ref());
        }
        let ends = data.terminates.clone().filter(|_| self.terminated.is_none());
        self.transition(step, status, &data)?;
        let tried = self.tried.entry(step).or_default();
        tried.blocked = data.blocked;
        if status == StepStatus::RetryPending {
            tried.strategy = data.strategy;
            tried.lessons.extend(data.lesson);
        } else if status.is_complete() {
            // The record keeps the history; it is not needed in memory any more.
            self.tried.remove(&step);
        }
        if let Some(reason) = ends {
            self.terminated = Some((step, reason.clone()));
            self.skip_rest(step, &reason)?;
        }
        Ok(())
    }

    /// May a failed attempt be repeated at all? Deterministic steps with effects only if their author allows it.
    fn is_retryable(&self, step: u32, order: &Order) -> Result<bool, EngineError> {
        let extra = self.step(step)?.extra();
        let Some(worker) = self.workers.get(&order.worker) else { return Ok(true) };
        let harmless = extra.repeatable.unwrap_or_else(|| worker.repeatable(order));
        Ok(!worker.gives_facts() || harmless || !extra.ladder.is_empty())
    }

    fn retry_or_not(&mut self, decision: Decision, attempts: &[Attempt], data: &mut Data) -> StepStatus {
        let (reason, code) = match decision {
            Decision::Retry { strategy, lesson, reason } => match self.teacher.keep(&lesson) {
                Ok(id) => {
                    data.reason = Some(reason);
                    data.strategy = Some(strategy);
                    data.lesson = Some(id);
                    return StepStatus::RetryPending;
                }
                Err(error) => (format!("cannot write the lesson of the failure: {error}"), "no_lesson"),
            },
            Decision::Refuse { reason, code } => (reason, code),
        };
        data.reason = Some(reason);
        data.code = Some(code.to_string());
        let has_part = attempts.iter().any(|one| one.status == Status::Partial || !one.artifacts.is_empty());
        let unverified = is_unverified(attempts.last().and_then(|one| one.failure_signature.as_deref()));
        if has_part && !unverified { StepStatus::Partial } else { StepStatus::Failed }
    }

    /// Completes a step whose outputs are its inputs.
    pub(super) fn complete_echo(&mut self, step: u32, data: &str) -> Result<(), EngineError> {
        let seq = self.record.write(step, StepStatus::Succeeded, data)?;
        self.note_echo(step, seq);
        Ok(())
    }
}

/// The reason why a successful step ends the whole workflow; none while tests fail.
fn termination(report: &Report, over: Option<&Attempt>) -> Option<String> {
    let metrics = &report.metrics;
    let control = metrics.get("workflow_control").and_then(Value::as_object);
    let flag = |key: &str| metrics.get(key).or_else(|| control.and_then(|control| control.get(key)));
    if flag("terminate_workflow") != Some(&Value::Bool(true)) {
        return None;
    }
    if over.is_some_and(|over| over.progress.failing_tests.is_some_and(|failing| failing > 0)) {
        return None;
    }
    let reason = flag("terminate_reason").and_then(Value::as_str).unwrap_or("the goal is met");
    Some(truncate::line(reason, 300))
}
