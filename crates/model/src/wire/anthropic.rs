//! Anthropic messages.
//!
//! Thinking blocks carry signatures and must come back unchanged; they are kept as the message's opaque value and sent
//! back ahead of its text and calls. That is where the vendor puts them: a limit only if it ever thinks between two
//! calls of one message. The system prompt and the end of the conversation are marked for caching, because
//! this vendor caches nothing that is not marked.

use super::errors::Fault;
use super::lines::data;
use super::reader::{Draft, Progress, Reader, keep, kept};
use super::text::Text;
use crate::client::{Reply, Request, Sink, Stop};
use crate::formats::anthropic::{Block, Content, Kind, MessagesRequest, RoleMessage, Tool};
use crate::message::Message;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

const OWN: &str = "anthropic";

/// The wire demands a bound; this one is within what every current model accepts.
const MAX_TOKENS: u32 = 32_000;

pub(super) fn body(model: &str, request: &Request) -> MessagesRequest {
    let mut system: Vec<&str> = Vec::new();
    let mut messages: Vec<RoleMessage> = Vec::new();
    for message in &request.messages {
        match message {
            Message::System { content } => system.push(content),
            Message::User { content } => append(&mut messages, "user", text(content)),
            Message::Assistant { content, tool_calls, opaque } => {
                let own = kept::<Vec<Value>>(opaque.as_ref(), OWN).into_iter().map(Block::Other);
                let calls = tool_calls
                    .iter()
                    .map(|call| Block::tool_use(id(&call.id), &call.name, call.arguments.to_object()));
                append(&mut messages, "assistant", own.chain(text(content)).chain(calls));
            }
            Message::Tool { tool_call_id, content, ok, .. } => {
                let result = Block::ToolResult {
                    tool_use_id: id(tool_call_id),
                    content: Content::Text(content.clone()),
                    is_error: (!ok).then_some(true),
                    cache_control: None,
                };
                append(&mut messages, "user", [result]);
            }
        }
    }
    let last = messages.last_mut().and_then(|message| match &mut message.content {
        Content::Blocks(blocks) => blocks.last_mut(),
        Content::Text(_) | Content::Other(_) => None,
    });
    if let Some(last) = last {
        last.mark_for_cache();
    }
    let system = text(&system.join("\n\n")).map(|mut block| {
        block.mark_for_cache();
        Content::Blocks(vec![block])
    });
    MessagesRequest {
        model: model.to_string(),
        max_tokens: MAX_TOKENS,
        stream: Some(true),
        messages,
        system,
        tools: request.tools.iter().map(Tool::new).collect(),
        tool_choice: (!request.tools.is_empty() && request.answer_only).then_some(Kind { kind: "none" }),
    }
}

/// Blank text blocks are refused by the vendor.
fn text(content: &str) -> Option<Block> {
    (!content.trim().is_empty()).then(|| Block::text(content))
}

/// Adds blocks to the last message where the role is the same: results of parallel calls must share one message.
fn append(messages: &mut Vec<RoleMessage>, role: &str, added: impl IntoIterator<Item = Block>) {
    let added: Vec<Block> = added.into_iter().collect();
    match messages.last_mut() {
        _ if added.is_empty() => {}
        Some(RoleMessage { role: last, content: Content::Blocks(blocks) }) if last == role => {
            blocks.extend(added);
        }
        _ => messages.push(RoleMessage { role: role.to_string(), content: Content::Blocks(added) }),
    }
}

/// Other vendors' ids may hold characters that this one refuses.
fn id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    index: Option<u64>,
    #[serde(default, borrow)]
    delta: Option<Delta<'a>>,
    #[serde(default, borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(default, borrow)]
    message: Option<Start<'a>>,
    usage: Option<WireUsage>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Start<'a> {
    #[serde(default, borrow)]
    model: Option<Text<'a>>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(default, borrow)]
    text: Option<Text<'a>>,
    #[serde(default, borrow)]
    partial_json: Option<Text<'a>>,
    #[serde(default, borrow)]
    thinking: Option<Text<'a>>,
    #[serde(default, borrow)]
    signature: Option<Text<'a>>,
    #[serde(default, borrow)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(rename = "type", borrow)]
    kind: Text<'a>,
    #[serde(default, borrow)]
    id: Option<Text<'a>>,
    #[serde(default, borrow)]
    name: Option<Text<'a>>,
    #[serde(default, borrow)]
    text: Option<Text<'a>>,
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

/// Data of another shape is an event that was added since, or garbage.
fn unknown(data: &[u8]) -> Result<Progress, Fault> {
    const KNOWN: [&str; 7] = [
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "error",
    ];
    let value: Value = serde_json::from_slice(data).map_err(|_| Fault::garbage(data))?;
    match value.get("type").and_then(Value::as_str) {
        Some(kind) if !KNOWN.contains(&kind) => Ok(Progress::Nothing),
        _ => Err(Fault::from_stray(data)),
    }
}

