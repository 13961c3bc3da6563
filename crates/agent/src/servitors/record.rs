//! Record of a servitor or of an attempt at a step: one line per event, from which its state is restored.
//!
//! A line is appended before its event counts. The system message is not kept: it is composed again from durable state.

use super::state::ServitorState;
use crate::turn::Start;
use marvin_base::clock;
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_model::{Message, Reply, ToolCall};
use marvin_tools::FileHashes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A line of a record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Entry {
    State {
        from: ServitorState,
        to: ServitorState,
        reason: String,
    },
    Refused {
        from: ServitorState,
        to: ServitorState,
    },
    /// Messages were added to the conversation; `inbox` letters are part of them.
    Fed {
        messages: Vec<Message>,
        #[serde(default)]
        inbox: usize,
    },
    /// The model asked for calls.
    Reply {
        text: String,
        opaque: Option<Value>,
        calls: Vec<ToolCall>,
    },
    /// A call is about to be made.
    Begun {
        call: String,
        /// The files that it writes, as they were, where it does nothing else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<FileHashes>,
    },
    /// Result of a call.
    Ended {
        call: String,
        ok: bool,
        text: String,
    },
    /// The model says that it is done.
    Claim {
        text: String,
        opaque: Option<Value>,
    },
    /// A claim was verified.
    Judged {
        verified: bool,
        summary: String,
    },
    /// It stopped unfinished and was told to continue.
    Prompted {
        text: String,
    },
    /// The conversation was compacted.
    Rebuilt {
        messages: Vec<Message>,
        opening: usize,
    },
    /// A message arrived.
    Inbox {
        from: String,
        text: String,
    },
    /// A reply of the model cost this much.
    Spent {
        nanos: u64,
    },
}

/// State that a record describes.
#[derive(Debug, Clone, Default)]
pub struct ResumePoint {
    /// The last state that was written down.
    pub state: Option<ServitorState>,
    /// The conversation, without the system message.
    pub messages: Vec<Message>,
    /// Number of its first messages up to the task, without the system message.
    pub opening: usize,
    /// A reply whose calls were not fed back yet.
    pub pending: Option<(Reply, Vec<ToolCall>)>,
    pub begun: BTreeMap<String, Option<FileHashes>>,
    /// Results of calls.
    pub ended: BTreeMap<String, (bool, String)>,
    /// A claim that was not judged yet, or a last reply without a consequence yet.
    pub claim: Option<Reply>,
    /// That last reply as a message, until it has a consequence.
    last_reply: Option<Message>,
    /// Claims of the current turn that were judged and did not hold.
    pub sent_back: usize,
    /// Tool rounds of the current turn.
    pub acted: usize,
    /// Tool rounds in total.
    pub rounds: u64,
    /// Calls with a result in total.
    pub calls: u64,
    /// How often it was told to continue.
    pub prompted: usize,
    /// Nano-dollars that it spent.
    pub nanos: u64,
    /// Messages that it has not read yet, as (from, text).
    pub inbox: VecDeque<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct Record {
    path: PathBuf,
    redactor: Arc<Redactor>,
    durability: Durability,
}

impl Record {
    pub(crate) fn new(directory: &Path, id: &str, redactor: Arc<Redactor>, durability: Durability) -> Self {
        Record { path: directory.join(format!("{id}.jsonl")), redactor, durability }
    }

    /// Appends a line. The file is not held open: there may be a thousand of them.
    pub(crate) fn append(&self, entry: &Entry) -> Result<(), LedgerError> {
        let mut value = serde_json::to_value(entry)
            .map_err(|source| LedgerError::Entry { path: self.path.display().to_string(), source })?;
        if let Value::Object(map) = &mut value {
            map.insert("timestamp".into(), clock::now_stamp().into());
        }
        let mut ledger = Ledger::open_shared_chained(&self.path, self.durability, self.redactor.clone())?;
        ledger.append(&value)?;
        Ok(())
    }

    /// Restores the state. A line that cannot be parsed is skipped: it can only be from a later version.
    pub fn restore(&self) -> Result<ResumePoint, LedgerError> {
        if !ledger::is_known(&self.path) {
            return Ok(ResumePoint::default());
        }
        let mut restored = ResumePoint::default();
        for value in ledger::read_chained(&self.path)?.entries {
            if let Ok(entry) = serde_json::from_value::<Entry>(value) {
                restored.take(entry);
            }
        }
        Ok(restored)
    }
}

impl ResumePoint {
    /// Start of a turn that continues after the record.
    pub(crate) fn start(self, system: Message) -> Start {
        let mut messages = vec![system];
        messages.extend(self.messages);
        Start {
            messages,
            opening: self.opening + 1,
            pending: self.pending,
            claim: self.claim,
            acted: self.acted,
            sent_back: self.sent_back,
            ..Start::default()
        }
    }

