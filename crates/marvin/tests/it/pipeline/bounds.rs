//! Limits of pipeline agents and of others: writing elsewhere, changing tests, skipping a phase, changing the state.

use super::{begin, events, python, script, state};
use crate::support::{World, put};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// The documents, tests and plan of the Python project, as its script writes them, in a project without a record.
pub(crate) fn written(world: &World, state: &str) {
    let text = fs::read_to_string(script("python_cli")).unwrap();
    let wanted = ["1a.spec.2", "1a.ux.1", "1b.design.1", "2a.tests.1", "2b.tests.1", "2b.e2e.1"];
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let call = &entry["reply"]["tool_calls"][0];
        if call["name"] == "create_file" && wanted.iter().any(|step| entry["when"]["step"] == *step) {
            let content = call["arguments"]["content"].as_str().unwrap();
            let mock = "def test_total_takes_negative_amounts(monkeypatch):\n    monkeypatch.setattr(\"tally.total\", lambda items: {\"rent\": 450})\n";
            let content = content.replace(mock, "def test_total_takes_negative_amounts():\n");
            world.write(call["arguments"]["path"].as_str().unwrap(), &content);
        }
    }
    world.write(".marvin/pipeline_state", state);
}

/// The Python project's script with other entries before it.
pub(super) fn with_before(world: &World, before: &[Value]) -> String {
    let first: String = before.iter().map(|entry| format!("{entry}\n")).collect();
    let rest = fs::read_to_string(script("python_cli")).unwrap();
    put(&world.root().join("changed.jsonl"), &format!("{first}{rest}")).display().to_string()
}

/// An entry for a step that replies when the conversation contains a text; an empty text always matches.
pub(super) fn reply_to(step: &str, contains: &str, reply: Value) -> Value {
    let mut entry = json!({"when": {"step": step}, "repeat": true});
    entry["reply"] = reply;
    if !contains.is_empty() {
        entry["when"]["contains"] = json!(contains);
    }
    entry
}

pub(super) fn calls(name: &str, arguments: Value) -> Value {
    let mut reply = json!({"tool_calls": [{"name": name}]});
    reply["tool_calls"][0]["arguments"] = arguments;
    reply
}

pub(super) fn ends(status: &str, summary: &str) -> Value {
    json!({"json": {"status": status, "summary": summary}})
}

/// The calls of a step: tool, rule, result.
pub(super) fn called(trace: &[Value], step: &str) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    events(trace, "item.completed")
        .into_iter()
        .filter(|event| event["step_id"] == step && event["item"]["type"] == "tool_call")
        .map(|event| {
            let item = &event["item"];
            (text(&item["name"]), text(&item["verdict"]["rule"]), item["result"].to_string())
        })
        .collect()
}

#[test]
fn a_document_writer_writes_only_its_document() {
    let world = World::new();
    let step = "1a.spec.1";
    let attempts = [
        reply_to(
            step,
            "# Your part",
            calls("create_file", json!({"path": "src/main.py", "content": "print(1)\n"})),
        ),
        reply_to(
            step,
            "cannot write `src/main.py`",
            calls("create_file", json!({"path": ".marvin/pipeline_state", "content": "5\n"})),
        ),
        reply_to(
            step,
            "cannot write `.marvin/pipeline_state`",
            calls("run_command", json!({"command": "echo 5 > .marvin/pipeline_state"})),
        ),
        reply_to(
            step,
            "`run_command` is not available",
            calls("launch_agent", json!({"prompt": "do it for me", "ticket_id": "pro-1a"})),
        ),
        reply_to(
            step,
            "no such tool: `launch_agent`",
            calls("apply_patch", json!({"path": ".marvin/spec.md", "old_str": "a", "new_str": "b"})),
        ),
        // A document in the reply is not a file.
        reply_to(step, "", ends("SUCCESS", "# Overview\nHere is the specification as text.")),
    ];
    let script = world.script(&attempts);
    let ended = begin(&world, &std::env::var("PATH").unwrap(), &script, "Build it").run();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let output = &ended.stderr;
    assert!(
        output.contains(".marvin/spec.md was not written after 3 attempts") && output.contains("hint:"),
        "{output}"
    );
    let called = called(&world.trace(), step);
    let names: Vec<&str> = called.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(
        names,
        ["create_file", "create_file", "run_command", "launch_agent", "apply_patch"],
        "{called:#?}"
    );
    assert!(called.iter().all(|(.., result)| result.contains("\"ok\":false")), "{called:#?}");
    assert!(!world.project().join("src/main.py").exists() && state(&world).is_empty());
    // The same command repeats the failed phase, with the same result.
    let again = begin(&world, &std::env::var("PATH").unwrap(), &script, "Build it").run();
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    let other = begin(&world, &std::env::var("PATH").unwrap(), &script, "Build something else").run();
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(other.stderr.contains("is for another task"), "{}", other.stderr);
}

