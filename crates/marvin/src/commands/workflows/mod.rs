//! `marvin run-workflow`, `workflow`, `resume-run`, `inspect-run`, `list-runs`, `stop-run`.

mod inspect;
mod list;
mod progress;
mod run;

pub(super) use inspect::inspect;
pub(super) use list::list;
pub(super) use run::{resume, run};

use super::{deciding, directory};
use crate::cli::{WhichRun, WhichStep, WorkflowCommand};
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_flow::drive::DriveError;
use marvin_flow::engine::{self, EngineError, PersonDecision};
use marvin_flow::spec::{self, SpecError, Workflow};
use marvin_flow::{draw, view, workers};
use marvin_hooks::inspect as runs;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a run may take to stop once it was told to.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Failure { exit: error.exit(), message: error.to_string(), run: None }
    }
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Engine(error) => error.into(),
            DriveError::Session(error) => error.into(),
        }
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Failure::usage(error.to_string())
    }
}

/// Runs one of the commands about workflows.
pub(super) fn about(command: WorkflowCommand) -> Result<Exit, Failure> {
    match command {
        WorkflowCommand::Check { file, json } => check(&file, json),
        WorkflowCommand::Graph { file, dot, svg, json } => graph(&file, dot, svg, json),
        WorkflowCommand::Approve { step, reject, reason } => {
            let word = if reject { "workflow approve --reject" } else { "workflow approve" };
            say(&step, &PersonDecision::Approve { yes: !reject, reason }, word)
        }
        WorkflowCommand::Answer { step, text, value } => {
            let answer = match (text, value) {
                (_, Some(value)) => serde_json::from_str(&value).map_err(|error| {
                    Failure::usage(format!("--value is no JSON: {error}\n  hint: use --text for a text"))
                })?,
                (text, None) => Value::from(text.unwrap_or_default()),
            };
            say(&step, &PersonDecision::Answer(answer), "workflow answer")
        }
        WorkflowCommand::Settle { step, outcome, outputs } => {
            let outputs = serde_json::from_str(&outputs)
                .map_err(|error| Failure::usage(format!("--outputs is no JSON object: {error}")))?;
            say(&step, &PersonDecision::Settle { word: outcome, outputs }, "workflow settle")
        }
    }
}

fn check(file: &Path, as_json: bool) -> Result<Exit, Failure> {
    let checked = spec::from_file(file);
    // The engine asks the same before it begins.
    let workers = checked.as_ref().ok().map(|workflow| engine::check_workers(workflow, &workers::names()));
    let nobody = workers.and_then(Result::err);
    if as_json {
        let problems: Vec<Value> = match &checked {
            Ok(_) => nobody.iter().map(|error| json!({"text": error.to_string()})).collect(),
            Err(error) => error
                .problems
                .iter()
                .map(|one| {
                    json!({
                        "line": one.place.map(|place| place.line), "column": one.place.map(|place| place.column),
                        "step": one.step, "text": one.text, "hint": one.hint,
                    })
                })
                .collect(),
        };
        output::json(
            &json!({"ok": problems.is_empty(), "steps": checked.as_ref().map_or(0, |flow| flow.steps.len()), "problems": problems}),
        )?;
        return Ok(if problems.is_empty() { Exit::Success } else { Exit::Usage });
    }
    let workflow = checked?;
    if let Some(error) = nobody {
        return Err(error.into());
    }
    output::line(&format!(
        "{}: {} is sound, {} steps",
        file.display(),
        workflow.workflow_id,
        workflow.steps.len()
    ))
}

fn graph(file: &Path, dot: bool, svg: bool, as_json: bool) -> Result<Exit, Failure> {
    let workflow = spec::from_file(file)?;
    if as_json {
        return output::json(&levels(&workflow));
    }
    if dot {
        return output::line(&draw::dot(&workflow));
    }
    if svg {
        if workflow.steps.len() > draw::MAX_SVG_STEPS {
            return Err(Failure::failed(format!(
                "{} steps make no picture that anybody could look at\n  hint: --dot has no bound",
                workflow.steps.len()
            )));
        }
        return output::line(&draw::svg(&workflow));
    }
    output::line(&output::visible(&draw::terminal(&workflow, progress::width())))
}

