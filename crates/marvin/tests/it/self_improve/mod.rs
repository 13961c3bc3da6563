//! `marvin self-improve`: sessions by script, winners that are verified, merges that are whole.

mod adversaries;
mod kills;
mod merges;
mod suite;

use crate::support::{ProgramOutput, World, call, commands_run, json_file, put, until};
use marvin_testing::git;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const EVALUATE: &str = "bash tests/run.sh";
/// Prints TAP, so that tests are counted by name.
const RUNNER: &str = r#"n=0; bad=0
check() { n=$((n+1)); if [ "$2" = "$3" ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; bad=1; fi; }
for file in tests/test_*.sh; do . "$file"; done
echo "1..$n"
exit $bad
"#;
pub(super) const FIXED: &str = "echo $(($1 + $2))\n";

/// A repository whose sum is wrong, and a test that says so.
const FILES: [(&str, &str); 6] = [
    ("src/sum.sh", "echo $(($1 - $2))\n"),
    ("src/name.sh", "echo marvin\n"),
    ("tests/run.sh", RUNNER),
    ("tests/test_sum.sh", "check sum \"$(bash src/sum.sh 2 3)\" 5\n"),
    ("tests/test_name.sh", "check name \"$(bash src/name.sh)\" marvin\n"),
    ("Makefile", "test:\n\tbash tests/run.sh\n"),
];

pub(super) fn repository(world: &World) {
    repository_at(&world.project());
}

pub(super) fn repository_at(root: &Path) {
    for (name, text) in FILES {
        put(&root.join(name), text);
    }
    git(root, &["init", "-q", "-b", "main"]);
    git(root, &["add", "--all"]);
    git(root, &["commit", "-q", "-m", "first"]);
}

/// The call that gives a file this content, new or not.
pub(super) fn write(path: &str, content: &str) -> Value {
    match FILES.iter().find(|(name, _)| *name == path) {
        Some((_, old)) => call("apply_patch", json!({"path": path, "old_str": old, "new_str": content})),
        None => call("create_file", json!({"path": path, "content": content})),
    }
}

/// The script of one session: its plan is one step, in which it makes these calls and claims success.
pub(super) fn session(id: &str, calls: &[Value]) -> Vec<Value> {
    let step = format!("work-{id}");
    let steps = json!([{"id": step, "worker": "Implementer", "description": "Make it right"}]);
    let mut script = vec![json!({
        "when": {"role": "Planner", "contains": format!("Session: {id}\n")},
        "reply": {"json": {"status": "SUCCESS", "summary": "a plan", "workflow": {"steps": steps}}},
    })];
    for call in calls {
        let mut call = call.clone();
        call["when"] = json!({"step": step});
        script.push(call);
    }
    script.push(json!({"when": {"step": step}, "reply": {"json": {"status": "SUCCESS", "summary": "Done!"}}, "repeat": true}));
    script
}

/// The script of all sessions; every last step claims success.
pub(super) fn script(sessions: &[(&str, Vec<Value>)]) -> Vec<Value> {
    let mut all: Vec<Value> = sessions.iter().flat_map(|(id, calls)| session(id, calls)).collect();
    all.push(
        json!({"reply": {"json": {"status": "SUCCESS", "summary": "All of it is done."}}, "repeat": true}),
    );
    all
}

pub(super) fn improve(world: &World, script: &[Value], more: &[&str]) -> ProgramOutput {
    let script = world.script(script);
    let mut words =
        vec!["self-improve", "--goal", "Fix the sum", "--evaluate", EVALUATE, "--script", &script];
    words.extend(["--llm", "mock", "--json"]);
    words.extend(more);
    world.marvin(words).env("MARVIN_VERIFY_ROUNDS", "0").run()
}

pub(super) fn head(root: &Path) -> String {
    git(root, &["rev-parse", "HEAD"]).trim().to_string()
}

/// Nothing but the record is in the way of git.
pub(super) fn assert_clean(root: &Path) {
    let status = git(root, &["status", "--porcelain", "--", ".", ":!.marvin"]);
    assert_eq!(status, "", "the checkout is not clean");
}

fn run_of(report: &Value) -> PathBuf {
    PathBuf::from(report["run_root"].as_str().unwrap())
}

#[test]
fn the_best_verified_session_is_merged() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    let before = head(&world.project());
    let with_test = vec![
        write("src/sum.sh", FIXED),
        write("tests/test_more.sh", "check more \"$(bash src/sum.sh 0 0)\" 0\n"),
    ];
    let sessions = [
        ("1-1", vec![write("src/sum.sh", FIXED)]),
        ("1-2", with_test),
        ("1-3", vec![write("src/sum.sh", "echo 6\n")]),
    ];
    let ended = improve(&world, &script(&sessions), &["--sessions", "3"]).exits(0);
    let report = ended.json();
    let batch = &report["batches"][0];
    assert_eq!(
        (&report["status"], &batch["winner_session_id"]),
        (&json!("COMPLETED"), &json!("1-2")),
        "{report:#}"
    );
    assert_eq!((&batch["merged"], &batch["master_evaluation"]["passed"]), (&json!(true), &json!(3)));
    let baseline = &batch["master_baseline_evaluation"];
    assert_eq!(
        (&baseline["ok"], &baseline["passed"], &baseline["failed"]),
        (&json!(false), &json!(1), &json!(1))
    );
    let sessions = batch["sessions"].as_array().unwrap();
    assert_eq!(sessions[1]["score"], json!([1, 1, 1, 1, 3]));
    assert_eq!(sessions[1]["changed_files"], json!(["src/sum.sh", "tests/test_more.sh"]));
    assert_eq!((&sessions[2]["verification_ok"], &sessions[2]["status"]), (&json!(false), &json!("FAILED")));
    assert_eq!(sessions[2]["entrypoint_attempts"], 3, "up to three attempts");
    assert!(
        sessions[0]["attempts"][0]["steps"][0]["evaluation"]["ok"].as_bool().unwrap(),
        "evaluated after the step"
    );

    assert_eq!(world.read("src/sum.sh"), FIXED);
    assert!(world.project().join("tests/test_more.sh").is_file());
    assert_clean(&world.project());
    assert_eq!(git(&world.project(), &["rev-parse", "HEAD^"]).trim(), before, "one commit");
    let subject = git(&world.project(), &["log", "-1", "--format=%s"]);
    assert_eq!(subject.trim(), "self-improve: winner session 1-2");
    assert!(!git(&world.project(), &["worktree", "list"]).contains(".marvin"), "worktrees are removed");

    // Energy is what the sessions used, and the prompt of every attempt is on record.
    let sum: u64 = sessions
        .iter()
        .map(|one| one["model_calls"].as_u64().unwrap() + one["tool_calls"].as_u64().unwrap())
        .sum();
    assert!(sum > 0);
    assert_eq!(report["energy"], json!({"planned": 3 * 3 * 2, "actual": sum}));
    let run = run_of(&report);
    let kept = json_file(&run.join("sessions/session-1-3/session.json"));
    assert_eq!(kept["attempts"].as_array().unwrap().len(), 3);
    assert_eq!(sessions[2]["attempts"][1]["prompt"], Value::Null, "prompts are in session.json alone");
    let second = kept["attempts"][1]["prompt"].as_str().unwrap();
    assert!(
        second.starts_with("Constitution Acknowledgement:")
            && second.contains("## Evaluation Plan (Required)")
    );
    assert!(second.contains("Attempt: 2 of 3") && second.contains("It was not verified:"), "{second}");
    let text = fs::read_to_string(run.join("reports/self_improve.md")).unwrap();
    for heading in ["Constitution Acknowledgement", "Scoring Rubric", "Energy Budget", "Audit Log", "Batches"]
    {
        assert!(text.contains(&format!("\n## {heading}\n")), "{heading}");
    }
    assert!(fs::read_to_string(run.join("reports/self_improve.html")).unwrap().contains("<svg"));
    let listed = world.marvin(["runs", "list", "--json"]).run().exits(0);
    assert!(listed.text().contains("\"self-improve\""), "{}", listed.text());
}

