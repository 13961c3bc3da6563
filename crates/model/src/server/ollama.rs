//! Ollama's own `/api/chat`. It streams unless it is told not to.

use super::answer::{Answer, Frames, THOUGHT, json_text};
use super::incoming::IncomingRequest;
use super::openai;
use crate::formats::openai::{Call, ChatMessage, ChatRequest, Function, OllamaLine};

const CREATED_AT: &str = "2026-01-01T00:00:00Z";

/// Reads a request: messages and tools look like OpenAI's.
pub(super) fn read(body: ChatRequest) -> IncomingRequest {
    IncomingRequest { stream: body.stream.unwrap_or(true), ..openai::read(body) }
}

fn calls(answer: &Answer) -> Vec<Call> {
    let call = |call: &super::answer::Call| Call {
        id: call.named.then(|| call.id.clone()),
        function: Function { name: Some(call.name.clone()), arguments: call.value() },
        ..Call::default()
    };
    answer.calls.iter().map(call).collect()
}

fn line(answer: &Answer, message: ChatMessage, last: bool) -> OllamaLine<'_> {
    OllamaLine {
        model: &answer.model,
        created_at: CREATED_AT,
        message,
        done: last,
        done_reason: last.then_some("stop"),
        prompt_eval_count: last.then_some(answer.usage.input),
        eval_count: last.then_some(answer.usage.output),
    }
}

/// The streamed answer, one object per line.
pub(super) fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::with_content_type("application/x-ndjson");
    let push = |frames: &mut Frames, message: ChatMessage, last: bool| {
        frames.push(format!("{}\n", json_text(&line(answer, message, last))));
    };
    let empty = || ChatMessage::new("assistant", "");
    if answer.thinks {
        push(&mut frames, ChatMessage { thinking: Some(THOUGHT.into()), ..empty() }, false);
    }
    let model = json_text(&answer.model);
    let before = format!(
        "{{\"model\":{model},\"created_at\":\"{CREATED_AT}\",\"message\":{{\"role\":\"assistant\",\"content\":"
    );
    frames.texts(answer, &before, "},\"done\":false}\n");
    if !answer.calls.is_empty() {
        push(&mut frames, ChatMessage { tool_calls: calls(answer), ..empty() }, false);
    }
    push(&mut frames, empty(), true);
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> OllamaLine<'_> {
    let message = ChatMessage::new("assistant", answer.text.as_str());
    line(answer, ChatMessage { tool_calls: calls(answer), ..message }, true)
}
