//! `marvin prompt` and `marvin doc`.

use clap::Subcommand;
use std::path::PathBuf;

/// What agents are told.
#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// Print the system message of a role, exactly as a model would get it here
    #[command(
        after_help = "With --json: the message, its hash, and every piece with its size, whether it went in, and why not.\n\nExamples:\n  marvin prompt show --role Reviewer\n  marvin prompt show --role Implementer --step build --working-dir ~/src/app\n  marvin prompt show --json | jq '.pieces[] | select(.state != \"included\")'"
    )]
    Show {
        /// The role: Chat, Coder, Coordinator, Servitor, Research, Planner, Implementer, Debugger, Reviewer, TestTriager, TestWriter, SkillBuilder, Evaluator
        #[arg(long, value_name = "ROLE", default_value = "Coder")]
        role: String,
        /// The step of a workflow that it works on
        #[arg(long, value_name = "STEP")]
        step: Option<String>,
        /// The directory that it works in
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON, with the pieces
        #[arg(long)]
        json: bool,
    },
}

/// Documents of agents.
#[derive(Debug, Subcommand)]
pub(crate) enum DocCommand {
    /// Print a document, byte for byte as it lies on the disk
    #[command(after_help = "Examples:\n  marvin doc show project\n  marvin doc show project > project.md")]
    Show {
        /// The document: the name of its file in .marvin/agents, without .md
        #[arg(value_name = "ID")]
        id: String,
        /// The project
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON: id, path, size, hash and text; what is no UTF-8 is shown as hexadecimal bytes
        #[arg(long)]
        json: bool,
    },
    /// List the documents
    #[command(after_help = "Examples:\n  marvin doc list\n  marvin doc list --json | jq -r '.[].id'")]
    List {
        /// The project
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}
