//! The log of turns, one per line: input, thoughts, tool calls and answer. Nothing is decided by it.

use crate::error::MemoryError;
use crate::lines;
use crate::memory::ProposalOutcome;
use crate::state::ConversationState;
use crate::stm::TraceOutcome;
use marvin_base::ledger::{Durability, Ledger};
use marvin_base::redact::Redactor;
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Turn {
    pub ts_utc: String,
    pub session_id: String,
    /// Counted from 1.
    pub turn_number: u64,
    pub user_input: String,
    /// Empty when the turn was interrupted.
    pub final_output: String,
    pub think: String,
    /// Tool calls, recalled memories and stored traces.
    pub tools: Vec<TurnEntry>,
    pub memory_candidates: Vec<CandidateEntry>,
    pub state_before: ConversationState,
    /// The same as before when the turn was interrupted.
    pub state_after: ConversationState,
    /// The reason for a missing answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An entry in the list of tools of a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "tool_name")]
pub enum TurnEntry {
    /// Traces and memories that were recalled.
    #[serde(rename = "STM_RECALL")]
    Recall { status: &'static str, args: RecallArguments, output: RecallOutput },
    /// The trace of the turn.
    #[serde(rename = "STM_WRITE")]
    Trace { status: &'static str, output: TraceEntry },
    /// Parts of the model's notes that cannot be parsed.
    #[serde(rename = "THINK")]
    Think { status: &'static str, error: Vec<String> },
    /// A tool call.
    #[serde(untagged)]
    Call(Box<CallEntry>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecallArguments {
    pub query: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecallOutput {
    pub hits: usize,
}

/// The result of writing a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum TraceEntry {
    Ok { stm_id: String, backend: &'static str },
    Skipped { reason: &'static str, backend: &'static str },
}

/// A tool call of a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CallEntry {
    pub tool_name: Option<Value>,
    pub args: Option<Value>,
    pub status: &'static str,
    pub output: CallOutput,
    pub error: Option<Value>,
    /// Where the whole result is, when the model got a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_ref: Option<Value>,
}

/// The output of a tool call, with its origin.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CallOutput {
    pub status: &'static str,
    pub source: &'static str,
    pub confidence: Value,
    pub provider: Option<Value>,
    pub cache: Option<Value>,
    pub data: Option<Value>,
    pub error: Option<Value>,
}

/// A candidate for memory and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateEntry {
    pub candidate: Value,
    pub origin: &'static str,
    pub outcome: Vec<CandidateOutcome>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CandidateOutcome {
    pub status: &'static str,
    /// The reason, or the fingerprint of a pending candidate.
    pub reason: String,
    /// The source that was found for the candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
}

impl TurnEntry {
    /// An entry for a recall with this query.
    #[must_use]
    pub fn recall(query: String, hits: usize) -> Self {
        TurnEntry::Recall { status: "ok", args: RecallArguments { query }, output: RecallOutput { hits } }
    }

    /// An entry for the trace of the turn.
    #[must_use]
    pub fn trace(outcome: TraceOutcome) -> Self {
        let backend = "jsonl";
        match outcome {
            TraceOutcome::Kept(stm_id) => {
                TurnEntry::Trace { status: "ok", output: TraceEntry::Ok { stm_id, backend } }
            }
            TraceOutcome::Skipped(reason) => {
                TurnEntry::Trace { status: "skipped", output: TraceEntry::Skipped { reason, backend } }
            }
        }
    }
}

impl CandidateOutcome {
    #[must_use]
    pub fn new(outcome: ProposalOutcome, source: Option<&'static str>) -> Self {
        match outcome {
            ProposalOutcome::Pending(reason) => CandidateOutcome { status: "pending", reason, source },
            ProposalOutcome::Skipped(reason) => {
                CandidateOutcome { source, ..CandidateOutcome::skipped(reason) }
            }
        }
    }

    #[must_use]
    pub fn skipped(reason: impl Into<String>) -> Self {
        CandidateOutcome { status: "skipped", reason: reason.into(), source: None }
    }
}

#[derive(Debug, Clone)]
pub struct Turns {
    path: PathBuf,
}

impl Turns {
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Turns { path: path.to_path_buf() }
    }

    pub fn append(&self, turn: &Turn, redactor: &Arc<Redactor>) -> Result<(), MemoryError> {
        let mut ledger = Ledger::open_shared(&self.path, Durability::Line, redactor.clone())?;
        ledger.append(turn)?;
        Ok(())
    }

    fn each(&self, mut take: impl FnMut(Value)) -> Result<(), MemoryError> {
        lines::each(&self.path, None, |line| {
            if let Some(value) = line.bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()) {
                take(value);
            }
        })
        .map(|_| ())
    }

    /// A turn by its session and number.
    #[must_use]
    pub fn find(&self, session_id: &str, turn_number: u64) -> Option<Value> {
        let mut found = None;
        let same = |turn: &Value| {
            turn.get("session_id").and_then(Value::as_str) == Some(session_id)
                && turn.get("turn_number").and_then(Value::as_u64) == Some(turn_number)
        };
        self.each(|turn| {
            if same(&turn) {
                found = Some(turn);
            }
        })
        .ok()?;
        found
    }

    /// The last turns, oldest first.
    pub fn last(&self, most: usize) -> Result<Vec<Value>, MemoryError> {
        let mut kept = VecDeque::new();
        self.each(|turn| {
            if kept.len() == most {
                kept.pop_front();
            }
            kept.push_back(turn);
        })?;
        Ok(kept.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_have_exactly_the_documented_keys() {
        let directory = tempfile::tempdir().unwrap();
        let turns = Turns::at(&directory.path().join("turns.jsonl"));
        let redactor = Arc::new(Redactor::patterns_only());
        for number in 1..=3 {
            let turn = Turn {
                session_id: "s".into(),
                turn_number: number,
                user_input: format!("say {number} AKIAIOSFODNN7EXAMPLE"),
                ..Turn::default()
            };
            turns.append(&turn, &redactor).unwrap();
        }
        let found = turns.find("s", 2).unwrap();
        let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "ts_utc",
                "session_id",
                "turn_number",
                "user_input",
                "final_output",
                "think",
                "tools",
                "memory_candidates",
                "state_before",
                "state_after"
            ]
        );
        assert!(found["user_input"].as_str().unwrap().starts_with("say 2 [REDACTED"));
        assert_eq!(turns.last(2).unwrap()[0]["turn_number"], 2);
        assert!(turns.find("s", 9).is_none() && turns.find("t", 1).is_none());
    }
}
