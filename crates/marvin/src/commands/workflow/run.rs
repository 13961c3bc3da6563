//! `marvin run-workflow`, and the execution that a resumed run shares with it.

use super::progress::{self, Progress};
use crate::arguments::ModelArguments;
use crate::commands::fleet;
use crate::failure::Failure;
use crate::output;
use crate::project::{context, current_directory, home_directory, resumed_flags};
use crate::runtime::{cancel_on_signal, runtime, start_mcp_servers};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use marvin_agent::step_agents::StepAgents;
use marvin_agent::trace::Listener;
use marvin_agent::{ProjectContext, SessionError};
use marvin_base::Exit;
use marvin_base::settings::table;
use marvin_flow::drive::{drive, needs_model};
use marvin_flow::engine::{self, Options, Outcome, PreparedRun, Run, WorkflowStatus};
use marvin_flow::manager;
use marvin_flow::record::Sync;
use marvin_flow::spec::{self, Step, Workflow};
use marvin_flow::workers::names;
use marvin_gate::Workspace;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const HELP: &str = "\
The file is JSON, or YAML when its name ends in .yaml or .yml. Steps run in the order that depends_on asks for, independent \
ones in parallel. Everything is recorded before it counts: kill it anywhere, and `marvin resume-run` resumes it.

Exit codes: 0 all steps succeeded; 1 a step failed or was partial; 2 the file is invalid; 3 a step's commitments do not hold; \
4 a person is needed; 6 the budget is spent (resume it with a larger one); 130 stopped.

Examples:
  marvin run-workflow build.yaml
  marvin run-workflow --goal 'Make the parser accept comments' \\
    --commitment 'tests_pass:pytest -q' --max-cost 5
  marvin run-workflow build.yaml --json | jq .status
  marvin run-workflow big.json --concurrency 5000";

/// The limits and the model of a workflow run.
#[derive(Debug, Args)]
pub(crate) struct FlowArguments {
    /// The number of steps that run at the same time (default: as many as there are cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    concurrency: Option<u32>,
    /// When commits are forced to the disk: auto, full or normal
    #[arg(long, value_name = "WHEN", value_parser = sync_parser())]
    sync: Option<Sync>,
    #[command(flatten)]
    model: ModelArguments,
}

/// Run a workflow
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RunWorkflowArguments {
    /// The workflow
    #[arg(value_name = "FILE", required_unless_present = "goal", conflicts_with = "goal")]
    file: Option<PathBuf>,
    /// A goal: a Planner makes the workflow
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// An assertion that must hold at the end of a goal (repeatable), as KIND:ASSERTION
    #[arg(long, value_name = "KIND:ASSERTION", requires = "goal")]
    commitment: Vec<String>,
    /// The directory to work in
    #[arg(long, value_name = "PATH")]
    working_dir: Option<PathBuf>,
    #[command(flatten)]
    flow: FlowArguments,
    /// What carries it out: local (this machine) or temporal (workers of a server; default: flow.engine)
    #[arg(long, value_name = "NAME", value_parser = ["local", "temporal"], conflicts_with = "goal")]
    engine: Option<String>,
    /// Do not wait for its end; only with the engine temporal
    #[arg(long)]
    detach: bool,
    /// The result as JSON
    #[arg(long)]
    json: bool,
}

/// A run that continues without this process.
#[derive(Serialize)]
struct DetachedRun {
    detached: bool,
}

fn sync_parser() -> impl TypedValueParser<Value = Sync> {
    PossibleValuesParser::new(["auto", "full", "normal"]).map(|word| Sync::from_setting(&word))
}