#[test]
fn without_a_merge_nothing_changes_and_all_batches_run() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    let before = head(&world.project());
    let sessions = [("1-1", vec![]), ("2-1", vec![write("src/sum.sh", FIXED)])];
    let more = ["--sessions", "1", "--batches", "2", "--no-merge"];
    let report = improve(&world, &script(&sessions), &more).exits(0).json();
    assert_eq!(report["batches"][0]["winner_session_id"], Value::Null, "{report:#}");
    let first = &report["batches"][0]["sessions"][0];
    assert!(first["verification_reason"].as_str().unwrap().len() > 5, "{first:#}");
    assert_eq!(report["batches"][1]["winner_session_id"], "2-1");
    assert_eq!(report["batches"][1]["merged"], false);
    assert_eq!(head(&world.project()), before);
    assert_clean(&world.project());
    let patch = run_of(&report).join("sessions/session-2-1/changes.patch");
    assert!(fs::read_to_string(patch).unwrap().contains("+echo $(($1 + $2))"));
}

#[test]
fn what_cannot_be_begun_is_refused() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let none = improve(&world, &[], &["--input", "http://127.0.0.1:9/x"]);
    let text = none.exits(4).whole();
    assert!(text.contains("is not the root of a git checkout"), "{text}");
    world.write(".git", "gitdir: /missing\n");
    let broken = improve(&world, &[], &[]).exits(4);
    assert!(broken.whole().contains("cannot be used as a git checkout"), "{}", broken.whole());
    fs::remove_file(world.project().join(".git")).unwrap();
    marvin_testing::git(&world.project(), &["init", "--quiet"]);
    let empty = improve(&world, &[], &[]).exits(4);
    assert!(empty.whole().contains("the repository has no commit"), "{}", empty.whole());
    repository(&world);
    for (words, code, why) in [
        (&["--llm", "mixed", "--sessions", "4"][..], 2, "multiple of 5"),
        (&["--include", "../x"][..], 2, "not a path below the project"),
        (&["--include", "src,scr"][..], 2, "cannot include `scr`: it does not exist"),
        (&["--script", "missing.jsonl"][..], 2, "cannot read the script"),
        (&["--evaluate", "suite:missing"][..], 2, "unknown task `missing`"),
        (&["--evaluate", "suite:"][..], 2, "--evaluate names an empty task of the suite"),
        (&["--evaluate", ""][..], 2, "hint: leave it out for the tests of the project"),
        (&["--input", "src"][..], 2, "cannot use src as the input: it is a directory"),
        (&["--input", "file://host/x"][..], 2, "a file URL with a host"),
        (&["--input", "nope.txt"][..], 2, "cannot read the input nope.txt: it does not exist"),
        (&["--evaluate", "true"][..], 2, "--evaluate"),
        (&["--evaluate", "bash tests/missing.sh"][..], 4, "cannot evaluate the checkout"),
        (&["--input", "http://127.0.0.1:9/x"][..], 1, "cannot read the input http://127.0.0.1:9/x"),
    ] {
        let all = ["self-improve", "--goal", "Fix the sum"].iter().chain(words).copied();
        let ended = world.marvin(all).run();
        assert!(ended.code == Some(code) && ended.whole().contains(why), "{words:?}: {}", ended.whole());
    }
    let begun = world.runs().into_iter().filter(|run| !journal(run).is_empty()).count();
    assert_eq!(begun, 1, "only the run whose checkout was evaluated");
    let trees = marvin_testing::git(&world.project(), &["worktree", "list"]);
    assert_eq!(trees.lines().count(), 1, "a checkout that cannot be evaluated leaves none: {trees}");
    let aimless = world.marvin(["self-improve", "--goal", " "]).run().exits(2);
    assert!(aimless.whole().contains("--goal is empty"), "{}", aimless.whole());
    let failed = world.runs().into_iter().find(|run| !journal(run).is_empty()).unwrap();
    let shown = world.marvin(["runs", "show", &failed.display().to_string()]).run().exits(0);
    assert!(shown.text().contains(", ended: cannot evaluate the checkout: "), "{}", shown.text());
    let mixed = world.marvin(["self-improve", "--goal", "Fix the sum", "--llm", "mixed"]);
    let mixed = mixed.env("CLAUDE_CODE_CLI", "/no/claude").env("CODEX_CLI", "/no/codex").run().exits(2);
    assert!(mixed.whole().contains("the provider claude cannot be used: `/no/claude`"), "{}", mixed.whole());
    let vague = world.marvin(["self-improve", "--goal", "fix it", "--evaluate", EVALUATE]).run().exits(4);
    assert!(vague.text().starts_with("BLOCKED: fix it\n"), "{}", vague.text());
    assert!(vague.text().contains("question: Which behaviour"), "{}", vague.text());
    assert!(!vague.stderr.contains("evaluating the checkout"), "{}", vague.stderr);
    world.write("src/new.sh", "echo\n");
    let dirty = improve(&world, &[], &[]).exits(4);
    assert!(dirty.whole().contains("uncommitted changes: src/new.sh"), "{}", dirty.whole());
}

