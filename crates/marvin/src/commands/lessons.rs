//! `marvin lessons`: a person decides what agents are told from now on.

use crate::arguments::ProjectArguments;
use crate::commands::packs::shelf::{Shelf, safe};
use crate::failure::Failure;
use crate::{deciding, output};
use clap::{Args, Subcommand};
use marvin_base::printable::count;
use marvin_base::{Exit, clock};
use marvin_gate::layers::learn;
use marvin_hooks::lessons::evolve::{self, Fate, Plan, Verdict};
use marvin_hooks::lessons::health::{self, Health};
use marvin_hooks::lessons::reflect::{self, Candidate, Edit};
use marvin_hooks::lessons::teach::{self, NewLesson};
use marvin_hooks::lessons::{Change, LESSONS, LessonsError};
use serde::Serialize;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

/// The consent to a change.
#[derive(Debug, Args)]
pub(crate) struct Consent {
    /// Write without asking
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    project: ProjectArguments,
}

/// Manage lessons, which agents learn from corrections
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin lessons reflect\n  marvin lessons promote 1a2b3c4d\n  marvin lessons health"
)]
pub(crate) enum LessonsCommand {
    /// Show corrections and directions that could become lessons
    #[command(
        after_help = "Corrections and directions of all runs that are not lessons yet. Nothing is written.\n\nExamples:\n  marvin lessons reflect\n  marvin lessons reflect --json | jq '.candidates[] | select(.frequency > 1)'"
    )]
    Reflect(ProjectArguments),
    /// Turn candidates of `reflect` into lessons: shows the change, then asks
    #[command(
        after_help = "Without a terminal and without --yes nothing is written, and the exit code is 4.\n\nExamples:\n  marvin lessons promote 1a2b3c4d\n  marvin lessons promote 1a2b3c4d --pack testing --title 'No mocks of the database'\n  marvin lessons promote --all --yes"
    )]
    Promote {
        /// Ids of candidates, as `reflect` shows them
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// All candidates of a pack
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// The pack (default: the one that covers it)
        #[arg(long, value_name = "PACK")]
        pack: Option<String>,
        /// Another title; only with one candidate
        #[arg(long, value_name = "TITLE", conflicts_with = "all")]
        title: Option<String>,
        /// Another instruction; only with one candidate
        #[arg(long, value_name = "TEXT", conflicts_with = "all")]
        actionable: Option<String>,
        #[command(flatten)]
        consent: Consent,
    },
    /// Show how packs and lessons did in the last 10 sessions
    #[command(
        after_help = "Nothing is written.\n\nExamples:\n  marvin lessons health\n  marvin lessons health --json | jq .alerts"
    )]
    Health(ProjectArguments),
    /// Turn useful lessons into guardrails and archive stale ones: shows the change, then asks
    #[command(
        after_help = "A lesson that was given 5 times with a utility of 0.8 becomes a guardrail; one that was given less than 3 times, and not for 90 days, moves to lessons.archive.jsonl. Without a terminal and without --yes nothing is written, and the exit code is 4.\n\nExamples:\n  marvin lessons evolve\n  marvin lessons evolve --pack testing --yes"
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
        after_help = "Without a terminal and without --yes nothing is written, and the exit code is 4.\n\nExamples:\n  marvin lessons teach testing 'No mocks of the database' \\\n    --actionable 'Use the database in memory from tests/support.rs'"
    )]
    Teach {
        /// The pack
        #[arg(value_name = "PACK")]
        pack: String,
        /// The title, in a few words
        #[arg(value_name = "TITLE")]
        title: String,
        /// The instruction for an agent
        #[arg(long, value_name = "TEXT")]
        actionable: String,
        /// The reason
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// Its category (default: the pack's name)
        #[arg(long, value_name = "CATEGORY")]
        category: Option<String>,
        /// Write it even if the pack has a similar lesson
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        consent: Consent,
    },
}

#[derive(Serialize)]
struct ReflectReport<'a> {
    candidates: &'a [Candidate],
    approved_commands: Vec<ApprovedCommand<'a>>,
}

#[derive(Serialize)]
struct ApprovedCommand<'a> {
    id: &'a str,
    command: &'a str,
    accept: String,
}

/// The result of a command that changes packs: its own facts, and what was written.
#[derive(Serialize)]
struct ChangeReport<'a, T: Serialize> {
    #[serde(flatten)]
    facts: &'a T,
    written: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<&'a PathBuf>>,
    diff: &'a str,
}

#[derive(Serialize)]
struct TaughtLesson<'a> {
    pack: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct Promoted<'a> {
    promoted: Vec<&'a str>,
}

#[derive(Serialize)]
struct Evolved<'a> {
    verdicts: Vec<EvolvedLesson<'a>>,
}

#[derive(Serialize)]
struct EvolvedLesson<'a> {
    pack: &'a str,
    verdict: &'a Verdict,
}

