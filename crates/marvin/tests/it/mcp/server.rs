//! Marvin as a server.

use super::{Pipe, processes};
use crate::support::{World, commands_run, until};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation,
};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

/// A client that records notifications.
#[derive(Clone, Default)]
pub(super) struct Watcher {
    pub(super) steps: Arc<Mutex<Vec<String>>>,
    pub(super) notifications: Arc<Mutex<Vec<Value>>>,
}

impl ClientHandler for Watcher {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("it", "1"))
    }

    async fn on_progress(
        &self,
        step: rmcp::model::ProgressNotificationParam,
        _context: rmcp::service::NotificationContext<RoleClient>,
    ) {
        self.steps.lock().unwrap().push(step.message.unwrap_or_default());
    }

    #[expect(
        deprecated,
        reason = "log messages are on their way out of the protocol; today's clients still take them"
    )]
    async fn on_logging_message(
        &self,
        message: rmcp::model::LoggingMessageNotificationParam,
        _context: rmcp::service::NotificationContext<RoleClient>,
    ) {
        self.notifications.lock().unwrap().push(message.data);
    }
}

/// An HTTP client without TLS.
pub(super) fn client() -> impl rmcp::transport::streamable_http_client::StreamableHttpClient {
    marvin_model::wire::web_client("http://127.0.0.1/", std::time::Duration::from_secs(10)).unwrap()
}

pub(super) type Client = RunningService<RoleClient, Watcher>;

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Calls a tool; the result must match its schema.
pub(super) async fn call(client: &Client, tool: &str, arguments: Value) -> (bool, String, Value) {
    let tools = client.peer().list_all_tools().await.unwrap();
    let spec = tools.iter().find(|one| one.name == tool).unwrap_or_else(|| panic!("no {tool}"));
    let params =
        CallToolRequestParams::new(tool.to_string()).with_arguments(arguments.as_object().unwrap().clone());
    let CallToolResponse::Complete(result) = client.peer().call_tool_once(params).await.unwrap() else {
        panic!("not complete")
    };
    let failed = result.is_error == Some(true);
    let facts = result.structured_content.unwrap_or(Value::Null);
    if !failed {
        let schema = Value::Object(spec.output_schema.as_deref().unwrap().clone());
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(validator.is_valid(&facts), "{facts} does not fit {schema}");
    }
    let text = result.content.first().and_then(|block| block.as_text()).unwrap().text.clone();
    (failed, text, facts)
}

/// The same conversation for every transport.
async fn conversation(client: &Client, world: &World) {
    let info = client.peer().peer_info().unwrap();
    assert!(info.instructions.as_deref().unwrap().contains("verify"));
    let tools = client.peer().list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    for name in ["add_commitment", "gate_explain", "list_commitments", "summon_servitor", "verify"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"run_command") && !names.contains(&"read_file"), "{names:?}");
    for tool in &tools {
        let hints = tool.annotations.as_ref().unwrap();
        assert!(hints.read_only_hint.is_some() && hints.open_world_hint.is_some(), "{}", tool.name);
        assert!(tool.output_schema.is_some() && tool.description.is_some(), "{}", tool.name);
    }
    let (failed, text, facts) = call(client, "gate_explain", json!({"command_line": "rm -rf ~ && ls"})).await;
    assert!(!failed && text.starts_with("deny:"), "{text}");
    assert_eq!(facts["verdict"], "deny");
    assert_eq!(facts["segments"].as_array().unwrap().len(), 2, "{facts}");

    let (failed, text, _) = call(client, "gate_explain", json!({"commandline": "ls"})).await;
    assert!(
        failed && text.contains("did you mean `command_line`?") && text.contains("A correct call"),
        "{text}"
    );
    let (failed, text, _) =
        call(client, "add_commitment", json!({"kind": "shell", "assertion": "pytest || true"})).await;
    assert!(failed && text.contains("hint:"), "{text}");

    let (failed, _, added) =
        call(client, "add_commitment", json!({"kind": "file_exists", "assertion": "done.txt"})).await;
    assert!(!failed && added["known"] == false, "{added}");
    let (_, _, again) =
        call(client, "add_commitment", json!({"kind": "file_exists", "assertion": "done.txt"})).await;
    assert!(again["known"] == true && again["id"] == added["id"], "{again}");
    let (_, _, listed) = call(client, "list_commitments", json!({})).await;
    assert_eq!(listed["commitments"][0]["source"], "agent", "{listed}");

    let (failed, text, report) = call(client, "verify", json!({})).await;
    assert!(!failed && report["verified"] == false && report["failed"] == 1, "{report}");
    assert!(text.starts_with("not verified: 0 of 1 passed"), "{text}");
    fs::write(world.project().join("done.txt"), "x").unwrap();
    let (_, _, report) = call(client, "verify", json!({})).await;
    assert_eq!(report["verified"], true, "{report}");
    // The client hands progress to a task of its own.
    let received = || client.service().steps.lock().unwrap().clone();
    for _ in 0..2_000 {
        if received().len() > 1 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let steps = received();
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert!(steps[0].starts_with("failed:") && steps[1].starts_with("passed:"), "{steps:?}");

    let unknown = client.peer().call_tool_once(CallToolRequestParams::new("gate_explane")).await.unwrap_err();
    let unknown = unknown.to_string();
    assert!(
        unknown.contains("-32602") && unknown.contains("did you mean") || unknown.contains("Did you mean"),
        "{unknown}"
    );
    let prompts = client.peer().list_prompts(None).await.unwrap().prompts;
    assert!(prompts.iter().any(|prompt| prompt.name == "planner"), "{prompts:?}");
}

