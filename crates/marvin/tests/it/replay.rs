//! `--record` and `marvin replay`: a run is repeated without a model and without side effects.

use crate::support::{World, call, files_below, say};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn conversation() -> Vec<Value> {
    vec![
        call("create_file", json!({"path": "a.txt", "content": "one"})),
        json!({"reply": {"text": "And again.", "tool_calls": [
            {"name": "append_file", "arguments": {"path": "a.txt", "content": "two"}},
            {"name": "read_file", "arguments": {"path": "a.txt"}},
        ]}}),
        say("Both are there."),
    ]
}

/// Files of a directory with their contents, except runs: every command that runs something adds a record.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files_below(directory).into_iter().filter(|path| {
        // The symlink to the runs is for users.
        !path.to_string_lossy().contains("/runs/") && !path.is_symlink()
    });
    files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

fn recorded(world: &World, script: &[Value], more: &[&str]) -> String {
    let tape = world.root().join("tape").display().to_string();
    let ended = world.play(script, &[&["--record", &tape, "--json"], more].concat()).run();
    ended.json()["run_id"].as_str().unwrap().to_string()
}

#[test]
fn a_replay_equals_the_recorded_run_and_changes_nothing() {
    let world = World::new();
    world.write("AGENTS.md", "Be brief.");
    let run = recorded(&world, &conversation(), &[]);
    fs::remove_file(world.project().join("a.txt")).unwrap();
    let before = contents(world.root());
    let ended = world.marvin(["replay", &run]).run().exits(0).quiet();
    assert_eq!(ended.text(), "same: 3 of 3 exchanges and the result\n");
    assert!(contents(world.root()) == before, "a replay changes no file, not even what things cost so far");
    let path = world.state().join("runs").join(&run).display().to_string();
    let report = world.marvin(["replay", &path, "--json"]).run().exits(0).json();
    assert_eq!((&report["same"], &report["exchanges"]), (&json!(true), &json!(3)));
}

#[test]
fn the_first_difference_is_named() {
    let world = World::new();
    world.write("AGENTS.md", "Be brief.");
    world.write(".marvin/instructions.md", &"A long list of rules.\n".repeat(500));
    let run = recorded(&world, &conversation(), &[]);
    world.write("AGENTS.md", "Be verbose.");
    let ended = world.marvin(["replay", &run]).run().exits(1);
    assert!(
        ended.text().starts_with("differs at exchange 1 of 3, at /messages/0/content"),
        "{}",
        ended.whole()
    );
    let report = world.marvin(["replay", &run, "--json"]).run().exits(1).json();
    assert_eq!((&report["same"], &report["difference"]["call"]), (&json!(false), &json!(1)));
}

#[test]
fn a_replay_of_a_priced_run_costs_nothing() {
    let world = World::new();
    let reply = json!({"reply": {"text": "ok", "usage": {"input": 1_000_000, "output": 0}}});
    let server = world.server(&[reply]);
    let tape = world.root().join("tape").display().to_string();
    let result = world
        .marvin(["--non-interactive", "--prompt", "go", "--provider", "openai", "--json", "--record", &tape])
        .env("MARVIN_OPENAI_URL", format!("{}/v1", server.address()))
        .env("OPENAI_API_KEY", "k")
        .run()
        .exits(0)
        .json();
    server.stop().exits(0);
    let usage = world.user().join("usage.json");
    let before = fs::read_to_string(&usage).unwrap();
    assert!(before.contains("1.75"), "{before}");
    // It needs neither key nor server and spends nothing.
    let run = result["run_id"].as_str().unwrap();
    world.marvin(["replay", run]).run().exits(0);
    assert_eq!(fs::read_to_string(&usage).unwrap(), before);
}

