//! Details of single formats and of the server that the conversations do not cover.

use crate::support::*;
use marvin_model::server::ModelServer;
use marvin_model::wire::{CopilotModel, HttpModel};
use marvin_model::{Failure, Message, ToolCall};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

const CALLS: &str = r#"{"reply":{"text":"Look.","tool_calls":[{"name":"run","arguments":{"n":1}},{"name":"apply_patch","arguments":"*** Begin Patch\n*** End Patch"}]},"repeat":true}"#;

/// A plain HTTP/1.1 exchange, so that the server is tested with more than this crate's client.
async fn exchange(server: &ModelServer, method: &str, path: &str, body: &Value) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
}

async fn post(server: &ModelServer, path: &str, body: Value) -> Value {
    let (status, answer) = exchange(server, "POST", path, &body).await;
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap_or(Value::String(answer))
}

/// The data of all events of a stream.
fn events(stream: &Value) -> Vec<Value> {
    let lines = stream.as_str().unwrap().lines();
    lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect()
}

#[tokio::test]
async fn small_endpoints_answer() {
    let server = server("");
    let get = async |path: &str| {
        let (status, body) = exchange(&server, "GET", path, &Value::Null).await;
        (status, serde_json::from_str::<Value>(&body).unwrap())
    };
    assert_eq!(get("/healthz").await, (200, json!({"ok": true})));
    assert_eq!(get("/v1/models").await.1["data"][0]["object"], "model");
    assert!(get("/api/tags").await.1["models"][0]["name"].is_string());
    assert!(get("/copilot_internal/v2/token").await.1["token"].is_string());
    assert_eq!(get("/nothing").await.0, 404);
    let (status, _) = exchange(&server, "POST", "/v1/nothing", &json!({})).await;
    assert_eq!(status, 404);
    let counted = post(&server, "/v1/messages/count_tokens?beta=true", json!({"messages": []})).await;
    assert!(counted["input_tokens"].is_number());
    let (status, _) = exchange(&server, "POST", "/v1/messages", &json!("no object")).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn every_format_answers_without_streaming() {
    let server = server(CALLS);
    let user = json!([{"role": "user", "content": "hi"}]);
    let chat = post(&server, "/any/prefix/chat/completions", json!({"model": "m", "messages": user})).await;
    let message = &chat["choices"][0]["message"];
    assert_eq!(message["content"], "Look.");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], r#"{"n":1}"#);
    let claude = post(&server, "/v1/messages?beta=true", json!({"model": "m", "messages": user})).await;
    assert_eq!(claude["content"][0]["text"], "Look.");
    assert_eq!(claude["content"][1]["input"], json!({"n": 1}));
    assert_eq!(claude["stop_reason"], "tool_use");
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    let gemini = post(&server, "/v1beta/models/g:generateContent", contents.clone()).await;
    assert_eq!(gemini["candidates"][0]["content"]["parts"][1]["functionCall"]["args"], json!({"n": 1}));
    let list = post(&server, "/v1beta/models/g:streamGenerateContent", contents).await;
    assert_eq!(list[0]["candidates"][0]["content"]["parts"][0]["text"], "Look.");
    assert_eq!(list.as_array().unwrap().last().unwrap()["candidates"][0]["finishReason"], "STOP");
    let ollama = post(&server, "/api/chat", json!({"model": "m", "messages": user, "stream": false})).await;
    assert_eq!(ollama["message"]["tool_calls"][0]["function"]["arguments"], json!({"n": 1}));
    assert_eq!(ollama["done"], true);
}

