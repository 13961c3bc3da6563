//! The command lines of `marvin init` and `marvin inspect-run`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(super) const INIT_HELP: &str = "\
Settings are merged: other keys, other hooks, order and layout stay. A second run changes nothing. What is written is
listed file by file; `--remove` takes back exactly that, and keeps what you changed.

Without --client: those whose directory (.claude, .codex) or program is here; where there is none, both.
Exit codes: 1 nothing was changed, since a file cannot be read; 4 something was left for you to mend.

Examples:
  marvin init
  marvin init --dry-run
  marvin init --client claude --working-dir ~/src/app
  marvin init --remove";

pub(super) const INSPECT_RUN_HELP: &str = "\
Without a run: the newest of this project. A run is named by its id, the beginning of its id, or its directory.

Examples:
  marvin inspect-run
  marvin inspect-run run_20260203_040506_1a2b
  marvin inspect-run --run-path .marvin/runs/run_20260203_040506_1a2b --timeline
  marvin inspect-run --json | jq .tools";

/// Setting a project up.
#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// For whom
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub(crate) client: Option<ClientChoice>,
    /// Take back what was written
    #[arg(long)]
    pub(crate) remove: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The directory of the project
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// For whom a project is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientChoice {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Both
    Both,
}

/// Looking at a run.
#[derive(Debug, Args)]
pub(crate) struct InspectRunArguments {
    /// The run's id, the beginning of it, or its directory
    #[arg(value_name = "RUN", conflicts_with = "run_path")]
    pub(crate) run: Option<String>,
    /// The directory of the run, or its id
    #[arg(long, value_name = "PATH")]
    pub(crate) run_path: Option<String>,
    /// Of a workflow: every transition, in order
    #[arg(long)]
    pub(crate) timeline: bool,
    /// The directory of the project
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// As JSON, with everything
    #[arg(long)]
    pub(crate) json: bool,
}