#[test]
fn a_replay_keeps_the_flags_and_protocol_of_the_recorded_run() {
    let world = World::new();
    let script = [
        json!({"reply": {"json": {"tool_calls": [
            {"name": "create_file", "arguments": {"path": "a.txt", "content": "x"}, "call_id": "c1"}]}}}),
        json!({"reply": {"json": {"status": "SUCCESS", "summary": "done"}}}),
    ];
    let tape = world.root().join("tape").display().to_string();
    let marvin = world.play(&script, &["--record", &tape, "--json"]).env("MARVIN_PROTOCOL", "json");
    let run = marvin.run().exits(0).json()["run_id"].as_str().unwrap().to_string();
    let ended = world.marvin(["replay", &run]).run();
    assert!(ended.text().starts_with("same: 2 of 2"), "{}", ended.whole());

    let other = World::new();
    let run = recorded(&other, &conversation(), &["--max-rounds", "1"]);
    let ended = other.marvin(["replay", &run]).run();
    assert!(ended.text().starts_with("same: 3 of 3"), "{}", ended.whole());

    for (name, value) in [("MARVIN_READONLY", "1"), ("MARVIN_WRITABLE_FILES", "a.txt,b.txt")] {
        let world = World::new();
        let marvin = world.play(&conversation(), &["--record", "../tape", "--json"]).env(name, value);
        let run = marvin.run().exits(0).json()["run_id"].as_str().unwrap().to_string();
        let ended = world.marvin(["replay", &run]).run();
        assert!(ended.text().starts_with("same: 3 of 3"), "{name}: {}", ended.whole());
    }
}

#[test]
fn two_runs_may_be_recorded_into_one_directory() {
    let world = World::new();
    let first = recorded(&world, &[say("first")], &[]);
    let second = recorded(&world, &[call("tree", json!({})), say("second")], &[]);
    for (run, exchanges) in [(first, 1), (second, 2)] {
        let ended = world.marvin(["replay", &run]).run();
        assert!(ended.text().starts_with(&format!("same: {exchanges} of {exchanges}")), "{}", ended.whole());
    }
}

#[test]
fn a_question_can_be_replayed_after_the_chat_log_has_grown() {
    let world = World::new();
    let script = world.script(&[say("first answer"), say("second answer")]);
    let tape = world.root().join("tape").display().to_string();
    let ask = |words: &str, more: &[&str]| {
        world
            .marvin([&["--script", &script], more, &[words]].concat())
            .env("MARVIN_SCRIPT_STATE", world.root().join("state"))
            .run()
            .exits(0)
    };
    ask("one", &[]);
    let result = ask("two", &["--record", &tape, "--json"]).json();
    let ended = world.marvin(["replay", result["run_id"].as_str().unwrap()]).run();
    assert!(ended.text().starts_with("same: 1 of 1"), "{}", ended.whole());
}

#[test]
fn a_recording_is_a_script() {
    let world = World::new();
    recorded(&world, &conversation(), &[]);
    fs::remove_file(world.project().join("a.txt")).unwrap();
    let tape = world.root().join("tape/script.jsonl").display().to_string();
    let ended = world.marvin(["--non-interactive", "--prompt", "go", "--script", &tape]).run().exits(0);
    assert!(ended.text().ends_with("Both are there.\n"));
    assert_eq!(world.read("a.txt"), "onetwo");
}

#[test]
fn a_run_with_repeated_calls_replays_to_the_same_end() {
    let world = World::new();
    let tree = || call("tree", json!({}));
    let script = [tree(), tree(), say("I looked twice.")];
    let run = recorded(&world, &script, &[]);
    let ended = world.marvin(["replay", &run]).run().exits(0);
    assert!(ended.text().starts_with("same: 3 of 3"), "{}", ended.whole());
    // A run that was stopped for repetition ends there again.
    let other = World::new();
    let tape = other.root().join("tape").display().to_string();
    let stopped =
        other.play(&[tree(), tree(), tree(), say("never said")], &["--record", &tape, "--json"]).run();
    let result = stopped.exits(1).json();
    assert_eq!(result["reason"], "no_progress");
    let ended = other.marvin(["replay", result["run_id"].as_str().unwrap()]).run().exits(0);
    assert!(ended.text().starts_with("same: 3 of 3"), "{}", ended.whole());
}
