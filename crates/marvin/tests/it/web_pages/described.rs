//! Every answer of every route matches its schema in `/openapi.json`.

use super::client::WebFrontEnd;
use crate::self_improve;
use crate::support::{World, call, commands_run, put, say};
use serde_json::{Value, json};

/// Sends a request, checks the answer against the description, and returns it.
fn fits(
    server: &WebFrontEnd,
    described: &Value,
    method: &str,
    path: &str,
    route: &str,
    body: Option<&Value>,
) -> Value {
    let answer = match body {
        Some(body) => server.post(path, body),
        None => server.get(path),
    };
    let operation = &described["paths"][route][method];
    assert!(operation.is_object(), "{method} {route} is not described");
    let value = answer.json();
    let schema = match answer.status {
        200 => operation["responses"]["200"]["content"]["application/json"]["schema"].clone(),
        _ => described["components"]["responses"]["Refused"]["content"]["application/json"]["schema"].clone(),
    };
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{method} {path}: {errors:?}\n{value}");
    if let Some(body) = body {
        let wanted = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert!(jsonschema::validator_for(wanted).unwrap().is_valid(body), "{method} {path}: {body}");
    }
    value
}

#[test]
fn a_self_improve_run_is_described_by_its_sessions() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    self_improve::repository(&world);
    let fix = vec![self_improve::write("src/sum.sh", self_improve::FIXED)];
    let script = self_improve::script(&[("1-1", vec![]), ("1-2", fix)]);
    let report = self_improve::improve(&world, &script, &["--sessions", "2"]).exits(0).json();
    let server = WebFrontEnd::start(&world, &[]);
    let described = server.open("GET", "/openapi.json").json();
    let get = |path: &str, route: &str| fits(&server, &described, "get", path, route, None);
    let runs = get("/api/runs", "/api/runs");
    let listed = &runs["runs"][0];
    assert_eq!((&listed["manner"], &listed["goal"]), (&json!("self-improve"), &json!("Fix the sum")));
    let id = listed["run_id"].as_str().unwrap();
    let run = get(&format!("/api/runs/{id}"), "/api/runs/{run}");
    let shown = &run["self_improve"];
    assert_eq!((&run["kind"], &shown["energy"]), (&json!("self-improve"), &report["energy"]), "{run:#}");
    let sessions = &shown["batches"][0]["sessions"];
    let figures = |at: usize| {
        ["session_id", "is_winner", "criteria", "passed_tests", "changes"]
            .map(|key| sessions[at][key].clone())
    };
    assert_eq!(json!(figures(1)), json!(["1-2", true, 4, 2, 1]), "{shown:#}");
    let score = report["batches"][0]["sessions"][0]["score"].as_array().unwrap();
    let criteria: u64 = score.iter().take(4).filter_map(Value::as_u64).sum();
    assert_eq!(json!(figures(0)), json!(["1-1", false, criteria, 1, 0]), "{shown:#}");
    let expected = &report["batches"][0]["sessions"][1];
    let energy = expected["model_calls"].as_u64().unwrap() + expected["tool_calls"].as_u64().unwrap();
    assert_eq!(sessions[1]["energy"], energy);
    let files: Vec<&str> =
        run["files"].as_array().unwrap().iter().filter_map(|one| one["path"].as_str()).collect();
    for ending in ["html", "json", "md"] {
        let path = format!("reports/self_improve.{ending}");
        assert!(files.contains(&path.as_str()), "{files:?}");
        let file = get(&format!("/api/runs/{id}/file?path={path}"), "/api/runs/{run}/file");
        assert!(file["text"].as_str().unwrap().contains("Fix the sum"), "{path}");
    }
}