/// A message stream while it arrives.
#[derive(Debug, Default)]
pub(super) struct Stream {
    draft: Draft,
    complete: bool,
    /// Blocks to send back, with their index while they grow.
    kept: Vec<(u64, Map<String, Value>)>,
}

impl Reader for Stream {
    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> Result<Progress, Fault> {
        let Some(data) = data(line)? else { return Ok(Progress::Nothing) };
        let Ok(event) = serde_json::from_slice::<Event<'_>>(data) else { return unknown(data) };
        match &*event.kind {
            "content_block_delta" => {
                if let Some(delta) = &event.delta {
                    self.delta(event.index.unwrap_or_default(), delta, sink);
                }
            }
            "content_block_start" => {
                if let Some(raw) = event.content_block {
                    self.block(event.index.unwrap_or_default(), raw, sink)?;
                }
            }
            "message_start" => {
                if let Some(message) = event.message {
                    self.draft.model(message.model.as_deref().unwrap_or_default());
                    self.usage(message.usage.as_ref());
                }
            }
            "message_delta" => {
                self.usage(event.usage.as_ref());
                match event.delta.as_ref().and_then(|delta| delta.stop_reason.as_deref()) {
                    Some("max_tokens" | "model_context_window_exceeded") => {
                        self.draft.reply.stop = Stop::Length;
                    }
                    Some("refusal") => self.draft.reply.stop = Stop::Filtered,
                    _ => {}
                }
            }
            "message_stop" => {
                self.complete = true;
                return Ok(Progress::Done);
            }
            "error" => {
                let error = event.error.and_then(|error| serde_json::from_str(error.get()).ok());
                return Err(Fault::from_vendor(&error.unwrap_or_default()));
            }
            // The end of a block says nothing by itself, but it is part of the answer.
            "content_block_stop" => {}
            // Pings; and the vendor says that kinds of events may be added.
            _ => return Ok(Progress::Nothing),
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
        if !self.kept.is_empty() {
            let kept: Vec<Value> =
                std::mem::take(&mut self.kept).into_iter().map(|(_, block)| Value::Object(block)).collect();
            draft.reply.opaque = keep(OWN, &kept);
        }
        Ok(draft.finish())
    }
}

impl Stream {
    fn block(&mut self, index: u64, raw: &RawValue, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let block: BlockStart<'_> =
            serde_json::from_str(raw.get()).map_err(|_| Fault::garbage(raw.get().as_bytes()))?;
        match &*block.kind {
            "text" => self.draft.text(block.text.as_deref().unwrap_or_default(), sink),
            "tool_use" => {
                // The input at the start is an empty placeholder, unless the server does not stream it.
                let text =
                    block.input.map(RawValue::get).filter(|input| !matches!(*input, "{}" | "null" | "\"\""));
                let (id, name) =
                    (block.id.as_deref().unwrap_or_default(), block.name.as_deref().unwrap_or_default());
                self.draft.calls.open(Some(index), id, name, text.unwrap_or_default().to_string());
            }
            kind if kind.contains("thinking") => {
                if let Ok(Value::Object(block)) = serde_json::from_str(raw.get()) {
                    self.kept.push((index, block));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &Delta<'_>, sink: &mut Sink<'_>) {
        if let Some(piece) = &delta.text {
            self.draft.text(piece, sink);
        } else if let Some(piece) = &delta.partial_json {
            if let Some(call) = self.draft.calls.at(index) {
                call.text.push_str(piece);
            }
        } else if let Some(piece) = &delta.thinking {
            self.draft.reasoning(piece, sink);
            self.keep(index, "thinking", piece);
        } else if let Some(piece) = &delta.signature {
            self.keep(index, "signature", piece);
        }
    }

    fn keep(&mut self, index: u64, field: &str, piece: &str) {
        let Some((_, block)) = self.kept.iter_mut().rev().find(|(at, _)| *at == index) else { return };
        match block.get_mut(field) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => {
                block.insert(field.into(), piece.into());
            }
        }
    }

    fn usage(&mut self, usage: Option<&WireUsage>) {
        let Some(usage) = usage else { return };
        let total = &mut self.draft.reply.usage;
        if let Some(input) = usage.input_tokens {
            let read = usage.cache_read_input_tokens.unwrap_or_default();
            let input = input.saturating_add(usage.cache_creation_input_tokens.unwrap_or_default());
            total.input = input.saturating_add(read);
            total.cached = read;
        }
        total.output = usage.output_tokens.unwrap_or(total.output);
    }
}