#[test]
fn an_agent_cannot_change_the_tests_that_judge_it() {
    let Some(path) = python() else { return };
    let world = World::new();
    written(&world, "2b\n");
    let step = "3.implement.1";
    let ticket = json!({"args": "create 'Build' -d 'All of it, acceptance: tests, files: tally.py, dependencies: none' -t task --tags a --parent pro-3"});
    let patch = json!({"path": "tests/test_tally.py", "old_str": "== [(\"rent\", 500), (\"food\", 120)]", "new_str": "is not None"});
    let weaken = "sed -i 's/assert .*/assert True/' tests/test_tally.py tests/test_program.py && \
        printf '[tool.pytest.ini_options]\\naddopts = \"-k easy\"\\n' > pyproject.toml";
    let script = with_before(
        &world,
        &[
            reply_to(
                step,
                "# Your part",
                calls("create_file", json!({"path": "tally.py", "content": "x = 1\n"})),
            ),
            reply_to(step, "has no ticket of its own yet", calls("tk", ticket.clone())),
            reply_to(step, "sent back once", calls("tk", ticket)),
            reply_to(step, "may not write the tests", calls("run_command", json!({"command": weaken}))),
            reply_to(step, "[exit code: 0]", ends("SUCCESS", "All tests pass now.")),
            reply_to(step, "commitment", ends("SUCCESS", "All tests pass now.")),
            reply_to(step, "", calls("apply_patch", patch)),
        ],
    );
    let before = world.read("tests/test_tally.py");
    let ended = begin(&world, &path, &script, "Build it")
        .env("MARVIN_VERIFY_ROUNDS", "0")
        .env("MARVIN_DEBUG_ROUNDS", "1")
        .run();
    let called = called(&world.trace(), step);
    let rules: Vec<(&str, &str)> =
        called.iter().map(|(name, rule, _)| (name.as_str(), rule.as_str())).collect();
    assert_eq!(rules[0], ("create_file", "ticket.needed"), "{called:#?}");
    assert_eq!(rules[1], ("tk", "ticket.first"), "{called:#?}");
    assert!(
        called
            .iter()
            .any(|(name, _, result)| name == "apply_patch" && result.contains("may not write the tests")),
        "{called:#?}"
    );
    // A command changed them: they were restored, and the attempt was rejected.
    let trace = world.trace();
    let worked =
        events(&trace, "worker.completed").into_iter().find(|event| event["step_id"] == step).unwrap();
    assert_eq!(
        worked["tampered"],
        json!(["pyproject.toml", "tests/test_program.py", "tests/test_tally.py"]),
        "{worked:#}\n{}",
        ended.stderr
    );
    assert_eq!(world.read("tests/test_tally.py"), before);
    assert!(!world.project().join("pyproject.toml").exists(), "it would have left tests out");
    assert!(ended.stderr.contains("3.implement.2"), "{}", ended.stderr);
}

