//! A lesson that a person writes.

use super::file::{Change, Lines};
use super::{LESSONS, plain, says_same};
use crate::packs::Packs;
use marvin_base::clock;
use marvin_base::redact::Redactor;
use serde_json::json;

/// Two texts that are this much alike say the same.
const ALIKE: f32 = 0.85;

/// What is to be taught.
#[derive(Debug, Clone, Default)]
pub struct NewLesson {
    /// The pack.
    pub pack: String,
    /// Its name.
    pub title: String,
    /// What to do.
    pub actionable: String,
    /// What it teaches.
    pub description: String,
    /// What it speaks of; unset: the pack's name.
    pub category: Option<String>,
    /// Write it though there is one that is alike.
    pub force: bool,
}

/// The change that teaches it.
///
/// # Errors
/// When there is no such pack, something is missing, or the pack has such a lesson.
pub fn teach(taught: &NewLesson, packs: &Packs, redactor: &Redactor) -> Result<Change, String> {
    let name = &taught.pack;
    let pack = packs.get(name).ok_or_else(|| {
        let near = marvin_base::settings::nearest_of(name, packs.all().iter().map(|pack| pack.name()));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("there is no pack `{name}`{near}\n  hint: `marvin packs list` shows them, `marvin packs new {name}` makes one")
    })?;
    for (what, text) in [("title", &taught.title), ("--actionable", &taught.actionable)] {
        if text.trim().is_empty() {
            return Err(format!(
                "{what} is empty\n  hint: marvin lessons teach PACK TITLE --actionable 'what to do'"
            ));
        }
    }
    let mut lines = Lines::read(&pack.directory.join(LESSONS))?;
    let alike = |one: &str, two: &str| similar::TextDiff::from_words(plain(one), plain(two)).ratio() >= ALIKE;
    let same = lines.lessons().find(|lesson| plain(&lesson.title) == plain(&taught.title));
    if let Some(same) = same {
        return Err(format!(
            "the pack `{name}` has a lesson with this title: {}\n  hint: choose another title, or change the line in {}",
            same.actionable,
            pack.directory.join(LESSONS).display()
        ));
    }
    let near = lines.lessons().find(|lesson| {
        says_same(&taught.actionable, lesson) || alike(&lesson.actionable, &taught.actionable)
    });
    if let (Some(near), false) = (near, taught.force) {
        return Err(format!(
            "the pack `{name}` has a lesson that says much the same, `{}`: {}\n  hint: --force writes it all the same",
            near.name(),
            near.actionable
        ));
    }
    let mut lesson = json!({
        "timestamp": clock::now_stamp(),
        "category": taught.category.as_deref().unwrap_or(name).to_lowercase(),
        "title": taught.title.trim(),
        "description": taught.description.trim(),
        "actionable": taught.actionable.trim(),
    });
    redactor.value(&mut lesson);
    lines.append(&lesson);
    Ok(lines.change())
}
