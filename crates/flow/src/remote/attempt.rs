//! One attempt at a step, or the merge of its changes, in a process that has nothing of the run but the order.
//!
//! The attempt has a directory of its own below the project's state directory, named by its key: a delivery that is repeated on
//! the same machine finds there what an earlier one left.

use crate::deterministic::Command;
use crate::drive::{DriveError, needs_model, teacher};
use crate::engine::execute::{AttemptResult, Executors, Start};
use crate::engine::perform::is_retryable;
use crate::engine::prepare::{RunPlace, lesson_query, measure_recalled};
use crate::engine::run::{ledger, workspace};
use crate::engine::{EngineError, Lock, worktree};
use crate::machine::{AttemptEnd, Ticket};
use crate::record::Artifact;
use crate::retry::Progress;
use crate::spec::{self, Step, Workflow};
use crate::worker::{Order, Report, Status, Worker, Workers};
use crate::workers::roles_for;
use marvin_agent::ProjectContext;
use marvin_agent::step_agents::StepAgents;
use marvin_agent::trace::Trace;
use marvin_base::atomic::WriteError;
use marvin_base::ledger;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{RunKind, RunRecord};
use marvin_model::cost::CostLedger;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The directory of attempts below the project's state directory.
const DIRECTORY: &str = "attempts";
/// The file in the directory of an attempt whose changes this machine merged.
const MERGED_FILE: &str = "merged";

/// An attempt that is to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptOrder {
    pub step: u32,
    pub ticket: Ticket,
    pub call_id: String,
    /// Resolved inputs.
    pub inputs: Map<String, Value>,
    /// The lesson of the failure before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lesson: Option<String>,
    /// Whether it may change files in the workspace.
    pub writes: bool,
    /// Whether repeating it is harmless, so that it may be delivered again.
    pub repeatable: bool,
}

/// The end of an attempt with its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptReply {
    pub end: AttemptEnd,
    pub outputs: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What models cost, in nano-dollars.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An attempt for `marvin attempt`, which reads it from stdin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptRequest {
    /// The version of the machine.
    pub version: u32,
    pub run_id: String,
    /// The step alone, as a workflow file ([`Workflow::single_step`]).
    pub workflow: Value,
    pub order: AttemptOrder,
    /// The end of an attempt whose changes are to be merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<AttemptReply>,
    /// What models may cost, in nano-dollars; none: what the settings of the machine allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowance: Option<u64>,
}

impl AttemptRequest {
    /// Whether the step, or a rung of its ladder, needs a model.
    #[must_use]
    pub fn needs_model(&self) -> bool {
        spec::from_text(&self.workflow.to_string(), "order.json").is_ok_and(|workflow| needs_model(&workflow))
    }

    /// Makes the attempt on this thread, since child processes end with the thread that started them.
    ///
    /// # Errors
    /// When its directory cannot be used, or no model is available for a step that needs one.
    pub async fn carry_out(
        self,
        project: &Arc<ProjectContext>,
        cancel: CancellationToken,
    ) -> Result<AttemptReply, DriveError> {
        if self.version != crate::machine::VERSION {
            let known = crate::machine::VERSION;
            let text = format!("the run is of version {}, and this program knows {known}", self.version);
            return Err(EngineError::Internal(text).into());
        }
        let key = &self.order.ticket.key;
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(EngineError::Internal(format!("`{key}` is not the key of an attempt")).into());
        }
        let workflow = spec::from_text(&self.workflow.to_string(), "order.json")
            .map_err(|error| EngineError::Internal(error.to_string()))?;
        let Some(step) = workflow.steps.first() else {
            return Err(EngineError::Internal("the order has no step".into()).into());
        };
        Maker::open(project, &workflow, step, self.run_id, cancel)?.reply(self.order, self.merge).await
    }
}

/// The surroundings of one attempt.
struct Maker<'a> {
    project: &'a Arc<ProjectContext>,
    workflow: &'a Workflow,
    step: &'a Step,
    run_id: String,
    cancel: CancellationToken,
    /// The account of the models, if one is needed.
    account: OnceLock<Arc<CostLedger>>,
}

impl<'a> Maker<'a> {
    fn open(
        project: &'a Arc<ProjectContext>,
        workflow: &'a Workflow,
        step: &'a Step,
        run_id: String,
        cancel: CancellationToken,
    ) -> Result<Self, DriveError> {
        project.layout.prepare_state().map_err(|error| EngineError::Internal(error.to_string()))?;
        Ok(Maker { project, workflow, step, run_id, cancel, account: OnceLock::new() })
    }