#[test]
fn a_phase_cannot_be_skipped_by_an_agent_and_code_is_not_written_with_the_tests() {
    let Some(path) = python() else { return };
    let world = World::new();
    written(&world, "1b_review\n");
    for test in ["tests/test_tally.py", "tests/test_program.py", ".marvin/e2e.json"] {
        fs::remove_file(world.project().join(test)).unwrap();
    }
    world.write("legacy.py", "RATE = 3\n");
    let step = "2a.tests.1";
    let ticket = json!({"args": "create 'Tests' -d 'All, acceptance: red, files: tests, dependencies: none' -t task --tags a --parent pro-2a"});
    // The tests try to advance the state whenever they are imported.
    let sneaky = "import pathlib\n\nfrom tally import parse\n\npathlib.Path('.marvin/pipeline_state').write_text('4c')\n\n\ndef test_parse():\n    assert parse('a,1') == [('a', 1)]\n";
    let sneaky = sneaky
        .replace("from tally import parse\n\npathlib", "pathlib")
        .replace("def test_parse():\n", "def test_parse():\n    from tally import parse\n\n");
    let script = with_before(
        &world,
        &[
            reply_to(step, "# Your part", calls("tk", ticket.clone())),
            reply_to(step, "sent back once", calls("tk", ticket)),
            reply_to(
                step,
                "may not write anything but tests",
                calls("run_command", json!({"command": "touch sneaky.py && echo RATE = 4 > legacy.py"})),
            ),
            reply_to(
                step,
                "[exit code: 0]",
                calls("run_command", json!({"command": "printf 3 | tee .marvin/pipeline_state"})),
            ),
            reply_to(
                step,
                "it would write the record",
                calls("create_file", json!({"path": "tests/test_tally.py", "content": sneaky})),
            ),
            reply_to(step, "Created tests/test_tally.py", ends("SUCCESS", "The tests are written.")),
            reply_to(
                step,
                "",
                calls(
                    "create_file",
                    json!({"path": "tally.py", "content": "def parse(text):\n    return []\n"}),
                ),
            ),
        ],
    );
    let ended = begin(&world, &path, &script, "Build it").run();
    let called = called(&world.trace(), step);
    let refused =
        |name: &str, why: &str| called.iter().any(|(tool, _, result)| tool == name && result.contains(why));
    assert!(refused("create_file", "may not write anything but tests"), "{called:#?}\n{}", ended.stderr);
    assert!(refused("run_command", "it would write the record"), "{called:#?}");
    assert!(!world.project().join("sneaky.py").exists());
    let trace = world.trace();
    let worked =
        events(&trace, "worker.completed").into_iter().find(|event| event["step_id"] == step).unwrap();
    assert_eq!(worked["outside"], json!(["legacy.py", "sneaky.py"]));
    assert_eq!(world.read("legacy.py"), "RATE = 3\n", "what was there is put back");
    // Writes of the tests do not reach the state file: no phase is skipped, and the tests never pass.
    assert_eq!(ended.code, Some(3), "{}\n{}", ended.stderr, String::from_utf8_lossy(&ended.stdout));
    let begun: Vec<_> =
        events(&trace, "phase.started").into_iter().map(|event| event["phase"].clone()).collect();
    assert_eq!(begun, ["2a", "2b", "3", "4a"], "{}", ended.stderr);
}

/// A server that records its requests.
fn listen() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let received = kept.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut bytes = vec![0; 16 * 1024];
            let mut text = String::new();
            // A head, and as much of the body as it announces.
            while let Ok(read @ 1..) = stream.read(&mut bytes) {
                text.push_str(&String::from_utf8_lossy(&bytes[..read]));
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
                });
                if body.len() >= length.unwrap_or(0) {
                    break;
                }
            }
            received.lock().unwrap().push(text);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
        }
    });
    (address, kept)
}

