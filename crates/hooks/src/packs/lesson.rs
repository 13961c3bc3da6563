//! `lessons.jsonl`: one lesson a line. In memory only what is told of it is kept.

use super::problem::Problem;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Lessons of one pack that are read.
pub(super) const MAX_LESSONS: usize = 10_000;
/// Problems that are kept of one file.
const MAX_PROBLEMS: usize = 20;
/// Characters of a title and of what to do.
const TITLE: usize = 160;
const ACTIONABLE: usize = 600;
/// The utility of a lesson of which nothing is known yet.
pub const UNKNOWN: f64 = 0.5;

/// A lesson as it stands in the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LessonLine {
    /// When it was written.
    #[serde(default)]
    pub timestamp: String,
    /// The session that taught it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What it speaks of.
    #[serde(default)]
    pub category: String,
    /// Its name, unique within the pack.
    pub title: String,
    /// What it teaches.
    #[serde(default)]
    pub description: String,
    /// What to do.
    pub actionable: String,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// How well it works, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utility_score: Option<f64>,
    /// How often it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection_count: Option<u64>,
    /// How often a correction followed all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction_count: Option<u64>,
    /// When it was told last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_injected: Option<String>,
}

impl LessonLine {
    /// Reads one line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(line: &[u8]) -> Result<Self, String> {
        let lesson: LessonLine = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if lesson.title.trim().is_empty() {
            return Err("its title is empty".into());
        }
        if lesson.actionable.trim().is_empty() {
            return Err("it says nothing to do (actionable)".into());
        }
        Ok(lesson)
    }

    /// Its title as it is told and recorded: one line, not too long.
    #[must_use]
    pub fn name(&self) -> String {
        marvin_base::truncate::line(&self.title, TITLE)
    }

    /// Its utility, within bounds.
    #[must_use]
    pub fn utility(&self) -> f64 {
        self.utility_score.unwrap_or(UNKNOWN).clamp(0.0, 1.0)
    }
}

/// What is kept of a lesson: as little as possible, since a daemon holds thousands.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// Its name.
    pub title: Box<str>,
    /// What to do.
    pub actionable: Box<str>,
    /// What it speaks of; often empty.
    pub category: Box<str>,
    /// How well it works, from 0 to 1.
    pub utility: f32,
    /// A bit for each word of its title and category, so that most words that are not among them need not be looked for.
    marks: u64,
}

impl Lesson {
    /// Is this one of the words of its title or category?
    pub(super) fn has_word(&self, word: &str) -> bool {
        self.marks & mark(word) != 0
            && words(&self.title).chain(words(&self.category)).any(|other| other.eq_ignore_ascii_case(word))
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric())
}

/// The bit of a word.
fn mark(word: &str) -> u64 {
    1 << (super::number(word.bytes().map(|byte| byte.to_ascii_lowercase())) >> 58)
}

/// Reads the lessons of a file, best first; of equal ones the newest first. A line that cannot be read is a problem, and
/// the others stand.
pub(super) fn parse(bytes: &[u8], file: &Path) -> (Box<[Lesson]>, Vec<Problem>) {
    let mut lessons: Vec<Lesson> = Vec::new();
    let mut problems = Vec::new();
    let mut note = |field: String, what: String, mend: &str| {
        if problems.len() < MAX_PROBLEMS {
            problems.push(Problem::new(file, field, what, mend));
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
                let marks = words(&title).chain(words(&category)).fold(0, |marks, word| marks | mark(word));
                lessons.push(Lesson {
                    title: title.into(),
                    actionable: marvin_base::truncate::line(&lesson.actionable, ACTIONABLE).into(),
                    category: category.into(),
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "between 0 and 1, three decimals matter"
                    )]
                    utility: lesson.utility() as f32,
                    marks,
                });
            }
            Err(error) => note(
                format!("line {}", at + 1),
                format!("it is no lesson: {error}"),
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
    fn words_are_found_whole_and_in_any_case() {
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
        assert!(problems[0].to_string().starts_with("/x/lessons.jsonl: line 3: it is no lesson"));
    }
}
