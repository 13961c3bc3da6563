//! OpenAI responses, as `codex` speaks them.

use super::IncomingRequest;
use super::answer::{Answer, Call, Frames, argument_pieces};
use super::openai::{list, spec, text, text_of};
use crate::arguments::Arguments;
use crate::json::set;
use crate::message::{Message, ToolCall};
use serde_json::{Value, json};

/// Reads a request.
pub(super) fn read(body: &Value) -> IncomingRequest {
    let mut incoming = IncomingRequest {
        stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        ..IncomingRequest::default()
    };
    if let Some(content) = body.get("instructions").and_then(Value::as_str) {
        incoming.say(Message::system(content));
    }
    if let Some(content) = body.get("input").and_then(Value::as_str) {
        incoming.say(Message::user(content));
    }
    for item in list(body, "input") {
        if let Some(message) = message(item) {
            incoming.say(message);
        }
    }
    for tool in list(body, "tools") {
        match text(tool, "type") {
            "function" => incoming.request.tools.push(spec(tool, "parameters")),
            "custom" => incoming.freeform.push(text(tool, "name").into()),
            "namespace" => incoming.namespaces.push(text(tool, "name").into()),
            "tool_search" => incoming.searches = true,
            _ => {}
        }
    }
    incoming
}

fn message(item: &Value) -> Option<Message> {
    let kind = text(item, "type");
    Some(match kind {
        "message" | "" => {
            let content = text_of(item.get("content"));
            match text(item, "role") {
                "system" | "developer" => Message::System { content },
                "assistant" => Message::assistant(content),
                _ => Message::User { content },
            }
        }
        "function_call" | "custom_tool_call" => {
            let arguments = item.get(if kind == "function_call" { "arguments" } else { "input" });
            Message::Assistant {
                content: String::new(),
                tool_calls: vec![ToolCall {
                    id: text(item, "call_id").into(),
                    name: text(item, "name").into(),
                    arguments: Arguments::from_value(arguments.cloned().unwrap_or_default()),
                    opaque: None,
                }],
                opaque: None,
            }
        }
        "function_call_output" | "custom_tool_call_output" => Message::Tool {
            tool_call_id: text(item, "call_id").into(),
            name: String::new(),
            content: text_of(item.get("output")),
            ok: true,
        },
        _ => return None,
    })
}

fn call_item(call: &Call, number: u64, index: usize, done: bool) -> Value {
    let status = if done { "completed" } else { "in_progress" };
    if call.search {
        json!({ "type": "tool_search_call", "id": format!("tsc_{number}_{index}"), "status": status,
                "call_id": call.id, "execution": "client", "arguments": call.value() })
    } else if call.freeform {
        let input = if done { call.free() } else { String::new() };
        json!({ "type": "custom_tool_call", "id": format!("ctc_{number}_{index}"), "status": status,
                "call_id": call.id, "name": call.name, "input": input })
    } else {
        let arguments = if done { call.text() } else { String::new() };
        let mut item = json!({ "type": "function_call", "id": format!("fc_{number}_{index}"), "status": status,
                "call_id": call.id, "name": call.bare_name(), "arguments": arguments });
        if let Some(namespace) = &call.namespace {
            set(&mut item, "namespace", namespace.clone());
        }
        item
    }
}

fn text_item(answer: &Answer, done: bool) -> Value {
    let content = if done {
        json!([{ "type": "output_text", "text": answer.text, "annotations": [] }])
    } else {
        json!([])
    };
    let status = if done { "completed" } else { "in_progress" };
    json!({ "type": "message", "id": format!("msg_{}", answer.number), "role": "assistant", "status": status,
            "content": content })
}

