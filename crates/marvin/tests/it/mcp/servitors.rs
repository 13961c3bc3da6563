//! Servitors of an MCP client: they work in the server's process, are verified, and outlive it.

use super::server::{Watcher, call as call_over_http, client, runtime, served};
use super::{Pipe, processes};
use crate::support::{World, call, commands_run, json_file, ledger, put, say, until};
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A project whose model plays this script.
fn scripted(script: &[Value]) -> World {
    let world = World::new();
    world.write(".marvin/config.toml", "");
    model(&world, script);
    world
}

fn model(world: &World, script: &[Value]) {
    let script = world.script(script);
    put(&world.user().join("config.toml"), &format!("[model]\nprovider = \"mock\"\nscript = \"{script}\"\n"));
}

/// A repeatable entry for one servitor.
fn when(step: &str, contains: &str, mut entry: Value) -> Value {
    entry["when"] = json!({"step": step, "contains": contains});
    entry["repeat"] = json!(true);
    entry
}

fn done() -> Value {
    say("It is done.\nSTATUS: DONE")
}

/// The text and structured content of an answer; fails unless its error flag is as expected.
fn content_of(answer: &Value, error: bool) -> (String, Value) {
    let result = &answer["result"];
    assert_eq!(result["isError"], error, "{answer}");
    (result["content"][0]["text"].as_str().unwrap().to_string(), result["structuredContent"].clone())
}

/// `run.json` of every run of this kind.
fn facts(world: &World, manner: &str) -> Vec<Value> {
    let all = world.runs().into_iter().map(|run| json_file(&run.join("run.json")));
    all.filter(|facts| facts["manner"] == manner).collect()
}

fn close(mut pipe: Pipe) {
    drop(pipe.stdin.take());
    pipe.running.end().exits(0);
}

/// A log message as (event, servitor, state).
fn event(message: &Value) -> Option<(String, String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let data = &message["params"]["data"];
    (message["method"] == "notifications/message")
        .then(|| (word(&data["type"]), word(&data["agent"]), word(&data["to"])))
}

#[test]
fn they_are_summoned_waited_for_and_dismissed() {
    let world = scripted(&[
        when("ann", "begin", call("create_file", json!({"path": "ann.txt", "content": "x\n"}))),
        when("ann", "Created", done()),
        // Claims to be done every time.
        json!({"when": {"step": "bob"}, "reply": {"text": "DONE.\nSTATUS: DONE"}, "repeat": true}),
    ]);
    let mut pipe = Pipe::open(&world, &[]);
    let (text, _) = content_of(&pipe.call("list_servitors", json!({})), false);
    assert_eq!(text, "No servitors.");
    assert!(facts(&world, "servitors").is_empty(), "no servitor was summoned yet");

    let summons = |name: &str, file: &str| json!({"assignment": "begin", "name": name, "commitments": [format!("file_exists:{file}")]});
    let (text, ann) = content_of(&pipe.call("summon_servitor", summons("Ann", "ann.txt")), false);
    assert!(text.contains("Summoned Ann (id: ann)"), "{text}");
    assert_eq!((&ann["id"], &ann["name"], &ann["state"]), (&json!("ann"), &json!("Ann"), &json!("working")));
    let wait =
        json!({"name": "wait_for_servitor", "arguments": {"id": "Ann"}, "_meta": {"progressToken": 7}});
    let (text, waited) = content_of(&pipe.ask("tools/call", wait), false);
    assert!(text.contains("is done, and all its commitments hold"), "{text}");
    assert_eq!((&waited["servitor"]["state"], &waited["timed_out"]), (&json!("done"), &json!(false)));

    content_of(&pipe.call("summon_servitor", summons("Bob", "bob.txt")), false);
    let (text, waited) = content_of(&pipe.call("wait_for_servitor", json!({"id": "bob"})), false);
    assert!(text.contains("Bob (id: bob) failed\nnot verified"), "{text}");
    assert_eq!(waited["servitor"]["state"], "failed", "{waited}");
    let (_, listed) = content_of(&pipe.call("list_servitors", json!({})), false);
    let states: Vec<&Value> =
        listed["servitors"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["done", "failed"], "{listed}");

    let (text, _) =
        content_of(&pipe.call("message_servitor", json!({"id": "ann", "message": "More."})), true);
    assert!(text.contains("Ann is done") && text.contains("hint:"), "{text}");
    let (text, _) = content_of(&pipe.call("wait_for_servitor", json!({"id": "cid"})), true);
    assert!(text.contains("unknown servitor `cid` (there are: ann, bob)"), "{text}");
    let (_, gone) = content_of(&pipe.call("dismiss_servitor", json!({"id": "bob"})), false);
    assert_eq!(gone["dismissed"], json!(["bob"]));

    // An answer may come before the notifications.
    let told_last = |pipe: &Pipe| {
        pipe.notifications.iter().filter_map(event).any(|(kind, ..)| kind == "servitor.dismissed")
    };
    while !told_last(&pipe) {
        let message = pipe.message();
        pipe.notifications.push(message);
    }
    let events: Vec<(String, String, String)> = pipe.notifications.iter().filter_map(event).collect();
    for (kind, agent, to) in [
        ("servitor.summoned", "ann", ""),
        ("servitor.state", "ann", "verifying"),
        ("servitor.state", "ann", "done"),
        ("servitor.state", "bob", "failed"),
        ("servitor.dismissed", "bob", ""),
    ] {
        let wanted = (kind.to_string(), agent.to_string(), to.to_string());
        assert!(events.contains(&wanted), "{wanted:?} in {events:?}");
    }
    assert!(events.iter().all(|(kind, ..)| kind.starts_with("servitor.")), "{events:?}");
    close(pipe);

    let (calls, work) = (facts(&world, "mcp"), facts(&world, "servitors"));
    assert_eq!((calls.len(), work.len()), (1, 1));
    assert_eq!((&calls[0]["status"], &work[0]["status"]), (&json!("success"), &json!("success")));
}

