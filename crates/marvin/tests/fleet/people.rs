//! People and runs on many machines: stop, resume, settle, detach, look without workers, secrets.

use crate::fixture::{Fleet, lines, wait_until};
use crate::support::{World, commands_run, json_file};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn start_detached(fleet: &Fleet, world: &World, workflow: &Value) -> PathBuf {
    let file = world.write("w.json", &workflow.to_string());
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--detach"];
    let ended = fleet.settings(world.marvin(words), "q").run().exits(0);
    assert!(ended.stderr.contains("the run continues"), "{}", ended.stderr);
    world.run()
}

fn state(path: &Path) -> Value {
    json_file(&path.join("workflow_state.json"))
}

#[test]
fn a_run_is_stopped_looked_at_without_workers_and_resumed() {
    let Some(fleet) = Fleet::start() else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let log = world.project().join("log");
    let workflow = json!({"workflow_id": "w", "goal": "g", "steps": [
        {"id": "first", "worker": "Command", "inputs": {"command": "echo 1 >> log"}},
        {"id": "long", "worker": "Command", "depends_on": ["first"], "repeatable": true,
         "inputs": {"command": "echo 2 >> log; test -e go || sleep 600"}},
        {"id": "last", "worker": "Command", "depends_on": ["long"], "inputs": {"command": "echo 3 >> log"}},
    ]});
    let path = start_detached(&fleet, &world, &workflow);
    let mut worker = fleet.worker(&world, "q");
    wait_until("the long step runs", || lines(&log) == 2);
    let run_path = path.to_str().unwrap();
    fleet.settings(world.person(["stop-run", "--run-path", run_path]), "q").run().exits(0);
    worker.kill();
    // Without a worker the history says it all.
    let shown = fleet.settings(world.marvin(["inspect-run", "--run-path", run_path, "--json"]), "q").run();
    assert_eq!(shown.json()["status"], "STOPPED");
    world.write("go", "");
    let _worker = fleet.worker(&world, "q");
    let resumed = fleet.settings(world.marvin(["resume-run", "--run-path", run_path, "--json"]), "q").run();
    assert_eq!(resumed.exits(0).json()["status"], "SUCCEEDED");
    assert_eq!(world.read("log"), "1\n2\n2\n3\n");
}

#[test]
fn a_step_that_may_not_be_repeated_waits_for_a_person_after_its_worker_was_lost() {
    let Some(fleet) = Fleet::start() else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let workflow = json!({"workflow_id": "w", "goal": "g", "steps": [
        {"id": "deploy", "worker": "Command", "inputs": {"command": "echo x >> log; sleep 600"}},
        {"id": "after", "worker": "Command", "depends_on": ["deploy"], "inputs": {"command": "echo y >> log"}},
    ]});
    let path = start_detached(&fleet, &world, &workflow);
    let log = world.project().join("log");
    let mut worker = fleet.worker(&world, "q");
    wait_until("the step runs", || lines(&log) == 1);
    worker.kill();
    let _worker = fleet.worker(&world, "q");
    let run_path = path.to_str().unwrap();
    let resumed = fleet.settings(world.marvin(["resume-run", "--run-path", run_path, "--json"]), "q").run();
    assert_eq!(resumed.exits(4).json()["waiting"][0]["kind"], "unknown");
    let settle = ["workflow", "settle", "--run-path", run_path, "--step", "deploy", "--as", "done"];
    fleet.settings(world.person(settle), "q").run().exits(0);
    fleet.settings(world.marvin(["resume-run", "--run-path", run_path]), "q").run().exits(0);
    assert_eq!(world.read("log"), "x\ny\n", "{}", state(&path));
}

#[test]
fn a_workflow_with_a_secret_is_refused_and_no_output_with_one_is_in_the_history() {
    let Some(fleet) = Fleet::start() else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).chars().take(36).collect::<String>());
    let with = json!({"workflow_id": "w", "goal": "g", "steps": [
        {"id": "push", "worker": "Command", "inputs": {"command": format!("echo {key}")}},
    ]});
    let file = world.write("secret.json", &with.to_string());
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal"];
    let refused = fleet.settings(world.marvin(words), "q").run().exits(5);
    assert!(refused.stderr.contains("contains a secret"), "{}", refused.stderr);
    // A step that prints one from the environment of its worker.
    world.write("key.txt", &key);
    let without = json!({"workflow_id": "w", "goal": "g", "steps": [
        {"id": "print", "worker": "Command", "inputs": {"command": "cat key.txt; cat key.txt >&2; exit 1"}},
    ]});
    let _worker = fleet.worker(&world, "q");
    let file = world.write("print.json", &without.to_string());
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--json"];
    let result = fleet.settings(world.marvin(words), "q").run().json();
    let record = json_file(&PathBuf::from(result["run_path"].as_str().unwrap()).join("run.json"));
    let id = record["fleet"]["id"].as_str().unwrap().to_string();
    let history =
        fleet.temporal(["workflow", "show", "--output", "json", "--workflow-id", &id]).output().unwrap();
    let history = String::from_utf8(history.stdout).unwrap();
    assert!(history.contains("EVENT_TYPE_ACTIVITY_TASK_COMPLETED"), "{history}");
    // Payloads are base64 in this dump.
    let decoded = decode_payloads(&serde_json::from_str(&history).unwrap());
    assert!(decoded.contains("cat key.txt"), "the payloads were not decoded: {decoded}");
    assert!(!decoded.contains(&key), "{decoded}");
}

/// The data of all payloads below a value, decoded.
fn decode_payloads(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let own = map.get("data").and_then(Value::as_str).map(decode_base64).unwrap_or_default();
            map.values().fold(own, |text, value| text + &decode_payloads(value))
        }
        Value::Array(list) => list.iter().map(decode_payloads).collect(),
        _ => String::new(),
    }
}

fn decode_base64(text: &str) -> String {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.chars().filter_map(|letter| ALPHABET.find(letter));
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_usize, 0);
    for digit in digits {
        bits = (bits << 6) | digit;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
