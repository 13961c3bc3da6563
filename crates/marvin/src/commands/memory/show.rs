//! Memories and candidates as text for people.

use crate::failure::Failure;
use crate::{output, project};
use marvin_base::layout::Layout;
use marvin_base::{Exit, truncate};
use marvin_memory::candidate::Candidate;
use marvin_memory::decision::Fate;
use marvin_memory::index::Kind;
use marvin_memory::memory::{Memory, MemoryRecord, RecalledMemory};
use marvin_memory::proposal::Proposal;
use marvin_memory::stm::StmEntry;
use marvin_memory::turns::Turns;
use serde::Serialize;
use serde_json::Value;

/// Characters of an id that are shown.
const SHORT_ID_CHARS: usize = 12;

#[derive(Serialize)]
struct WhyReport<'a> {
    session_id: &'a str,
    turn_number: u64,
    memories: Vec<InjectedMemory<'a>>,
    turn: Option<&'a Value>,
}

#[derive(Serialize)]
struct InjectedMemory<'a> {
    kind: &'a str,
    id: &'a str,
    memory: Option<&'a MemoryRecord>,
    /// The entry of the short-term memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a StmEntry>,
}

/// The beginning of a fingerprint, which identifies it; other ids stay whole.
pub(super) fn short(id: &str) -> &str {
    let is_fingerprint = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_fingerprint { id.get(..SHORT_ID_CHARS).unwrap_or(id) } else { id }
}

/// One line.
pub(super) fn row(id: &str, candidate: &Candidate) -> String {
    let tags =
        if candidate.tags.is_empty() { String::new() } else { format!("  [{}]", candidate.tags.join(", ")) };
    let text = truncate::line(&candidate.text, 120);
    output::visible(&format!("{}  {}  {text}{tags}", short(id), candidate.kind.word()))
}

/// Everything that a person needs to decide.
pub(super) fn whole(proposal: &Proposal) -> String {
    let candidate = &proposal.candidate;
    let mut text = format!("{}\n  {}\n", short(&proposal.fingerprint), candidate.text.replace('\n', "\n  "));
    let source = match proposal.claimed_source {
        Some(claimed) => format!("{} (it claimed {})", candidate.source.word(), claimed.word()),
        None => candidate.source.word().to_string(),
    };
    let turn = match (&proposal.session_id, proposal.turn_number) {
        (Some(session), Some(number)) => format!(", turn {session}:{number}"),
        _ => String::new(),
    };
    text.push_str(&format!("  {}\n", candidate.details()));
    text.push_str(&format!("  source: {source}; proposed by {}{turn}\n", proposal.origin.word()));
    text.push_str(&format!("  why: {}\n", candidate.reason));
    output::visible(&text)
}

fn state(remembered: &MemoryRecord) -> String {
    match &remembered.approval.fate {
        _ if remembered.expired => "over".into(),
        Fate::Active => "active".into(),
        Fate::Forgotten => "forgotten".into(),
        Fate::Superseded { by } => format!("replaced by {}", short(by)),
    }
}

/// Shows what is remembered.
pub(super) fn list(memory: &Memory, layout: &Layout, all: bool, as_json: bool) -> Result<Exit, Failure> {
    let remembered: Vec<MemoryRecord> =
        memory.list()?.into_iter().filter(|remembered| all || remembered.is_active()).collect();
    for reason in unused(memory, layout)? {
        output::talk(&reason);
    }
    if as_json {
        return output::json(&remembered);
    }
    if remembered.is_empty() {
        if let Some(note) = outside(layout) {
            output::talk(&note);
        }
        return output::line("Nothing is remembered here.");
    }
    let mut text = String::new();
    for one in &remembered {
        text.push_str(&row(&one.entry.id, &one.entry.candidate));
        if all {
            text.push_str(&format!("  ({})", state(one)));
        }
        text.push('\n');
    }
    output::line(&text)
}

/// Where the memory of directories without a project is, as a directory becomes a project with its first run.
fn outside(layout: &Layout) -> Option<String> {
    layout.project()?;
    let place = layout.user().join("memory");
    let is_used = std::fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_some());
    is_used.then(|| format!("note: what you approved outside of projects is in {}", place.display()))
}

