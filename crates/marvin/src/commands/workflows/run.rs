//! Running a workflow, and going on with one.

use super::super::{cancel_on_signal, directory, lend, runtime};
use super::progress::{self, Progress};
use crate::cli::{FlowArguments, ResumeRunArguments, RunWorkflowArguments};
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_agent::step_agents::StepAgents;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_flow::drive::{drive, needs_model};
use marvin_flow::engine::{self, Options, Outcome, PreparedRun, Run, WorkflowStatus};
use marvin_flow::manager;
use marvin_flow::record::Sync;
use marvin_flow::spec::{self, Workflow};
use marvin_flow::workers::names;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs a workflow from a file.
pub(in super::super) fn run(arguments: &RunWorkflowArguments) -> Result<Exit, Failure> {
    let workflow = match &arguments.file {
        Some(file) => {
            let workflow = spec::from_file(file)?;
            engine::check_workers(&workflow, &names())?;
            Some(workflow)
        }
        None => None,
    };
    let goal = arguments.goal.as_deref().unwrap_or_default().trim();
    if workflow.is_none() && goal.is_empty() {
        return Err(Failure::usage("--goal is empty\n  hint: say what is to be reached"));
    }
    let mut ground = ground(arguments.working_dir.as_deref(), &arguments.flow)?;
    let (flow, as_json) = (&arguments.flow, arguments.json);
    show(as_json, async move || {
        let (listener, progress) = progress::listener();
        let (options, cancel) = (options(flow, listener), cancel_on_signal());
        if let Some(workflow) = workflow {
            let run = Run::begin(&ground, workflow, options)?;
            return go(ground, run, cancel, &progress).await;
        }
        let servers = lend(&mut ground, &cancel).await;
        let outcome = reach(&Arc::new(ground), goal, &arguments.commitment, options, cancel, &progress).await;
        servers.end().await;
        outcome
    })
}

/// Makes a goal into a workflow, and runs it.
async fn reach(
    ground: &Arc<ProjectContext>,
    goal: &str,
    commitments: &[String],
    options: Options,
    cancel: CancellationToken,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let prepared = PreparedRun::new(ground, goal, options)?;
    let crew = Arc::new(StepAgents::open(ground, prepared.directory(), prepared.trace(), &cancel)?);
    let Some(workflow) = planned(&crew, goal, commitments, &cancel).await? else {
        let path = prepared.directory().path().display().to_string();
        prepared.abandon(ground, goal)?;
        progress.end();
        return Err(unplanned(&crew, &path));
    };
    let outcome = drive(ground, prepared.begin(ground, workflow)?, Some(crew), cancel).await;
    progress.end();
    Ok(outcome?)
}

/// The workflow that the Planner makes of a goal, or the one step that it is without a plan.
async fn planned(
    crew: &StepAgents,
    goal: &str,
    commitments: &[String],
    cancel: &CancellationToken,
) -> Result<Option<Workflow>, Failure> {
    let read = |workflow: &Value| -> Result<Workflow, String> {
        let workflow =
            spec::from_text(&workflow.to_string(), "the plan").map_err(|error| error.to_string())?;
        engine::check_workers(&workflow, &names()).map_err(|error| error.to_string())?;
        Ok(workflow)
    };
    let check = |workflow: &Value| read(workflow).map(|_| ());
    let Some(plan) = manager::plan(crew, goal, commitments, &check, cancel).await? else { return Ok(None) };
    if let Some(why) = &plan.fallback {
        output::talk(&format!("the goal becomes one step: {why}"));
    }
    read(&plan.workflow).map(Some).map_err(Failure::usage)
}

/// Why there is no plan.
fn unplanned(crew: &StepAgents, run: &str) -> Failure {
    let spent = crew.cost().is_spent().unwrap_or(false);
    let (exit, why) = match spent {
        true => {
            (Exit::Budget, "the budget was spent before there was a plan\n  hint: raise it with --max-cost")
        }
        false => (Exit::Interrupted, "interrupted before there was a plan"),
    };
    Failure { exit, message: format!("{why}\n  the record: {run}"), run: None }
}