/// The server's only run, with a judged record of every call.
fn recorded(world: &World) {
    let facts = world.facts();
    assert_eq!((&facts["manner"], &facts["status"]), (&json!("mcp"), &json!("success")), "{facts}");
    let trace = world.trace();
    let ended: Vec<&Value> = trace.iter().filter(|event| event["type"] == "item.completed").collect();
    assert_eq!(facts["toolCallCount"], ended.len(), "{facts}");
    assert!(ended.iter().all(|event| event["item"]["verdict"]["decision"].is_string()), "{ended:?}");
    assert!(ended.iter().any(|event| event["item"]["ok"] == false), "{ended:?}");
}

#[test]
fn a_conversation_over_pipes() {
    let world = World::new();
    fs::create_dir(world.project().join(".marvin")).unwrap();
    runtime().block_on(async {
        for mode in [ClientLifecycleMode::Initialize, discover()] {
            fs::remove_dir_all(world.project().join(".marvin")).ok();
            fs::remove_dir_all(world.state()).ok();
            fs::create_dir(world.project().join(".marvin")).unwrap();
            fs::remove_file(world.project().join("done.txt")).ok();
            let mut command = tokio::process::Command::from(world.marvin(["mcp"]).into_command());
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
            let mut child = command.kill_on_drop(true).spawn().unwrap();
            let streams = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
            let client = serve_client_with_lifecycle(Watcher::default(), streams, mode).await.unwrap();
            conversation(&client, &world).await;
            client.cancel().await.unwrap();
            assert!(child.wait().await.unwrap().success());
            recorded(&world);
        }
    });
}

fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![rmcp::model::ProtocolVersion::V_2026_07_28] }
}

/// Starts the server over HTTP; returns it, its address and its token.
pub(super) fn served(world: &World, more: &[&str]) -> (crate::support::RunningProgram, String) {
    let mut running =
        world.marvin(["mcp", "--http"]).args(more).env("MARVIN_MCP_TOKEN", "secret-token-1").start();
    let line: Value = serde_json::from_str(&running.line().unwrap()).unwrap();
    (running, line["url"].as_str().unwrap().to_string())
}

#[test]
fn a_conversation_over_http() {
    let world = World::new();
    fs::create_dir(world.project().join(".marvin")).unwrap();
    let (server, url) = served(&world, &[]);
    runtime().block_on(async {
        let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header("secret-token-1");
        let transport = StreamableHttpClientTransport::with_client(client(), config);
        let mode = ClientLifecycleMode::Initialize;
        let client = serve_client_with_lifecycle(Watcher::default(), transport, mode).await.unwrap();
        conversation(&client, &world).await;
        client.cancel().await.unwrap();
    });
    server.signal(rustix::process::Signal::TERM);
    let ended = server.end().exits(0);
    assert!(!ended.whole().contains("secret-token-1"), "{}", ended.whole());
    recorded(&world);
}

#[test]
fn the_stateless_revision_over_http_with_the_token_in_the_address() {
    let world = World::new();
    fs::create_dir(world.project().join(".marvin")).unwrap();
    let (server, url) = served(&world, &[]);
    runtime().block_on(async {
        let config = StreamableHttpClientTransportConfig::with_uri(format!("{url}/secret-token-1"));
        let transport = StreamableHttpClientTransport::with_client(client(), config);
        let client = serve_client_with_lifecycle(Watcher::default(), transport, discover()).await.unwrap();
        conversation(&client, &world).await;
        client.cancel().await.unwrap();
    });
    server.signal(rustix::process::Signal::INT);
    server.end().exits(0);
}

/// Sends raw bytes; returns the status and the complete answer.
fn raw(url: &str, head: &str, body: &str) -> (u16, String) {
    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let host = if head.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
    let request = format!(
        "POST /mcp HTTP/1.1\r\n{host}{head}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // A server that refuses early need not read all of it.
    stream.write_all(request.as_bytes()).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or(0), answer)
}

