//! `marvin inspect-run`, over real runs and over damaged ones.

use crate::support::{World, call, put, say};
use serde_json::json;

#[test]
fn a_run_of_marvin_is_shown() {
    let world = World::new();
    world.write("a.txt", "hello");
    let script = [
        call("read_file", json!({"path": "a.txt"})),
        call("read_file", json!({"path": "nothing"})),
        call("run_command", json!({"command": "rm -rf /"})),
        say("done"),
    ];
    world.play(&script, &[]).run();
    let id = world.run().file_name().unwrap().to_string_lossy().into_owned();
    for name in [id.as_str(), id.get(..15).unwrap(), world.run().to_str().unwrap()] {
        let report = world.marvin(["inspect-run", name, "--json"]).run().exits(0).json();
        assert_eq!(
            (&report["run"], &report["tools"]["read_file"]),
            (&json!(id), &json!({"calls": 2, "failures": 1, "refused": 0}))
        );
        assert_eq!(report["trace"].as_array().unwrap().len(), world.trace().len());
    }
    // From a directory inside the project too.
    std::fs::create_dir(world.project().join("deep")).unwrap();
    world.marvin(["inspect-run"]).directory(&world.project().join("deep")).run().exits(0);
}

#[test]
fn a_hook_session_is_shown_and_damage_is_named() {
    let world = World::new();
    let run = "runs/run_20260203_040506_1a2b";
    world.write_state(&format!("{run}/run.json"), &json!({
        "version": 1, "manner": "hooks", "client": "codex", "sessionId": "s-1", "startedAt": "2026-02-03T04:05:06.000Z",
        "endedAt": "2026-02-03T05:06:06.000Z", "endReason": "other", "activePacks": ["testing"], "packVersions": {"testing": "1.2.0"},
    }).to_string());
    let trace = [
        json!({"type": "hook.pre-tool-use", "seq": 1, "tool": "Bash", "tool_use_id": "a", "input_summary": "sudo \u{1b}[2Jrm x",
               "verdict": {"decision": "deny", "reason": "it needs root", "rule": "judge.root", "layer": "judge"}}).to_string(),
        "this is not an event".to_string(),
        json!({"type": "hook.stop", "seq": 2, "verification": {"status": "failed", "commitments": [{"id": "c1", "description": "tests pass", "status": "failed"}]}}).to_string(),
    ];
    world.write_state(&format!("{run}/trace.jsonl"), &(trace.join("\n") + "\n{\"type\":"));
    world.write_state(
        &format!("{run}/guidance.jsonl"),
        &format!("{}\n", json!({"type": "correction", "content": "use pnpm"})),
    );
    world.write_state(&format!("{run}/injections.jsonl"), &format!("{}\n", json!({"file": "a.ts", "packs_injected": ["testing"], "lessons": [{"pack": "testing", "title": "Name tests"}]})));
    let shown = world.marvin(["inspect-run"]).run().exits(0).quiet();
    assert!(!shown.text().contains('\u{1b}'), "what a person sees cannot move their cursor");
    let report = world.marvin(["inspect-run", "run_20260203", "--json"]).run().exits(0).json();
    assert_eq!(report["problems"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&report["guidanceKinds"]["correction"], &report["refused"][0]["rule"]),
        (&json!(1), &json!("judge.root"))
    );
}

#[test]
fn runs_of_the_user_are_found_too() {
    let world = World::new();
    put(&world.user().join("runs/run_20260101_000000_aaaa/run.json"), "{}");
    put(&world.user().join("runs/run_20260101_000000_bbbb/trace.jsonl"), "\u{0}\u{0}");
    world.marvin(["inspect-run"]).run().exits(0);
    world.marvin(["inspect-run", "run_2026"]).run().exits(2);
}
