//! Odd streams, as servers in the wild send them, fed to the readers without a socket.

use super::errors::Fault;
use super::lines::Lines;
use super::reader::Progress;
use super::{WireKind, new_reader};
use crate::arguments::Arguments;
use crate::client::{Event, Reply, Stop};
use proptest::prelude::*;
use serde_json::{Value, json};

const KINDS: [WireKind; 4] = [WireKind::OpenAi, WireKind::Anthropic, WireKind::Gemini, WireKind::Ollama];

fn feed(kind: WireKind, stream: &[u8]) -> Result<Reply, Fault> {
    let mut text = String::new();
    let mut collect = |event: Event<'_>| {
        if let Event::Text(piece) = event {
            text.push_str(piece);
        }
    };
    let mut reader = new_reader(kind);
    let mut lines = Lines::default();
    let mut each = |line: &[u8]| Ok(reader.line(line, &mut collect)? != Progress::Done);
    if lines.feed(stream, &mut each)? {
        lines.finish(&mut each)?;
    }
    let reply = reader.finish()?;
    assert_eq!(reply.text, text, "events and reply say the same");
    Ok(reply)
}

fn openai(deltas: &[Value], reason: &str) -> Reply {
    let mut stream = String::new();
    for delta in deltas {
        stream.push_str(&format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]})));
    }
    stream.push_str(&format!("data: {}\n\n", json!({"choices": [{"delta": {}, "finish_reason": reason}]})));
    stream.push_str("data: [DONE]\n\n");
    feed(WireKind::OpenAi, stream.as_bytes()).unwrap()
}

fn seen(reply: &Reply) -> Vec<String> {
    reply.calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments.to_text())).collect()
}

#[test]
fn calls_without_index_are_distinguished_by_id() {
    let reply = openai(
        &[
            json!({"tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{\"n\":"}}]}),
            json!({"tool_calls": [{"id": "b", "function": {"name": "y", "arguments": "{}"}}]}),
            json!({"tool_calls": [{"id": "a", "function": {"arguments": "1}"}}]}),
        ],
        "tool_calls",
    );
    assert_eq!(seen(&reply), ["a x {\"n\":1}", "b y {}"]);
}

#[test]
fn calls_without_index_and_id_are_distinguished_by_position() {
    let reply = openai(
        &[json!({"tool_calls": [{"function": {"name": "x", "arguments": "{}"}},
                                {"function": {"name": "y", "arguments": "{}"}}]})],
        "stop",
    );
    assert_eq!(seen(&reply), [" x {}", " y {}"]);
}

#[test]
fn parallel_calls_all_numbered_zero_are_distinguished() {
    let reply = openai(
        &[
            json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}]}),
            json!({"tool_calls": [{"index": 0, "id": "b", "function": {"name": "x", "arguments": "{\"n\":"}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "2}"}}]}),
        ],
        "tool_calls",
    );
    assert_eq!(seen(&reply), ["a x {}", "b x {\"n\":2}"]);
}

#[test]
fn arguments_may_be_an_object_or_null() {
    let reply = openai(
        &[
            json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "x", "arguments": {"n": [1]}}}]}),
            json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "y", "arguments": null}}]}),
            json!({"tool_calls": null, "content": null}),
        ],
        "tool_calls",
    );
    assert_eq!(seen(&reply), ["a x {\"n\":[1]}", "b y {}"]);
}

#[test]
fn a_wrong_reason_does_not_hide_calls() {
    let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}]});
    let reply = openai(&[call], "stop");
    assert_eq!((reply.calls.len(), reply.stop), (1, Stop::End));
    assert_eq!(openai(&[], "length").stop, Stop::Length);
    assert_eq!(openai(&[], "content_filter").stop, Stop::Filtered);
}

#[test]
fn framing_may_be_sloppy() {
    let stream = concat!(
        "\u{feff}: welcome\r\n\r\n",
        "event: message\r\nid: 7\r\nretry: 100\r\n",
        "data:{\"choices\":[{\"delta\":{\"content\":\"a\\u00e4\"}}]}\r\n\r\n",
        ": ping\r\n\r\n",
        "data:  {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\r\n",
        "data: {\"choices\":[]}\r\n\r\n",
        "data: {\"choices\":null,\"usage\":null}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":null,\"finish_reason\":\"stop\"}]}\r\n\r\n",
        "data: [DONE] \r\n",
    );
    assert_eq!(feed(WireKind::OpenAi, stream.as_bytes()).unwrap().text, "aäb");
}

#[test]
fn a_missing_done_is_forgiven_after_a_reason_only() {
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let reason = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}";
    assert!(matches!(feed(WireKind::OpenAi, text.as_bytes()), Err(Fault::Cut)));
    assert_eq!(feed(WireKind::OpenAi, format!("{text}{reason}").as_bytes()).unwrap().text, "a");
    for kind in KINDS {
        assert!(matches!(feed(kind, b""), Err(Fault::Cut)), "{kind:?}");
    }
}

#[test]
fn an_error_in_the_stream_is_an_error() {
    for (kind, stream) in [
        (WireKind::OpenAi, "data: {\"error\":{\"message\":\"too much\",\"code\":429}}\n"),
        (WireKind::OpenAi, "{\"error\":{\"message\":\"too much\",\"code\":503}}"),
        (
            WireKind::Anthropic,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"too much\"}}\n",
        ),
        (
            WireKind::Gemini,
            "data: {\"error\":{\"code\":503,\"message\":\"too much\",\"status\":\"UNAVAILABLE\"}}\n",
        ),
    ] {
        match feed(kind, stream.as_bytes()) {
            Err(Fault::Vendor { message, transient: true }) => assert_eq!(message, "too much"),
            other => panic!("{kind:?}: {other:?}"),
        }
    }
    let found = feed(WireKind::Ollama, b"{\"error\":\"model not found\"}\n");
    assert!(matches!(found, Err(Fault::Vendor { transient: false, .. })), "{found:?}");
}

