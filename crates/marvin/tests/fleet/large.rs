//! Runs that are longer than one history, runs in waves, and values that are larger than a payload.

use crate::fixture::{Fleet, wait_until};
use crate::support::{World, commands_run, json_file};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Events after which the server suggests to continue as new, for a chain that needs several executions.
const FEW_EVENTS: &str = "limit.historyCount.suggestContinueAsNew=120";

fn run(fleet: &Fleet, world: &World, workflow: &Value) -> (Value, Value) {
    let file = world.write("w.json", &workflow.to_string());
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--json"];
    let result = fleet.settings(world.marvin(words), "q").run().exits(0).json();
    let state = json_file(&Path::new(result["run_path"].as_str().unwrap()).join("workflow_state.json"));
    (result, state)
}

#[test]
fn a_long_run_continues_in_further_executions() {
    let Some(fleet) = Fleet::start_without_losses(&[FEW_EVENTS]) else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    const STEPS: usize = 60;
    let step = |number: usize| {
        let before = number.checked_sub(1).map(|before| format!("s{before}"));
        let last =
            before.as_ref().map_or(json!(0), |before| json!({"from": format!("{before}.outputs.stdout")}));
        json!({"id": format!("s{number}"), "worker": "Command", "writes": false, "repeatable": true,
               "depends_on": before.into_iter().collect::<Vec<_>>(),
               "inputs": {"command": format!("test \"$MARVIN_INPUT_last\" -le {number} && printf {number}"), "last": last}})
    };
    let workflow =
        json!({"workflow_id": "w", "goal": "g", "steps": (0..STEPS).map(step).collect::<Vec<_>>()});
    let _worker = fleet.worker(&world, "q");
    let (result, state) = run(&fleet, &world, &workflow);
    assert_eq!(result["status"], "SUCCEEDED");
    assert_eq!(state["state"]["steps"]["s59"]["outputs"]["stdout"], "59");
    assert!(histories(&fleet, "marvin/").len() >= 3);
}