fn response(answer: &Answer, done: bool) -> Value {
    let usage = answer.usage;
    let mut output = Vec::new();
    if done {
        if has_text(answer) {
            output.push(text_item(answer, true));
        }
        let offset = output.len();
        output.extend(
            answer
                .calls
                .iter()
                .enumerate()
                .map(|(index, call)| call_item(call, answer.number, index + offset, true)),
        );
    }
    json!({
        "id": format!("resp_{}", answer.number), "object": "response", "created_at": answer.created,
        "model": answer.model, "status": if done { "completed" } else { "in_progress" },
        "error": null, "incomplete_details": null, "output": output, "parallel_tool_calls": true,
        "usage": if done { json!({
            "input_tokens": usage.input, "input_tokens_details": { "cached_tokens": usage.cached },
            "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": usage.input.saturating_add(usage.output),
        }) } else { Value::Null },
    })
}

/// An answer without calls has a message, even an empty one.
fn has_text(answer: &Answer) -> bool {
    !answer.text.is_empty() || answer.calls.is_empty()
}

/// The streamed answer.
pub(super) fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::empty();
    let mut sequence = 0_u64;
    let mut event = |frames: &mut Frames, mut data: Value| {
        set(&mut data, "sequence_number", sequence);
        sequence += 1;
        frames.event(&data);
    };
    event(&mut frames, json!({ "type": "response.created", "response": response(answer, false) }));
    let mut index = 0;
    if has_text(answer) {
        let id = format!("msg_{}", answer.number);
        event(
            &mut frames,
            json!({ "type": "response.output_item.added", "output_index": 0,
                                   "item": text_item(answer, false) }),
        );
        event(
            &mut frames,
            json!({ "type": "response.content_part.added", "item_id": id, "output_index": 0,
                                   "content_index": 0,
                                   "part": { "type": "output_text", "text": "", "annotations": [] } }),
        );
        let before = format!(
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\
             \"item_id\":\"{id}\",\"output_index\":0,\"content_index\":0,\"delta\":"
        );
        frames.texts(answer, &before, "}\n\n");
        event(
            &mut frames,
            json!({ "type": "response.output_text.done", "item_id": id, "output_index": 0,
                                   "content_index": 0, "text": answer.text }),
        );
        event(
            &mut frames,
            json!({ "type": "response.output_item.done", "output_index": 0,
                                   "item": text_item(answer, true) }),
        );
        index += 1;
    }
    for call in &answer.calls {
        let item = call_item(call, answer.number, index, false);
        let id = item.get("id").cloned().unwrap_or_default();
        event(
            &mut frames,
            json!({ "type": "response.output_item.added", "output_index": index, "item": item }),
        );
        let (kind, content) = if call.freeform {
            ("response.custom_tool_call_input.delta", call.free())
        } else {
            ("response.function_call_arguments.delta", call.text())
        };
        for piece in argument_pieces(&content) {
            event(&mut frames, json!({ "type": kind, "item_id": id, "output_index": index, "delta": piece }));
        }
        event(
            &mut frames,
            json!({ "type": "response.output_item.done", "output_index": index,
                                   "item": call_item(call, answer.number, index, true) }),
        );
        index += 1;
    }
    event(&mut frames, json!({ "type": "response.completed", "response": response(answer, true) }));
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    response(answer, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::answer::Call;

    #[test]
    fn tools_in_namespaces_are_called_there() {
        let incoming = read(&json!({"tools": [{"type": "namespace", "name": "mcp__kit", "tools": []}]}));
        let call = |name: &str, search| Call {
            id: "c".into(),
            named: true,
            name: name.into(),
            arguments: json!({"a": 1}),
            freeform: false,
            search,
            namespace: incoming.namespace_of(name),
        };
        let item = call_item(&call("mcp__kit__echo", false), 1, 0, true);
        assert_eq!((&item["namespace"], &item["name"]), (&json!("mcp__kit"), &json!("echo")));
        let other = call_item(&call("mcp__other__echo", false), 1, 0, true);
        assert_eq!((&other["namespace"], &other["name"]), (&Value::Null, &json!("mcp__other__echo")));
        let search = call_item(&call("tool_search", true), 1, 0, true);
        assert_eq!((&search["type"], &search["arguments"]), (&json!("tool_search_call"), &json!({"a": 1})));
    }
}
