//! `marvin memory`: what is remembered, and who agreed to it.

mod review;
mod show;

use super::{deciding, directory, packs, project};
use crate::cli::{CommitmentsPlace, MemoryChange, MemoryCommand, MemoryQuestion, Reviewer};
use crate::failure::Failure;
use crate::output;
use marvin_agent::ProjectContext;
use marvin_agent::session::artifacts;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_base::settings::table;
use marvin_memory::candidate::{Candidate, CandidateEdit};
use marvin_memory::embed::{Bert, Embedder};
use marvin_memory::index::Kind;
use marvin_memory::memory::{CandidateOrigin, Decision, Memory, ProposalOutcome, Recall};
use marvin_memory::proposal::{Origin, Proposal};
use marvin_memory::{MemoryError, Person, Places, eval, practice};
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

/// Bytes of a file that is imported.
const MAX_IMPORT_BYTES: u64 = 64 * 1024 * 1024;

impl std::convert::From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        match &error {
            MemoryError::Asked(why) => Failure::usage(why.clone()),
            MemoryError::Refused(why) => Failure::refused(why.clone()),
            _ => Failure::failed(error.to_string()),
        }
    }
}

/// Runs one of the commands about memory.
pub(super) fn run(command: MemoryCommand) -> Result<Exit, Failure> {
    match command {
        MemoryCommand::List { all, place } => show::list(&memory(&place)?.0, all, place.json),
        MemoryCommand::Pending(reviewer) => review::pending(&mut memory(&reviewer.place)?.0, &reviewer),
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
        MemoryCommand::Export { place } => export(&memory(&place)?.0),
        MemoryCommand::Import { file, place } => import(&file, &place),
        MemoryCommand::Practice { place } => {
            let proposed = practice::practice(&mut memory(&place)?.0)?;
            told(&proposed, place.json)
        }
        MemoryCommand::Audit { adopt, reviewer } => audit(adopt, &reviewer),
        MemoryCommand::Why { turn, place } => show::why(&memory(&place)?.0, &turn, place.json),
        MemoryCommand::Eval { file, format, k, embedder, json } => {
            evaluate(&file, &format, &k, embedder.as_deref(), json)
        }
    }
}

/// The memory of the project around the directory; else the person's own.
fn memory(place: &CommitmentsPlace) -> Result<(Memory, ProjectContext), Failure> {
    let project = project(place.working_dir.as_deref())?;
    let ground =
        ProjectContext::find(Environment::of_process(), directory()?, project.as_deref(), false, Vec::new())?;
    let places = Places::from_settings(&ground.layout, &ground.settings);
    Ok((Memory::open(places, ground.redactor.clone()), ground))
}

fn person(reviewer: &Reviewer) -> Result<Person, Failure> {
    deciding::person(reviewer.reviewer.as_deref())
}

fn decide(
    ids: &[String],
    decision: &Decision,
    supersedes: Option<&str>,
    reviewer: &Reviewer,
) -> Result<Exit, Failure> {
    let person = person(reviewer)?;
    let (mut memory, _) = memory(&reviewer.place)?;
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
    if reviewer.place.json { output::json(&json!(decided)) } else { Ok(Exit::Success) }
}

fn edit(change: &MemoryChange) -> Result<Exit, Failure> {
    let person = person(&change.reviewer)?;
    let (mut memory, ground) = memory(&change.reviewer.place)?;
    let proposal = memory.waiting(&change.id)?;
    let edit = CandidateEdit {
        text: change.text.clone(),
        kind: change.kind.clone(),
        tags: (!change.tag.is_empty()).then(|| change.tag.clone()),
        ttl_days: change.ttl_days,
    };
    let candidate = proposal
        .candidate
        .edited(edit, &ground.redactor)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let decision = Decision::Edit(Box::new(candidate.clone()));
    let decided =
        memory.decide(&proposal, decision, change.supersedes.as_deref(), &change.reviewer.note, &person)?;
    if change.reviewer.place.json {
        return output::json(&json!(decided));
    }
    output::line(&format!("remembered: {}", show::row(decided.id.as_deref().unwrap_or_default(), &candidate)))
}

fn forget(ids: &[String], reviewer: &Reviewer) -> Result<Exit, Failure> {
    let person = person(reviewer)?;
    let (mut memory, _) = memory(&reviewer.place)?;
    let known: Vec<String> = ids.iter().map(|id| memory.remembered(id)).collect::<Result<_, _>>()?;
    for id in &known {
        memory.forget(id, &reviewer.note, &person)?;
        if !reviewer.place.json {
            output::line(&format!("forgotten: {}", show::short(id)))?;
        }
    }
    if reviewer.place.json { output::json(&json!({ "forgotten": known })) } else { Ok(Exit::Success) }
}

fn query(question: &MemoryQuestion) -> Result<Exit, Failure> {
    let (mut memory, ground) = memory(&question.place)?;
    if let Some(directory) = ground.settings.given(&table::EMBEDDER) {
        memory = memory.with_embedder(Box::new(read_model(Path::new(directory))?));
    }
    let kinds: Vec<Kind> = question
        .kind
        .iter()
        .map(|word| {
            Kind::find(word).ok_or_else(|| {
                let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
                Failure::usage(format!(
                    "--kind {word}: there is no such kind\n  hint: one of {}",
                    known.join(", ")
                ))
            })
        })
        .collect::<Result<_, _>>()?;
    let packs = packs::offered(&ground.layout);
    memory.offer(packs.kind, &packs.stamp, || packs.documents.clone())?;
    artifacts::offer(&mut memory, &ground.layout)?;
    let sources: Vec<&str> = question.source.iter().map(String::as_str).collect();
    let text = question.words.join(" ");
    let found = memory.recall(&Recall {
        text: &text,
        kinds: &kinds,
        sources: &sources,
        tags: &question.tag,
        limit: question.limit.min(1_000),
        ..Recall::default()
    })?;
    if question.place.json {
        return output::json(&json!(found));
    }
    show::found(&found)
}

