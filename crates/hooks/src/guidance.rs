//! Classification of prompts: corrections, directions, the start and the end of a task.
//!
//! Only text that the person typed counts, without notices of the client, commands, quotations and code. A prompt is
//! classified sentence by sentence, by words, without regexes; a question is never a correction. Order: correction,
//! direction, start, end, approval, rejection.
//!
//! Limits: English, and the first sentences of a prompt. In doubt nothing is found: a missed correction costs less than a
//! request that becomes a lesson. The tests state precision and recall.

mod category;
mod phrases;
mod sentence;

use crate::packs::Packs;
use sentence::{Sentence, sentences};
use serde::{Deserialize, Serialize};

/// A shorter correction after an injection is certain.
const SHORT_CHARS: usize = 50;

/// The class of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The agent did, or is about to do, the wrong thing.
    Correction,
    /// A rule that holds from now on.
    Direction,
    TaskStart,
    TaskEnd,
    Approval,
    /// A no without an alternative.
    Rejection,
}

impl Kind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Correction => "correction",
            Kind::Direction => "direction",
            Kind::TaskStart => "task_start",
            Kind::TaskEnd => "task_end",
            Kind::Approval => "approval",
            Kind::Rejection => "rejection",
        }
    }

    /// Whether it is recorded, and may become a lesson.
    #[must_use]
    pub fn is_kept(self) -> bool {
        matches!(self, Kind::Correction | Kind::Direction)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Guidance {
    pub kind: Kind,
    /// From 0 to 1.
    pub confidence: f64,
    /// A category or the name of an existing pack.
    pub category: Option<String>,
}

/// Classifies a prompt; `injected_before`: whether packs were injected in this session.
#[must_use]
pub fn classify(prompt: &str, packs: &Packs, injected_before: bool) -> Option<Guidance> {
    let text = prompt.trim();
    if text.chars().nth(2).is_none() || is_synthetic(text) {
        // Two letters can still be an answer.
        let kind = if text.eq_ignore_ascii_case("no") { Kind::Rejection } else { return None };
        return Some(Guidance { kind, confidence: 0.5, category: None });
    }
    let kind = kind(&sentences(text))?;
    let confidence = match kind {
        Kind::Correction if injected_before && text.chars().count() < SHORT_CHARS => 0.9,
        Kind::Correction => 0.8,
        Kind::Direction => 0.6,
        Kind::TaskStart | Kind::TaskEnd | Kind::Approval | Kind::Rejection => 0.5,
    };
    let category = kind.is_kept().then(|| category::detect(text, packs)).flatten();
    Some(Guidance { kind, confidence, category })
}

/// The category of a text, or the name of an existing pack.
#[must_use]
pub fn category(text: &str, packs: &Packs) -> Option<String> {
    category::detect(text, packs)
}

/// Whether the client wrote this in the person's name.
#[must_use]
pub fn is_synthetic(prompt: &str) -> bool {
    let text = prompt.trim_start();
    if let Some(rest) = text.strip_prefix('<') {
        // Notices are tags with a composed name (`<task-notification>`, `<ide_selection>`); HTML has none of these.
        let name: String =
            rest.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).take(60).collect();
        let known = ["instructions", "skill", "hook", "context", "output"];
        return name.contains(['-', '_']) || known.iter().any(|known| name.eq_ignore_ascii_case(known));
    }
    if let Some(rest) = text.strip_prefix('/') {
        // A command; `/etc/hosts` is a path.
        let name = rest.split_whitespace().next().unwrap_or_default();
        return !name.is_empty() && !name.contains('/') && !name.contains('.');
    }
    let begins = [
        "[Request interrupted",
        "[Image",
        "Caveat: The messages below",
        "This session is being continued",
        "Stop hook feedback",
        "# AGENTS.md instructions",
        "Your task is to create a detailed summary",
        "!",
    ];
    begins.iter().any(|begin| text.starts_with(begin))
}

fn kind(sentences: &[Sentence]) -> Option<Kind> {
    let first = sentences.first()?;
    let task = first.is_task();
    // "No. The tests belong into tests/."
    if first.is_no() && sentences.get(1).is_some_and(Sentence::states) {
        return Some(Kind::Correction);
    }
    let mut direction = false;
    for (at, sentence) in sentences.iter().enumerate() {
        let corrects = match (at, task) {
            (0, true) => sentence.corrects_within_task(),
            (_, true) => false,
            _ => sentence.corrects(),
        };
        if corrects {
            return Some(Kind::Correction);
        }
        direction |= sentence.directs(task, at == 0);
    }
    if direction {
        return Some(Kind::Direction);
    }
    if task || sentences.iter().take(2).any(Sentence::is_task) {
        return Some(Kind::TaskStart);
    }
    first.attitude(sentences.len() == 1)
}

#[cfg(test)]
mod tests;
