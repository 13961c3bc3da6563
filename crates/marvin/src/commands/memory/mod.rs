//! `marvin memory`: what is remembered, and who agreed to it.

mod review;
mod reviewer;
mod show;

use crate::arguments::{InvalidValue, ProjectArguments};
use crate::failure::Failure;
use crate::{argument_file, output, pack_context, project};
use clap::{Args, Subcommand};
use marvin_agent::session::artifacts;
use marvin_base::Exit;
use marvin_base::printable::count;
use marvin_base::settings::table;
use marvin_memory::candidate::{Candidate, CandidateEdit};
use marvin_memory::embed::{Bert, Embedder};
use marvin_memory::index::Kind;
use marvin_memory::memory::{CandidateOrigin, Decision, Memory, ProposalOutcome, Recall};
use marvin_memory::proposal::{Origin, Proposal};
use marvin_memory::{MemoryError, eval, practice};
use reviewer::{Reviewer, open_memory};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Bytes of a file that is imported.
const MAX_IMPORT_BYTES: u64 = 64 * 1024 * 1024;

/// Decide what is remembered, search it, and see who approved it
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin memory pending\n  marvin memory approve 5c46a1\n  marvin memory query which editor do I like"
)]
pub(crate) enum MemoryCommand {
    /// Show what is remembered
    #[command(
        after_help = "Examples:\n  marvin memory list\n  marvin memory list --all --json | jq -r '.[].id'"
    )]
    List {
        /// Include expired and replaced memories
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        place: ProjectArguments,
    },
    /// Show candidates that wait for you, and at a terminal decide about each
    #[command(
        after_help = "At a terminal: y remember, n do not, e change it first, s decide later, q stop.\n\nExamples:\n  marvin memory pending\n  marvin memory pending --json | jq -r '.[].fingerprint'"
    )]
    Pending(Reviewer),
    /// Approve candidates
    #[command(
        after_help = "Examples:\n  marvin memory approve 5c46a1\n  marvin memory approve 5c46a1 --supersedes 9f2e11 --reviewer ann --json"
    )]
    Approve {
        /// Ids of candidates, or the beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
        /// The memory that it replaces
        #[arg(long, value_name = "ID")]
        supersedes: Option<String>,
        #[command(flatten)]
        reviewer: Reviewer,
    },
    /// Approve a changed candidate
    #[command(
        after_help = "Examples:\n  marvin memory edit 5c46a1 --text 'Prefers tabs in Go files only' --tag go"
    )]
    Edit(Change),
    /// Reject candidates
    #[command(after_help = "Examples:\n  marvin memory reject 5c46a1 --note 'only true that day'")]
    Reject {
        /// Ids of candidates, or the beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        reviewer: Reviewer,
    },
    /// Erase memories; the ledger keeps that they existed
    #[command(after_help = "Examples:\n  marvin memory forget 9f2e11")]
    Forget {
        /// Ids of memories, or the beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        reviewer: Reviewer,
    },
    /// Search memories, traces, lessons, packs' lessons and artifacts
    #[command(
        after_help = "Examples:\n  marvin memory query which editor do I like\n  marvin memory query --kind lesson --tag io 'disk full' --json"
    )]
    Query(Question),
    /// Export memories as JSONL
    #[command(after_help = "Examples:\n  marvin memory export > memory.jsonl")]
    Export(ProjectArguments),
    /// Propose the candidates of a JSONL file; nothing is remembered before you approve it
    #[command(after_help = "Examples:\n  marvin memory import memory.jsonl\n  marvin memory pending")]
    Import {
        /// The file; `-`: standard input
        file: PathBuf,
        #[command(flatten)]
        place: ProjectArguments,
    },
    /// Propose candidates from your recent messages
    #[command(after_help = "Examples:\n  marvin memory practice\n  marvin memory pending")]
    Practice(ProjectArguments),
    /// Replay the ledger and compare it with what is remembered
    #[command(
        after_help = "Exit code 1 when they disagree; memories that do not match are never given to a model.\n\nExamples:\n  marvin memory audit\n  marvin memory audit --adopt      (adopts a memory from another machine)"
    )]
    Audit {
        /// Adopt the entries on which ledger and memory agree, as if you had approved them here
        #[arg(long)]
        adopt: bool,
        #[command(flatten)]
        reviewer: Reviewer,
    },
    /// Show which memories a turn was given, and where they come from
    #[command(after_help = "Examples:\n  marvin memory why run_20260203_040506_1a2b:3")]
    Why {
        /// The turn: SESSION:NUMBER
        turn: String,
        #[command(flatten)]
        place: ProjectArguments,
    },
    /// Measure the recall of the index on a labelled file
    #[command(
        after_help = "A line is {\"doc\": ID, \"text\": …, \"thread\": …} or {\"query\": TEXT, \"relevant\": [ID]}; both may name a \"set\".\n\nExamples:\n  marvin memory eval labelled.jsonl\n  marvin memory eval --format locomo locomo10.json --json | jq '.recall'\n  marvin memory eval --format cosqa cosqa-dev.json --embedder ~/models/all-MiniLM-L6-v2"
    )]
    Eval {
        /// The file; the directory, for cranfield
        file: PathBuf,
        /// The format of the file
        #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = ["jsonl", "locomo", "locomo-sessions", "cosqa", "cranfield"])]
        format: String,
        /// The number of results that count; may be given several times
        #[arg(short = 'k', value_name = "N", default_values_t = [5, 10, 20])]
        k: Vec<usize>,
        /// The directory of an embedding model (default: the setting memory.embedder)
        #[arg(long, value_name = "DIRECTORY")]
        embedder: Option<PathBuf>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// The changes to a candidate; what is not given stays as it was proposed.
#[derive(Debug, Args)]
pub(crate) struct Change {
    /// The candidate's id, or the beginning of it
    id: String,
    /// The new text
    #[arg(long)]
    text: Option<String>,
    /// Its type: preference, fact, procedure, project_decision, mtg_profile, mtg_lesson
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// A tag; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Days until it expires; 0: never
    #[arg(long, value_name = "DAYS")]
    ttl_days: Option<u32>,
    /// The memory that it replaces
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    #[command(flatten)]
    reviewer: Reviewer,
}

/// A question.
#[derive(Debug, Args)]
pub(crate) struct Question {
    /// The words to look for
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    words: Vec<String>,
    /// The number of results
    #[arg(short = 'k', long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Only this kind: ltm, stm, lesson, pack_lesson, artifact; may be given several times
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Vec<Kind>,
    /// Only from this source, for example user_said; may be given several times
    #[arg(long, value_name = "SOURCE")]
    source: Vec<String>,
    /// A tag that ranks results higher; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    #[command(flatten)]
    place: ProjectArguments,
}

#[derive(Serialize)]
struct ProposedCandidate<'a> {
    fingerprint: String,
    text: &'a str,
    outcome: &'a ProposalOutcome,
}

