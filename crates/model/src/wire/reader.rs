//! Reading of answers: what all wires share.

use super::calls::Calls;
use super::errors::Fault;
use crate::client::{Event, Reply, Request, Sink, Usage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Effect of a line on the stream as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// More is to come.
    More,
    /// More is to come, and this was only a sign of life: a blank line, a comment, a ping.
    Nothing,
    /// That was the terminal marker.
    Done,
}

/// Turns the lines of one answer into a reply.
pub(super) trait Reader: Send {
    /// Takes one line, without its line break.
    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> Result<Progress, Fault>;

    /// The reply, once the stream has ended; [`Fault::Cut`] when it ended too early.
    fn finish(&mut self) -> Result<Reply, Fault>;

    /// The reply so far.
    fn draft(&self) -> &Draft;
}

/// The parts of a reply that grow the same way on every wire.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) reply: Reply,
    pub(super) calls: Calls,
    pub(super) reasoning: String,
}

impl Draft {
    pub(super) fn text(&mut self, piece: &str, sink: &mut Sink<'_>) {
        if !piece.is_empty() {
            self.reply.text.push_str(piece);
            sink(Event::Text(piece));
        }
    }

    pub(super) fn reasoning(&mut self, piece: &str, sink: &mut Sink<'_>) {
        if !piece.is_empty() {
            self.reasoning.push_str(piece);
            sink(Event::Reasoning(piece));
        }
    }

    pub(super) fn model(&mut self, name: &str) {
        if self.reply.model.is_empty() {
            self.reply.model.push_str(name);
        }
    }

    /// Usage of a reply that was interrupted here: what the vendor reported, else an estimate. Vendors count the output
    /// at the end, and begin with a token or two, so the estimate counts where it is higher.
    pub(super) fn spent(&self, request: &Request) -> Usage {
        let written =
            self.reply.text.chars().count() + self.reasoning.chars().count() + self.calls.characters();
        let estimate = Usage::estimate(request, written);
        let reported = self.reply.usage;
        let output = reported.output.max(estimate.output);
        if reported.input == 0 { Usage { output, ..estimate } } else { Usage { output, ..reported } }
    }

    pub(super) fn finish(mut self) -> Reply {
        self.reply.calls = self.calls.finish();
        self.reply
    }
}

/// Reads back what [`keep`] wrote. What another vendor left there is not ours to send.
pub(super) fn kept<T: DeserializeOwned + Default>(opaque: Option<&Value>, wire: &str) -> T {
    let own = opaque.and_then(|opaque| opaque.get(wire));
    own.and_then(|own| T::deserialize(own).ok()).unwrap_or_default()
}

/// The opaque value that makes a wire get something back unchanged with a message or a call.
pub(super) fn keep(wire: &str, kept: &impl Serialize) -> Option<Value> {
    let kept = serde_json::to_value(kept).ok()?;
    Some(Value::Object(Map::from_iter([(wire.to_string(), kept)])))
}
