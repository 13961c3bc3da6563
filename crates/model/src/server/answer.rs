//! An answer of the script, ready to be written in any format, and the pieces that it is sent in.

use super::incoming::IncomingRequest;
use crate::client::Usage;
use crate::script::{Entry, FailureKind, ScriptReply, pieces};
use axum::body::Bytes;
use marvin_base::clock;
use serde::Serialize;
use serde_json::{Map, Value};
use std::ops::Range;

/// Shorter texts are sent in one piece unless the script says otherwise.
const SHORT: usize = 32;

/// Pieces of a text for which the script says nothing.
const PIECES: usize = 8;

/// Pieces in which arguments are streamed.
const ARGUMENT_PIECES: usize = 4;

/// The reasoning of a model that thinks aloud.
pub(super) const THOUGHT: &str = "Let me think.";

#[derive(Debug)]
pub(super) struct Answer {
    /// Its number, for ids.
    pub(super) number: u64,
    /// The model that was asked.
    pub(super) model: String,
    pub(super) text: String,
    /// The number of pieces of the text.
    pub(super) count: usize,
    pub(super) calls: Vec<Call>,
    /// The tokens.
    pub(super) usage: Usage,
    /// Whether it thinks aloud.
    pub(super) thinks: bool,
    /// When, in seconds.
    pub(super) created: i64,
}

/// One call, with the arguments exactly as the script has them.
#[derive(Debug)]
pub(super) struct Call {
    /// The id; the script's own where it has one.
    pub(super) id: String,
    /// Whether the id is the script's.
    pub(super) named: bool,
    pub(super) name: String,
    pub(super) arguments: Value,
    /// Whether the tool takes free text.
    pub(super) freeform: bool,
    /// Whether it looks for tools.
    pub(super) search: bool,
    /// The tool's namespace, if the request has namespaces.
    pub(super) namespace: Option<String>,
}

impl Call {
    /// The name of the tool inside of its namespace.
    pub(super) fn bare_name(&self) -> &str {
        let inside = self
            .namespace
            .as_ref()
            .and_then(|space| self.name.strip_prefix(space.as_str())?.strip_prefix("__"));
        inside.unwrap_or(&self.name)
    }

    /// The arguments as a wire that carries text has them.
    pub(super) fn text(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            Value::Null => "{}".into(),
            other => other.to_string(),
        }
    }

    /// The arguments as a wire that carries values has them.
    pub(super) fn value(&self) -> Value {
        if self.arguments.is_null() { Value::Object(Map::new()) } else { self.arguments.clone() }
    }

    /// The arguments of a tool that takes free text: the only text of an object, or the text.
    pub(super) fn free(&self) -> String {
        match &self.arguments {
            Value::Object(map) if map.len() == 1 => {
                map.values().next().and_then(Value::as_str).map_or_else(|| self.text(), str::to_string)
            }
            _ => self.text(),
        }
    }

    /// A placeholder for a vendor's signature.
    pub(super) fn signature(&self) -> String {
        format!("signature-of-{}", self.id)
    }
}

/// A text of arguments in the pieces in which it is streamed.
pub(super) fn argument_pieces(text: &str) -> Vec<&str> {
    pieces(text, ARGUMENT_PIECES)
}

impl Answer {
    /// The answer that an entry gives to a request of `size` bytes.
    pub(super) fn new(
        number: u64,
        incoming: &IncomingRequest,
        entry: &Entry,
        reply: &ScriptReply,
        size: usize,
    ) -> Self {
        let text = reply.spoken();
        let calls: Vec<Call> = reply
            .tool_calls
            .iter()
            .enumerate()
            .map(|(index, call)| Call {
                id: call.id.clone().unwrap_or_else(|| format!("call_s{number}x{index}")),
                named: call.id.is_some(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                freeform: incoming.freeform.contains(&call.name),
                search: incoming.searches && call.name == "tool_search",
                namespace: incoming.namespace_of(&call.name),
            })
            .collect();
        let mut count = entry.chunks.unwrap_or(if text.len() < SHORT { 1 } else { PIECES }).max(1);
        if entry.fail.as_ref().is_some_and(|failure| failure.kind != FailureKind::Http) {
            // A text that breaks in its middle needs a middle.
            count = count.max(2);
        }
        let written = text.len() + calls.iter().map(|call| call.text().len()).sum::<usize>();
        let estimate = |size: usize| u64::try_from(size.div_ceil(4)).unwrap_or(u64::MAX);
        let usage =
            reply.usage.unwrap_or(Usage { input: estimate(size), output: estimate(written), cached: 0 });
        Answer {
            number,
            model: incoming.model.clone(),
            text,
            count,
            calls,
            usage,
            thinks: incoming.model.contains("thinking"),
            created: clock::now().as_second(),
        }
    }

    pub(super) fn pieces(&self) -> Vec<&str> {
        pieces(&self.text, self.count)
    }
}

/// A value as JSON text. The types of the formats have no keys that JSON cannot hold, so it does not fail.
pub(super) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The pieces of a body.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) list: Vec<Bytes>,
    text: Range<usize>,
    /// The type of the body.
    pub(super) content_type: &'static str,
}

impl Frames {
    pub(super) fn empty() -> Self {
        Frames { list: Vec::new(), text: 0..0, content_type: "text/event-stream" }
    }

    /// No pieces yet, of another type.
    pub(super) fn with_content_type(content_type: &'static str) -> Self {
        Frames { content_type, ..Frames::empty() }
    }

    /// A whole JSON body, in two pieces so that it can be broken.
    pub(super) fn whole(body: &str) -> Self {
        let list: Vec<Bytes> =
            pieces(body, 2).into_iter().map(|piece| Bytes::copy_from_slice(piece.as_bytes())).collect();
        Frames { text: 0..list.len(), list, content_type: "application/json" }
    }

    pub(super) fn push(&mut self, piece: impl Into<Bytes>) {
        self.list.push(piece.into());
    }

    /// Adds a server-sent event without a name.
    pub(super) fn data(&mut self, data: &impl Serialize) {
        self.push(format!("data: {}\n\n", json_text(data)));
    }

    /// Adds a server-sent event that is named after its `type`.
    pub(super) fn event(&mut self, data: &impl Serialize) {
        let data = serde_json::to_value(data).unwrap_or_default();
        let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
        self.push(format!("event: {name}\ndata: {data}\n\n"));
    }

    /// Adds one piece per piece of text: `before`, the text as JSON, `after`. Written by hand, because a text may
    /// come in many thousand pieces.
    pub(super) fn texts(&mut self, answer: &Answer, before: &str, after: &str) {
        let start = self.list.len();
        for piece in answer.pieces() {
            let quoted = json_text(&piece);
            let mut frame = String::with_capacity(before.len() + quoted.len() + after.len());
            frame.push_str(before);
            frame.push_str(&quoted);
            frame.push_str(after);
            self.push(frame);
        }
        self.text = start..self.list.len();
    }

    /// Keeps what comes up to the middle of the text, or of everything without a text.
    pub(super) fn halve(&mut self) {
        let middle = if self.text.is_empty() {
            self.list.len() / 2
        } else {
            self.text.start + (self.text.len() / 2).max(1)
        };
        self.list.truncate(middle);
    }
}