impl std::convert::From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        match &error {
            MemoryError::Asked(why) => Failure::usage(why.clone()),
            MemoryError::Refused(why) => Failure::refused(why.clone()),
            _ => Failure::failed(error),
        }
    }
}

fn parse_kind(word: &str) -> Result<Kind, InvalidValue> {
    Kind::find(word).ok_or_else(|| {
        let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        InvalidValue(format!("not one of {}", known.join(", ")))
    })
}

pub(crate) fn run(command: MemoryCommand) -> Result<Exit, Failure> {
    match command {
        MemoryCommand::List { all, place } => {
            let (memory, context) = open_memory(&place)?;
            show::list(&memory, &context.layout, all, place.json)
        }
        MemoryCommand::Pending(reviewer) => review::pending(&mut open_memory(&reviewer.place)?.0, &reviewer),
        MemoryCommand::Approve { ids, supersedes, reviewer } => {
            if supersedes.is_some() && ids.len() > 1 {
                return Err(Failure::usage("--supersedes: one candidate takes the place of one memory"));
            }
            decide(&ids, &Decision::Approve, supersedes.as_deref(), &reviewer)
        }
        MemoryCommand::Reject { ids, reviewer } => decide(&ids, &Decision::Reject, None, &reviewer),
        MemoryCommand::Edit(change) => edit(&change),
        MemoryCommand::Forget { ids, reviewer } => forget(&ids, &reviewer),
        MemoryCommand::Query(question) => query(&question),
        MemoryCommand::Export(place) => export(&open_memory(&place)?.0),
        MemoryCommand::Import { file, place } => import(&file, &place),
        MemoryCommand::Practice(place) => {
            let proposed = practice::practice(&mut open_memory(&place)?.0)?;
            show_proposals(&proposed, place.json)
        }
        MemoryCommand::Audit { adopt, reviewer } => audit(adopt, &reviewer),
        MemoryCommand::Why { turn, place } => show::why(&open_memory(&place)?.0, &turn, place.json),
        MemoryCommand::Eval { file, format, k, embedder, json } => {
            evaluate(&file, &format, &k, embedder.as_deref(), json)
        }
    }
}

