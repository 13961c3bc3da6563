//! Ollama's own `/api/chat`: one JSON object per line, the last of them with `done: true`.
//!
//! The context size is always asked for, because the server's default silently cuts long conversations.

use super::errors::Fault;
use super::reader::{Draft, Progress, Reader, keep, kept};
use super::text::Text;
use crate::client::{Reply, Request, Sink, Stop};
use crate::formats::openai::{Call, ChatMessage, ChatRequest, Function, ModelOptions, Tool};
use crate::message::{Message, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

const OWN: &str = "ollama";

/// Data that a message must carry back.
#[derive(Default, Serialize, Deserialize)]
struct CarriedData {
    thinking: Option<Value>,
}

pub(super) fn body(model: &str, context: Option<u64>, request: &Request) -> ChatRequest {
    // The wire cannot name tools and forbid them; a history with calls is accepted without them.
    let tools = if request.answer_only { [].as_slice() } else { &request.tools };
    ChatRequest {
        model: model.to_string(),
        messages: request.messages.iter().map(message).collect(),
        stream: Some(true),
        tools: tools.iter().map(Tool::new).collect(),
        format: request.response_schema.clone(),
        options: context.map(|num_ctx| ModelOptions { num_ctx }),
        ..ChatRequest::default()
    }
}

fn message(message: &Message) -> ChatMessage {
    let mut chat = ChatMessage::new(message.role(), message.content());
    match message {
        Message::System { .. } | Message::User { .. } => {}
        Message::Tool { tool_call_id, name, .. } => {
            chat.tool_name = Some(name.clone());
            chat.tool_call_id = Some(tool_call_id.clone());
        }
        Message::Assistant { tool_calls, opaque, .. } => {
            chat.thinking = kept::<CarriedData>(opaque.as_ref(), OWN).thinking;
            chat.tool_calls = tool_calls.iter().map(call).collect();
        }
    }
    chat
}

fn call(call: &ToolCall) -> Call {
    let function = Function { name: Some(call.name.clone()), arguments: call.arguments.to_object() };
    Call { id: Some(call.id.clone()), function, ..Call::default() }
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default, borrow)]
    model: Option<Text<'a>>,
    #[serde(default, borrow)]
    message: Option<MessagePiece<'a>>,
    done: Option<bool>,
    #[serde(default, borrow)]
    done_reason: Option<Text<'a>>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessagePiece<'a> {
    #[serde(default, borrow)]
    content: Option<Text<'a>>,
    #[serde(default, borrow)]
    thinking: Option<Text<'a>>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    #[serde(default, borrow)]
    id: Option<Text<'a>>,
    #[serde(default, borrow)]
    function: Option<FunctionPiece<'a>>,
}

#[derive(Deserialize)]
struct FunctionPiece<'a> {
    #[serde(default, borrow)]
    name: Option<Text<'a>>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

/// A chat stream while it arrives.
#[derive(Debug, Default)]
pub(super) struct Stream {
    draft: Draft,
    complete: bool,
}

impl Reader for Stream {
    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> Result<Progress, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(Progress::Nothing);
        }
        let chunk: Chunk<'_> = serde_json::from_slice(line).map_err(|_| Fault::garbage(line))?;
        if let Some(error) = chunk.error {
            return Err(Fault::from_vendor(&serde_json::from_str(error.get()).unwrap_or_default()));
        }
        if chunk.message.is_none() && chunk.done.is_none() {
            return Err(Fault::garbage(line));
        }
        if let Some(model) = &chunk.model {
            self.draft.model(model);
        }
        if let Some(message) = &chunk.message {
            if let Some(piece) = &message.thinking {
                self.draft.reasoning(piece, sink);
            }
            if let Some(piece) = &message.content {
                self.draft.text(piece, sink);
            }
            for call in message.tool_calls.iter().flatten() {
                self.call(call);
            }
        }
        if chunk.done != Some(true) {
            return Ok(Progress::More);
        }
        self.complete = true;
        self.draft.reply.usage.input = chunk.prompt_eval_count.unwrap_or_default();
        self.draft.reply.usage.output = chunk.eval_count.unwrap_or_default();
        if chunk.done_reason.as_deref() == Some("length") {
            self.draft.reply.stop = Stop::Length;
        }
        Ok(Progress::Done)
    }

    fn draft(&self) -> &Draft {
        &self.draft
    }

    fn finish(&mut self) -> Result<Reply, Fault> {
        if !self.complete {
            return Err(Fault::Cut);
        }
        let mut draft = std::mem::take(&mut self.draft);
        if !draft.reasoning.is_empty() && !draft.calls.is_empty() {
            draft.reply.opaque = keep(OWN, &CarriedData { thinking: Some(draft.reasoning.clone().into()) });
        }
        Ok(draft.finish())
    }
}

impl Stream {
    /// Calls come whole, each of them once.
    fn call(&mut self, call: &CallPiece<'_>) {
        let function = call.function.as_ref();
        let name = function.and_then(|function| function.name.as_deref()).unwrap_or_default();
        self.draft.calls.open(None, call.id.as_deref().unwrap_or_default(), name, String::new());
        if let (Some(call), Some(arguments)) =
            (self.draft.calls.last(), function.and_then(|function| function.arguments))
        {
            call.arguments(arguments);
        }
    }
}
