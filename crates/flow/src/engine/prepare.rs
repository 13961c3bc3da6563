//! Attempts: their inputs, orders and lessons, and attempts that an earlier process began.

use super::dispatch::{Dispatcher, step_id};
use super::execute::{AttemptResult, Job, Start, hash};
use super::preflight::check_workers;
use super::resolve::{self, Inputs, Outputs, ResolveError};
use super::{EngineError, worktree};
use crate::machine::{Preparation, PreviousFailure, Problem, Recollection, Ticket};
use crate::record::{Artifact, StepStatus};
use crate::retry::{AttemptCounts, measure};
use crate::spec::{Step, Workflow};
use crate::worker::{Order, Report, Status, Worker};
use marvin_memory::lessons::Query;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Lessons that an attempt is given.
const MAX_LESSONS: usize = 5;

/// An attempt that the machine may start.
#[derive(Debug)]
pub(super) struct PreparedAttempt {
    pub(super) order: Order,
    /// The lesson of the step, and the failure before it.
    lesson: Option<String>,
    previous: Option<PreviousFailure>,
    worker: Arc<dyn Worker>,
    writes: bool,
}

impl Dispatcher {
    pub(super) fn check_workers(&self) -> Result<(), EngineError> {
        check_workers(&self.workflow, &self.workers.keys().map(String::as_str).collect::<Vec<_>>())
    }

    /// Checks that the artifacts of completed steps exist.
    pub(super) fn check_artifacts(&self) -> Result<(), EngineError> {
        let is_over =
            |step: u32| matches!(self.machine.status(step), StepStatus::Succeeded | StepStatus::Partial);
        let over = (0_u32..).zip(&self.workflow.steps).filter(|(step, _)| is_over(*step));
        let removed: BTreeSet<&String> = over.flat_map(|(_, step)| &step.extra().removes).collect();
        let mut left = BTreeMap::new();
        for (step, _, artifact) in self.record.artifacts()? {
            if is_over(step)
                && !removed.contains(&artifact.path)
                && !self.workspace.join(&artifact.path).exists()
            {
                return Err(EngineError::MissingArtifact {
                    step: step_id(&self.workflow, step).to_string(),
                    path: self.workspace.join(&artifact.path).display().to_string(),
                });
            }
            if is_over(step) && !removed.contains(&artifact.path) {
                left.insert(artifact.path, (step, artifact.sha256));
            }
        }
        // Of several steps that left a file, the last counts.
        for (path, (step, sha256)) in left {
            if hash(&self.workspace, &path).is_some_and(|(now, _)| now != sha256) {
                let step = step_id(&self.workflow, step);
                self.trace.notice(format!("{path} was changed since step `{step}` left it"))?;
            }
        }
        Ok(())
    }

    /// Resolves the inputs of a step for a person.
    pub(super) fn prepare_question(&mut self, step: u32) -> Result<Preparation, EngineError> {
        match self.inputs(step)? {
            Inputs::Invalid(problem) => Ok(Preparation::Invalid(problem)),
            Inputs::Valid(inputs) => {
                self.resolved = Some(inputs);
                Ok(Preparation::Ready { writes: false })
            }
        }
    }

    /// Resolves the inputs of an echo step, which are its outputs.
    pub(super) fn resolve_echo(&mut self, step: u32) -> Result<Option<Problem>, EngineError> {
        match self.inputs(step)?.check_echo(self.step(step)?) {
            Inputs::Invalid(problem) => Ok(Some(problem)),
            Inputs::Valid(inputs) => {
                self.resolved = Some(inputs);
                Ok(None)
            }
        }
    }

