//! `--evaluate suite`: a checkout is scored by how agents with its instructions solve the tasks of the benchmark suite.

use super::{assert_clean, head, session};
use crate::suite::python;
use crate::support::{World, call};
use marvin_testing::git;
use serde_json::{Value, json};

const TASK: &str = "dedupe-sorted";
const STARTER: &str = "        if item not in result:\n";
const SOLUTION: &str = "        if not result or result[-1] != item:\n";
const ADVICE: &str = "Compare an item with its neighbour only.";

fn repository(world: &World) {
    world.write("AGENTS.md", "Be careful.\n");
    git(&world.project(), &["init", "-q", "-b", "main"]);
    git(&world.project(), &["add", "--all"]);
    git(&world.project(), &["commit", "-q", "-m", "first"]);
}

/// Solvers that do what the instructions of their workspace say, and nothing without them.
fn solvers() -> Vec<Value> {
    let plan = json!({"steps": [{"id": "solve", "worker": "Implementer", "description": "Solve the task"}]});
    let end = |when: Value| json!({"when": when, "reply": {"json": {"status": "SUCCESS", "summary": "Done."}}, "repeat": true});
    let entry = |when: Value, mut entry: Value| {
        entry["when"] = when;
        entry["repeat"] = true.into();
        entry
    };
    let patch = json!({"path": "dedupe.py", "old_str": STARTER, "new_str": SOLUTION});
    vec![
        json!({"when": {"role": "Planner", "contains": "TASK.md"}, "repeat": true,
            "reply": {"json": {"status": "SUCCESS", "summary": "a plan", "workflow": plan}}}),
        entry(json!({"step": "solve", "contains": ADVICE}), call("apply_patch", patch)),
        end(json!({"step": "solve", "contains": "Patched"})),
        end(json!({"step": "solve", "contains": "Be careful."})),
        entry(json!({"step": "solve"}), call("read_file", json!({"path": "AGENTS.md"}))),
        end(json!({"step": "finish"})),
    ]
}

fn advise(text: &str) -> Vec<Value> {
    vec![call("apply_patch", json!({"path": "AGENTS.md", "old_str": "Be careful.", "new_str": text}))]
}

fn improve(
    world: &World,
    python: &str,
    sessions: &[(&str, Vec<Value>)],
    more: &[&str],
) -> crate::support::ProgramOutput {
    let sessions = sessions.iter().flat_map(|(id, calls)| session(id, calls));
    let script = world.script(&sessions.chain(solvers()).collect::<Vec<_>>());
    let evaluate = format!("suite:{TASK}");
    let words = ["self-improve", "--goal", "Improve AGENTS.md", "--evaluate", &evaluate, "--script", &script];
    let marvin = world.marvin(words).args(["--llm", "mock", "--json"]).args(more);
    marvin.env("MARVIN_LAB_PYTHON", python).env("MARVIN_VERIFY_ROUNDS", "0").run()
}

#[test]
fn instructions_that_make_agents_solve_more_are_merged() {
    let Some(python) = python() else { return };
    let world = World::new();
    repository(&world);
    let sessions = [("1-1", advise("Be careful. Be quick.")), ("1-2", advise(ADVICE))];
    let more = ["--sessions", "2", "--include", "AGENTS.md"];
    let report = improve(&world, &python, &sessions, &more).exits(0).json();
    let batch = &report["batches"][0];
    let baseline = &batch["master_baseline_evaluation"];
    assert_eq!((&baseline["ok"], &baseline["failing_tests"]), (&json!(false), &json!([TASK])), "{report:#}");
    let failed = baseline["failed"].as_u64().unwrap();
    assert!(failed > 0, "{baseline:#}");
    let [first, second] = batch["sessions"].as_array().unwrap().as_slice() else { panic!("{batch:#}") };
    let reason = first["verification_reason"].as_str().unwrap();
    let same = format!("{failed} hidden tests fail, and {failed} on the base");
    assert!(reason.contains(&same), "{reason}");
    assert_eq!((&second["verification_ok"], &second["evaluation"]["failed"]), (&json!(true), &json!(0)));
    assert_eq!((&batch["winner_session_id"], &batch["merged"]), (&json!("1-2"), &json!(true)));
    assert_eq!(batch["master_evaluation"]["ok"], true);
    assert_eq!(report["settings"]["evaluate"], format!("suite:{TASK}"));
    assert_eq!(world.read("AGENTS.md"), format!("{ADVICE}\n"));
    assert_clean(&world.project());
    let run = std::path::PathBuf::from(report["run_root"].as_str().unwrap());
    assert!(run.join("suite/base-1").join(TASK).join("hierarchical-1/grade.json").is_file());
}

#[test]
fn solvers_are_charged_to_the_budget_of_the_run() {
    let Some(python) = python() else { return };
    let world = World::new();
    repository(&world);
    let before = head(&world.project());
    let prices = "[[price]]\nprovider = \"mock\"\ninput = 1000000.0\noutput = 0.0\n";
    crate::support::put(&world.user().join("prices.toml"), prices);
    let mut entries = solvers();
    for entry in &mut entries {
        entry["reply"]["usage"] = json!({"input": 2, "output": 0});
    }
    let script = world.script(&entries);
    let words = ["self-improve", "--goal", "Improve AGENTS.md", "--evaluate", "suite:dedupe-sorted"];
    let more = ["--script", &script, "--llm", "mock", "--json", "--sessions", "1", "--max-cost", "3"];
    let ended = world.marvin(words).args(more).env("MARVIN_LAB_PYTHON", &python).run().exits(6);
    assert_eq!(ended.json()["stop_reason"], "budget");
    assert_eq!(head(&world.project()), before);
}

#[test]
fn what_the_suite_needs_is_checked_first() {
    let world = World::new();
    repository(&world);
    for (evaluate, python, code, why) in [
        ("suite:dedupe", "python3", 2, "did you mean `dedupe-sorted`?"),
        ("suite", "no-such-python", 4, "`no-such-python` does not exist"),
    ] {
        let words = ["self-improve", "--goal", "Improve AGENTS.md", "--evaluate", evaluate, "--llm", "mock"];
        let ended = world.marvin(words).env("MARVIN_LAB_PYTHON", python).run();
        assert!(ended.code == Some(code) && ended.whole().contains(why), "{evaluate}: {}", ended.whole());
        assert!(!ended.whole().contains("--python"), "self-improve has no such option: {}", ended.whole());
    }
    let words = ["self-improve", "--goal", "Improve AGENTS.md", "--evaluate", "suite", "--llm", "mock"];
    let inside = world.marvin(words).env("MARVIN_LAB", "1").run().exits(5);
    assert!(inside.whole().contains("solves a task of it"), "{}", inside.whole());
}