    async fn reply(
        self,
        mut attempt: AttemptOrder,
        merge: Option<AttemptReply>,
    ) -> Result<AttemptReply, DriveError> {
        let runs = self.project.layout.project_state().join(DIRECTORY).join(&attempt.ticket.key);
        let (directory, is_new) = open_directory(&runs, &self.run_id)?;
        let _lock = Lock::take(directory.path())?;
        let (ticket, inputs) = (attempt.ticket.clone(), std::mem::take(&mut attempt.inputs));
        let previous = ticket.previous.clone();
        let root = workspace(self.project);
        let place = RunPlace {
            workflow: self.workflow,
            run_id: &self.run_id,
            run_directory: directory.path(),
            workspace: &root,
        };
        let mut order = place.order(self.step, ticket, inputs);
        order.call_id.clone_from(&attempt.call_id);
        if let Some(reply) = merge {
            return self.merge(order, reply, &directory.path().join(MERGED_FILE)).await;
        }
        let workers = self.workers(&directory)?;
        let Some(worker) = workers.get(&order.worker).cloned() else {
            return Err(EngineError::Internal(format!("the worker `{}` does not exist", order.worker)).into());
        };
        let retryable = is_retryable(self.step, &order, worker.as_ref());
        if !is_new && let Some(report) = worker.recall(&order) {
            let facts =
                if worker.gives_facts() { Value::Object(report.outputs.clone()) } else { Value::Null };
            return self.pack(measure_recalled(order, report, facts), retryable);
        }
        let mut lessons: Vec<String> = attempt.lesson.into_iter().collect();
        if !worker.gives_facts() {
            let query = lesson_query(self.workflow, self.step, &order, previous);
            let found = teacher(self.project).recall(&query);
            lessons
                .extend(found.into_iter().filter(|found| lessons.first() != Some(found)).collect::<Vec<_>>());
        }
        order.lessons = lessons;
        let extra = self.step.extra();
        let start = Start {
            step: attempt.step,
            timeout: extra.timeout_s.map(Duration::from_secs),
            outputs_schema: self.step.outputs_schema.clone(),
            worktree: extra.worktree,
            order,
            worker,
            writes: attempt.writes,
        };
        let done = self.executors().attempt(start).await;
        self.pack(done, retryable)
    }

    fn pack(&self, done: AttemptResult, retryable: bool) -> Result<AttemptReply, DriveError> {
        let end = done.end(self.step, retryable);
        let cost = match self.account.get() {
            Some(account) => account.tree().map_err(EngineError::from)?.cost,
            None => 0,
        };
        Ok(AttemptReply { end, outputs: done.report.outputs, artifacts: done.artifacts, cost })
    }

    fn executors(&self) -> Executors {
        let (events, _) = std::sync::mpsc::channel();
        Executors::new(events, self.cancel.clone(), self.project.redactor.clone(), self.project.clone())
    }

    /// The workers that the workflow may need; a model is chosen only if one does.
    fn workers(&self, directory: &RunDirectory) -> Result<Workers, DriveError> {
        let mut workers = Workers::new();
        let command: Arc<dyn Worker> = Arc::new(Command::new(self.project.clone()));
        workers.insert("Command".into(), command);
        let is_command = |worker: &str| worker == "Command";
        let ladder = &self.step.extra().ladder;
        if is_command(&self.step.worker) && ladder.iter().all(|rung| is_command(&rung.worker)) {
            return Ok(workers);
        }
        if needs_model(self.workflow) {
            let record =
                RunRecord { start: self.project.starting_settings(), ..RunRecord::new(RunKind::Workflow) };
            directory.save(&record, &self.project.redactor).map_err(EngineError::from)?;
            let before = ledger::read_chained(&directory.trace()).map(|found| found.entries);
            let writer = ledger(directory, self.project)?;
            let trace = Trace::resume(writer, Box::new(|_| {}), &before.unwrap_or_default());
            let agents = StepAgents::open(self.project, directory, &trace, &self.cancel)?;
            self.account.get_or_init(|| agents.cost().clone());
            workers.extend(roles_for(&Arc::new(agents), &self.workflow.metadata));
        }
        Ok(workers)
    }

    /// Merges the changes of an attempt, unless an earlier delivery did.
    ///
    /// A worktree that is absent says nothing: it may be on another machine. So a merge leaves a file.
    async fn merge(
        &self,
        order: Order,
        reply: AttemptReply,
        merged: &std::path::Path,
    ) -> Result<AttemptReply, DriveError> {
        if merged.exists() {
            return Ok(reply);
        }
        let AttemptReply { mut end, outputs, artifacts, cost } = reply;
        let report = Report { outputs, ..Report::new(&order, Status::Success, end.attempt.summary.clone()) };
        let place = order.workspace.clone();
        let done = AttemptResult { order, report, progress: Progress::default(), artifacts, stopped: false };
        let AttemptResult { report, artifacts, .. } = if place.exists() {
            let mark = || std::fs::write(merged, "");
            worktree::merge(self.project, done, &mark).await
        } else {
            let why = format!(
                "its worktree {} does not exist on this machine: the attempt was made on another one",
                place.display()
            );
            worktree::conflict(done, why)
        };
        end.attempt.status = report.status;
        end.attempt.summary = report.summary;
        end.attempt.failure_signature = report.failure_signature;
        Ok(AttemptReply { end, outputs: report.outputs, artifacts, cost })
    }
}

/// Opens the directory of an attempt; also says whether it is new.
fn open_directory(runs: &std::path::Path, run_id: &str) -> Result<(RunDirectory, bool), EngineError> {
    let wrap = |source| WriteError { path: runs.join(run_id).display().to_string(), source };
    let is_new = !runs.join(run_id).exists();
    let directory = RunDirectory::open_or_create(runs, run_id).map_err(wrap)?;
    Ok((directory, is_new))
}