    /// Resolves the inputs of an attempt and asks its worker whether it writes.
    pub(super) fn prepare(&mut self, step: u32, ticket: Ticket) -> Result<Preparation, EngineError> {
        let inputs = match self.inputs(step)? {
            Inputs::Valid(inputs) => inputs,
            Inputs::Invalid(problem) => return Ok(Preparation::Invalid(problem)),
        };
        let Some(worker) = self.workers.get(&ticket.strategy.worker).cloned() else {
            return Ok(Preparation::NoWorker);
        };
        let (order, lesson, previous) = self.order(step, ticket, inputs)?;
        let writes = self.step(step)?.extra().writes.unwrap_or_else(|| worker.writes(&order));
        self.prepared = Some(Box::new(PreparedAttempt { order, lesson, previous, worker, writes }));
        Ok(Preparation::Ready { writes })
    }

    /// Starts the prepared attempt after the commit.
    pub(super) fn start(&mut self, step: u32, call_id: String) -> Result<(), EngineError> {
        let Some(prepared) = self.prepared.take() else {
            return Err(EngineError::Internal(format!("step {step} was not prepared")));
        };
        let PreparedAttempt { mut order, lesson, previous, worker, writes } = *prepared;
        order.call_id = call_id;
        order.lessons = self.lessons(step, &order, lesson, previous, worker.as_ref());
        let one = self.step(step)?;
        let extra = one.extra();
        let start = Start {
            step,
            timeout: extra.timeout_s.map(Duration::from_secs),
            outputs_schema: one.outputs_schema.clone(),
            worktree: extra.worktree,
            order,
            worker,
            writes,
        };
        self.launches.push(Job::Attempt(Box::new(start)));
        Ok(())
    }

    /// The lesson of the step, then others that match.
    fn lessons(
        &mut self,
        step: u32,
        order: &Order,
        lesson: Option<String>,
        previous: Option<PreviousFailure>,
        worker: &dyn Worker,
    ) -> Vec<String> {
        let query = self.query(step, order, previous, worker);
        let own = lesson.and_then(|id| self.teacher.read(&id));
        let found = query.map(|query| self.teacher.recall(&query)).unwrap_or_default();
        let others: Vec<String> = found.into_iter().filter(|found| own.as_ref() != Some(found)).collect();
        own.into_iter().chain(others).collect()
    }

    /// The query for lessons; none for a worker that does not read them.
    fn query(
        &self,
        step: u32,
        order: &Order,
        previous: Option<PreviousFailure>,
        worker: &dyn Worker,
    ) -> Option<Query> {
        if worker.gives_facts() || worker.is_echo() {
            return None;
        }
        Some(lesson_query(&self.workflow, self.workflow.steps.get(step as usize)?, order, previous))
    }

    fn inputs(&self, step: u32) -> Result<Inputs, EngineError> {
        let one = self.step(step)?;
        let place = |id: &str| {
            // References are mostly to direct dependencies, which are few.
            let found = one.depends_on.iter().copied().find(|dep| step_id(&self.workflow, *dep) == id);
            let found = found.or_else(|| self.workflow.find(id).and_then(|at| u32::try_from(at).ok()));
            found.and_then(|at| self.seq.get(at as usize).copied())
        };
        let inputs = match resolve::inputs(one, &mut Outputs::new(&self.record, &place)) {
            Ok(inputs) => inputs,
            Err(ResolveError::Record(error)) => return Err(error.into()),
            Err(ResolveError::Missing(why)) => return Ok(Inputs::invalid(why)),
        };
        let answer = self.machine.history(step).and_then(|tried| tried.said.clone());
        Ok(Inputs::check(one, inputs, answer))
    }

    /// The order of an attempt, still without its call id and lessons; then its lesson and the failure before it.
    fn order(
        &self,
        step: u32,
        ticket: Ticket,
        inputs: Map<String, Value>,
    ) -> Result<(Order, Option<String>, Option<PreviousFailure>), EngineError> {
        let (previous, lesson) = (ticket.previous.clone(), ticket.lesson.clone());
        let place = RunPlace {
            workflow: &self.workflow,
            run_id: self.directory.id(),
            run_directory: self.directory.path(),
            workspace: &self.workspace,
        };
        Ok((place.order(self.step(step)?, ticket, inputs), lesson, previous))
    }

