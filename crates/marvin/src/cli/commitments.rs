//! The command line of `marvin commitments` and `marvin verify`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Which project, and how it is answered.
#[derive(Debug, Args)]
pub(crate) struct CommitmentsPlace {
    /// The project's directory (default: the project around this directory)
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// One commitment.
#[derive(Debug, Args)]
pub(crate) struct CommitmentChoice {
    /// Its id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The document that it stands in, where several have that id
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) place: CommitmentsPlace,
}

/// Commitments.
#[derive(Debug, Subcommand)]
pub(crate) enum CommitmentsCommand {
    /// Promise something; what cannot fail is refused
    #[command(
        after_help = "Kinds:\n  shell:LINE                          ends with exit code 0 (bash, pipefail, contained, no network)\n  file_exists:PATH                    is there; PATH/ must be a directory\n  file_contains:PATH: TEXT            holds the text\n  json_equals:PATH: /POINTER = VALUE  has this value there\n  tests_pass:RUNNER WORDS             at least one test runs and none fails; auto, pytest, cargo, go, node, command LINE\n\nExamples:\n  marvin commitments add 'shell:pytest -q' --description 'all tests pass' --oracle tests\n  marvin commitments add 'tests_pass:cargo --workspace' --timeout 600\n  marvin commitments add 'json_equals:package.json: /version = \"1.2.0\"'"
    )]
    Add {
        /// What must hold
        #[arg(value_name = "KIND:ASSERTION")]
        assertion: String,
        /// What it means, for people
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// Seconds that it has (default: 120)
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,
        /// A file or directory that must stay as it is now; may be given several times
        #[arg(long, value_name = "PATH")]
        oracle: Vec<String>,
        /// A file that steers the tests and that agents may change all the same; may be given several times
        #[arg(long, value_name = "PATH")]
        may_change: Vec<String>,
        /// The document of an agent (default: the project's own)
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Show what was promised and how it stood when it was last verified
    #[command(
        after_help = "Nothing is run.\n\nExamples:\n  marvin commitments list\n  marvin commitments list --json | jq -r '.commitments[].id'"
    )]
    List {
        /// Only those of this document
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Verify commitments again from scratch; without ids, all of them
    #[command(
        after_help = "Exit code 0 when all of them pass, 3 otherwise.\n\nExamples:\n  marvin commitments verify\n  marvin commitments verify c-1a2b3c"
    )]
    Verify {
        /// Their ids
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Take a promise back (a person's decision)
    #[command(
        after_help = "Examples:\n  marvin commitments drop c-1a2b3c\n  marvin commitments drop c-1a2b3c --yes"
    )]
    Drop(CommitmentChoice),
    /// Take the files that a commitment is judged by as they are now (a person's decision)
    #[command(
        after_help = "Examples:\n  marvin commitments rehash c-1a2b3c\n  marvin commitments rehash c-1a2b3c --yes"
    )]
    Rehash(CommitmentChoice),
}