#[test]
fn inputs_are_part_of_the_prompt() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    put(&world.root().join("notes.txt"), "the sign is wrong");
    let notes = world.root().join("notes.txt").display().to_string();
    let more = ["--sessions", "1", "--no-merge", "--input", &notes];
    let report = improve(&world, &script(&[("1-1", vec![])]), &more).exits(3).json();
    assert_eq!(report["input"], json!({"kind": "file", "ref": notes}));
    let kept = json_file(&run_of(&report).join("sessions/session-1-1/session.json"));
    let prompt = kept["attempts"][0]["prompt"].as_str().unwrap();
    assert!(
        prompt.trim_end().ends_with("the sign is wrong") && prompt.contains("not instructions"),
        "{prompt}"
    );
}

#[test]
fn reports_match_their_schemas() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    let sessions = [("1-1", vec![write("src/sum.sh", FIXED)]), ("1-2", vec![])];
    let report = improve(&world, &script(&sessions), &["--sessions", "2"]).exits(0).json();
    let run = run_of(&report);
    for (file, name) in [
        ("self-improve", "reports/self_improve.json"),
        ("session", "sessions/session-1-1/session.json"),
        ("session", "sessions/session-1-2/session.json"),
    ] {
        let printed = world.marvin(["schema", file]).run().exits(0).quiet();
        let schema = serde_json::from_str(printed.text()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let written = json_file(&run.join(name));
        let errors: Vec<String> = validator.iter_errors(&written).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{name}");
        assert!(!validator.is_valid(&json!({"version": 1})), "{name}");
    }
}

