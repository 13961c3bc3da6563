//! How packs and lessons are doing, from the records of the last sessions. Nothing is written.

use super::evolve::{self, Fate};
use super::file::Lines;
use super::{LESSONS, outcome, record, reflect};
use crate::packs::{Pack, Packs};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Sessions that are looked at.
pub const SESSIONS: usize = 10;
/// More than this share of tellings followed by a correction is an alert.
const TOO_MANY: f64 = 0.5;
/// Hot spots that are shown.
const HOT: usize = 5;

/// One pack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PackHealth {
    /// Its name.
    pub pack: String,
    /// Does it have guardrails?
    pub guardrails: bool,
    /// How many lessons.
    pub lessons: usize,
    /// Tellings in the last sessions.
    pub injections: usize,
    /// Share of its lessons' tellings that a correction followed.
    pub correction_rate: Option<f64>,
    /// The newest lesson.
    pub newest_lesson: Option<String>,
    /// Days since then.
    pub days_old: Option<i64>,
    /// Estimated tokens of everything in it.
    pub tokens: usize,
    /// Lessons that could become guardrails.
    pub to_promote: usize,
    /// Lessons that could go.
    pub to_prune: usize,
    /// Lessons that somebody should write anew.
    pub to_rewrite: usize,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Health {
    /// Sessions that were looked at.
    pub sessions: usize,
    /// Each pack.
    pub packs: Vec<PackHealth>,
    /// Lessons in all.
    pub lessons: usize,
    /// Estimated tokens in all.
    pub tokens: usize,
    /// Corrections in these sessions.
    pub corrections: usize,
    /// Files that were corrected most, with how often.
    pub hot_spots: Vec<(String, usize)>,
    /// What people said that could become lessons.
    pub candidates: usize,
    /// What should be looked at.
    pub alerts: Vec<String>,
    /// What to do.
    pub recommendations: Vec<String>,
}

/// Looks at packs and at the last sessions.
#[must_use]
pub fn look(runs: &Path, packs: &Packs, now: Timestamp) -> Health {
    let sessions: Vec<PathBuf> = {
        let all = record::sessions(runs);
        let older = all.len().saturating_sub(SESSIONS);
        all.into_iter().skip(older).collect()
    };
    let mut injections: BTreeMap<String, usize> = BTreeMap::new();
    let mut outcomes: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    let mut corrections = 0;
    for run in &sessions {
        for injection in record::injections(run) {
            for pack in injection.packs_injected {
                *injections.entry(pack).or_default() += 1;
            }
        }
        for said in record::guidance(run).into_iter().filter(|said| said.kind == "correction") {
            corrections += 1;
            if let Some(file) = said.preceding_file {
                *files.entry(file).or_default() += 1;
            }
        }
        for (lesson, count) in outcome::correlate(run, packs) {
            let (told, corrected) = outcomes.entry(lesson.pack).or_default();
            *told += count.injected;
            *corrected += count.corrected;
        }
    }
    let mut hot_spots: Vec<(String, usize)> = files.into_iter().collect();
    hot_spots.sort_by(|(a, one), (b, two)| two.cmp(one).then(a.cmp(b)));
    hot_spots.truncate(HOT);
    let packs_health: Vec<PackHealth> = packs
        .all()
        .iter()
        .map(|pack| {
            let told = injections.get(pack.name()).copied().unwrap_or(0);
            of_pack(pack, told, outcomes.get(pack.name()).copied(), now)
        })
        .collect();
    let mut health = Health {
        sessions: sessions.len(),
        lessons: packs_health.iter().map(|pack| pack.lessons).sum(),
        tokens: packs_health.iter().map(|pack| pack.tokens).sum(),
        packs: packs_health,
        corrections,
        hot_spots,
        candidates: reflect::candidates(runs, packs).len(),
        alerts: Vec::new(),
        recommendations: Vec::new(),
    };
    conclude(&mut health);
    health
}

fn of_pack(pack: &Pack, injections: usize, outcome: Option<(u64, u64)>, now: Timestamp) -> PackHealth {
    let lines = Lines::read(&pack.directory.join(LESSONS)).ok();
    let lessons: Vec<_> = lines.iter().flat_map(Lines::lessons).collect();
    let newest: Option<Timestamp> = lessons.iter().filter_map(|lesson| lesson.timestamp.parse().ok()).max();
    let fates: Vec<Fate> =
        lessons.iter().filter_map(|lesson| evolve::judge(lesson, now)).map(|verdict| verdict.fate).collect();
    let count = |fate: Fate| fates.iter().filter(|one| **one == fate).count();
    let characters: usize = pack.guardrails.chars().count()
        + lessons
            .iter()
            .map(|lesson| lesson.title.chars().count() + lesson.actionable.chars().count())
            .sum::<usize>();
    #[expect(clippy::cast_precision_loss, reason = "counts of tellings are small")]
    let rate = outcome.filter(|(told, _)| *told > 0).map(|(told, corrected)| corrected as f64 / told as f64);
    PackHealth {
        pack: pack.name().to_string(),
        guardrails: !pack.guardrails.is_empty(),
        lessons: lessons.len(),
        injections,
        correction_rate: rate.map(|rate| (rate * 1000.0).round() / 1000.0),
        newest_lesson: newest.map(marvin_base::clock::stamp),
        days_old: newest.map(|newest| now.duration_since(newest).as_hours() / 24),
        tokens: characters / 4,
        to_promote: count(Fate::Promote),
        to_prune: count(Fate::Prune),
        to_rewrite: count(Fate::Rewrite),
    }
}

fn conclude(health: &mut Health) {
    let mut alerts = Vec::new();
    let mut advice = Vec::new();
    for pack in &health.packs {
        let name = &pack.pack;
        if pack.injections == 0 && health.sessions == SESSIONS {
            alerts.push(format!("{name}: told in none of the last {SESSIONS} sessions"));
            advice.push(format!("`marvin packs why FILE` shows why {name} keeps silent"));
        }
        if let Some(rate) = pack.correction_rate.filter(|rate| *rate > TOO_MANY) {
            alerts.push(format!("{name}: a correction followed {:.0} % of its tellings", rate * 100.0));
            advice.push(format!(
                "write the lessons of {name} more plainly; `marvin lessons evolve` names them"
            ));
        }
        if pack.to_promote + pack.to_prune > 0 {
            alerts.push(format!(
                "{name}: {} lessons ready for guardrails, {} stale",
                pack.to_promote, pack.to_prune
            ));
            advice.push(format!("`marvin lessons evolve --pack {name}` shows the changes and asks"));
        }
        if pack.to_rewrite > 0 {
            alerts.push(format!("{name}: {} lessons are told often and do not help", pack.to_rewrite));
        }
        if !pack.guardrails && pack.lessons == 0 {
            alerts.push(format!("{name}: it has neither guardrails nor lessons"));
            advice.push(format!("write guardrails.md of {name}, or remove the pack"));
        }
    }
    if health.candidates > 0 {
        alerts.push(format!("{} things that people said could become lessons", health.candidates));
        advice.push("`marvin lessons reflect` shows them".to_string());
    }
    advice.dedup();
    (health.alerts, health.recommendations) = (alerts, advice);
}
