//! Depth limits of pipeline agents: they cannot start agents; agents started by a command are bounded in depth like all others,
//! and their writes are checked like the agent's own.

use super::bounds::{called, calls, ends, reply_to, with_before, written};
use super::{begin, events, python, script};
use crate::support::{World, ledger, put};
use serde_json::json;
use std::fs;
use std::path::Path;

/// A program that starts an agent: the gate would deny a command that does.
const DEEPER: &str = r#"import subprocess, sys
words = ["marvin", "--non-interactive", "--working-dir", ".", "--script", sys.argv[1], "--prompt", "Go deeper."]
print("came back with", subprocess.run(words, capture_output=True).returncode)
"#;

/// Behaviour of the started agent: it weakens a test and starts another one, which starts another one.
fn inner(world: &World) -> String {
    let further = || calls("launch_research_agent", json!({"query": "Go deeper."}));
    let patch = json!({"path": "tests/test_tally.py", "old_str": "== [(\"rent\", 500), (\"food\", 120)]", "new_str": "is not None"});
    let lines = [
        json!({"when": {"contains": "limits.depth"}, "reply": {"text": "There is nothing below me."}, "repeat": true}),
        json!({"when": {"contains": "below me"}, "reply": {"text": "There is nothing below me."}, "repeat": true}),
        json!({"when": {"contains": "`apply_patch` is not available"}, "reply": further(), "repeat": true}),
        json!({"when": {"contains": "Patched tests/test_tally.py"}, "reply": further(), "repeat": true}),
        json!({"reply": calls("apply_patch", patch), "repeat": true}),
    ];
    put(&world.root().join("inner.jsonl"), &lines.map(|line| format!("{line}\n")).concat())
        .display()
        .to_string()
}

#[test]
fn a_pipeline_agent_cannot_exceed_the_depth_limit() {
    let Some(path) = python() else { return };
    let program = Path::new(env!("CARGO_BIN_EXE_marvin")).parent().unwrap().display().to_string();
    let world = World::new();
    written(&world, "2b\n");
    world.write("deeper.py", DEEPER);
    let inner = inner(&world);
    let step = "3.implement.1";
    let ticket = json!({"args": "create 'Build' -d 'All of it, acceptance: tests, files: tally.py, dependencies: none' -t task --tags a --parent pro-3"});
    let line = format!("marvin --non-interactive --working-dir . --script {inner} --prompt deeper");
    let outer = with_before(
        &world,
        &[
            reply_to(
                step,
                "# Your part",
                calls("launch_agent", json!({"prompt": "do it", "ticket_id": "pro-3"})),
            ),
            reply_to(
                step,
                "no such tool: `launch_agent`",
                calls("launch_research_agent", json!({"query": "how?"})),
            ),
            reply_to(
                step,
                "no such tool: `launch_research_agent`",
                calls("summon_servitor", json!({"task": "do it"})),
            ),
            reply_to(step, "no such tool: `summon_servitor`", calls("tk", ticket.clone())),
            reply_to(step, "sent back once", calls("tk", ticket)),
            reply_to(
                step,
                "it starts an agent",
                calls("run_command", json!({"command": format!("python3 deeper.py {inner}")})),
            ),
            reply_to(step, "came back", ends("BLOCKED", "That is all.")),
            reply_to(step, "", calls("run_command", json!({"command": line}))),
        ],
    );
    let before = world.read("tests/test_tally.py");
    let ended = begin(&world, &format!("{program}:{path}"), &outer, "Build it").run();
    assert_eq!(ended.code, Some(4), "{}\n{}", ended.stderr, String::from_utf8_lossy(&ended.stdout));
    let (own, below): (Vec<_>, Vec<_>) =
        world.runs().into_iter().partition(|run| run.join("pipeline.jsonl").exists());
    let trace = ledger(&own[0].join("trace.jsonl"));
    // It cannot start an agent: neither a tool nor a command is available for it.
    let called = called(&trace, step);
    let refused = |name: &str, why: &str| {
        called
            .iter()
            .any(|(tool, _, result)| tool == name && result.contains("\"ok\":false") && result.contains(why))
    };
    for tool in ["launch_agent", "launch_research_agent", "summon_servitor"] {
        assert!(refused(tool, &format!("no such tool: `{tool}`")), "{called:#?}");
    }
    assert!(refused("run_command", "it starts an agent"), "{called:#?}");
    // A program that it starts cannot reach the state directory, so no agent runs at all.
    assert!(below.is_empty(), "{below:#?}");
    let worked =
        events(&trace, "worker.completed").into_iter().find(|event| event["step_id"] == step).unwrap();
    assert_eq!(worked["tampered"], json!([]), "{worked:#}");
    assert_eq!(world.read("tests/test_tally.py"), before);
}

#[test]
fn a_pipeline_does_not_begin_too_deep_or_in_a_read_only_place() {
    let world = World::new();
    let path = std::env::var("PATH").unwrap();
    for (name, value, why) in [
        ("MARVIN_DEPTH", "4", "4 levels deep, and 3 are allowed (limits.depth)"),
        ("MARVIN_READONLY", "1", "it is read-only"),
        ("MARVIN_WRITABLE_FILES", "a.txt", "it may write only some files"),
    ] {
        let ended = begin(&world, &path, &script("python_cli"), "Build it").env(name, value).run();
        assert_eq!(ended.code, Some(5), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(why), "{name}: {}", ended.stderr);
        assert!(world.runs().is_empty() && fs::read_dir(world.project().join(".tickets")).is_err(), "{name}");
    }
}
