//! The command line of `marvin servitors`.

use super::{CommitmentsPlace, ModelArguments};
use clap::{Args, Subcommand};

/// What a servitor is to be.
#[derive(Debug, Args)]
pub(crate) struct SummonArguments {
    /// What it is to do; without one it waits for word
    #[arg(value_name = "ASSIGNMENT", default_value = "")]
    pub(crate) assignment: String,
    /// Its name (default: one is found)
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What must hold before it is done, for example 'shell:pytest -q'; may be given several times
    #[arg(long, value_name = "KIND:ASSERTION")]
    pub(crate) commitment: Vec<String>,
    /// A file or directory that the commitments judge by and that must stay as it is; may be given several times
    #[arg(long, value_name = "PATH", requires = "commitment")]
    pub(crate) oracle: Vec<String>,
    /// A file that steers the tests and that it may change all the same; may be given several times
    #[arg(long, value_name = "PATH", requires = "commitment")]
    pub(crate) may_change: Vec<String>,
    /// The tier of its model
    #[arg(long, value_name = "TIER")]
    pub(crate) tier: Option<String>,
    /// US dollars that it may spend, its own servitors included
    #[arg(long, value_name = "USD")]
    pub(crate) budget: Option<f64>,
    /// Tool rounds that it may have, its own servitors included
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// What it may write: full, readonly, or 'files: a.txt, b.txt'
    #[arg(long, value_name = "ACCESS")]
    pub(crate) access: Option<String>,
    #[command(flatten)]
    pub(crate) place: CommitmentsPlace,
}

/// How servitors are run.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Stop after this many seconds; 0: no limit
    #[arg(long, value_name = "SECONDS")]
    pub(crate) deadline: Option<String>,
    #[command(flatten)]
    pub(crate) place: CommitmentsPlace,
}

/// Servitors.
#[derive(Debug, Subcommand)]
pub(crate) enum ServitorsCommand {
    /// Show the servitors of this project
    #[command(
        after_help = "Examples:\n  marvin servitors list\n  marvin servitors list --all --json | jq -r '.[].id'"
    )]
    List {
        /// Those that were dismissed too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Show one servitor: its document, as it is stored
    #[command(after_help = "Examples:\n  marvin servitors show vega")]
    Show {
        /// Its id or name
        id: String,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Summon a servitor; it is written down and works when servitors are run
    #[command(
        after_help = "Examples:\n  marvin servitors summon 'Write the parser' --commitment 'shell:pytest -q tests/parse' --oracle tests\n  marvin servitors summon 'Look for dead code' --name Vega --access readonly --rounds 20"
    )]
    Summon(SummonArguments),
    /// Send word to a servitor; one that waits, is idle or failed works again when servitors are run
    #[command(after_help = "Examples:\n  marvin servitors message vega 'Yes, use the second format.'")]
    Message {
        /// Its id or name
        id: String,
        /// What it is told
        text: String,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Dismiss a servitor and everybody that it summoned; the documents stay, the names are free
    #[command(after_help = "Examples:\n  marvin servitors dismiss vega")]
    Dismiss {
        /// Its id or name
        id: String,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Take up everybody who has something to do and run them to their end
    #[command(
        visible_alias = "resume",
        after_help = "What was begun before a crash goes on where its record ends; no call is made twice.\nExit code 0 when all are done, 3 when what one claims does not hold, 1 when one failed, 4 when one waits for an answer.\n\nExamples:\n  marvin servitors run\n  marvin servitors run --max-cost 5 --json"
    )]
    Run(RunArguments),
}
