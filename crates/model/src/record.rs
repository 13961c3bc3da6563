//! Exchanges, saved as a script and played again.
//!
//! [`Recording`] wraps any client and appends each exchange to `script.jsonl`: the reply as a script entry, and beside it
//! the request that it answered. The file is a script like any other, so `--script` plays it; `marvin replay` also
//! compares every new request with the recorded one and stops at the first that differs ([`ReplayClient`]).
//!
//! What is written is redacted, and so is what it is compared with. A request is stored as what came on top of the one
//! before it: a long conversation costs its length, not the square of it.

use crate::client::{ModelClient, ModelError, Reply, Request, Sink};
use crate::message::Message;
use crate::script::{Entry, FailureKind, ScriptCall, ScriptFailure, ScriptReply};
use async_trait::async_trait;
use marvin_base::ledger::{Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::{signature, truncate};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// The file of a recording inside its directory.
#[must_use]
pub fn file(directory: &Path) -> PathBuf {
    directory.join("script.jsonl")
}

/// A request as it is recorded: the messages from `from` on, and what else the answer depends on.
#[derive(Serialize)]
struct RecordedRequest<'a> {
    run_id: &'a str,
    from: usize,
    messages: &'a [Message],
    tools: Vec<&'a str>,
    tools_signature: String,
    answer_only: bool,
    response_schema: &'a Option<Value>,
    role: &'a str,
    step: &'a Option<String>,
}

impl<'a> RecordedRequest<'a> {
    fn new(run_id: &'a str, from: usize, request: &'a Request) -> Self {
        RecordedRequest {
            run_id,
            from,
            messages: request.messages.get(from..).unwrap_or_default(),
            tools: request.tools.iter().map(|tool| tool.name.as_str()).collect(),
            tools_signature: signature::hash(&request.tools),
            answer_only: request.answer_only,
            response_schema: &request.response_schema,
            role: &request.role,
            step: &request.step,
        }
    }
}

/// Keys of a recorded request that a replay compares, besides the messages.
const COMPARED: [&str; 4] = ["tools", "tools_signature", "answer_only", "response_schema"];

/// The part of a recorded request that a replay compares, with the whole conversation.
fn comparable(messages: Value, request: &Value) -> Value {
    let others = COMPARED.map(|key| (key.to_string(), request.get(key).cloned().unwrap_or_default()));
    Value::Object(std::iter::once(("messages".to_string(), messages)).chain(others).collect())
}

/// A client whose exchanges are saved.
pub struct Recording {
    inner: Arc<dyn ModelClient>,
    run: String,
    state: Mutex<RecordingState>,
}

struct RecordingState {
    ledger: Ledger,
    last: Vec<Message>,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording").field("provider", &self.inner.provider()).finish_non_exhaustive()
    }
}

impl Recording {
    /// Records `inner` into `directory`, after whatever is there; `run` says whose exchanges they are.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn new(
        inner: Arc<dyn ModelClient>,
        directory: &Path,
        run: &str,
        redactor: Arc<Redactor>,
    ) -> Result<Self, LedgerError> {
        let ledger = Ledger::open(&file(directory), Durability::Turn, redactor)?;
        Ok(Recording {
            inner,
            run: run.to_string(),
            state: Mutex::new(RecordingState { ledger, last: Vec::new() }),
        })
    }

    fn save(&self, request: &Request, result: &Result<Reply, ModelError>) -> Result<(), LedgerError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let from = if request.messages.starts_with(&state.last) { state.last.len() } else { 0 };
        let recorded = RecordedRequest::new(&self.run, from, request);
        let recorded = serde_json::to_value(recorded).unwrap_or_default();
        let (reply, fail) = match result {
            Ok(reply) => (Some(script_reply(reply)), None),
            // A failure in the middle of a reply has cost something, and does so again when it is replayed.
            Err(error) => {
                let spent = |usage| ScriptReply { usage: Some(usage), ..ScriptReply::default() };
                (error.spent().map(spent), Some(script_failure(error)))
            }
        };
        state.ledger.append(&Entry { reply, fail, request: Some(recorded), ..Entry::default() })?;
        state.last.clone_from(&request.messages);
        Ok(())
    }
}