fn export(memory: &Memory) -> Result<Exit, Failure> {
    let mut text = String::new();
    for remembered in memory.list()?.iter().filter(|remembered| remembered.is_active()) {
        let value = serde_json::to_value(&remembered.entry).unwrap_or_default();
        text.push_str(&value.to_string());
        text.push('\n');
    }
    output::json_line(&text)?;
    Ok(Exit::Success)
}

fn import(file: &Path, place: &CommitmentsPlace) -> Result<Exit, Failure> {
    let (mut memory, ground) = memory(place)?;
    let name = file.display();
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .take(MAX_IMPORT_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
        bytes
    } else {
        marvin_base::files::read(file, MAX_IMPORT_BYTES, marvin_base::files::Links::Follow)
            .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?
    };
    if bytes.len() as u64 > MAX_IMPORT_BYTES {
        return Err(Failure::usage(format!("{name} is larger than {MAX_IMPORT_BYTES} bytes")));
    }
    let mut candidates = Vec::new();
    for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |why: String| {
            Failure::usage(format!(
                "{name}, line {}: {why}\n  hint: a line is what `marvin memory export` writes, or a candidate as `marvin memory pending --json` shows it; nothing was proposed",
                number + 1
            ))
        };
        let value: Value = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        // A line of an export, or a candidate by itself.
        let candidate = value.get("candidate").unwrap_or(&value);
        candidates
            .push(Candidate::read(candidate, &ground.redactor).map_err(|error| wrong(error.to_string()))?);
    }
    let outcomes = memory.propose(candidates.clone(), Origin::Import, &CandidateOrigin::default())?;
    let proposed: Vec<(Candidate, ProposalOutcome)> = candidates.into_iter().zip(outcomes).collect();
    told(&proposed, place.json)
}

/// What became of proposals.
fn told(proposed: &[(Candidate, ProposalOutcome)], as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        let row = |(candidate, outcome): &(Candidate, ProposalOutcome)| json!({"fingerprint": candidate.fingerprint(), "text": candidate.text, "outcome": outcome});
        return output::json(&proposed.iter().map(row).collect());
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
    let (mut memory, _) = memory(&reviewer.place)?;
    if adopt {
        let person = person(reviewer)?;
        memory.adopt(&person)?;
    }
    let audit = memory.audit()?;
    let exit = if audit.ok { Exit::Success } else { Exit::Failed };
    if reviewer.place.json {
        output::json(&json!(audit))?;
        return Ok(exit);
    }
    let mut text = format!(
        "{} lines of the ledger; {} memories told, {} over, {} replaced, {} forgotten\n",
        audit.ledger_lines, audit.active, audit.expired, audit.superseded, audit.forgotten
    );
    for finding in &audit.findings {
        text.push_str(&format!("{}: {}\n", finding.kind, output::visible(&finding.what)));
    }
    text.push_str(if audit.ok {
        "The ledger and the memory agree.\n"
    } else {
        "The ledger and the memory do not agree.\n"
    });
    output::line(&text)?;
    Ok(exit)
}

fn read_model(directory: &Path) -> Result<Bert, Failure> {
    Bert::read(directory).map_err(|error| Failure::usage(error.to_string()))
}

fn evaluate(
    file: &Path,
    format: &str,
    ks: &[usize],
    embedder: Option<&Path>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let labelled = eval::read(file, format).map_err(|error| Failure::usage(error.to_string()))?;
    let ground = ProjectContext::find(Environment::of_process(), directory()?, None, false, Vec::new())?;
    let named = embedder.map(Path::to_path_buf).or(ground.settings.given(&table::EMBEDDER).map(Into::into));
    let model = named.map(|directory| read_model(&directory)).transpose()?;
    let scratch = tempfile::Builder::new()
        .prefix("marvin-eval-")
        .tempdir()
        .map_err(|error| Failure::failed(format!("cannot make a directory for the index: {error}")))?;
    let ks: Vec<usize> = ks.iter().map(|k| (*k).clamp(1, 1_000)).collect();
    let model = model.as_ref().map(|model| model as &dyn Embedder);
    let figures = eval::score(&labelled, &ks, scratch.path(), model)
        .map_err(|error| Failure::failed(error.to_string()))?;
    if as_json {
        return output::json(&json!(figures));
    }
    let mut text = format!(
        "{} documents, {} questions ({} without an answer)\n",
        figures.documents, figures.questions, figures.without_answer
    );
    for (k, recall) in &figures.recall {
        text.push_str(&format!("recall@{k:<4} {recall:.3}\n"));
    }
    text.push_str(&format!("mean reciprocal rank {:.3}\n", figures.mean_reciprocal_rank));
    text.push_str(&format!("{:.0} µs a question (median)\n", figures.p50_us));
    output::line(&text)
}
