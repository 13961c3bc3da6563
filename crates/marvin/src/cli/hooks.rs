//! The commands of hooks and their daemon.

use clap::Subcommand;
use std::path::PathBuf;

/// Daemons of hooks.
#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Start the daemon of this project, unless it runs
    Start {
        #[command(flatten)]
        place: DaemonPlace,
    },
    /// End the daemon of this project; the next hook starts it again
    Stop {
        #[command(flatten)]
        place: DaemonPlace,
    },
    /// End the daemon of this project and start it again
    Restart {
        #[command(flatten)]
        place: DaemonPlace,
    },
    /// Show how the daemon of this project is
    Status {
        #[command(flatten)]
        place: DaemonPlace,
    },
    /// Show what the daemon of this project had to say
    Log {
        #[command(flatten)]
        place: DaemonPlace,
        /// Go on showing what it says, until interrupted
        #[arg(long, short)]
        follow: bool,
    },
    /// List the daemons of all projects
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove what dead daemons left behind
    Cleanup {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Serve a project's hooks in the foreground, until its last session ends
    #[command(hide = true)]
    Serve {
        /// The project's directory
        #[arg(long, value_name = "PATH")]
        project: PathBuf,
        /// Accepted for symmetry
        #[arg(long)]
        json: bool,
    },
}

/// Which project.
#[derive(Debug, clap::Args)]
pub(crate) struct DaemonPlace {
    /// A directory of the project (default: CLAUDE_PROJECT_DIR, else this directory)
    #[arg(value_name = "PATH")]
    pub(crate) directory: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}
