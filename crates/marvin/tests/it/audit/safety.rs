//! Findings about safety and truth (A).

use crate::support::{World, call, commands_run, put, say};
use serde_json::json;

#[test]
fn a14_options_beside_words_are_used_or_refused() {
    let world = World::new();
    let script = world.script(&[say("It is 4."), say("It is 4."), say("It is 4."), say("It is 4.")]);
    let question = ["what", "is", "2+2"];
    let asked = |options: &[&str]| world.marvin(["--script", &script]).args(options).args(question).run();
    asked(&["--commitment", "file_exists:missing.txt"]).exits(3);
    world.write("there.txt", "x");
    asked(&["--commitment", "file_exists:there.txt"]).exits(0);
    for option in [&["--prompt", "hello"][..], &["--design-first"], &["--resume", "run_x"], &["--ntfy", "t"]]
    {
        let refused = asked(option).exits(2);
        assert!(
            refused.message().contains(&format!("{} needs --non-interactive", option[0])),
            "{}",
            refused.whole()
        );
    }
    let none = world.marvin(["--commitment", "shell:true"]).run().exits(2);
    assert!(none.message().contains("--commitment is for one answer"), "{}", none.whole());
}

#[test]
fn a12_a_servitor_of_the_action_protocol_has_tools_and_a_status() {
    let world = World::new();
    let summon = json!({"message": "On it.", "spawn": {"assignment": "write ann.txt", "name": "Ann"}});
    let mut works = call("create_file", json!({"path": "ann.txt", "content": "x\n"}));
    works["when"] = json!({"step": "ann", "contains": "write ann.txt"});
    let script = [
        works,
        json!({"when": {"step": "ann", "contains": "Created"}, "reply": {"text": "Written.\nSTATUS: DONE"}, "repeat": true}),
        json!({"reply": {"json": summon}}),
        json!({"reply": {"json": {"message": "Ann works on it."}}, "repeat": true}),
    ];
    world.play(&script, &[]).env("MARVIN_PROTOCOL", "action").run().exits(0);
    let listed = world.marvin(["servitors", "list", "--json"]).run().exits(0).json();
    assert_eq!(listed[0]["state"], "done", "{listed:#}");
    assert_eq!(world.read("ann.txt"), "x\n");
}

/// A workflow that waits for a person's approval.
fn approved_flow(world: &World) {
    let steps = json!([
        {"id": "ok", "worker": "approve"},
        {"id": "end", "worker": "Echo", "depends_on": ["ok"]},
    ]);
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": steps}).to_string());
}

#[test]
fn a3_the_last_decision_before_the_run_applies_it_counts() {
    let world = World::new();
    approved_flow(&world);
    world.marvin(["run-workflow", "w.json"]).run().exits(4);
    world.person(["workflow", "approve", "--step", "ok"]).run().exits(0);
    world.person(["workflow", "approve", "--step", "ok", "--reject"]).run().exits(0);
    let result = world.marvin(["resume-run", "--json"]).run().exits(1).json();
    assert_eq!(result["status"], "FAILED", "{result:#}");
    let late = world.person(["workflow", "approve", "--step", "ok"]).run().exits(2);
    assert!(late.message().contains("does not wait for a person"), "{}", late.whole());
}

#[test]
fn a_command_that_the_gate_asks_about_runs_once_a_person_approved_it() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    // Only a person approves, whatever the workflow says.
    let inputs = json!({"command": "frobnicate --all", "answer": {"approved": true}});
    let steps = json!([{"id": "odd", "worker": "Command", "inputs": inputs, "max_attempts": 2}]);
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": steps}).to_string());
    let blocked = world.marvin(["run-workflow", "w.json"]).run().exits(4);
    assert!(blocked.text().contains("marvin workflow approve --run-path"), "{}", blocked.whole());
    world.marvin(["resume-run"]).run().exits(4);
    world.person(["workflow", "approve", "--step", "odd"]).run().exits(0);
    let ended = world.marvin(["resume-run"]).run().exits(1);
    assert!(ended.text().contains("exit code 127"), "{}", ended.whole());
}

#[test]
fn a4_an_agents_process_decides_nothing_about_a_workflow_and_the_record_says_who_did() {
    let world = World::new();
    approved_flow(&world);
    world.marvin(["run-workflow", "w.json"]).run().exits(4);
    for variable in ["MARVIN_RUN", "MARVIN_DEPTH", "CLAUDECODE"] {
        let tried = world.person(["workflow", "approve", "--step", "ok"]).env(variable, "1").run();
        assert!(tried.code != Some(0), "{variable}: {}", tried.whole());
    }
    world.person(["workflow", "approve", "--step", "ok"]).run().exits(0);
    world.marvin(["resume-run"]).run().exits(0);
    let trace = world.trace();
    let decided = trace.iter().find(|event| event["type"] == "step.succeeded" && event["step_id"] == "ok");
    assert!(decided.unwrap()["decided_by"]["tty"].is_string(), "{trace:#?}");
}

