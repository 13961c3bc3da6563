//! Beginning steps: worker, strategy and inputs of an attempt, and steps that an earlier process began.

use super::dispatch::{Dispatcher, RunningAttempt, step_id};
use super::execute::{Job, Start};
use super::resolve::{self, Outputs, ResolveError};
use super::{EngineError, people, worktree};
use crate::record::{Data, StepStatus};
use crate::retry::{Strategy, Task};
use crate::worker::{Order, Worker};
use marvin_base::settings::nearest_of;
use marvin_base::signature;
use marvin_memory::lessons::Query;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Lessons that an attempt is given.
const MAX_LESSONS: usize = 5;

/// Resolved inputs, or why they are invalid.
enum Inputs {
    Valid(Map<String, Value>),
    Invalid(String),
}

impl Dispatcher {
    pub(super) fn check_workers(&self) -> Result<(), EngineError> {
        check_workers(&self.workflow, &self.workers.keys().map(String::as_str).collect::<Vec<_>>())
    }

    /// Checks that the artifacts of completed steps exist.
    pub(super) fn check_artifacts(&self) -> Result<(), EngineError> {
        let is_over = |step: u32| matches!(self.status(step), StepStatus::Succeeded | StepStatus::Partial);
        let over = (0_u32..).zip(&self.workflow.steps).filter(|(step, _)| is_over(*step));
        let removed: BTreeSet<&String> = over.flat_map(|(_, step)| &step.extra().removes).collect();
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
        }
        Ok(())
    }

    /// Begins as many steps as may run at a time.
    pub(super) fn begin(&mut self) -> Result<(), EngineError> {
        while self.running.len() < self.concurrency {
            let next = self.ready.pop_first();
            // When no step writes, the first that waits for the workspace may begin.
            let next = next.or_else(|| if self.writer.is_none() { self.queued.pop_first() } else { None });
            let Some(step) = next else { return Ok(()) };
            let status = self.status(step);
            if !matches!(status, StepStatus::New | StepStatus::Ready | StepStatus::RetryPending) {
                continue;
            }
            self.begin_one(step, false)?;
        }
        Ok(())
    }

    fn begin_one(&mut self, step: u32, again: bool) -> Result<(), EngineError> {
        let worker = self.step(step)?.worker.clone();
        let inputs = match self.inputs(step)? {
            Inputs::Valid(inputs) => inputs,
            Inputs::Invalid(why) => {
                let data = Data { error: Some(why), code: Some("inputs".into()), ..Data::default() };
                return self.transition(step, StepStatus::Failed, &data);
            }
        };
        if people::is_person(&worker) {
            let data = Data {
                blocked: Some(worker.to_string()),
                error: Some(people::question(self.step(step)?, &inputs)),
                inputs: Some(inputs),
                ..Data::default()
            };
            return self.transition(step, StepStatus::Blocked, &data);
        }
        let (order, strategy) = self.order(step, inputs)?;
        let Some(worker) = self.workers.get(&strategy.worker).cloned() else {
            let why = format!(
                "the strategy `{}` names the worker `{}`, which does not exist",
                strategy.strategy_id, strategy.worker
            );
            let data = Data { error: Some(why), code: Some("no_strategies".into()), ..Data::default() };
            return self.transition(step, StepStatus::Failed, &data);
        };
        let writes = self.step(step)?.extra().writes.unwrap_or_else(|| worker.writes(&order));
        if writes && self.writer.is_some() && !self.step(step)?.extra().worktree {
            self.queued.insert(step);
            return Ok(());
        }
        self.launch(step, order, &strategy, worker, writes, again)
    }

    fn launch(
        &mut self,
        step: u32,
        order: Order,
        strategy: &Strategy,
        worker: Arc<dyn Worker>,
        writes: bool,
        again: bool,
    ) -> Result<(), EngineError> {
        let data = Data {
            attempt: order.attempt,
            key: order.key.clone(),
            call_id: order.call_id.clone(),
            strategy: Some(strategy.clone()),
            inputs: Some(order.inputs.clone()),
            again,
            ..Data::default()
        };
        self.transition(step, StepStatus::Running, &data)?;
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
        let running = RunningAttempt { writes: writes && !extra.worktree, worktree: extra.worktree };
        let tried = self.tried.entry(step).or_default();
        tried.running = Some((data.attempt, data.key, data.call_id));
        tried.strategy = data.strategy;
        tried.blocked = None;
        self.running.insert(step, running);
        if running.writes {
            self.writer = Some(step);
        }
        self.launches.push(Job::Attempt(Box::new(start)));
        Ok(())
    }

    fn inputs(&self, step: u32) -> Result<Inputs, EngineError> {
        let one = self.step(step)?;
        let place = |id: &str| {
            // References are mostly to direct dependencies, which are few.
            let found = one.depends_on.iter().copied().find(|dep| step_id(&self.workflow, *dep) == id);
            let found = found.or_else(|| self.workflow.find(id).and_then(|at| u32::try_from(at).ok()));
            found.and_then(|at| self.seq.get(at as usize).copied())
        };
        let mut inputs = match resolve::inputs(one, &mut Outputs::new(&self.record, &place)) {
            Ok(inputs) => inputs,
            Err(ResolveError::Record(error)) => return Err(error.into()),
            Err(ResolveError::Missing(why)) => return Ok(Inputs::Invalid(why)),
        };
        if let Some(answer) = self.tried.get(&step).and_then(|tried| tried.said.clone()) {
            inputs.insert("answer".into(), answer);
        }
        let value = Value::Object(inputs);
        let complaint = one.inputs_schema.as_ref().and_then(|schema| schema.complaint(&value));
        Ok(match (complaint, value) {
            (Some(why), _) => Inputs::Invalid(format!("its inputs do not match its inputs_schema: {why}")),
            (None, Value::Object(inputs)) => Inputs::Valid(inputs),
            (None, _) => Inputs::Valid(Map::new()),
        })
    }

    /// The order of the next attempt; the same one for an attempt that is resumed.
    fn order(&mut self, step: u32, inputs: Map<String, Value>) -> Result<(Order, Strategy), EngineError> {
        let run_id = self.directory.id().to_string();
        let tried = self.tried.get(&step).cloned().unwrap_or_default();
        let attempt = u32::try_from(tried.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
        let call_id = match &tried.running {
            Some((number, _, call_id)) if *number == attempt && !call_id.is_empty() => call_id.clone(),
            _ => {
                self.calls += 1;
                format!("call-{}", self.calls)
            }
        };
        let one = self.step(step)?;
        let task = Task {
            run_id: &run_id,
            goal: &self.workflow.goal,
            step_id: &one.id,
            worker: &one.worker,
            inputs: &inputs,
            ladder: &one.extra().ladder,
        };
        let strategy = tried.strategy.clone().or_else(|| task.strategy(1)).unwrap_or_else(|| Strategy {
            strategy_id: "draft".into(),
            worker: one.worker.to_string(),
            retrieval_stage: 1,
        });
        let key = signature::hash(&(&run_id, &one.id, attempt)).chars().take(32).collect::<String>();
        let outputs_schema =
            one.outputs_schema.as_ref().map_or_else(|| Map::new().into(), |schema| schema.value.clone());
        let (goal, id, description) =
            (self.workflow.goal.clone(), one.id.to_string(), one.description.to_string());
        let commitments = one.extra().commitments.clone();
        let failure_signature = tried.attempts.last().and_then(|last| last.failure_signature.clone());
        let (own_name, query) = (one.name().to_string(), self.query(step, &strategy, &tried.attempts));
        // The lesson of this step comes before all others.
        let taught = tried.lessons.last().cloned();
        let mut lessons: Vec<String> = taught.and_then(|id| self.teacher.read(&id)).into_iter().collect();
        let found = query.map(|query| self.teacher.recall(&query)).unwrap_or_default();
        lessons.extend(found.into_iter().filter(|found| lessons.first() != Some(found)).collect::<Vec<_>>());
        let workspace = match self.step(step)?.extra().worktree {
            true => worktree::path(&self.workspace, &run_id, &id, attempt),
            false => self.workspace.clone(),
        };
        let order = Order {
            run_directory: self.directory.path().to_path_buf(),
            workspace,
            worker: strategy.worker.clone(),
            strategy_id: strategy.strategy_id.clone(),
            retrieval_stage: strategy.retrieval_stage,
            step_id: id,
            name: own_name,
            run_id,
            goal,
            description,
            inputs,
            outputs_schema,
            attempt,
            key,
            call_id,
            lessons,
            failure_signature,
            commitments,
        };
        Ok((order, strategy))
    }

    /// The query for lessons; none for a worker that does not read them.
    fn query(&self, step: u32, strategy: &Strategy, attempts: &[crate::retry::Attempt]) -> Option<Query> {
        let learns = |worker: &Arc<dyn Worker>| !worker.gives_facts() && !worker.is_echo();
        self.workers.get(&strategy.worker).filter(|worker| learns(worker))?;
        let last = attempts.last();
        let summary = last.map(|last| last.summary.as_str()).unwrap_or_default();
        let one = self.workflow.steps.get(step as usize)?;
        Some(Query {
            text: format!("{} {} {summary}", self.workflow.goal, one.description),
            tags: vec![one.id.to_string(), self.workflow.workflow_id.clone()],
            component: Some(one.worker.to_string()),
            failure_signature: last.and_then(|last| last.failure_signature.clone()),
            stage: strategy.retrieval_stage,
            limit: MAX_LESSONS,
        })
    }

    /// Resumes a step that an earlier process began: uses its recorded result, repeats it, or asks a person.
    pub(super) fn resume_step(&mut self, step: u32) -> Result<(), EngineError> {
        let began = self.last_transition(step)?;
        let inputs = began.inputs.clone().unwrap_or_default();
        let (mut order, strategy) = self.order(step, inputs)?;
        // The attempt keeps its recorded identity, whatever is computed now.
        order.key.clone_from(&began.key);
        order.call_id.clone_from(&began.call_id);
        let Some(worker) = self.workers.get(&strategy.worker).cloned() else {
            return self.block_unknown(step, &began, "its worker no longer exists");
        };
        if let Some(report) = worker.recall(&order) {
            let facts =
                if worker.gives_facts() { Value::Object(report.outputs.clone()) } else { Value::Null };
            return self.judge_recalled(step, order, report, facts);
        }
        let extra = self.step(step)?.extra();
        if extra.repeatable.unwrap_or_else(|| worker.repeatable(&order)) {
            let writes = extra.writes.unwrap_or_else(|| worker.writes(&order));
            if !writes || extra.worktree || self.writer.is_none() {
                return self.launch(step, order, &strategy, worker, writes, true);
            }
            let data = Data {
                attempt: order.attempt,
                key: order.key,
                call_id: order.call_id,
                again: true,
                ..Data::default()
            };
            self.transition(step, StepStatus::Ready, &data)?;
            self.ready.insert(step);
            return Ok(());
        }
        self.block_unknown(
            step,
            &began,
            "a process died while it ran, and whether it was completed is not known",
        )
    }

    fn block_unknown(&mut self, step: u32, began: &Data, why: &str) -> Result<(), EngineError> {
        let data = Data {
            attempt: began.attempt,
            key: began.key.clone(),
            call_id: began.call_id.clone(),
            blocked: Some("unknown".into()),
            error: Some(format!("{why} (key {})", began.key)),
            ..Data::default()
        };
        self.transition(step, StepStatus::Blocked, &data)?;
        if let Some(tried) = self.tried.get_mut(&step) {
            tried.running = None;
            tried.blocked = Some("unknown".into());
        }
        Ok(())
    }

    /// Completes an echo step that has references or schemas.
    pub(super) fn complete_resolved_echo(&mut self, step: u32) -> Result<(), EngineError> {
        let inputs = match self.inputs(step)? {
            Inputs::Valid(inputs) => inputs,
            Inputs::Invalid(why) => {
                let data = Data { error: Some(why), code: Some("inputs".into()), ..Data::default() };
                return self.transition(step, StepStatus::Failed, &data);
            }
        };
        let schema = self.step(step)?.outputs_schema.clone();
        if let Some(why) = schema.and_then(|schema| schema.complaint(&Value::Object(inputs.clone()))) {
            let why = format!("its outputs do not match its outputs_schema: {why}");
            let data = Data { error: Some(why), code: Some("outputs".into()), ..Data::default() };
            return self.transition(step, StepStatus::Failed, &data);
        }
        self.complete_echo(step, &Data { outputs: Some(inputs), ..Data::default() }.to_text())
    }
}

/// Checks that every step names one of these workers, or a person.
///
/// # Errors
/// The first step whose worker is not known.
pub fn check_workers(workflow: &crate::spec::Workflow, workers: &[&str]) -> Result<(), EngineError> {
    for step in &workflow.steps {
        let worker = &*step.worker;
        if workers.contains(&worker) || people::is_person(worker) {
            continue;
        }
        let known = workers.iter().copied().chain(people::PEOPLE);
        let hint = match nearest_of(worker, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
        };
        return Err(EngineError::NoWorker { step: step.id.to_string(), worker: worker.to_string(), hint });
    }
    Ok(())
}