fn script_reply(reply: &Reply) -> ScriptReply {
    let call = |call: &crate::message::ToolCall| ScriptCall {
        name: call.name.clone(),
        arguments: call.arguments.to_value(),
        id: Some(call.id.clone()),
        opaque: call.opaque.clone(),
    };
    ScriptReply {
        text: reply.text.clone(),
        json: None,
        tool_calls: reply.calls.iter().map(call).collect(),
        usage: Some(reply.usage),
        opaque: reply.opaque.clone(),
    }
}

fn script_failure(error: &ModelError) -> ScriptFailure {
    use crate::client::Failure;
    let (kind, status) = match error.failure {
        Failure::Timeout | Failure::Slow => (FailureKind::Timeout, None),
        Failure::Disconnected => (FailureKind::Disconnect, None),
        Failure::Garbage => (FailureKind::Garbage, None),
        Failure::Unavailable => (FailureKind::Http, Some(503)),
        Failure::Rejected | Failure::Missing | Failure::Program | Failure::Cancelled => {
            (FailureKind::Http, Some(400))
        }
    };
    ScriptFailure { kind, status, retry_after_s: None }
}

#[async_trait]
impl ModelClient for Recording {
    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    fn native_tools(&self) -> bool {
        self.inner.native_tools()
    }

    fn repeatable(&self) -> bool {
        self.inner.repeatable()
    }

    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let result = self.inner.send(request, sink, cancel).await;
        self.save(request, &result).map_err(|error| {
            ModelError::new(self.provider(), crate::client::Failure::Missing, error.to_string())
                .signed("record-failed")
        })?;
        result
    }
}

/// The exchanges of one run, of all that a directory may hold.
#[must_use]
pub fn of_run(entries: Vec<Entry>, run: &str) -> Vec<Entry> {
    let whose = |entry: &Entry| {
        let run = entry.request.as_ref().and_then(|request| request.get("run_id")).and_then(Value::as_str);
        run.map(str::to_string)
    };
    entries.into_iter().filter(|entry| whose(entry).is_none_or(|of| of == run)).collect()
}

/// The first difference between a replayed run and the recorded one.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Which request, from 1.
    pub call: usize,
    /// Place in the request, as a JSON pointer.
    pub at: String,
    pub recorded: Value,
    /// The current value.
    pub now: Value,
}

/// The first difference between two values, depth first.
#[must_use]
pub fn first_difference(recorded: &Value, now: &Value, at: &str) -> Option<(String, Value, Value)> {
    match (recorded, now) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let null = Value::Null;
                let (a, b) = (one.get(key).unwrap_or(&null), other.get(key).unwrap_or(&null));
                first_difference(a, b, &format!("{at}/{key}"))
            })
        }
        (Value::Array(one), Value::Array(other)) => (0..one.len().max(other.len())).find_map(|index| {
            let null = Value::Null;
            let (a, b) = (one.get(index).unwrap_or(&null), other.get(index).unwrap_or(&null));
            first_difference(a, b, &format!("{at}/{index}"))
        }),
        (a, b) if a == b => None,
        (a, b) => Some((at.to_string(), a.clone(), b.clone())),
    }
}

/// The tool results that a recorded message carries, native or as JSON in text.
fn results_in(message: &Value) -> Vec<(String, (String, bool))> {
    let result = |of: &Value, id: &str, text: &str| {
        let id = of.get(id)?.as_str()?.to_string();
        Some((id, (of.get(text)?.as_str()?.to_string(), of.get("ok")?.as_bool()?)))
    };
    if let Some(native) = result(message, "tool_call_id", "content") {
        return vec![native];
    }
    let content = message.get("content").and_then(Value::as_str).unwrap_or_default();
    let Ok(Value::Object(object)) = serde_json::from_str(content) else { return Vec::new() };
    let results = object.get("tool_results").and_then(Value::as_array).into_iter().flatten();
    results.filter_map(|of| result(of, "call_id", "result")).collect()
}

