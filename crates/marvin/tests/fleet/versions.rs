//! Workers and runs of other rules beside each other: a run stays with the workers that know its rules.

use crate::fixture::{Fleet, lines, wait_until};
use crate::support::{World, commands_run};
use rustix::process::Signal;
use serde_json::{Value, json};

fn workflow() -> Value {
    let step = |id: &str, after: &[&str]| json!({"id": id, "worker": "Command", "depends_on": after, "inputs": {"command": format!("echo {id} >> log")}});
    json!({"workflow_id": "w", "goal": "g", "steps": [step("a", &[]), step("b", &["a"]), step("c", &["b"])]})
}

/// Starts a run as a client of other rules does, on this queue.
fn start_by_hand(fleet: &Fleet, id: &str, queue: &str, version: u32) {
    let input = json!({"version": version, "run_id": id, "slots": 4, "heartbeat_s": 2}).to_string();
    let workflow = workflow().to_string();
    let words = ["workflow", "start", "--type", "marvin_run", "--task-queue", queue, "--workflow-id", id];
    let started = fleet.temporal(words).args(["--input", &input, "--input", &workflow]).output().unwrap();
    assert!(started.status.success(), "{started:?}");
}

fn history(fleet: &Fleet, id: &str) -> Value {
    let words = ["workflow", "show", "--output", "json", "--workflow-id", id];
    serde_json::from_slice(&fleet.temporal(words).output().unwrap().stdout).unwrap()
}

/// The kinds of the events of a history.
fn kinds(history: &Value) -> Vec<&str> {
    let events = history["events"].as_array().unwrap();
    events.iter().map(|event| event["eventType"].as_str().unwrap()).collect()
}

#[test]
fn a_run_of_other_rules_waits_for_its_workers_while_others_go_on() {
    let Some(fleet) = Fleet::start_without_losses(&[]) else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let worker = fleet.worker(&world, "q");
    worker.wait_until_ready();
    start_by_hand(&fleet, "older", "q/v0", 0);
    start_by_hand(&fleet, "newer", "q/v2", 2);
    let file = world.write("w.json", &workflow().to_string());
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal"];
    fleet.settings(world.marvin(words), "q").run().exits(0);
    assert_eq!(world.read("log"), "a\nb\nc\n", "every step of the run, and none of the others");
    for id in ["older", "newer"] {
        let history = history(&fleet, id);
        assert!(!kinds(&history).contains(&"EVENT_TYPE_WORKFLOW_TASK_STARTED"), "{history}");
    }
}

#[test]
fn a_run_of_other_rules_on_the_queue_of_a_worker_is_refused_before_anything_begins() {
    let Some(fleet) = Fleet::start_without_losses(&[]) else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let _worker = fleet.worker(&world, "q");
    start_by_hand(&fleet, "older", "q/v1", 0);
    wait_until("the run is refused", || {
        kinds(&history(&fleet, "older")).contains(&"EVENT_TYPE_WORKFLOW_EXECUTION_FAILED")
    });
    let history = history(&fleet, "older");
    assert!(
        history.to_string().contains("version 0 of the workflow engine, and this program knows 1"),
        "{history}"
    );
    assert!(!kinds(&history).contains(&"EVENT_TYPE_ACTIVITY_TASK_SCHEDULED"), "{history}");
    assert!(!world.project().join("log").exists());
}

/// An upgrade: workers of the same rules are replaced while a step runs that must not be repeated.
#[test]
fn workers_that_are_replaced_repeat_no_step() {
    let Some(fleet) = Fleet::start_without_losses(&[]) else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let step = |number: usize| {
        let before: Vec<String> =
            number.checked_sub(1).map(|before| format!("s{before}")).into_iter().collect();
        json!({"id": format!("s{number}"), "worker": "Command", "depends_on": before,
               "inputs": {"command": format!("echo {number} >> log; sleep 0.5")}})
    };
    let steps: Vec<Value> = (0..6).map(step).collect();
    let file = world.write("w.json", &json!({"workflow_id": "w", "goal": "g", "steps": steps}).to_string());
    let mut worker = fleet.worker(&world, "q");
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal"];
    let running = fleet.settings(world.marvin(words), "q").start();
    for done in [1, 3, 5] {
        wait_until("steps run", || lines(&world.project().join("log")) >= done);
        let next = fleet.worker(&world, "q");
        worker.signal(Signal::TERM);
        assert_eq!(worker.end(), Some(0), "{}", worker.log());
        worker = next;
    }
    running.end().exits(0);
    assert_eq!(world.read("log"), "0\n1\n2\n3\n4\n5\n");
}