/// Runs a workflow from a file, or plans one for a goal.
pub(crate) fn run(arguments: &RunWorkflowArguments) -> Result<Exit, Failure> {
    let workflow = match &arguments.file {
        Some(file) => {
            let workflow = spec::from_file(file)?;
            let here = current_directory()?;
            let workspace =
                arguments.working_dir.as_deref().map_or_else(|| here.clone(), |path| here.join(path));
            engine::check_steps(&workflow, &names(), &workspace, &home_directory())?;
            Some(workflow)
        }
        None => None,
    };
    let goal = arguments.goal.as_deref().unwrap_or_default().trim();
    if workflow.is_none() && goal.is_empty() {
        return Err(Failure::usage("--goal is empty").hint("describe what is to be reached"));
    }
    // Before a Planner is paid.
    engine::parse_commitments(&arguments.commitment)
        .map_err(|error| Failure::usage(format!("--commitment: {error}")))?;
    let flow = &arguments.flow;
    let mut context = flow.context(arguments.working_dir.as_deref())?;
    let is_remote = arguments.is_remote(&context)?;
    // Before there is a run that could never continue.
    check_workspace(&context, workflow.as_ref())?;
    if !is_remote && workflow.as_ref().is_none_or(needs_model) {
        StepAgents::check(&context)?;
    }
    execute(arguments.json, async move || {
        let (listener, progress) = progress::listener();
        let (options, cancel) = (flow.options(listener), cancel_on_signal());
        if let Some(workflow) = workflow {
            if is_remote {
                let begun = fleet::begin(&context, workflow, options, arguments.detach, cancel, &progress);
                return Box::pin(begun).await;
            }
            let run = Run::begin(&context, workflow, options)?;
            return run_to_end(context, run, cancel, &progress).await.map(Some);
        }
        let servers = start_mcp_servers(&mut context, &cancel).await;
        let outcome =
            run_goal(&Arc::new(context), goal, &arguments.commitment, options, cancel, &progress).await;
        servers.end().await;
        outcome.map(Some)
    })
}

/// Refuses a directory that cannot be a workspace, such as the home directory, where a step has to work in one.
fn check_workspace(context: &ProjectContext, workflow: Option<&Workflow>) -> Result<(), Failure> {
    let works = |worker: &str| worker != "Echo" && names().contains(&worker);
    let needs_workspace =
        |step: &Step| works(&step.worker) || step.extra().ladder.iter().any(|rung| works(&rung.worker));
    if context.workspace.is_some()
        || !workflow.is_none_or(|workflow| workflow.steps.iter().any(needs_workspace))
    {
        return Ok(());
    }
    Workspace::open(&context.directory, context.layout.home()).map_err(SessionError::from)?;
    Ok(())
}

impl RunWorkflowArguments {
    /// Whether other machines are to carry it out.
    fn is_remote(&self, context: &ProjectContext) -> Result<bool, Failure> {
        let engine = self.engine.as_deref().unwrap_or_else(|| context.settings.text(&table::FLOW_ENGINE));
        // A goal is planned and run by one process.
        let is_remote = engine == "temporal" && self.file.is_some();
        if self.detach && !is_remote {
            return Err(Failure::usage("--detach needs workers that continue the run")
                .hint("give --engine temporal and a workflow file"));
        }
        Ok(is_remote)
    }
}

/// Plans a workflow for a goal, and runs it.
async fn run_goal(
    context: &Arc<ProjectContext>,
    goal: &str,
    commitments: &[String],
    options: Options,
    cancel: CancellationToken,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let prepared = PreparedRun::new(context, goal, options)?;
    let agents = Arc::new(StepAgents::open(context, prepared.directory(), prepared.trace(), &cancel)?);
    let Some(workflow) = plan(&agents, goal, commitments, &cancel).await? else {
        let path = prepared.directory().path().display().to_string();
        prepared.abandon(context, goal)?;
        progress.end();
        return Err(without_plan(&agents, &path));
    };
    let outcome = drive(context, prepared.begin(context, workflow)?, Some(agents), cancel).await;
    progress.end();
    Ok(outcome?)
}