pub(crate) fn run(command: LessonsCommand) -> Result<Exit, Failure> {
    match command {
        LessonsCommand::Reflect(project) => reflect(&shelf(&project)?, project.json),
        LessonsCommand::Promote { ids, all, pack, title, actionable, consent } => {
            promote(&ids, all, &Edit { pack, title, actionable }, &shelf(&consent.project)?, &consent)
        }
        LessonsCommand::Health(project) => health(&shelf(&project)?, project.json),
        LessonsCommand::Evolve { pack, consent } => {
            evolve(pack.as_deref(), &shelf(&consent.project)?, &consent)
        }
        LessonsCommand::Teach { pack, title, actionable, description, category, force, consent } => {
            let lesson = NewLesson { pack, title, actionable, description, category, force };
            let packs = shelf(&consent.project)?.packs;
            let change = teach::teach(&lesson, &packs, &output::environment_redactor());
            let change = change.map_err(|error| Failure::usage(error.to_string()))?;
            agree(&[&change], &consent, &TaughtLesson { pack: &lesson.pack, title: &lesson.title })
        }
    }
}

fn shelf(project: &ProjectArguments) -> Result<Shelf, Failure> {
    Shelf::find(project.working_dir.as_deref())
}

fn reflect(shelf: &Shelf, as_json: bool) -> Result<Exit, Failure> {
    let candidates = reflect::candidates(&shelf.layout.runs(), &shelf.packs);
    // A list that cannot be read is named by `marvin gate suggestions`; here it only adds.
    let approvals = learn::suggestions(&shelf.layout.security()).unwrap_or_default();
    if as_json {
        let approved = approvals.iter().map(|one| ApprovedCommand {
            id: &one.id,
            command: &one.command,
            accept: format!("marvin gate suggestions accept {}", one.id),
        });
        let report = ReflectReport { candidates: &candidates, approved_commands: approved.collect() };
        return output::json(&report);
    }
    let mut text = String::new();
    for candidate in &candidates {
        let pack = candidate.pack.as_deref().unwrap_or("(no pack covers it: --pack)");
        text.push_str(&format!("{}  {}  {pack}\n", candidate.id, candidate.title));
        text.push_str(&format!("  said:  {}\n", marvin_base::truncate::line(&candidate.content, 200)));
        text.push_str(&format!("  do:    {}\n", candidate.actionable));
        text.push_str(&format!("  {}: {}\n\n", candidate.kind, candidate.description));
    }
    if candidates.is_empty() {
        text.push_str("Nothing was said that is not a lesson already.\n");
    } else {
        text.push_str("`marvin lessons promote ID` makes a lesson of one, after showing the change.\n");
    }
    if !approvals.is_empty() {
        text.push_str("\nCommands that were approved and could be allowed from now on:\n");
        for one in &approvals {
            text.push_str(&format!("  {}\n    marvin gate suggestions accept {}\n", one.command, one.id));
        }
    }
    output::line(&safe(&text))
}

fn promote(
    ids: &[String],
    all: bool,
    edit: &Edit,
    shelf: &Shelf,
    consent: &Consent,
) -> Result<Exit, Failure> {
    let candidates = reflect::candidates(&shelf.layout.runs(), &shelf.packs);
    let chosen: Vec<Candidate> = if all {
        candidates.into_iter().filter(|candidate| candidate.pack.is_some() || edit.pack.is_some()).collect()
    } else {
        let find = |id: &String| {
            let known = candidates.iter().find(|candidate| candidate.id == *id).cloned();
            known.ok_or_else(|| {
                Failure::usage(format!("no candidate is called `{id}`"))
                    .hint("`marvin lessons reflect` shows them")
            })
        };
        ids.iter().map(find).collect::<Result<_, _>>()?
    };
    if chosen.len() > 1 && (edit.title.is_some() || edit.actionable.is_some()) {
        return Err(
            Failure::usage("--title and --actionable are for one lesson").hint("promote one ID at a time")
        );
    }
    if chosen.is_empty() {
        if consent.project.json {
            let facts = Promoted { promoted: Vec::new() };
            return output::json(&ChangeReport { facts: &facts, written: false, files: None, diff: "" });
        }
        return output::line("There is nothing to promote.");
    }
    let changes = reflect::promote(&chosen, edit, &shelf.packs, &output::environment_redactor());
    let changes = changes.map_err(|error| Failure::usage(error.to_string()))?;
    let promoted = chosen.iter().map(|candidate| candidate.id.as_str()).collect();
    agree(&changes.iter().collect::<Vec<_>>(), consent, &Promoted { promoted })
}

fn health(shelf: &Shelf, as_json: bool) -> Result<Exit, Failure> {
    let health = health::look(&shelf.layout.runs(), &shelf.packs, clock::now());
    if as_json {
        return output::json(&health);
    }
    output::line(&safe(&describe(&health)))
}