#[tokio::test]
async fn responses_are_streamed_in_codex_format() {
    let server = server(CALLS);
    let body = json!({
        "model": "gpt-5.5", "stream": true, "instructions": "rules",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}],
        "tools": [{"type": "function", "name": "run"}, {"type": "custom", "name": "apply_patch"}],
    });
    let events = events(&post(&server, "/v1/responses", body.clone()).await);
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("response.created", "response.completed"));
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(done[0]["content"][0]["text"], "Look.");
    assert_eq!((&done[1]["type"], &done[1]["arguments"]), (&json!("function_call"), &json!(r#"{"n":1}"#)));
    assert_eq!(done[2]["type"], "custom_tool_call");
    assert_eq!(done[2]["input"], "*** Begin Patch\n*** End Patch");
    let joined = |kind: &str| -> String {
        events
            .iter()
            .filter(|event| event["type"] == kind)
            .filter_map(|event| event["delta"].as_str())
            .collect()
    };
    assert_eq!(joined("response.output_text.delta"), "Look.");
    assert_eq!(joined("response.function_call_arguments.delta"), r#"{"n":1}"#);
    assert_eq!(joined("response.custom_tool_call_input.delta"), "*** Begin Patch\n*** End Patch");
    let whole = post(&server, "/v1/responses", json!({"model": "m", "input": "go"})).await;
    assert_eq!(whole["output"].as_array().unwrap().len(), 3);
    assert_eq!(whole["status"], "completed");
}

#[tokio::test]
async fn scripts_match_the_latest_message() {
    let server = server(
        r#"
{"when":{"contains":"KIT-PROMPT"},"reply":{"text":"prompt"}}
{"when":{"contains":"RAN-OK"},"reply":{"text":"result"}}
{"when":{"contains":"OUTPUT-OK"},"reply":{"text":"output"}}
"#,
    );
    let claude = |messages: Value| json!({"model": "m", "system": "rules", "messages": messages});
    // Rules may follow the user's text, and text may accompany results.
    let first = claude(json!([
        {"role": "user", "content": [{"type": "text", "text": "context"}, {"type": "text", "text": "KIT-PROMPT go"}]},
        {"role": "system", "content": [{"type": "text", "text": "environment"}]},
    ]));
    assert_eq!(post(&server, "/v1/messages", first).await["content"][0]["text"], "prompt");
    let second = claude(json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "run", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "RAN-OK"}]},
                                     {"type": "text", "text": "reminder"}]},
    ]));
    assert_eq!(post(&server, "/v1/messages", second).await["content"][0]["text"], "result");
    let codex = json!({"model": "m", "input": [
        {"type": "function_call", "name": "run", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "OUTPUT-OK"},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "lesson"}]},
    ]});
    let answer = post(&server, "/v1/responses", codex).await;
    assert_eq!(answer["output"][0]["content"][0]["text"], "output");
}

#[tokio::test]
async fn errors_have_the_vendors_shape() {
    let server = server(r#"{"fail":{"kind":"http","status":429,"retry_after_s":3},"repeat":true}"#);
    for (path, kind) in [("/v1/chat/completions", "/error/type"), ("/v1/messages", "/error/type")] {
        let (status, body) = exchange(&server, "POST", path, &json!({"messages": []})).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, body.pointer(kind).unwrap()), (429, &json!("rate_limit_error")));
    }
    let client = OPENAI.client(&server);
    let error = ask(&*client, &request("hi")).await.result.unwrap_err();
    assert_eq!(error.failure, Failure::Unavailable);
    assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
}

#[tokio::test]
async fn copilot_exchanges_its_token_once() {
    let server = server(r#"{"reply":{"text":"fine"},"repeat":true}"#);
    let client = COPILOT.client(&server);
    for _ in 0..3 {
        assert_eq!(ask(&*client, &request("hi")).await.reply().text, "fine");
    }
    let paths: Vec<String> = server.requests().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths.iter().filter(|path| path.ends_with("/token")).count(), 1, "{paths:?}");
    assert_eq!(paths.iter().filter(|path| path.ends_with("/chat/completions")).count(), 3);
}

