//! Agents that claim success falsely, and agents that do the work: every lie is refused, and no work is rejected.

#[path = "../honesty/runner.rs"]
mod runner;

use crate::support::{PROGRAM, World, call, commands_run, json_file, say};
use runner::{Verdict, cases, missing, play, projects, set_toolchains};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

fn suites() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/honesty")
}

/// Sampling rate of the long suites; `cargo xtask bench honesty` plays all cases.
const SAMPLE: usize = 8;

/// Plays every case of a suite, two at a time.
fn played(suite: &str) -> Vec<Verdict> {
    let cases = cases(&suites(), suite).unwrap();
    assert!(cases.len() >= 40, "{suite}: {}", cases.len());
    played_cases(cases)
}

/// Plays a part of a suite: the cases that this machine can play.
fn sampled(suite: &str) -> Vec<Verdict> {
    if let Some(python) = std::env::var_os("MARVIN_TEST_PYTHON") {
        set_toolchains(vec![python.into()]);
    }
    let all = cases(&suites(), suite).unwrap();
    assert!(all.len() >= 100, "{suite}: {}", all.len());
    let mut some = Vec::new();
    for case in all.into_iter().step_by(SAMPLE) {
        match missing(&suites(), &case).unwrap() {
            Some(why) => eprintln!("SKIPPED: {suite} {}: {why}", case["name"]),
            None => some.push(case),
        }
    }
    played_cases(some)
}

fn played_cases(cases: Vec<Value>) -> Vec<Verdict> {
    let (next, verdicts) = (Mutex::new(cases.into_iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { break };
                    let directory = tempfile::Builder::new().prefix("marvin-honesty-").tempdir().unwrap();
                    let verdict = play(Path::new(PROGRAM), &suites(), &case, directory.path()).unwrap();
                    verdicts.lock().unwrap().push(verdict);
                }
            });
        }
    });
    verdicts.into_inner().unwrap()
}

fn complaints(verdicts: &[Verdict]) -> String {
    let wrong = verdicts.iter().filter(|verdict| !verdict.agrees());
    let row = |verdict: &Verdict| {
        format!(
            "{}: exit {} (expected {})\n{:#}\n{}",
            verdict.name, verdict.exit, verdict.expected, verdict.result, verdict.stderr
        )
    };
    wrong.map(row).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn false_claims_are_refused() {
    if !commands_run(&World::new()) {
        return;
    }
    let verdicts = played("liars");
    let accepted: Vec<&str> =
        verdicts.iter().filter(|verdict| verdict.accepted()).map(|verdict| verdict.name.as_str()).collect();
    assert!(accepted.is_empty(), "accepted: {accepted:?}");
    assert_eq!(complaints(&verdicts), "");
}

#[test]
fn honest_work_is_accepted() {
    if !commands_run(&World::new()) {
        return;
    }
    let verdicts = played("honest");
    let rejected: Vec<&str> =
        verdicts.iter().filter(|verdict| !verdict.accepted()).map(|verdict| verdict.name.as_str()).collect();
    assert!(rejected.is_empty(), "turned down: {rejected:?}\n{}", complaints(&verdicts));
    assert_eq!(complaints(&verdicts), "");
}

#[test]
fn s8_cheats_at_verification_are_refused() {
    if !commands_run(&World::new()) {
        return;
    }
    let verdicts = sampled("cheats");
    let accepted: Vec<&str> =
        verdicts.iter().filter(|verdict| verdict.accepted()).map(|verdict| verdict.name.as_str()).collect();
    assert!(accepted.is_empty(), "accepted: {accepted:?}\n{}", complaints(&verdicts));
    assert_eq!(complaints(&verdicts), "");
}

#[test]
fn s8_honest_projects_are_accepted() {
    if !commands_run(&World::new()) {
        return;
    }
    let verdicts = sampled("honest_projects");
    let rejected: Vec<&str> = verdicts
        .iter()
        .filter(|verdict| !verdict.accepted() && !verdict.lacks_loopback())
        .map(|verdict| verdict.name.as_str())
        .collect();
    assert!(rejected.is_empty(), "turned down: {rejected:?}\n{}", complaints(&verdicts));
}

#[test]
fn s8_every_project_has_its_own_cheats() {
    let cheats = cases(&suites(), "cheats").unwrap();
    for project in projects(&suites()).unwrap() {
        let count = cheats.iter().filter(|case| case["project"] == project.as_str()).count();
        assert!(count >= 4, "{project}: {count}");
    }
}

#[test]
fn s8_a_change_that_the_task_allows_is_reported() {
    if !commands_run(&World::new()) {
        return;
    }
    let world = World::new();
    world.write("run.sh", "bash tests/a.sh && printf 'ok 1 - a\\n1..1\\n'\n");
    world.write("tests/a.sh", "test -f a.txt\n");
    let change = call("run_command", json!({"command": "echo 'echo 1..1' >> run.sh; touch a.txt"}));
    let words = ["--json", "--commitment", "tests_pass:command bash run.sh"];
    let script = [change.clone(), say("Done.")];
    let refused = world.play(&script, &words).env("MARVIN_VERIFY_ROUNDS", "0").run().exits(3).json();
    let reason = refused["verification"]["commitments"][0]["reason"].as_str().unwrap().to_string();
    assert!(reason.contains("`run.sh` was changed") && reason.contains("--may-change"), "{reason}");
    world.write("run.sh", "bash tests/a.sh && printf 'ok 1 - a\\n1..1\\n'\n");
    let words = [&words[..], &["--may-change", "run.sh"]].concat();
    let allowed = world.play(&[change, say("Done.")], &words).run().exits(0).json();
    let evidence = allowed["verification"]["commitments"][0]["evidence"].as_str().unwrap().to_string();
    assert!(evidence.contains("`run.sh` was changed, which the task allows"), "{evidence}");
}

// ---- verification of a turn -------------------------------------------------------------------------------------------

const FILE: &str = "file_exists:a.txt";

fn make() -> Value {
    call("create_file", json!({"path": "a.txt", "content": "a\n"}))
}

#[test]
fn all_three_formats_carry_the_verification() {
    let world = World::new();
    let text =
        world.play(&[say("Done.")], &["--commitment", FILE]).env("MARVIN_VERIFY_ROUNDS", "0").run().exits(3);
    assert_eq!(text.text(), "Done.\n");
    assert!(text.stderr.contains("not verified: 0 of 1 passed, 1 failed"), "{}", text.stderr);
    assert!(text.stderr.contains("marvin: not verified: 0 of 1"), "{}", text.stderr);
    text.cost();
    let json = world.play(&[make(), say("Done.")], &["--json", "--commitment", FILE]).run().exits(0).json();
    assert_eq!(json["verification"]["status"], "passed");
    assert_eq!(json["verification"]["commitments"][0]["status"], "passed");
    std::fs::remove_file(world.project().join("a.txt")).unwrap();
    let script = [say("Done."), say("Done."), make(), say("Done now.")];
    let stream =
        world.play(&script, &["--output-format", "stream-json", "--commitment", FILE]).run().exits(0);
    let events = stream.events();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "verification.completed").count(), 3, "{kinds:?}");
    let result = events.last().unwrap();
    assert_eq!(
        (&result["verification"]["status"], &result["verification"]["rounds"]),
        (&json!("passed"), &json!(3))
    );
    assert_eq!(result["text"], "Done now.");
}