#[test]
fn unauthenticated_requests_are_refused() {
    let world = World::new();
    let (_server, url) = served(&world, &[]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}})
    .to_string();
    let key = "Authorization: Bearer secret-token-1\r\n";
    assert_eq!(raw(&url, key, &hello).0, 200);
    let (status, answer) = raw(&url, "", &hello);
    assert!(status == 401 && answer.to_lowercase().contains("www-authenticate: bearer"), "{answer}");
    assert!(!answer.contains("serverInfo"), "{answer}");
    for wrong in ["Bearer secret-token-2", "Bearer", "Bearer secret-token-1x", "Basic secret-token-1"] {
        assert_eq!(raw(&url, &format!("Authorization: {wrong}\r\n"), &hello).0, 401, "{wrong}");
    }
    assert_eq!(raw(&url, &format!("{key}Host: evil.example\r\n"), &hello).0, 403);
    assert_eq!(raw(&url, &format!("{key}Origin: http://evil.example\r\n"), &hello).0, 403);
    assert_eq!(raw(&url, &format!("{key}Origin: null\r\n"), &hello).0, 403);
    let large = format!("{}{}", hello, " ".repeat(5 * 1024 * 1024));
    assert_eq!(raw(&url, key, &large).0, 413);
    // The server still works.
    assert_eq!(raw(&url, key, &hello).0, 200);
}

#[test]
fn only_the_requested_tools_are_served() {
    let world = World::new();
    let far = world.marvin(["mcp", "--http", "0.0.0.0:0"]).run().exits(5);
    assert!(far.message().contains("this machine only"), "{}", far.message());
    let wrong = world.marvin(["mcp", "--tools", "gate_explian"]).run().exits(2);
    assert!(wrong.message().contains("did you mean `gate_explain`?"), "{}", wrong.message());

    let mut pipe = Pipe::open(&world, &["--tools", "convert_units,gate_explain"]);
    let listed = pipe.ask("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["convert_units", "gate_explain"]);
    let answer = pipe.call("convert_units", json!({"value": "3", "from_unit": "km", "to_unit": "m"}));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("3000"), "{answer}");
    drop(pipe);

    // A read-only agent is offered no tool that runs or stores anything.
    let (mut running, mut stdin) = world.marvin(["mcp"]).env("MARVIN_READONLY", "1").converse();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    stdin.write_all(format!("{hello}\n{ready}\n{list}\n").as_bytes()).unwrap();
    let listed = running.wait_for("\"tools\":[");
    assert!(listed.contains("gate_explain") && !listed.contains("\"verify\""), "{listed}");
    drop(stdin);
    running.end().exits(0);
    assert!(!world.state().join("runs").exists() || world.runs().len() == 1);
}

/// A commitment that takes long.
fn slow(world: &World) -> Pipe {
    fs::create_dir_all(world.project().join(".marvin")).unwrap();
    let mut pipe = Pipe::open(world, &[]);
    let line = "sleep 600 && test -f done.txt";
    let added = pipe.call("add_commitment", json!({"kind": "shell", "assertion": line, "timeout_s": 900}));
    assert_eq!(added["result"]["isError"], false, "{added}");
    pipe
}

#[test]
fn a_cancelled_call_ends_its_processes_and_the_server_continues() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let mut pipe = slow(&world);
    let id = pipe.request("tools/call", json!({"name": "verify", "arguments": {}}));
    until("the command runs", || processes(&world.project()) > 2);
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}}));
    until("the command is gone", || processes(&world.project()) == 1);
    let answer = pipe.call("gate_explain", json!({"command_line": "ls"}));
    assert_eq!(answer["result"]["structuredContent"]["verdict"], "allow", "{answer}");
}

#[test]
fn a_server_ends_with_its_client_and_leaves_no_process() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    // The client closes its side; its process dies; the server gets a signal; the server is killed.
    for manner in ["close", "drop", "term", "kill"] {
        fs::remove_dir_all(world.state()).ok();
        let mut pipe = slow(&world);
        pipe.request("tools/call", json!({"name": "verify", "arguments": {}}));
        until("the command runs", || processes(&world.project()) > 2);
        match manner {
            "close" => drop(pipe.stdin.take()),
            "drop" => {
                pipe.running.close_stdout();
                drop(pipe.stdin.take());
            }
            "term" => pipe.running.signal(rustix::process::Signal::TERM),
            _ => pipe.running.signal(rustix::process::Signal::KILL),
        }
        let Pipe { running, stdin, .. } = pipe;
        let ended = running.end();
        drop(stdin);
        if manner != "kill" {
            let ended = ended.exits(0);
            assert!(!ended.stderr.contains("panicked"), "{}", ended.whole());
            assert_eq!(world.facts()["status"], "success", "{manner}");
        }
        until("nothing is left", || processes(&world.project()) == 0);
    }
}