#[tokio::test]
async fn copilot_uses_other_keys_as_they_are() {
    let server = server(r#"{"reply":{"text":"fine"}}"#);
    let mut options = COPILOT.options(server.address(), "m", Duration::from_secs(5));
    options.key = Some("tid=1;exp=2".into());
    let client = CopilotModel::new(options, "http://127.0.0.1:1/token").unwrap();
    assert_eq!(ask(&client, &request("hi")).await.reply().text, "fine");
}

#[tokio::test]
async fn waiting_to_retry_can_be_cancelled() {
    let server = server(r#"{"fail":{"kind":"http","status":503,"retry_after_s":60},"repeat":true}"#);
    let cancel = CancellationToken::new();
    let (stop, started) = (cancel.clone(), Instant::now());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stop.cancel();
    });
    let outcome = ask_until(&GEMINI.retrying(&server, 3), &request("hi"), &cancel).await;
    assert_eq!(outcome.restarts.len(), 1, "reported before the wait");
    assert_eq!(outcome.result.unwrap_err().failure, Failure::Cancelled);
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn http_statuses_map_to_error_kinds() {
    for (status, failure) in [
        (408, Failure::Unavailable),
        (429, Failure::Unavailable),
        (500, Failure::Unavailable),
        (529, Failure::Unavailable),
        (403, Failure::Rejected),
        (404, Failure::Rejected),
        (307, Failure::Rejected),
        (422, Failure::Rejected),
    ] {
        let server = server(&json!({"fail": {"kind": "http", "status": status}}).to_string());
        let error = ask(&*ANTHROPIC.client(&server), &request("hi")).await.result.unwrap_err();
        assert_eq!(error.failure, failure, "{status}: {error}");
    }
}

#[tokio::test]
async fn results_of_parallel_calls_share_one_message() {
    let server = server(r#"{"reply":{"text":"fine"},"repeat":true}"#);
    let mut request = request("hi");
    let calls: Vec<ToolCall> = ["a:1", "b.2"]
        .iter()
        .map(|id| ToolCall {
            id: (*id).into(),
            name: "read_file".into(),
            arguments: marvin_model::Arguments::from_text("oops"),
            opaque: Some(json!({"elsewhere": {"secret": "OTHER-VENDOR"}})),
        })
        .collect();
    let results = calls.iter().map(|call| Message::Tool {
        tool_call_id: call.id.clone(),
        name: call.name.clone(),
        content: "x".into(),
        ok: true,
    });
    let results: Vec<Message> = results.collect();
    request.messages.push(Message::Assistant { content: String::new(), tool_calls: calls, opaque: None });
    request.messages.extend(results);
    for provider in [ANTHROPIC, GEMINI, OPENAI, OLLAMA] {
        ask(&*provider.client(&server), &request).await.reply();
        let (_, body) = server.requests().pop().unwrap();
        assert!(!body.to_string().contains("OTHER-VENDOR"), "{body}");
        match provider.name {
            "anthropic" => {
                let messages = body["messages"].as_array().unwrap();
                assert_eq!(messages.len(), 3);
                assert_eq!(messages[2]["content"].as_array().unwrap().len(), 2);
                assert_eq!(messages[2]["content"][0]["tool_use_id"], "a_1");
                assert_eq!(messages[1]["content"][0]["input"], json!({"input": "oops"}));
            }
            "gemini" => assert_eq!(body["contents"][2]["parts"].as_array().unwrap().len(), 2),
            "openai" => {
                assert_eq!(body["messages"][2]["content"], Value::Null);
                let arguments = &body["messages"][2]["tool_calls"][0]["function"]["arguments"];
                assert_eq!(arguments, r#"{"input":"oops"}"#);
            }
            _ => assert_eq!(body["messages"][4]["tool_call_id"], "b.2"),
        }
    }
}

#[tokio::test]
async fn a_schema_is_sent_where_the_wire_format_has_a_field_for_it() {
    let server = server(r#"{"reply":{"text":"{}"},"repeat":true}"#);
    let schema = json!({"type": "object"});
    let mut request = request("hi");
    request.tools.clear();
    request.response_schema = Some(schema.clone());
    for (provider, place) in [
        (OPENAI, "/response_format/json_schema/schema"),
        (GEMINI, "/generationConfig/responseJsonSchema"),
        (OLLAMA, "/format"),
    ] {
        ask(&*provider.client(&server), &request).await.reply();
        let (_, body) = server.requests().pop().unwrap();
        assert_eq!(body.pointer(place), Some(&schema), "{body}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_a_connection_error() {
    let server = server("");
    let client = OPENAI.client(&server);
    server.stop().await;
    let error = ask(&*client, &request("hi")).await.result.unwrap_err();
    assert_eq!(error.failure, Failure::Disconnected);
    assert!(error.message.contains("provider.openai.url"), "{error}");
}

#[tokio::test]
async fn dropping_the_server_stops_it() {
    let server = server("");
    let address = server.address();
    drop(server);
    let deadline = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(address).await.is_ok() {
        assert!(Instant::now() < deadline, "still listening");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn the_log_is_bounded() {
    let server = server(r#"{"reply":{"text":"x"},"repeat":true}"#);
    let client = OLLAMA.client(&server);
    for number in 0..205 {
        ask(&*client, &request(&number.to_string())).await.reply();
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 200);
    assert_eq!(requests[0].1["messages"][1]["content"], "5");
}

/// A megabyte in twenty thousand deltas. The limit is generous: a slow machine without optimisation stays below it,
/// a client that does quadratic work does not.
#[tokio::test]
async fn many_small_deltas_are_cheap() {
    let text = "x".repeat(1_000_000);
    let server = server(&json!({"reply": {"text": text}, "chunks": 20_000, "repeat": true}).to_string());
    for provider in [OPENAI, ANTHROPIC, GEMINI, OLLAMA] {
        let started = Instant::now();
        let outcome = ask(&*provider.client(&server), &request("hi")).await;
        assert_eq!(outcome.texts.len(), 20_000);
        assert_eq!(outcome.reply().text.len(), text.len());
        let took = started.elapsed();
        println!("{}: {took:?}", provider.name);
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
}

/// The crypto provider is installed: the handshake fails because the server speaks no TLS, not before.
#[tokio::test]
async fn an_https_address_uses_tls() {
    let server = server("");
    let mut options = OPENAI.options(server.address(), "m", Duration::from_secs(5));
    options.url = format!("https://{}", server.address());
    let client = HttpModel::new(options).unwrap();
    let error = ask(&client, &request("hi")).await.result.unwrap_err();
    assert_eq!(error.failure, Failure::Disconnected, "{error}");
    assert!(server.requests().is_empty());
}