/// Two values that differ, short enough to be shown: of long texts, the part from the first line that differs.
fn shown(recorded: &Value, now: &Value) -> (Value, Value) {
    let short = |value: &Value| truncate::value(value, 2_000, 20, 4);
    let (Value::String(a), Value::String(b)) = (recorded, now) else {
        return (short(recorded), short(now));
    };
    let same: usize = a
        .split_inclusive('\n')
        .zip(b.split_inclusive('\n'))
        .take_while(|(one, other)| one == other)
        .map(|(line, _)| line.len())
        .sum();
    let from = |text: &str| short(&Value::from(text.get(same..).unwrap_or_default()));
    (from(a), from(b))
}

/// A client that plays a recording and watches for the first request that differs.
#[derive(Debug)]
pub struct ReplayClient {
    provider: String,
    model: String,
    native: bool,
    entries: Vec<Entry>,
    redactor: Arc<Redactor>,
    state: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    played: usize,
    messages: Vec<Value>,
    difference: Option<Difference>,
}

impl ReplayClient {
    /// Plays `entries`, answering as the provider and model that were recorded.
    #[must_use]
    pub fn new(
        provider: &str,
        model: &str,
        native: bool,
        entries: Vec<Entry>,
        redactor: Arc<Redactor>,
    ) -> Self {
        ReplayClient {
            provider: provider.to_string(),
            model: model.to_string(),
            native,
            entries,
            redactor,
            state: Mutex::default(),
        }
    }

    /// The first difference seen so far.
    #[must_use]
    pub fn difference(&self) -> Option<Difference> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).difference.clone()
    }

    /// How many exchanges were played, and how many were recorded.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        (self.state.lock().unwrap_or_else(PoisonError::into_inner).played, self.entries.len())
    }

    /// Every tool result of the recording, by call id.
    #[must_use]
    pub fn tool_results(&self) -> std::collections::BTreeMap<String, (String, bool)> {
        let messages =
            self.entries.iter().filter_map(|entry| entry.request.as_ref()?.get("messages")?.as_array());
        messages.flatten().flat_map(results_in).collect()
    }

    /// Messages before the recorded run: its first request without the system message and the prompt.
    #[must_use]
    pub fn said_before(&self) -> Vec<Message> {
        let first =
            self.entries.first().and_then(|entry| entry.request.as_ref()?.get("messages")?.as_array());
        let Some((_prompt, before)) = first.and_then(|messages| messages.split_last()) else {
            return Vec::new();
        };
        before.iter().skip(1).filter_map(|message| serde_json::from_value(message.clone()).ok()).collect()
    }

    /// Takes the next entry, comparing the request on the way.
    fn next(&self, request: &Request) -> Option<Entry> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = self.entries.get(state.played)?.clone();
        state.played += 1;
        if let Some(recorded) = &entry.request {
            let from = recorded.get("from").and_then(Value::as_u64).unwrap_or(0);
            state.messages.truncate(usize::try_from(from).unwrap_or(0));
            if let Some(messages) = recorded.get("messages").and_then(Value::as_array) {
                state.messages.extend(messages.iter().cloned());
            }
            let mut now = serde_json::to_value(RecordedRequest::new("", 0, request)).unwrap_or_default();
            let messages = now.get_mut("messages").map(Value::take).unwrap_or_default();
            now = comparable(messages, &now);
            self.redactor.value(&mut now);
            let mut recorded_now = comparable(Value::Array(state.messages.clone()), recorded);
            self.redactor.value(&mut recorded_now);
            if state.difference.is_none()
                && let Some((at, a, b)) = first_difference(&recorded_now, &now, "")
            {
                let call = state.played;
                let (recorded, now) = shown(&a, &b);
                state.difference = Some(Difference { call, at, recorded, now });
            }
        }
        Some(entry)
    }
}

#[async_trait]
impl ModelClient for ReplayClient {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn native_tools(&self) -> bool {
        self.native
    }

