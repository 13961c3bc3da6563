//! Outcomes of injected lessons, counted once.
//!
//! A correction follows an injection when, within half an hour after it and in the same run, the person corrected something
//! in the same file or in a category of the lesson's pack; a tool that failed on the file counts half. All injections of a
//! lesson in one run count as one. [`marvin_memory::lessons::health`] computes the utility from these.
//!
//! The counts are written to the run's `lesson-outcomes.jsonl`, with the lesson's figures before and after, before the
//! lesson is changed. A resumed run adds only new counts; an interrupted settlement is completed by the next, never
//! counted twice.

use super::LESSONS;
use super::error::LessonsError;
use super::file::{self, Lines};
use super::record::{self, LessonRef};
use crate::packs::{Pack, Packs};
use jiff::{SignedDuration, Timestamp};
use marvin_base::clock;
use marvin_base::ledger::{Durability, Ledger};
use marvin_base::redact::Redactor;
use marvin_memory::lessons::health;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub const OUTCOMES: &str = "lesson-outcomes.jsonl";
/// The time after an injection in which a correction counts against it.
const COMPLAINT_WINDOW: SignedDuration = SignedDuration::from_mins(30);
/// The weight of a failed tool.
const FAILURE_WEIGHT: f64 = 0.5;

/// The outcome of a lesson in one run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Count {
    pub injected: u64,
    /// Injections that a correction followed.
    pub corrected: u64,
    /// A correction is one complaint, a failure half of one.
    pub complaints: f64,
    /// The last injection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last: Option<Timestamp>,
}

/// The figures of a lesson; see [`crate::packs::LessonLine`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Figures {
    pub utility_score: Option<f64>,
    pub injection_count: u64,
    pub correction_count: u64,
    pub last_injected: Option<String>,
}

/// A line of `lesson-outcomes.jsonl`; the counts are those since the last line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub timestamp: String,
    pub pack: String,
    pub lesson_title: String,
    pub injected: u64,
    pub followed_by_correction: u64,
    pub complaints: f64,
    /// `None` where the lesson does not exist any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Figures>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Figures>,
}

/// The outcomes of a run's lessons; writes nothing.
#[must_use]
pub fn correlate(run: &Path, packs: &Packs) -> BTreeMap<LessonRef, Count> {
    let injections = record::injections(run);
    let corrections: Vec<record::GuidanceRecord> =
        record::guidance(run).into_iter().filter(|entry| entry.kind == "correction").collect();
    let failures = if injections.is_empty() { Vec::new() } else { record::failures(run) };
    let mut counts: BTreeMap<LessonRef, Count> = BTreeMap::new();
    for injection in &injections {
        let soon = |at: Timestamp| {
            let passed = at.duration_since(injection.timestamp);
            passed >= SignedDuration::ZERO && passed <= COMPLAINT_WINDOW
        };
        let failed = failures.iter().any(|(at, file)| soon(*at) && same_file(file, &injection.file));
        for lesson in &injection.lessons {
            let pack = packs.get(&lesson.pack);
            let about = |entry: &record::GuidanceRecord| {
                let file =
                    entry.preceding_file.as_deref().is_some_and(|file| same_file(file, &injection.file));
                let category =
                    |category: &str| pack.map_or(category == lesson.pack, |pack| pack.has_category(category));
                // A correction with another category is not about this pack, even in the same file.
                entry.category.as_deref().map_or(file, category)
            };
            let corrected = corrections.iter().any(|entry| soon(entry.timestamp) && about(entry));
            let complaint = if corrected {
                1.0
            } else if failed {
                FAILURE_WEIGHT
            } else {
                0.0
            };
            // However often a session repeats a lesson, it is one experience with it.
            let count = counts.entry(lesson.clone()).or_default();
            count.injected = 1;
            count.corrected |= u64::from(corrected);
            count.complaints = count.complaints.max(complaint);
            count.last = count.last.max(Some(injection.timestamp));
        }
    }
    counts
}

