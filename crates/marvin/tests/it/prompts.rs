//! Prompts built from state: shown, recorded, and unchanged after compaction and after a crash; documents byte for byte.

use crate::support::{World, call, json_file, ledger, put, say, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

fn composed(events: &[Value], reason: &str) -> Vec<Value> {
    let is = |event: &&Value| event["type"] == "prompt.composed" && event["reason"] == reason;
    events.iter().filter(is).cloned().collect()
}

#[test]
fn the_shown_prompt_is_the_sent_prompt() {
    let world = World::new();
    world.write("AGENTS.md", "THE-AGENTS\n");
    world.write(".marvin/instructions.md", "THE-INSTRUCTIONS\n");
    world.write(".marvin/spec.md", "THE-SPEC\n");
    world.write(
        ".marvin/packs/ours/pack.json",
        r#"{"name":"ours","version":"1.0.0","owner":"us","description":"THE-PACK"}"#,
    );
    world.write(".marvin/packs/ours/guardrails.md", "# Ours\n\n- THE-GUARDRAIL\n");
    world.marvin(["commitments", "add", "file_exists:made.txt", "--description", "THE-FILE"]).run().exits(0);
    world.write("made.txt", "");
    let tape = world.root().join("tape").display().to_string();
    world.play(&[say("ok")], &["--record", &tape]).run().exits(0);
    let sent = &ledger(&world.root().join("tape/script.jsonl"))[0];
    let sent = sent["request"]["messages"][0]["content"].as_str().unwrap().to_string();
    let shown = world.marvin(["prompt", "show", "--role", "coder"]).run().exits(0).quiet();
    assert_eq!(shown.text(), sent, "to the byte");
    for part in [
        "THE-INSTRUCTIONS",
        "THE-AGENTS",
        "THE-SPEC",
        "THE-PACK",
        "THE-GUARDRAIL",
        "file_exists: made.txt (THE-FILE)",
    ] {
        assert!(sent.contains(part), "{part}:\n{sent}");
    }
    let events = world.trace();
    let record = &composed(&events, "turn")[0];
    let json = world.marvin(["prompt", "show", "--json"]).run().exits(0).json();
    assert_eq!((&json["hash"], &json["pieces"]), (&record["sha256"], &record["pieces"]));
    assert_eq!((&json["role"], &json["text"]), (&json!("Coder"), &json!(sent)));
    let names: Vec<&str> =
        record["pieces"].as_array().unwrap().iter().map(|piece| piece["name"].as_str().unwrap()).collect();
    assert_eq!(names.first(), Some(&"rules"));
    assert_eq!(names.last(), Some(&"commitments"));

    // A pack that was added later changes nothing in a recorded run.
    let run = world.run().file_name().unwrap().to_string_lossy().into_owned();
    world.write(".marvin/packs/ours/guardrails.md", "# Ours\n\n- ANOTHER\n");
    assert_eq!(world.marvin(["replay", &run, "--json"]).run().exits(0).json()["same"], true);

    let step = world.marvin(["prompt", "show", "--role", "Planner", "--step", "s7"]).run().exits(0);
    assert!(step.text().contains("# Your role: Planner") && step.text().contains("step `s7`"));
    let wrong = world.marvin(["prompt", "show", "--role", "Plannr"]).run().exits(2);
    assert!(wrong.message().contains("did you mean `Planner`?"), "{}", wrong.stderr);
}

#[test]
fn pieces_over_budget_are_cut_by_rank_and_reported() {
    let world = World::new();
    world.write("AGENTS.md", &"agents ".repeat(3_000));
    world.write(".marvin/design.md", &"design ".repeat(3_000));
    let show = || {
        let shown = world.marvin(["prompt", "show", "--json"]).env("MARVIN_CONTEXT_COMPACT", "10000");
        shown.run().exits(0).json()
    };
    let shown = show();
    let state = |name: &str| {
        let pieces = shown["pieces"].as_array().unwrap();
        pieces.iter().find(|piece| piece["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!(state("instructions: AGENTS.md"), "cut");
    assert_eq!(state("document: .marvin/design.md"), "left_out");
    assert_eq!(state("rules"), "included");
    assert!(shown["bytes"].as_u64().unwrap() <= 20_100, "{}", shown["bytes"]);
    assert_eq!(show(), shown, "the same state gives the same bytes");
}

#[test]
fn hostile_project_files_are_survived() {
    let world = World::new();
    fs::write(world.project().join("AGENTS.md"), b"KEPT \xff\xfe\x00 {{ rules }} {% raw %}\n").unwrap();
    put(&world.root().join("secret.txt"), "THE-SECRET");
    symlink(world.root().join("secret.txt"), world.project().join("CLAUDE.md")).unwrap();
    fs::create_dir_all(world.project().join(".marvin/spec.md")).unwrap();
    let pipe = world.project().join(".marvin-instructions");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let huge = fs::File::create(world.project().join(".marvin/design.md")).unwrap();
    huge.set_len(4 * 1024 * 1024 * 1024).unwrap();
    let shown = world.marvin(["prompt", "show"]).run().exits(0);
    let text = shown.text();
    assert!(text.contains("KEPT") && text.contains("{{ rules }} {% raw %}"), "{text}");
    assert!(!text.contains("THE-SECRET"), "a link leads nowhere");
}

/// Rounds that each read a large file, then a reply that never comes.
fn long_script(rounds: usize) -> Vec<Value> {
    let mut script: Vec<Value> = (0..rounds)
        .map(|n| {
            let read = json!({"name": "read_file", "arguments": {"path": format!("big{n}.txt"), "start_line": 1, "end_line": 200}});
            let write = json!({"name": "create_file", "arguments": {"path": format!("out{n}.txt"), "content": "x"}});
            json!({"reply": {"text": format!("Round {n}."), "tool_calls": [read, write]}})
        })
        .collect();
    script.push(json!({"delay_ms": 120_000, "reply": {"text": "never heard"}}));
    script
}

#[test]
fn the_prompt_is_the_same_after_compaction_and_after_a_crash() {
    const ROUNDS: usize = 6;
    let world = World::new();
    for n in 0..ROUNDS {
        world.write(&format!("big{n}.txt"), &format!("line of file {n}\n").repeat(200));
    }
    world.marvin(["commitments", "add", "file_exists:out0.txt"]).run().exits(0);
    world.marvin(["commitments", "add", "file_exists:out5.txt"]).run().exits(0);
    let script = world.script(&long_script(ROUNDS));
    let start = |more: &[&str]| {
        let mut words = vec!["--non-interactive", "--script", &script];
        words.extend(more);
        // The context window is so small that the conversation is compacted before every request.
        world
            .marvin(words)
            .env("MARVIN_CONTEXT_COMPACT", "1000")
            .env("MARVIN_CONTEXT_WARN", "100000")
            .env("MARVIN_CONTEXT_HARD", "200000")
    };
    let running = start(&["--prompt", "Write all the files."]).start();
    let trace = || ledger(&world.run().join("trace.jsonl"));
    until("the last request is made", || {
        world.runs().len() == 1
            && fs::read_to_string(world.run().join("trace.jsonl"))
                .unwrap_or_default()
                .matches("\"type\":\"model_call\"")
                .count()
                > 2 * ROUNDS
    });
    running.signal(Signal::KILL);
    running.end();
    let run = world.run().file_name().unwrap().to_string_lossy().into_owned();
    let rebuilt = composed(&trace(), "compaction").last().cloned().expect("it was rebuilt");
    // The reply that the kill cut off is played again, this time at once.
    let text = fs::read_to_string(&script).unwrap();
    fs::write(&script, text.replace("120000", "0").replace("never heard", "Resumed and finished.")).unwrap();
    let ended = start(&["--resume", &run, "--json"]).run().exits(0);
    assert_eq!(ended.json()["text"], "Resumed and finished.");
    let resumed = composed(&trace(), "resume")[0].clone();
    for key in ["signature", "sha256", "task_bytes", "pieces"] {
        assert_eq!(resumed[key], rebuilt[key], "{key}");
    }
    assert_eq!(resumed["signature"].as_str().unwrap().len(), 64);
    let facts = json_file(&world.run().join("run.json"));
    assert_eq!((&facts["status"], &facts["prompt"]), (&json!("success"), &json!("Write all the files.")));
    // One record, increasing numbers, one result.
    let events = trace();
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    assert_eq!(events.iter().filter(|event| event["type"] == "result").count(), 1);
    assert!(events.iter().any(|event| event["type"] == "run.resumed"));
    // A finished turn is not resumed.
    let again = start(&["--resume", &run]).run().exits(2);
    assert!(again.message().contains("it ended (success)"), "{}", again.stderr);
}

#[test]
fn the_account_lists_done_failed_remaining_and_next() {
    let world = World::new();
    world.marvin(["commitments", "add", "file_exists:a.txt"]).run().exits(0);
    let script = [
        call("create_file", json!({"path": "a.txt", "content": "x"})),
        call("create_file", json!({"path": "../b.txt", "content": "x"})),
        json!({"delay_ms": 120_000, "reply": {"text": "never"}}),
        say("done"),
    ];
    let script = world.script(&script);
    let running = world.marvin(["--non-interactive", "--script", &script, "--prompt", "Build it."]).start();
    until("the third request is made", || {
        world.runs().len() == 1
            && fs::read_to_string(world.run().join("trace.jsonl")).unwrap_or_default().contains("\"round\":3")
    });
    running.signal(Signal::KILL);
    running.end();
    let run = world.run().file_name().unwrap().to_string_lossy().into_owned();
    let tape = world.root().join("tape").display().to_string();
    // --record and --resume exclude each other; the script's conditions check the messages instead.
    world.marvin(["--non-interactive", "--resume", &run, "--record", &tape]).run().exits(2);
    let sees = world.script(&[
        json!({"when": {"contains": "Build it.\n\n[The shell's account"}, "reply": {"text": "ok"}}),
    ]);
    fs::remove_file(world.run().join("script.json")).unwrap();
    let ended =
        world.marvin(["--non-interactive", "--resume", &run, "--script", &sees, "--json"]).run().exits(0);
    assert_eq!(ended.json()["text"], "ok");
}

#[test]
fn documents_are_shown_byte_for_byte() {
    let world = World::new();
    let bytes: &[u8] = b"---\ntitle: x\n---\nno UTF-8: \xff\xfe\x00 \x1b[31m\r\nno line end";
    fs::create_dir_all(world.state().join("agents")).unwrap();
    fs::write(world.state().join("agents/odd.md"), bytes).unwrap();
    fs::write(world.state().join("agents/empty.md"), b"").unwrap();
    let large = "é line\n".repeat(900_000);
    fs::write(world.state().join("agents/large.md"), &large).unwrap();
    world.marvin(["commitments", "add", "file_exists:a.txt"]).run().exits(0);
    for id in ["odd", "empty", "large", "project"] {
        let shown = world.marvin(["doc", "show", id]).run().exits(0);
        let stored = fs::read(world.state().join(format!("agents/{id}.md"))).unwrap();
        assert!(shown.stdout == stored, "{id} is not shown as it is stored");
    }
    let json = world.marvin(["doc", "show", "odd", "--json"]).run().exits(0).json();
    assert_eq!((&json["bytes"], json["hex"].as_str().unwrap().len()), (&json!(bytes.len()), 2 * bytes.len()));
    let json = world.marvin(["doc", "show", "project", "--json"]).run().exits(0).json();
    assert_eq!(json["text"], world.read_state("agents/project.md"));

    let list = world.marvin(["doc", "list"]).run().exits(0).text().to_string();
    assert!(list.contains("project") && list.contains("odd") && list.contains("damaged"), "{list}");
    let list = world.marvin(["doc", "list", "--json"]).run().exits(0).json();
    assert_eq!(list.as_array().unwrap().len(), 4);

    put(&world.root().join("secret.md"), "THE-SECRET");
    symlink(world.root().join("secret.md"), world.state().join("agents/link.md")).unwrap();
    for id in ["link", "../../secret", "nothing", ""] {
        let ended = world.marvin(["doc", "show", id]).run();
        assert!(
            matches!(ended.code, Some(1 | 2)) && !ended.whole().contains("THE-SECRET"),
            "{id}: {}",
            ended.whole()
        );
    }
    let nowhere = world.marvin(["doc", "list"]).directory(&world.root().join("tmp")).run().exits(0);
    assert!(nowhere.text().contains("no documents"));
}
