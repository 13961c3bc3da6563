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
mod reader;
mod text;

pub(crate) use address::is_local;
pub use copilot::CopilotModel;
pub use http::{HttpModel, HttpOptions, WebClientError, web_builder, web_client};

use crate::client::Request;
use reader::Reader;

/// Which format an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireKind {
    /// OpenAI chat completions, and everything that imitates them.
    OpenAi,
    Anthropic,
    /// Gemini's own `streamGenerateContent`.
    Gemini,
    /// Ollama's own `/api/chat`.
    Ollama,
}

impl WireKind {
    /// Name of the format in messages.
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
fn outgoing(
    kind: WireKind,
    model: &str,
    context: Option<u64>,
    is_local: bool,
    request: &Request,
) -> serde_json::Result<String> {
    match kind {
        WireKind::OpenAi => serde_json::to_string(&openai::body(model, is_local, request)),
        WireKind::Anthropic => serde_json::to_string(&anthropic::body(model, request)),
        WireKind::Gemini => serde_json::to_string(&gemini::body(request)),
        WireKind::Ollama => serde_json::to_string(&ollama::body(model, context, request)),
    }
}

fn new_reader(kind: WireKind) -> Box<dyn Reader> {
    match kind {
        WireKind::OpenAi => Box::<openai::Stream>::default(),
        WireKind::Anthropic => Box::<anthropic::Stream>::default(),
        WireKind::Gemini => Box::<gemini::Stream>::default(),
        WireKind::Ollama => Box::<ollama::Stream>::default(),
    }
}

#[cfg(test)]
mod tests;
