//! Lessons that grew up become guardrails, and lessons that nobody needs go to the archive. Only by consent.

use super::file::{self, Change, Lines};
use super::{ARCHIVE, GUARDRAILS, LESSONS, plain};
use crate::packs::{LessonLine, Pack};
use jiff::{SignedDuration, Timestamp};
use marvin_base::clock;
use serde::Serialize;
use serde_json::{Map, Value};

/// Told at least so often, with at least this utility, a lesson is a rule.
pub const TOLD_OFTEN: u64 = 5;
/// See [`TOLD_OFTEN`].
pub const USEFUL: f64 = 0.8;
/// Told so often with less than this, a lesson does not help as it stands.
pub const USELESS: f64 = 0.3;
/// Told less than this, and not for so long, a lesson is stale.
pub const TOLD_SELDOM: u64 = 3;
/// See [`TOLD_SELDOM`].
pub const STALE: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The heading of rules that were lessons.
const HEADING: &str = "## Learned";

/// What should become of a lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It becomes a guardrail.
    Promote,
    /// It goes to the archive.
    Prune,
    /// It is told often and does not help: somebody should write it anew.
    Rewrite,
}

/// A lesson and what should become of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The lesson.
    pub title: String,
    /// What to do.
    pub actionable: String,
    /// What should become of it.
    pub fate: Fate,
    /// Why.
    pub why: String,
}

/// What should become of a lesson, if anything should.
#[must_use]
pub fn judge(lesson: &LessonLine, now: Timestamp) -> Option<Verdict> {
    let told = lesson.injection_count.unwrap_or(0);
    let utility = lesson.utility();
    let last = lesson.last_injected.as_deref().unwrap_or(&lesson.timestamp);
    let idle = last.parse::<Timestamp>().ok().map(|last| now.duration_since(last));
    let (fate, why) = if told >= TOLD_OFTEN && utility >= USEFUL {
        (Fate::Promote, format!("told {told} times, utility {utility:.2}"))
    } else if told >= TOLD_OFTEN && utility < USELESS {
        (Fate::Rewrite, format!("told {told} times, and corrections followed: utility {utility:.2}"))
    } else if told < TOLD_SELDOM && idle.is_some_and(|idle| idle > STALE) {
        let days = idle.map_or(0, |idle| idle.as_hours() / 24);
        (Fate::Prune, format!("told {told} times, not for {days} days"))
    } else {
        return None;
    };
    Some(Verdict { title: lesson.name(), actionable: lesson.actionable.clone(), fate, why })
}

/// What evolving a pack would do.
#[derive(Debug)]
pub struct Plan {
    /// The pack.
    pub pack: String,
    /// What should become of which lessons.
    pub verdicts: Vec<Verdict>,
    /// The changes, in the order in which they are made: the archive first, so that nothing is lost on the way.
    pub changes: Vec<Change>,
}

impl Plan {
    /// Makes the changes.
    ///
    /// # Errors
    /// When one of the files was changed meanwhile, or cannot be written.
    pub fn write(&self) -> Result<(), String> {
        self.changes.iter().try_for_each(Change::write)
    }
}

/// Plans for one pack.
///
/// # Errors
/// When its files cannot be read.
pub fn plan(pack: &Pack, now: Timestamp) -> Result<Plan, String> {
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

/// Adds a rule under its heading, unless the rules say it already.
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