#[test]
fn a5_a_resumed_run_keeps_its_model_and_its_budget() {
    let world = World::new();
    let prices = "[[price]]\nprovider = \"mock\"\ninput = 1000000.0\noutput = 0.0\n";
    put(&world.user().join("prices.toml"), prices);
    let steps = json!([
        {"id": "a", "worker": "Reviewer"},
        {"id": "b", "worker": "Reviewer", "depends_on": ["a"]},
        {"id": "c", "worker": "Reviewer", "depends_on": ["b"]},
    ]);
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": steps}).to_string());
    let reply = json!({"json": {"status": "SUCCESS", "summary": "ok"}, "usage": {"input": 2, "output": 0}});
    let script = world.script(&[json!({"reply": reply, "repeat": true})]);
    let spent =
        world.marvin(["run-workflow", "w.json", "--script", &script, "--max-cost", "2"]).run().exits(6);
    assert!(spent.text().contains("the budget is spent"), "{}", spent.whole());
    let start = world.facts()["start"].clone();
    assert_eq!(
        (&start["model.provider"], &start["limits.cost_usd"]),
        (&json!("mock"), &json!("2")),
        "{start}"
    );
    let again = world.marvin(["resume-run", "--json"]).run().exits(6).json();
    assert_eq!(again["cost"]["session_cost"], 2.0, "{again:#}");
    let more = world.marvin(["resume-run", "--max-cost", "50", "--json"]).run().exits(0).json();
    assert!(more["cost"]["session_cost"].as_f64().unwrap() >= 6.0, "{more:#}");
    assert_eq!(world.facts()["start"]["limits.cost_usd"], "50");
}

/// The message of `workflow check` about a workflow of these steps.
fn refused_steps(world: &World, steps: &serde_json::Value) -> String {
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": steps}).to_string());
    let checked = world.marvin(["workflow", "check", "w.json"]).run().exits(2).message();
    assert_eq!(world.marvin(["run-workflow", "w.json"]).run().exits(2).message(), checked);
    assert!(world.runs().is_empty());
    checked
}

#[test]
fn a6_commitments_that_no_step_verifies_are_refused() {
    let world = World::new();
    for worker in ["Echo", "approve", "answer"] {
        let steps = json!([{"id": "s", "worker": worker, "commitments": ["file_exists:x"]}]);
        assert!(refused_steps(&world, &steps).contains("has nothing to verify"));
    }
}

#[test]
fn b6_a_workflow_that_cannot_work_is_refused_before_it_begins() {
    let world = World::new();
    let command = |line: &str| json!([{"id": "s", "worker": "Command", "inputs": {"command": line}}]);
    let ladder = json!([{"strategy_id": "x", "worker": "Nobody"}]);
    for (steps, problem) in [
        (json!([{"id": "s", "worker": "Command"}]), "it has no command"),
        (command("rm -rf /"), "the gate refuses its command"),
        (json!([{"id": "s", "worker": "Implementer", "ladder": ladder}]), "names the worker `Nobody`"),
        (
            json!([{"id": "s", "worker": "Implementer", "commitments": ["foo:bar"]}]),
            "a commitment is refused",
        ),
    ] {
        let message = refused_steps(&world, &steps);
        assert!(message.contains(problem), "{message}");
    }
    // Before the Planner is asked.
    let paid = world.marvin(["run-workflow", "--goal", "x", "--commitment", "foo:bar"]).run().exits(2);
    assert!(paid.message().contains("--commitment"), "{}", paid.whole());
    assert!(world.runs().is_empty());
}

