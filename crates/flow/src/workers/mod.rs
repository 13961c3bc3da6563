//! Workers with a model: the roles. Each runs the agent loop of `marvin-agent` through [`StepAgents`] and returns its result in
//! the worker protocol. Figures in a report are counted by the shell; a success is verified by the commitments of the step,
//! if it has any.
//!
//! Limits: a read-only role has no tool that writes or runs anything, so a TestTriager reads the output of others. Workers
//! start no agents of their own.

mod report;
mod task;
#[cfg(test)]
mod tests;
mod verification;

pub use verification::{Verdict, verify};

use crate::retry::{self, AttemptCounts, Progress, Snapshot};
use crate::spec::has_commitments;
use crate::worker::{Order, Report, Worker, Workers};
use async_trait::async_trait;
use marvin_agent::SessionError;
use marvin_agent::compose::PromptExtra;
use marvin_agent::outcome::Status as Ended;
use marvin_agent::roles::Role;
use marvin_agent::step_agents::{Job, JobResult, Rights, StepAgents};
use marvin_base::files::{self, Links};
use marvin_base::trace_event::{TraceEvent, WorkerEvent, WorkerOutcome};
use marvin_base::{atomic, truncate};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Roles that do steps.
pub const ROLES: [Role; 6] =
    [Role::Planner, Role::Implementer, Role::Debugger, Role::Reviewer, Role::TestTriager, Role::SkillBuilder];
const MAX_SNAPSHOT_BYTES: u64 = 64 * 1024 * 1024;

/// The names of all workers except people.
#[must_use]
pub fn names() -> Vec<&'static str> {
    ["Echo", "Command"].into_iter().chain(ROLES.iter().map(|role| role.name())).collect()
}

/// The roles by name. With commitments for the end in the metadata of the workflow, no role may end it early.
#[must_use]
pub fn roles_for(agents: &Arc<StepAgents>, metadata: &Map<String, Value>) -> Workers {
    let may_end = !has_commitments(metadata);
    let worker =
        |role: Role| -> Arc<dyn Worker> { Arc::new(RoleWorker { agents: agents.clone(), role, may_end }) };
    ROLES.into_iter().map(|role| (role.name().to_string(), worker(role))).collect()
}

/// What an attempt of a worker may do, known without the worker itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerFacts {
    /// Whether it may change files in the workspace.
    pub writes: bool,
    /// Whether repeating it after a crash is harmless.
    pub repeatable: bool,
}

/// The facts of a worker with a strategy; none if it does not exist. `polls`: its command is polled.
#[must_use]
pub fn worker_facts(worker: &str, strategy_id: &str, polls: bool) -> Option<WorkerFacts> {
    if worker == "Command" {
        return Some(WorkerFacts { writes: true, repeatable: polls });
    }
    let role = ROLES.into_iter().find(|role| role.name() == worker)?;
    Some(WorkerFacts { writes: may_write(role, strategy_id), repeatable: true })
}

/// May a role change files with a strategy? A Reviewer only in `refactor`, which fixes what other workers could not.
#[must_use]
pub fn may_write(role: Role, strategy_id: &str) -> bool {
    match role {
        Role::Planner | Role::TestTriager => false,
        Role::Reviewer => strategy_id == "refactor",
        _ => true,
    }
}

/// A role as a worker.
#[derive(Debug)]
pub struct RoleWorker {
    agents: Arc<StepAgents>,
    role: Role,
    /// Whether it may end the whole workflow.
    may_end: bool,
}

impl RoleWorker {
    fn job(&self, order: &Order) -> Job {
        let lessons = task::lessons(&order.lessons);
        Job {
            key: key(order),
            role: self.role,
            step: order.step_id.clone(),
            attempt: order.attempt,
            call_id: order.call_id.clone(),
            task: task::text(order),
            workspace: Some(order.workspace.clone()),
            readonly: !self.writes(order),
            commitments: order.commitments.clone(),
            outputs_schema: (!is_anything(&order.outputs_schema)).then(|| order.outputs_schema.clone()),
            extras: lessons
                .map(|text| PromptExtra { name: "Lessons".into(), text, priority: 60 })
                .into_iter()
                .collect(),
            rights: Rights::default(),
        }
    }

    /// The recorded report of this attempt, if it was completed.
    fn recorded(&self, order: &Order) -> Result<Option<Report>, SessionError> {
        let kept = self.agents.kept(&key(order))?;
        Ok(kept.and_then(|value| serde_json::from_value(value).ok()))
    }

