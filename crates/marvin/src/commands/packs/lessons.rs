//! `marvin lessons`: by these a person decides what agents are told from now on.

use super::{Shelf, safe};
use crate::cli::{Consent, LessonsCommand};
use crate::commands::deciding;
use crate::failure::Failure;
use crate::output;
use marvin_base::{Exit, clock};
use marvin_gate::layers::learn;
use marvin_hooks::lessons::evolve::{self, Fate, Plan};
use marvin_hooks::lessons::health::{self, Health};
use marvin_hooks::lessons::reflect::{self, Candidate, Edit};
use marvin_hooks::lessons::teach::{self, NewLesson};
use marvin_hooks::lessons::{Change, LESSONS};
use serde_json::{Value, json};
use std::io::{BufRead, IsTerminal};

/// Runs one of the commands about lessons.
pub(in crate::commands) fn run(command: LessonsCommand) -> Result<Exit, Failure> {
    match command {
        LessonsCommand::Reflect { working_dir, json } => reflect(&Shelf::find(working_dir.as_deref())?, json),
        LessonsCommand::Promote { ids, all, pack, title, actionable, consent } => {
            let shelf = Shelf::find(consent.working_dir.as_deref())?;
            promote(&ids, all, &Edit { pack, title, actionable }, &shelf, &consent)
        }
        LessonsCommand::Health { working_dir, json } => health(&Shelf::find(working_dir.as_deref())?, json),
        LessonsCommand::Evolve { pack, consent } => {
            evolve(pack.as_deref(), &Shelf::find(consent.working_dir.as_deref())?, &consent)
        }
        LessonsCommand::Teach { pack, title, actionable, description, category, force, consent } => {
            let taught = NewLesson { pack, title, actionable, description, category, force };
            let shelf = Shelf::find(consent.working_dir.as_deref())?;
            let change = teach::teach(&taught, &shelf.packs, &output::environment_redactor());
            let change = change.map_err(Failure::usage)?;
            agree(&[&change], &consent, &json!({"pack": taught.pack, "title": taught.title}))
        }
    }
}

fn reflect(shelf: &Shelf, as_json: bool) -> Result<Exit, Failure> {
    let candidates = reflect::candidates(&shelf.layout.runs(), &shelf.packs);
    // A list that cannot be read is named by `marvin gate suggestions`; here it only adds.
    let approvals = learn::suggestions(&shelf.layout.security()).unwrap_or_default();
    if as_json {
        let approvals: Vec<Value> = approvals
            .iter()
            .map(|one| json!({"id": one.id, "command": one.command, "accept": format!("marvin gate suggestions accept {}", one.id)}))
            .collect();
        return output::json(&json!({"candidates": candidates, "approved_commands": approvals}));
    }
    let mut text = String::new();
    for candidate in &candidates {
        let pack = candidate.pack.as_deref().unwrap_or("(no pack speaks of it: --pack)");
        text.push_str(&format!("{}  {}  {pack}\n", candidate.id, candidate.title));
        text.push_str(&format!("  said:  {}\n", marvin_base::truncate::line(&candidate.content, 200)));
        text.push_str(&format!("  do:    {}\n", candidate.actionable));
        text.push_str(&format!("  {}: {}\n\n", candidate.kind, candidate.description));
    }
    if candidates.is_empty() {
        text.push_str("Nobody said anything that is not a lesson already.\n");
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
                Failure::usage(format!(
                    "there is no candidate `{id}`\n  hint: `marvin lessons reflect` shows them"
                ))
            })
        };
        ids.iter().map(find).collect::<Result<_, _>>()?
    };
    if chosen.len() > 1 && (edit.title.is_some() || edit.actionable.is_some()) {
        return Err(Failure::usage(
            "--title and --actionable are for one lesson\n  hint: promote one ID at a time",
        ));
    }
    if chosen.is_empty() {
        if consent.json {
            return output::json(&json!({"promoted": [], "written": false, "diff": ""}));
        }
        return output::line("There is nothing to promote.");
    }
    let changes = reflect::promote(&chosen, edit, &shelf.packs, &output::environment_redactor());
    let changes = changes.map_err(Failure::usage)?;
    let promoted: Vec<&str> = chosen.iter().map(|candidate| candidate.id.as_str()).collect();
    agree(&changes.iter().collect::<Vec<_>>(), consent, &json!({"promoted": promoted}))
}

