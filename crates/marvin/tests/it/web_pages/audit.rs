//! Findings about the page (E), as far as its server decides them; the page itself is tested in a browser.

use super::client::WebFrontEnd;
use crate::support::{World, call, put, say, until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

/// A workflow with a step that needs approval and one that needs an answer.
fn asking_flow(world: &World) {
    let flow = json!({"workflow_id": "release", "goal": "release it", "steps": [
        {"id": "ok", "worker": "approve", "inputs": {"question": "Publish 1.2?"}},
        {"id": "size", "worker": "answer", "inputs": {"question": "How many?"},
         "outputs_schema": {"type": "object", "properties": {"answer": {"type": "integer"}}}},
        {"id": "end", "worker": "Echo", "inputs": {"text": "${steps.size.outputs.answer}"}, "depends_on": ["ok", "size"]}]});
    put(&world.project().join("flow.json"), &flow.to_string());
}

fn waiting(server: &WebFrontEnd) -> Vec<Value> {
    server.get("/api/approvals").ok()["approvals"].as_array().unwrap().clone()
}

#[test]
fn e1_everything_that_waits_is_in_one_list_and_is_answered_there() {
    let world = World::new();
    // A project, so that its memory is not the person's.
    put(&world.project().join(".marvin/config.toml"), "");
    asking_flow(&world);
    let candidate = json!({"text": "tests need a database", "type": "fact", "tags": [], "source": "user_said", "why_store": "said"});
    put(&world.project().join("c.jsonl"), &format!("{candidate}\n"));
    world.marvin(["memory", "import", "c.jsonl"]).run().exits(0);
    let server = WebFrontEnd::start(&world, &[]);
    let stream = server.stream("/api/events?after=0");
    // Another process begins to wait; the page hears of it.
    world.marvin(["run-workflow", "flow.json"]).run().exits(4);
    let events = stream.until(|event| event["kind"] == "status" && event["data"]["approvals"] == 3);
    assert!(
        events.iter().any(|event| event["kind"] == "waiting" && event["data"]["count"] == 3),
        "{events:#?}"
    );
    let all = waiting(&server);
    let kinds: Vec<&Value> = all.iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, [&json!("step"), &json!("step"), &json!("memory")], "{all:#?}");
    assert_eq!((&all[0]["title"], &all[0]["text"]), (&json!("Approve step ok?"), &json!("Publish 1.2?")));
    let (ok, size) = (all[0]["id"].as_str().unwrap(), all[1]["id"].as_str().unwrap());
    let post = |id: &str, body: Value| server.post(&format!("/api/approvals/{id}"), &body);
    let refused = post(size, json!({"answer": "yes"}));
    assert_eq!(refused.status, 409, "a question is not answered by yes");
    assert!(refused.json()["error"].as_str().unwrap().contains("answer with `edit`"), "{refused:?}");
    let refused = post(size, json!({"answer": "edit", "text": "many"}));
    assert_eq!(refused.status, 409, "the step wants a number: {refused:?}");
    post(size, json!({"answer": "edit", "text": "7"})).ok();
    post(ok, json!({"answer": "yes"})).ok();
    assert_eq!(post(ok, json!({"answer": "no"})).status, 404, "it was answered");
    assert_eq!(waiting(&server).len(), 1);
    assert_eq!(server.get("/api/status").ok()["approvals"], 1);
    world.marvin(["resume-run"]).run().exits(0);
    let trace = world.trace();
    let decided = trace.iter().find(|event| event["type"] == "step.succeeded" && event["step_id"] == "ok");
    assert_eq!(decided.unwrap()["decided_by"]["via"], "page", "{trace:#?}");
    let decisions = world.home().join(".local/state/marvin/decisions.jsonl");
    let decisions = std::fs::read_to_string(decisions).unwrap();
    assert!(decisions.contains("workflow approve") && decisions.contains("workflow answer"), "{decisions}");
}

