//! Runs that are longer than one history, and values that are larger than a payload.

use crate::fixture::Fleet;
use crate::support::{World, commands_run, json_file};
use serde_json::{Value, json};
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
    let listed = fleet.temporal(["workflow", "list", "--output", "json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert!(listed.as_array().unwrap().len() >= 3, "{listed}");
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