    /// Finds the recorded result of an attempt that an earlier process began.
    pub(super) fn recall(
        &mut self,
        step: u32,
        ticket: Ticket,
        call_id: String,
    ) -> Result<Recollection, EngineError> {
        let inputs = self.last_transition(step)?.inputs.unwrap_or_default();
        let Some(worker) = self.workers.get(&ticket.strategy.worker).cloned() else {
            return Ok(Recollection::NoWorker);
        };
        let (mut order, lesson, previous) = self.order(step, ticket, inputs)?;
        order.call_id = call_id;
        if let Some(report) = worker.recall(&order) {
            let facts =
                if worker.gives_facts() { Value::Object(report.outputs.clone()) } else { Value::Null };
            let done = measure_recalled(order, report, facts);
            let end = Box::new(self.attempt_end(step, &done)?);
            let has_worktree = done.order.workspace.exists();
            self.results.insert(step, Box::new(done));
            return Ok(Recollection::Ended { end, has_worktree });
        }
        let extra = self.step(step)?.extra();
        let repeatable = extra.repeatable.unwrap_or_else(|| worker.repeatable(&order));
        let writes = extra.writes.unwrap_or_else(|| worker.writes(&order));
        self.prepared = Some(Box::new(PreparedAttempt { order, lesson, previous, worker, writes }));
        Ok(Recollection::Unknown { repeatable, writes })
    }
}

/// Where the attempts of a run are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunPlace<'a> {
    pub(crate) workflow: &'a Workflow,
    pub(crate) run_id: &'a str,
    pub(crate) run_directory: &'a Path,
    pub(crate) workspace: &'a Path,
}

impl RunPlace<'_> {
    /// The order of an attempt, still without its call id and lessons.
    pub(crate) fn order(self, step: &Step, ticket: Ticket, inputs: Map<String, Value>) -> Order {
        let Ticket { attempt, key, strategy, previous, is_approved, .. } = ticket;
        let poll = step.extra().poll.clone();
        let until = poll.iter().flat_map(|poll| &poll.until);
        let workspace = match step.extra().worktree {
            true => worktree::path(self.workspace, self.run_id, &step.id, attempt),
            false => self.workspace.to_path_buf(),
        };
        Order {
            run_id: self.run_id.to_string(),
            run_directory: self.run_directory.to_path_buf(),
            workspace,
            goal: self.workflow.goal.clone(),
            step_id: step.id.to_string(),
            name: step.name().to_string(),
            description: step.description.to_string(),
            worker: strategy.worker,
            inputs,
            outputs_schema: step
                .outputs_schema
                .as_ref()
                .map_or_else(|| Map::new().into(), |schema| schema.value.clone()),
            attempt,
            key,
            call_id: String::new(),
            strategy_id: strategy.strategy_id,
            retrieval_stage: strategy.retrieval_stage,
            lessons: Vec::new(),
            failure_signature: previous.and_then(|previous| previous.failure_signature),
            commitments: step.extra().commitments.iter().chain(until).cloned().collect(),
            poll,
            is_approved,
        }
    }
}

/// The query for lessons of an attempt.
pub(crate) fn lesson_query(
    workflow: &Workflow,
    step: &Step,
    order: &Order,
    previous: Option<PreviousFailure>,
) -> Query {
    let summary = previous.map(|previous| previous.summary).unwrap_or_default();
    Query {
        text: format!("{} {} {summary}", workflow.goal, step.description),
        tags: vec![step.id.to_string(), workflow.workflow_id.clone()],
        component: Some(step.worker.to_string()),
        failure_signature: order.failure_signature.clone(),
        stage: order.retrieval_stage,
        limit: MAX_LESSONS,
    }
}

/// The result of an attempt that an earlier process made.
pub(crate) fn measure_recalled(order: Order, mut report: Report, facts: Value) -> AttemptResult {
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
    AttemptResult { order, report, progress, artifacts, stopped: false }
}