#[test]
fn a_changed_state_file_is_detected() {
    let world = World::new();
    // Everything up to the specification's review; then the script is exhausted.
    let only: String = fs::read_to_string(script("python_cli"))
        .unwrap()
        .lines()
        .filter(|line| {
            line.contains("\"1a.") || line.contains("\"1a_review") || line.contains("\"role\": \"Reviewer\"")
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let file = put(&world.root().join("short.jsonl"), &only).display().to_string();
    let path = std::env::var("PATH").unwrap();
    // The enclosing project has a document.
    put(&world.root().join(".marvin/config.toml"), "");
    put(&world.root().join("README.md"), "The team rules.\n");
    let (address, pushed) = listen();
    let ended = begin(&world, &path, &file, "Build it")
        .args(["--ntfy", "progress"])
        .env("MARVIN_NTFY_URL", address)
        .run();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(state(&world), "1a_review");
    let copy = world.project().join(".marvin/upstream/README.md");
    assert_eq!(fs::read_to_string(&copy).unwrap(), "The team rules.\n");
    assert!(fs::metadata(&copy).unwrap().permissions().readonly());
    let pushed = pushed.lock().unwrap().join("\n");
    for word in ["POST /progress", "started: Build it", "1a: Specification", "1b: Architecture", "failed:"] {
        assert!(pushed.contains(word), "{word}: {pushed}");
    }
    let runs_of = |step: &str| {
        let trace = world.trace();
        events(&trace, "worker.started").iter().filter(|event| event["step_id"] == step).count()
    };
    for (text, why) in [
        ("1a\n", "changed by hand"),
        ("3\n", "changed by hand"),
        ("", "is not a phase"),
        ("1a_rev", "is not a phase"),
        ("\u{0}\u{1}garbage", "is not a phase"),
    ] {
        world.write(".marvin/pipeline_state", text);
        let ended = begin(&world, &path, &file, "Build it").run();
        assert_eq!(ended.code, Some(4), "{text:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(why) && ended.stderr.contains("--trust record"),
            "{text:?}: {}",
            ended.stderr
        );
        let status = world.marvin(["pipeline", "status", "--json"]).run();
        assert_eq!(status.code, Some(4), "{text:?}");
        assert!(status.json()["problem"].is_string());
    }
    assert_eq!(runs_of("1a.spec.2"), 1, "nothing was done meanwhile");
    let skip = world.marvin(["pipeline", "resume", "--trust", "3", "--script", &file]).run();
    assert_eq!(skip.code, Some(2), "{}", skip.stderr);
    assert!(skip.stderr.contains("cannot be skipped"), "{}", skip.stderr);
    // The record decides: it resumes after the review, at the design.
    let ended = world.marvin(["pipeline", "resume", "--trust", "record", "--script", &file]).run();
    assert_eq!((ended.code, state(&world).as_str()), (Some(1), "1a_review"), "{}", ended.stderr);
    assert_eq!(runs_of("1a.spec.2"), 1);
    // A person decides: the review is repeated, the documents are not.
    let ended = world.marvin(["pipeline", "resume", "--trust", "1a", "--script", &file]).run();
    assert_eq!((ended.code, state(&world).as_str()), (Some(1), "1a_review"), "{}", ended.stderr);
    assert_eq!((runs_of("1a.spec.2"), runs_of("1a_review.ux.r1.conformance")), (1, 2));
    let text =
        String::from_utf8_lossy(&world.marvin(["pipeline", "status"]).run().exits(0).stdout).into_owned();
    assert!(text.contains("1a_review") && text.contains("resume with: marvin pipeline resume"), "{text}");
    let explained = world.marvin(["pipeline", "explain", "2a"]).run();
    assert!(String::from_utf8_lossy(&explained.exits(0).stdout).contains("fails because"));
}

#[test]
fn cost_rounds_and_reviews_have_limits() {
    let world = World::new();
    let path = std::env::var("PATH").unwrap();
    put(
        &world.user().join("prices.toml"),
        "[[price]]\nprovider = \"mock\"\ninput = 1000.0\noutput = 1000.0\n",
    );
    let ended = begin(&world, &path, &script("python_cli"), "Build it")
        .args(["--max-cost", "0.5", "--output-format", "json"])
        .run();
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    assert_eq!(
        (&ended.json()["status"], &ended.json()["data"]["phase"]),
        (&json!("budget_spent"), &json!(null))
    );
    let result = world.trace().pop().unwrap();
    assert_eq!(
        (&result["status"], &result["reason"]),
        (&json!("budget_spent"), &json!("max_cost")),
        "{result:#}"
    );
    // A writer that only reads is stopped after its rounds.
    let world = World::new();
    let looking = world
        .script(&[json!({"reply": {"tool_calls": [{"name": "tree", "arguments": {}}]}, "repeat": true})]);
    let ended = begin(&world, &path, &looking, "Build it").env("MARVIN_WORKER_ROUNDS", "2").run();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let replies = events(&world.trace(), "tools.started")
        .iter()
        .filter(|event| event["step_id"] == "1a.spec.1")
        .count();
    assert!((1..=3).contains(&replies), "{replies}");
    // Reviewers that are never satisfied: after four rounds their findings are reported.
    let world = World::new();
    let finding = json!({"json": {"status": "SUCCESS", "summary": "s", "outputs": {"checked": ["all"], "findings": [{"severity": "major", "place": "spec.md", "text": "More detail."}]}}});
    let mut never = json!({"when": {"role": "Reviewer"}, "repeat": true});
    never["reply"] = finding;
    let fixer = json!({"when": {"role": "DocumentWriter", "contains": "fix the findings"}, "reply": {"json": {"status": "SUCCESS", "summary": "It is fine as it is."}}, "repeat": true});
    let file = with_before(&world, &[never, fixer]);
    let ended = begin(&world, &path, &file, "Build it").run();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert_eq!(events(&world.trace(), "review.round").len(), 4);
    assert!(ended.stderr.contains("More detail."));
    assert_eq!(world.read(".marvin/review-history-spec.md").matches("## Phase 1a_review").count(), 4);
}

#[test]
fn debugging_ends_after_its_rounds_whatever_the_agent_claims() {
    let Some(path) = python() else { return };
    let world = World::new();
    written(&world, "3\n");
    let claim = json!({"when": {"role": "Debugger"}, "reply": ends("SUCCESS", "All tests pass now."), "repeat": true});
    let file = with_before(&world, &[claim]);
    let ended = begin(&world, &path, &file, "Build it").env("MARVIN_DEBUG_ROUNDS", "2").run();
    assert_eq!((ended.code, state(&world).as_str()), (Some(3), "3"), "{}", ended.stderr);
    let output = &ended.stderr;
    assert!(output.contains("2 rounds of debugging are used up (MARVIN_DEBUG_ROUNDS)"), "{output}");
    let trace = world.trace();
    let green: Vec<&Value> = events(&trace, "tests.counted").iter().map(|event| &event["green"]).collect();
    assert_eq!(green, [&json!(false), &json!(false), &json!(false)], "by its own count, not on a word");
    let debugged = events(&trace, "worker.completed");
    assert!(
        debugged.len() == 2 && debugged.iter().all(|event| event["status"] == "success"),
        "{debugged:#?}"
    );
}

#[test]
fn every_tier_has_its_model_and_a_missing_person_is_reported() {
    let path = std::env::var("PATH").unwrap();
    let tiers = [
        "plan_gen=writer",
        "high=judge",
        "aux_reviewer=second",
        "test_writer=tester",
        "low=builder",
        "plan=mender",
    ];
    for (after, models) in [
        ("", json!({"writer": 1})),
        ("1a", json!({"judge": 1, "second": 2})),
        ("1b_review", json!({"tester": 1})),
        ("2b", json!({"builder": 1})),
    ] {
        let world = World::new();
        if !after.is_empty() {
            written(&world, after);
        }
        let reply =
            json!({"reply": {"json": {"status": "BLOCKED", "summary": "Which colour?"}}, "repeat": true});
        let server = world.server(&[reply]);
        let mut marvin = begin(&world, &path, "", "Build it").args(["--provider", "openai"]);
        for tier in tiers {
            marvin = marvin.args(["--model", tier]);
        }
        let ended = marvin
            .env("MARVIN_OPENAI_URL", format!("{}/v1", server.address()))
            .env("OPENAI_API_KEY", "k")
            .run();
        assert_eq!(ended.code, Some(4), "{after}: {}", ended.stderr);
        assert!(ended.stderr.contains("Which colour?"), "{}", ended.stderr);
        assert_eq!(ended.cost()["model_turns"], models, "after {after}");
    }
}