    /// The workspace when the attempt began, possibly in an earlier process.
    fn snapshot(&self, order: &Order) -> Result<Option<Snapshot>, SessionError> {
        if !self.writes(order) {
            return Ok(None);
        }
        let path = self.agents.beside(&key(order), "before.json");
        if let Ok(text) = files::read_text(&path, MAX_SNAPSHOT_BYTES, Links::Refuse)
            && let Ok(snapshot) = serde_json::from_str(&text)
        {
            return Ok(Some(snapshot));
        }
        let snapshot = Snapshot::take(&order.workspace);
        atomic::replace(&path, &serde_json::to_vec(&snapshot).unwrap_or_default())?;
        Ok(Some(snapshot))
    }

    async fn attempt(&self, order: &Order, cancel: &CancellationToken) -> Result<Report, SessionError> {
        if let Some(report) = self.recorded(order)? {
            return Ok(report);
        }
        let trace = self.agents.trace();
        let before = self.snapshot(order)?;
        let mut worker = Box::new(self.event_payload(order));
        trace.event(TraceEvent::WorkerStarted(worker.clone()))?;
        let done = self.agents.work(&self.job(order), cancel).await?;
        if done.outcome.status == Ended::Budget {
            // The attempt is resumed from here when the budget is raised.
            self.agents.stop();
        }
        let progress = retry::measure(before.as_ref(), &order.workspace, &counted(&done));
        let report = report::build_report(order, &done, &progress, self.may_end);
        // An interrupted attempt has no final report: it is resumed later.
        if !cancel.is_cancelled() && done.outcome.status != Ended::Budget {
            self.agents.keep(&key(order), &serde_json::to_value(&report).unwrap_or_default())?;
            std::fs::remove_file(self.agents.beside(&key(order), "before.json")).ok();
        }
        worker.outcome = Some(WorkerOutcome {
            status: report.status.word().to_string(),
            summary: trace.within_text(&report.summary, 2_000),
            failure_signature: report.failure_signature.clone(),
            metrics: Some(trace.within(&Value::Object(report.metrics.clone()), 2_000)),
            ..WorkerOutcome::default()
        });
        trace.event(TraceEvent::WorkerCompleted(worker))?;
        Ok(report)
    }

    /// The payload of the events of an attempt.
    fn event_payload(&self, order: &Order) -> WorkerEvent {
        let signature = retry::call_signature(
            &order.goal,
            &order.step_id,
            &order.worker,
            &order.inputs,
            &order.strategy_id,
            order.retrieval_stage,
        );
        WorkerEvent {
            step_id: order.step_id.clone(),
            worker_role: self.role.name().to_string(),
            call_id: Some(order.call_id.clone()),
            attempt: Some(order.attempt),
            strategy_id: Some(order.strategy_id.clone()),
            retrieval_stage: Some(order.retrieval_stage),
            call_signature: Some(signature),
            lessons: Some(order.lessons.len()),
            commitments: Some(order.commitments.len()),
            readonly: !self.writes(order),
            ..WorkerEvent::default()
        }
    }
}

#[async_trait]
impl Worker for RoleWorker {
    fn writes(&self, order: &Order) -> bool {
        may_write(self.role, &order.strategy_id)
    }

    /// An attempt is resumed from the record under its key.
    fn repeatable(&self, _: &Order) -> bool {
        true
    }

    async fn work(&self, order: &Order, cancel: &CancellationToken) -> Report {
        match self.attempt(order, cancel).await {
            Ok(report) => report,
            Err(error) => report::broken(order, &error),
        }
    }
}

/// The key of an attempt in the record, readable for people.
fn key(order: &Order) -> String {
    format!("{}-{}-{}", truncate::head(&order.step_id, 32), order.attempt, order.key)
}

fn is_anything(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.is_empty(),
        Value::Null | Value::Bool(true) => true,
        _ => false,
    }
}

/// The shell's counts; outputs of a model are a claim, not facts.
fn counted(done: &JobResult) -> AttemptCounts {
    AttemptCounts {
        passed_tests: done.tests.map(|(passed, _)| passed),
        failing_tests: done.tests.map(|(_, failed)| failed),
        model_calls: done.model_calls,
        tool_calls: done.tool_calls,
        iteration_count: done.model_calls,
        facts: Value::Null,
    }
}

/// The measurements of an attempt, if its worker made them.
#[must_use]
pub fn progress_of(report: &Report) -> Option<Progress> {
    report.metrics.get("progress").and_then(|value| serde_json::from_value(value.clone()).ok())
}
