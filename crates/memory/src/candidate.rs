//! What may be remembered: a candidate, as a model, the practice or a person proposes it. Nothing of it counts before a
//! person agrees.

use marvin_base::redact::Redactor;
use marvin_base::{signature, truncate};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Characters of what is remembered; more is a document, not a memory.
pub const MAX_TEXT_CHARS: usize = 2_000;
/// Characters of why it is remembered.
const MAX_REASON_CHARS: usize = 300;
/// Tags, and characters of one.
const MAX_TAGS: usize = 16;
const MAX_TAG_CHARS: usize = 64;

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// What somebody likes or wants.
    Preference,
    /// What is so.
    Fact,
    /// How something is done; told, never executed.
    Procedure,
    /// What was decided for the project.
    ProjectDecision,
    /// How somebody plays Magic.
    MtgProfile,
    /// What a game of Magic taught.
    MtgLesson,
}

/// Where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The person said so, in the turn that it is traced to.
    UserSaid,
    /// The model concluded it.
    AssistantInferred,
    /// A tool, a file or a page said so.
    ToolOutput,
}

impl Source {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Source::UserSaid => "user_said",
            Source::AssistantInferred => "assistant_inferred",
            Source::ToolOutput => "tool_output",
        }
    }
}

/// Something that may be remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// What is remembered.
    pub text: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Type,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Days until it is no longer true; none: for good.
    #[serde(default)]
    pub ttl_days: Option<u32>,
    /// Where it comes from.
    pub source: Source,
    /// Why it is worth it, in one line.
    pub why_store: String,
}

impl Candidate {
    /// Reads one from JSON, checked and without secrets.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(value: &Value, redactor: &Redactor) -> Result<Self, String> {
        let candidate: Candidate = serde_json::from_value(value.clone()).map_err(|error| {
            format!(
                "{error}\n  hint: {{\"text\": \"…\", \"type\": \"preference|fact|procedure|project_decision|mtg_profile|mtg_lesson\", \"tags\": [], \"ttl_days\": null, \"source\": \"user_said|assistant_inferred|tool_output\", \"why_store\": \"…\"}}"
            )
        })?;
        candidate.checked(redactor)
    }

    /// The same, checked, in its usual form and without secrets.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn checked(mut self, redactor: &Redactor) -> Result<Self, String> {
        // What replaces a secret may look like another one to the next look; it settles at once.
        let clean = |text: &str| {
            let once = redactor.text(text.trim()).into_owned();
            redactor.text(&once).trim().to_string()
        };
        self.text = visible(&clean(&self.text));
        if self.text.is_empty() {
            return Err("its text is empty".into());
        }
        if self.text.chars().count() > MAX_TEXT_CHARS {
            return Err(format!("its text is longer than {MAX_TEXT_CHARS} characters"));
        }
        self.why_store = truncate::line(&visible(&clean(&self.why_store)), MAX_REASON_CHARS);
        if self.why_store.is_empty() {
            return Err("it does not say why it should be stored (why_store)".into());
        }
        if self.ttl_days == Some(0) {
            return Err("ttl_days must be null or more than 0".into());
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

    /// Its name: the same text, type and tags have the same.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let tags: Vec<String> = self.tags.iter().map(|tag| tag.to_lowercase()).collect();
        signature::hash(&json!({ "text": self.text, "type": self.kind, "tags": tags }))
    }
}

/// Text without characters that would move a cursor or turn the direction of reading.
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

    fn read(value: &Value) -> Result<Candidate, String> {
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
    fn only_what_is_whole_is_a_candidate() {
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
    fn secrets_do_not_become_candidates() {
        let secret = read(&with("text", json!("the key is AKIAIOSFODNN7EXAMPLE"))).unwrap();
        assert!(!secret.text.contains("AKIA"), "{}", secret.text);
        assert_eq!(secret.clone().checked(&Redactor::patterns_only()).unwrap(), secret, "it settles");
    }
}
