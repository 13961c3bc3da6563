//! `marvin workflow` and `marvin run-workflow`.

pub(crate) mod progress;
pub(crate) mod run;

use crate::commands::fleet;
use crate::commands::runs::which::WhichRun;
use crate::failure::Failure;
use crate::project::{current_directory, home_directory};
use crate::{deciding, output};
use clap::{Args, Subcommand};
use marvin_base::Exit;
use marvin_flow::drive::DriveError;
use marvin_flow::engine::{self, PersonDecision};
use marvin_flow::spec::{self, SpecError, Workflow};
use marvin_flow::{draw, workers};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Check and draw workflows, and decide for steps that wait for a person
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin workflow check build.yaml\n  marvin workflow approve --step release\n  marvin workflow answer --step name --text 'Marvin'"
)]
pub(crate) enum WorkflowCommand {
    /// Check a workflow, and run nothing
    #[command(
        after_help = "Every mistake is named with its line and its step; exit code 2.\n\nExamples:\n  marvin workflow check build.yaml\n  marvin workflow check build.json --json | jq .problems"
    )]
    Check {
        /// The workflow
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw a workflow
    #[command(
        after_help = "Examples:\n  marvin workflow graph build.yaml\n  marvin workflow graph build.yaml --svg > build.svg\n  marvin workflow graph build.yaml --dot | dot -Tpdf > build.pdf"
    )]
    Graph {
        /// The workflow
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// For Graphviz
        #[arg(long, conflicts_with = "svg")]
        dot: bool,
        /// As SVG
        #[arg(long)]
        svg: bool,
        /// As JSON: steps with their level and what they depend on
        #[arg(long, conflicts_with_all = ["dot", "svg"])]
        json: bool,
    },
    /// Approve a step that waits for a person, or refuse it
    #[command(
        after_help = "Then `marvin resume-run` resumes it; a run in progress takes it by itself.\n\nExamples:\n  marvin workflow approve --run-path .marvin/runs/run_20260203_040506_1a2b --step release\n  marvin workflow approve --step release --reject --reason 'the tests are red'"
    )]
    Approve {
        #[command(flatten)]
        step: WhichStep,
        /// Refuse it
        #[arg(long)]
        reject: bool,
        /// The reason
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Answer a step that waits for a person
    #[command(
        after_help = "The step's outputs then have the answer as `answer`.\n\nExamples:\n  marvin workflow answer --step name --text 'Marvin'\n  marvin workflow answer --step sizes --value '[1, 2, 3]'"
    )]
    Answer {
        #[command(flatten)]
        step: WhichStep,
        /// The answer, as text
        #[arg(long, value_name = "TEXT", required_unless_present = "value")]
        text: Option<String>,
        /// The answer, as JSON
        #[arg(long, value_name = "JSON", conflicts_with = "text")]
        value: Option<String>,
    },
    /// Settle a step whose outcome is unknown, since a process died while it ran
    #[command(
        after_help = "Examples:\n  marvin workflow settle --step deploy --as done\n  marvin workflow settle --step deploy --as again"
    )]
    Settle {
        #[command(flatten)]
        step: WhichStep,
        /// Its outcome, or what to do: done, failed, again
        #[arg(long = "as", value_name = "WHAT", value_parser = ["done", "failed", "again"])]
        outcome: String,
        /// Its outputs, when it is done, for the steps that depend on it
        #[arg(long, value_name = "JSON", default_value = "{}")]
        outputs: String,
    },
}

/// A step of a run.
#[derive(Debug, Args)]
pub(crate) struct WhichStep {
    /// The step
    #[arg(long, value_name = "ID")]
    step: String,
    #[command(flatten)]
    which: WhichRun,
}

#[derive(Serialize)]
struct CheckReport {
    ok: bool,
    steps: usize,
    problems: Vec<ProblemReport>,
}

/// A mistake in a workflow; one that concerns the whole workflow has only a text.
#[derive(Serialize)]
#[serde(untagged)]
enum ProblemReport {
    Whole {
        text: String,
    },
    Placed {
        line: Option<u64>,
        column: Option<u64>,
        step: Option<String>,
        text: String,
        hint: Option<String>,
    },
}

#[derive(Serialize)]
struct Graph<'a> {
    workflow_id: &'a str,
    steps: Vec<GraphStep<'a>>,
}

#[derive(Serialize)]
struct GraphStep<'a> {
    id: &'a str,
    name: &'a str,
    worker: &'a str,
    level: u32,
    depends_on: Vec<&'a str>,
}

