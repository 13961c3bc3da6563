//! OpenAI chat completions, and the many servers that imitate them.
//!
//! Deviations of imitators that are understood: calls without `index`, arguments as an object, `stop` as the
//! reason where there are calls, no `[DONE]`, usage inside a choice or under `x_groq`, reasoning under two names.

use super::calls::Calls;
use super::errors::Fault;
use super::lines::data;
use super::reader::{Draft, Progress, Reader, keep, kept};
use super::text::{First, Text};
use crate::client::{Event, Reply, Request, Sink, Stop, Usage};
use crate::formats::openai::{
    Call, ChatMessage, ChatRequest, Function, NamedSchema, ResponseFormat, StreamOptions, Tool,
};
use crate::message::{Message, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The key under which this wire keeps what it must send back.
const OWN: &str = "openai";

/// Data that a message must carry back.
#[derive(Default, Serialize, Deserialize)]
struct KeptMessage {
    reasoning_content: Option<Value>,
}

/// Data that a call must carry back.
#[derive(Default, Serialize, Deserialize)]
struct KeptCall {
    extra_content: Option<Value>,
}

/// The body of a request; a server on this machine is asked for its progress, which vendors would refuse as unknown.
pub(super) fn body(model: &str, is_local: bool, request: &Request) -> ChatRequest {
    let format = |schema: &Value| ResponseFormat {
        kind: "json_schema",
        json_schema: NamedSchema { name: "answer", schema: schema.clone() },
    };
    ChatRequest {
        model: model.to_string(),
        messages: request.messages.iter().map(message).collect(),
        stream: Some(true),
        stream_options: Some(StreamOptions { include_usage: true }),
        tools: request.tools.iter().map(Tool::new).collect(),
        tool_choice: (!request.tools.is_empty() && request.answer_only).then_some("none"),
        return_progress: is_local.then_some(true),
        response_format: request.response_schema.as_ref().map(format),
        ..ChatRequest::default()
    }
}

fn message(message: &Message) -> ChatMessage {
    let mut chat = ChatMessage::new(message.role(), message.content());
    match message {
        Message::System { .. } | Message::User { .. } => {}
        Message::Tool { tool_call_id, .. } => chat.tool_call_id = Some(tool_call_id.clone()),
        Message::Assistant { content, tool_calls, opaque } => {
            if content.is_empty() && !tool_calls.is_empty() {
                // Empty text beside calls is refused by some servers; null is what OpenAI itself sends.
                chat.content = Some(Value::Null);
            }
            chat.tool_calls = tool_calls.iter().map(call).collect();
            chat.reasoning_content = kept::<KeptMessage>(opaque.as_ref(), OWN).reasoning_content;
        }
    }
    chat
}

fn call(call: &ToolCall) -> Call {
    // Always valid JSON, even where the model's own text was not: servers parse the history's arguments.
    let arguments = call.arguments.to_object().to_string().into();
    Call {
        id: Some(call.id.clone()),
        kind: Some("function"),
        function: Function { name: Some(call.name.clone()), arguments },
        extra_content: kept::<KeptCall>(call.opaque.as_ref(), OWN).extra_content,
        ..Call::default()
    }
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default, borrow)]
    model: Option<Text<'a>>,
    #[serde(default, borrow)]
    choices: First<Choice<'a>>,
    usage: Option<WireUsage>,
    x_groq: Option<Groq>,
    prompt_progress: Option<PromptProgress>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default, borrow)]
    delta: Option<Delta<'a>>,
    #[serde(default, borrow)]
    finish_reason: Option<Text<'a>>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(default, borrow)]
    content: Option<Text<'a>>,
    #[serde(default, borrow)]
    refusal: Option<Text<'a>>,
    #[serde(default, borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(default, borrow)]
    reasoning: Option<Text<'a>>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    index: Option<u64>,
    #[serde(default, borrow)]
    id: Option<Text<'a>>,
    #[serde(default, borrow)]
    function: Option<FunctionPiece<'a>>,
    #[serde(default, borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FunctionPiece<'a> {
    #[serde(default, borrow)]
    name: Option<Text<'a>>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

/// Tokens of the prompt that llama.cpp has read.
#[derive(Deserialize)]
struct PromptProgress {
    total: u64,
    processed: u64,
}

