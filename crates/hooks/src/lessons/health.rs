//! The health of packs and lessons, from the records of the last sessions. It writes nothing.

use super::evolve::{self, Fate};
use super::file::Lines;
use super::{LESSONS, outcome, record, reflect};
use crate::packs::{Pack, Packs};
use jiff::Timestamp;
use marvin_base::printable::count;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The number of last sessions that are read.
pub const SESSIONS: usize = 10;
/// A higher share of injections with a correction is an alert.
const MAX_CORRECTION_RATE: f64 = 0.5;
const MAX_HOT_SPOTS: usize = 5;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PackHealth {
    pub pack: String,
    pub guardrails: bool,
    pub lessons: usize,
    /// Injections in the last sessions.
    pub injections: usize,
    /// The share of injected lessons that a correction followed.
    pub correction_rate: Option<f64>,
    pub newest_lesson: Option<String>,
    pub days_old: Option<i64>,
    /// An estimate for guardrails and lessons.
    pub tokens: usize,
    pub to_promote: usize,
    pub to_prune: usize,
    pub to_rewrite: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Health {
    pub sessions: usize,
    pub packs: Vec<PackHealth>,
    pub lessons: usize,
    pub tokens: usize,
    pub corrections: usize,
    /// The files with the most corrections.
    pub hot_spots: Vec<(String, usize)>,
    /// The number of candidates for lessons.
    pub candidates: usize,
    pub alerts: Vec<String>,
    pub recommendations: Vec<String>,
}

/// Reads packs and the last sessions.
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
        for entry in record::guidance(run).into_iter().filter(|entry| entry.kind == "correction") {
            corrections += 1;
            if let Some(file) = entry.preceding_file {
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
    hot_spots.truncate(MAX_HOT_SPOTS);
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
    #[expect(clippy::cast_precision_loss, reason = "counts of injections are small")]
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
        if let Some(rate) = pack.correction_rate.filter(|rate| *rate > MAX_CORRECTION_RATE) {
            alerts.push(format!("{name}: a correction followed {:.0} % of its tellings", rate * 100.0));
            advice.push(format!(
                "write the lessons of {name} more plainly; `marvin lessons evolve` names them"
            ));
        }
        if pack.to_promote + pack.to_prune > 0 {
            alerts.push(format!(
                "{name}: {} ready for guardrails, {} stale",
                count(pack.to_promote, "lesson"),
                pack.to_prune
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
