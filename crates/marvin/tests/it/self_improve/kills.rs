//! Kills at any moment of a batch: resumed to the same winner and the same tree, and the checkout is never half merged.

use super::{EVALUATE, FIXED, assert_clean, head, repository_at, script, write};
use crate::support::{World, commands_run, files_below, runs_below, until};
use marvin_testing::git;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const WORKERS: u64 = 2;

fn words(tape: &str) -> [&str; 12] {
    let goal = ["self-improve", "--goal", "Fix the sum", "--evaluate", EVALUATE];
    let more = ["--script", tape, "--llm", "mock", "--sessions", "3", "--json"];
    let mut all = [""; 12];
    for (place, word) in all.iter_mut().zip(goal.into_iter().chain(more)) {
        *place = word;
    }
    all
}

/// The three files of the winner, so that a move of the checkout takes a moment.
fn tape(world: &World) -> String {
    let more: Vec<Value> = (0..3)
        .map(|number| {
            write(
                &format!("tests/test_{number}.sh"),
                &format!("check n{number} \"$(bash src/sum.sh {number} 1)\" $(({number} + 1))\n"),
            )
        })
        .collect();
    let best: Vec<Value> = [write("src/sum.sh", FIXED)].into_iter().chain(more).collect();
    world.script(&script(&[
        ("1-1", vec![write("src/sum.sh", FIXED)]),
        ("1-2", best),
        ("1-3", vec![write("src/sum.sh", "echo 5\n")]),
    ]))
}

/// The tree of the last commit is that of the files, or the one before: never in between.
fn assert_whole(root: &Path, before: &str, seed: &str) {
    let at = head(root);
    let dirty = git(root, &["status", "--porcelain", "--", ".", ":!.marvin"]);
    assert!(dirty.is_empty(), "{seed}: half merged at {at} (began at {before}): {dirty}");
}

/// Kills one run after a while, perhaps its resumption too, and resumes it to its end. Returns whether it was interrupted.
fn kill_once(world: &World, tape: &str, number: u64, length: Duration, expected: &str) -> bool {
    let root = world.root().join(format!("checkout-{number}"));
    repository_at(&root);
    let before = head(&root);
    let share = |number: u64| length.mul_f64((number % 41) as f64 / 41.0);
    let seed = format!("kill {number}");
    let begun = || {
        let first = runs_below(&world.state_of(&root).join("runs")).into_iter().next();
        first.filter(|run| fs::metadata(run.join("self_improve.jsonl")).is_ok_and(|facts| facts.len() > 0))
    };
    let running = world.marvin(words(tape)).env("MARVIN_VERIFY_ROUNDS", "0").directory(&root).start();
    // A few are killed before they have a journal; others begin at their own pace on a busy machine.
    if !number.is_multiple_of(8) {
        until("the run has a journal", || begun().is_some());
    }
    std::thread::sleep(share(number * 17 + 3));
    running.signal(Signal::KILL);
    running.end();
    let Some(run) = begun() else {
        assert_whole(&root, &before, &seed);
        return false;
    };
    let path = run.display().to_string();
    let resume = || {
        world
            .marvin(["resume-run", "--run-path", &path, "--json"])
            .env("MARVIN_VERIFY_ROUNDS", "0")
            .directory(&root)
    };
    if number.is_multiple_of(3) {
        let again = resume().start();
        std::thread::sleep(share(number * 7 + 1) / 2);
        again.signal(Signal::KILL);
        again.end();
    }
    let ended = resume().run();
    assert_eq!(ended.code, Some(0), "{seed}: {}", ended.whole());
    let report = ended.json();
    assert_eq!(report["batches"][0]["winner_session_id"], "1-2", "{seed}: {report:#}");
    assert_clean(&root);
    let tree = git(&root, &["ls-tree", "-r", "HEAD"]);
    let merged = git(&root, &["rev-parse", "HEAD^{tree}"]);
    assert_eq!(merged.trim(), expected, "{seed}: another tree: {tree}\n{report:#}");
    assert_eq!(git(&root, &["rev-parse", "HEAD^"]).trim(), before, "{seed}: merged more than once");
    for file in
        files_below(&run).into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "jsonl"))
    {
        let contents = marvin_base::ledger::read(&file).unwrap();
        assert!(contents.damaged.is_empty(), "{seed}: {}", file.display());
    }
    true
}

#[test]
fn a_batch_that_is_killed_anywhere_ends_as_an_uninterrupted_one() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let kills: u64 = std::env::var("MARVIN_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let tape = tape(&world);
    let root = world.root().join("whole");
    repository_at(&root);
    let begun = Instant::now();
    let ended = world.marvin(words(&tape)).env("MARVIN_VERIFY_ROUNDS", "0").directory(&root).run().exits(0);
    let length = begun.elapsed();
    assert_eq!(ended.json()["batches"][0]["winner_session_id"], "1-2");
    let expected = git(&root, &["rev-parse", "HEAD^{tree}"]).trim().to_string();
    let interrupted: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (world, tape, expected) = (&world, &tape, &expected);
                scope.spawn(move || {
                    let mine = (0..kills).filter(move |number| number % WORKERS == worker);
                    mine.filter(|number| kill_once(world, tape, *number, length, expected)).count()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert!(interrupted as u64 > kills / 2, "only {interrupted} of {kills} kills fell into a run");
}

#[test]
fn a_move_of_the_checkout_that_was_cut_off_is_completed() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let root = world.project();
    repository_at(&root);
    let from = head(&root);
    let tape = tape(&world);
    world.marvin(words(&tape)).env("MARVIN_VERIFY_ROUNDS", "0").run().exits(0);
    let to = head(&root);
    // As a kill between two files leaves it: the old commit, one new file, one half of another, and git's lock.
    git(&root, &["reset", "--hard", "-q", &from]);
    let intent = serde_json::json!({"version": 1, "run": "run_x", "from": from, "to": to});
    world.write_state("self_improve_merge.json", &intent.to_string());
    world.write("src/sum.sh", FIXED);
    world.write("tests/test_0.sh", "check n0");
    world.write(".git/index.lock", "");
    let other = world.script(&script(&[("1-1", vec![]), ("1-2", vec![]), ("1-3", vec![])]));
    let ended = world.marvin(words(&other)).env("MARVIN_VERIFY_ROUNDS", "0").run().exits(3);
    assert!(ended.stderr.contains("completing the merge of run_x"), "{}", ended.whole());
    assert_eq!(head(&root), to);
    assert_clean(&root);
    assert!(!world.state().join("self_improve_merge.json").exists());
    // A file that the move does not touch is a person's: nothing is done.
    git(&root, &["reset", "--hard", "-q", &from]);
    world.write_state("self_improve_merge.json", &intent.to_string());
    world.write("src/name.sh", "mine\n");
    let ended = world.marvin(words(&other)).run().exits(4);
    assert!(
        ended.whole().contains("cannot complete an interrupted merge")
            && ended.whole().contains("src/name.sh")
    );
    assert_eq!(world.read("src/name.sh"), "mine\n");
}