#[derive(Serialize)]
struct NotedDecision<'a> {
    run_path: String,
    step: &'a str,
    heard: bool,
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
        Failure::usage(error)
    }
}

pub(crate) fn run(command: WorkflowCommand) -> Result<Exit, Failure> {
    match command {
        WorkflowCommand::Check { file, json } => check(&file, json),
        WorkflowCommand::Graph { file, dot, svg, json } => graph(&file, dot, svg, json),
        WorkflowCommand::Approve { step, reject, reason } => {
            let word = if reject { "workflow approve --reject" } else { "workflow approve" };
            decide(&step, &PersonDecision::Approve { yes: !reject, reason }, word)
        }
        WorkflowCommand::Answer { step, text, value } => {
            let answer = match (text, value) {
                (_, Some(value)) => serde_json::from_str(&value).map_err(|error| {
                    Failure::usage(format!("--value is not JSON: {error}")).hint("use --text for a text")
                })?,
                (text, None) => Value::from(text.unwrap_or_default()),
            };
            decide(&step, &PersonDecision::Answer(answer), "workflow answer")
        }
        WorkflowCommand::Settle { step, outcome, outputs } => {
            let outputs = serde_json::from_str(&outputs)
                .map_err(|error| Failure::usage(format!("--outputs is not a JSON object: {error}")))?;
            decide(&step, &PersonDecision::Settle { word: outcome, outputs }, "workflow settle")
        }
    }
}

fn check(file: &Path, as_json: bool) -> Result<Exit, Failure> {
    let checked = spec::from_file(file);
    // The engine asks the same before it begins.
    let here = current_directory()?;
    let steps = checked.as_ref().ok();
    let steps =
        steps.map(|workflow| engine::check_steps(workflow, &workers::names(), &here, &home_directory()));
    let impossible = steps.and_then(Result::err);
    if as_json {
        let problems: Vec<ProblemReport> = match &checked {
            Ok(_) => {
                impossible.iter().map(|error| ProblemReport::Whole { text: error.to_string() }).collect()
            }
            Err(error) => {
                let placed = error.problems.iter().map(|problem| ProblemReport::Placed {
                    line: problem.place.map(|place| place.line),
                    column: problem.place.map(|place| place.column),
                    step: problem.step.clone(),
                    text: problem.text.clone(),
                    hint: problem.hint.clone(),
                });
                placed.collect()
            }
        };
        let ok = problems.is_empty();
        output::json(&CheckReport {
            ok,
            steps: checked.map_or(0, |workflow| workflow.steps.len()),
            problems,
        })?;
        return Ok(if ok { Exit::Success } else { Exit::Usage });
    }
    let workflow = checked?;
    if let Some(error) = impossible {
        return Err(error.into());
    }
    output::line(&format!(
        "{}: {} is sound, {}",
        file.display(),
        workflow.workflow_id,
        marvin_base::printable::count(workflow.steps.len(), "step")
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
                "{} steps are too many for a picture",
                workflow.steps.len()
            ))
            .hint("--dot has no bound"));
        }
        return output::line(&draw::svg(&workflow));
    }
    output::line(&output::visible(&draw::terminal(&workflow, progress::width())))
}

fn levels(workflow: &Workflow) -> Graph<'_> {
    let id = |at: &u32| workflow.steps.get(*at as usize).map(|step| &*step.id);
    let steps = workflow.steps.iter().zip(workflow.depths()).map(|(step, level)| GraphStep {
        id: &step.id,
        name: step.name(),
        worker: &step.worker,
        level,
        depends_on: step.depends_on.iter().filter_map(id).collect(),
    });
    Graph { workflow_id: &workflow.workflow_id, steps: steps.collect() }
}

fn decide(step: &WhichStep, decision: &PersonDecision, command: &str) -> Result<Exit, Failure> {
    let person = deciding::person(None)?;
    let path = step.which.find()?;
    person.record(command, &format!("{} {}", path.display(), step.step))?;
    let fleet = fleet::record_of(&path);
    match &fleet {
        Some(fleet) => fleet::decide(&path, fleet, &step.step, decision, person.decided_by())?,
        None => engine::record_decision(&path, &step.step, decision, person.decided_by())?,
    }
    let held = fleet.is_some() || engine::holder(&path).is_some();
    let run_path = path.display().to_string();
    if step.which.project.json {
        return output::json(&NotedDecision { run_path, step: &step.step, heard: held });
    }
    let next = match held {
        true => "the run takes it".to_string(),
        false => format!("resume with: marvin resume-run --run-path {run_path}"),
    };
    output::line(&format!("noted for step {}; {next}", step.step))
}