fn decide(
    ids: &[String],
    decision: &Decision,
    supersedes: Option<&str>,
    reviewer: &Reviewer,
) -> Result<Exit, Failure> {
    let person = reviewer.person()?;
    let (mut memory, _) = open_memory(&reviewer.place)?;
    // All of them are known before the first is decided.
    let waiting: Vec<Proposal> = ids.iter().map(|id| memory.waiting(id)).collect::<Result<_, _>>()?;
    let mut decided = Vec::new();
    for proposal in &waiting {
        decided.push(memory.decide(proposal, decision.clone(), supersedes, &reviewer.note, &person)?);
        if !reviewer.place.json {
            let word = if matches!(decision, Decision::Reject) { "rejected" } else { "remembered" };
            output::line(&format!("{word}: {}", show::row(&proposal.fingerprint, &proposal.candidate)))?;
        }
    }
    if reviewer.place.json { output::json(&decided) } else { Ok(Exit::Success) }
}

fn edit(change: &Change) -> Result<Exit, Failure> {
    let person = change.reviewer.person()?;
    let (mut memory, context) = open_memory(&change.reviewer.place)?;
    let proposal = memory.waiting(&change.id)?;
    let edit = CandidateEdit {
        text: change.text.clone(),
        kind: change.kind.clone(),
        tags: (!change.tag.is_empty()).then(|| change.tag.clone()),
        ttl_days: change.ttl_days,
    };
    let candidate = proposal.candidate.edited(edit, &context.redactor).map_err(Failure::usage)?;
    let decision = Decision::Edit(Box::new(candidate.clone()));
    let decided =
        memory.decide(&proposal, decision, change.supersedes.as_deref(), &change.reviewer.note, &person)?;
    if change.reviewer.place.json {
        return output::json(&decided);
    }
    output::line(&format!("remembered: {}", show::row(decided.id.as_deref().unwrap_or_default(), &candidate)))
}

fn forget(ids: &[String], reviewer: &Reviewer) -> Result<Exit, Failure> {
    let person = reviewer.person()?;
    let (mut memory, _) = open_memory(&reviewer.place)?;
    let known: Vec<String> = ids.iter().map(|id| memory.remembered(id)).collect::<Result<_, _>>()?;
    for id in &known {
        memory.forget(id, &reviewer.note, &person)?;
        if !reviewer.place.json {
            output::line(&format!("forgotten: {}", show::short(id)))?;
        }
    }
    if reviewer.place.json { output::json_entry("forgotten", &known) } else { Ok(Exit::Success) }
}

fn query(question: &Question) -> Result<Exit, Failure> {
    let text = question.words.join(" ");
    if text.trim().is_empty() {
        return Err(Failure::usage("the query is empty").hint("`marvin memory list` shows all memories"));
    }
    let (mut memory, context) = open_memory(&question.place)?;
    if let Some(directory) = context.settings.given(&table::EMBEDDER) {
        memory = memory.with_embedder(Box::new(Bert::read(Path::new(directory)).map_err(Failure::usage)?));
    }
    let lessons = pack_context::lessons(&context.layout);
    memory.offer(lessons.kind, &lessons.stamp, || lessons.documents.clone())?;
    artifacts::offer(&mut memory, &context.layout)?;
    let sources: Vec<&str> = question.source.iter().map(String::as_str).collect();
    let found = memory.recall(&Recall {
        text: &text,
        kinds: &question.kind,
        sources: &sources,
        tags: &question.tag,
        limit: question.limit.min(1_000),
        ..Recall::default()
    })?;
    if question.place.json {
        return output::json(&found);
    }
    show::found(&found)
}

fn export(memory: &Memory) -> Result<Exit, Failure> {
    let mut text = String::new();
    for remembered in memory.list()?.iter().filter(|remembered| remembered.is_active()) {
        text.push_str(&serde_json::to_string(&remembered.entry).map_err(Failure::failed)?);
        text.push('\n');
    }
    output::json_line(&text)?;
    Ok(Exit::Success)
}

const IMPORT_HINT: &str = "a line is what `marvin memory export` writes, or a candidate as `marvin memory pending --json` shows it; nothing was proposed";

fn import(file: &Path, place: &ProjectArguments) -> Result<Exit, Failure> {
    let (mut memory, context) = open_memory(place)?;
    let from_stdin = file == Path::new("-");
    let name = if from_stdin { "standard input".to_string() } else { file.display().to_string() };
    // A byte that is not text would be remembered as another character.
    let text = if from_stdin {
        argument_file::text_of(std::io::stdin().lock(), &name, MAX_IMPORT_BYTES, IMPORT_HINT)?
    } else {
        argument_file::read_text(file, MAX_IMPORT_BYTES, IMPORT_HINT)?
    };
    let mut candidates = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let wrong =
            |why: String| Failure::usage(format!("{name}, line {}: {why}", number + 1)).hint(IMPORT_HINT);
        let value: Value = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        // A line of an export, or a candidate by itself.
        let candidate = value.get("candidate").unwrap_or(&value);
        candidates
            .push(Candidate::read(candidate, &context.redactor).map_err(|error| wrong(error.to_string()))?);
    }
    let outcomes = memory.propose(candidates.clone(), Origin::Import, &CandidateOrigin::default())?;
    let proposed: Vec<(Candidate, ProposalOutcome)> = candidates.into_iter().zip(outcomes).collect();
    show_proposals(&proposed, place.json)
}