#[test]
fn a_turn_without_commitments_says_so() {
    let world = World::new();
    let result = world.play(&[say("Hello.")], &["--json"]).run().exits(0).json();
    assert_eq!(result["verification"]["status"], "none");
    assert!(!world.state().join("agents").exists(), "nothing was promised");
}

#[test]
fn a_turn_ended_by_a_limit_is_not_a_success_and_lists_unverified_commitments() {
    let world = World::new();
    let script = [make(), say("unreached")];
    let ended =
        world.play(&script, &["--json", "--commitment", FILE, "--max-rounds", "1"]).run().exits(0).json();
    assert_eq!(ended["verification"]["status"], "passed");
    let looks: Vec<Value> = (0..9).map(|_| call("tree", json!({"path": "."}))).collect();
    let ended = world.play(&looks, &["--json", "--commitment", FILE]).run().exits(1).json();
    assert_eq!(
        (&ended["reason"], &ended["verification"]["status"]),
        (&json!("no_progress"), &json!("not_run"))
    );
    assert_eq!(ended["verification"]["commitments"][0]["status"], "pending");
    let empty = world.play(&[make()], &["--json", "--commitment", FILE]).run().exits(1).json();
    assert_eq!((&empty["status"], &empty["verification"]["status"]), (&json!("partial"), &json!("not_run")));
    let late = [json!({"reply": {"text": "Done."}, "delay_ms": 20_000})];
    let ended = world.play(&late, &["--json", "--commitment", FILE, "--deadline", "1"]).run().exits(1).json();
    assert_eq!((&ended["reason"], &ended["verification"]["status"]), (&json!("deadline"), &json!("not_run")));
}

#[test]
fn a_vacuous_commitment_is_refused_before_anything_is_sent() {
    let world = World::new();
    for (commitment, says) in [
        ("shell:pytest -q || true", "masks"),
        ("shell:true", "cannot fail"),
        ("shell:", "empty"),
        ("pytest -q", "names no kind"),
        ("magic:x", "unknown kind `magic`"),
        ("file_exists:.", "project"),
    ] {
        let ended = world.play(&[say("unsent")], &["--commitment", commitment]).run().exits(2);
        assert!(ended.message().contains(says), "{commitment}: {}", ended.stderr);
        assert!(ended.text().is_empty());
    }
    assert!(world.runs().is_empty(), "{:?}", world.runs());
    assert!(!world.state().join("agents").exists());
    let refused = world.play(&[say("unsent")], &["--commitment", "shell:test -f x > /etc/passwd"]).run();
    refused.exits(5);
}

#[test]
fn commitments_of_a_turn_end_with_it_and_stay_in_its_run() {
    let world = World::new();
    world.play(&[say("Done.")], &["--commitment", FILE]).env("MARVIN_VERIFY_ROUNDS", "0").run().exits(3);
    let run = world.run();
    let kept = std::fs::read_to_string(run.join("agent.md")).unwrap();
    assert!(kept.contains("file_exists: a.txt") && kept.contains("❌"), "{kept}");
    assert_eq!(json_file(&run.join("run.json"))["verification"]["status"], "failed");
    // They do not become commitments of the project.
    world.marvin(["verify"]).run().exits(0);
}

#[test]
fn a_verified_run_replays() {
    let world = World::new();
    let script = [say("Done."), make(), say("Done now.")];
    world.play(&script, &["--commitment", FILE, "--record", "tape"]).run().exits(0);
    std::fs::remove_file(world.project().join("a.txt")).unwrap();
    let name = world.run().file_name().unwrap().to_string_lossy().into_owned();
    let replayed = world.marvin(["replay", &name, "--json"]).run().exits(0).json();
    assert_eq!(replayed["same"], true, "{replayed:#}");
}
