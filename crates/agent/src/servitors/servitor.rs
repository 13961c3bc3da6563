//! A servitor, as its document describes it.

use super::state::ServitorState;
use crate::commitments::Document;
use marvin_gate::Access;
use marvin_model::price;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Mode of a servitor's document.
const MODE: &str = "servitor";
/// `summonedBy` of a servitor that a person summoned.
const PERSON: &str = "person";

/// What a servitor may spend in total, children included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Nano-dollars; none: no limit of its own.
    #[serde(rename = "budget_usd", serialize_with = "as_dollars")]
    pub nanos: Option<u64>,
    /// Tool rounds; none: no limit of its own.
    #[serde(rename = "budget_rounds")]
    pub rounds: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Servitor {
    /// Name of its document.
    pub id: String,
    pub name: String,
    pub state: ServitorState,
    pub reason: String,
    /// The agent that summoned it.
    pub parent: String,
    pub assignment: String,
    #[serde(serialize_with = "as_word")]
    pub access: Access,
    /// The tools that it may use; none: all that its access offers.
    pub tools: Option<Vec<String>>,
    /// Whether a person summoned it, rather than an agent.
    #[serde(skip)]
    pub of_person: bool,
    pub tier: String,
    #[serde(flatten)]
    pub budget: Budget,
    /// Why it failed, as outcomes of turns name it (`not_verified`); empty where it did not.
    #[serde(skip)]
    pub failure: String,
    pub answer: String,
    /// Whether it was dismissed: its name is free, and only the document is left.
    pub dismissed: bool,
}

impl Servitor {
    /// JSON for programs and pages.
    #[must_use]
    pub fn facts(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

fn as_word<S: Serializer>(access: &Access, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&access_word(access))
}

fn as_dollars<S: Serializer>(nanos: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    nanos.map(price::dollars).serialize(serializer)
}

/// An access as it is written: `full`, `readonly`, or `files: a, b`.
#[must_use]
pub fn access_word(access: &Access) -> String {
    match access {
        Access::Full => "full".into(),
        // A scope is not passed on; unknown access is readonly.
        Access::Readonly | Access::Scoped(_) => "readonly".into(),
        Access::WritableFiles(files) => {
            format!("files: {}", files.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The access that was written, if it is one.
#[must_use]
pub fn access_named(text: &str) -> Option<Access> {
    match text.split_once(':') {
        None if text == "full" => Some(Access::Full),
        None if text == "readonly" => Some(Access::Readonly),
        Some(("files", files)) => {
            Some(Access::writable(files.split(',').map(|file| file.trim().to_string())))
        }
        _ => None,
    }
}

/// Parses an access; an unknown one is readonly.
pub(super) fn access_of(text: &str) -> Access {
    access_named(text).unwrap_or(Access::Readonly)
}

/// Whether one access is part of another.
pub(super) fn is_within(child: &Access, parent: &Access) -> bool {
    match (parent, child) {
        (Access::Full, _) | (_, Access::Readonly) => true,
        (Access::WritableFiles(all), Access::WritableFiles(some)) => some.is_subset(all),
        (Access::Readonly | Access::WritableFiles(_) | Access::Scoped(_), _) => false,
    }
}

impl Servitor {
    /// Reads a document; none when it is not a servitor's.
    pub(super) fn read(document: &Document) -> Option<Servitor> {
        let text = |key: &str| document.value(key).unwrap_or_default();
        if text("mode") != MODE {
            return None;
        }
        let number = |key: &str| document.value(key).and_then(|value| value.parse().ok());
        let list = document.value("tools").map(|tools| {
            tools.split(',').map(|tool| tool.trim().to_string()).filter(|tool| !tool.is_empty()).collect()
        });
        Some(Servitor {
            id: document.id.clone(),
            name: text("title"),
            // An unknown state must not run by itself.
            state: ServitorState::from_word(&text("state")).unwrap_or(ServitorState::Failed),
            reason: text("reason"),
            parent: text("parent"),
            assignment: text("assignment"),
            access: access_of(&text("access")),
            tools: list,
            of_person: text("summonedBy") == PERSON,
            tier: text("tier"),
            budget: Budget { nanos: number("budgetNanos"), rounds: number("budgetRounds") },
            failure: text("failure"),
            answer: text("answer"),
            dismissed: document.value("dismissedAt").is_some(),
        })
    }

    /// Its document, when it is new.
    pub(super) fn document(&self, now: &str) -> Document {
        let mut document = Document::new(&self.id, &self.name, &self.assignment, now);
        document.set("mode", MODE);
        document.set("state", self.state.word());
        document.set("parent", &self.parent);
        document.set("assignment", &self.assignment);
        document.set("access", &access_word(&self.access));
        if let Some(tools) = &self.tools {
            document.set("tools", &tools.join(", "));
        }
        if self.of_person {
            document.set("summonedBy", PERSON);
        }
        if !self.tier.is_empty() {
            document.set("tier", &self.tier);
        }
        if let Some(nanos) = self.budget.nanos {
            document.set("budgetNanos", &nanos.to_string());
        }
        if let Some(rounds) = self.budget.rounds {
            document.set("budgetRounds", &rounds.to_string());
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_parses_back_to_its_servitor() {
        let servitor = Servitor {
            id: "vega".into(),
            name: "Vega".into(),
            state: ServitorState::Working,
            reason: String::new(),
            parent: "jake".into(),
            assignment: "Two lines:\n## Commitments\n- ✅ **x**\n---\nend".into(),
            access: Access::writable(["a.txt".into(), "b/c.md".into()]),
            tools: Some(vec!["read_file".into()]),
            of_person: true,
            tier: "plan".into(),
            budget: Budget { nanos: Some(5), rounds: Some(7) },
            failure: String::new(),
            answer: String::new(),
            dismissed: false,
        };
        let text = servitor.document("2026-02-03T04:05:06.000Z").render();
        let read = Document::parse("vega", text.as_bytes()).unwrap();
        assert_eq!(Servitor::read(&read), Some(servitor));
        assert_eq!(Servitor::read(&Document::new("a", "A", "", "now")), None);
    }

    #[test]
    fn a_child_is_never_more_than_its_parent() {
        let files = |names: &[&str]| Access::writable(names.iter().map(ToString::to_string));
        assert!(is_within(&files(&["a"]), &Access::Full) && is_within(&Access::Full, &Access::Full));
        assert!(is_within(&files(&["a"]), &files(&["a", "b"])) && !is_within(&files(&["c"]), &files(&["a"])));
        assert!(!is_within(&Access::Full, &Access::Readonly) && !is_within(&Access::Full, &files(&["a"])));
        assert!(!is_within(&files(&["a"]), &Access::Readonly));
        for access in [Access::Full, Access::Readonly, files(&["a", "b"])] {
            assert_eq!(access_of(&access_word(&access)), access);
        }
        assert_eq!(access_of("everything"), Access::Readonly);
    }
}
