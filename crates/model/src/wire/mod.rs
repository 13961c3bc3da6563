//! Models behind an HTTP endpoint, one module per wire format.
//!
//! One [`HttpModel`] does everything that is the same for all vendors: connect, send, wait within bounds of time and size, split
//! the stream into lines, map statuses to [`Failure`](crate::client::Failure)s. A wire module knows only two things:
//! how a [`Request`] becomes a body ([`outgoing`]) and how one line of the answer changes the reply ([`Reader`]).
//!
//! Replies are always streamed, and a line is parsed where it lies: typed structs that borrow from the network's
//! buffer, so that a reply in many thousand pieces costs little more than reading the socket.
//!
//! Limits: an event must stand on one `data:` line (every vendor does so), and a server that ignores `stream: true` is
//! told apart from garbage only by the text of the error.

mod address;
mod anthropic;
mod calls;
pub mod copilot;
mod errors;
mod gemini;
mod http;
mod lines;
mod ollama;
mod openai;
mod text;

pub use copilot::CopilotModel;
pub use http::{HttpModel, HttpOptions, web_builder, web_client};

use crate::client::{Event, Reply, Request, Sink, Usage};
use errors::Fault;
use serde_json::Value;

/// Which format an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireKind {
    /// OpenAI chat completions, and everything that imitates them.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Gemini's own `streamGenerateContent`.
    Gemini,
    /// Ollama's own `/api/chat`.
    Ollama,
}

impl WireKind {
    /// What the format is called in messages.
    fn label(self) -> &'static str {
        match self {
            WireKind::OpenAi => "an OpenAI chat stream",
            WireKind::Anthropic => "an Anthropic message stream",
            WireKind::Gemini => "a Gemini content stream",
            WireKind::Ollama => "an Ollama chat stream",
        }
    }
}

/// The body of a request in the endpoint's format.
fn outgoing(kind: WireKind, model: &str, context: Option<u64>, request: &Request) -> Value {
    match kind {
        WireKind::OpenAi => openai::body(model, request),
        WireKind::Anthropic => anthropic::body(model, request),
        WireKind::Gemini => gemini::body(request),
        WireKind::Ollama => ollama::body(model, context, request),
    }
}

/// What a line meant for the stream as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// More is to come.
    More,
    /// More is to come, and this was only a sign of life: a blank line, a comment, a ping.
    Nothing,
    /// That was the terminal marker.
    Done,
}

/// Turns the lines of one answer into a reply.
trait Reader: Send {
    /// Takes one line, without its line break.
    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> Result<Progress, Fault>;

    /// The reply, once the stream has ended; [`Fault::Cut`] when it ended too early.
    fn finish(&mut self) -> Result<Reply, Fault>;

    /// What has come so far.
    fn draft(&self) -> &Draft;
}

fn reader(kind: WireKind) -> Box<dyn Reader> {
    match kind {
        WireKind::OpenAi => Box::<openai::Stream>::default(),
        WireKind::Anthropic => Box::<anthropic::Stream>::default(),
        WireKind::Gemini => Box::<gemini::Stream>::default(),
        WireKind::Ollama => Box::<ollama::Stream>::default(),
    }
}

/// The parts of a reply that grow the same way on every wire.
#[derive(Debug, Default)]
struct Draft {
    reply: Reply,
    calls: calls::Calls,
    reasoning: String,
}

impl Draft {
    fn text(&mut self, piece: &str, sink: &mut Sink<'_>) {
        if !piece.is_empty() {
            self.reply.text.push_str(piece);
            sink(Event::Text(piece));
        }
    }

    fn reasoning(&mut self, piece: &str, sink: &mut Sink<'_>) {
        if !piece.is_empty() {
            self.reasoning.push_str(piece);
            sink(Event::Reasoning(piece));
        }
    }

    fn model(&mut self, name: &str) {
        if self.reply.model.is_empty() {
            self.reply.model.push_str(name);
        }
    }

    /// What a reply that broke off here cost: what the vendor said, and a guess where it said nothing. Vendors count the
    /// output at the end, and begin with a token or two, so the guess counts where it is higher.
    fn spent(&self, request: &Request) -> Usage {
        let written =
            self.reply.text.chars().count() + self.reasoning.chars().count() + self.calls.characters();
        let guess = Usage::estimate(request, written);
        let said = self.reply.usage;
        let output = said.output.max(guess.output);
        if said.input == 0 { Usage { output, ..guess } } else { Usage { output, ..said } }
    }

    fn finish(mut self) -> Reply {
        self.reply.calls = self.calls.finish();
        self.reply
    }
}

/// The part of an opaque value that belongs to one wire. What another vendor left there is not ours to send.
fn own<'v>(opaque: Option<&'v Value>, wire: &str) -> Option<&'v Value> {
    opaque?.get(wire)
}

#[cfg(test)]
mod tests;
