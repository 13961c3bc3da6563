//! Candidates for lessons from the guidance in sessions; a person promotes them.

use super::error::LessonsError;
use super::file::{self, Change, Lines};
use super::{ARCHIVE, LESSONS, plain, record, says_same};
use crate::packs::{LessonLine, Pack, Packs};
use jiff::Timestamp;
use marvin_base::redact::Redactor;
use marvin_base::{clock, signature, truncate};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAX_TITLE_WORDS: usize = 9;
const MAX_ACTIONABLE_CHARS: usize = 400;
const MAX_CONTENT_CHARS: usize = 1_000;
const MAX_CANDIDATES: usize = 500;

/// Guidance that could become a lesson.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// The same for the same words.
    pub id: String,
    /// `correction` or `direction`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The person's words.
    pub content: String,
    pub category: Option<String>,
    /// The pack with this category.
    pub pack: Option<String>,
    /// A suggestion of fewer than ten words.
    pub title: String,
    pub description: String,
    pub actionable: String,
    pub frequency: usize,
    /// The highest confidence that it was guidance.
    pub confidence: f64,
    pub runs: Vec<String>,
    /// The last time that it was said.
    pub last: String,
}

/// Records with the same words, each with its run.
type Group = Vec<(String, record::GuidanceRecord)>;

/// The candidates of all runs, most frequent first, then newest.
#[must_use]
pub fn candidates(runs: &Path, packs: &Packs) -> Vec<Candidate> {
    candidates_in(record::sessions(runs), packs)
}

/// The number of candidates of the last session before the run `current`.
#[must_use]
pub fn count_in_last_session(runs: &Path, current: &str, packs: &Packs) -> usize {
    let last = record::last_session(runs, current);
    candidates_in(last.into_iter().collect(), packs).len()
}

fn candidates_in(sessions: Vec<PathBuf>, packs: &Packs) -> Vec<Candidate> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for run in sessions {
        for entry in record::guidance(&run) {
            let key = plain(&entry.content);
            if matches!(entry.kind.as_str(), "correction" | "direction") && says_something(&entry.content) {
                groups.entry(key).or_default().push((record::id(&run), entry));
            }
        }
    }
    let known: Vec<ExistingLesson> = packs.all().iter().flat_map(ExistingLesson::load_from_pack).collect();
    let mut candidates: Vec<(Timestamp, Candidate)> = groups
        .into_iter()
        .filter_map(|(key, group)| candidate(&key, &group, packs))
        .filter(|(last, candidate)| !known.iter().any(|known| known.covers(candidate, *last)))
        .collect();
    candidates.sort_by(|(one_at, one), (two_at, two)| {
        two.frequency.cmp(&one.frequency).then(two_at.cmp(one_at)).then_with(|| one.id.cmp(&two.id))
    });
    candidates.into_iter().map(|(_, candidate)| candidate).take(MAX_CANDIDATES).collect()
}

/// A lesson of a pack or of its archive.
struct ExistingLesson {
    lesson: LessonLine,
    /// An archived lesson covers only earlier guidance.
    until: Option<Timestamp>,
}

impl ExistingLesson {
    fn load_from_pack(pack: &Arc<Pack>) -> Vec<ExistingLesson> {
        let lines = |name: &str| Lines::read(&pack.directory.join(name)).ok();
        let there = lines(LESSONS).into_iter().flat_map(|lines| {
            lines
                .lessons()
                .map(|lesson| ExistingLesson { lesson: lesson.clone(), until: None })
                .collect::<Vec<_>>()
        });
        let archived = file::lines_of(&pack.directory.join(ARCHIVE), 16 * 1024 * 1024);
        let archived = archived.into_iter().filter_map(|line| {
            let value: Value = serde_json::from_slice(&line).ok()?;
            let until = value.get("archived_at").and_then(Value::as_str)?.parse().ok()?;
            Some(ExistingLesson { lesson: LessonLine::read(&line).ok()?, until: Some(until) })
        });
        there.chain(archived).collect()
    }

