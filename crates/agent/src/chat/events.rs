//! Numbered log of the events of a conversation, for any number of readers.
//!
//! A writer never waits. A reader has a position in the log and continues from there at its own pace; only one that falls
//! behind by more than the log holds misses something, which an event of the kind `gap` says.

use crate::trace::Notice;
use marvin_base::redact::{Redactor, StreamRedactor};
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Events that are held, and about how many bytes of them.
const MAX_BUFFERED_EVENTS: usize = 100_000;
const MAX_BUFFERED_BYTES: usize = 64 * 1024 * 1024;
/// Text is gathered up to this size while more of it is already at hand.
const GATHER: usize = 8 * 1024;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Its number; it only grows, by one each.
    pub seq: u64,
    /// Its kind: one of the trace, or `message`, `approval.asked`, `approval.answered`, `waiting`, `queued`, `status`, `gap`.
    pub kind: String,
    pub data: Value,
}

/// Payload of `notice` and `queued`.
#[derive(Serialize)]
pub(super) struct TextEvent<'a> {
    pub(super) text: &'a str,
}

/// Payload of a `notice` from outside of the conversation.
#[derive(Serialize)]
pub(super) struct NotificationEvent<'a> {
    pub(super) text: &'a str,
    /// `alarm`, `ntfy` or `cost`.
    pub(super) source: &'a str,
}

/// Payload of `approval.answered`.
#[derive(Serialize)]
pub(super) struct AnsweredEvent<'a> {
    pub(super) id: &'a str,
    pub(super) answer: &'a str,
}

/// Payload of `waiting`: how many things wait for the person.
#[derive(Serialize)]
pub(super) struct WaitingEvent {
    pub(super) count: usize,
}

/// Payload of `turn.failed`.
#[derive(Serialize)]
pub(super) struct FailedEvent<'a> {
    pub(super) error: &'a str,
}

/// Payload of `gap`.
#[derive(Serialize)]
struct Gap {
    lost: u64,
}

/// Payload of `model.reading`: tokens of the prompt.
#[derive(Serialize)]
struct Reading {
    done: u64,
    total: u64,
}

/// Payload of `item.updated`.
#[derive(Serialize)]
struct ItemUpdated<'a> {
    item: UpdatedItem<'a>,
}

#[derive(Serialize)]
struct UpdatedItem<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    update: Update,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Update {
    Delta(String),
    Restarted(String),
}

/// The log. Cheap to clone; all clones are the same log.
#[derive(Debug, Clone)]
pub(super) struct Log {
    shared: Arc<LogState>,
}

#[derive(Debug)]
struct LogState {
    held: Mutex<EventBuffer>,
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct EventBuffer {
    events: VecDeque<(usize, Arc<Event>)>,
    bytes: usize,
    last: u64,
}

impl Log {
    pub(super) fn new() -> Self {
        Log { shared: Arc::new(LogState { held: Mutex::default(), last: watch::channel(0).0 }) }
    }

    fn held(&self) -> MutexGuard<'_, EventBuffer> {
        self.shared.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an event; gives its number.
    pub(super) fn push(&self, kind: &str, data: &impl Serialize) -> u64 {
        // Of plain values, which JSON can always hold.
        let data = serde_json::to_value(data).unwrap_or_default();
        let size = size_of(&data);
        let seq = {
            let mut held = self.held();
            held.last += 1;
            let seq = held.last;
            held.events.push_back((size, Arc::new(Event { seq, kind: kind.to_string(), data })));
            held.bytes += size;
            while held.events.len() > MAX_BUFFERED_EVENTS
                || (held.bytes > MAX_BUFFERED_BYTES && held.events.len() > 1)
            {
                let gone = held.events.pop_front().map_or(0, |(size, _)| size);
                held.bytes = held.bytes.saturating_sub(gone);
            }
            seq
        };
        self.shared.last.send_replace(seq);
        seq
    }

    pub(super) fn last(&self) -> u64 {
        self.held().last
    }

    pub(super) fn has_readers(&self) -> bool {
        self.shared.last.receiver_count() > 0
    }

    /// A reader that begins after this event; none: after the last.
    pub(super) fn read(&self, after: Option<u64>) -> Events {
        let last = self.last();
        let after = after.unwrap_or(last).min(last);
        Events { log: self.clone(), seen: self.shared.last.subscribe(), after }
    }
}

/// About how many bytes a value takes.
fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) => 32 + text.len(),
        Value::Array(values) => 32 + values.iter().map(size_of).sum::<usize>(),
        Value::Object(map) => {
            64 + map.iter().map(|(key, value)| 32 + key.len() + size_of(value)).sum::<usize>()
        }
        _ => 32,
    }
}

#[derive(Debug)]
pub struct Events {
    log: Log,
    seen: watch::Receiver<u64>,
    after: u64,
}

