//! The command line of `marvin pipeline`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Which project.
#[derive(Debug, Args)]
pub(crate) struct PipelinePlace {
    /// The project (default: the one around this directory)
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a pipeline is gone on with.
#[derive(Debug, Args)]
pub(crate) struct ResumePipelineArguments {
    #[command(flatten)]
    pub(crate) place: PipelinePlace,
    /// Whose word counts where `pipeline_state` and the record of the run disagree: `record`, or the last phase that stands
    /// (everything after it is done again; `none`: everything)
    #[arg(long, value_name = "record|PHASE|none")]
    pub(crate) trust: Option<String>,
    /// The provider (default: the first with a key, else the built-in mock)
    #[arg(long, visible_alias = "llm", value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model, or the model of a tier: NAME, or TIER=NAME
    #[arg(long, value_name = "[TIER=]MODEL")]
    pub(crate) model: Vec<String>,
    /// A script for the mock provider (JSONL)
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Stop everything when this many US dollars are spent (exit code 6)
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<String>,
    /// Push every phase to this ntfy topic
    #[arg(long, value_name = "TOPIC")]
    pub(crate) ntfy: Option<String>,
}

/// Pipelines.
#[derive(Debug, Subcommand)]
pub(crate) enum PipelineCommand {
    /// How far the pipeline of a project is, with cost and time of each phase
    #[command(
        after_help = "Examples:\n  marvin pipeline status\n  marvin pipeline status --working-dir app --json | jq -r .after"
    )]
    Status(PipelinePlace),
    /// Go on at the first phase that is not over
    #[command(
        after_help = "Exit codes are those of an unattended run: 0 everything was proved, 1 a phase failed, 3 something does not hold, 4 a person is needed, 6 the budget is spent.\n\nExamples:\n  marvin pipeline resume\n  marvin pipeline resume --max-cost 5\n  marvin pipeline resume --trust record    pipeline_state was changed; the record counts\n  marvin pipeline resume --trust 1b        do everything after 1b again"
    )]
    Resume(ResumePipelineArguments),
    /// What is done in each phase, and when it is over
    #[command(after_help = "Examples:\n  marvin pipeline explain\n  marvin pipeline explain 4b")]
    Explain {
        /// Only this phase
        phase: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}
