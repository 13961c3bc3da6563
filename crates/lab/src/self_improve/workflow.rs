//! The workflow of an attempt: planned, carried out by the roles, and evaluated after every step that writes.

use super::ImproveError;
use super::evaluation::Evaluation;
use super::evaluator::{Evaluator, commitments};
use super::plan::Plan;
use async_trait::async_trait;
use marvin_agent::step_agents::StepAgents;
use marvin_agent::{ProjectContext, SessionError};
use marvin_base::ledger;
use marvin_base::settings::table;
use marvin_flow::deterministic::{Command, Echo};
use marvin_flow::drive::{DriveError, teacher};
use marvin_flow::engine::{EngineError, Options, Outcome, PreparedRun, Run};
use marvin_flow::worker::{Order, Report, Worker, Workers};
use marvin_flow::workers::{names, roles_for};
use marvin_flow::{manager, view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// An evaluation after a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepEvaluation {
    pub step_id: String,
    pub attempt: u32,
    pub evaluation: Evaluation,
}

/// The end of an attempt's workflow.
#[derive(Debug)]
pub(super) enum Ending {
    Workflow(Box<Outcome>),
    /// The budget of the whole run.
    Spent,
    Error(String),
}

impl Ending {
    /// Whether a resumed workflow cannot continue by itself.
    pub(super) fn is_stuck(&self) -> bool {
        match self {
            Ending::Workflow(outcome) => outcome.waiting.iter().any(|step| step.kind == "unknown"),
            Ending::Error(_) => true,
            Ending::Spent => false,
        }
    }
}

#[derive(Debug)]
pub(super) struct WorkflowResult {
    pub(super) run: PathBuf,
    pub(super) ending: Ending,
    pub(super) steps: Vec<StepEvaluation>,
}

/// Whether a workflow was planned, so that it can be continued.
pub(super) fn can_resume(run: &Path) -> bool {
    view::is_workflow(run)
}

/// Runs the workflow of an attempt, or the rest of it. `note` is called with its directory before anything happens.
pub(super) async fn run(
    project: &Arc<ProjectContext>,
    evaluator: &Arc<Evaluator>,
    prompt: &str,
    plan: &Plan,
    resumed: Option<PathBuf>,
    cancel: &CancellationToken,
    note: impl Fn(&Path) -> Result<(), ImproveError>,
) -> Result<WorkflowResult, ImproveError> {
    // Scripts are played in one order.
    let concurrency = usize::from(project.settings.text(&table::PROVIDER) == "mock");
    let options = Options { concurrency, sync: None, listener: Box::new(|_| {}) };
    let steps =
        StepEvaluator { project: project.clone(), evaluator: evaluator.clone(), evaluations: Arc::default() };
    let mut directory = resumed.clone().unwrap_or_default();
    let ending = match resumed {
        Some(path) => continue_run(project, &path, options, &steps, cancel).await,
        None => {
            let prepared = PreparedRun::new(project, prompt, options).map_err(DriveError::from)?;
            directory = prepared.directory().path().to_path_buf();
            note(&directory)?;
            begin(project, prepared, prompt, plan, &steps, cancel).await
        }
    };
    let ending = match ending {
        Ok(Some(outcome)) if outcome.spent => Ending::Spent,
        Ok(Some(outcome)) => Ending::Workflow(Box::new(outcome)),
        Ok(None) if cancel.is_cancelled() => Ending::Error("stopped".into()),
        Ok(None) => Ending::Spent,
        Err(error) => Ending::Error(error.to_string()),
    };
    let steps = steps.evaluations.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(WorkflowResult { run: directory, ending, steps })
}

/// Plans and runs; none: the budget is spent, or the work was stopped, before it had a plan.
async fn begin(
    project: &Arc<ProjectContext>,
    prepared: PreparedRun,
    prompt: &str,
    plan: &Plan,
    steps: &StepEvaluator,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, DriveError> {
    let agents = Arc::new(StepAgents::open(project, prepared.directory(), prepared.trace(), cancel)?);
    let read = |workflow: &Value| manager::read_plan(workflow, &names(), agents.project());
    let check = |workflow: &Value| read(workflow).map(|_| ());
    let planned = manager::plan(&agents, prompt, &commitments(plan), &check, cancel).await?;
    let workflow = match planned {
        Some(planned) => read(&planned.workflow).map_err(|error| EngineError::Internal(error.to_string()))?,
        None => {
            prepared.abandon(project, prompt)?;
            return Ok(None);
        }
    };
    let run = prepared.begin(project, workflow)?;
    go(project, run, agents, steps, cancel).await.map(Some)
}

async fn continue_run(
    project: &Arc<ProjectContext>,
    path: &Path,
    options: Options,
    steps: &StepEvaluator,
    cancel: &CancellationToken,
) -> Result<Option<Outcome>, DriveError> {
    let run = Run::resume(project, path, options)?;
    let agents = Arc::new(StepAgents::open(project, run.directory(), &run.trace(), cancel)?);
    go(project, run, agents, steps, cancel).await.map(Some)
}

async fn go(
    project: &Arc<ProjectContext>,
    mut run: Run,
    agents: Arc<StepAgents>,
    steps: &StepEvaluator,
    cancel: &CancellationToken,
) -> Result<Outcome, DriveError> {
    let mut workers = Workers::new();
    workers.insert("Command".into(), Arc::new(Command::new(project.clone())));
    workers.extend(roles_for(&agents, &run.workflow().metadata));
    let wrap = |inner: Arc<dyn Worker>| -> Arc<dyn Worker> {
        Arc::new(EvaluatedWorker { inner, evaluator: steps.clone() })
    };
    let mut workers: Workers = workers.into_iter().map(|(name, worker)| (name, wrap(worker))).collect();
    workers.insert("Echo".into(), Arc::new(Echo));
    run.charge(agents.cost().clone());
    Ok(run.go(workers, teacher(project), cancel.clone()).await?)
}

/// Model calls and tool calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CallCounts {
    pub(super) model_calls: u64,
    pub(super) tool_calls: u64,
}