#[test]
fn a_waiting_client_sees_progress_and_can_cancel() {
    let world = scripted(&[
        when("ann", "begin", say("Which format?\nSTATUS: NEED INPUT")),
        when("ann", "the second", json!({"reply": {"text": "So be it.\nSTATUS: DONE"}, "delay_ms": 3_000})),
    ]);
    let mut pipe = Pipe::open(&world, &[]);
    content_of(&pipe.call("summon_servitor", json!({"assignment": "begin", "name": "Ann"})), false);
    let (text, waited) = content_of(&pipe.call("wait_for_servitor", json!({"id": "ann"})), false);
    assert!(text.contains("waits for an answer") && text.contains("Which format?"), "{text}");
    assert_eq!(waited["servitor"]["state"], "waiting");

    let word = json!({"id": "ann", "message": "Take the second."});
    assert_eq!(content_of(&pipe.call("message_servitor", word), false).1["state"], "working");
    let wait = |token: &str| json!({"name": "wait_for_servitor", "arguments": {"id": "ann"}, "_meta": {"progressToken": token}});
    let id = pipe.request("tools/call", wait("a"));
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}}));
    // The servitor continues after the waiting call was cancelled.
    let (_, waited) = content_of(&pipe.ask("tools/call", wait("b")), false);
    assert_eq!(waited["servitor"]["state"], "done", "{waited}");
    let steps: Vec<&Value> =
        pipe.notifications.iter().filter(|one| one["params"]["progressToken"] == "b").collect();
    assert!(!steps.is_empty() && steps[0]["params"]["message"] == "Ann (id: ann) is working", "{steps:?}");
    let (text, waited) =
        content_of(&pipe.call("wait_for_servitor", json!({"id": "ann", "timeout_s": 0})), false);
    assert!(waited["timed_out"] == false && text.contains("is done"), "{text}");
    close(pipe);
}

#[test]
fn a_server_without_servitors_needs_no_model() {
    let world = scripted(&[]);
    put(&world.user().join("config.toml"), "[model]\nprovider = \"openai\"\n");
    let mut pipe = Pipe::open(&world, &[]);
    content_of(&pipe.call("gate_explain", json!({"command_line": "ls"})), false);
    content_of(&pipe.call("list_servitors", json!({})), false);
    for _ in 0..2 {
        let (text, _) = content_of(&pipe.call("summon_servitor", json!({"assignment": "begin"})), true);
        assert!(text.contains("OPENAI_API_KEY"), "{text}");
    }
    // No servitor was summoned, so another process may run servitors.
    world.marvin(["servitors", "summon", "--name", "Eve"]).run().exits(0);
    close(pipe);
    assert_eq!(world.runs().len(), 1, "the calls alone");
}

#[test]
fn one_process_runs_them() {
    let world = scripted(&[json!({"when": {"step": "ann"}, "reply": {"text": "…"}, "delay_ms": 600_000})]);
    let (mut one, mut other) = (Pipe::open(&world, &[]), Pipe::open(&world, &[]));
    content_of(&one.call("summon_servitor", json!({"assignment": "begin", "name": "Ann"})), false);
    let (text, _) = content_of(&other.call("summon_servitor", json!({"assignment": "begin"})), true);
    assert!(text.contains(&format!("process {} (marvin mcp)", one.running.id())), "{text}");
    assert!(text.contains("hint:"), "{text}");
    let (text, _) = content_of(&other.call("list_servitors", json!({})), false);
    assert_eq!(text, "Ann (id: ann) working");
    assert_eq!(facts(&world, "servitors").len(), 1, "who may not look after them makes no run for them");
    close(one);
    // Now the other may; it does not resume servitors that it did not start until it is asked to.
    let (text, _) = content_of(&other.call("wait_for_servitor", json!({"id": "ann"})), false);
    assert!(text.contains("no process runs it") && text.contains("hint:"), "{text}");
    close(other);
}

