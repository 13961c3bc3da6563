//! The hierarchical runner: a Planner makes a workflow of the task, workers do its steps, and the visible tests must pass before its last step
//! counts. A failed attempt is repeated only with a lesson and another strategy; that is the engine's business, not this module's.

use super::{AttemptDirectory, Bench, Runner, RunnerReport, Watcher, flags, prompt};
use crate::error::LabError;
use crate::task::Task;
use marvin_agent::step_agents::StepAgents;
use marvin_agent::trace::Listener;
use marvin_agent::{Notice, ProjectContext};
use marvin_base::settings::table;
use marvin_flow::deterministic::{Command, Echo};
use marvin_flow::engine::{self, MemoryTeacher, Options, PreparedRun, Workers, WorkflowStatus};
use marvin_flow::manager;
use marvin_flow::spec::{self, Workflow};
use marvin_flow::workers::{names, roles_for};
use marvin_memory::Places;
use marvin_memory::lessons::Lessons;
use marvin_model::price::dollars;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// What must hold at the end, as far as a solver can know.
const TESTS: &str = "tests_pass:pytest";

/// What the record tells while it is written.
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
                counts.watcher.look();
            }
        })
    }
}

pub(super) async fn solve(
    task: &Task,
    room: &AttemptDirectory,
    bench: &Bench,
) -> Result<RunnerReport, LabError> {
    let flags = flags(Runner::Hierarchical, task, room, bench)?;
    let workspace = room.workspace();
    let ground = ProjectContext::find(
        bench.environment_of(workspace),
        bench.directory.clone(),
        Some(workspace),
        true,
        flags,
    )?;
    let ground = Arc::new(ground);
    let counts = Counts {
        watcher: Watcher::new(task, workspace),
        tool_calls: Arc::default(),
        attempts: Arc::default(),
    };
    let cancel = bench.cancel.child_token();
    let late = arm_deadline(&ground, &cancel);
    // What is recorded is played in one order.
    let concurrency = usize::from(bench.recordings);
    let options = Options { concurrency, sync: None, listener: counts.listener() };
    let goal = prompt(task);
    let prepared = PreparedRun::new(&ground, &goal, options)?;
    let crew = Arc::new(StepAgents::open(&ground, prepared.directory(), prepared.trace(), &cancel)?);
    let mut solved = match planned(&crew, &goal, &cancel).await? {
        Some(workflow) => work(prepared, workflow, &ground, &crew, &cancel).await?,
        None => {
            prepared.abandon(&ground, &goal)?;
            let error = Some("there was no plan before the budget or the time was spent".to_string());
            RunnerReport { status: "stopped".into(), error, ..RunnerReport::default() }
        }
    };
    if bench.cancel.is_cancelled() {
        return Err(LabError::Interrupted);
    }
    if late.is_cancelled() {
        solved.error = Some("the deadline passed".into());
    }
    let totals = crew.cost().totals().unwrap_or_default();
    solved.model_calls = totals.turns;
    solved.tool_calls = counts.tool_calls.load(Ordering::Relaxed);
    solved.attempts = counts.attempts.load(Ordering::Relaxed);
    solved.lessons = lessons(&ground).all().map(|lessons| lessons.len() as u64).unwrap_or_default();
    solved.cost_usd = totals.unpriced.is_empty().then(|| dollars(totals.cost));
    solved.tokens =
        totals.tokens.values().fold((0, 0), |sum, (input, output)| (sum.0 + input, sum.1 + output));
    solved.states = counts.watcher.states();
    Ok(solved)
}

/// The lessons of the workspace, which are those of this attempt.
fn lessons(ground: &ProjectContext) -> Lessons {
    let places = Places::from_settings(&ground.layout, &ground.settings);
    Lessons::open(&places.lessons, &places.index, ground.redactor.clone())
}

/// Ends everything when the deadline of the settings passes; the token that is given back says that it did.
fn arm_deadline(ground: &ProjectContext, cancel: &CancellationToken) -> CancellationToken {
    let late = CancellationToken::new();
    let seconds = ground.settings.seconds(&table::DEADLINE);
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

/// What the Planner makes of the task; the manager adds what must hold at the end.
async fn planned(
    crew: &StepAgents,
    goal: &str,
    cancel: &CancellationToken,
) -> Result<Option<Workflow>, LabError> {
    let read = |workflow: &Value| -> Result<Workflow, String> {
        let workflow =
            spec::from_text(&workflow.to_string(), "the plan").map_err(|error| error.to_string())?;
        engine::check_workers(&workflow, &names()).map_err(|error| error.to_string())?;
        Ok(workflow)
    };
    let check = |workflow: &Value| read(workflow).map(|_| ());
    let plan = manager::plan(crew, goal, &[TESTS.to_string()], &check, cancel).await?;
    plan.map(|plan| read(&plan.workflow).map_err(LabError::Plan)).transpose()
}

/// Does the steps.
async fn work(
    prepared: PreparedRun,
    workflow: Workflow,
    ground: &Arc<ProjectContext>,
    crew: &Arc<StepAgents>,
    cancel: &CancellationToken,
) -> Result<RunnerReport, LabError> {
    let mut run = prepared.begin(ground, workflow)?;
    let mut workers = Workers::new();
    workers.insert("Echo".into(), Arc::new(Echo));
    workers.insert("Command".into(), Arc::new(Command::new(ground.clone())));
    workers.extend(roles_for(crew, &run.workflow().metadata));
    run.charge(crew.cost().clone());
    let teacher = Box::new(MemoryTeacher::new(lessons(ground)));
    let outcome = run.go(workers, teacher, cancel.clone()).await?;
    let failed: Vec<String> = outcome.failed.iter().map(|(step, why)| format!("{step}: {why}")).collect();
    Ok(RunnerReport {
        status: outcome.status.word().to_lowercase(),
        claimed: outcome.status == WorkflowStatus::Succeeded,
        error: (!failed.is_empty()).then(|| failed.join("; ")),
        ..RunnerReport::default()
    })
}