/// The calls of everything that a session did, from the traces in its state directory: its attempts, also those that were begun
/// again, and the agents that they launched.
pub(super) fn count_session_calls(state: &Path) -> CallCounts {
    let entries = |directory: &Path| std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut counts = CallCounts::default();
    for project in entries(&state.join("projects")) {
        for run in entries(&project.path().join("runs")) {
            let calls = count_calls(&run.path());
            counts.model_calls += calls.model_calls;
            counts.tool_calls += calls.tool_calls;
        }
    }
    counts
}

/// The calls of a run, from its trace.
fn count_calls(run: &Path) -> CallCounts {
    let entries = ledger::read(&run.join("trace.jsonl")).map(|contents| contents.entries).unwrap_or_default();
    let of = |wanted: &str| {
        let is = |event: &&Value| {
            event.get("type").and_then(Value::as_str) == Some("item.completed")
                && event.pointer("/item/type").and_then(Value::as_str) == Some(wanted)
        };
        entries.iter().filter(is).count() as u64
    };
    CallCounts { model_calls: of("model_call"), tool_calls: of("tool_call") }
}

/// Evaluates the worktree of a session after its steps, and keeps the results.
#[derive(Debug, Clone)]
struct StepEvaluator {
    project: Arc<ProjectContext>,
    evaluator: Arc<Evaluator>,
    evaluations: Arc<Mutex<Vec<StepEvaluation>>>,
}

impl StepEvaluator {
    /// None: it was interrupted, or steps are not evaluated.
    async fn evaluate(&self, order: &Order, cancel: &CancellationToken) -> Option<Evaluation> {
        let evaluation = self.evaluator.evaluate_step(&self.project, cancel).await?;
        let (step_id, attempt) = (order.step_id.clone(), order.attempt);
        let step = StepEvaluation { step_id, attempt, evaluation: evaluation.clone() };
        self.evaluations.lock().unwrap_or_else(PoisonError::into_inner).push(step);
        Some(evaluation)
    }
}

/// A worker whose work is evaluated by the shell, so that the retry rule has figures that the worker did not write.
#[derive(Debug)]
struct EvaluatedWorker {
    inner: Arc<dyn Worker>,
    evaluator: StepEvaluator,
}

#[async_trait]
impl Worker for EvaluatedWorker {
    fn writes(&self, order: &Order) -> bool {
        self.inner.writes(order)
    }

    fn repeatable(&self, order: &Order) -> bool {
        self.inner.repeatable(order)
    }

    fn gives_facts(&self) -> bool {
        self.inner.gives_facts()
    }

    fn recall(&self, order: &Order) -> Option<Report> {
        self.inner.recall(order)
    }

    async fn work(&self, order: &Order, cancel: &CancellationToken) -> Report {
        let mut report = self.inner.work(order, cancel).await;
        if cancel.is_cancelled() || !self.inner.writes(order) {
            return report;
        }
        let Some(evaluation) = self.evaluator.evaluate(order, cancel).await else { return report };
        let figures = [("failing_tests", evaluation.failed), ("passed_tests", evaluation.passed)];
        for (name, figure) in figures.into_iter().filter(|_| evaluation.ran) {
            report.metrics.insert(name.into(), figure.into());
            if let Some(progress) = report.metrics.get_mut("progress").and_then(Value::as_object_mut) {
                progress.insert(name.into(), figure.into());
            }
        }
        report
    }
}

impl From<DriveError> for ImproveError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Engine(error) => ImproveError::Workflow(error),
            DriveError::Session(error) => ImproveError::Session(error),
        }
    }
}

impl From<SessionError> for ImproveError {
    fn from(error: SessionError) -> Self {
        ImproveError::Session(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_abandoned_attempts_and_launched_agents_count() {
        let state = tempfile::tempdir().unwrap();
        let item = |kind: &str| format!(r#"{{"type":"item.completed","item":{{"type":"{kind}"}}}}"#);
        for (run, kinds) in [
            ("projects/a/runs/abandoned", &["model_call", "tool_call"][..]),
            ("projects/a/runs/attempt", &["model_call", "message"]),
            ("projects/worktree/runs/launched", &["model_call", "model_call", "tool_call"]),
        ] {
            let run = state.path().join(run);
            std::fs::create_dir_all(&run).unwrap();
            let lines: Vec<String> = kinds.iter().map(|kind| item(kind)).collect();
            std::fs::write(run.join("trace.jsonl"), lines.join("\n") + "\n").unwrap();
        }
        let counts = count_session_calls(state.path());
        assert_eq!(counts, CallCounts { model_calls: 4, tool_calls: 2 });
        assert_eq!(count_session_calls(&state.path().join("none")), CallCounts::default());
    }
}
