//! Lessons of packs: proposed from guidance ([`reflect`]), written into a pack by consent ([`Change`]), injected, weighed by
//! their outcomes ([`outcome`]), reported on ([`health`]), and finally promoted to guardrails or archived ([`evolve`]).
//!
//! Only the weights of a lesson change automatically. Every other change is shown as a diff first.

mod error;
pub mod evolve;
mod file;
pub mod health;
pub mod outcome;
pub mod record;
pub mod reflect;
pub mod teach;

pub use error::LessonsError;
pub use file::{Change, Lines};

pub const LESSONS: &str = "lessons.jsonl";
pub const GUARDRAILS: &str = "guardrails.md";
/// Lessons that are not injected any more.
pub const ARCHIVE: &str = "lessons.archive.jsonl";

/// A text for comparisons: its words in lower case.
pub(crate) fn plain(text: &str) -> String {
    crate::packs::words(text).join(" ")
}

/// Whether a text says the same as a lesson.
pub(crate) fn says_same(text: &str, lesson: &crate::packs::LessonLine) -> bool {
    let text = plain(text);
    let own = [Some(&lesson.title), Some(&lesson.actionable), lesson.context.as_ref()];
    !text.is_empty() && own.into_iter().flatten().any(|own| plain(own) == text)
}
