//! One suite of conversations, held with every provider.

use crate::support::*;
use marvin_model::{Arguments, Failure, Message, Request};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const PATCH: &str = "*** Begin Patch\n*** Update File: ä.txt\n-a\n+b\n*** End Patch";

async fn text(provider: Provider) {
    let server = server(r#"{"reply":{"text":"Hello.","usage":{"input":12,"output":3}}}"#);
    let outcome = ask(&*provider.client(&server), &request("hi")).await;
    assert_eq!(outcome.texts.concat(), "Hello.");
    let reply = outcome.reply();
    assert_eq!(reply.text, "Hello.");
    assert_eq!((reply.usage.input, reply.usage.output), (12, 3));
    assert_eq!(reply.model, "scripted-1");
    assert!(reply.calls.is_empty());
    server.stop().await;
}

async fn many_chunks(provider: Provider) {
    let text = "naïve \"quoted\" \\ 日本語 \n".repeat(400);
    let entry = json!({"reply": {"text": text}, "chunks": 3000});
    let server = server(&entry.to_string());
    let outcome = ask(&*provider.client(&server), &request("hi")).await;
    assert!(outcome.texts.len() > 2000, "{} pieces", outcome.texts.len());
    assert_eq!(outcome.texts.concat(), text);
    assert_eq!(outcome.reply().text, text);
}

async fn one_call(provider: Provider) {
    let server = server(
        r#"{"reply":{"text":"Reading.","tool_calls":[{"name":"read_file","arguments":{"path":"a.txt"}}]}}"#,
    );
    let reply = ask(&*provider.client(&server), &request("hi")).await.reply();
    assert_eq!(reply.text, "Reading.");
    assert_eq!(reply.calls.len(), 1);
    assert_eq!(reply.calls[0].name, "read_file");
    assert!(!reply.calls[0].id.is_empty());
    assert_eq!(reply.calls[0].arguments.to_value(), json!({"path": "a.txt"}));
}

async fn parallel_calls(provider: Provider) {
    let calls: Vec<Value> =
        (0..5).map(|n| json!({"name": "read_file", "arguments": {"path": format!("{n}.txt")}})).collect();
    let server = server(&json!({"reply": {"tool_calls": calls}}).to_string());
    let reply = ask(&*provider.client(&server), &request("hi")).await.reply();
    let paths: Vec<Value> =
        reply.calls.iter().map(|call| call.arguments.to_value()["path"].clone()).collect();
    assert_eq!(paths, ["0.txt", "1.txt", "2.txt", "3.txt", "4.txt"]);
    let ids: std::collections::BTreeSet<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), 5);
}

/// The arguments of the only call that a script with these arguments leads to.
async fn arguments(provider: Provider, arguments: Value) -> Arguments {
    let script = json!({"reply": {"tool_calls": [{"name": "read_file", "arguments": arguments}]}});
    let server = server(&script.to_string());
    let mut reply = ask(&*provider.client(&server), &request("hi")).await.reply();
    assert_eq!(reply.calls.len(), 1);
    reply.calls.remove(0).arguments
}

