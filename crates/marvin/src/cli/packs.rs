//! The command line of `marvin packs` and `marvin lessons`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Packs.
#[derive(Debug, Subcommand)]
pub(crate) enum PacksCommand {
    /// List the packs that count here
    #[command(
        after_help = "Packs stand in .marvin/packs of the project and in the directory packs of your own settings; the first of a name wins.\n\nExamples:\n  marvin packs list\n  marvin packs list --json | jq -r '.packs[].name'"
    )]
    List {
        /// The project
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check packs; exit code 1 when something is wrong
    #[command(
        after_help = "DIRECTORY is one pack, or a directory of packs; without it, every pack that counts here is checked.\npack.json must fit the schema that `marvin packs new` writes beside it, and every glob must be one.\n\nExamples:\n  marvin packs check\n  marvin packs check .marvin/packs/billing"
    )]
    Check {
        /// A pack, or a directory of packs
        #[arg(value_name = "DIRECTORY")]
        directory: Option<PathBuf>,
        /// The project
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what every pack has to do with a file, and what an agent would be told
    #[command(
        after_help = "The file need not be there. --corrected shows what a correction of the last minutes would change.\n\nExamples:\n  marvin packs why src/auth/login.ts\n  marvin packs why src/main.rs --corrected rust\n  marvin packs why src/main.rs --json | jq '.packs[] | {pack, score, reach}'"
    )]
    Why {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// As if something of this category had just been corrected
        #[arg(long, value_name = "CATEGORY")]
        corrected: Vec<String>,
        /// The project
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a pack: one to begin with (code-quality, git-workflow, go, python, rust, security, testing), or an empty one
    #[command(
        after_help = "Nothing that is there is overwritten.\n\nExamples:\n  marvin packs new rust\n  marvin packs new billing\n  marvin packs new house-rules --user"
    )]
    New {
        /// Its name: small letters, digits and hyphens
        #[arg(value_name = "NAME")]
        name: String,
        /// Among your own packs, for every project
        #[arg(long)]
        user: bool,
        /// The project
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// How a change is agreed to.
#[derive(Debug, Args)]
pub(crate) struct Consent {
    /// Write without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// The project
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Lessons.
#[derive(Debug, Subcommand)]
pub(crate) enum LessonsCommand {
    /// Show what people said in sessions and could become a lesson
    #[command(
        after_help = "Corrections and directions of all runs, without what is a lesson already. Nothing is written.\n\nExamples:\n  marvin lessons reflect\n  marvin lessons reflect --json | jq '.candidates[] | select(.frequency > 1)'"
    )]
    Reflect {
        /// The project
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Make lessons of what `reflect` shows: shows the change, then asks
    #[command(
        after_help = "Without a terminal and without --yes nothing is written, and the exit code is 4.\n\nExamples:\n  marvin lessons promote 1a2b3c4d\n  marvin lessons promote 1a2b3c4d --pack testing --title 'No mocks of the database'\n  marvin lessons promote --all --yes"
    )]
    Promote {
        /// Which, as `reflect` names them
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// All that belong to a pack
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// The pack; else the one that speaks of it
        #[arg(long, value_name = "PACK")]
        pack: Option<String>,
        /// Another title; only for one at a time
        #[arg(long, value_name = "TITLE", conflicts_with = "all")]
        title: Option<String>,
        /// What to do, in other words; only for one at a time
        #[arg(long, value_name = "TEXT", conflicts_with = "all")]
        actionable: Option<String>,
        #[command(flatten)]
        consent: Consent,
    },
    /// Show how packs and lessons are doing in the last 10 sessions
    #[command(
        after_help = "Nothing is written.\n\nExamples:\n  marvin lessons health\n  marvin lessons health --json | jq .alerts"
    )]
    Health {
        /// The project
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Turn useful lessons into guardrails and archive stale ones: shows the change, then asks
    #[command(
        after_help = "A lesson that was told 5 times with a utility of 0.8 becomes a guardrail; one that was told less than 3 times, and not for 90 days,\ngoes to lessons.archive.jsonl. Without a terminal and without --yes nothing is written, and the exit code is 4.\n\nExamples:\n  marvin lessons evolve\n  marvin lessons evolve --pack testing --yes"
    )]
    Evolve {
        /// Only this pack
        #[arg(long, value_name = "PACK")]
        pack: Option<String>,
        #[command(flatten)]
        consent: Consent,
    },
    /// Write a lesson into a pack: shows the change, then asks
    #[command(
        after_help = "Without a terminal and without --yes nothing is written, and the exit code is 4.\n\nExamples:\n  marvin lessons teach testing 'No mocks of the database' --actionable 'Use the database in memory from tests/support.rs'"
    )]
    Teach {
        /// The pack
        #[arg(value_name = "PACK")]
        pack: String,
        /// The title, in a few words
        #[arg(value_name = "TITLE")]
        title: String,
        /// What an agent should do
        #[arg(long, value_name = "TEXT")]
        actionable: String,
        /// Why
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// What it speaks of; else the pack's name
        #[arg(long, value_name = "CATEGORY")]
        category: Option<String>,
        /// Though the pack has a lesson that says much the same
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        consent: Consent,
    },
}