#[test]
fn malformed_messages_do_not_stop_the_server() {
    let world = World::new();
    let mut pipe = Pipe::open(&world, &[]);
    let stdin = pipe.stdin.as_mut().unwrap();
    for line in ["{", "", "null", "[]", "\u{1b}[31m", "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":3}"] {
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    stdin.write_all(b"\xff\xfe\n").unwrap();
    stdin.write_all(&[vec![b'['; 200_000], b"\n".to_vec()].concat()).unwrap();
    // Longer than a message may be.
    stdin.write_all(&[vec![b'x'; 6 * 1024 * 1024], b"\n".to_vec()].concat()).unwrap();
    let answer = pipe.call("gate_explain", json!({"command_line": "ls"}));
    assert_eq!(answer["result"]["structuredContent"]["verdict"], "allow", "{answer}");
    let deep: Value = serde_json::from_str(&format!("{}1{}", "[".repeat(100), "]".repeat(100))).unwrap();
    let answer = pipe.call("gate_explain", json!({"command_line": deep}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let answer = pipe.call("gate_explain", json!({"command_line": "x".repeat(100_000)}));
    assert_eq!(answer["result"]["isError"], true);
    drop(pipe.stdin.take());
    pipe.running.end().exits(0);
}

#[test]
fn d7_every_line_gets_an_answer_with_its_id() {
    let world = World::new();
    let mut pipe = Pipe::open(&world, &[]);
    let mut answer = |line: &[u8]| {
        let stdin = pipe.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
        let answer = pipe.message();
        (answer["id"].clone(), answer["error"]["code"].clone())
    };
    assert_eq!(answer(b"not json"), (Value::Null, json!(-32700)));
    assert_eq!(answer(&vec![b'x'; 6 * 1024 * 1024]), (Value::Null, json!(-32600)));
    assert_eq!(answer(br#"{"jsonrpc":"2.0","id":7,"method":5}"#), (json!(7), json!(-32600)));
    assert_eq!(answer(br#"{"id":"a","method":"ping"}"#), (json!("a"), json!(-32600)));
    assert_eq!(answer(b"[1,2]"), (Value::Null, json!(-32600)));
    assert_eq!(answer(br#"{"jsonrpc":"2.0","id":9,"method":"nope"}"#), (json!(9), json!(-32601)));
    assert_eq!(answer(br#"{"jsonrpc":"2.0","id":10,"method":"ping"}"#), (json!(10), Value::Null));
}

#[test]
fn d7_commitments_have_one_notation() {
    let world = World::new();
    let mut pipe = Pipe::open(&world, &[]);
    for arguments in [
        json!({"assertion": "file_exists:a.txt"}),
        json!({"kind": "file_exists", "assertion": "b.txt"}),
        json!({"assertion": "file_contains:a.txt:hello"}),
    ] {
        let answer = pipe.call("add_commitment", arguments);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    for path in ["/etc/passwd", "../x"] {
        let answer = pipe.call("add_commitment", json!({"assertion": format!("file_exists:{path}")}));
        assert!(answer.to_string().contains("outside the project"), "{answer}");
    }
}

#[test]
fn skills_are_prompts() {
    let world = World::new();
    world.write(
        ".marvin/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Deploys it.\n---\nPush it.\n",
    );
    let mut pipe = Pipe::open(&world, &[]);
    let listed = pipe.ask("prompts/list", json!({}));
    let all = listed["result"]["prompts"].as_array().unwrap().clone();
    let deploy = all.iter().find(|prompt| prompt["name"] == "deploy").unwrap();
    assert_eq!(deploy["description"], "Deploys it. [from the repository, not confirmed]");
    assert_eq!(deploy["arguments"][0]["name"], "task");
    let got = pipe.ask("prompts/get", json!({"name": "deploy", "arguments": {"task": "to staging"}}));
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_string();
    for part in ["Push it.", "[from the repository, not confirmed by the person]", "# Task\nto staging"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // An edit counts while the server runs, and a trusted text has no mark.
    world.write(
        ".marvin/skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: Deploys it.\n---\nPull it.\n",
    );
    world.person(["skills", "trust", "deploy"]).run().exits(0);
    let got = pipe.ask("prompts/get", json!({"name": "deploy"}));
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_string();
    assert!(text.contains("Pull it.") && !text.contains("not confirmed"), "{text}");
    let unknown = pipe.ask("prompts/get", json!({"name": "deplyo"}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("did you mean `deploy`?"), "{unknown}");
    for method in ["prompts/get", "tools/call"] {
        let nameless = pipe.ask(method, json!({}));
        assert_eq!(nameless["error"]["code"], -32602, "{nameless}");
    }
}