#[test]
fn a_url_in_the_goal_is_fetched() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4_096];
        let length = stream.read(&mut head).unwrap();
        let body = "the minus is wrong";
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        String::from_utf8_lossy(&head[..length]).into_owned()
    });
    let goal = format!("Fix the sum as http://{address}/report says.");
    let tape = world.script(&script(&[("1-1", vec![])]));
    let words = ["self-improve", "--goal", &goal, "--evaluate", EVALUATE, "--script", &tape];
    let report = world
        .marvin(words)
        .args(["--llm", "mock", "--json", "--sessions", "1", "--no-merge"])
        .env("MARVIN_WEB_ORG_ALLOWLIST", &address)
        .env("MARVIN_VERIFY_ROUNDS", "0")
        .run()
        .exits(3)
        .json();
    assert_eq!(report["input"], json!({"kind": "url", "ref": format!("http://{address}/report")}));
    assert!(server.join().unwrap().starts_with("GET /report HTTP/1.1\r\n"));
    let kept = json_file(&run_of(&report).join("sessions/session-1-1/session.json"));
    let prompt = kept["attempts"][0]["prompt"].as_str().unwrap();
    assert!(prompt.contains("the minus is wrong") && prompt.contains("not instructions"), "{prompt}");
    // Under the rules for the web: without a list, no host that a goal names is asked.
    let refused = improve(&world, &[], &["--input", "http://192.0.2.1/x"]).exits(1);
    assert!(refused.whole().contains("cannot read the input http://192.0.2.1/x"), "{}", refused.whole());
    assert!(!refused.whole().to_lowercase().contains("tell the person"), "{}", refused.whole());
}

#[test]
fn a_goal_that_needs_no_change_is_reached_without_a_merge() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository_at(&world.project());
    world.write("src/sum.sh", FIXED);
    git(&world.project(), &["commit", "-q", "-a", "-m", "right"]);
    let before = head(&world.project());
    let tape = world.script(&script(&[("1-1", vec![])]));
    let words = ["self-improve", "--goal", "Review the sum", "--evaluate", EVALUATE, "--script", &tape];
    let report = world
        .marvin(words)
        .args(["--llm", "mock", "--json", "--sessions", "1"])
        .env("MARVIN_VERIFY_ROUNDS", "0")
        .run()
        .exits(0)
        .json();
    let batch = &report["batches"][0];
    assert_eq!((&batch["winner_session_id"], &batch["merged"]), (&json!("1-1"), &json!(true)), "{report:#}");
    assert_eq!(batch["merge"]["reason"], "nothing to merge: the winner changed nothing");
    assert_eq!(batch["merge"]["commit"], Value::Null);
    assert_eq!(head(&world.project()), before);
}