#[test]
fn a7_an_artifact_is_there_and_a_changed_one_is_noticed() {
    let world = World::new();
    let steps = json!([{"id": "make", "worker": "Implementer", "max_attempts": 1}]);
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": steps}).to_string());
    let ghost = json!({"status": "SUCCESS", "summary": "Made.", "artifacts": ["ghost.txt"]});
    let script = world.script(&[json!({"reply": {"json": ghost}, "repeat": true})]);
    let failed = world.marvin(["run-workflow", "w.json", "--script", &script]).run().exits(1);
    assert!(failed.text().contains("ghost.txt, which does not exist"), "{}", failed.whole());
    let world = World::new();
    let made = json!({"id": "make", "worker": "Command", "inputs": {"command": "echo 1 > made.txt", "artifacts": ["made.txt"]}});
    let steps = json!([made, {"id": "ok", "worker": "approve", "depends_on": ["make"]}]);
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": steps}).to_string());
    if !commands_run(&world) {
        return;
    }
    world.marvin(["run-workflow", "w.json"]).run().exits(4);
    world.write("made.txt", "changed");
    world.person(["workflow", "approve", "--step", "ok"]).run().exits(0);
    world.marvin(["resume-run"]).run().exits(0);
    let trace = world.trace();
    let notice = |event: &serde_json::Value| {
        event["text"].as_str().is_some_and(|text| text.contains("made.txt was changed"))
    };
    assert!(trace.iter().any(notice), "{trace:#?}");
}

#[test]
fn a8_an_identical_command_is_not_repeated_and_polling_is_bounded() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let run = |step: serde_json::Value| {
        world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": [step]}).to_string());
        world.marvin(["run-workflow", "w.json"]).run()
    };
    let command = |line: &str| json!({"id": "s", "worker": "Command", "inputs": {"command": line}});
    let mut fails = command("false");
    fails["repeatable"] = json!(true);
    fails["max_attempts"] = json!(4);
    run(fails).exits(1);
    let begun = |event: &serde_json::Value| event["type"] == "step.started";
    assert_eq!(world.trace().iter().filter(|event| begun(event)).count(), 1, "{:#?}", world.trace());
    let mut polled = command("echo x >> polls.txt; test $(wc -l < polls.txt) -ge 3");
    polled["poll"] = json!({"every": "1s", "until": "file_exists:polls.txt", "max_attempts": 5});
    run(polled.clone()).exits(0);
    assert_eq!(world.read("polls.txt"), "x\nx\nx\n");
    polled["inputs"]["command"] = json!("echo x >> polls.txt; false");
    polled["poll"]["max_attempts"] = json!(2);
    let given_up = run(polled).exits(1);
    assert!(given_up.text().contains("not yet after 2 polls"), "{}", given_up.whole());
    assert_eq!(world.read("polls.txt").lines().count(), 5);
}

#[test]
fn a15_a_tool_log_that_cannot_be_written_is_reported() {
    let world = World::new();
    let script =
        world.script(&[call("create_file", json!({"path": "a.txt", "content": "x\n"})), say("Written.")]);
    let done = world
        .marvin(["--non-interactive", "--script", &script, "--prompt", "write a.txt", "--working-dir", "."])
        .env("MARVIN_SUBAGENT_LOG", "/proc/no/log.jsonl")
        .run()
        .exits(0);
    assert!(done.stderr.contains("/proc/no/log.jsonl"), "{}", done.whole());
    assert_eq!(world.read("a.txt"), "x\n", "the call itself stands");
}

#[test]
fn a16_a_worktree_has_what_earlier_steps_wrote() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let git = |words: &[&str]| marvin_testing::git(&world.project(), words);
    git(&["init", "--quiet"]);
    world.write("kept.txt", "committed\n");
    world.write(".gitignore", ".marvin/\nw.json\n");
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "begin"]);
    world.write("kept.txt", "changed by the person\n");
    world.write(".env", "TOKEN=x\n");
    let command = |id: &str, needs: &[&str], line: &str, worktree: bool| json!({"id": id, "worker": "Command", "depends_on": needs, "worktree": worktree, "inputs": {"command": line}});
    let steps = json!([
        command("first", &[], "echo written > first.txt", false),
        command(
            "second",
            &["first"],
            "cat first.txt kept.txt > seen.txt; echo more >> kept.txt; test ! -s .env",
            true
        ),
    ]);
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": steps}).to_string());
    world.marvin(["run-workflow", "w.json"]).run().exits(0);
    assert_eq!(world.read("seen.txt"), "written\nchanged by the person\n");
    assert_eq!(world.read("kept.txt"), "changed by the person\nmore\n");
    let staged = std::process::Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(world.project())
        .output()
        .unwrap();
    let staged = String::from_utf8(staged.stdout).unwrap();
    assert_eq!(
        staged, " M kept.txt\n?? .env\n?? first.txt\n?? seen.txt\n",
        "the person's index is as it was"
    );
    let leftovers: Vec<_> = std::fs::read_dir(world.project().join(".git")).unwrap().flatten().collect();
    assert!(leftovers.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("marvin-index")));
}