    fn covers(&self, candidate: &Candidate, last: Timestamp) -> bool {
        let same = [&candidate.content, &candidate.title, &candidate.actionable];
        self.until.is_none_or(|until| last <= until) && same.iter().any(|text| says_same(text, &self.lesson))
    }
}

fn candidate(key: &str, group: &Group, packs: &Packs) -> Option<(Timestamp, Candidate)> {
    let (run, newest) = group.iter().max_by_key(|(_, entry)| entry.timestamp)?;
    let category = group.iter().rev().find_map(|(_, entry)| entry.category.clone());
    let pack = category.as_deref().and_then(|category| {
        let named = packs.get(category);
        named.or_else(|| packs.all().iter().find(|pack| pack.has_category(category)))
    });
    let mut runs: Vec<String> = group.iter().map(|(run, _)| run.clone()).collect();
    runs.sort();
    runs.dedup();
    let (title, actionable) = suggest(&newest.content);
    let times = match group.len() {
        1 => "Said once".to_string(),
        count => format!("Said {count} times"),
    };
    let file = newest.preceding_file.as_deref().map(|file| format!(" about {file}")).unwrap_or_default();
    let candidate = Candidate {
        id: signature::hash_bytes(key.as_bytes()).chars().take(8).collect(),
        kind: newest.kind.clone(),
        content: truncate::head(&newest.content, MAX_CONTENT_CHARS),
        category,
        pack: pack.map(|pack| pack.name().to_string()),
        title,
        description: format!("{times}, last in {run}{file}"),
        actionable,
        frequency: group.len(),
        confidence: group.iter().map(|(_, entry)| entry.confidence).fold(0.0, f64::max),
        runs,
        last: clock::stamp(newest.timestamp),
    };
    Some((newest.timestamp, candidate))
}

/// Words that reject something without saying what to do.
const EMPTY_WORDS: [&str; 62] = [
    "a",
    "again",
    "all",
    "and",
    "answer",
    "approach",
    "are",
    "at",
    "bad",
    "better",
    "but",
    "completely",
    "did",
    "didnt",
    "do",
    "does",
    "doesnt",
    "done",
    "dont",
    "good",
    "how",
    "i",
    "incorrect",
    "is",
    "isnt",
    "it",
    "its",
    "just",
    "like",
    "meant",
    "no",
    "nope",
    "not",
    "plain",
    "please",
    "quite",
    "really",
    "redo",
    "right",
    "so",
    "still",
    "stop",
    "that",
    "thats",
    "the",
    "these",
    "thing",
    "this",
    "those",
    "totally",
    "try",
    "undo",
    "very",
    "want",
    "wanted",
    "was",
    "way",
    "what",
    "work",
    "works",
    "wrong",
    "you",
];

/// Whether a correction says more than that something is wrong.
fn says_something(content: &str) -> bool {
    let words = content.split(|char: char| !char.is_alphanumeric() && !"'’".contains(char));
    let plain = |word: &str| word.replace(['\'', '’'], "").to_lowercase();
    words.map(plain).any(|word| !word.is_empty() && !EMPTY_WORDS.contains(&word.as_str()))
}

/// A title and an instruction from a person's words, without the "no" before them.
fn suggest(content: &str) -> (String, String) {
    const LEADING: [&str; 19] = [
        "no",
        "nope",
        "nah",
        "please",
        "actually",
        "ok",
        "okay",
        "but",
        "and",
        "wait",
        "hmm",
        "sorry",
        "well",
        "yes",
        "thanks",
        "also",
        "from now on",
        "going forward",
        "wrong",
    ];
    let flat = content.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rest = flat.as_str();
    'strip: loop {
        for word in LEADING {
            let after = rest.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word));
            let after = after.and_then(|_| rest.get(word.len()..));
            // A whole word, and something after it.
            if let Some(after) = after.filter(|after| after.starts_with([' ', ',', '.', '!', ':', ';'])) {
                let after = after.trim_start_matches([' ', ',', '.', '!', ':', ';', '-']);
                if !after.is_empty() {
                    rest = after;
                    continue 'strip;
                }
            }
        }
        break;
    }
    let mut characters = rest.chars();
    let first: String = characters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let text = first + characters.as_str();
    let sentence =
        text.split_inclusive(['.', '!', '?', ';']).find(|part| part.contains(' ')).unwrap_or(&text);
    let mut words: Vec<&str> = sentence.split(' ').filter(|word| !word.is_empty()).collect();
    words.truncate(MAX_TITLE_WORDS);
    let title = words.join(" ");
    let title = title.trim_end_matches(['.', '!', ',', ';', ':']).to_string();
    (truncate::line(&title, 100), truncate::line(&text, MAX_ACTIONABLE_CHARS))
}