impl Events {
    /// Events since the last call, at most `most`; does not wait.
    pub fn ready(&mut self, most: usize) -> Vec<Arc<Event>> {
        let mut found = Vec::new();
        let held = self.log.held();
        let first = held.events.front().map_or(held.last + 1, |(_, event)| event.seq);
        if self.after + 1 < first {
            let lost = first - 1 - self.after;
            self.after = first - 1;
            let data = serde_json::to_value(Gap { lost }).unwrap_or_default();
            found.push(Arc::new(Event { seq: self.after, kind: "gap".into(), data }));
        }
        let skip = usize::try_from((self.after + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        found.extend(held.events.iter().skip(skip).take(most).map(|(_, event)| event.clone()));
        if let Some(last) = found.last() {
            self.after = last.seq;
        }
        found
    }

    pub async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            self.seen.borrow_and_update();
            if let Some(event) = self.ready(1).into_iter().next() {
                return Some(event);
            }
            self.seen.changed().await.ok()?;
        }
    }

    /// Events since the last call, at most `most`; waits until there is one.
    pub async fn some(&mut self, most: usize) -> Vec<Arc<Event>> {
        loop {
            self.seen.borrow_and_update();
            let found = self.ready(most);
            if !found.is_empty() || self.seen.changed().await.is_err() {
                return found;
            }
        }
    }
}

/// Turns notices of a trace into events: redacted pieces of text, gathered while more is at hand.
pub(super) struct Teller {
    log: Log,
    redactor: Arc<Redactor>,
    stream: StreamRedactor,
    item: String,
    pending: String,
}

impl Teller {
    pub(super) fn new(log: Log, redactor: Arc<Redactor>) -> Self {
        let stream = StreamRedactor::new(redactor.clone());
        Teller { log, redactor, stream, item: String::new(), pending: String::new() }
    }

    pub(super) fn tell(&mut self, notice: &Notice<'_>) {
        match notice {
            Notice::Piece { item, text } => {
                if self.item != *item {
                    self.finish();
                    self.item = (*item).to_string();
                }
                self.stream.push(text);
                if self.stream.held() >= GATHER {
                    self.flow();
                }
            }
            Notice::Reading { done, total } => {
                self.log.push("model.reading", &Reading { done: *done, total: *total });
            }
            Notice::Idle => self.flow(),
            Notice::Restart { item, reason } => {
                self.finish();
                let reason = self.redactor.text(reason).into_owned();
                self.update(item, Update::Restarted(reason));
            }
            Notice::Event(event) => {
                self.finish();
                let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
                self.log.push(kind, event);
            }
        }
    }

    fn update(&self, id: &str, update: Update) {
        self.log.push("item.updated", &ItemUpdated { item: UpdatedItem { id, kind: "message", update } });
    }

    fn flow(&mut self) {
        self.stream.drain(&mut self.pending);
        self.flush();
    }

    fn finish(&mut self) {
        self.stream.finish(&mut self.pending);
        self.flush();
    }

    fn flush(&mut self) {
        if !self.pending.is_empty() {
            let delta = std::mem::take(&mut self.pending);
            self.update(&self.item, Update::Delta(delta));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn readers_miss_no_event_or_are_told_so() {
        let log = Log::new();
        let mut slow = log.read(Some(0));
        let mut live = log.read(None);
        for n in 0..10 {
            log.push("x", &n);
        }
        assert_eq!(live.ready(100).len(), 10);
        let numbers: Vec<u64> = slow.ready(4).iter().map(|event| event.seq).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert_eq!(log.read(Some(8)).ready(9).len(), 2);
        for n in 0..MAX_BUFFERED_EVENTS {
            log.push("x", &n);
        }
        let found = slow.ready(2);
        assert_eq!((found[0].kind.as_str(), found[0].data["lost"].as_u64()), ("gap", Some(6)));
        assert_eq!(found[1].seq, 11);
        assert_eq!(log.read(Some(u64::MAX)).ready(1).len(), 0, "a number that was never given");
    }

    #[tokio::test]
    async fn a_reader_waits_for_what_comes() {
        let log = Log::new();
        let mut reader = log.read(None);
        let writer = log.clone();
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            writer.push("a", &());
        });
        assert_eq!(reader.next().await.unwrap().kind, "a");
    }

    #[test]
    fn a_secret_split_over_deltas_is_redacted() {
        let log = Log::new();
        let mut teller = Teller::new(log.clone(), Arc::new(Redactor::patterns_only()));
        for text in ["the key is sk-ant-api03-", "abcdefghijklmnopqrstuvwxyz0123456789", " and more"] {
            teller.tell(&Notice::Piece { item: "item_1", text });
            teller.tell(&Notice::Idle);
        }
        teller.tell(&Notice::Event(&json!({"type": "result"})));
        let text: String = log
            .read(Some(0))
            .ready(100)
            .iter()
            .filter_map(|event| event.data["item"]["delta"].as_str().map(str::to_string))
            .collect();
        assert!(text.starts_with("the key is ") && text.ends_with(" and more"), "{text}");
        assert!(!text.contains("abcdefghijklm"), "{text}");
    }
}
