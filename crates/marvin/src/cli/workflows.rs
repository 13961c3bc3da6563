//! The command lines of workflows and their runs.

use super::ModelArguments;
use clap::{Args, Subcommand};
use std::path::PathBuf;

pub(super) const RUN_WORKFLOW_HELP: &str = "\
The file is JSON, or YAML when its name ends in .yaml or .yml. Steps run in the order that depends_on asks for, independent
ones in parallel. Everything is recorded before it counts: kill it anywhere, and `marvin resume-run` goes on.

Exit codes: 0 all steps succeeded; 1 a step failed, or gave only a part; 2 the file is wrong; 3 a step's commitments do not hold;
4 a person is needed; 6 the budget is spent (resume it with a larger one); 130 stopped.

Examples:
  marvin run-workflow build.yaml
  marvin run-workflow --goal 'Make the parser accept comments' --commitment 'tests_pass:pytest -q' --max-cost 5
  marvin run-workflow build.yaml --json | jq .status
  marvin run-workflow big.json --concurrency 5000";

pub(super) const RESUME_RUN_HELP: &str = "\
Finished steps do not run again. A step that was being done when the process died is taken from what it left behind, or done again
where that does no harm, or asked about.

Examples:
  marvin resume-run --run-path .marvin/runs/run_20260203_040506_1a2b
  marvin resume-run run_20260203_040506_1a2b --json";

pub(super) const LIST_RUNS_HELP: &str = "\
Examples:
  marvin list-runs
  marvin list-runs --all
  marvin list-runs --json | jq -r '.[] | select(.status == \"BLOCKED\") | .run_path'";

pub(super) const STOP_RUN_HELP: &str = "\
Its steps are ended, its state is kept, and `marvin resume-run` goes on later.

Examples:
  marvin stop-run run_20260203_040506_1a2b
  marvin stop-run --run-path .marvin/runs/run_20260203_040506_1a2b";

/// Which run.
#[derive(Debug, Args)]
pub(crate) struct WhichRun {
    /// The run's id, the beginning of it, or its directory
    #[arg(value_name = "RUN", conflicts_with = "run_path")]
    pub(crate) run: Option<String>,
    /// The directory of the run, or its id
    #[arg(long, value_name = "PATH")]
    pub(crate) run_path: Option<String>,
    /// The directory of the project
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl WhichRun {
    /// The run that is named, if one is.
    pub(crate) fn named(&self) -> Option<&str> {
        self.run.as_deref().or(self.run_path.as_deref())
    }
}

/// How a workflow runs.
#[derive(Debug, Args)]
pub(crate) struct FlowArguments {
    /// At most so many steps at a time (default: as many as there are cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) concurrency: Option<u32>,
    /// When commits are forced to the disk: auto, full or normal
    #[arg(long, value_name = "WHEN", value_parser = ["auto", "full", "normal"])]
    pub(crate) sync: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
}

/// Running a workflow.
#[derive(Debug, Args)]
pub(crate) struct RunWorkflowArguments {
    /// The workflow
    #[arg(value_name = "FILE", required_unless_present = "goal", conflicts_with = "goal")]
    pub(crate) file: Option<PathBuf>,
    /// A goal: a Planner makes the workflow
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    /// What must hold at the end of a goal (repeatable), as KIND:ASSERTION
    #[arg(long, value_name = "KIND:ASSERTION", requires = "goal")]
    pub(crate) commitment: Vec<String>,
    /// The directory to work in
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flow: FlowArguments,
    /// The result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Going on with a run.
#[derive(Debug, Args)]
pub(crate) struct ResumeRunArguments {
    #[command(flatten)]
    pub(crate) which: WhichRun,
    #[command(flatten)]
    pub(crate) flow: FlowArguments,
}

/// Listing runs.
#[derive(Debug, Args)]
pub(crate) struct ListRunsArguments {
    /// Also runs that are no workflows
    #[arg(long)]
    pub(crate) all: bool,
    /// The directory of the project
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which step of which run.
#[derive(Debug, Args)]
pub(crate) struct WhichStep {
    /// The step
    #[arg(long, value_name = "ID")]
    pub(crate) step: String,
    #[command(flatten)]
    pub(crate) which: WhichRun,
}

/// Workflows.
#[derive(Debug, Subcommand)]
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
        after_help = "Then `marvin resume-run` goes on; a run that is going hears it by itself.\n\nExamples:\n  marvin workflow approve --run-path .marvin/runs/run_20260203_040506_1a2b --step release\n  marvin workflow approve --step release --reject --reason 'the tests are red'"
    )]
    Approve {
        #[command(flatten)]
        step: WhichStep,
        /// No
        #[arg(long)]
        reject: bool,
        /// Why
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
    /// Say what became of a step that nobody knows of, since a process died while it was done
    #[command(
        after_help = "Examples:\n  marvin workflow settle --step deploy --as done\n  marvin workflow settle --step deploy --as again"
    )]
    Settle {
        #[command(flatten)]
        step: WhichStep,
        /// What became of it, or what to do: done, failed, again
        #[arg(long = "as", value_name = "WHAT", value_parser = ["done", "failed", "again"])]
        outcome: String,
        /// What it gave, when it is done, for the steps that depend on it
        #[arg(long, value_name = "JSON", default_value = "{}")]
        outputs: String,
    },
}
