//! OpenAI chat completions.

use super::IncomingRequest;
use super::answer::{Answer, Frames, THOUGHT, argument_pieces};
use crate::arguments::Arguments;
use crate::client::ToolSpec;
use crate::json::set;
use crate::message::{Message, ToolCall};
use serde_json::{Value, json};

/// Reads a request.
pub(super) fn read(body: &Value) -> IncomingRequest {
    let mut incoming = IncomingRequest {
        stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        ..IncomingRequest::default()
    };
    for message in list(body, "messages") {
        let content = text_of(message.get("content"));
        incoming.say(match text(message, "role") {
            "system" | "developer" => Message::System { content },
            "assistant" => Message::Assistant {
                content,
                tool_calls: list(message, "tool_calls").iter().map(call).collect(),
                opaque: None,
            },
            "tool" => Message::Tool {
                tool_call_id: text(message, "tool_call_id").into(),
                name: text(message, "tool_name").into(),
                content,
                ok: true,
            },
            _ => Message::User { content },
        });
    }
    incoming.request.tools = list(body, "tools")
        .iter()
        .filter_map(|tool| tool.get("function"))
        .map(|tool| spec(tool, "parameters"))
        .collect();
    incoming
}

fn call(call: &Value) -> ToolCall {
    let function = call.get("function").unwrap_or(call);
    ToolCall {
        id: text(call, "id").into(),
        name: text(function, "name").into(),
        arguments: Arguments::from_value(function.get("arguments").cloned().unwrap_or_default()),
        opaque: None,
    }
}

/// A tool in any vendor's shape; `parameters` is where it keeps the schema.
pub(super) fn spec(tool: &Value, parameters: &str) -> ToolSpec {
    ToolSpec {
        name: text(tool, "name").into(),
        description: text(tool, "description").into(),
        parameters: tool.get(parameters).cloned().unwrap_or_default(),
    }
}

/// A text field; empty when there is none.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A list field; empty when there is none.
pub(super) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Content that is a text, or a list of parts with texts.
pub(super) fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn usage(answer: &Answer) -> Value {
    let usage = answer.usage;
    json!({
        "prompt_tokens": usage.input, "completion_tokens": usage.output,
        "total_tokens": usage.input.saturating_add(usage.output),
        "prompt_tokens_details": { "cached_tokens": usage.cached },
    })
}

fn reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "stop" } else { "tool_calls" }
}

/// Google's endpoint in this format hangs signatures on calls, and wants them back.
fn extra(answer: &Answer, call: &super::answer::Call, mut value: Value) -> Value {
    if answer.model.starts_with("gemini") {
        set(&mut value, "extra_content", json!({ "google": { "thought_signature": call.signature() } }));
    }
    value
}

/// The streamed answer.
pub(super) fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::empty();
    let id = format!("chatcmpl-{}", answer.number);
    let chunk = |delta: Value, reason: Value| {
        json!({
            "id": id, "object": "chat.completion.chunk", "created": answer.created, "model": answer.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }],
        })
    };
    frames.data(&chunk(json!({ "role": "assistant", "content": "" }), Value::Null));
    if answer.thinks {
        frames.data(&chunk(json!({ "reasoning_content": THOUGHT }), Value::Null));
    }
    let model = Value::from(answer.model.as_str());
    let before = format!(
        "data: {{\"id\":\"{id}\",\"object\":\"chat.completion.chunk\",\"created\":{},\"model\":{model},\
         \"choices\":[{{\"index\":0,\"delta\":{{\"content\":",
        answer.created
    );
    frames.texts(answer, &before, "},\"finish_reason\":null}]}\n\n");
    for (index, call) in answer.calls.iter().enumerate() {
        let start = json!({ "index": index, "id": call.id, "type": "function",
                            "function": { "name": call.name, "arguments": "" } });
        frames.data(&chunk(json!({ "tool_calls": [extra(answer, call, start)] }), Value::Null));
        for piece in argument_pieces(&call.text()) {
            let piece = json!({ "index": index, "function": { "arguments": piece } });
            frames.data(&chunk(json!({ "tool_calls": [piece] }), Value::Null));
        }
    }
    frames.data(&chunk(json!({}), reason(answer).into()));
    frames.data(&json!({
        "id": id, "object": "chat.completion.chunk", "created": answer.created, "model": answer.model,
        "choices": [], "usage": usage(answer),
    }));
    frames.push("data: [DONE]\n\n");
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.text });
    if !answer.calls.is_empty() {
        set(
            &mut message,
            "tool_calls",
            answer
                .calls
                .iter()
                .map(|call| {
                    let value = json!({ "id": call.id, "type": "function",
                                    "function": { "name": call.name, "arguments": call.text() } });
                    extra(answer, call, value)
                })
                .collect::<Value>(),
        );
    }
    json!({
        "id": format!("chatcmpl-{}", answer.number), "object": "chat.completion", "created": answer.created,
        "model": answer.model, "usage": usage(answer),
        "choices": [{ "index": 0, "message": message, "finish_reason": reason(answer) }],
    })
}
