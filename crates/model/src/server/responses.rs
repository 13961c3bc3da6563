//! OpenAI responses, as `codex` speaks them.

use super::answer::{Answer, Call, Frames, argument_pieces};
use super::incoming::IncomingRequest;
use crate::arguments::Arguments;
use crate::formats::responses::{Event, Input, Item, OutputText, Response, ResponsesRequest};
use crate::formats::{spec, text_of};
use crate::message::{Message, ToolCall};
use serde_json::Value;

pub(super) fn read(body: ResponsesRequest) -> IncomingRequest {
    let mut incoming = IncomingRequest { stream: body.stream.unwrap_or(false), ..IncomingRequest::default() };
    if let Some(content) = body.instructions {
        incoming.push(Message::system(content));
    }
    match body.input {
        Input::Text(content) => incoming.push(Message::user(content)),
        Input::Items(items) => items.into_iter().filter_map(message).for_each(|item| incoming.push(item)),
    }
    for tool in body.tools {
        match tool.kind.as_str() {
            "function" => incoming.request.tools.push(spec(&tool.name, tool.description, tool.parameters)),
            "custom" => incoming.freeform.push(tool.name),
            "namespace" => incoming.namespaces.push(tool.name),
            "tool_search" => incoming.searches = true,
            _ => {}
        }
    }
    incoming
}

fn message(item: Item) -> Option<Message> {
    let call = |arguments: Option<Value>| Message::Assistant {
        content: String::new(),
        tool_calls: vec![ToolCall {
            id: item.call_id.clone().unwrap_or_default(),
            name: item.name.clone().unwrap_or_default(),
            arguments: Arguments::from_value(arguments.unwrap_or_default()),
            opaque: None,
        }],
        opaque: None,
    };
    let text = |content: Option<Value>| text_of(&content.unwrap_or_default());
    Some(match item.kind.as_str() {
        "message" | "" => {
            let content = text(item.content);
            match item.role.as_deref() {
                Some("system" | "developer") => Message::System { content },
                Some("assistant") => Message::assistant(content),
                _ => Message::User { content },
            }
        }
        "function_call" => call(item.arguments),
        "custom_tool_call" => call(item.input),
        "function_call_output" | "custom_tool_call_output" => Message::Tool {
            tool_call_id: item.call_id.unwrap_or_default(),
            name: String::new(),
            content: text(item.output),
            ok: true,
        },
        _ => return None,
    })
}

fn status(done: bool) -> &'static str {
    if done { "completed" } else { "in_progress" }
}

fn call_item(call: &Call, number: u64, index: usize, done: bool) -> Item {
    let item = |kind: &str, prefix: &str| Item {
        kind: kind.into(),
        id: Some(format!("{prefix}_{number}_{index}")),
        status: Some(status(done)),
        call_id: Some(call.id.clone()),
        ..Item::default()
    };
    let when_done = |text: String| Some(if done { text } else { String::new() }.into());
    if call.search {
        Item { execution: Some("client"), arguments: Some(call.value()), ..item("tool_search_call", "tsc") }
    } else if call.freeform {
        let name = Some(call.name.clone());
        Item { name, input: when_done(call.free()), ..item("custom_tool_call", "ctc") }
    } else {
        Item {
            name: Some(call.bare_name().to_string()),
            arguments: when_done(call.text()),
            namespace: call.namespace.clone(),
            ..item("function_call", "fc")
        }
    }
}

fn text_item(answer: &Answer, done: bool) -> Item {
    let content: Vec<OutputText<'_>> = done.then(|| OutputText::new(&answer.text)).into_iter().collect();
    Item {
        kind: "message".into(),
        id: Some(format!("msg_{}", answer.number)),
        role: Some("assistant".into()),
        status: Some(status(done)),
        content: serde_json::to_value(content).ok(),
        ..Item::default()
    }
}

