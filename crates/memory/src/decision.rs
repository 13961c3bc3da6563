//! The ledger of approvals: who decided what and when, and which memory went into which turn.
//!
//! It never holds the content of a memory, because a line stays when its memory is forgotten.

use crate::candidate::Candidate;
use marvin_base::clock;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The kind of a ledger line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Approve,
    /// A person approved a changed candidate.
    Edit,
    /// A person approved a candidate in place of another memory.
    Supersede,
    Reject,
    /// A person erased a memory.
    Forget,
    /// Marvin put memories into a turn.
    Inject,
    /// A person adopted a memory that was made elsewhere.
    Adopt,
}

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Absent in lines of older programs.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub word: Option<Word>,
    /// The proposed candidate, or the forgotten memory.
    #[serde(default)]
    pub candidate_fingerprint: String,
    #[serde(default)]
    pub approved: bool,
    #[serde(default)]
    pub reviewer: String,
    #[serde(default)]
    pub decided_at_utc: String,
    #[serde(default)]
    pub edited: Option<EditedCandidate>,
    #[serde(default)]
    pub note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The memories that went into the turn that `session_id` and `turn_number` name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<InjectedMemory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_number: Option<u64>,
}

/// The candidate that a person approved instead of the proposed one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EditedCandidate {
    /// Written by older programs.
    Whole(Candidate),
    Named {
        fingerprint: String,
    },
    /// Any other value, so that the line stays readable; it names no memory.
    Unknown(Value),
}

/// A memory that went into a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectedMemory {
    /// `ltm`, `stm`, `lesson` …
    pub kind: String,
    pub id: String,
}

impl Line {
    /// A line with the current time.
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

    /// The id of the memory that the line creates: the proposed candidate, or the edited one.
    #[must_use]
    pub fn remembered(&self) -> String {
        match &self.edited {
            None => self.candidate_fingerprint.clone(),
            Some(EditedCandidate::Whole(candidate)) => candidate.fingerprint(),
            Some(EditedCandidate::Named { fingerprint }) => fingerprint.clone(),
            Some(EditedCandidate::Unknown(_)) => String::new(),
        }
    }

    fn meaning(&self) -> Word {
        self.word.unwrap_or(if self.approved { Word::Approve } else { Word::Reject })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Fate {
    Active,
    Forgotten,
    Superseded { by: String },
}

/// The approval of a memory and its current state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approval {
    pub reviewer: String,
    pub decided_at_utc: String,
    /// The proposed candidate, where the person edited it.
    pub original_fingerprint: Option<String>,
    #[serde(flatten)]
    pub fate: Fate,
}

/// The result of replaying the ledger.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Every memory that was ever approved, by its id.
    pub memories: BTreeMap<String, Approval>,
    /// The last decision about each candidate, by its fingerprint.
    pub decided: BTreeMap<String, Word>,
    pub lines: u64,
}

impl Standing {
    /// Applies the next line.
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

    #[must_use]
    pub fn is_active(&self, id: &str) -> bool {
        self.memories.get(id).is_some_and(|memory| memory.fate == Fate::Active)
    }

    /// Whether its content may be kept: also when it is superseded, because it was approved once.
    #[must_use]
    pub fn is_kept(&self, id: &str) -> bool {
        self.memories.get(id).is_some_and(|memory| memory.fate != Fate::Forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_decision_stands() {
        let mut standing = Standing::default();
        standing.take(&Line::new(Word::Approve, "a", "ann"));
        let mut edit = Line::new(Word::Edit, "b", "ann");
        edit.edited = Some(EditedCandidate::Named { fingerprint: "b2".into() });
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