#[test]
fn two_runs_merge_one_after_the_other() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    // Both change the same line; the second prefers its own.
    let start = |content: &str| {
        let script = world.script(&script(&[("1-1", vec![write("src/sum.sh", content)])]));
        let words = ["self-improve", "--goal", "Fix the sum", "--evaluate", EVALUATE, "--script", &script];
        world.marvin(words).args(["--llm", "mock", "--sessions", "1", "--json"]).start()
    };
    let running = [start(FIXED), start("echo $(( $1 + $2 ))\n")];
    let reports: Vec<Value> = running.map(|one| one.end().exits(0).json()).into();
    for report in &reports {
        assert_eq!(report["batches"][0]["merged"], true, "{report:#}");
    }
    assert_eq!(git(&world.project(), &["rev-list", "--count", "HEAD"]).trim(), "3");
    assert_clean(&world.project());
    let commits: Vec<&str> =
        reports.iter().filter_map(|one| one["batches"][0]["merge"]["commit"].as_str()).collect();
    assert!(commits.contains(&head(&world.project()).as_str()), "{commits:?}");
    let last = reports
        .iter()
        .find(|one| one["batches"][0]["merge"]["commit"] == head(&world.project()).as_str())
        .unwrap();
    let conflicts = &last["batches"][0]["merge"]["conflicts"];
    // Where the first had merged before the second began, there was nothing to conflict with.
    assert!(conflicts.is_null() || *conflicts == json!(["src/sum.sh"]), "{last:#}");
}

#[test]
fn stop_signals_end_the_work_and_it_is_resumed() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    let before = head(&world.project());
    let slow = json!({"reply": {"json": {"status": "SUCCESS", "summary": "slow"}}, "delay_ms": 600_000});
    for how in ["signal", "stop-run", "file"] {
        let mut entries = vec![slow.clone()];
        entries[0]["when"] = json!({"step": "work-1-1"});
        let tape = world.script(&[session("1-1", &[]).remove(0), entries.remove(0)]);
        let words =
            ["self-improve", "--goal", "Fix the sum", "--evaluate", EVALUATE, "--sessions", "2", "--json"];
        let words = words.into_iter().chain(["--workers", "1", "--llm", "mock", "--script", &tape]);
        let running = world.marvin(words).start();
        let mut run = PathBuf::new();
        until("the session works", || {
            let held = world.runs().into_iter().find(|run| marvin_flow::engine::holder(run).is_some());
            run = held.unwrap_or_default();
            planned_workflow(&run).is_some()
        });
        let stop = world.project().join(".marvin/stop-self-improve");
        match how {
            "signal" => running.signal(Signal::INT),
            "stop-run" => {
                world.person(["stop-run", "--run-path", &run.display().to_string()]).run().exits(0);
            }
            _ => fs::write(&stop, "").unwrap(),
        }
        let report = running.end().exits(130).json();
        assert_eq!(report["status"], "STOPPED", "{how}: {report:#}");
        assert_eq!(report["stop_reason"], if how == "file" { "stop_file" } else { "signal" });
        assert!(journal(&run).trim_end().lines().last().unwrap().contains("\"stopped\""), "{how}");
        assert_eq!(head(&world.project()), before);
        assert!(report["energy"]["actual"].as_u64() > Some(0), "{how}: the plan was asked for: {report:#}");
        let begun = fs::read_dir(run.join("sessions")).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(begun.collect::<Vec<_>>(), ["session-1-1"], "{how}: nothing begins after the stop");
        fs::remove_file(&stop).ok();
        if how == "file" {
            // With another script it is resumed to its end.
            let tape = world.script(&script(&[("1-1", vec![write("src/sum.sh", FIXED)])]));
            let words = ["resume-run", "--run-path", &run.display().to_string(), "--script", &tape, "--json"];
            let report = world.marvin(words).run().exits(0).json();
            assert_eq!(report["batches"][0]["merged"], true, "{report:#}");
            assert_eq!(world.read("src/sum.sh"), FIXED);
        }
    }
}

