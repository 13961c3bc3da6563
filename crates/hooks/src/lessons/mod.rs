//! The life of a lesson: said by a person ([`reflect`]), written into a pack by consent ([`Change`]), told, weighed by what
//! came of it ([`outcome`]), looked after ([`health`]), and in the end a guardrail or an archived line ([`evolve`]).
//!
//! Nothing but the weights of a lesson changes by itself. Whatever else is written is shown as a difference first.

pub mod evolve;
mod file;
pub mod health;
pub mod outcome;
pub mod record;
pub mod reflect;
pub mod teach;

pub use file::{Change, Lines};

/// The file of a pack's lessons.
pub const LESSONS: &str = "lessons.jsonl";
/// The file of a pack's rules.
pub const GUARDRAILS: &str = "guardrails.md";
/// Where lessons go that are no longer told.
pub const ARCHIVE: &str = "lessons.archive.jsonl";

/// A text as it is compared: words in small letters.
pub(crate) fn plain(text: &str) -> String {
    crate::packs::words(text).join(" ")
}

/// Does a text say what a lesson says already?
pub(crate) fn says_same(text: &str, lesson: &crate::packs::LessonLine) -> bool {
    let text = plain(text);
    let own = [Some(&lesson.title), Some(&lesson.actionable), lesson.context.as_ref()];
    !text.is_empty() && own.into_iter().flatten().any(|own| plain(own) == text)
}
