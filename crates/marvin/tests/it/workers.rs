//! Workflow workers: verified, counted, retried only in a different way, and limited to the rights of their role.

use crate::support::{ProgramOutput, World, call, json_file, ledger, put, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// An entry for a worker of a step.
fn for_step(role: &str, step: &str, mut entry: Value) -> Value {
    entry["when"]["role"] = json!(role);
    entry["when"]["step"] = json!(step);
    entry
}

fn again(mut entry: Value) -> Value {
    entry["repeat"] = json!(true);
    entry
}

fn create(path: &str, content: &str) -> Value {
    call("create_file", json!({"path": path, "content": content}))
}

fn end(status: &str) -> Value {
    json!({"reply": {"json": {"status": status, "summary": format!("I say {status}")}}})
}

fn workflow(world: &World, steps: &Value) -> String {
    put(&world.root().join("flow.json"), &json!({"goal": "Make it right", "steps": steps}).to_string())
        .display()
        .to_string()
}

/// Runs a workflow of these steps. A refuted claim is not sent back, so every attempt is short.
fn run(world: &World, steps: &Value, script: &[Value], more: &[&str]) -> ProgramOutput {
    let file = workflow(world, steps);
    let script = world.script(script);
    let mut words = vec!["run-workflow", &file, "--json", "--script", &script];
    words.extend(more);
    world.marvin(words).env("MARVIN_VERIFY_ROUNDS", "0").run()
}

fn lessons(world: &World) -> Vec<(Value, String)> {
    let Ok(directory) = fs::read_dir(world.state().join("memory/lessons")) else { return Vec::new() };
    let mut found: Vec<(Value, String)> = directory
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .map(|text| {
            let (header, body) = text.split_once("\n---\n").unwrap();
            (serde_json::from_str(header).unwrap(), body.to_string())
        })
        .collect();
    found.sort_by_key(|(header, _)| header["timestamp"].to_string());
    found
}

fn attempts(run: &Path, step: &str) -> Vec<Value> {
    let state = json_file(&run.join("workflow_state.json"));
    state["state"]["steps"][step]["attempts"].as_array().cloned().unwrap_or_default()
}

fn status(run: &Path, step: &str) -> String {
    json_file(&run.join("workflow_state.json"))["state"]["steps"][step]["status"]
        .as_str()
        .unwrap_or("")
        .to_string()
}

#[test]
fn a_failure_leaves_a_lesson_and_another_worker_fixes_it() {
    let world = World::new();
    let script = [
        for_step("Implementer", "build", create("draft.txt", "wrong\n")),
        for_step("Implementer", "build", end("SUCCESS")),
        // The Debugger's prompt contains the first attempt's failure and lesson.
        json!({"when": {"role": "Debugger", "step": "build", "contains": "not-verified"},
            "reply": {"tool_calls": [{"name": "create_file", "arguments": {"path": "a.txt", "content": "right\n"}}]}}),
        again(for_step("Debugger", "build", end("SUCCESS"))),
    ];
    let steps = json!([{"id": "build", "worker": "Implementer", "description": "Write a.txt",
        "commitments": ["file_contains:a.txt: right"]}]);
    let ended = run(&world, &steps, &script, &[]);
    let result = ended.exits(0).json();
    assert_eq!(result["status"], "SUCCEEDED", "{result:#}");
    let run = world.run();
    let tried = attempts(&run, "build");
    let strategies: Vec<&str> = tried.iter().filter_map(|one| one["strategy_id"].as_str()).collect();
    assert_eq!(strategies, ["draft", "patch"], "{tried:#?}");
    assert!(tried[0]["failure_signature"].as_str().unwrap().starts_with("not-verified:c-"), "{tried:#?}");
    assert_eq!(
        (&tried[0]["worker_type"], &tried[1]["worker_type"]),
        (&json!("Implementer"), &json!("Debugger"))
    );
    // The lesson was stored before the retry began.
    let lessons = lessons(&world);
    assert_eq!(lessons.len(), 1, "{lessons:?}");
    let header = &lessons[0].0;
    assert_eq!((&header["step_id"], &header["strategy_id"]), (&json!("build"), &json!("patch")));
    assert_eq!(header["failure_signature"], tried[0]["failure_signature"]);
    for key in ["root_cause_hypothesis", "strategy_change", "evidence_of_novelty"] {
        assert!(!header[key].as_str().unwrap().is_empty(), "{key}");
    }
    let trace = ledger(&run.join("trace.jsonl"));
    let second =
        trace.iter().find(|event| event["type"] == "worker.started" && event["attempt"] == 2).unwrap();
    assert!(header["timestamp"].as_str() <= second["timestamp"].as_str());
}

#[test]
fn false_claims_are_refused_however_often_they_are_repeated() {
    let world = World::new();
    let script = [
        json!({"when": {"step": "build"}, "reply": {"json": {"status": "SUCCESS", "summary": "Done!"}}, "repeat": true}),
    ];
    let steps = json!([{"id": "build", "worker": "Implementer", "commitments": ["file_exists:a.txt"]},
        {"id": "after", "worker": "Echo", "depends_on": ["build"]}]);
    let ended = run(&world, &steps, &script, &[]);
    assert_ne!(ended.exits(3).json()["status"], "SUCCEEDED");
    let run = world.run();
    assert_eq!(attempts(&run, "build").len(), 3);
    assert_eq!(status(&run, "build"), "FAILED");
    assert_ne!(status(&run, "after"), "SUCCEEDED");
    assert_eq!(lessons(&world).len(), 2, "one before each retry");
}

#[test]
fn an_identical_retry_is_refused_with_its_reason() {
    let world = World::new();
    let script = [again(for_step("Implementer", "build", end("FAILURE")))];
    let rung = json!({"worker": "Implementer", "strategy_id": "draft", "retrieval_stage": 1});
    let steps = json!([{"id": "build", "worker": "Implementer", "ladder": [rung, rung, rung]}]);
    run(&world, &steps, &script, &[]).exits(1);
    let path = world.run();
    assert_eq!(attempts(&path, "build").len(), 1);
    assert!(lessons(&world).is_empty(), "what is not tried again teaches nothing");
    let shown = world.marvin(["inspect-run", "--run-path", &path.display().to_string()]).run().exits(0);
    assert!(shown.text().contains("same_call"), "{}", shown.text());
}

#[test]
fn a_reviewer_cannot_write() {
    let world = World::new();
    let script = [
        for_step("Reviewer", "look", create("a.txt", "mine\n")),
        for_step("Reviewer", "look", end("SUCCESS")),
    ];
    run(&world, &json!([{"id": "look", "worker": "Reviewer"}]), &script, &[]).exits(0);
    assert!(!world.project().join("a.txt").exists());
}

#[test]
fn outputs_that_do_not_match_are_sent_back_and_then_fail() {
    let world = World::new();
    let odd = json!({"reply": {"json": {"status": "SUCCESS", "outputs": {"n": "one"}}}});
    let good = json!({"reply": {"json": {"status": "SUCCESS", "outputs": {"n": 1}}}});
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let steps = json!([{"id": "count", "worker": "Planner", "outputs_schema": schema},
        {"id": "use", "worker": "Echo", "depends_on": ["count"], "inputs": {"n": {"from": "count.outputs.n"}}}]);
    let script = [for_step("Planner", "count", odd.clone()), for_step("Planner", "count", good)];
    run(&world, &steps, &script, &[]).exits(0);
    let state = json_file(&world.run().join("workflow_state.json"));
    assert_eq!(state["state"]["steps"]["use"]["inputs"]["n"], 1, "{state:#}");
    let world = World::new();
    run(&world, &steps, &[again(for_step("Planner", "count", odd))], &[]).exits(1);
    let tried = attempts(&world.run(), "count");
    assert_eq!(tried[0]["failure_signature"], "worker-invalid-outputs", "{tried:#?}");
}

#[test]
fn the_budget_is_for_the_whole_run() {
    let world = World::new();
    put(
        &world.user().join("prices.toml"),
        "[[price]]\nprovider = \"mock\"\ninput = 1000000.0\noutput = 0.0\n",
    );
    let costs = |step: &str, dollars: u64| {
        let mut entry = for_step("Reviewer", step, end("SUCCESS"));
        entry["reply"]["usage"] = json!({"input": dollars, "output": 0});
        again(entry)
    };
    let script = [costs("a", 2), costs("b", 3), costs("c", 4)];
    let steps = json!([{"id": "a", "worker": "Reviewer"}, {"id": "b", "worker": "Reviewer", "depends_on": ["a"]},
        {"id": "c", "worker": "Reviewer", "depends_on": ["b"]}]);
    let result = run(&world, &steps, &script, &["--max-cost", "100"]).exits(0).json();
    assert_eq!(result["cost"]["session_cost"], 9.0, "{result:#}");
    let world = World::new();
    put(
        &world.user().join("prices.toml"),
        "[[price]]\nprovider = \"mock\"\ninput = 1000000.0\noutput = 0.0\n",
    );
    let result = run(&world, &steps, &script, &["--max-cost", "5"]).exits(6).json();
    assert_eq!(result["cost"]["session_cost"], 5.0, "{result:#}");
    assert!(attempts(&world.run(), "c").is_empty(), "nothing is begun without money");
    // With a higher budget the run resumes there; earlier costs still count.
    let path = world.run().display().to_string();
    let script = world.script(&script);
    let words = ["resume-run", "--run-path", &path, "--json", "--script", &script, "--max-cost", "100"];
    let result = world.marvin(words).run().exits(0).json();
    assert_eq!(
        (&result["status"], &result["cost"]["session_cost"]),
        (&json!("SUCCEEDED"), &json!(12.0)),
        "{result:#}"
    );
}

#[test]
fn a_goal_is_planned_and_executed() {
    let world = World::new();
    let plan = json!({"status": "SUCCESS", "workflow": {"steps": [
        {"id": "write", "worker": "Implementer", "description": "Write a.txt", "commitments": ["file_exists:a.txt"]},
        {"id": "check", "worker": "Reviewer", "depends_on": ["write"]},
    ]}});
    let script = world.script(&[
        for_step("Planner", "plan", json!({"reply": {"json": {"status": "SUCCESS", "task_steps": [{"id": "a", "depends_on": ["b"]}]}}})),
        for_step("Planner", "plan", json!({"reply": {"json": plan}})),
        for_step("Implementer", "write", create("a.txt", "x\n")),
        for_step("Implementer", "write", end("SUCCESS")),
        // It asks to end the workflow, but a step of its own verifies the final commitments.
        for_step("Reviewer", "check", json!({"reply": {"json": {"status": "SUCCESS", "metrics": {"terminate_workflow": true}}}})),
        for_step("Debugger", "finish", create("b.txt", "x\n")),
        for_step("Debugger", "finish", end("SUCCESS")),
    ]);
    let goal = [
        "run-workflow",
        "--goal",
        "Write a file",
        "--commitment",
        "file_exists:b.txt",
        "--json",
        "--script",
        &script,
    ];
    let result = world.marvin(goal).run().exits(0).json();
    assert_eq!(result["status"], "SUCCEEDED", "{result:#}");
    let run = world.run();
    for step in ["write", "check", "finish"] {
        assert_eq!(status(&run, step), "SUCCEEDED", "{step}");
    }
    // Without a plan, the goal is one step.
    let world = World::new();
    let script = world.script(&[
        again(for_step("Planner", "plan", end("FAILURE"))),
        for_step("Implementer", "work", end("SUCCESS")),
    ]);
    world.marvin(["run-workflow", "--goal", "Write a file", "--json", "--script", &script]).run().exits(0);
    assert_eq!(status(&world.run(), "work"), "SUCCEEDED");
}

#[test]
fn calls_before_a_kill_are_not_repeated() {
    let world = World::new();
    let steps = json!([{"id": "build", "worker": "Implementer", "commitments": ["file_exists:a.txt"]}]);
    let file = workflow(&world, &steps);
    // The model is slow after the first call, and the process is killed before the reply.
    let mut slow = for_step("Implementer", "build", end("FAILURE"));
    slow["delay_ms"] = json!(60_000);
    let script = world.script(&[for_step("Implementer", "build", create("a.txt", "first\n")), slow]);
    let running = world.marvin(["run-workflow", &file, "--json", "--script", &script]).start();
    until("the file is there", || world.project().join("a.txt").exists());
    let run = world.run();
    let asked = || {
        let trace = fs::read_to_string(run.join("trace.jsonl")).unwrap_or_default();
        trace.matches("\"type\":\"model_call\"").count() >= 3
    };
    until("it asks again", asked);
    running.signal(Signal::KILL);
    running.end();
    fs::write(world.project().join("a.txt"), "changed since\n").unwrap();
    // After resuming, the model is asked only for what follows the call.
    let script = world.script(&[for_step("Implementer", "build", end("SUCCESS"))]);
    fs::remove_file(run.join("script.json")).unwrap();
    let path = run.display().to_string();
    let result = world
        .marvin(["resume-run", "--run-path", &path, "--json", "--script", &script])
        .run()
        .exits(0)
        .json();
    assert_eq!(result["status"], "SUCCEEDED", "{result:#}");
    assert_eq!(world.read("a.txt"), "changed since\n");
    let tried = attempts(&run, "build");
    assert_eq!(tried.len(), 1, "resuming is not a retry: {tried:#?}");
    let progress = &tried[0]["progress_metrics"];
    assert_eq!((&progress["tool_calls"], &progress["new_artifacts"]), (&json!(1), &json!(1)), "{tried:#?}");
    assert!(lessons(&world).is_empty());
}