/// The lengths of all histories of workflows whose id begins so.
fn histories(fleet: &Fleet, prefix: &str) -> Vec<u64> {
    let query = format!("WorkflowId STARTS_WITH '{prefix}' AND ExecutionStatus != 'Running'");
    let listed =
        fleet.temporal(["workflow", "list", "--output", "json", "--query", &query]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let length = |one: &Value| one["historyLength"].as_str().unwrap().parse().unwrap();
    listed.as_array().unwrap().iter().map(length).collect()
}

/// A step with a command that has its number for `{}`.
fn printing_step(number: usize, line: &str) -> Value {
    json!({"id": format!("s{number}"), "worker": "Command", "writes": false, "repeatable": true,
           "inputs": {"command": line.replace("{}", &number.to_string())}})
}

#[test]
fn a_wide_run_has_its_attempts_in_waves_and_continues_in_further_executions() {
    let Some(fleet) = Fleet::start_without_losses(&["limit.historyCount.suggestContinueAsNew=40"]) else {
        return;
    };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    const STEPS: usize = 500;
    let mut steps: Vec<Value> = (0..STEPS).map(|number| printing_step(number, "printf {}")).collect();
    let all: Vec<String> = (0..STEPS).map(|number| format!("s{number}")).collect();
    steps.push(json!({"id": "last", "worker": "Echo", "depends_on": all, "inputs": {"x": {"from": "s499.outputs.stdout"}}}));
    let workflow = json!({"workflow_id": "w", "goal": "g", "steps": steps});
    let _workers: Vec<_> = (0..4).map(|_| fleet.worker(&world, "q")).collect();
    let file = world.write("w.json", &workflow.to_string());
    // Fewer at a time than there are steps: those that end make room for others.
    let words =
        ["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--json", "--concurrency", "250"];
    let result = fleet.settings(world.marvin(words), "q").run().exits(0).json();
    let state = json_file(&Path::new(result["run_path"].as_str().unwrap()).join("workflow_state.json"));
    assert_eq!(result["steps"]["SUCCEEDED"], STEPS + 1, "{result}");
    for number in 0..STEPS {
        let step = &state["state"]["steps"][format!("s{number}")];
        assert_eq!(step["outputs"]["stdout"], number.to_string());
        assert_eq!(step["attempts"].as_array().unwrap().len(), 1);
    }
    assert_eq!(std::fs::read_dir(fleet.store().join("ends")).unwrap().count(), STEPS);
    wait_until("all histories are closed", || {
        let mut open = fleet.temporal(["workflow", "count", "--query", "ExecutionStatus = 'Running'"]);
        String::from_utf8(open.output().unwrap().stdout).unwrap().contains("Total: 0")
    });
    let (runs, waves) = (histories(&fleet, "marvin/"), histories(&fleet, "wave/"));
    assert!(runs.len() >= 2 && waves.len() >= 2, "runs {runs:?}, waves {waves:?}");
    let events: u64 = runs.iter().chain(&waves).sum();
    assert!(events < 5 * STEPS as u64, "{events}: runs {runs:?}, waves {waves:?}");
    // Waves are not runs.
    let listed = fleet.settings(world.marvin(["list-runs", "--engine", "temporal", "--json"]), "q");
    assert_eq!(listed.run().exits(0).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_run_in_waves_is_stopped_and_resumed_and_loses_a_worker() {
    let Some(fleet) = Fleet::start() else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    const STEPS: usize = 120;
    let step = |number: usize| printing_step(number, "test -e go || sleep 600; printf {}");
    let steps: Vec<Value> = (0..STEPS).map(step).collect();
    let workflow = json!({"workflow_id": "w", "goal": "g", "steps": steps});
    let file = world.write("w.json", &workflow.to_string());
    let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--detach"];
    fleet.settings(world.marvin(words), "q").run().exits(0);
    let path = world.run();
    let mut workers: Vec<_> = (0..2).map(|_| fleet.worker(&world, "q")).collect();
    let begun = || fleet.temporal(["workflow", "count", "--query", "WorkflowType = 'marvin_wave'"]).output();
    wait_until("the wave runs", || String::from_utf8(begun().unwrap().stdout).unwrap().contains("Total: 1"));
    let run_path = path.to_str().unwrap();
    fleet.settings(world.person(["stop-run", "--run-path", run_path]), "q").run().exits(0);
    let shown = fleet.settings(world.marvin(["inspect-run", "--run-path", run_path, "--json"]), "q").run();
    assert_eq!(shown.json()["status"], "STOPPED");
    world.write("go", "");
    let running = fleet.settings(world.marvin(["resume-run", "--run-path", run_path, "--json"]), "q").start();
    let ends = || std::fs::read_dir(fleet.store().join("ends")).map_or(0, Iterator::count);
    wait_until("attempts end", || ends() >= 20);
    workers[0].kill();
    let result = running.end().exits(0).json();
    assert_eq!(result["steps"]["SUCCEEDED"], STEPS, "{result}");
    let state = json_file(&path.join("workflow_state.json"));
    let printed: BTreeSet<String> = (0..STEPS)
        .map(|number| state["state"]["steps"][format!("s{number}")]["outputs"]["stdout"].to_string())
        .collect();
    assert_eq!(printed.len(), STEPS);
    assert_eq!(ends(), STEPS);
}

#[test]
fn a_fan_of_echoes_needs_no_activity_and_large_values_are_blobs() {
    let Some(fleet) = Fleet::start_without_losses(&[]) else { return };
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let echo = |number: usize| json!({"id": format!("e{number}"), "worker": "Echo", "inputs": {"x": "y".repeat(40)}});
    let mut steps: Vec<Value> = (0..5_000).map(echo).collect();
    // More than a payload may have.
    steps.push(json!({"id": "large", "worker": "Command", "writes": false, "inputs":
        {"command": "head -c 3000000 /dev/zero | tr '\\0' z > large.txt && cat large.txt"}}));
    steps.push(json!({"id": "last", "worker": "Echo", "depends_on": ["large"], "inputs": {"x": {"from": "large.outputs.exit_code"}}}));
    let workflow = json!({"workflow_id": "w", "goal": "g", "steps": steps});
    let _worker = fleet.worker(&world, "q");
    let (result, _) = run(&fleet, &world, &workflow);
    assert_eq!(result["steps"]["SUCCEEDED"], 5_002, "{result}");
    let blobs = std::fs::read_dir(fleet.store().join("blobs")).unwrap().count();
    assert!(blobs >= 1, "the workflow file is a blob");
}
