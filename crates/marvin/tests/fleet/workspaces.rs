//! Workers in clones of a repository: changes travel, and conflicts wait for a person.

use crate::fixture::{Fleet, FleetWorker};
use crate::support::{Marvin, World, commands_run};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn git(directory: &Path, words: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(words)
        .current_dir(directory)
        .status()
        .unwrap();
    assert!(done.success(), "git {words:?}");
}

/// A client with a repository, and two workers with clones of it.
struct Clones<'a> {
    fleet: &'a Fleet,
    client: World,
    machines: Vec<World>,
    _workers: Vec<FleetWorker>,
}

impl<'a> Clones<'a> {
    fn new(fleet: &'a Fleet) -> Self {
        let client = World::new();
        client.write("file.txt", "one\ntwo\nthree\n");
        git(&client.project(), &["init", "--quiet"]);
        git(&client.project(), &["add", "."]);
        git(&client.project(), &["commit", "--quiet", "-m", "first"]);
        let machines = vec![World::new(), World::new()];
        for world in &machines {
            git(&world.project(), &["clone", "--quiet", client.project().to_str().unwrap(), "."]);
        }
        // One step at a time, so that both are needed.
        let worker = |world: &World| {
            let program = world.marvin(["worker", "--slots", "1"]).env("MARVIN_FLEET_WORKSPACE", "git");
            fleet.start_worker(world, fleet.settings(program, "q"))
        };
        let workers = machines.iter().map(worker).collect();
        Clones { fleet, client, machines, _workers: workers }
    }

    fn marvin(&self, words: &[&str]) -> Marvin {
        self.fleet.settings(self.client.marvin(words), "q").env("MARVIN_FLEET_WORKSPACE", "git")
    }

    fn run(&self, steps: Value) -> crate::support::ProgramOutput {
        let workflow = json!({"workflow_id": "w", "goal": "g", "steps": steps});
        let file = self.client.root().join("w.json");
        std::fs::write(&file, workflow.to_string()).unwrap();
        self.marvin(&["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--json"]).run()
    }
}

#[test]
fn changes_travel_between_machines_and_back_to_the_client() {
    let Some(fleet) = Fleet::start_without_losses(&[]) else { return };
    if !commands_run(&World::new()) {
        return;
    }
    let clones = Clones::new(&fleet);
    clones.client.write("file.txt", "ONE\ntwo\nthree\n");
    let ended = clones.run(json!([
        {"id": "first", "worker": "Command", "inputs": {"command": "echo four >> file.txt; echo a > new.txt"}},
        {"id": "left", "worker": "Command", "depends_on": ["first"], "worktree": true,
         "inputs": {"command": "sleep 1; cp new.txt left.txt"}},
        {"id": "right", "worker": "Command", "depends_on": ["first"], "worktree": true,
         "inputs": {"command": "sleep 1; cp file.txt right.txt"}},
        {"id": "all", "worker": "Command", "depends_on": ["left", "right"], "writes": false,
         "inputs": {"command": "cat left.txt right.txt"}, "outputs_schema": {"type": "object",
         "properties": {"stdout": {"const": "a\nONE\ntwo\nthree\nfour\n"}}}},
    ]));
    assert_eq!(ended.exits(0).json()["status"], "SUCCEEDED");
    assert_eq!(clones.client.read("right.txt"), "ONE\ntwo\nthree\nfour\n");
    assert_eq!(clones.client.read("left.txt"), "a\n");
    for world in &clones.machines {
        assert_eq!(world.read("file.txt"), "one\ntwo\nthree\n", "the clones stay as they are");
    }
}

#[test]
fn changes_that_conflict_wait_for_a_person() {
    let Some(fleet) = Fleet::start_without_losses(&[]) else { return };
    if !commands_run(&World::new()) {
        return;
    }
    let clones = Clones::new(&fleet);
    let ended = clones.run(json!([
        {"id": "left", "worker": "Command", "worktree": true, "inputs": {"command": "sleep 1; echo left > file.txt"}},
        {"id": "right", "worker": "Command", "worktree": true, "inputs": {"command": "sleep 1; echo right > file.txt"}},
    ]));
    let result = ended.exits(4).json();
    assert_eq!(result["waiting"][0]["kind"], "merge", "{result}");
    // Whichever ended first is merged.
    let merged = if result["waiting"][0]["step_id"] == "right" { "left\n" } else { "right\n" };
    assert_eq!(clones.client.read("file.txt"), merged, "{result}");
}
