//! Gemini's own wire, with and without server-sent events.

use super::IncomingRequest;
use super::answer::{Answer, Frames, THOUGHT};
use super::openai::{list, spec, text};
use crate::arguments::Arguments;
use crate::json::set;
use crate::message::{Message, ToolCall};
use serde_json::{Value, json};

/// Reads a request. The model and the kind of answer stand in the address.
pub(super) fn read(path: &str, query: &str, body: &Value) -> IncomingRequest {
    let last = path.rsplit('/').next().unwrap_or_default();
    let (model, action) = last.split_once(':').unwrap_or((last, ""));
    let mut incoming = IncomingRequest {
        model: model.to_string(),
        stream: action == "streamGenerateContent",
        events: query.split('&').any(|pair| pair == "alt=sse"),
        ..IncomingRequest::default()
    };
    let system = body.get("systemInstruction").or_else(|| body.get("system_instruction"));
    let system = texts(system.map(|system| list(system, "parts")).unwrap_or_default());
    if !system.is_empty() {
        incoming.say(Message::System { content: system });
    }
    for content in list(body, "contents") {
        let parts = list(content, "parts");
        if text(content, "role") == "model" {
            incoming.say(Message::Assistant {
                content: texts(parts),
                tool_calls: parts.iter().filter_map(|part| part.get("functionCall")).map(call).collect(),
                opaque: None,
            });
            continue;
        }
        for response in parts.iter().filter_map(|part| part.get("functionResponse")) {
            incoming.say(result(response));
        }
        let words = texts(parts);
        if !words.is_empty() {
            incoming.say(Message::User { content: words });
        }
    }
    incoming.request.tools = list(body, "tools")
        .iter()
        .flat_map(|tool| list(tool, "functionDeclarations"))
        .map(|tool| spec(tool, "parametersJsonSchema"))
        .collect();
    incoming
}

fn texts(parts: &[Value]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    texts.join("\n")
}

fn call(call: &Value) -> ToolCall {
    ToolCall {
        id: text(call, "id").into(),
        name: text(call, "name").into(),
        arguments: Arguments::from_value(call.get("args").cloned().unwrap_or_default()),
        opaque: None,
    }
}

fn result(response: &Value) -> Message {
    let inner = response.get("response").unwrap_or(&Value::Null);
    let said = ["output", "error", "result"].iter().find_map(|key| inner.get(key)?.as_str());
    Message::Tool {
        tool_call_id: text(response, "id").into(),
        name: text(response, "name").into(),
        content: said.map_or_else(|| inner.to_string(), str::to_string),
        ok: inner.get("error").is_none(),
    }
}

fn calls(answer: &Answer) -> Vec<Value> {
    answer
        .calls
        .iter()
        .map(|call| {
            let mut function = json!({ "name": call.name, "args": call.value() });
            if call.named {
                set(&mut function, "id", call.id.as_str());
            }
            json!({ "functionCall": function, "thoughtSignature": call.signature() })
        })
        .collect()
}

fn chunk(answer: &Answer, parts: &Value, last: bool) -> Value {
    let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
    if last {
        set(&mut candidate, "finishReason", "STOP");
    }
    let usage = answer.usage;
    json!({
        "candidates": [candidate], "modelVersion": answer.model,
        "responseId": format!("resp_{}", answer.number),
        "usageMetadata": {
            "promptTokenCount": usage.input, "candidatesTokenCount": usage.output,
            "cachedContentTokenCount": usage.cached,
            "totalTokenCount": usage.input.saturating_add(usage.output),
        },
    })
}

/// The streamed answer: server-sent events, or one list whose elements come one by one.
pub(super) fn frames(answer: &Answer, events: bool) -> Frames {
    let (before, after) = if events { ("data: ", "\r\n\r\n") } else { ("", ",\r\n") };
    let mut frames = Frames::with_content_type(if events { "text/event-stream" } else { "application/json" });
    if !events {
        frames.push("[");
    }
    if answer.thinks {
        let part = json!([{ "text": THOUGHT, "thought": true }]);
        frames.push(format!("{before}{}{after}", chunk(answer, &part, false)));
    }
    let text_before = format!("{before}{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":");
    let model = Value::from(answer.model.as_str());
    let text_after = format!("}}],\"role\":\"model\"}},\"index\":0}}],\"modelVersion\":{model}}}{after}");
    frames.texts(answer, &text_before, &text_after);
    for part in calls(answer) {
        frames.push(format!("{before}{}{after}", chunk(answer, &json!([part]), false)));
    }
    let last = chunk(answer, &json!([{ "text": "" }]), true);
    frames.push(format!("{before}{last}{}", if events { "\r\n\r\n" } else { "]" }));
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    let mut parts = Vec::new();
    if !answer.text.is_empty() {
        parts.push(json!({ "text": answer.text }));
    }
    parts.extend(calls(answer));
    chunk(answer, &parts.into(), true)
}
