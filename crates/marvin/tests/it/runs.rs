//! `marvin runs`, and the older names of its commands.

use crate::support::{World, say};
use serde_json::{Value, json};

#[test]
fn runs_of_every_kind_are_listed_newest_first() {
    let world = World::new();
    assert_eq!(world.marvin(["runs", "list"]).run().exits(0).text(), "This project has no runs.\n");
    assert_eq!(world.marvin(["runs", "list", "--json"]).run().exits(0).json(), json!([]));
    for (id, kind, goal) in [
        ("run_20260203_040506_1a2b", "non-interactive", "fix the parser"),
        ("run_20260203_040507_1a2b", "pipeline", "a to-do list"),
    ] {
        let started = format!("2026-02-03T04:05:{}.000Z", id.get(17..19).unwrap());
        let facts = json!({"version": 1, "runId": id, "manner": kind, "goal": goal, "status": "success", "startedAt": started});
        world.write_state(&format!("runs/{id}/run.json"), &facts.to_string());
    }
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try it", "steps": [{"id": "a", "worker": "Echo", "inputs": {"n": 1}}]}).to_string());
    world.marvin(["run-workflow", "w.json"]).run().exits(0);

    let rows = world.marvin(["runs", "list", "--json"]).run().exits(0).quiet().json();
    let column =
        |key: &str| -> Vec<Value> { rows.as_array().unwrap().iter().map(|row| row[key].clone()).collect() };
    assert_eq!(column("kind"), ["workflow", "pipeline", "non-interactive"]);
    assert_eq!(column("status"), ["SUCCEEDED", "SUCCESS", "SUCCESS"]);
    assert_eq!(column("goal"), ["try it", "a to-do list", "fix the parser"]);
    assert_eq!(rows[1]["started"], "2026-02-03T04:05:07.000Z");
    // The older name lists workflows only.
    let workflows = world.marvin(["list-runs", "--json"]).run().exits(0).json();
    assert_eq!(workflows.as_array().unwrap().len(), 1);
    let all = world.marvin(["list-runs", "--all", "--json"]).run().exits(0).json();
    assert_eq!(all.as_array().unwrap().len(), 3);
}

#[test]
fn both_names_of_a_command_do_the_same() {
    let world = World::new();
    world.play(&[say("done")], &[]).run().exits(0);
    let pairs = [
        (["runs", "show"].as_slice(), ["inspect-run"].as_slice(), 0),
        (&["runs", "show", "--json"], &["inspect-run", "--json"], 0),
        (&["runs", "show", "nonsense"], &["inspect-run", "nonsense"], 2),
        (&["runs", "stop"], &["stop-run"], 2),
        (&["runs", "resume"], &["resume-run"], 2),
    ];
    for (grouped, older, code) in pairs {
        let (grouped, older) = (world.marvin(grouped).run(), world.marvin(older).run());
        assert_eq!((grouped.code, older.code), (Some(code), Some(code)), "{}", grouped.whole());
        assert_eq!(grouped.whole(), older.whole());
    }
}