#[test]
fn usage_is_found_wherever_vendors_put_it() {
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5},
                       "cost": 0.000_25});
    for last in [
        json!({"choices": [], "usage": usage}),
        json!({"choices": [{"delta": {}, "usage": usage}]}),
        json!({"choices": [], "x_groq": {"usage": usage}}),
    ] {
        let stream = format!("data: {last}\n\ndata: [DONE]\n");
        let reply = feed(WireKind::OpenAi, stream.as_bytes()).unwrap();
        assert_eq!((reply.usage.input, reply.usage.output, reply.usage.cached), (9, 4, 5), "{last}");
        assert_eq!(reply.cost, Some(250_000));
    }
}

#[test]
fn anthropic_counts_cached_tokens_as_read() {
    let stream = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3,",
        "\"cache_creation_input_tokens\":10,\"cache_read_input_tokens\":100,\"output_tokens\":1}}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",",
        "\"name\":\"x\",\"input\":{\"whole\":true}}}\n\n",
        "data: {\"type\":\"some_new_event\",\"index\":0,\"delta\":7}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":7}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );
    let reply = feed(WireKind::Anthropic, stream.as_bytes()).unwrap();
    assert_eq!((reply.usage.input, reply.usage.output, reply.usage.cached), (113, 7, 100));
    assert_eq!(reply.stop, Stop::Length);
    assert_eq!(reply.calls[0].arguments.to_value(), json!({"whole": true}));
}

#[test]
fn gemini_keeps_signatures_where_they_were() {
    let stream = concat!(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true},{\"text\":\"yes\"},",
        "{\"functionCall\":{\"name\":\"x\",\"args\":{\"n\":1},\"id\":\"v1\"},\"thoughtSignature\":\"S1\"},",
        "{\"functionCall\":{\"name\":\"y\"}}]}}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\",\"thoughtSignature\":\"S2\"}]},",
        "\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":2,",
        "\"thoughtsTokenCount\":3}}\n\n",
    );
    let reply = feed(WireKind::Gemini, stream.as_bytes()).unwrap();
    assert_eq!(reply.text, "yes");
    assert_eq!(reply.opaque, Some(json!({"gemini": {"thoughtSignature": "S2"}})));
    assert_eq!(reply.calls[0].opaque, Some(json!({"gemini": {"id": "v1", "thoughtSignature": "S1"}})));
    assert_eq!(reply.calls[1].arguments, Arguments::Object(serde_json::Map::new()));
    assert_eq!((reply.usage.input, reply.usage.output), (5, 5));
    let blocked =
        feed(WireKind::Gemini, b"data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n").unwrap();
    assert_eq!(blocked.stop, Stop::Filtered);
}

#[test]
fn other_bytes_are_garbage() {
    for kind in KINDS {
        for bytes in [&b"<html>busy</html>"[..], b"\x00\xff\n", b"data: nonsense\n", b"[1,2\n"] {
            let found = feed(kind, bytes);
            assert!(matches!(found, Err(Fault::Garbage(_))), "{kind:?} {bytes:?} {found:?}");
        }
    }
}

/// Fragments of all the protocols, so that random streams reach deeper than random bytes do.
const FRAGMENTS: [&str; 24] = [
    "data: ",
    "\n",
    "\r\n\r\n",
    "event: x",
    "[DONE]",
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":18446744073709551615,\"function\":{\"arguments\":",
    "{\"choices\":[{\"delta\":{\"tool_calls\":[{},{\"id\":\"\"},{\"function\":{\"name\":\"x\"}}]}}]}",
    "{\"choices\":[{\"delta\":{\"content\":\"\\ud800\"}}]}",
    "{\"usage\":{\"prompt_tokens\":18446744073709551615,\"cost\":-1e300}}",
    "{\"type\":\"content_block_start\",\"index\":9,\"content_block\":{\"type\":\"tool_use\"}}",
    "{\"type\":\"content_block_start\",\"content_block\":{\"type\":\"thinking\",\"thinking\":7}}",
    "{\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"partial_json\":\"{\"}}",
    "{\"type\":\"content_block_delta\",\"delta\":{\"signature\":\"s\"}}",
    "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":18446744073709551615,\"cache_read_input_tokens\":5}}}",
    "{\"type\":\"message_stop\"}",
    "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{}},{\"text\":null}]},\"finishReason\":\"STOP\"}]}",
    "{\"usageMetadata\":{\"candidatesTokenCount\":18446744073709551615,\"thoughtsTokenCount\":1}}",
    "{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":[]}}]},\"done\":true}",
    "{\"error\":",
    "{\"error\":{\"code\":99999999999}}",
    "\"",
    "}}]}",
    "null",
    "\u{0}",
];

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for kind in KINDS {
            feed(kind, &bytes).ok();
        }
    }

    #[test]
    fn random_fragments_never_panic(picks in proptest::collection::vec(0..FRAGMENTS.len(), 0..30)) {
        let stream: String = picks.iter().map(|pick| FRAGMENTS[*pick]).collect();
        for kind in KINDS {
            feed(kind, stream.as_bytes()).ok();
        }
    }
}