/// Shows the outcome of proposals.
fn show_proposals(proposed: &[(Candidate, ProposalOutcome)], as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        let rows = proposed.iter().map(|(candidate, outcome)| ProposedCandidate {
            fingerprint: candidate.fingerprint(),
            text: &candidate.text,
            outcome,
        });
        return output::json(&rows.collect::<Vec<_>>());
    }
    if proposed.is_empty() {
        return output::line("Nothing was proposed.");
    }
    let pending =
        proposed.iter().filter(|(_, outcome)| matches!(outcome, ProposalOutcome::Pending(_))).count();
    let mut text = String::new();
    for (candidate, outcome) in proposed {
        let word = match outcome {
            ProposalOutcome::Pending(_) => "waits",
            ProposalOutcome::Skipped(why) => why,
        };
        text.push_str(&format!("{}  ({word})\n", show::row(&candidate.fingerprint(), candidate)));
    }
    text.push_str(&format!(
        "{pending} of {} wait for you; `marvin memory pending` shows them.\n",
        proposed.len()
    ));
    output::line(&text)
}

fn audit(adopt: bool, reviewer: &Reviewer) -> Result<Exit, Failure> {
    let (mut memory, context) = open_memory(&reviewer.place)?;
    let mut stayed = Vec::new();
    let moved = context.layout.moved_state();
    if adopt {
        let person = reviewer.person()?;
        if let Some(moved) = &moved {
            stayed = context.layout.take_over(moved).map_err(|error| Failure::failed(error.to_string()))?;
        }
        memory.adopt(&person)?;
    }
    let audit = memory.audit()?;
    let exit = if audit.ok { Exit::Success } else { Exit::Failed };
    if reviewer.place.json {
        output::json(&audit)?;
        return Ok(exit);
    }
    let lines = count(audit.ledger_lines, "line");
    let memories = if audit.active == 1 { "memory" } else { "memories" };
    let mut text = format!(
        "{lines} of the ledger; {} {memories} told, {} over, {} replaced, {} forgotten\n",
        audit.active, audit.expired, audit.superseded, audit.forgotten
    );
    for finding in &audit.findings {
        text.push_str(&format!("{}: {}\n", finding.kind, output::visible(&finding.what)));
    }
    if let Some(moved) = moved {
        let fate = if adopt { "its records were taken over" } else { "its records are not used here" };
        text.push_str(&format!("This project was at {}; {fate}.\n", moved.old_path));
    }
    if !stayed.is_empty() {
        text.push_str(&format!("Left there, since this project has its own: {}\n", stayed.join(", ")));
    }
    text.push_str(if audit.ok {
        "The ledger and the memory agree.\n"
    } else {
        "The ledger and the memory do not agree.\n"
    });
    let can_adopt =
        context.layout.moved_state().is_some() || audit.findings.iter().any(|finding| finding.blocks);
    if can_adopt {
        text.push_str("If they are yours, `marvin memory audit --adopt` takes them over.\n");
    }
    output::line(&text)?;
    Ok(exit)
}

fn evaluate(
    file: &Path,
    format: &str,
    ks: &[usize],
    embedder: Option<&Path>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let labelled = eval::read(file, format).map_err(Failure::usage)?;
    let context = project::context(None, false, Vec::new())?;
    let named = embedder.map(Path::to_path_buf).or(context.settings.given(&table::EMBEDDER).map(Into::into));
    let model = named.map(|directory| Bert::read(&directory)).transpose().map_err(Failure::usage)?;
    let scratch = tempfile::Builder::new()
        .prefix("marvin-eval-")
        .tempdir()
        .map_err(|error| Failure::failed(format!("cannot make a directory for the index: {error}")))?;
    let ks: Vec<usize> = ks.iter().map(|k| (*k).clamp(1, 1_000)).collect();
    let model = model.as_ref().map(|model| model as &dyn Embedder);
    let figures = eval::score(&labelled, &ks, scratch.path(), model)
        .map_err(|error| Failure::failed(error.to_string()))?;
    if as_json {
        return output::json(&figures);
    }
    let mut text = format!(
        "{}, {} ({} without an answer)\n",
        count(figures.documents, "document"),
        count(figures.questions, "question"),
        figures.without_answer
    );
    for (k, recall) in &figures.recall {
        text.push_str(&format!("recall@{k:<4} {recall:.3}\n"));
    }
    text.push_str(&format!("mean reciprocal rank {:.3}\n", figures.mean_reciprocal_rank));
    text.push_str(&format!("{:.0} µs per question (median)\n", figures.p50_us));
    output::line(&text)
}
