//! Lessons written by a person.

use super::error::LessonsError;
use super::file::{Change, Lines};
use super::{LESSONS, plain, says_same};
use crate::packs::{LessonLine, Packs};
use marvin_base::clock;
use marvin_base::diff::similarity;
use marvin_base::redact::Redactor;

/// The similarity from which on two texts say the same.
const MIN_SIMILARITY: f32 = 0.85;

#[derive(Debug, Clone, Default)]
pub struct NewLesson {
    pub pack: String,
    pub title: String,
    pub actionable: String,
    pub description: String,
    /// By default the pack's name.
    pub category: Option<String>,
    /// Write it even if a similar one exists.
    pub force: bool,
}

/// The change that adds a lesson.
///
/// # Errors
/// When the pack is unknown, a field is empty, or the pack has such a lesson.
pub fn teach(taught: &NewLesson, packs: &Packs, redactor: &Redactor) -> Result<Change, LessonsError> {
    let name = &taught.pack;
    let pack = packs.get(name).ok_or_else(|| {
        let near = marvin_base::settings::nearest_of(name, packs.all().iter().map(|pack| pack.name()));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        LessonsError::UnknownPack { name: name.clone(), near }
    })?;
    for (what, text) in [("title", &taught.title), ("--actionable", &taught.actionable)] {
        if text.trim().is_empty() {
            return Err(LessonsError::Empty(what));
        }
    }
    let mut lines = Lines::read(&pack.directory.join(LESSONS))?;
    let alike = |one: &str, two: &str| {
        let (one, two) = (plain(one), plain(two));
        similarity(&with_blanks(&one), &with_blanks(&two)) >= MIN_SIMILARITY
    };
    let same = lines.lessons().find(|lesson| plain(&lesson.title) == plain(&taught.title));
    if let Some(same) = same {
        return Err(LessonsError::Duplicate(format!(
            "the pack `{name}` has a lesson with this title: {}\n  hint: choose another title, or change the line in {}",
            same.actionable,
            pack.directory.join(LESSONS).display()
        )));
    }
    let near = lines.lessons().find(|lesson| {
        says_same(&taught.actionable, lesson) || alike(&lesson.actionable, &taught.actionable)
    });
    if let (Some(near), false) = (near, taught.force) {
        return Err(LessonsError::Duplicate(format!(
            "the pack `{name}` has a lesson that says much the same, `{}`: {}\n  hint: --force writes it all the same",
            near.name(),
            near.actionable
        )));
    }
    let lesson = LessonLine {
        timestamp: clock::now_stamp(),
        category: taught.category.as_deref().unwrap_or(name).to_lowercase(),
        title: taught.title.trim().to_string(),
        description: taught.description.trim().to_string(),
        actionable: taught.actionable.trim().to_string(),
        ..LessonLine::default()
    };
    lines.append_lesson(&lesson, redactor);
    Ok(lines.change())
}

/// Words and the blanks between them, which count as parts of a sentence too.
fn with_blanks(text: &str) -> Vec<&str> {
    text.split(' ').flat_map(|word| [word, " "]).collect()
}
