//! Merges of winners into a checkout that changed while the sessions worked.

use super::{EVALUATE, FIXED, assert_clean, head, journal, repository, script, write};
use crate::support::{RunningProgram, World, commands_run, until};
use marvin_testing::git;
use serde_json::json;
use std::fs;

/// A run whose one session wins, and works long enough for the checkout to be changed meanwhile.
fn start_winner(world: &World) -> RunningProgram {
    repository(world);
    let mut entries = script(&[("1-1", vec![write("src/sum.sh", FIXED)])]);
    entries[1]["delay_ms"] = json!(3_000);
    let tape = world.script(&entries);
    let words = ["self-improve", "--goal", "Fix the sum", "--evaluate", EVALUATE, "--sessions", "1"];
    let words = words.into_iter().chain(["--llm", "mock", "--script", &tape]);
    let running = world.marvin(words).env("MARVIN_VERIFY_ROUNDS", "0").start();
    until("the session works", || world.runs().iter().any(|run| journal(run).contains("\"workflow\"")));
    running
}

#[test]
fn a_winner_is_merged_when_the_checkout_is_clean_again() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let running = start_winner(&world);
    // The checkout is changed while the session works.
    world.write("mine.txt", "mine\n");
    let ended = running.end().exits(3);
    let run = world.run().display().to_string();
    let patch = format!("{run}/sessions/session-1-1/changes.patch");
    for part in [
        "not merged: the checkout has uncommitted changes: mine.txt\n",
        &format!("hint: put the checkout in order, then marvin resume-run --run-path {run}\n"),
        &format!("hint: git apply {patch} "),
    ] {
        assert!(ended.text().contains(part), "{part}: {}", ended.whole());
    }
    assert!(fs::read_to_string(patch).unwrap().contains("+echo $(($1 + $2))"));
    fs::remove_file(world.project().join("mine.txt")).unwrap();
    // Regression: a branch that was switched meanwhile got the commit.
    git(&world.project(), &["switch", "-q", "-c", "other"]);
    let ended = world.marvin(["resume-run", "--run-path", &run]).run().exits(3);
    let part = "the run began on `main`, and the checkout is on `other` now";
    assert!(ended.text().contains(part), "{}", ended.whole());
    git(&world.project(), &["switch", "-q", "main"]);
    let report = world.marvin(["resume-run", "--run-path", &run, "--json"]).run().exits(0).json();
    assert_eq!(report["batches"][0]["merged"], true, "{report:#}");
    assert_eq!(world.read("src/sum.sh"), FIXED);
    assert_clean(&world.project());
}

#[test]
fn a_winner_that_the_checkout_already_has_counts_as_merged() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let running = start_winner(&world);
    // The same change is committed while the session works.
    world.write("src/sum.sh", FIXED);
    git(&world.project(), &["commit", "-q", "-a", "-m", "the same"]);
    let before = head(&world.project());
    let ended = running.end().exits(0);
    assert!(ended.text().starts_with("MERGED: Fix the sum\n"), "{}", ended.whole());
    assert!(ended.text().contains("nothing to merge: the checkout already has these changes\n"));
    assert!(!ended.text().contains("git apply"), "{}", ended.text());
    assert_eq!(head(&world.project()), before);
}