fn describe(health: &Health) -> String {
    let mut text = format!(
        "{}, {}, {}, about {}, {}\n\n",
        count(health.sessions, "session"),
        count(health.packs.len(), "pack"),
        count(health.lessons, "lesson"),
        count(health.tokens, "token"),
        count(health.corrections, "correction")
    );
    text.push_str(&format!(
        "{:20} {:>10} {:>8} {:>6} {:>12} {:>12}\n",
        "pack", "guardrails", "lessons", "told", "corrected", "newest"
    ));
    for pack in &health.packs {
        let rate = pack.correction_rate.map_or("-".to_string(), |rate| format!("{:.0} %", rate * 100.0));
        let days = pack.days_old.map_or("-".to_string(), |days| format!("{days} days ago"));
        text.push_str(&format!(
            "{:20} {:>10} {:>8} {:>6} {rate:>12} {days:>12}\n",
            pack.pack,
            if pack.guardrails { "yes" } else { "no" },
            pack.lessons,
            pack.injections,
        ));
    }
    let mut section = |title: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            text.push_str(&format!("\n{title}\n"));
            rows.iter().for_each(|row| text.push_str(&format!("  {row}\n")));
        }
    };
    section(
        "most corrected files",
        health.hot_spots.iter().map(|(file, count)| format!("{count:4}  {file}")).collect(),
    );
    section("alerts", health.alerts.clone());
    section("what to do", health.recommendations.clone());
    text
}

fn evolve(only: Option<&str>, shelf: &Shelf, consent: &Consent) -> Result<Exit, Failure> {
    if let Some(name) = only.filter(|name| shelf.packs.get(name).is_none()) {
        return Err(
            Failure::usage(format!("no pack is called `{name}`")).hint("`marvin packs list` shows them")
        );
    }
    let now = clock::now();
    let packs = shelf.packs.all().iter().filter(|pack| only.is_none_or(|name| pack.name() == name));
    let plans: Vec<Plan> = packs
        .map(|pack| evolve::plan(pack, now))
        .collect::<Result<_, LessonsError>>()
        .map_err(|error| Failure::failed(error.to_string()))?;
    let verdicts = plans.iter().flat_map(|plan| {
        plan.verdicts.iter().map(move |verdict| EvolvedLesson { pack: &plan.pack, verdict })
    });
    let facts = Evolved { verdicts: verdicts.collect() };
    if !consent.project.json {
        for EvolvedLesson { pack, verdict } in &facts.verdicts {
            let fate = match verdict.fate {
                Fate::Promote => "becomes a guardrail".to_string(),
                Fate::Prune => "moves to the archive".to_string(),
                Fate::Rewrite => format!("should be rewritten in {LESSONS}"),
            };
            output::talk(&safe(&format!("{pack}: \"{}\" {fate} ({})", verdict.title, verdict.why)));
        }
    }
    let changes: Vec<&Change> = plans.iter().flat_map(|plan| &plan.changes).collect();
    if changes.is_empty() {
        if consent.project.json {
            return output::json(&ChangeReport { facts: &facts, written: false, files: None, diff: "" });
        }
        return output::line("No lesson is ready to become a guardrail, and none is stale.");
    }
    agree(&changes, consent, &facts)
}

/// Shows changes, asks, and makes them. Nothing is written without a yes.
fn agree(changes: &[&Change], consent: &Consent, facts: &impl Serialize) -> Result<Exit, Failure> {
    let diff: String = changes.iter().map(|change| change.diff()).collect();
    let as_json = consent.project.json;
    if !as_json {
        output::raw(&diff)?;
    }
    // A process that may not decide is refused before it is asked; without a yes nothing is decided.
    let person =
        if consent.yes || std::io::stdin().is_terminal() { Some(deciding::person(None)?) } else { None };
    let agreed = consent.yes || (!as_json && ask("Write this? [y/N] ")?);
    if let (true, Some(person)) = (agreed, &person) {
        let files: Vec<String> = changes.iter().map(|change| change.path.display().to_string()).collect();
        person.record("lessons", &files.join(" "))?;
        changes
            .iter()
            .try_for_each(|change| change.write())
            .map_err(|error| Failure::failed(error.to_string()))?;
    }
    if as_json {
        let files = Some(changes.iter().map(|change| &change.path).collect());
        output::json(&ChangeReport { facts, written: agreed, files, diff: &diff })?;
    } else {
        output::talk(if agreed { "written" } else { "nothing was written" });
    }
    match agreed {
        true => Ok(Exit::Success),
        false if as_json || !std::io::stdin().is_terminal() => {
            output::talk("note: a person must agree; --yes agrees beforehand");
            Ok(Exit::Blocked)
        }
        false => Ok(Exit::Success),
    }
}

/// Asks a person; without a terminal the answer is no.
fn ask(question: &str) -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Ok(false);
    }
    output::ask(question);
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.map_err(|error| Failure::failed(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
