//! Anthropic messages, as `claude` speaks them.

use super::IncomingRequest;
use super::answer::{Answer, Frames, THOUGHT, argument_pieces};
use super::openai::{list, spec, text, text_of};
use crate::arguments::Arguments;
use crate::message::{Message, ToolCall};
use serde_json::{Value, json};

/// A stand-in for the signature of a thought.
const SIGNATURE: &str = "signature-of-a-thought";

/// Reads a request.
pub(super) fn read(body: &Value) -> IncomingRequest {
    let mut incoming = IncomingRequest {
        stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        ..IncomingRequest::default()
    };
    let system = text_of(body.get("system"));
    if !system.is_empty() {
        incoming.say(Message::System { content: system });
    }
    for message in list(body, "messages") {
        let content = message.get("content");
        match text(message, "role") {
            "system" => incoming.say(Message::System { content: text_of(content) }),
            "assistant" => incoming.say(Message::Assistant {
                content: text_of(content),
                tool_calls: blocks(message, "tool_use").map(call).collect(),
                opaque: None,
            }),
            _ => user(&mut incoming, message),
        }
    }
    incoming.request.tools = list(body, "tools").iter().map(|tool| spec(tool, "input_schema")).collect();
    incoming
}

fn blocks<'v>(message: &'v Value, kind: &'v str) -> impl Iterator<Item = &'v Value> {
    list(message, "content").iter().filter(move |block| text(block, "type") == kind)
}

fn call(block: &Value) -> ToolCall {
    ToolCall {
        id: text(block, "id").into(),
        name: text(block, "name").into(),
        arguments: Arguments::from_value(block.get("input").cloned().unwrap_or_default()),
        opaque: None,
    }
}

/// A user's message holds words, or results of calls, or both. Words beside results belong to the last result, so that
/// a script that looks at the last message sees both.
fn user(incoming: &mut IncomingRequest, message: &Value) {
    let words = text_of(message.get("content"));
    let mut results: Vec<Message> = blocks(message, "tool_result")
        .map(|block| Message::Tool {
            tool_call_id: text(block, "tool_use_id").into(),
            name: String::new(),
            content: text_of(block.get("content")),
            ok: block.get("is_error").and_then(Value::as_bool) != Some(true),
        })
        .collect();
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
        incoming.say(result);
    }
}

fn usage(answer: &Answer) -> Value {
    json!({
        "input_tokens": answer.usage.input.saturating_sub(answer.usage.cached),
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": answer.usage.cached,
        "output_tokens": answer.usage.output,
    })
}

fn reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn message(answer: &Answer, content: &Value, reason: &Value) -> Value {
    json!({
        "id": format!("msg_{}", answer.number), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage(answer),
    })
}

/// The streamed answer.
pub(super) fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::empty();
    frames.event(&json!({ "type": "message_start", "message": message(answer, &json!([]), &Value::Null) }));
    frames.event(&json!({ "type": "ping" }));
    let mut index = 0;
    let start = |frames: &mut Frames, index: u64, block: Value| {
        frames.event(&json!({ "type": "content_block_start", "index": index, "content_block": block }));
    };
    let delta = |frames: &mut Frames, index: u64, delta: Value| {
        frames.event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
    };
    let stop = |frames: &mut Frames, index: u64| {
        frames.event(&json!({ "type": "content_block_stop", "index": index }));
    };
    if answer.thinks {
        start(&mut frames, index, json!({ "type": "thinking", "thinking": "", "signature": "" }));
        delta(&mut frames, index, json!({ "type": "thinking_delta", "thinking": THOUGHT }));
        delta(&mut frames, index, json!({ "type": "signature_delta", "signature": SIGNATURE }));
        stop(&mut frames, index);
        index += 1;
    }
    if !answer.text.is_empty() {
        start(&mut frames, index, json!({ "type": "text", "text": "" }));
        let before = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\
             \"delta\":{{\"type\":\"text_delta\",\"text\":"
        );
        frames.texts(answer, &before, "}}\n\n");
        stop(&mut frames, index);
        index += 1;
    }
    for call in &answer.calls {
        let block = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
        start(&mut frames, index, block);
        for piece in argument_pieces(&call.text()) {
            delta(&mut frames, index, json!({ "type": "input_json_delta", "partial_json": piece }));
        }
        stop(&mut frames, index);
        index += 1;
    }
    frames.event(&json!({
        "type": "message_delta", "delta": { "stop_reason": reason(answer), "stop_sequence": null },
        "usage": usage(answer),
    }));
    frames.event(&json!({ "type": "message_stop" }));
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    let mut content = Vec::new();
    if answer.thinks {
        content.push(json!({ "type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE }));
    }
    if !answer.text.is_empty() {
        content.push(json!({ "type": "text", "text": answer.text }));
    }
    content.extend(
        answer.calls.iter().map(
            |call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.value() }),
        ),
    );
    message(answer, &content.into(), &reason(answer).into())
}