/// Changes to a candidate before it becomes a lesson.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    pub pack: Option<String>,
    pub title: Option<String>,
    pub actionable: Option<String>,
}

/// The changes that turn candidates into lessons, one per file.
///
/// # Errors
/// When a candidate has no pack, or its pack cannot be read.
pub fn promote(
    chosen: &[Candidate],
    edit: &Edit,
    packs: &Packs,
    redactor: &Redactor,
) -> Result<Vec<Change>, LessonsError> {
    let mut files: BTreeMap<PathBuf, Lines> = BTreeMap::new();
    for candidate in chosen {
        let name = edit.pack.as_ref().or(candidate.pack.as_ref()).ok_or_else(|| LessonsError::NoPack {
            id: candidate.id.clone(),
            title: candidate.title.clone(),
        })?;
        let pack = packs
            .get(name)
            .ok_or_else(|| LessonsError::UnknownPack { name: name.clone(), near: String::new() })?;
        let path = pack.directory.join(LESSONS);
        if !files.contains_key(&path) {
            files.insert(path.clone(), Lines::read(&path)?);
        }
        let Some(lines) = files.get_mut(&path) else { continue };
        let category =
            candidate.category.as_deref().filter(|category| pack.has_category(category)).unwrap_or(name);
        let lesson = LessonLine {
            timestamp: clock::now_stamp(),
            run_id: candidate.runs.last().cloned(),
            category: category.to_string(),
            title: edit.title.as_ref().unwrap_or(&candidate.title).clone(),
            description: candidate.description.clone(),
            actionable: edit.actionable.as_ref().unwrap_or(&candidate.actionable).clone(),
            context: Some(candidate.content.clone()),
            ..LessonLine::default()
        };
        lines.append_lesson(&lesson, redactor);
    }
    Ok(files.values().map(Lines::change).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d1_a_correction_that_says_nothing_is_no_candidate() {
        for text in [
            "That is wrong",
            "no, that's not right!",
            "No. Not what I wanted.",
            "Wrong again",
            "It doesn’t work",
            "",
        ] {
            assert!(!says_something(text), "{text}");
        }
        for text in ["no, use pnpm", "That is wrong: tests belong into tests/", "Never again with mocks"] {
            assert!(says_something(text), "{text}");
        }
        assert!(EMPTY_WORDS.is_sorted());
    }

    #[test]
    fn titles_are_short_instructions() {
        for (text, title, actionable) in [
            ("No, use pnpm instead of npm", "Use pnpm instead of npm", "Use pnpm instead of npm"),
            ("no. no! Don't mock.  The database is fast.", "Don't mock", "Don't mock. The database is fast."),
            ("From now on, please write tests first", "Write tests first", "Write tests first"),
            ("no", "No", "No"),
            ("no,", "No", "No,"),
            ("nothing else matters here", "Nothing else matters here", "Nothing else matters here"),
            (
                "always close every single file handle that you open in a loop or elsewhere",
                "Always close every single file handle that you open",
                "Always close every single file handle that you open in a loop or elsewhere",
            ),
            ("é", "É", "É"),
        ] {
            assert_eq!(suggest(text), (title.to_string(), actionable.to_string()), "{text}");
            assert!(suggest(text).0.split(' ').count() < 10);
        }
    }
}
