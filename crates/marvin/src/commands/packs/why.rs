//! `marvin packs why FILE`.

use super::shelf::{NO_PACKS, Shelf, safe};
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use marvin_base::settings::table;
use marvin_base::{Exit, clock};
use marvin_hooks::packs::score::{MAX_INJECTED_PACKS, STRONG_THRESHOLD, Signal, WEAK_THRESHOLD};
use marvin_hooks::packs::{InjectionHistory, Reach, RecentGuidance, ScoredPack, inject, relative};
use serde::Serialize;
use std::path::{Component, Path, PathBuf};

/// Show the score of every pack for a file, and the guidance an agent would get
#[derive(Debug, Args)]
#[command(
    after_help = "The file need not exist. --corrected shows what a correction of the last minutes would change.\n\nExamples:\n  marvin packs why src/auth/login.ts\n  marvin packs why src/main.rs --corrected rust\n  marvin packs why src/main.rs --json | jq '.packs[] | {pack, score, reach}'"
)]
pub(crate) struct WhyArguments {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Assume a recent correction of this category
    #[arg(long, value_name = "CATEGORY")]
    corrected: Vec<String>,
    #[command(flatten)]
    project: ProjectArguments,
}

#[derive(Serialize)]
struct WhyReport<'a, T: Serialize> {
    file: &'a str,
    packs: Vec<PackScore<'a>>,
    telling: T,
}

#[derive(Serialize)]
struct PackScore<'a> {
    pack: &'a str,
    score: u32,
    threshold: u32,
    reach: Reach,
    told: bool,
    excluded_by: Option<&'a str>,
    signals: &'a [Signal],
}

pub(super) fn run(arguments: &WhyArguments) -> Result<Exit, Failure> {
    let shelf = Shelf::find(arguments.project.working_dir.as_deref())?;
    let corrected = &arguments.corrected;
    let file = relative(&resolve(&shelf.here.join(&arguments.file)), &shelf.project);
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
    let telling = inject(&chosen, &file, &mut InjectionHistory::default(), max_tokens(&shelf)?);
    let is_told = |scored: &ScoredPack| chosen.iter().any(|one| one.pack.name() == scored.pack.name());
    if arguments.project.json {
        let packs = all.iter().map(|scored| PackScore {
            pack: scored.pack.name(),
            score: scored.score,
            threshold: scored.threshold(),
            reach: scored.reach,
            told: is_told(scored),
            excluded_by: scored.excluded.as_deref(),
            signals: &scored.signals,
        });
        return output::json(&WhyReport { file: &file, packs: packs.collect(), telling });
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
        text.push_str(NO_PACKS);
    }
    match telling {
        Some(telling) => {
            text.push_str(&format!("\nA new agent would be told:\n\n{}\n", telling.text));
        }
        None => text.push_str("\nAn agent would be told nothing.\n"),
    }
    output::line(&safe(&text))
}

/// The tokens that the settings of the project allow for packs.
fn max_tokens(shelf: &Shelf) -> Result<usize, Failure> {
    let environment = Environment::of_process();
    let context = ProjectContext::find(environment, shelf.here.clone(), None, false, Vec::new())?;
    Ok(context.settings.count(&table::PACKS_TOKENS))
}

fn verdict(scored: &ScoredPack, is_shown: bool) -> String {
    if let Some(pattern) = &scored.excluded {
        return format!("silent: excludes_paths has {pattern}");
    }
    let needs = scored.threshold();
    let kind = if needs == STRONG_THRESHOLD { "a strong signal" } else { "no strong signal" };
    match (scored.reach, is_shown) {
        (Reach::Relevant, true) => {
            format!("relevant ({needs} needed, {kind}): guardrails and the best lessons")
        }
        (Reach::Applies, true) => {
            format!(
                "applies (below {WEAK_THRESHOLD}, {kind}): guardrails once in a session, and lessons that fit"
            )
        }
        (Reach::Silent, _) if scored.score > 0 => format!("silent: {needs} needed, {kind}"),
        (Reach::Silent, _) => "silent: nothing speaks for it".to_string(),
        (_, false) => format!("not told: {MAX_INJECTED_PACKS} packs come before it"),
    }
}

/// The path without `.` and `..`; the file need not exist.
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