#[test]
fn a_spent_budget_stops_the_run_and_more_resumes_it() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    let before = head(&world.project());
    // A token of input costs a dollar.
    let prices = "[[price]]\nprovider = \"mock\"\ninput = 1000000.0\noutput = 0.0\n";
    put(&world.user().join("prices.toml"), prices);
    let mut entries = script(&[("1-1", vec![write("src/sum.sh", FIXED)]), ("1-2", vec![])]);
    for entry in &mut entries {
        entry["reply"]["usage"] = json!({"input": 2, "output": 0});
    }
    let ended = improve(&world, &entries, &["--sessions", "2", "--max-cost", "3"]).exits(6);
    let report = ended.json();
    assert_eq!(
        (&report["status"], &report["stop_reason"]),
        (&json!("STOPPED"), &json!("budget")),
        "{report:#}"
    );
    let run = run_of(&report);
    assert!(journal(&run).trim_end().lines().last().unwrap().contains("\"budget\""));
    assert_eq!((head(&world.project()), world.read("src/sum.sh").contains('-')), (before, true));
    let listed = world.marvin(["runs", "list", "--json"]).run().exits(0).json();
    assert_eq!(listed[0]["status"], "BUDGET_SPENT", "{listed:#}");
    // The same limit stops it again before anything is spent; a higher one lets it end.
    let resume = |limit: &str| {
        let words = ["resume-run", "--run-path", &run.display().to_string(), "--max-cost", limit, "--json"];
        world.marvin(words).env("MARVIN_VERIFY_ROUNDS", "0").run()
    };
    assert_eq!(resume("3").exits(6).json()["stop_reason"], "budget");
    let report = resume("1000").exits(0).json();
    assert_eq!((&report["status"], &report["batches"][0]["merged"]), (&json!("COMPLETED"), &json!(true)));
    assert_eq!(world.read("src/sum.sh"), FIXED);
}

#[test]
fn nothing_begins_while_the_stop_file_exists() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    world.write(".marvin/stop-self-improve", "");
    let ended = improve(&world, &script(&[("1-1", vec![write("src/sum.sh", FIXED)])]), &["--sessions", "1"]);
    let report = ended.exits(130).json();
    assert_eq!((&report["stop_reason"], &report["energy"]["actual"]), (&json!("stop_file"), &json!(0)));
    assert!(world.read("src/sum.sh").contains('-'), "nothing was changed");
    let run = report["run_root"].as_str().unwrap();
    let again = world.marvin(["resume-run", "--run-path", run]).run().exits(130);
    assert!(again.text().contains("stopped by the file .marvin/stop-self-improve"), "{}", again.text());
}

#[test]
fn runs_show_gives_sessions_and_energy() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    repository(&world);
    let sessions = [("1-1", vec![]), ("1-2", vec![write("src/sum.sh", FIXED)])];
    let report = improve(&world, &script(&sessions), &["--sessions", "2"]).exits(0).json();
    let shown = world.marvin(["runs", "show"]).run().exits(0);
    let energy = &report["energy"];
    for part in [
        "what         self-improve: Fix the sum\n",
        "batches      1: winner 1-2, merged as ",
        "sessions     1-1: ",
        "1-2: verified; 4 criteria met, 2 tests passed, energy ",
        &format!("energy       {} planned, {} used\n", energy["planned"], energy["actual"]),
        "/reports\n",
    ] {
        assert!(shown.text().contains(part), "{part}\n{}", shown.text());
    }
    let shown = world.marvin(["runs", "show", "--json"]).run().exits(0).json();
    assert_eq!(shown["self_improve"]["batches"][0]["winner_session_id"], "1-2");
}

/// The run of the first workflow, once it has its plan: then a model was asked.
fn planned_workflow(run: &Path) -> Option<PathBuf> {
    let entries = marvin_base::ledger::read(&run.join("self_improve.jsonl")).ok()?.entries;
    let begun = entries.iter().find(|entry| entry["type"] == "workflow")?;
    let workflow = PathBuf::from(begun["run"].as_str()?);
    marvin_flow::view::is_workflow(&workflow).then_some(workflow)
}

fn journal(run: &Path) -> String {
    fs::read_to_string(run.join("self_improve.jsonl")).unwrap_or_default()
}