async fn string_arguments(provider: Provider) {
    let seen = arguments(provider, json!(r#"{"path": "a.txt"}"#)).await;
    assert_eq!(seen.to_value(), json!({"path": "a.txt"}));
}

async fn double_encoded_arguments(provider: Provider) {
    let seen = arguments(provider, json!(r#""{\"path\": \"a.txt\"}""#)).await;
    assert_eq!(seen.to_value(), json!({"path": "a.txt"}));
}

async fn patch_as_arguments(provider: Provider) {
    assert_eq!(arguments(provider, json!(PATCH)).await, Arguments::Patch(PATCH.into()));
}

async fn no_arguments(provider: Provider) {
    assert_eq!(arguments(provider, Value::Null).await, Arguments::Object(serde_json::Map::new()));
}

async fn partial_arguments(provider: Provider) {
    let content = "line \"one\"\nzwei: äöü 日本\t\\\n".repeat(200);
    let seen = arguments(provider, json!({"path": "a", "content": content})).await;
    assert_eq!(seen.to_value()["content"], content);
}

async fn broken_arguments(provider: Provider) {
    let text = r#"{"path": "a.t"#;
    assert_eq!(arguments(provider, json!(text)).await, Arguments::Unreadable(text.into()));
}

async fn refused_then_answered(provider: Provider) {
    let server = server("{\"fail\":{\"kind\":\"http\",\"status\":400}}\n{\"reply\":{\"text\":\"fine\"}}");
    let client = provider.retrying(&server, 3);
    let error = ask(&client, &request("hi")).await.result.unwrap_err();
    assert_eq!(error.failure, Failure::Rejected);
    assert!(error.message.contains("the script fails with 400"), "{error}");
    assert_eq!(ask(&client, &request("hi")).await.reply().text, "fine");
}

async fn wrong_key_names_its_setting(provider: Provider) {
    let server = server(r#"{"fail":{"kind":"http","status":401}}"#);
    let error = ask(&*provider.client(&server), &request("hi")).await.result.unwrap_err();
    assert_eq!(error.failure, Failure::Rejected);
    assert!(error.message.contains(&format!("provider.{}.key", provider.name)), "{error}");
    assert!(!error.message.contains("gho_test"), "{error}");
    assert_eq!(error.spent(), None);
}

async fn busy_then_answered(provider: Provider) {
    let server = server(
        "{\"fail\":{\"kind\":\"http\",\"status\":429,\"retry_after_s\":1}}\n{\"reply\":{\"text\":\"fine\"}}",
    );
    let started = Instant::now();
    let outcome = ask(&provider.retrying(&server, 1), &request("hi")).await;
    assert_eq!(outcome.restarts.len(), 1);
    assert!(outcome.lost.is_empty(), "a refused request costs nothing: {:?}", outcome.lost);
    assert_eq!(outcome.reply().text, "fine");
    let waited = started.elapsed();
    assert!(waited >= Duration::from_secs(1) && waited < Duration::from_secs(30), "{waited:?}");
}

const LONG: &str = "A text that is long enough to break in its middle, or so one hopes.";

async fn broken_then_answered(provider: Provider) {
    let script = format!(
        "{}\n{}",
        json!({"reply": {"text": LONG}, "fail": {"kind": "disconnect"}}),
        json!({"reply": {"text": LONG}})
    );
    let server = server(&script);
    let outcome = ask(&provider.retrying(&server, 2), &request("hi")).await;
    assert_eq!(outcome.restarts.len(), 1);
    assert_eq!(outcome.restarts[0].1, 1);
    assert_eq!(outcome.lost.len(), 1);
    assert!(outcome.lost[0].input > 0 && outcome.lost[0].output > 0, "{:?}", outcome.lost);
    assert_eq!(outcome.texts.concat(), LONG);
    assert_eq!(outcome.reply().text, LONG);
}

async fn broken_for_good(provider: Provider) {
    let half = json!({"reply": {"text": LONG}, "fail": {"kind": "disconnect"}});
    let server = server(&format!("{half}\n{half}\n{}", json!({"fail": {"kind": "disconnect"}})));
    let outcome = ask(&provider.retrying(&server, 1), &request("hi")).await;
    assert_eq!((outcome.restarts.len(), outcome.lost.len()), (1, 1));
    let error = outcome.result.unwrap_err();
    assert_eq!(error.spent().as_ref(), outcome.lost.first(), "the last attempt only, and it was the same");
    let at_once = ask(&provider.retrying(&server, 0), &request("hi")).await.result.unwrap_err();
    assert_eq!(at_once.failure, Failure::Disconnected);
    assert_eq!(error.failure, Failure::Disconnected);
    assert!(error.message.contains("after 2 attempts"), "{error}");
    assert_eq!(error.signature, format!("llm-{}-disconnected", provider.name));
}

async fn garbage(provider: Provider) {
    let server = server(&format!(
        "{}\n{}",
        json!({"fail": {"kind": "garbage"}}),
        json!({"reply": {"text": LONG}, "fail": {"kind": "garbage"}})
    ));
    for _ in 0..2 {
        let error = ask(&*provider.client(&server), &request("hi")).await.result.unwrap_err();
        assert_eq!(error.failure, Failure::Garbage, "{error}");
    }
}

async fn empty_reply(provider: Provider) {
    let server = server(r#"{"reply":{"text":""}}"#);
    let outcome = ask(&*provider.client(&server), &request("hi")).await;
    assert!(outcome.texts.is_empty());
    let reply = outcome.reply();
    assert!(reply.text.is_empty() && reply.calls.is_empty());
}

async fn answer_only(provider: Provider) {
    let server = server(r#"{"reply":{"text":"fine"}}"#);
    let mut only = request("hi");
    only.answer_only = true;
    assert_eq!(ask(&*provider.client(&server), &only).await.reply().text, "fine");
    let (_, body) = server.requests().pop().unwrap();
    match provider.name {
        "anthropic" => assert_eq!(body["tool_choice"], json!({"type": "none"})),
        "gemini" => assert_eq!(body["toolConfig"]["functionCallingConfig"]["mode"], "NONE"),
        "ollama" => assert!(body.get("tools").is_none()),
        _ => assert_eq!(body["tool_choice"], "none"),
    }
}

async fn empty_script(provider: Provider) {
    let server = server("");
    let reply = ask(&*provider.client(&server), &request("hi")).await.reply();
    let status: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(status["failure_signature"], "mock-empty");
}

async fn cancelled(provider: Provider) {
    let half = json!({"reply": {"text": LONG}, "fail": {"kind": "timeout"}});
    let server = server(&format!("{}\n{half}", json!({"fail": {"kind": "timeout"}})));
    for in_the_middle in [false, true] {
        let cancel = CancellationToken::new();
        let (stop, started) = (cancel.clone(), Instant::now());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(150)).await;
            stop.cancel();
        });
        let error =
            ask_until(&provider.retrying(&server, 3), &request("hi"), &cancel).await.result.unwrap_err();
        assert_eq!(error.failure, Failure::Cancelled);
        assert_eq!(error.spent().is_some_and(|spent| spent.output > 0), in_the_middle, "{error:?}");
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    }
    let started = Instant::now();
    server.stop().await;
    assert!(started.elapsed() < Duration::from_secs(30), "silent connections do not hold the server");
}

async fn silent(provider: Provider) {
    let server = server(r#"{"fail":{"kind":"timeout"}}"#);
    let client = provider.client_with(&server, "m", Duration::from_secs(1));
    let started = Instant::now();
    let error = ask(&*client, &request("hi")).await.result.unwrap_err();
    assert_eq!(error.failure, Failure::Slow);
    assert!(error.message.contains("limits.first_token_s"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(30));
}

async fn silent_in_the_middle(provider: Provider) {
    let server = server(&json!({"reply": {"text": LONG}, "fail": {"kind": "timeout"}}).to_string());
    let client = provider.client_with(&server, "m", Duration::from_millis(500));
    let outcome = ask(&*client, &request("hi")).await;
    assert!(!outcome.texts.is_empty());
    let error = outcome.result.unwrap_err();
    assert_eq!(error.failure, Failure::Timeout);
    assert!(error.spent().is_some_and(|spent| spent.input > 0 && spent.output > 0), "{error:?}");
}

async fn role_and_step_choose(provider: Provider) {
    let server = server(
        r#"
{"when":{"role":"Planner"},"reply":{"text":"plan"}}
{"when":{"step":"s2"},"reply":{"text":"second"}}
{"when":{"contains":"needle"},"reply":{"text":"found"}}
"#,
    );
    let client = provider.client(&server);
    assert_eq!(ask(&*client, &request("a needle here")).await.reply().text, "found");
    let step = Request { step: Some("s2".into()), ..request("x") };
    assert_eq!(ask(&*client, &step).await.reply().text, "second");
    let role = Request { role: "Planner".into(), ..request("x") };
    assert_eq!(ask(&*client, &role).await.reply().text, "plan");
}

/// Call, result, call, result, text: with thoughts and signatures that must be sent back.
async fn tool_conversation(provider: Provider) {
    let call =
        |path: &str| json!({"reply": {"tool_calls": [{"name": "read_file", "arguments": {"path": path}}]}});
    let last = json!({"when": {"contains": "RESULT-2"}, "reply": {"text": "done"}});
    let server = server(&format!("{}\n{}\n{last}", call("a"), call("b")));
    let client = provider.client_with(&server, "gemini-thinking", Duration::from_secs(10));
    let mut request = request("read both");
    for round in 1..=2 {
        let outcome = ask(&*client, &request).await;
        assert_eq!(outcome.reasoning, "Let me think.");
        let reply = outcome.reply();
        assert_eq!(reply.calls.len(), 1);
        let (id, name) = (reply.calls[0].id.clone(), reply.calls[0].name.clone());
        request.messages.push(Message::Assistant {
            content: reply.text,
            tool_calls: reply.calls,
            opaque: reply.opaque,
        });
        let content = format!("RESULT-{round}");
        request.messages.push(Message::Tool { tool_call_id: id, name, content, ok: round == 1 });
    }
    assert_eq!(ask(&*client, &request).await.reply().text, "done");
    let sent = server.requests();
    let (_, body) = sent.last().unwrap();
    let text = body.to_string();
    for expected in ["Be brief.", "read both", "RESULT-1", "RESULT-2"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    check_history(provider, body);
}

/// The second round's message and result in the body, in the vendor's format.
fn check_history(provider: Provider, body: &Value) {
    match provider.name {
        "anthropic" => {
            let messages = body["messages"].as_array().unwrap();
            assert_eq!(messages.len(), 5);
            let thought = json!({"type": "thinking", "thinking": "Let me think.", "signature": "signature-of-a-thought"});
            assert_eq!(messages[3]["content"][0], thought);
            assert_eq!(messages[3]["content"][1]["input"], json!({"path": "b"}));
            assert_eq!(messages[4]["role"], "user");
            assert_eq!(messages[4]["content"][0]["tool_use_id"], messages[3]["content"][1]["id"]);
            assert_eq!(messages[4]["content"][0]["is_error"], true);
            assert_eq!(body["max_tokens"], 32_000);
        }
        "gemini" => {
            let part = &body["contents"][3]["parts"][0];
            assert_eq!(part["functionCall"]["args"], json!({"path": "b"}));
            assert!(part["thoughtSignature"].as_str().unwrap().starts_with("signature-of-"));
            let result = json!({"name": "read_file", "response": {"error": "RESULT-2"}});
            assert_eq!(body["contents"][4], json!({"role": "user", "parts": [{"functionResponse": result}]}));
        }
        "ollama" => {
            assert_eq!(body["messages"][4]["thinking"], "Let me think.");
            assert_eq!(body["messages"][4]["tool_calls"][0]["function"]["arguments"], json!({"path": "b"}));
            assert_eq!(body["messages"][5]["tool_name"], "read_file");
            assert_eq!(body["options"]["num_ctx"], 4096);
        }
        _ => {
            let message = &body["messages"][4];
            let call = &message["tool_calls"][0];
            assert_eq!(message["reasoning_content"], "Let me think.");
            let signature = call["extra_content"]["google"]["thought_signature"].as_str().unwrap();
            assert!(signature.starts_with("signature-of-"));
            assert_eq!(call["function"]["arguments"], r#"{"path":"b"}"#);
            assert_eq!(body["messages"][5]["tool_call_id"], call["id"]);
            assert_eq!(body["stream_options"]["include_usage"], true);
        }
    }
}

macro_rules! suite {
    ($($module:ident = $provider:expr;)*) => { $( mod $module { suite!(@cases $provider;
        text many_chunks one_call parallel_calls string_arguments double_encoded_arguments patch_as_arguments
        no_arguments partial_arguments broken_arguments refused_then_answered wrong_key_names_its_setting
        busy_then_answered broken_then_answered broken_for_good garbage empty_reply answer_only empty_script cancelled
        silent
        silent_in_the_middle role_and_step_choose tool_conversation); } )* };
    (@cases $provider:expr; $($case:ident)*) => { $(
        #[tokio::test]
        async fn $case() {
            super::$case($provider).await;
        }
    )* };
}

suite! {
    openai = crate::support::OPENAI;
    groq = crate::support::GROQ;
    anthropic = crate::support::ANTHROPIC;
    gemini = crate::support::GEMINI;
    ollama = crate::support::OLLAMA;
    copilot = crate::support::COPILOT;
}
