//! The ledger of approvals: who decided what, when, and which memory went into which turn. Never what was remembered: a
//! line stays when its memory is forgotten.

use crate::candidate::Candidate;
use marvin_base::clock;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// A person agreed.
    Approve,
    /// A person agreed to something else than was proposed.
    Edit,
    /// A person agreed to one thing in place of another.
    Supersede,
    /// A person said no.
    Reject,
    /// A person had it erased.
    Forget,
    /// The shell put memories into a turn.
    Inject,
    /// A person took over a memory that was made elsewhere.
    Adopt,
}

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What it says; lines of older programs do not.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub word: Option<Word>,
    /// What was proposed, or what is forgotten.
    #[serde(default)]
    pub candidate_fingerprint: String,
    /// Whether it is remembered now.
    #[serde(default)]
    pub approved: bool,
    /// Who decided.
    #[serde(default)]
    pub reviewer: String,
    /// When.
    #[serde(default)]
    pub decided_at_utc: String,
    /// What it was changed to: its fingerprint. Older programs wrote the whole candidate.
    #[serde(default)]
    pub edited: Option<Value>,
    /// What the person added.
    #[serde(default)]
    pub note: String,
    /// The memory whose place it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The memories that went into a turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<InjectedMemory>,
    /// The session of that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Its number in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_number: Option<u64>,
}

/// A memory that went into a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectedMemory {
    /// What it is: `ltm`, `stm`, `lesson` …
    pub kind: String,
    /// Its id.
    pub id: String,
}

impl Line {
    /// A line of now.
    #[must_use]
    pub fn new(word: Word, fingerprint: &str, reviewer: &str) -> Self {
        Line {
            word: Some(word),
            candidate_fingerprint: fingerprint.to_string(),
            approved: matches!(word, Word::Approve | Word::Edit | Word::Supersede),
            reviewer: reviewer.to_string(),
            decided_at_utc: clock::now_stamp(),
            edited: None,
            note: String::new(),
            supersedes: None,
            injected: Vec::new(),
            session_id: None,
            turn_number: None,
        }
    }

    /// Says what it was changed to.
    pub fn changed_to(&mut self, fingerprint: &str) {
        self.edited = Some(json!({ "fingerprint": fingerprint }));
    }

    /// What is remembered by it: what was proposed, or what it was changed to.
    #[must_use]
    pub fn remembered(&self) -> String {
        let Some(edited) = self.edited.as_ref().filter(|edited| !edited.is_null()) else {
            return self.candidate_fingerprint.clone();
        };
        if let Ok(candidate) = serde_json::from_value::<Candidate>(edited.clone()) {
            return candidate.fingerprint();
        }
        edited.get("fingerprint").and_then(Value::as_str).unwrap_or_default().to_string()
    }

    fn meaning(&self) -> Word {
        self.word.unwrap_or(if self.approved { Word::Approve } else { Word::Reject })
    }
}

/// What became of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Fate {
    /// It is remembered.
    Active,
    /// It was erased.
    Forgotten,
    /// Another one took its place.
    Superseded {
        /// That one.
        by: String,
    },
}

/// Who agreed to a memory, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approval {
    /// Who agreed.
    pub reviewer: String,
    /// When.
    pub decided_at_utc: String,
    /// What had been proposed, where it was changed.
    pub original_fingerprint: Option<String>,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
}

/// What the ledger comes to.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Every memory that was ever agreed to, by its id.
    pub memories: BTreeMap<String, Approval>,
    /// What was decided about candidates, by their fingerprints: the last word.
    pub decided: BTreeMap<String, Word>,
    /// How many lines there are.
    pub lines: u64,
}

impl Standing {
    /// Takes the next line into account.
    pub fn take(&mut self, line: &Line) {
        self.lines += 1;
        let word = line.meaning();
        match word {
            Word::Approve | Word::Edit | Word::Supersede => {
                let id = line.remembered();
                let original = (id != line.candidate_fingerprint).then(|| line.candidate_fingerprint.clone());
                if let Some(old) = line.supersedes.as_ref().filter(|old| **old != id)
                    && let Some(old) = self.memories.get_mut(old)
                {
                    old.fate = Fate::Superseded { by: id.clone() };
                }
                self.decided.insert(line.candidate_fingerprint.clone(), word);
                self.decided.insert(id.clone(), word);
                self.memories.insert(
                    id,
                    Approval {
                        reviewer: line.reviewer.clone(),
                        decided_at_utc: line.decided_at_utc.clone(),
                        original_fingerprint: original,
                        fate: Fate::Active,
                    },
                );
            }
            Word::Reject => {
                self.decided.insert(line.candidate_fingerprint.clone(), word);
            }
            Word::Forget => {
                self.decided.insert(line.candidate_fingerprint.clone(), word);
                if let Some(memory) = self.memories.get_mut(&line.candidate_fingerprint) {
                    memory.fate = Fate::Forgotten;
                }
            }
            Word::Inject | Word::Adopt => {}
        }
    }

    /// Is this one remembered?
    #[must_use]
    pub fn is_active(&self, id: &str) -> bool {
        self.memories.get(id).is_some_and(|memory| memory.fate == Fate::Active)
    }

    /// May its content be kept? Also when another one took its place: that was agreed to once.
    #[must_use]
    pub fn is_kept(&self, id: &str) -> bool {
        self.memories.get(id).is_some_and(|memory| memory.fate != Fate::Forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_stands() {
        let mut standing = Standing::default();
        standing.take(&Line::new(Word::Approve, "a", "ann"));
        let mut edit = Line::new(Word::Edit, "b", "ann");
        edit.changed_to("b2");
        standing.take(&edit);
        assert_eq!(standing.memories["b2"].original_fingerprint.as_deref(), Some("b"));
        assert!(standing.is_active("a") && standing.is_active("b2") && !standing.is_active("b"));
        let mut next = Line::new(Word::Supersede, "c", "ann");
        next.supersedes = Some("a".into());
        standing.take(&next);
        assert!(!standing.is_active("a") && standing.is_kept("a") && standing.is_active("c"));
        standing.take(&Line::new(Word::Forget, "c", "ann"));
        assert!(!standing.is_kept("c"));
        standing.take(&Line::new(Word::Approve, "c", "ann"));
        assert!(standing.is_active("c"), "a person may agree again");
        assert_eq!(standing.decided["b"], Word::Edit);
    }

    #[test]
    fn lines_of_older_programs_are_understood() {
        let candidate = json!({"text": "x", "type": "fact", "tags": [], "ttl_days": null, "source": "user_said", "why_store": "y"});
        let print = serde_json::from_value::<Candidate>(candidate.clone()).unwrap().fingerprint();
        let mut standing = Standing::default();
        for line in [
            json!({"candidate_fingerprint": "a", "approved": true, "reviewer": "cli", "decided_at_utc": "2026-01-01T00:00:00Z", "edited": null, "note": ""}),
            json!({"candidate_fingerprint": "b", "approved": true, "reviewer": "cli", "edited": candidate}),
            json!({"candidate_fingerprint": "c", "approved": false, "reviewer": "cli", "edited": null, "note": "edit_invalid"}),
        ] {
            standing.take(&serde_json::from_value(line).unwrap());
        }
        assert!(standing.is_active("a") && standing.is_active(&print) && !standing.is_active("b"));
        assert_eq!(standing.decided["c"], Word::Reject);
    }
}
