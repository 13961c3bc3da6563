//! Anthropic messages, as `claude` speaks them.

use super::answer::{Answer, Frames, THOUGHT, argument_pieces};
use super::incoming::IncomingRequest;
use crate::arguments::Arguments;
use crate::formats::anthropic::{self as format, Block, Content, Delta, Event, MessagesRequest, Stop, Tool};
use crate::message::{Message, ToolCall};
use serde_json::{Map, Value};

/// A placeholder for the signature of a thought.
const SIGNATURE: &str = "signature-of-a-thought";

pub(super) fn read(body: MessagesRequest) -> IncomingRequest {
    let mut incoming = IncomingRequest { stream: body.stream.unwrap_or(false), ..IncomingRequest::default() };
    let system = body.system.unwrap_or_default().text();
    if !system.is_empty() {
        incoming.push(Message::System { content: system });
    }
    for message in &body.messages {
        let content = message.content.text();
        match message.role.as_str() {
            "system" => incoming.push(Message::System { content }),
            "assistant" => {
                let tool_calls = message.content.blocks().iter().filter_map(call).collect();
                incoming.push(Message::Assistant { content, tool_calls, opaque: None });
            }
            _ => user(&mut incoming, &message.content),
        }
    }
    incoming.request.tools = body.tools.into_iter().map(Tool::spec).collect();
    incoming
}

fn call(block: &Block) -> Option<ToolCall> {
    let Block::ToolUse { id, name, input, .. } = block else { return None };
    let arguments = Arguments::from_value(input.clone());
    Some(ToolCall { id: id.clone(), name: name.clone(), arguments, opaque: None })
}

/// A user's message holds words, or results of calls, or both. Words beside results belong to the last result, so that
/// a script that looks at the last message sees both.
fn user(incoming: &mut IncomingRequest, message: &Content) {
    let words = message.text();
    let result = |block: &Block| {
        let Block::ToolResult { tool_use_id, content, is_error, .. } = block else { return None };
        Some(Message::Tool {
            tool_call_id: tool_use_id.clone(),
            name: String::new(),
            content: content.text(),
            ok: *is_error != Some(true),
        })
    };
    let mut results: Vec<Message> = message.blocks().iter().filter_map(result).collect();
    match results.last_mut() {
        Some(Message::Tool { content, .. }) => {
            if !words.is_empty() {
                content.push('\n');
                content.push_str(&words);
            }
        }
        _ => results.push(Message::User { content: words }),
    }
    for result in results {
        incoming.push(result);
    }
}

fn stop(answer: &Answer) -> Stop {
    let reason = if answer.calls.is_empty() { "end_turn" } else { "tool_use" };
    Stop { stop_reason: Some(reason), stop_sequence: None }
}

fn message(answer: &Answer, content: Vec<Block>, stop: Stop) -> format::Answer<'_> {
    format::Answer {
        id: format!("msg_{}", answer.number),
        kind: "message",
        role: "assistant",
        model: &answer.model,
        content,
        stop,
        usage: answer.usage.into(),
    }
}

fn thought(thinking: &str, signature: &str) -> Block {
    Block::Thinking { thinking: thinking.into(), signature: signature.into() }
}

/// The streamed answer.
pub(super) fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::empty();
    let start = message(answer, Vec::new(), Stop { stop_reason: None, stop_sequence: None });
    frames.event(&Event::MessageStart { message: start });
    frames.event(&Event::Ping);
    let mut index = 0;
    if answer.thinks {
        frames.event(&Event::ContentBlockStart { index, content_block: thought("", "") });
        for delta in [Delta::Thinking { thinking: THOUGHT }, Delta::Signature { signature: SIGNATURE }] {
            frames.event(&Event::ContentBlockDelta { index, delta });
        }
        frames.event(&Event::ContentBlockStop { index });
        index += 1;
    }
    if !answer.text.is_empty() {
        frames.event(&Event::ContentBlockStart { index, content_block: Block::text("") });
        let before = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\
             \"delta\":{{\"type\":\"text_delta\",\"text\":"
        );
        frames.texts(answer, &before, "}}\n\n");
        frames.event(&Event::ContentBlockStop { index });
        index += 1;
    }
    for call in &answer.calls {
        let content_block = Block::tool_use(&call.id, &call.name, Value::Object(Map::new()));
        frames.event(&Event::ContentBlockStart { index, content_block });
        for partial_json in argument_pieces(&call.text()) {
            frames.event(&Event::ContentBlockDelta { index, delta: Delta::InputJson { partial_json } });
        }
        frames.event(&Event::ContentBlockStop { index });
        index += 1;
    }
    frames.event(&Event::MessageDelta { delta: stop(answer), usage: answer.usage.into() });
    frames.event(&Event::MessageStop);
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> format::Answer<'_> {
    let thought = answer.thinks.then(|| thought(THOUGHT, SIGNATURE));
    let text = (!answer.text.is_empty()).then(|| Block::text(&answer.text));
    let calls = answer.calls.iter().map(|call| Block::tool_use(&call.id, &call.name, call.value()));
    message(answer, thought.into_iter().chain(text).chain(calls).collect(), stop(answer))
}
