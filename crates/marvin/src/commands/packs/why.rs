//! `marvin packs why FILE`.

use super::{Shelf, safe};
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::clock;
use marvin_base::environment::Environment;
use marvin_base::settings::{Settings, table};
use marvin_hooks::packs::score::{MAX_INJECTED_PACKS, STRONG, WEAK};
use marvin_hooks::packs::{InjectionHistory, Reach, RecentGuidance, ScoredPack, relative, tell};
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};

pub(super) fn run(file: &Path, corrected: &[String], shelf: &Shelf, as_json: bool) -> Result<Exit, Failure> {
    let file = relative(&resolve(&shelf.here.join(file)), &shelf.project);
    let now = clock::now();
    let recent = RecentGuidance {
        corrections: corrected.iter().map(|category| (category.clone(), now)).collect(),
        categories: Vec::new(),
    };
    for category in corrected {
        if !shelf.packs.all().iter().any(|pack| pack.has_category(category)) {
            output::talk(&format!("note: no pack speaks of `{category}`"));
        }
    }
    let all = shelf.packs.score_all(&file, &recent, now);
    let chosen = shelf.packs.score(&file, &recent);
    let telling = tell(&chosen, &file, &mut InjectionHistory::default(), cap(shelf)?);
    let is_told = |scored: &ScoredPack| chosen.iter().any(|one| one.pack.name() == scored.pack.name());
    if as_json {
        let packs: Vec<Value> = all
            .iter()
            .map(|scored| {
                json!({"pack": scored.pack.name(), "score": scored.score, "threshold": scored.threshold(),
                    "reach": scored.reach, "told": is_told(scored), "excluded_by": scored.excluded,
                    "signals": scored.signals})
            })
            .collect();
        return output::json(&json!({"file": file, "packs": packs, "telling": telling}));
    }
    let mut text = format!("{file}\n");
    for scored in &all {
        text.push_str(&format!(
            "\n{:20} {:3}  {}\n",
            scored.pack.name(),
            scored.score,
            verdict(scored, is_told(scored))
        ));
        for signal in &scored.signals {
            text.push_str(&format!("  +{:<3} {:20} {}\n", signal.points, signal.kind.word(), signal.detail));
        }
    }
    if all.is_empty() {
        text.push_str("There are no packs here. `marvin packs new rust` makes one to begin with.\n");
    }
    match telling {
        Some(telling) => {
            text.push_str(&format!(
                "\nAn agent that has heard nothing yet would be told:\n\n{}\n",
                telling.text
            ));
        }
        None => text.push_str("\nAn agent would be told nothing.\n"),
    }
    output::line(&safe(&text))
}

/// The settings of the project say how much is told.
fn cap(shelf: &Shelf) -> Result<usize, Failure> {
    let environment = Environment::of_process();
    let ground =
        marvin_agent::ProjectContext::find(environment, shelf.here.clone(), None, false, Vec::new())?;
    let settings: &Settings = &ground.settings;
    Ok(settings.count(&table::PACKS_TOKENS))
}

fn verdict(scored: &ScoredPack, told: bool) -> String {
    if let Some(pattern) = &scored.excluded {
        return format!("silent: excludes_paths has {pattern}");
    }
    let needs = scored.threshold();
    let kind = if needs == STRONG { "a strong signal" } else { "no strong signal" };
    match (scored.reach, told) {
        (Reach::Relevant, true) => {
            format!("relevant ({needs} needed, {kind}): guardrails and the best lessons")
        }
        (Reach::Applies, true) => {
            format!("applies (below {WEAK}, {kind}): guardrails once in a session, and lessons that fit")
        }
        (Reach::Silent, _) if scored.score > 0 => format!("silent: {needs} needed, {kind}"),
        (Reach::Silent, _) => "silent: nothing speaks for it".to_string(),
        (_, false) => format!("not told: {MAX_INJECTED_PACKS} packs come before it"),
    }
}

/// The path without `.` and `..`; the file need not be there.
fn resolve(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}