#[derive(Deserialize)]
struct Groq {
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    /// US dollars; OpenRouter says it.
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

/// A chat stream while it arrives.
#[derive(Debug, Default)]
pub(super) struct Stream {
    draft: Draft,
    complete: bool,
    /// Whether reasoning came under the name that its vendor wants back.
    returns_reasoning: bool,
}

impl Reader for Stream {
    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> Result<Progress, Fault> {
        let Some(data) = data(line)? else { return Ok(Progress::Nothing) };
        if data.trim_ascii_end() == b"[DONE]" {
            self.complete = true;
            return Ok(Progress::Done);
        }
        let chunk: Chunk<'_> = serde_json::from_slice(data).map_err(|_| Fault::garbage(data))?;
        if let Some(error) = chunk.error {
            return Err(Fault::from_vendor(&serde_json::from_str(error.get()).unwrap_or_default()));
        }
        if let Some(model) = &chunk.model {
            self.draft.model(model);
        }
        for usage in [chunk.usage, chunk.x_groq.and_then(|groq| groq.usage)].into_iter().flatten() {
            self.usage(&usage);
        }
        if let Some(progress) = chunk.prompt_progress {
            sink(Event::Reading { done: progress.processed, total: progress.total });
        }
        if let Some(choice) = chunk.choices.0 {
            self.choice(choice, sink);
        }
        Ok(Progress::More)
    }

    fn draft(&self) -> &Draft {
        &self.draft
    }

    fn finish(&mut self) -> Result<Reply, Fault> {
        if !self.complete {
            return Err(Fault::Cut);
        }
        let mut draft = std::mem::take(&mut self.draft);
        if self.returns_reasoning && !draft.calls.is_empty() {
            // Kimi and DeepSeek want the reasoning that led to calls back with their results.
            let reasoning_content = Some(draft.reasoning.clone().into());
            draft.reply.opaque = keep(OWN, &KeptMessage { reasoning_content });
        }
        Ok(draft.finish())
    }
}

impl Stream {
    fn choice(&mut self, choice: Choice<'_>, sink: &mut Sink<'_>) {
        if let Some(usage) = choice.usage {
            self.usage(&usage);
        }
        if let Some(delta) = choice.delta {
            if let Some(piece) = &delta.reasoning_content {
                self.returns_reasoning = true;
                self.draft.reasoning(piece, sink);
            } else if let Some(piece) = &delta.reasoning {
                self.draft.reasoning(piece, sink);
            }
            for piece in [&delta.content, &delta.refusal].into_iter().flatten() {
                self.draft.text(piece, sink);
            }
            for (position, piece) in delta.tool_calls.iter().flatten().enumerate() {
                call_piece(&mut self.draft.calls, position, piece);
            }
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.complete = true;
            self.draft.reply.stop = match &*reason {
                "length" => Stop::Length,
                "content_filter" => Stop::Filtered,
                _ => Stop::End,
            };
        }
    }

    fn usage(&mut self, usage: &WireUsage) {
        let details = usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
        self.draft.reply.usage = Usage {
            input: usage.prompt_tokens.unwrap_or_default(),
            output: usage.completion_tokens.unwrap_or_default(),
            cached: details.or(usage.cached_tokens).unwrap_or_default(),
        };
        self.draft.reply.cost = usage.cost.and_then(nano_dollars).or(self.draft.reply.cost);
    }
}

fn call_piece(calls: &mut Calls, position: usize, piece: &CallPiece<'_>) {
    let function = piece.function.as_ref();
    let name = function.and_then(|function| function.name.as_deref());
    let Some(call) = calls.slot(piece.index, piece.id.as_deref(), name, position) else { return };
    if let Some(arguments) = function.and_then(|function| function.arguments) {
        call.arguments(arguments);
    }
    let extra_content = piece.extra_content.and_then(|extra| serde_json::from_str(extra.get()).ok());
    if extra_content.is_some() {
        call.opaque = keep(OWN, &KeptCall { extra_content });
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn nano_dollars(dollars: f64) -> Option<u64> {
    let nano = (dollars * 1e9).round();
    (0.0..1e18).contains(&nano).then_some(nano as u64)
}
