//! The hierarchical runner: a Planner turns the task into a workflow, workers do its steps, and the visible tests must pass
//! before the last step counts. The engine retries a failed attempt only with a lesson and another strategy.

use super::{AttemptDirectory, Bench, Runner, RunnerReport, Watcher, open_project, prompt};
use crate::error::LabError;
use crate::task::Task;
use marvin_agent::step_agents::StepAgents;
use marvin_agent::trace::Listener;
use marvin_agent::{Notice, ProjectContext};
use marvin_base::settings::table;
use marvin_flow::drive::drive;
use marvin_flow::engine::{Options, PreparedRun, WorkflowStatus};
use marvin_flow::manager;
use marvin_flow::spec::Workflow;
use marvin_flow::workers::names;
use marvin_memory::Places;
use marvin_memory::lessons::Lessons;
use marvin_model::price::dollars;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// What must hold at the end, by the tests that a solver can see.
const TESTS: &str = "tests_pass:pytest";

/// Counts from the events of a run.
#[derive(Debug, Clone)]
struct Counts {
    watcher: Watcher,
    tool_calls: Arc<AtomicU64>,
    attempts: Arc<AtomicU64>,
}

impl Counts {
    fn listener(&self) -> Listener {
        let counts = self.clone();
        Box::new(move |notice| {
            let Notice::Event(event) = notice else { return };
            let is = |key: &str, wanted: &str| event.pointer(key).and_then(Value::as_str) == Some(wanted);
            if is("/type", "worker.started") {
                counts.attempts.fetch_add(1, Ordering::Relaxed);
            } else if is("/type", "item.completed") && is("/item/type", "tool_call") {
                counts.tool_calls.fetch_add(1, Ordering::Relaxed);
                counts.watcher.capture();
            }
        })
    }
}

pub(super) async fn solve(
    task: &Task,
    attempt: &AttemptDirectory,
    bench: &Bench,
) -> Result<RunnerReport, LabError> {
    let workspace = attempt.workspace();
    let project = Arc::new(open_project(Runner::Hierarchical, task, attempt, bench)?);
    let counts = Counts {
        watcher: Watcher::new(task, workspace),
        tool_calls: Arc::default(),
        attempts: Arc::default(),
    };
    let cancel = bench.cancel.child_token();
    let late = arm_deadline(&project, &cancel);
    // Recordings are played in one order.
    let concurrency = usize::from(bench.recordings);
    let options = Options { concurrency, sync: None, listener: counts.listener() };
    let goal = prompt(task);
    let prepared = PreparedRun::new(&project, &goal, options)?;
    let agents = Arc::new(StepAgents::open(&project, prepared.directory(), prepared.trace(), &cancel)?);
    let mut solved = match planned(&agents, &goal, &cancel).await? {
        Some(workflow) => work(prepared, workflow, &project, &agents, &cancel).await?,
        None => {
            prepared.abandon(&project, &goal)?;
            let error = Some("no plan was made before the budget or the time was spent".to_string());
            RunnerReport { status: "stopped".into(), error, ..RunnerReport::default() }
        }
    };
    if bench.cancel.is_cancelled() {
        return Err(LabError::Interrupted);
    }
    if late.is_cancelled() {
        solved.error = Some("the deadline passed".into());
    }
    let totals = agents.cost().totals().unwrap_or_default();
    solved.model_calls = totals.turns;
    solved.tool_calls = counts.tool_calls.load(Ordering::Relaxed);
    solved.attempts = counts.attempts.load(Ordering::Relaxed);
    solved.lessons = lessons(&project).all().map(|lessons| lessons.len() as u64).unwrap_or_default();
    solved.cost_usd = totals.unpriced.is_empty().then(|| dollars(totals.cost));
    solved.tokens =
        totals.tokens.values().fold((0, 0), |sum, (input, output)| (sum.0 + input, sum.1 + output));
    solved.states = counts.watcher.states();
    Ok(solved)
}

/// The lessons of this attempt.
fn lessons(project: &ProjectContext) -> Lessons {
    let places = Places::from_settings(&project.layout, &project.settings);
    Lessons::open(&places.lessons, &places.index, project.redactor.clone())
}

/// Cancels everything at the deadline of the settings; the returned token is cancelled then, too.
fn arm_deadline(project: &ProjectContext, cancel: &CancellationToken) -> CancellationToken {
    let late = CancellationToken::new();
    let seconds = project.settings.seconds(&table::DEADLINE);
    if !seconds.is_zero() {
        let (late, cancel) = (late.clone(), cancel.clone());
        tokio::spawn(async move {
            tokio::time::sleep(seconds).await;
            late.cancel();
            cancel.cancel();
        });
    }
    late
}

/// The planned workflow, with a last step for what must hold at the end.
async fn planned(
    agents: &StepAgents,
    goal: &str,
    cancel: &CancellationToken,
) -> Result<Option<Workflow>, LabError> {
    let read = |workflow: &Value| manager::read_plan(workflow, &names(), agents.project());
    let check = |workflow: &Value| read(workflow).map(|_| ());
    let plan = manager::plan(agents, goal, &[TESTS.to_string()], &check, cancel).await?;
    plan.map(|plan| read(&plan.workflow).map_err(LabError::Plan)).transpose()
}

/// Runs the workflow.
async fn work(
    prepared: PreparedRun,
    workflow: Workflow,
    project: &Arc<ProjectContext>,
    agents: &Arc<StepAgents>,
    cancel: &CancellationToken,
) -> Result<RunnerReport, LabError> {
    let run = prepared.begin(project, workflow)?;
    let outcome = drive(project, run, Some(agents.clone()), cancel.clone()).await?;
    let failed: Vec<String> = outcome.failed.iter().map(|(step, why)| format!("{step}: {why}")).collect();
    Ok(RunnerReport {
        status: outcome.status.word().to_lowercase(),
        claimed: outcome.status == WorkflowStatus::Succeeded,
        error: (!failed.is_empty()).then(|| failed.join("; ")),
        ..RunnerReport::default()
    })
}