/// Whether two paths name the same file: records have absolute paths and paths below the project.
fn same_file(one: &str, two: &str) -> bool {
    let below = |long: &str, short: &str| {
        !short.is_empty()
            && long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    below(one, two) || below(two, one)
}

/// The result of [`settle`].
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Settlement {
    pub outcomes: Vec<Outcome>,
    /// The number of changed lessons.
    pub written: usize,
}

/// Counts the outcomes of a run's lessons, and writes them into the packs.
///
/// # Errors
/// When a record or a pack cannot be written; the next call completes the work.
pub fn settle(run: &Path, packs: &Packs, redactor: &Arc<Redactor>) -> Result<Settlement, LessonsError> {
    let counts = correlate(run, packs);
    if counts.is_empty() {
        return Ok(Settlement::default());
    }
    let path = run.join(OUTCOMES);
    let mut ledger = Ledger::open(&path, Durability::Turn, redactor.clone())?;
    let before: Vec<Outcome> = file::lines_of(&path, u64::MAX - 1)
        .iter()
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let mut settled = Settlement::default();
    let mut by_pack: BTreeMap<&str, Vec<(&LessonRef, &Count)>> = BTreeMap::new();
    for (lesson, count) in &counts {
        by_pack.entry(&lesson.pack).or_default().push((lesson, count));
    }
    for (name, lessons) in by_pack {
        let Some(pack) = packs.get(name) else { continue };
        settle_pack(pack, &lessons, &before, &mut ledger, &mut settled)?;
    }
    Ok(settled)
}

fn settle_pack(
    pack: &Pack,
    lessons: &[(&LessonRef, &Count)],
    known: &[Outcome],
    ledger: &mut Ledger,
    settled: &mut Settlement,
) -> Result<(), LessonsError> {
    let path = pack.directory.join(LESSONS);
    let _lock = file::lock(&path)?;
    let mut lines = Lines::read(&path)?;
    let mut written = 0;
    for (lesson, count) in lessons {
        // The record is redacted, so its title may differ.
        let title = ledger.redactor().text(&lesson.title).into_owned();
        let own: Vec<&Outcome> =
            known.iter().filter(|line| line.pack == lesson.pack && line.lesson_title == title).collect();
        // The last settlement may have been interrupted between its record and the lesson.
        if let Some(Outcome { before: Some(before), after: Some(after), .. }) = own.last()
            && lines.find(&lesson.title).map(figures).as_ref() == Some(before)
            && before != after
        {
            written += usize::from(lines.set(&lesson.title, &fields(after)));
        }
        let new = Count {
            injected: count.injected.saturating_sub(own.iter().map(|line| line.injected).sum()),
            corrected: count
                .corrected
                .saturating_sub(own.iter().map(|line| line.followed_by_correction).sum()),
            complaints: (count.complaints - own.iter().map(|line| line.complaints).sum::<f64>()).max(0.0),
            last: count.last,
        };
        if new.injected == 0 && new.corrected == 0 && new.complaints < f64::EPSILON {
            continue;
        }
        let before = lines.find(&lesson.title).map(figures);
        let after = before.as_ref().map(|before| weigh(before, &new));
        let outcome = Outcome {
            timestamp: clock::now_stamp(),
            pack: lesson.pack.clone(),
            lesson_title: lesson.title.clone(),
            injected: new.injected,
            followed_by_correction: new.corrected,
            complaints: new.complaints,
            before,
            after: after.clone(),
        };
        ledger.append(&outcome)?;
        settled.outcomes.push(outcome);
        if let Some(after) = after {
            written += usize::from(lines.set(&lesson.title, &fields(&after)));
        }
    }
    ledger.sync()?;
    let change = lines.change();
    if !change.is_empty() {
        marvin_base::atomic::replace(&path, &change.after)?;
    }
    settled.written += written;
    Ok(())
}

fn figures(lesson: &crate::packs::LessonLine) -> Figures {
    Figures {
        utility_score: lesson.utility_score,
        injection_count: lesson.injection_count.unwrap_or(0),
        correction_count: lesson.correction_count.unwrap_or(0),
        last_injected: lesson.last_injected.clone(),
    }
}

fn fields(figures: &Figures) -> Map<String, Value> {
    let mut fields = Map::new();
    if let Some(utility) = figures.utility_score {
        fields.insert("utility_score".into(), utility.into());
    }
    fields.insert("injection_count".into(), figures.injection_count.into());
    fields.insert("correction_count".into(), figures.correction_count.into());
    if let Some(last) = &figures.last_injected {
        fields.insert("last_injected".into(), last.as_str().into());
    }
    fields
}

/// The figures after new injections and complaints.
fn weigh(before: &Figures, new: &Count) -> Figures {
    let last: Option<Timestamp> = before.last_injected.as_deref().and_then(|text| text.parse().ok());
    let newest = last.max(new.last);
    let days = match (last, newest) {
        (Some(last), Some(newest)) => newest.duration_since(last).as_secs_f64() / 86_400.0,
        _ => 0.0,
    };
    let utility =
        health::utility(before.utility_score, before.injection_count, days, new.injected, new.complaints);
    Figures {
        utility_score: Some(utility),
        injection_count: before.injection_count + new.injected,
        correction_count: before.correction_count + new.corrected,
        last_injected: newest.map(clock::stamp).or_else(|| before.last_injected.clone()),
    }
}

#[cfg(test)]
mod tests;
