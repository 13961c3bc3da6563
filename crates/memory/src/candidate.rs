//! Candidates for the long-term memory, proposed by a model, by practice or by a person.
//!
//! A candidate has no effect before a person approves it. This module is the one list of its fields: commands, tools and
//! pages make candidates with [`Candidate::new`] and change them with [`CandidateEdit`].

use marvin_base::redact::Redactor;
use marvin_base::{signature, truncate};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longer texts are documents, not memories.
pub const MAX_TEXT_CHARS: usize = 2_000;
const MAX_REASON_CHARS: usize = 300;
const MAX_TAGS: usize = 16;
const MAX_TAG_CHARS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// A like or a wish of a person.
    Preference,
    Fact,
    /// A way to do something; shown to the model, never executed.
    Procedure,
    ProjectDecision,
    /// A person's way to play Magic.
    MtgProfile,
    /// A lesson from a game of Magic.
    MtgLesson,
}

impl Type {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Type::Preference => "preference",
            Type::Fact => "fact",
            Type::Procedure => "procedure",
            Type::ProjectDecision => "project_decision",
            Type::MtgProfile => "mtg_profile",
            Type::MtgLesson => "mtg_lesson",
        }
    }
}

/// The origin of a candidate's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The person said it, in the turn that the proposal names.
    UserSaid,
    /// The model concluded it.
    AssistantInferred,
    /// A tool, a file or a page said it.
    ToolOutput,
}

impl Source {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Source::UserSaid => "user_said",
            Source::AssistantInferred => "assistant_inferred",
            Source::ToolOutput => "tool_output",
        }
    }
}

/// A proposal for the long-term memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub text: String,
    #[serde(rename = "type")]
    pub kind: Type,
    #[serde(default)]
    pub tags: Vec<String>,
    /// Days until it is no longer true; `None`: for good.
    #[serde(default)]
    pub ttl_days: Option<u32>,
    pub source: Source,
    /// One line: why it is worth remembering.
    #[serde(rename = "why_store")]
    pub reason: String,
}

/// A candidate as JSON, for hints and prompts.
pub const SHAPE: &str = r#"{"text": "…", "type": "preference|fact|procedure|project_decision|mtg_profile|mtg_lesson", "tags": [], "ttl_days": null, "source": "user_said|assistant_inferred|tool_output", "why_store": "…"}"#;

/// The reason why a candidate is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum CandidateError {
    #[error("{0}\n  hint: {SHAPE}")]
    Json(#[from] serde_json::Error),
    #[error("its text is empty")]
    EmptyText,
    #[error("its text is longer than {MAX_TEXT_CHARS} characters")]
    LongText,
    #[error("it does not say why it should be stored (why_store)")]
    NoReason,
    #[error("ttl_days must be null or more than 0")]
    NoDays,
}

/// A person's changes to a candidate; `None` keeps the field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CandidateEdit {
    pub text: Option<String>,
    /// The word of a [`Type`]; the page cannot change it.
    #[serde(skip)]
    pub kind: Option<String>,
    pub tags: Option<Vec<String>>,
    /// 0: for good.
    #[serde(deserialize_with = "whole_number")]
    pub ttl_days: Option<u32>,
}

/// A whole number, also one that is written as `3.0`: in JSON they are the same.
fn whole_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(from)? else { return Ok(None) };
    if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and in the range"
        )]
        return Ok(Some(number as u32));
    }
    Err(D::Error::custom("a whole number is wanted"))
}

impl Candidate {
    /// A candidate without tags that is kept for good.
    #[must_use]
    pub fn new(text: impl Into<String>, kind: Type, source: Source, reason: impl Into<String>) -> Self {
        let (text, reason) = (text.into(), reason.into());
        Candidate { text, kind, tags: Vec::new(), ttl_days: None, source, reason }
    }

    /// Reads a candidate from JSON, checked and without secrets.
    ///
    /// # Errors
    /// When a field is missing or not valid.
    pub fn read(value: &Value, redactor: &Redactor) -> Result<Self, CandidateError> {
        Candidate::deserialize(value)?.checked(redactor)
    }

    /// Applies a person's changes, checked and without secrets.
    pub fn edited(&self, edit: CandidateEdit, redactor: &Redactor) -> Result<Self, CandidateError> {
        let kind = edit.kind.map(|word| serde_json::from_value(word.into())).transpose()?;
        let candidate = Candidate {
            text: edit.text.unwrap_or_else(|| self.text.clone()),
            kind: kind.unwrap_or(self.kind),
            tags: edit.tags.unwrap_or_else(|| self.tags.clone()),
            ttl_days: edit.ttl_days.map_or(self.ttl_days, |days| Some(days).filter(|days| *days > 0)),
            ..self.clone()
        };
        candidate.checked(redactor)
    }