/// Why memories that exist are not used, with what to do about it.
pub(super) fn unused(memory: &Memory, layout: &Layout) -> Result<Vec<String>, Failure> {
    let moved = project::moved_note(layout);
    let audit = memory.audit()?;
    let blocked = audit.findings.iter().find(|finding| finding.blocks).map(|finding| {
        format!(
            "{}\n  hint: `marvin memory audit` shows it all; `marvin memory audit --adopt` takes it over",
            finding.what
        )
    });
    Ok(moved.into_iter().chain(blocked).collect())
}

/// Shows what was found.
pub(super) fn found(found: &[RecalledMemory]) -> Result<Exit, Failure> {
    if found.is_empty() {
        return output::line("Nothing of that is remembered.");
    }
    let mut text = String::new();
    for one in found {
        let age = one.age_days.map_or(String::new(), |days| format!(", {days} days old"));
        let line = truncate::line(&one.text, 160);
        let id = short(&one.id);
        text.push_str(&output::visible(&format!(
            "{:.2}  {}  {line}\n      {id}: {}{age}, unverified\n",
            one.score,
            one.kind.word(),
            one.source
        )));
    }
    output::line(&text)
}

/// Shows which memories went into a turn.
pub(super) fn why(memory: &Memory, turn: &str, as_json: bool) -> Result<Exit, Failure> {
    let parts =
        turn.rsplit_once(':').and_then(|(session, number)| Some((session, number.parse::<u64>().ok()?)));
    let Some((session, number)) = parts else {
        return Err(
            Failure::usage(format!("`{turn}` is not a turn")).hint("SESSION:NUMBER, as in turns.jsonl")
        );
    };
    let logged = Turns::at(&memory.places().turns).find(session, number);
    let injected = memory.injected(session, number)?;
    if logged.is_none() && injected.is_empty() {
        return Err(Failure::usage(format!("cannot find turn {number} of {session}"))
            .hint("turns.jsonl has them all"));
    }
    let known = memory.list()?;
    let one = |id: &str| known.iter().find(|remembered| remembered.entry.id == id);
    let traces = memory.traces()?;
    let trace = |id: &str| traces.iter().find(|entry| entry.id == id);
    if as_json {
        let memories = injected.iter().map(|injected| InjectedMemory {
            kind: &injected.kind,
            id: &injected.id,
            memory: one(&injected.id),
            trace: trace(&injected.id),
        });
        return output::json(&WhyReport {
            session_id: session,
            turn_number: number,
            memories: memories.collect(),
            turn: logged.as_ref(),
        });
    }
    let text = |key: &str| {
        logged.as_ref().and_then(|logged| logged.get(key)?.as_str()).unwrap_or_default().to_string()
    };
    let mut shown = format!(
        "asked:    {}\nanswered: {}\n",
        truncate::line(&text("user_input"), 200),
        truncate::line(&text("final_output"), 200)
    );
    if injected.is_empty() {
        shown.push_str("No memory went into it.\n");
    }
    for injected in &injected {
        match (one(&injected.id), trace(&injected.id)) {
            (Some(remembered), _) => {
                let extra = |key: &str| remembered.entry.extra.get(key).cloned().unwrap_or_default();
                shown.push_str(&format!(
                    "{}\n  agreed to by {} at {}; from turn {}:{}\n",
                    row(&remembered.entry.id, &remembered.entry.candidate),
                    remembered.approval.reviewer,
                    remembered.approval.decided_at_utc,
                    extra("session_id").as_str().unwrap_or("?"),
                    extra("turn_number"),
                ));
            }
            (None, Some(entry)) => shown.push_str(&format!(
                "{}  {}  {}\n  from turn {}:{}; kept until {}\n",
                entry.id,
                injected.kind,
                truncate::line(&entry.searchable_text(), 200),
                entry.metadata.session_id,
                entry.metadata.turn_number,
                entry.metadata.expires_at_utc,
            )),
            (None, None) => {
                // Lessons and artifacts have files of their own.
                let is_memory = [Kind::Ltm.word(), Kind::Stm.word()].contains(&injected.kind.as_str());
                let fate = if is_memory { "  (not remembered any longer)" } else { "" };
                shown.push_str(&format!("{}  {}{fate}\n", short(&injected.id), injected.kind));
            }
        }
    }
    output::line(&output::visible(&shown))
}