fn levels(workflow: &Workflow) -> Value {
    let name = |at: &u32| workflow.steps.get(*at as usize).map(|step| step.id.to_string());
    let steps = workflow.steps.iter().zip(workflow.depths()).map(|(step, level)| {
        let deps: Vec<String> = step.depends_on.iter().filter_map(name).collect();
        json!({"id": step.id, "name": step.name(), "worker": step.worker, "level": level, "depends_on": deps})
    });
    json!({"workflow_id": workflow.workflow_id, "steps": steps.collect::<Vec<_>>()})
}

/// The directories in which runs of this project, and of no project, are kept.
fn places(working_dir: Option<&Path>) -> Result<[PathBuf; 2], Failure> {
    let environment = Environment::of_process();
    let bare = Layout::new(&environment, None);
    let here = directory()?;
    let named = working_dir.map_or(here.clone(), |path| here.join(path));
    let project = bare.find_project(&named).unwrap_or(named);
    Ok([Layout::new(&environment, Some(&project)).runs(), bare.runs()])
}

/// The run that is meant: the one that is named, else the newest of a workflow.
fn find(which: &WhichRun) -> Result<PathBuf, Failure> {
    let places = places(which.working_dir.as_deref())?;
    let path = match which.named() {
        Some(_) => runs::find(which.named(), &places).map_err(|error| Failure::usage(error.to_string()))?,
        None => list::newest(&places).ok_or_else(|| Failure::usage("there is no run of a workflow here"))?,
    };
    if !Layout::new(&Environment::of_process(), None).is_own_run(&path) {
        return Err(Failure::refused(format!(
            "{} is not in the state directory, so its approvals and results count for nothing\n  \
             hint: `marvin inspect-run --run-path` shows it; runs of this project are in {}",
            path.display(),
            places.first().map(|place| place.display().to_string()).unwrap_or_default()
        )));
    }
    if list::is_without_plan(&path) {
        return Err(Failure::usage(format!(
            "{} has no plan: it ended while its goal was made into one, or is still at it\n  \
             hint: give the goal again, with `marvin run-workflow --goal`; older runs are named by --run-path",
            path.display()
        )));
    }
    if !view::is_workflow(&path) {
        return Err(EngineError::NoWorkflow(path.display().to_string()).into());
    }
    Ok(path)
}

fn say(step: &WhichStep, said: &PersonDecision, command: &str) -> Result<Exit, Failure> {
    let person = deciding::person(None)?;
    let path = find(&step.which)?;
    person.record(command, &format!("{} {}", path.display(), step.step))?;
    engine::record_decision(&path, &step.step, said, person.decided_by())?;
    let held = engine::holder(&path).is_some();
    if step.which.json {
        return output::json(
            &json!({"run_path": path.display().to_string(), "step": step.step, "heard": held}),
        );
    }
    let next = match held {
        true => "the run hears it".to_string(),
        false => format!("go on with: marvin resume-run --run-path {}", path.display()),
    };
    output::line(&format!("noted for step {}; {next}", step.step))
}

/// Stops a run that another process works on.
pub(super) fn stop(which: &WhichRun) -> Result<Exit, Failure> {
    deciding::refuse_agents()?;
    let path = find(which)?;
    let holder = engine::holder(&path).ok_or_else(|| {
        Failure::failed(format!(
            "{} is not running\n  hint: `marvin resume-run` goes on with it",
            path.display()
        ))
    })?;
    let process = i32::try_from(holder.pid).ok().and_then(rustix::process::Pid::from_raw);
    let Some(process) = process else {
        return Err(Failure::failed(format!("{} is held, and does not say by whom", path.display())));
    };
    rustix::process::kill_process(process, rustix::process::Signal::TERM)
        .map_err(|error| Failure::failed(format!("cannot stop {holder}: {error}")))?;
    let until = Instant::now() + STOP_TIMEOUT;
    while engine::holder(&path).is_some() {
        if Instant::now() > until {
            return Err(Failure::failed(format!("{holder} was told to stop, and does not")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if which.json {
        return output::json(&json!({"stopped": path.display().to_string(), "pid": holder.pid}));
    }
    output::line(&format!("stopped {}", path.display()))
}
