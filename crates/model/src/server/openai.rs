//! OpenAI chat completions.

use super::answer::{self, Answer, Frames, THOUGHT, argument_pieces, json_text};
use super::incoming::IncomingRequest;
use crate::arguments::Arguments;
use crate::formats::openai::{Call, ChatMessage, ChatRequest, Choice, Completion, Function, Tool};
use crate::formats::text_of;
use crate::message::{Message, ToolCall};
use serde::Serialize;
use serde_json::Value;

pub(super) fn read(body: ChatRequest) -> IncomingRequest {
    let mut incoming = IncomingRequest { stream: body.stream.unwrap_or(false), ..IncomingRequest::default() };
    for message in body.messages {
        let content = text_of(message.content.as_ref().unwrap_or(&Value::Null));
        incoming.push(match message.role.as_deref().unwrap_or_default() {
            "system" | "developer" => Message::System { content },
            "assistant" => Message::Assistant {
                content,
                tool_calls: message.tool_calls.into_iter().map(call).collect(),
                opaque: None,
            },
            "tool" => Message::Tool {
                tool_call_id: message.tool_call_id.unwrap_or_default(),
                name: message.tool_name.unwrap_or_default(),
                content,
                ok: true,
            },
            _ => Message::User { content },
        });
    }
    incoming.request.tools = body.tools.into_iter().filter_map(Tool::spec).collect();
    incoming
}

fn call(call: Call) -> ToolCall {
    ToolCall {
        id: call.id.unwrap_or_default(),
        name: call.function.name.unwrap_or_default(),
        arguments: Arguments::from_value(call.function.arguments),
        opaque: None,
    }
}

fn reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "stop" } else { "tool_calls" }
}

/// Extra content that Google's endpoint in this format adds to calls and wants back.
#[derive(Serialize)]
struct ExtraContent {
    google: GoogleExtra,
}

#[derive(Serialize)]
struct GoogleExtra {
    thought_signature: String,
}

fn answer_call(answer: &Answer, call: &answer::Call, arguments: &str) -> Call {
    let google = GoogleExtra { thought_signature: call.signature() };
    let extra = answer.model.starts_with("gemini").then_some(ExtraContent { google });
    Call {
        id: Some(call.id.clone()),
        kind: Some("function"),
        function: Function { name: Some(call.name.clone()), arguments: arguments.into() },
        extra_content: extra.and_then(|extra| serde_json::to_value(extra).ok()),
        ..Call::default()
    }
}

/// The streamed answer.
pub(super) fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::empty();
    let id = format!("chatcmpl-{}", answer.number);
    let event = |choices: Vec<Choice>| Completion {
        id: &id,
        object: "chat.completion.chunk",
        created: answer.created,
        model: &answer.model,
        usage: None,
        choices,
    };
    let chunk = |delta: ChatMessage, finish_reason: Option<&'static str>| {
        event(vec![Choice { index: 0, message: None, delta: Some(delta), finish_reason }])
    };
    frames.data(&chunk(ChatMessage::new("assistant", ""), None));
    if answer.thinks {
        let delta = ChatMessage { reasoning_content: Some(THOUGHT.into()), ..ChatMessage::default() };
        frames.data(&chunk(delta, None));
    }
    let model = json_text(&answer.model);
    let before = format!(
        "data: {{\"id\":\"{id}\",\"object\":\"chat.completion.chunk\",\"created\":{},\"model\":{model},\
         \"choices\":[{{\"index\":0,\"delta\":{{\"content\":",
        answer.created
    );
    frames.texts(answer, &before, "},\"finish_reason\":null}]}\n\n");
    for (index, call) in answer.calls.iter().enumerate() {
        let index = Some(index);
        let start = Call { index, ..answer_call(answer, call, "") };
        let text = call.text();
        let pieces = argument_pieces(&text).into_iter().map(|piece| Call {
            index,
            function: Function { name: None, arguments: piece.into() },
            ..Call::default()
        });
        for call in std::iter::once(start).chain(pieces) {
            frames.data(&chunk(ChatMessage { tool_calls: vec![call], ..ChatMessage::default() }, None));
        }
    }
    frames.data(&chunk(ChatMessage::default(), Some(reason(answer))));
    frames.data(&Completion { usage: Some(answer.usage.into()), ..event(Vec::new()) });
    frames.push("data: [DONE]\n\n");
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Value {
    let calls = answer.calls.iter().map(|call| answer_call(answer, call, &call.text()));
    let message =
        ChatMessage { tool_calls: calls.collect(), ..ChatMessage::new("assistant", answer.text.as_str()) };
    let finish_reason = Some(reason(answer));
    let completion = Completion {
        id: &format!("chatcmpl-{}", answer.number),
        object: "chat.completion",
        created: answer.created,
        model: &answer.model,
        usage: Some(answer.usage.into()),
        choices: vec![Choice { index: 0, message: Some(message), delta: None, finish_reason }],
    };
    serde_json::to_value(completion).unwrap_or_default()
}
