//! The command line of `marvin memory`.

use super::CommitmentsPlace;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Who decides.
#[derive(Debug, Args)]
pub(crate) struct Reviewer {
    /// Who decides; needed where nobody is at a terminal
    #[arg(long, value_name = "NAME")]
    pub(crate) reviewer: Option<String>,
    /// What is noted beside the decision
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) note: String,
    #[command(flatten)]
    pub(crate) place: CommitmentsPlace,
}

/// What a candidate is changed to; what is not given stays as it was proposed.
#[derive(Debug, Args)]
pub(crate) struct Change {
    /// The candidate's id, or the beginning of it
    pub(crate) id: String,
    /// What is remembered
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// Its type: preference, fact, procedure, project_decision, mtg_profile, mtg_lesson
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// A tag; may be given several times
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Days until it is no longer true; 0: for good
    #[arg(long, value_name = "DAYS")]
    pub(crate) ttl_days: Option<u32>,
    /// The memory whose place it takes
    #[arg(long, value_name = "ID")]
    pub(crate) supersedes: Option<String>,
    #[command(flatten)]
    pub(crate) reviewer: Reviewer,
}

/// A question.
#[derive(Debug, Args)]
pub(crate) struct Question {
    /// What is looked for; any words
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
    /// How many are shown
    #[arg(short = 'k', long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Only this kind: ltm, stm, lesson, pack_lesson, artifact; may be given several times
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<String>,
    /// Only from this source, for example user_said; may be given several times
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Vec<String>,
    /// A tag that makes a find better; may be given several times
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    #[command(flatten)]
    pub(crate) place: CommitmentsPlace,
}

/// Memory.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Show what is remembered
    #[command(
        after_help = "Examples:\n  marvin memory list\n  marvin memory list --all --json | jq -r '.[].id'"
    )]
    List {
        /// Also what is over or was replaced
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Show what waits for you, and at a terminal decide about it, one by one
    #[command(
        after_help = "At a terminal: y remember, n do not, e change it first, s decide later, q stop.\n\nExamples:\n  marvin memory pending\n  marvin memory pending --json | jq -r '.[].fingerprint'"
    )]
    Pending(Reviewer),
    /// Remember what waits
    #[command(
        after_help = "Examples:\n  marvin memory approve 5c46a1\n  marvin memory approve 5c46a1 --supersedes 9f2e11 --reviewer ann --json"
    )]
    Approve {
        /// Ids of candidates, or the beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
        /// The memory whose place it takes
        #[arg(long, value_name = "ID")]
        supersedes: Option<String>,
        #[command(flatten)]
        reviewer: Reviewer,
    },
    /// Remember something else than was proposed
    #[command(
        after_help = "Examples:\n  marvin memory edit 5c46a1 --text 'Prefers tabs in Go files only' --tag go"
    )]
    Edit(Change),
    /// Do not remember what waits
    #[command(after_help = "Examples:\n  marvin memory reject 5c46a1 --note 'only true that day'")]
    Reject {
        /// Ids of candidates, or the beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        reviewer: Reviewer,
    },
    /// Erase what is remembered; that it was there stays on the ledger
    #[command(after_help = "Examples:\n  marvin memory forget 9f2e11")]
    Forget {
        /// Ids of memories, or the beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        reviewer: Reviewer,
    },
    /// Ask everything that is remembered: memories, traces, lessons, packs' lessons, artifacts
    #[command(
        after_help = "Examples:\n  marvin memory query which editor do I like\n  marvin memory query --kind lesson --tag io 'disk full' --json"
    )]
    Query(Question),
    /// Write what is remembered as JSONL
    #[command(after_help = "Examples:\n  marvin memory export > memory.jsonl")]
    Export {
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Propose what stands in a JSONL file; nothing of it is remembered before you agree
    #[command(after_help = "Examples:\n  marvin memory import memory.jsonl\n  marvin memory pending")]
    Import {
        /// The file; `-`: standard input
        file: PathBuf,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Look through what you said lately and propose what seems worth remembering
    #[command(after_help = "Examples:\n  marvin memory practice\n  marvin memory pending")]
    Practice {
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Replay the ledger and compare it with what is remembered
    #[command(
        after_help = "Exit code 1 when they do not agree; what does not fit is never told to a model.\n\nExamples:\n  marvin memory audit\n  marvin memory audit --adopt      (takes over a memory that was made on another machine)"
    )]
    Audit {
        /// Take over what the ledger and the memory agree on, as if you had agreed to it here
        #[arg(long)]
        adopt: bool,
        #[command(flatten)]
        reviewer: Reviewer,
    },
    /// Show why something was said: which memories went into a turn, and where they come from
    #[command(after_help = "Examples:\n  marvin memory why run_20260203_040506_1a2b:3")]
    Why {
        /// The turn: SESSION:NUMBER
        turn: String,
        #[command(flatten)]
        place: CommitmentsPlace,
    },
    /// Measure how well the index finds what it should, on a labelled file
    #[command(
        after_help = "A line is {\"doc\": ID, \"text\": …, \"thread\": …} or {\"query\": TEXT, \"relevant\": [ID]}; both may name a \"set\".\n\nExamples:\n  marvin memory eval labelled.jsonl\n  marvin memory eval --format locomo locomo10.json --json | jq '.recall'\n  marvin memory eval --format cosqa cosqa-dev.json --embedder ~/models/all-MiniLM-L6-v2"
    )]
    Eval {
        /// The file; the directory, for cranfield
        file: PathBuf,
        /// What it is
        #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = ["jsonl", "locomo", "locomo-sessions", "cosqa", "cranfield"])]
        format: String,
        /// How many are looked at; may be given several times
        #[arg(short = 'k', value_name = "N", default_values_t = [5, 10, 20])]
        k: Vec<usize>,
        /// The directory of a model that finds by meaning too (default: the setting memory.embedder)
        #[arg(long, value_name = "DIRECTORY")]
        embedder: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}