/// The workflow that the Planner makes of a goal, or the one step that it is without a plan.
async fn plan(
    agents: &StepAgents,
    goal: &str,
    commitments: &[String],
    cancel: &CancellationToken,
) -> Result<Option<Workflow>, Failure> {
    let read = |workflow: &Value| manager::read_plan(workflow, &names(), agents.project());
    let check = |workflow: &Value| read(workflow).map(|_| ());
    let Some(plan) = manager::plan(agents, goal, commitments, &check, cancel).await? else { return Ok(None) };
    if let Some(why) = &plan.fallback {
        output::talk(&format!("the goal becomes one step: {why}"));
    }
    read(&plan.workflow).map(Some).map_err(Failure::usage)
}

/// The failure of a run that ended before it had a plan.
fn without_plan(agents: &StepAgents, run: &str) -> Failure {
    let spent = agents.cost().is_spent().unwrap_or(false);
    let (exit, why) = match spent {
        true => {
            (Exit::Budget, "the budget was spent before there was a plan\n  hint: raise it with --max-cost")
        }
        false => (Exit::Interrupted, "interrupted before there was a plan"),
    };
    Failure::new(exit, format!("{why}\n  the record: {run}"))
}

/// Runs a workflow to its end, with MCP servers where a step needs a model.
pub(crate) async fn run_to_end(
    mut context: ProjectContext,
    run: Run,
    cancel: CancellationToken,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let mut servers = None;
    if needs_model(run.workflow()) {
        servers = Some(start_mcp_servers(&mut context, &cancel).await);
    }
    let outcome = drive(&Arc::new(context), run, None, cancel).await;
    if let Some(servers) = servers {
        servers.end().await;
    }
    progress.end();
    Ok(outcome?)
}

impl FlowArguments {
    pub(crate) fn context(&self, working_dir: Option<&Path>) -> Result<ProjectContext, Failure> {
        context(working_dir, true, self.model.flags())
    }

    /// The context of a resumed run: the model and the bounds that it was started with, unless flags say otherwise.
    pub(crate) fn resumed_context(
        &self,
        working_dir: Option<&Path>,
        run: &Path,
    ) -> Result<ProjectContext, Failure> {
        context(working_dir, true, resumed_flags(run, &self.model.flags()))
    }

    pub(crate) fn options(&self, listener: Listener) -> Options {
        let concurrency = self.concurrency.map_or(0, |number| number as usize);
        Options { concurrency, sync: self.sync, listener }
    }
}

/// Runs the work to its end, and prints the outcome. There is none if the run continues without this process.
pub(crate) fn execute(
    as_json: bool,
    work: impl AsyncFnOnce() -> Result<Option<Outcome>, Failure>,
) -> Result<Exit, Failure> {
    let Some(outcome) = runtime()?.block_on(work())? else {
        return if as_json { output::json(&DetachedRun { detached: true }) } else { Ok(Exit::Success) };
    };
    if as_json {
        output::json(&outcome.result())?;
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
    for (step, why) in &outcome.partial {
        text.push_str(&format!("partial: {step}: {why}\n"));
    }
    let path = outcome.run_path.display();
    if outcome.exit() == Exit::Budget {
        let spent = outcome
            .cost
            .as_ref()
            .map(|cost| format!(" (${:.2})", cost.total.session_cost))
            .unwrap_or_default();
        text.push_str(&format!(
            "the budget is spent{spent}\n  hint: marvin resume-run --run-path {path} --max-cost USD\n"
        ));
    }
    for one in &outcome.waiting {
        let how = match one.kind.as_str() {
            "approve" => format!("marvin workflow approve --run-path {path} --step {}", one.step_id),
            "answer" => format!("marvin workflow answer --run-path {path} --step {} --text …", one.step_id),
            "worker" => format!(
                "marvin workflow approve --run-path {path} --step {} (or answer --text …, or settle)",
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
        text.push_str(&format!("resume with: marvin resume-run --run-path {path}\n"));
    }
    text
}
