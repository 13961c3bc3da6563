//! Workers and servers that are killed or frozen: every recorded effect happens once, and nothing is lost.

use crate::fixture::{Fleet, FleetWorker, lines, wait_until};
use crate::support::{World, commands_run, json_file};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A chain of repeatable steps; each notes its key and takes a while.
fn chain(steps: usize) -> Value {
    let step = |number: usize| {
        let before: Vec<String> =
            number.checked_sub(1).map(|before| format!("s{before}")).into_iter().collect();
        let command = format!("echo {number} >> log; sleep 0.1; echo {number}");
        json!({"id": format!("s{number}"), "worker": "Command", "depends_on": before, "repeatable": true,
               "inputs": {"command": command}})
    };
    json!({"workflow_id": "w", "goal": "g", "steps": (0..steps).map(step).collect::<Vec<_>>()})
}

fn run(fleet: &Fleet, world: &World, workflow: &Value, meanwhile: impl FnOnce(&Path)) -> Value {
    let file = world.write("w.json", &workflow.to_string());
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--json"];
    let running = fleet.settings(world.marvin(words), "q").start();
    meanwhile(&world.project().join("log"));
    let ended = running.end().exits(0).json();
    json_file(&Path::new(ended["run_path"].as_str().unwrap()).join("workflow_state.json"))
}

fn assert_all_succeeded(state: &Value, steps: usize) {
    let text = state.to_string();
    assert_eq!(text.matches("\"SUCCEEDED\"").count(), steps, "{text}");
}

#[test]
fn workers_that_are_killed_lose_no_step() {
    let Some(fleet) = Fleet::start() else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    const STEPS: usize = 12;
    let mut workers: Vec<FleetWorker> = (0..2).map(|_| fleet.worker(&world, "q")).collect();
    let state = run(&fleet, &world, &chain(STEPS), |log| {
        for (kill, done) in [2, 5, 8].into_iter().enumerate() {
            wait_until("steps run", || lines(log) >= done);
            workers[kill % 2].kill();
            workers[kill % 2] = fleet.worker(&world, "q");
        }
    });
    assert_all_succeeded(&state, STEPS);
}

#[test]
fn a_server_that_is_killed_loses_nothing() {
    let Some(mut fleet) = Fleet::start() else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    const STEPS: usize = 10;
    let _worker = fleet.worker(&world, "q");
    let file = world.write("w.json", &chain(STEPS).to_string());
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--json"];
    let running = fleet.settings(world.marvin(words), "q").start();
    let log = world.project().join("log");
    for done in [2, 5] {
        wait_until("steps run", || lines(&log) >= done);
        fleet.kill_server();
        fleet.start_server();
    }
    let ended = running.end().exits(0).json();
    let state = json_file(&Path::new(ended["run_path"].as_str().unwrap()).join("workflow_state.json"));
    assert_all_succeeded(&state, STEPS);
}

#[test]
fn a_frozen_worker_has_no_second_end() {
    let Some(fleet) = Fleet::start() else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let workflow = json!({"workflow_id": "w", "goal": "g", "steps": [
        {"id": "slow", "worker": "Command", "repeatable": true,
         "inputs": {"command": "echo begun >> log; sleep 1; date +%N"}},
        {"id": "after", "worker": "Command", "depends_on": ["slow"],
         "inputs": {"command": "echo after >> log"}},
    ]});
    let frozen = fleet.worker(&world, "q");
    frozen.wait_until_ready();
    let mut other = None;
    let state = run(&fleet, &world, &workflow, |log| {
        wait_until("the step runs", || lines(log) == 1);
        frozen.signal(Signal::STOP);
        other = Some(fleet.worker(&world, "q"));
        wait_until("the step is delivered again", || lines(log) >= 2);
        frozen.signal(Signal::CONT);
    });
    assert_all_succeeded(&state, 2);
    let log = world.read("log");
    assert_eq!(log.matches("after").count(), 1, "{log}");
    // Of several ends of an attempt, the store has one.
    let ends = std::fs::read_dir(fleet.store().join("ends")).unwrap().count();
    assert_eq!(ends, 2);
}

#[test]
fn a_worker_that_is_asked_to_end_completes_its_steps() {
    let Some(fleet) = Fleet::start() else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let workflow = json!({"workflow_id": "w", "goal": "g", "steps": [
        {"id": "slow", "worker": "Command", "inputs": {"command": "echo begun >> log; sleep 1; echo ended >> log"}},
    ]});
    let mut worker = fleet.worker(&world, "q");
    let state = run(&fleet, &world, &workflow, |log| {
        wait_until("the step runs", || lines(log) == 1);
        worker.signal(Signal::TERM);
        assert_eq!(worker.end(), Some(0), "{}", worker.log());
        assert_eq!(lines(log), 2);
        // The end of the step is known to the server; the rest needs a worker.
        std::thread::sleep(Duration::from_millis(10));
        worker = fleet.worker(&world, "q");
    });
    assert_all_succeeded(&state, 1);
}
