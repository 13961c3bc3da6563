//! Promotion of good lessons to guardrails and archiving of stale ones, by consent of a person.

use super::error::LessonsError;
use super::file::{self, Change, Lines};
use super::{ARCHIVE, GUARDRAILS, LESSONS, plain};
use crate::packs::{LessonLine, Pack};
use jiff::{SignedDuration, Timestamp};
use marvin_base::clock;
use marvin_memory::lessons::health;
use serde::Serialize;
use serde_json::{Map, Value};

/// A lesson with at least this number of injections and [`PROMOTED_UTILITY`] is promoted.
pub const FREQUENT_INJECTIONS: u64 = health::FREQUENT_USES;
pub const PROMOTED_UTILITY: f64 = 0.8;
/// A lesson with [`FREQUENT_INJECTIONS`] and less than this utility should be rewritten.
pub const REWRITTEN_UTILITY: f64 = health::USELESS_UTILITY;
/// A lesson with fewer injections, and none within [`STALE_AFTER`], is stale.
pub const RARE_INJECTIONS: u64 = 3;
pub const STALE_AFTER: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The heading of rules that were lessons.
const HEADING: &str = "## Learned";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// To the guardrails.
    Promote,
    /// To the archive.
    Prune,
    /// By a person: it is injected often and does not help.
    Rewrite,
}

/// A proposed change of a lesson.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    pub title: String,
    pub actionable: String,
    pub fate: Fate,
    pub why: String,
}

/// The proposed change of a lesson, if any.
#[must_use]
pub fn judge(lesson: &LessonLine, now: Timestamp) -> Option<Verdict> {
    let told = lesson.injection_count.unwrap_or(0);
    let utility = lesson.utility();
    let last = lesson.last_injected.as_deref().unwrap_or(&lesson.timestamp);
    let idle = last.parse::<Timestamp>().ok().map(|last| now.duration_since(last));
    let (fate, why) = if told >= FREQUENT_INJECTIONS && utility >= PROMOTED_UTILITY {
        (Fate::Promote, format!("told {told} times, utility {utility:.2}"))
    } else if told >= FREQUENT_INJECTIONS && utility < REWRITTEN_UTILITY {
        (Fate::Rewrite, format!("told {told} times, and corrections followed: utility {utility:.2}"))
    } else if told < RARE_INJECTIONS && idle.is_some_and(|idle| idle > STALE_AFTER) {
        let days = idle.map_or(0, |idle| idle.as_hours() / 24);
        (Fate::Prune, format!("told {told} times, not for {days} days"))
    } else {
        return None;
    };
    Some(Verdict { title: lesson.name(), actionable: lesson.actionable.clone(), fate, why })
}

/// The proposed changes of one pack.
#[derive(Debug)]
pub struct Plan {
    pub pack: String,
    pub verdicts: Vec<Verdict>,
    /// In the order in which they are made: the archive first, so that no lesson is lost.
    pub changes: Vec<Change>,
}

/// Plans the changes of one pack.
pub fn plan(pack: &Pack, now: Timestamp) -> Result<Plan, LessonsError> {
    let mut lessons = Lines::read(&pack.directory.join(LESSONS))?;
    let mut archive = Lines::read(&pack.directory.join(ARCHIVE))?;
    let guardrails = pack.directory.join(GUARDRAILS);
    let before = file::read(&guardrails)?;
    let mut after = before.clone();
    let verdicts: Vec<Verdict> = lessons.lessons().filter_map(|lesson| judge(lesson, now)).collect();
    for verdict in verdicts.iter().filter(|verdict| verdict.fate != Fate::Rewrite) {
        let Some(line) = lessons.take(&verdict.title) else { continue };
        if archive.find(&verdict.title).is_none() {
            archive.append(&archived(line, verdict, now));
        }
        if verdict.fate == Fate::Promote {
            add_rule(&mut after, &verdict.actionable);
        }
    }
    let mut changes = vec![archive.change(), Change { path: guardrails, before, after }, lessons.change()];
    changes.retain(|change| !change.is_empty());
    Ok(Plan { pack: pack.name().to_string(), verdicts, changes })
}

fn archived(mut line: Map<String, Value>, verdict: &Verdict, now: Timestamp) -> Value {
    let reason = match verdict.fate {
        Fate::Promote => "promoted to guardrails.md",
        Fate::Prune | Fate::Rewrite => "stale",
    };
    line.insert("archived_at".into(), clock::stamp(now).into());
    line.insert("archived_because".into(), format!("{reason}: {}", verdict.why).into());
    Value::Object(line)
}

/// Adds a rule under its heading, unless it exists.
fn add_rule(text: &mut Vec<u8>, rule: &str) {
    let rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
    let there = String::from_utf8_lossy(text);
    if there.lines().any(|line| plain(line) == plain(&rule)) {
        return;
    }
    let headed = there.lines().any(|line| line.trim() == HEADING);
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    if !headed {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.extend_from_slice(format!("{gap}{HEADING}\n").as_bytes());
    }
    text.extend_from_slice(format!("- {rule}\n").as_bytes());
}