#[test]
fn every_answer_fits_its_description() {
    let world = World::new();
    let flow = json!({"workflow_id": "demo", "goal": "show", "steps": [
        {"id": "a", "worker": "Command", "inputs": {"command": "echo one"}},
        {"id": "b", "worker": "Command", "inputs": {"command": "exit 3"}, "depends_on": ["a"]}]});
    put(&world.project().join("flow.json"), &flow.to_string());
    world.marvin(["run-workflow", "flow.json"]).run();
    world.marvin(["packs", "new", "rust"]).run().exits(0);
    world.marvin(["servitors", "summon", "look", "--commitment", "file_exists:a.txt"]).run();
    let script = [
        call("create_file", json!({"path": "a.txt", "content": "x"})),
        call("run_command", json!({"command": "rm -rf /"})),
        say("done"),
    ];
    let server = WebFrontEnd::start(&world, &script);
    let described = server.open("GET", "/openapi.json").json();
    let get = |path: &str, route: &str| fits(&server, &described, "get", path, route, None);
    let post =
        |path: &str, route: &str, body: Value| fits(&server, &described, "post", path, route, Some(&body));
    get("/healthz", "/healthz");
    post("/api/session", "/api/session", json!({"code": "used"}));
    let sent = post("/api/send", "/api/send", json!({"message": "go"}));
    assert_eq!(sent["status"], "SUCCESS", "{sent}");
    get("/api/status", "/api/status");
    get("/api/messages?limit=1&before=9", "/api/messages");
    post("/api/prompt", "/api/prompt", json!({"text": "again"}));
    post("/api/cancel", "/api/cancel", json!({}));
    for line in ["/help", "/runs", "/nothing", "usage", "hello there", "!echo hi", "/status"] {
        post("/api/command", "/api/command", json!({"line": line}));
    }
    get("/api/commands", "/api/commands");
    get("/api/approvals", "/api/approvals");
    post("/api/approvals/command:9", "/api/approvals/{id}", json!({"answer": "no"}));
    get("/api/memory", "/api/memory");
    post("/api/memory/abc", "/api/memory/{id}", json!({"decision": "approve"}));
    let runs = get("/api/runs?limit=10", "/api/runs");
    let mut kinds = Vec::new();
    for run in runs["runs"].as_array().unwrap() {
        let id = run["run_id"].as_str().unwrap();
        let one = get(&format!("/api/runs/{id}"), "/api/runs/{run}");
        kinds.push(one["kind"].as_str().unwrap().to_string());
        get(&format!("/api/runs/{id}/trace"), "/api/runs/{run}/trace");
        get(&format!("/api/runs/{id}/calls"), "/api/runs/{run}/calls");
        get(&format!("/api/runs/{id}/timeline"), "/api/runs/{run}/timeline");
        for file in one["files"].as_array().unwrap() {
            let path = file["path"].as_str().unwrap();
            get(&format!("/api/runs/{id}/file?path={path}"), "/api/runs/{run}/file");
        }
        if one["kind"] == "workflow" {
            let steps = &one["workflow"]["steps"];
            assert_eq!(
                (&steps[0]["status"], &steps[1]["status"]),
                (&json!("SUCCEEDED"), &json!("FAILED")),
                "{one}"
            );
            assert_eq!(one["workflow"]["picture"]["arrows"], json!([[0, 1]]), "{one}");
        }
    }
    assert!(kinds.contains(&"workflow".to_string()) && kinds.contains(&"session".to_string()), "{kinds:?}");
    let servitors = get("/api/servitors", "/api/servitors");
    assert_eq!(servitors["servitors"].as_array().unwrap().len(), 1, "{servitors}");
    let decisions = get("/api/gate/decisions?limit=5", "/api/gate/decisions");
    assert!(
        decisions["decisions"].as_array().unwrap().iter().any(|one| one["decision"] == "deny"),
        "{decisions}"
    );
    let explained = post("/api/gate/explain", "/api/gate/explain", json!({"command": "ls && rm -rf ~"}));
    assert_eq!(explained["verdict"], "deny", "{explained}");
    let packs = get("/api/packs", "/api/packs");
    assert_eq!(packs["packs"][0]["name"], "rust", "{packs}");
    get("/api/lessons", "/api/lessons");
    let settings = get("/api/settings", "/api/settings");
    assert_eq!(get("/api/calendar?month=2&year=2096", "/api/calendar")["events"], json!([]));
    get("/api/calendar", "/api/calendar");
    get("/api/calendar?month=13", "/api/calendar");
    assert!(settings["settings"].as_array().unwrap().len() > 50);
    get("/api/table", "/api/table");
    let setup =
        json!({"deck": "boundless_elves", "against": "dark_sacrifice", "opponent": "heuristic", "seed": 3});
    let game = post("/api/table", "/api/table", setup)["game"].as_str().unwrap().to_string();
    let path = format!("/api/table/{game}");
    let snapshot = get(&path, "/api/table/{game}");
    let pass = json!({"order": "yield", "until": "own_turn"});
    post(&path, "/api/table/{game}", pass);
    let number = snapshot["question"]["number"].as_u64().unwrap_or(0);
    post(
        &path,
        "/api/table/{game}",
        json!({"order": "answer", "number": number, "answer": {"action": "a99"}}),
    );
    post(&path, "/api/table/{game}", json!({"order": "undo"}));
    get(&format!("{path}/card?name=Forest"), "/api/table/{game}/card");
    get(&format!("{path}/card?name=Nothing"), "/api/table/{game}/card");
    post(&format!("{path}/ask"), "/api/table/{game}/ask", json!({"ask": "why_not", "text": "Forest"}));
    get("/api/table/game_none", "/api/table/{game}");
}
