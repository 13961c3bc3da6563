//! The interface to models: [`ModelClient`], its requests, replies and errors.

use crate::message::{Message, ToolCall};
use crate::parameters::Parameters;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    /// Its description for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Parameters,
}

/// One request to a model. It holds everything that the answer may depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Request {
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools on offer, in a stable order.
    pub tools: Vec<ToolSpec>,
    /// Whether the model may only answer. The tools are still named: vendors refuse a conversation with calls in it
    /// whose tools they were not told of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer_only: bool,
    /// The JSON schema that the final answer must have, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Value>,
    /// Which role asks (`Implementer`, `Chat` …): scripts and prices look at it, vendors do not.
    #[serde(default)]
    pub role: String,
    /// Which workflow step asks, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// Tokens that a reply cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones included.
    #[serde(default)]
    pub input: u64,
    /// Tokens written.
    #[serde(default)]
    pub output: u64,
    /// Tokens of the input that came from a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
}

impl Usage {
    /// An estimate, four characters per token, for a request whose vendor did not report usage: the input of the request,
    /// and `written` characters of an answer.
    #[must_use]
    pub fn estimate(request: &Request, written: usize) -> Self {
        let messages = request.messages.iter().map(|message| {
            let calls = match message {
                Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
                _ => &[],
            };
            let called = calls.iter().map(|call| call.name.len() + call.arguments.to_text().chars().count());
            message.content().chars().count() + called.sum::<usize>()
        });
        let tools = request.tools.iter().map(|tool| {
            tool.name.len() + tool.description.chars().count() + tool.parameters.to_string().chars().count()
        });
        Usage { input: tokens(messages.chain(tools).sum()), output: tokens(written), cached: 0 }
    }
}

/// About four characters per token.
pub(crate) fn tokens(characters: usize) -> u64 {
    characters.div_ceil(4) as u64
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Reason for the end of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// The model was done, or wants its calls run. Which of the two, the presence of calls says, not the wire.
    #[default]
    End,
    /// The length limit cut it.
    Length,
    /// The vendor's filter cut it.
    Filtered,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    pub text: String,
    /// The calls that the model asks for.
    pub calls: Vec<ToolCall>,
    /// The tokens.
    pub usage: Usage,
    /// The reason for its end.
    pub stop: Stop,
    /// The model that answered, as the vendor names it; empty when it does not say.
    pub model: String,
    /// The provider that answered, where it is another than the client's.
    pub provider: String,
    /// Data that the vendor wants back unchanged with this message.
    pub opaque: Option<Value>,
    /// Cost in nano-dollars, if the vendor reports it.
    pub cost: Option<u64>,
}

/// An event while a reply arrives.
#[derive(Debug)]
pub enum Event<'a> {
    /// A piece of the answer.
    Text(&'a str),
    /// A piece of the model's reasoning, where the vendor shows it.
    Reasoning(&'a str),
    /// The reply so far is void; the request is being repeated.
    Restart {
        /// Why.
        reason: &'a str,
        /// Which repetition this is, from 1.
        attempt: u32,
        /// Tokens of the failed attempt; see [`ModelError::spent`].
        spent: Option<Usage>,
    },
    /// The provider failed for good, and another answers from here on; what was shown of this reply is void.
    Fallback {
        reason: &'a str,
        /// The provider and the model that answer.
        to: &'a str,
        /// Cost of the failed attempt.
        spent: Option<Usage>,
    },
    /// How much of the prompt a server on this machine has read, in tokens.
    Reading { done: u64, total: u64 },
    /// Nothing more is at hand just now: what was held for company may be shown.
    Idle,
}

/// Kinds of failure that the shell treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The server refused the request; repeating does not help.
    Rejected,
    /// The server is busy or broken (429, 5xx).
    Unavailable,
    /// The connection took too long, or the reply stopped.
    Timeout,
    /// The model is slower than the limits allow. The same request would be as slow again.
    Slow,
    /// The connection broke, or never came about.
    Disconnected,
    /// The answer cannot be parsed.
    Garbage,
    /// A key, a program or a script is missing.
    Missing,
    /// A program that Marvin drives failed.
    Program,
    /// A person or a bound stopped it.
    Cancelled,
}

/// Failure of a request to a model.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ModelError {
    pub provider: String,
    pub failure: Failure,
    /// One sentence that names the problem and its fix.
    pub message: String,
    /// A stable name for records and retries, such as `llm-codex-timeout`.
    pub signature: String,
    /// How long the server asked us to wait.
    pub retry_after: Option<Duration>,
    /// See [`ModelError::spent`]. Boxed, because results are moved far more often than they fail.
    pub(crate) spent: Option<Box<Usage>>,
}

impl ModelError {
    /// An error with the usual signature, `llm-<provider>-<kind>`.
    pub fn new(provider: &str, failure: Failure, message: impl Into<String>) -> Self {
        let kind = match failure {
            Failure::Rejected => "rejected",
            Failure::Unavailable => "unavailable",
            Failure::Timeout | Failure::Slow => "timeout",
            Failure::Disconnected => "disconnected",
            Failure::Garbage => "garbage",
            Failure::Missing => "missing",
            Failure::Program => "exception",
            Failure::Cancelled => "cancelled",
        };
        ModelError {
            provider: provider.to_string(),
            failure,
            message: message.into(),
            signature: format!("llm-{provider}-{kind}"),
            retry_after: None,
            spent: None,
        }
    }

    /// The same error under another signature.
    #[must_use]
    pub fn signed(mut self, signature: impl Into<String>) -> Self {
        self.signature = signature.into();
        self
    }

    /// The same error, with what was spent on it.
    #[must_use]
    pub fn costing(mut self, spent: Usage) -> Self {
        self.spent = Some(Box::new(spent));
        self
    }

    /// Tokens spent on a failed request: what the vendor reported until then, else an estimate. `None` when the request
    /// did not reach the model. Of a request that was repeated it is the last attempt's; the others are told with
    /// [`Event::Restart`].
    #[must_use]
    pub fn spent(&self) -> Option<Usage> {
        self.spent.as_deref().copied()
    }

    /// May the same request be sent again?
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self.failure,
            Failure::Unavailable | Failure::Timeout | Failure::Disconnected | Failure::Garbage
        )
    }
}

/// Receives events while a reply arrives.
pub type Sink<'a> = dyn FnMut(Event<'_>) + Send + 'a;

/// A model behind any provider.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// The provider's name.
    fn provider(&self) -> &str;

    /// The model's name.
    fn model(&self) -> &str;

    /// Whether replies carry native tool calls; else tools are asked for in JSON text.
    fn native_tools(&self) -> bool {
        true
    }

    /// May a failed request be sent again? Not where tools may have run inside the reply.
    fn repeatable(&self) -> bool {
        true
    }

    /// Sends one request and streams the reply. One attempt: repeating is [`crate::retry`]'s job.
    ///
    /// # Errors
    /// When the reply is not complete; `cancel` ends the wait at once.
    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError>;
}