    /// The last reply had a consequence: it is part of the conversation now.
    fn settle(&mut self) {
        self.messages.extend(self.last_reply.take());
        self.claim = None;
    }

    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::State { to, .. } => {
                self.state = Some(to);
                if !to.is_active() {
                    self.settle();
                }
            }
            Entry::Refused { .. } => {}
            Entry::Fed { messages, inbox } => {
                self.inbox.drain(..inbox.min(self.inbox.len()));
                self.pending = None;
                self.begun.clear();
                self.ended.clear();
                // The process ended after this reply and before its consequence: the next process judges the reply
                // again. It is not requested twice, and not stored twice.
                if let [Message::Assistant { content, tool_calls, opaque }] = messages.as_slice()
                    && tool_calls.is_empty()
                {
                    let (text, opaque) = (content.clone(), opaque.clone());
                    self.claim = Some(Reply { text, opaque, ..Reply::default() });
                    self.last_reply = messages.into_iter().next();
                    return;
                }
                self.settle();
                if self.messages.is_empty() {
                    self.opening = messages.len();
                }
                self.messages.extend(messages);
            }
            Entry::Reply { text, opaque, calls } => {
                self.acted += 1;
                self.rounds += 1;
                self.pending = Some((Reply { text, opaque, ..Reply::default() }, calls));
            }
            Entry::Begun { call, before } => {
                self.begun.insert(call, before);
            }
            Entry::Ended { call, ok, text } => {
                self.calls += 1;
                self.ended.insert(call, (ok, text));
            }
            Entry::Claim { text, opaque } => {
                self.claim = Some(Reply { text, opaque, ..Reply::default() });
            }
            Entry::Judged { verified, .. } => self.sent_back += usize::from(!verified),
            Entry::Prompted { text } => {
                self.prompted += 1;
                (self.acted, self.sent_back) = (0, 0);
                self.pending = None;
                self.settle();
                self.messages.push(Message::user(text));
            }
            Entry::Rebuilt { messages, opening } => {
                self.messages = messages;
                self.opening = opening;
            }
            Entry::Inbox { from, text } => self.inbox.push_back((from, text)),
            Entry::Spent { nanos } => self.nanos = self.nanos.saturating_add(nanos),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_model::Arguments;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "t".into(), arguments: Arguments::from_text("{}"), opaque: None }
    }

    #[test]
    fn every_prefix_of_a_record_is_a_place_to_go_on_from() {
        let directory = tempfile::tempdir().unwrap();
        let record =
            Record::new(directory.path(), "a", Arc::new(Redactor::patterns_only()), Durability::System);
        assert!(record.restore().unwrap().messages.is_empty());
        let calls = vec![call("1"), call("2"), call("3")];
        let fed = |texts: &[&str]| Entry::Fed {
            messages: texts.iter().map(|text| Message::user(*text)).collect(),
            inbox: 0,
        };
        record.append(&fed(&["do it"])).unwrap();
        record.append(&Entry::Reply { text: "on it".into(), opaque: None, calls }).unwrap();
        record.append(&Entry::Begun { call: "1".into(), before: None }).unwrap();
        record.append(&Entry::Ended { call: "1".into(), ok: true, text: "fine".into() }).unwrap();
        record.append(&Entry::Begun { call: "2".into(), before: None }).unwrap();
        let restored = record.restore().unwrap();
        assert_eq!((restored.messages.len(), restored.opening, restored.acted), (1, 1, 1));
        assert_eq!(restored.pending.as_ref().unwrap().1.len(), 3);
        assert_eq!(restored.ended["1"], (true, "fine".to_string()));
        assert!(restored.begun.contains_key("2") && !restored.begun.contains_key("3"));
        record.append(&Entry::Inbox { from: "jake".into(), text: "hurry".into() }).unwrap();
        record.append(&fed(&["said", "results"])).unwrap();
        record.append(&Entry::Claim { text: "done".into(), opaque: None }).unwrap();
        let restored = record.restore().unwrap();
        assert!(restored.pending.is_none() && restored.claim.is_some() && restored.begun.is_empty());
        assert_eq!((restored.messages.len(), restored.inbox.len()), (3, 1));
        record.append(&Entry::Judged { verified: false, summary: "0 of 1".into() }).unwrap();
        record.append(&Entry::Fed { messages: vec![Message::user("no")], inbox: 1 }).unwrap();
        let restored = record.restore().unwrap();
        assert_eq!((restored.sent_back, restored.inbox.len(), restored.claim.is_none()), (1, 0, true));
        record.append(&Entry::Prompted { text: "go on".into() }).unwrap();
        let restored = record.restore().unwrap();
        assert_eq!((restored.sent_back, restored.acted, restored.prompted, restored.rounds), (0, 0, 1, 1));
        // A last word counts until something has come of it, however often it is fed.
        let word = || Entry::Fed { messages: vec![Message::assistant("ready")], inbox: 0 };
        record.append(&Entry::Claim { text: "ready".into(), opaque: None }).unwrap();
        record.append(&Entry::Judged { verified: true, summary: "1 of 1".into() }).unwrap();
        let before = record.restore().unwrap().messages.len();
        for _ in 0..2 {
            record.append(&word()).unwrap();
            let restored = record.restore().unwrap();
            assert_eq!((restored.claim.unwrap().text.as_str(), restored.messages.len()), ("ready", before));
        }
        let done =
            Entry::State { from: ServitorState::Verifying, to: ServitorState::Done, reason: String::new() };
        record.append(&done).unwrap();
        let restored = record.restore().unwrap();
        assert!(restored.claim.is_none());
        assert_eq!(restored.messages.len(), before + 1);
    }
}