    fn repeatable(&self) -> bool {
        false
    }

    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let entry = self.next(request).unwrap_or_default();
        let stopped = |message: &str| {
            ModelError::new(&self.provider, crate::client::Failure::Missing, message).signed("replay-differs")
        };
        if self.difference().is_some() {
            return Err(stopped("the new run differs from the recorded one"));
        }
        if entry.reply.is_none() && entry.fail.is_none() {
            return Err(stopped("the recording has no further reply, but the new run asks for one"));
        }
        let script = crate::script::Script::new(vec![Entry { when: Default::default(), ..entry }]);
        crate::mock::Mock::new(Some(script)).send(request, sink, cancel).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Mock;
    use crate::script::{Script, parse};

    fn ask(messages: Vec<Message>) -> Request {
        Request { messages, ..Request::default() }
    }

    async fn send(client: &dyn ModelClient, request: &Request) -> Result<Reply, ModelError> {
        client.send(request, &mut |_| {}, &CancellationToken::new()).await
    }

    #[tokio::test]
    async fn a_recording_replays_until_something_differs() {
        let directory = tempfile::tempdir().unwrap();
        let redactor = Arc::new(Redactor::patterns_only());
        let script = "{\"reply\":{\"text\":\"one\"}}\n{\"reply\":{\"text\":\"two\"}}";
        let mock = Arc::new(Mock::new(Some(Script::new(parse("s", script).unwrap()))));
        let recording = Recording::new(mock, directory.path(), "run_1", redactor.clone()).unwrap();
        let first = ask(vec![Message::system("rules"), Message::user("hi AKIAIOSFODNN7EXAMPLE")]);
        let mut second = first.clone();
        second.messages.extend([Message::assistant("one"), Message::user("and?")]);
        send(&recording, &first).await.unwrap();
        send(&recording, &second).await.unwrap();
        drop(recording);
        let text = std::fs::read_to_string(file(directory.path())).unwrap();
        assert!(!text.contains("AKIAIOSFODNN7EXAMPLE"));
        assert_eq!(text.matches("rules").count(), 1, "only what is new is stored");

        let entries = parse("r", &text).unwrap();
        let replay = |entries: Vec<Entry>| ReplayClient::new("mock", "mock", true, entries, redactor.clone());
        let same = replay(entries.clone());
        assert_eq!(send(&same, &first).await.unwrap().text, "one");
        assert_eq!(send(&same, &second).await.unwrap().text, "two");
        assert_eq!((same.difference(), same.progress()), (None, (2, 2)));
        assert!(send(&same, &second).await.is_err(), "nothing further was recorded");

        let other = replay(entries);
        send(&other, &first).await.unwrap();
        second.messages[3] = Message::user("or?");
        assert_eq!(send(&other, &second).await.unwrap_err().signature, "replay-differs");
        let difference = other.difference().unwrap();
        assert_eq!((difference.call, difference.at.as_str()), (2, "/messages/3/content"));
    }

    #[tokio::test]
    async fn a_failure_costs_the_same_when_it_is_replayed() {
        let directory = tempfile::tempdir().unwrap();
        let script = r#"{"reply":{"text":"half of this"},"fail":{"kind":"disconnect"}}"#;
        let inner = Arc::new(Mock::new(Some(Script::new(parse("s", script).unwrap()))));
        let redactor = Arc::new(Redactor::patterns_only());
        let recording = Recording::new(inner, directory.path(), "run", redactor.clone()).unwrap();
        let request = ask(vec![Message::user("go on then")]);
        let spent = send(&recording, &request).await.unwrap_err().spent();
        drop(recording);
        let entries = parse("r", &std::fs::read_to_string(file(directory.path())).unwrap()).unwrap();
        let replay = ReplayClient::new("mock", "mock", true, entries, redactor);
        let again = send(&replay, &request).await.unwrap_err();
        assert_eq!((again.failure, again.spent()), (crate::client::Failure::Disconnected, spent));
        assert!(spent.is_some());
    }
}