fn health(shelf: &Shelf, as_json: bool) -> Result<Exit, Failure> {
    let health = health::look(&shelf.layout.runs(), &shelf.packs, clock::now());
    if as_json {
        return output::json(&serde_json::to_value(&health).unwrap_or_default());
    }
    output::line(&safe(&describe(&health)))
}

fn describe(health: &Health) -> String {
    let mut text = format!(
        "{} sessions, {} packs, {} lessons, about {} tokens, {} corrections\n\n",
        health.sessions,
        health.packs.len(),
        health.lessons,
        health.tokens,
        health.corrections
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
        return Err(Failure::usage(format!(
            "there is no pack `{name}`\n  hint: `marvin packs list` shows them"
        )));
    }
    let now = clock::now();
    let packs = shelf.packs.all().iter().filter(|pack| only.is_none_or(|name| pack.name() == name));
    let plans: Vec<Plan> =
        packs.map(|pack| evolve::plan(pack, now)).collect::<Result<_, _>>().map_err(Failure::failed)?;
    let verdicts: Vec<Value> = plans
        .iter()
        .flat_map(|plan| plan.verdicts.iter().map(|verdict| json!({"pack": plan.pack, "verdict": verdict})))
        .collect();
    if !consent.json {
        for (plan, verdict) in plans.iter().flat_map(|plan| plan.verdicts.iter().map(move |one| (plan, one)))
        {
            let word = match verdict.fate {
                Fate::Promote => "becomes a guardrail",
                Fate::Prune => "goes to the archive",
                Fate::Rewrite => "should be written anew, in",
            };
            let place = if verdict.fate == Fate::Rewrite { format!(" {LESSONS}") } else { String::new() };
            output::talk(&safe(&format!(
                "{}: \"{}\" {word}{place} ({})",
                plan.pack, verdict.title, verdict.why
            )));
        }
    }
    let changes: Vec<&Change> = plans.iter().flat_map(|plan| &plan.changes).collect();
    if changes.is_empty() {
        if consent.json {
            return output::json(&json!({"verdicts": verdicts, "written": false, "diff": ""}));
        }
        return output::line("No lesson is ready to become a guardrail, and none is stale.");
    }
    agree(&changes, consent, &json!({"verdicts": verdicts}))
}

/// Shows changes, asks, and makes them. Nothing is written without a yes.
fn agree(changes: &[&Change], consent: &Consent, facts: &Value) -> Result<Exit, Failure> {
    let diff: String = changes.iter().map(|change| change.diff()).collect();
    if !consent.json {
        output::raw(&diff)?;
    }
    // Who may not decide is told so before anything is asked; without a yes nothing is decided.
    let person =
        if consent.yes || std::io::stdin().is_terminal() { Some(deciding::person(None)?) } else { None };
    let agreed = consent.yes || (!consent.json && ask("Write this? [y/N] ")?);
    if let (true, Some(person)) = (agreed, &person) {
        let files: Vec<String> = changes.iter().map(|change| change.path.display().to_string()).collect();
        person.record("lessons", &files.join(" "))?;
        changes.iter().try_for_each(|change| change.write()).map_err(Failure::failed)?;
    }
    if consent.json {
        let mut answer = facts.clone();
        if let Some(map) = answer.as_object_mut() {
            map.insert("written".into(), agreed.into());
            map.insert("files".into(), json!(changes.iter().map(|change| &change.path).collect::<Vec<_>>()));
            map.insert("diff".into(), diff.into());
        }
        output::json(&answer)?;
    } else {
        output::talk(if agreed { "written" } else { "nothing was written" });
    }
    match agreed {
        true => Ok(Exit::Success),
        false if consent.json || !std::io::stdin().is_terminal() => {
            output::talk("note: a person must agree; --yes agrees beforehand");
            Ok(Exit::Blocked)
        }
        false => Ok(Exit::Success),
    }
}

/// Asks a person; where there is none, the answer is no.
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
