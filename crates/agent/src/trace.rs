//! Trace of a run: every event is appended to `trace.jsonl` before a front end sees it.
//!
//! A front end (text, JSON, terminal, browser) receives [`Notice`]s. An event is shown exactly as it was written, except
//! for the hash that links the lines, so the stream that a program reads and the file that an auditor reads never
//! disagree. Deltas of a text that is still arriving are not events: they are shown but not recorded; the text is
//! recorded when it is complete.

use marvin_base::ledger::{Ledger, LedgerError};
use marvin_base::redact::Scope;
use marvin_base::trace_event::{self, NoticeKind, TraceEvent};
use marvin_base::truncate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The paths of an event that reports tampering.
fn tampered_paths(event: &Value) -> Vec<String> {
    match trace_event::Notice::deserialize(event) {
        Ok(trace_event::Notice { kind: Some(NoticeKind::Tampering), paths, .. }) => paths,
        _ => Vec::new(),
    }
}

/// A message to a front end.
#[derive(Debug)]
pub enum Notice<'a> {
    /// An event that was written to the trace.
    Event(&'a Value),
    /// A delta of an item that is still arriving.
    Piece {
        item: &'a str,
        /// The delta, not redacted yet: the front end redacts what it shows.
        text: &'a str,
    },
    /// The deltas of this item are void: it begins again.
    Restart { item: &'a str, reason: &'a str },
    /// How much of the prompt the model has read, in tokens.
    Reading { done: u64, total: u64 },
    /// No more deltas are ready: buffered text may be shown.
    Idle,
}

/// The front end's receiver of notices.
pub type Listener = Box<dyn FnMut(Notice<'_>) + Send>;

/// The trace of a run, or a view of it whose events share some fields.
pub struct Trace {
    inner: Arc<Mutex<Inner>>,
    about: Map<String, Value>,
}

struct Inner {
    ledger: Ledger,
    listener: Listener,
    sequence: u64,
    items: u64,
    /// Paths that programs changed without permission, from the trace.
    tampered: BTreeSet<String>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

impl Trace {
    /// A trace that is written to `ledger` and shown to `listener`.
    #[must_use]
    pub fn new(ledger: Ledger, listener: Listener) -> Self {
        Trace::from_inner(Inner { ledger, listener, sequence: 0, items: 0, tampered: BTreeSet::new() })
    }

    /// Continues a trace after the events that were written before.
    #[must_use]
    pub fn resume(ledger: Ledger, listener: Listener, before: &[Value]) -> Self {
        let number = |value: Option<&Value>| value.and_then(Value::as_u64);
        let item = |event: &Value| {
            let id = event.get("item")?.get("id")?.as_str()?;
            id.strip_prefix("item_")?.split('_').next()?.parse().ok()
        };
        let sequence = before.iter().filter_map(|event| number(event.get("seq"))).max().unwrap_or(0);
        let items = before.iter().filter_map(item).max().unwrap_or(0);
        let tampered = before.iter().flat_map(tampered_paths).collect();
        Trace::from_inner(Inner { ledger, listener, sequence, items, tampered })
    }

    fn from_inner(inner: Inner) -> Self {
        Trace { inner: Arc::new(Mutex::new(inner)), about: Map::new() }
    }

    /// The same trace with fields that are added to every event: step, worker, call.
    #[must_use]
    pub fn about(&self, about: Map<String, Value>) -> Self {
        Trace { inner: self.inner.clone(), about }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an event, then shows it.
    ///
    /// # Errors
    /// When it cannot be written; then no front end sees it, and the announced action must not happen.
    pub fn event(&self, event: impl Into<TraceEvent>) -> Result<(), LedgerError> {
        self.record(event).map(|_| ())
    }

    /// Writes a notice that is only text.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn notice(&self, text: impl Into<String>) -> Result<(), LedgerError> {
        self.event(TraceEvent::notice(text))
    }

    /// Like [`Trace::event`]; returns the event as it was written.
    ///
    /// # Errors
    /// When it cannot be written; then no front end sees it, and the announced action must not happen.
    pub fn record(&self, event: impl Into<TraceEvent>) -> Result<Value, LedgerError> {
        let event = event.into();
        let is_result = matches!(event, TraceEvent::Result(_));
        let mut inner = self.inner();
        inner.sequence += 1;
        let event = event.line(inner.sequence, &self.about);
        let written = inner.ledger.append(&event)?;
        inner.tampered.extend(tampered_paths(&written));
        // The result goes to the caller, who needs it as it is; the record keeps the redacted copy.
        let live = is_result.then(|| {
            let mut live = event;
            inner.ledger.redactor().value_for(&mut live, Scope::Caller);
            live
        });
        (inner.listener)(Notice::Event(live.as_ref().unwrap_or(&written)));
        Ok(written)
    }

    /// Records changes that a program was not allowed to make, and shows them at once; the run's result repeats them.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn tampering(&self, tool: &str, item: Option<&str>, paths: &[String]) -> Result<(), LedgerError> {
        if paths.is_empty() {
            return Ok(());
        }
        let text = format!("`{tool}` changed what it should not: {}", paths.join(", "));
        self.event(TraceEvent::Notice(trace_event::Notice {
            kind: Some(NoticeKind::Tampering),
            text,
            tool: Some(tool.to_string()),
            item_id: item.map(str::to_string),
            paths: paths.to_vec(),
        }))
    }

    /// Every path that programs of this run changed without permission.
    #[must_use]
    pub fn tampered(&self) -> Vec<String> {
        self.inner().tampered.iter().cloned().collect()
    }

    /// A value for an event, its texts within `characters`. Redacted before it is cut: half a secret would no longer be
    /// recognised when it is written.
    #[must_use]
    pub fn within(&self, value: &impl Serialize, characters: usize) -> Value {
        let mut clean = serde_json::to_value(value).unwrap_or_default();
        self.inner().ledger.redactor().value(&mut clean);
        truncate::value(&clean, characters, 50, 4)
    }

    /// A text for an event, as [`Trace::within`].
    #[must_use]
    pub fn within_text(&self, text: &str, characters: usize) -> String {
        match self.within(&text, characters) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// Sends the front end a notice that is not recorded.
    pub fn tell(&self, notice: Notice<'_>) {
        (self.inner().listener)(notice);
    }

    /// A new item's id: stable, unique within the run.
    #[must_use]
    pub fn next_item(&self) -> String {
        let mut inner = self.inner();
        inner.items += 1;
        format!("item_{}", inner.items)
    }

    /// Forces the trace to the disk.
    ///
    /// # Errors
    /// When the operating system cannot.
    pub fn sync(&self) -> Result<(), LedgerError> {
        self.inner().ledger.sync()
    }
}
