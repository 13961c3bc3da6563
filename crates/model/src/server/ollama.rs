//! Ollama's own `/api/chat`. It streams unless it is told not to.

use super::answer::{Answer, Frames, THOUGHT};
use super::{IncomingRequest, openai};
use crate::json::set;
use serde_json::{Value, json};

/// Reads a request: messages and tools look like OpenAI's.
pub(super) fn read(body: &Value) -> IncomingRequest {
    IncomingRequest {
        stream: body.get("stream").and_then(Value::as_bool).unwrap_or(true),
        ..openai::read(body)
    }
}

fn calls(answer: &Answer) -> Value {
    answer
        .calls
        .iter()
        .map(|call| {
            let mut value = json!({ "function": { "name": call.name, "arguments": call.value() } });
            if call.named {
                set(&mut value, "id", call.id.as_str());
            }
            value
        })
        .collect()
}

fn line(answer: &Answer, message: &Value, last: bool) -> Value {
    let mut line = json!({ "model": answer.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": last });
    if last {
        set(&mut line, "done_reason", "stop");
        set(&mut line, "prompt_eval_count", answer.usage.input);
        set(&mut line, "eval_count", answer.usage.output);
    }
    line
}

/// The streamed answer, one object a line.
pub(super) fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::with_content_type("application/x-ndjson");
    let push = |frames: &mut Frames, message: Value, last: bool| {
        frames.push(format!("{}\n", line(answer, &message, last)));
    };
    if answer.thinks {
        push(&mut frames, json!({ "role": "assistant", "content": "", "thinking": THOUGHT }), false);
    }
    let model = Value::from(answer.model.as_str());
    let before = format!(
        "{{\"model\":{model},\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{{\"role\":\"assistant\",\"content\":"
    );
    frames.texts(answer, &before, "},\"done\":false}\n");
    if !answer.calls.is_empty() {
        push(&mut frames, json!({ "role": "assistant", "content": "", "tool_calls": calls(answer) }), false);
    }
    push(&mut frames, json!({ "role": "assistant", "content": "" }), true);
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.text });
    if !answer.calls.is_empty() {
        set(&mut message, "tool_calls", calls(answer));
    }
    line(answer, &message, true)
}
