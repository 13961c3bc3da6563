//! Ollama's own `/api/chat`: one JSON object a line, the last of them with `done: true`.
//!
//! The context size is always asked for, because the server's default silently cuts long conversations.

use super::errors::Fault;
use super::openai::tools;
use super::text::Text;
use super::{Draft, Progress, Reader, own};
use crate::client::{Reply, Request, Sink, Stop};
use crate::json::set;
use crate::message::Message;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const OWN: &str = "ollama";

/// The body of a request.
pub(super) fn body(model: &str, context: Option<u64>, request: &Request) -> Value {
    let mut body = json!({
        "model": model,
        "messages": request.messages.iter().map(message).collect::<Vec<_>>(),
        "stream": true,
    });
    // The wire cannot name tools and forbid them; a history with calls is accepted without them.
    if !request.tools.is_empty() && !request.answer_only {
        set(&mut body, "tools", tools(request));
    }
    if let Some(schema) = &request.response_schema {
        set(&mut body, "format", schema.clone());
    }
    if let Some(context) = context {
        set(&mut body, "options", json!({ "num_ctx": context }));
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { content } => json!({ "role": "system", "content": content }),
        Message::User { content } => json!({ "role": "user", "content": content }),
        Message::Tool { tool_call_id, name, content, .. } => {
            json!({ "role": "tool", "content": content, "tool_name": name, "tool_call_id": tool_call_id })
        }
        Message::Assistant { content, tool_calls, opaque } => {
            let mut value = json!({ "role": "assistant", "content": content });
            if let Some(thinking) = own(opaque.as_ref(), OWN).and_then(|own| own.get("thinking")) {
                set(&mut value, "thinking", thinking.clone());
            }
            if !tool_calls.is_empty() {
                set(&mut value, "tool_calls", tool_calls
                    .iter()
                    .map(|call| {
                        let arguments = call.arguments.to_object();
                        json!({ "id": call.id, "function": { "name": call.name, "arguments": arguments } })
                    })
                    .collect::<Value>());
            }
            value
        }
    }
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default, borrow)]
    model: Option<Text<'a>>,
    #[serde(default, borrow)]
    message: Option<MessagePiece<'a>>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(default, borrow)]
    done_reason: Option<Text<'a>>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
    #[serde(default)]
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
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default, borrow)]
    id: Option<Text<'a>>,
    #[serde(default, borrow)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
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
            draft.reply.opaque = Some(json!({ OWN: { "thinking": draft.reasoning } }));
        }
        Ok(draft.finish())
    }
}

impl Stream {
    /// Calls come whole, each of them once.
    fn call(&mut self, call: &Call<'_>) {
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