#[test]
fn they_outlive_the_server() {
    let world = scripted(&[]);
    if !commands_run(&world) {
        return;
    }
    for (number, manner) in ["close", "term", "kill"].into_iter().enumerate() {
        let id = format!("ann-{number}");
        let long = call("run_command", json!({"command": "sleep 600", "timeout": 900}));
        model(&world, &[when(&id, "begin", long)]);
        let before = world.runs();
        let mut pipe = Pipe::open(&world, &[]);
        content_of(&pipe.call("summon_servitor", json!({"assignment": "begin", "name": id})), false);
        pipe.request("tools/call", json!({"name": "wait_for_servitor", "arguments": {"id": id}}));
        until("the command runs", || processes(&world.project()) > 2);
        match manner {
            "close" => drop(pipe.stdin.take()),
            "term" => pipe.running.signal(Signal::TERM),
            _ => pipe.running.signal(Signal::KILL),
        }
        let Pipe { running, stdin, .. } = pipe;
        let ended = running.end();
        drop(stdin);
        until("nothing is left", || processes(&world.project()) == 0);
        let is_its = |run: &PathBuf| {
            !before.contains(run) && json_file(&run.join("run.json"))["manner"] == "servitors"
        };
        let run = world.runs().into_iter().find(is_its).unwrap();
        if manner != "kill" {
            ended.exits(0);
            assert_eq!(json_file(&run.join("run.json"))["status"], "interrupted", "{manner}");
            assert_eq!(ledger(&run.join("trace.jsonl")).last().unwrap()["type"], "result");
        }
        let listed = world.marvin(["servitors", "show", &id, "--json"]).run().exits(0).json();
        assert_eq!(listed["state"], "working", "{manner}: {listed:#}");

        model(&world, &[json!({"when": {"step": id}, "reply": done()["reply"], "repeat": true})]);
        let ended = world.marvin(["servitors", "run", "--json"]).run().exits(0).json();
        assert_eq!(ended["servitors"][number]["state"], "done", "{manner}: {ended:#}");
    }
}

#[test]
fn over_http_too() {
    let world = scripted(&[
        when("ann", "begin", call("create_file", json!({"path": "ann.txt", "content": "x\n"}))),
        when("ann", "Created", done()),
    ]);
    let (server, url) = served(&world, &[]);
    runtime().block_on(async {
        let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header("secret-token-1");
        let transport = StreamableHttpClientTransport::with_client(client(), config);
        let mode = ClientLifecycleMode::Initialize;
        let client = serve_client_with_lifecycle(Watcher::default(), transport, mode).await.unwrap();
        let summons = json!({"assignment": "begin", "name": "Ann", "commitments": ["file_exists:ann.txt"]});
        let (failed, text, _) = call_over_http(&client, "summon_servitor", summons).await;
        assert!(!failed && text.contains("Summoned Ann (id: ann)"), "{text}");
        let (failed, _, waited) = call_over_http(&client, "wait_for_servitor", json!({"id": "ann"})).await;
        assert!(!failed && waited["servitor"]["state"] == "done", "{waited}");
        let (_, _, listed) = call_over_http(&client, "list_servitors", json!({})).await;
        assert_eq!(listed["servitors"].as_array().unwrap().len(), 1, "{listed}");
        let (_, _, gone) = call_over_http(&client, "dismiss_servitor", json!({"id": "ann"})).await;
        assert_eq!(gone["dismissed"], json!(["ann"]));
        let notifications = client.service().notifications.clone();
        let is_sent = |kind: &str| notifications.lock().unwrap().iter().any(|event| event["type"] == kind);
        for kind in ["servitor.summoned", "servitor.state", "servitor.dismissed"] {
            until(kind, || is_sent(kind));
        }
        client.cancel().await.unwrap();
    });
    server.signal(Signal::TERM);
    server.end().exits(0);
    assert_eq!(facts(&world, "servitors")[0]["status"], "success");
}

#[test]
fn only_a_person_dismisses_servitors_summoned_by_a_person() {
    let world = scripted(&[done()]);
    world.marvin(["servitors", "summon", "Write it", "--name", "Cara"]).run().exits(0);
    let mut pipe = Pipe::open(&world, &[]);
    let (text, _) = content_of(&pipe.call("dismiss_servitor", json!({"id": "cara"})), true);
    assert!(text.contains("Cara was summoned by a person") && text.contains("hint:"), "{text}");
    let bad = json!({"assignment": "x", "tier": "best"});
    let (text, _) = content_of(&pipe.call("summon_servitor", bad), true);
    assert!(text.contains("unknown tier of models") && text.contains("plan_gen"), "{text}");
    close(pipe);
    world.marvin(["servitors", "dismiss", "cara"]).run().exits(0);
}