fn response(answer: &Answer, done: bool) -> Response<'_> {
    let mut output = Vec::new();
    if done {
        output.extend(has_text(answer).then(|| text_item(answer, true)));
        let offset = output.len();
        let calls = answer.calls.iter().enumerate();
        output.extend(calls.map(|(index, call)| call_item(call, answer.number, index + offset, true)));
    }
    Response {
        id: format!("resp_{}", answer.number),
        object: "response",
        created_at: answer.created,
        model: &answer.model,
        status: status(done),
        error: (),
        incomplete_details: (),
        output,
        parallel_tool_calls: true,
        usage: done.then(|| answer.usage.into()),
    }
}

/// An answer without calls has a message, even an empty one.
fn has_text(answer: &Answer) -> bool {
    !answer.text.is_empty() || answer.calls.is_empty()
}

/// The streamed answer.
pub(super) fn frames(answer: &Answer) -> Frames {
    let mut frames = Frames::empty();
    let mut sequence_number = 0;
    let mut event = |frames: &mut Frames, event: Event<'_>| {
        frames.event(&Event { sequence_number, ..event });
        sequence_number += 1;
    };
    let whole = |kind, done| Event { kind, response: Some(response(answer, done)), ..Event::default() };
    let item = |done: bool, index: usize, item: Item| Event {
        kind: if done { "response.output_item.done" } else { "response.output_item.added" },
        output_index: Some(index),
        item: Some(item),
        ..Event::default()
    };
    event(&mut frames, whole("response.created", false));
    let mut index = 0;
    if has_text(answer) {
        let id = format!("msg_{}", answer.number);
        let content = |kind| Event {
            kind,
            item_id: Some(&id),
            output_index: Some(0),
            content_index: Some(0),
            ..Event::default()
        };
        event(&mut frames, item(false, 0, text_item(answer, false)));
        let part = Some(OutputText::new(""));
        event(&mut frames, Event { part, ..content("response.content_part.added") });
        let before = format!(
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\
             \"item_id\":\"{id}\",\"output_index\":0,\"content_index\":0,\"delta\":"
        );
        frames.texts(answer, &before, "}\n\n");
        let text = Some(answer.text.as_str());
        event(&mut frames, Event { text, ..content("response.output_text.done") });
        event(&mut frames, item(true, 0, text_item(answer, true)));
        index += 1;
    }
    for call in &answer.calls {
        let added = call_item(call, answer.number, index, false);
        let id = added.id.clone();
        event(&mut frames, item(false, index, added));
        let (kind, content) = if call.freeform {
            ("response.custom_tool_call_input.delta", call.free())
        } else {
            ("response.function_call_arguments.delta", call.text())
        };
        for piece in argument_pieces(&content) {
            let (item_id, output_index, delta) = (id.as_deref(), Some(index), Some(piece));
            event(&mut frames, Event { kind, item_id, output_index, delta, ..Event::default() });
        }
        event(&mut frames, item(true, index, call_item(call, answer.number, index, true)));
        index += 1;
    }
    event(&mut frames, whole("response.completed", true));
    frames
}

/// The answer in one piece.
pub(super) fn whole(answer: &Answer) -> Response<'_> {
    response(answer, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tools_in_namespaces_are_called_there() {
        let body = json!({"tools": [{"type": "namespace", "name": "mcp__kit", "tools": []}]});
        let incoming = read(serde_json::from_value(body).unwrap());
        let item = |name: &str, search| {
            let call = Call {
                id: "c".into(),
                named: true,
                name: name.into(),
                arguments: json!({"a": 1}),
                freeform: false,
                search,
                namespace: incoming.namespace_of(name),
            };
            serde_json::to_value(call_item(&call, 1, 0, true)).unwrap()
        };
        let echo = item("mcp__kit__echo", false);
        assert_eq!((&echo["namespace"], &echo["name"]), (&json!("mcp__kit"), &json!("echo")));
        let other = item("mcp__other__echo", false);
        assert_eq!((&other["namespace"], &other["name"]), (&Value::Null, &json!("mcp__other__echo")));
        let search = item("tool_search", true);
        assert_eq!((&search["type"], &search["arguments"]), (&json!("tool_search_call"), &json!({"a": 1})));
    }
}