    /// Checks the fields, normalises them and removes secrets.
    pub fn checked(mut self, redactor: &Redactor) -> Result<Self, CandidateError> {
        // The replacement of a secret may itself look like a secret: the second pass makes the result stable.
        let clean = |text: &str| {
            let once = redactor.text(text.trim()).into_owned();
            redactor.text(&once).trim().to_string()
        };
        self.text = visible(&clean(&self.text));
        if self.text.is_empty() {
            return Err(CandidateError::EmptyText);
        }
        if self.text.chars().count() > MAX_TEXT_CHARS {
            return Err(CandidateError::LongText);
        }
        self.reason = truncate::line(&visible(&clean(&self.reason)), MAX_REASON_CHARS);
        if self.reason.is_empty() {
            return Err(CandidateError::NoReason);
        }
        if self.ttl_days == Some(0) {
            return Err(CandidateError::NoDays);
        }
        let mut tags: Vec<String> = Vec::new();
        for tag in &self.tags {
            let tag = truncate::line(&visible(&clean(tag)), MAX_TAG_CHARS);
            if !tag.is_empty() && !tags.iter().any(|known| known.to_lowercase() == tag.to_lowercase()) {
                tags.push(tag);
            }
        }
        tags.truncate(MAX_TAGS);
        self.tags = tags;
        Ok(self)
    }

    /// Type, lifetime and tags, in one line.
    #[must_use]
    pub fn details(&self) -> String {
        let days = self.ttl_days.map_or("does not expire".to_string(), |days| format!("for {days} days"));
        format!("type {}, {days}; tags: {}", self.kind.word(), self.tags.join(", "))
    }

    /// The hash of text, type and tags, by which candidates are the same.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        #[derive(Serialize)]
        struct Identity<'a> {
            text: &'a str,
            #[serde(rename = "type")]
            kind: Type,
            tags: Vec<String>,
        }
        let tags = self.tags.iter().map(|tag| tag.to_lowercase()).collect();
        signature::hash(&Identity { text: &self.text, kind: self.kind, tags })
    }
}

/// Removes characters that move a cursor or change the direction of text.
fn visible(text: &str) -> String {
    let hidden = |char: char| {
        (char.is_control() && !matches!(char, '\n' | '\t'))
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().filter(|char| !hidden(*char)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<Candidate, CandidateError> {
        Candidate::read(value, &Redactor::patterns_only())
    }

    fn with(key: &str, value: Value) -> Value {
        let mut candidate = json!({
            "text": "Likes tea", "type": "preference", "tags": ["Food", "food", " "], "ttl_days": null,
            "source": "user_said", "why_store": "asked twice",
        });
        candidate[key] = value;
        candidate
    }

    #[test]
    fn incomplete_candidates_are_rejected() {
        let good = read(&with("text", json!("  Likes\u{202e} tea\u{7} "))).unwrap();
        assert_eq!((good.text.as_str(), good.tags.as_slice()), ("Likes tea", &["Food".to_string()][..]));
        for (key, bad) in [
            ("text", json!(" ")),
            ("text", json!("x".repeat(2001))),
            ("text", json!(null)),
            ("type", json!("wish")),
            ("source", json!("god")),
            ("ttl_days", json!(0)),
            ("ttl_days", json!(-3)),
            ("why_store", json!("\n")),
        ] {
            assert!(read(&with(key, bad.clone())).is_err(), "{key}: {bad}");
        }
    }

    #[test]
    fn the_fingerprint_is_text_type_and_tags() {
        let print = |value: &Value| read(value).unwrap().fingerprint();
        let one = print(&with("why_store", json!("another reason")));
        assert_eq!(one, print(&with("tags", json!(["FOOD"]))));
        assert_eq!(one, print(&with("source", json!("tool_output"))));
        assert_ne!(one, print(&with("text", json!("Likes coffee"))));
        assert_ne!(one, print(&with("type", json!("fact"))));
    }

    #[test]
    fn an_edit_keeps_the_fields_that_it_does_not_name() {
        let before = read(&with("ttl_days", json!(3))).unwrap();
        let edited = |edit| before.edited(edit, &Redactor::patterns_only());
        assert_eq!(edited(CandidateEdit::default()).unwrap(), before);
        let edit = CandidateEdit {
            kind: Some("fact".into()),
            ttl_days: Some(0),
            tags: Some(vec![]),
            ..Default::default()
        };
        let after = Candidate { kind: Type::Fact, ttl_days: None, tags: vec![], ..before.clone() };
        assert_eq!(edited(edit).unwrap(), after);
        let unknown = edited(CandidateEdit { kind: Some("wish".into()), ..Default::default() });
        assert!(unknown.unwrap_err().to_string().contains("unknown variant `wish`"));
    }

    #[test]
    fn types_are_written_as_their_words() {
        for kind in [
            Type::Preference,
            Type::Fact,
            Type::Procedure,
            Type::ProjectDecision,
            Type::MtgProfile,
            Type::MtgLesson,
        ] {
            assert_eq!(json!(kind), kind.word());
        }
    }

    #[test]
    fn secrets_are_removed_from_candidates() {
        let secret = read(&with("text", json!("the key is AKIAIOSFODNN7EXAMPLE"))).unwrap();
        assert!(!secret.text.contains("AKIA"), "{}", secret.text);
        assert_eq!(secret.clone().checked(&Redactor::patterns_only()).unwrap(), secret, "it settles");
    }
}