/// Goes on with a run.
pub(in super::super) fn resume(arguments: &ResumeRunArguments) -> Result<Exit, Failure> {
    let path = super::find(&arguments.which)?;
    // A run of a project lies in its state directory, which says where the project is.
    let project = Layout::new(&Environment::of_process(), None).project_of_run(&path);
    let working_dir = arguments.which.working_dir.as_deref().or(project.as_deref());
    let ground = ground(working_dir, &arguments.flow)?;
    show(arguments.which.json, async move || {
        let (listener, progress) = progress::listener();
        let run = Run::resume(&ground, &path, options(&arguments.flow, listener))?;
        go(ground, run, cancel_on_signal(), &progress).await
    })
}

/// Runs it to its end, with the tools of others where somebody thinks.
async fn go(
    mut ground: ProjectContext,
    run: Run,
    cancel: CancellationToken,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let mut servers = None;
    if needs_model(run.workflow()) {
        servers = Some(lend(&mut ground, &cancel).await);
    }
    let outcome = drive(&Arc::new(ground), run, None, cancel).await;
    if let Some(servers) = servers {
        servers.end().await;
    }
    progress.end();
    Ok(outcome?)
}

fn ground(working_dir: Option<&Path>, flow: &FlowArguments) -> Result<ProjectContext, Failure> {
    Ok(ProjectContext::find(Environment::of_process(), directory()?, working_dir, true, flow.model.flags())?)
}

fn options(flow: &FlowArguments, listener: marvin_agent::trace::Listener) -> Options {
    Options {
        concurrency: flow.concurrency.map_or(0, |number| number as usize),
        sync: flow.sync.as_deref().map(Sync::from_setting),
        listener,
    }
}

/// Runs to the end, and says how it ended.
fn show(as_json: bool, work: impl AsyncFnOnce() -> Result<Outcome, Failure>) -> Result<Exit, Failure> {
    let outcome = runtime()?.block_on(work())?;
    if as_json {
        output::json(&serde_json::json!(outcome.result()))?;
    } else {
        output::line(&output::visible(&summary(&outcome)))?;
    }
    Ok(outcome.exit())
}

fn summary(outcome: &Outcome) -> String {
    let counts: Vec<String> =
        outcome.counts.iter().map(|(status, count)| format!("{count} {}", status.to_lowercase())).collect();
    let mut text = format!(
        "{}: {} of {} steps ({:.1} s)\nrun: {}\n",
        outcome.status.word(),
        counts.join(", "),
        outcome.steps,
        outcome.elapsed.as_secs_f64(),
        outcome.run_path.display()
    );
    if let Some((step, reason)) = &outcome.termination {
        text.push_str(&format!("ended early by {step}: {reason}\n"));
    }
    for (step, why) in &outcome.failed {
        text.push_str(&format!("failed: {step}: {why}\n"));
    }
    let path = outcome.run_path.display();
    for one in &outcome.waiting {
        let how = match one.kind.as_str() {
            "approve" => format!("marvin workflow approve --run-path {path} --step {}", one.step_id),
            "answer" => format!("marvin workflow answer --run-path {path} --step {} --text …", one.step_id),
            "worker" => format!(
                "marvin workflow answer --run-path {path} --step {} --text … (or approve, or settle)",
                one.step_id
            ),
            _ => format!(
                "marvin workflow settle --run-path {path} --step {} --as done|failed|again",
                one.step_id
            ),
        };
        text.push_str(&format!("waiting: {}: {}\n  hint: {how}\n", one.step_id, one.text));
    }
    if matches!(outcome.status, WorkflowStatus::Blocked | WorkflowStatus::Stopped) {
        text.push_str(&format!("go on with: marvin resume-run --run-path {path}\n"));
    }
    text
}
