//! Lessons of a pack: one per line of `lessons.jsonl`. Memory keeps only the parts that are injected.

use super::problem::Problem;
use marvin_memory::lessons::health::UNKNOWN_UTILITY;
use serde::{Deserialize, Serialize};
use std::path::Path;

pub(super) const MAX_LESSONS: usize = 10_000;
/// Problems of one file that are reported.
const MAX_PROBLEMS: usize = 20;
const MAX_TITLE_CHARS: usize = 160;
const MAX_ACTIONABLE_CHARS: usize = 600;

/// A line of `lessons.jsonl`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LessonLine {
    #[serde(default)]
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(default)]
    pub category: String,
    /// Unique within the pack.
    pub title: String,
    #[serde(default)]
    pub description: String,
    /// The instruction for the agent.
    pub actionable: String,
    /// The words that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utility_score: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection_count: Option<u64>,
    /// The number of injections that a correction followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_injected: Option<String>,
}

/// The reason why a line is not a lesson.
#[derive(Debug, thiserror::Error)]
pub enum LessonLineError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("its title is empty")]
    EmptyTitle,
    #[error("it says nothing to do (actionable)")]
    EmptyActionable,
}

impl LessonLine {
    /// Parses one line.
    ///
    /// # Errors
    /// When it is not JSON, or a required field is empty.
    pub fn read(line: &[u8]) -> Result<Self, LessonLineError> {
        let lesson: LessonLine = serde_json::from_slice(line)?;
        if lesson.title.trim().is_empty() {
            return Err(LessonLineError::EmptyTitle);
        }
        if lesson.actionable.trim().is_empty() {
            return Err(LessonLineError::EmptyActionable);
        }
        Ok(lesson)
    }

    /// Its title on one line, cut, as it is injected and recorded.
    #[must_use]
    pub fn name(&self) -> String {
        marvin_base::truncate::line(&self.title, MAX_TITLE_CHARS)
    }

    #[must_use]
    pub fn utility(&self) -> f64 {
        self.utility_score.unwrap_or(UNKNOWN_UTILITY).clamp(0.0, 1.0)
    }
}

/// A lesson in memory: as small as possible, since a daemon holds thousands.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    pub title: Box<str>,
    pub actionable: Box<str>,
    /// Often empty.
    pub category: Box<str>,
    /// From 0 to 1.
    pub utility: f32,
}

impl Lesson {
    /// Whether its title or category has this word.
    pub(super) fn has_word(&self, word: &str) -> bool {
        words(&self.title).chain(words(&self.category)).any(|other| other.eq_ignore_ascii_case(word))
    }
}

/// The words and categories of a pack's lessons, by hash, so that a word is not searched for in every lesson.
#[derive(Debug, Default)]
pub(super) struct WordIndex {
    /// Hashes with the positions of lessons, sorted.
    entries: Box<[(u32, u32)]>,
}

impl WordIndex {
    pub(super) fn new(lessons: &[Lesson]) -> Self {
        let mut entries: Vec<(u32, u32)> = (0..)
            .zip(lessons)
            .flat_map(|(position, lesson)| {
                let words = words(&lesson.title).chain(words(&lesson.category)).chain([&*lesson.category]);
                words.map(move |word| (hash(word), position))
            })
            .collect();
        entries.sort_unstable();
        entries.dedup();
        WordIndex { entries: entries.into() }
    }

    /// The positions of lessons that may have one of these words or categories, ascending.
    pub(super) fn find<'a>(&self, words: impl Iterator<Item = &'a str>) -> Vec<usize> {
        let mut found = Vec::new();
        for word in words {
            let wanted = hash(word);
            let start = self.entries.partition_point(|(hash, _)| *hash < wanted);
            let same = self.entries.iter().skip(start).take_while(|(hash, _)| *hash == wanted);
            found.extend(same.map(|(_, position)| *position as usize));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric())
}

/// The hash of a word, whose ASCII letters may be of either case.
fn hash(word: &str) -> u32 {
    (super::number(word.bytes().map(|byte| byte.to_ascii_lowercase())) >> 32) as u32
}

/// Parses the lessons of a file, best first; among equal ones the newest first. A bad line is a problem, and the others
/// are used.
pub(super) fn parse(bytes: &[u8], file: &Path) -> (Box<[Lesson]>, Vec<Problem>) {
    let mut lessons: Vec<Lesson> = Vec::new();
    let mut problems = Vec::new();
    let mut note = |field: String, what: String, hint: &str| {
        if problems.len() < MAX_PROBLEMS {
            problems.push(Problem::new(file, field, what, hint));
        }
    };
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if lessons.len() == MAX_LESSONS {
            note(
                String::new(),
                format!("it holds more than {MAX_LESSONS} lessons"),
                "`marvin lessons evolve` prunes",
            );
            break;
        }
        match LessonLine::read(line) {
            Ok(lesson) => {
                let (title, category) = (lesson.name(), lesson.category.trim().to_lowercase());
                lessons.push(Lesson {
                    title: title.into(),
                    actionable: marvin_base::truncate::line(&lesson.actionable, MAX_ACTIONABLE_CHARS).into(),
                    category: category.into(),
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "between 0 and 1, three decimals matter"
                    )]
                    utility: lesson.utility() as f32,
                });
            }
            Err(error) => note(
                format!("line {}", at + 1),
                format!("it is not a lesson: {error}"),
                "a lesson is one line: {\"title\": \"…\", \"actionable\": \"…\", \"category\": \"…\"}",
            ),
        }
    }
    lessons.reverse();
    lessons.sort_by(|one, two| two.utility.total_cmp(&one.utility));
    (lessons.into_boxed_slice(), problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_match_in_any_case() {
        let line = r#"{"title": "Große Namen: Never-Log tokens", "actionable": "x", "category": "Security"}"#;
        let (lessons, _) = parse(line.as_bytes(), Path::new("l"));
        for (word, there) in [
            ("never", true),
            ("LOG", true),
            ("große", true),
            ("security", true),
            ("nev", false),
            ("logs", false),
            ("x", false),
        ] {
            assert_eq!(lessons[0].has_word(word), there, "{word}");
            assert_eq!(!WordIndex::new(&lessons).find([word].into_iter()).is_empty(), there, "{word}");
        }
    }

    #[test]
    fn good_lines_stand_beside_bad_ones() {
        let text = b"{\"title\": \"a\", \"actionable\": \"do\"}\n\nnonsense\n\xff\xfe\n{\"title\": \"b\"}\n\
            {\"title\": \"b\", \"actionable\": \"do\\nthis\", \"utility_score\": 7, \"more\": 1}\n\
            {\"title\": \"c\", \"actionable\": \"x\", \"category\": \"Testing\"}";
        let (lessons, problems) = parse(text, Path::new("/x/lessons.jsonl"));
        let titles: Vec<&str> = lessons.iter().map(|lesson| &*lesson.title).collect();
        assert_eq!(titles, ["b", "c", "a"]);
        assert_eq!((&*lessons[0].actionable, lessons[0].utility), ("do this", 1.0));
        assert_eq!(&*lessons[1].category, "testing");
        assert_eq!(problems.len(), 3);
        assert!(problems[0].to_string().starts_with("/x/lessons.jsonl: line 3: it is not a lesson"));
    }
}