#[test]
fn e8_the_tool_calls_of_an_answer_are_found_again_and_stop_gives_the_waiting_prompt_back() {
    let world = World::new();
    let slow = json!({"delay_ms": 60_000, "reply": {"text": "never"}});
    let script = [call("create_file", json!({"path": "a.txt", "content": "x"})), say("I made it."), slow];
    let server = WebFrontEnd::start(&world, &script);
    server.post("/api/send", &json!({"message": "make it"})).ok();
    let calls = |server: &WebFrontEnd| {
        let messages = server.get("/api/messages").ok();
        let run = messages["messages"][1]["run"].as_str().unwrap_or_else(|| panic!("{messages}")).to_string();
        server.get(&format!("/api/runs/{run}/calls")).ok()
    };
    let first = calls(&server);
    let one = &first["calls"][0];
    assert_eq!(
        (&one["name"], &one["arguments"]["path"], &one["ok"]),
        (&json!("create_file"), &json!("a.txt"), &json!(true))
    );
    assert_eq!(one["verdict"]["decision"], "allow", "{first}");
    server.post("/api/prompt", &json!({"text": "one"})).ok();
    server.post("/api/prompt", &json!({"text": "two"})).ok();
    let stopped = server.post("/api/cancel", &json!({})).ok();
    assert_eq!(stopped, json!({"cancelled": true, "queued": "two"}));
    until("nothing is answered", || server.get("/api/status").ok()["busy"] == false);
    assert_eq!(server.get("/api/status").ok()["queued"], Value::Null);
    drop(server);
    assert_eq!(calls(&WebFrontEnd::start(&world, &[])), first, "also after a restart");
}

#[test]
fn e1_a_step_of_a_running_workflow_is_answered_while_it_runs() {
    let world = World::new();
    asking_flow(&world);
    let slow = json!({"workflow_id": "slow", "goal": "wait", "steps": [
        {"id": "ok", "worker": "approve"},
        {"id": "long", "worker": "Command", "inputs": {"command": "while [ ! -e go ]; do sleep 0.1; done"}}]});
    put(&world.project().join("slow.json"), &slow.to_string());
    let server = WebFrontEnd::start(&world, &[]);
    let run = world.marvin(["run-workflow", "slow.json"]).start();
    until("the step is listed", || !waiting(&server).is_empty());
    let id = waiting(&server)[0]["id"].as_str().unwrap().to_string();
    server.post(&format!("/api/approvals/{id}"), &json!({"answer": "yes"})).ok();
    assert_eq!(waiting(&server), Vec::<Value>::new());
    put(&world.project().join("go"), "");
    until("the run succeeds", || server.get("/api/runs").ok()["runs"][0]["status"] == "SUCCEEDED");
    drop(run);
}

/// Answers one request of the OpenAI wire format, and gives its body.
fn answer_once(listener: &TcpListener) -> Value {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let choice = json!({"index": 0, "delta": {"content": "Teal."}, "finish_reason": "stop"});
    let frame = json!({"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [choice]});
    let text = format!("data: {frame}\n\ndata: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn e12_the_callers_history_reaches_the_model_message_by_message() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let model = std::thread::spawn(move || answer_once(&listener));
    let program = world.person(["chat-ui", "--port", "0", "--json"]);
    let server = WebFrontEnd::from_program(
        program.env("MARVIN_PROVIDER", "openai").env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", url),
    );
    let history = json!([{"role": "user", "content": "My colour is teal."}, {"role": "assistant", "content": "Noted."}]);
    let sent = server.post("/api/send", &json!({"message": "Which is it?", "history": history})).ok();
    assert_eq!(sent["reply"], "Teal.", "{sent}");
    let request = model.join().unwrap();
    let messages = request["messages"].as_array().unwrap();
    let said: Vec<(&str, &str)> = messages
        .iter()
        .skip(1)
        .map(|one| (one["role"].as_str().unwrap(), one["content"].as_str().unwrap_or_default()))
        .collect();
    let expected = [("user", "My colour is teal."), ("assistant", "Noted."), ("user", "Which is it?")];
    assert_eq!(said, expected, "{request:#}");
}

#[test]
fn e9_effects_are_told_with_a_verb() {
    let world = World::new();
    let server = WebFrontEnd::start(&world, &[]);
    let explained = server.post("/api/gate/explain", &json!({"command": "git push --force"})).ok();
    let effects = explained["segments"][0]["effects"].as_array().unwrap();
    assert!(
        !effects.is_empty() && effects.iter().all(|one| one["verb"].as_str().unwrap() != one["act"]),
        "{explained:#}"
    );
}
