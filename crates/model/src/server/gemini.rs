//! Gemini's own wire, with and without server-sent events.

use super::answer::{Answer, Frames, THOUGHT, json_text};
use super::incoming::IncomingRequest;
use crate::arguments::Arguments;
use crate::formats::gemini::{
    Candidate, Chunk, Content, Declaration, FunctionCall, FunctionResponse, GenerateRequest, Part,
};
use crate::message::{Message, ToolCall};
use serde_json::Value;

/// Reads a request. The model and the kind of answer are in the URL.
pub(super) fn read(path: &str, query: &str, body: GenerateRequest) -> IncomingRequest {
    let last = path.rsplit('/').next().unwrap_or_default();
    let (model, action) = last.split_once(':').unwrap_or((last, ""));
    let mut incoming = IncomingRequest {
        model: model.to_string(),
        stream: action == "streamGenerateContent",
        events: query.split('&').any(|pair| pair == "alt=sse"),
        ..IncomingRequest::default()
    };
    let system = body.system_instruction.unwrap_or_default().text();
    if !system.is_empty() {
        incoming.push(Message::System { content: system });
    }
    for content in body.contents {
        let words = content.text();
        if content.role.as_deref() == Some("model") {
            let calls = content.parts.into_iter().filter_map(|part| part.function_call);
            let tool_calls = calls.map(call).collect();
            incoming.push(Message::Assistant { content: words, tool_calls, opaque: None });
            continue;
        }
        for response in content.parts.into_iter().filter_map(|part| part.function_response) {
            incoming.push(result(response));
        }
        if !words.is_empty() {
            incoming.push(Message::User { content: words });
        }
    }
    let declarations = body.tools.into_iter().flat_map(|tools| tools.function_declarations);
    incoming.request.tools = declarations.map(Declaration::spec).collect();
    incoming
}

fn id(id: Option<&Value>) -> String {
    id.and_then(Value::as_str).unwrap_or_default().to_string()
}

fn call(call: FunctionCall) -> ToolCall {
    let arguments = Arguments::from_value(call.args);
    ToolCall { id: id(call.id.as_ref()), name: call.name, arguments, opaque: None }
}

fn result(result: FunctionResponse) -> Message {
    let inner = result.response;
    let text = ["output", "error", "result"].iter().find_map(|key| inner.get(key)?.as_str());
    Message::Tool {
        tool_call_id: id(result.id.as_ref()),
        name: result.name,
        content: text.map_or_else(|| inner.to_string(), str::to_string),
        ok: inner.get("error").is_none(),
    }
}

fn calls(answer: &Answer) -> impl Iterator<Item = Part> {
    answer.calls.iter().map(|call| {
        let id = call.named.then(|| call.id.as_str().into());
        let function = FunctionCall { name: call.name.clone(), args: call.value(), id };
        let thought_signature = Some(call.signature().into());
        Part { function_call: Some(function), thought_signature, ..Part::default() }
    })
}

fn chunk(answer: &Answer, parts: Vec<Part>, last: bool) -> Chunk<'_> {
    let content = Content { role: Some("model".into()), parts };
    Chunk {
        candidates: [Candidate { content, index: 0, finish_reason: last.then_some("STOP") }],
        model_version: &answer.model,
        response_id: format!("resp_{}", answer.number),
        usage_metadata: answer.usage.into(),
    }
}

/// The streamed answer: server-sent events, or one list whose elements come one by one.
pub(super) fn frames(answer: &Answer, events: bool) -> Frames {
    let (before, after) = if events { ("data: ", "\r\n\r\n") } else { ("", ",\r\n") };
    let mut frames = Frames::with_content_type(if events { "text/event-stream" } else { "application/json" });
    let push = |frames: &mut Frames, part: Part, last: bool| {
        let end = if last && !events { "]" } else { after };
        frames.push(format!("{before}{}{end}", json_text(&chunk(answer, vec![part], last))));
    };
    if !events {
        frames.push("[");
    }
    if answer.thinks {
        push(&mut frames, Part { thought: Some(true), ..Part::text(THOUGHT) }, false);
    }
    let text_before = format!("{before}{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":");
    let model = json_text(&answer.model);
    let text_after = format!("}}],\"role\":\"model\"}},\"index\":0}}],\"modelVersion\":{model}}}{after}");
    frames.texts(answer, &text_before, &text_after);
    for part in calls(answer) {
        push(&mut frames, part, false);
    }
    push(&mut frames, Part::text(""), true);
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Chunk<'_> {
    let text = (!answer.text.is_empty()).then(|| Part::text(&answer.text));
    chunk(answer, text.into_iter().chain(calls(answer)).collect(), true)
}
