//! Servitors: they resume from their records, however the process ended.

use crate::support::{ProgramOutput, World, call, commands_run, ledger, say};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// A repeatable entry for one servitor: after a kill the same reply may be requested again.
fn when(step: &str, contains: &str, mut entry: Value) -> Value {
    entry["when"] = json!({"step": step, "contains": contains});
    entry["repeat"] = json!(true);
    entry
}

fn done() -> Value {
    say("It is done.\nSTATUS: DONE")
}

fn summon(world: &World, name: &str, commitment: &str) {
    let mut words = vec!["servitors", "summon", "begin", "--name", name];
    if !commitment.is_empty() {
        words.extend(["--commitment", commitment]);
    }
    let ended = world.marvin(words).run().exits(0);
    let id = name.to_lowercase();
    assert_eq!(ended.text(), format!("Summoned {name} (id: {id})\n"));
}

fn run(world: &World, script: &[Value]) -> ProgramOutput {
    let script = world.script(script);
    world.marvin(["servitors", "run", "--json", "--script", &script]).run()
}

fn states(result: &Value) -> BTreeMap<String, String> {
    let all = result["servitors"].as_array().unwrap();
    let pair =
        |one: &Value| (one["id"].as_str().unwrap().to_string(), one["state"].as_str().unwrap().to_string());
    all.iter().map(pair).collect()
}

#[test]
fn a_servitor_is_done_when_its_commitments_hold_and_not_when_it_claims_so() {
    let world = World::new();
    summon(&world, "Ann", "file_exists:ann.txt");
    summon(&world, "Bob", "file_exists:bob.txt");
    summon(&world, "Cid", "");
    let script = [
        when("ann", "begin", call("create_file", json!({"path": "ann.txt", "content": "x\n"}))),
        when("ann", "Created", done()),
        // Claims to be done every time.
        json!({"when": {"step": "bob"}, "reply": {"text": "DONE.\nSTATUS: DONE"}, "repeat": true}),
        // Uses the status word inside prose, and never as a status.
        json!({"when": {"step": "cid"}, "reply": {"text": "It is all DONE and COMPLETED."}, "repeat": true}),
    ];
    let ended = run(&world, &script).exits(3);
    let result = ended.json();
    let expected = [("ann", "done"), ("bob", "failed"), ("cid", "failed")];
    assert_eq!(states(&result), expected.map(|(id, state)| (id.to_string(), state.to_string())).into());
    let of = |id: &str| {
        result["servitors"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap().clone()
    };
    assert!(of("bob")["reason"].as_str().unwrap().starts_with("not verified"), "{result:#}");
    assert!(of("cid")["reason"].as_str().unwrap().contains("told to continue 3 times"), "{result:#}");
    // Verified servitors are closed; others stay open until they are dismissed.
    world.marvin(["verify"]).run().exits(3);
    world.marvin(["servitors", "dismiss", "bob"]).run().exits(0);
    world.marvin(["verify"]).run().exits(0);
    assert!(world.state().join("agents/bob.md").exists(), "the body stays");
    let again = world.marvin(["servitors", "summon", "again", "--name", "Bob"]).run().exits(0);
    assert_eq!(again.text(), "Summoned Bob (id: bob-2)\n");
    let shown = world.marvin(["servitors", "show", "ann"]).run().exits(0);
    assert_eq!(shown.text(), world.read_state("agents/ann.md"));
}

#[test]
fn a_servitor_that_needs_input_waits_and_resumes_with_the_answer() {
    let world = World::new();
    summon(&world, "Ann", "file_exists:ann.txt");
    let script = [
        when("ann", "begin", say("Which format?\nSTATUS: NEED INPUT")),
        when("ann", "the second", call("create_file", json!({"path": "ann.txt", "content": "2\n"}))),
        when("ann", "Created", done()),
    ];
    let waiting = run(&world, &script).exits(4).json();
    assert_eq!(states(&waiting)["ann"], "waiting");
    world.marvin(["servitors", "message", "ann", "Take the second."]).run().exits(0);
    assert_eq!(states(&run(&world, &script).exits(0).json())["ann"], "done");
    world.marvin(["servitors", "message", "ann", "More."]).run().exits(5);
}

#[test]
fn a_turn_waits_for_the_servitors_it_summoned() {
    let world = World::new();
    let script = [
        call(
            "summon_servitor",
            json!({"assignment": "begin", "name": "Ann", "commitments": ["file_exists:ann.txt"]}),
        ),
        json!({"when": {"role": "Coder", "contains": "Summoned Ann (id: ann)"}, "reply": {"text": "All is in hand."}}),
        when("ann", "begin", call("create_file", json!({"path": "ann.txt", "content": "x\n"}))),
        when("ann", "Created", json!({"reply": {"text": "I made it.\nSTATUS: DONE"}, "delay_ms": 300})),
        json!({"when": {"role": "Coder", "contains": "Ann (id: ann) is done"}, "reply": {"text": "Ann did it."}}),
    ];
    let result = world.play(&script, &["--json"]).run().exits(0).json();
    assert_eq!(result["text"], "Ann did it.", "{result:#}");
    let kinds: Vec<String> =
        world.trace().iter().map(|event| event["type"].as_str().unwrap().to_string()).collect();
    assert!(
        kinds.contains(&"servitor.summoned".into()) && kinds.contains(&"servitor.state".into()),
        "{kinds:?}"
    );
}

#[test]
fn a_servitor_has_no_more_rights_than_its_parent() {
    let world = World::new();
    summon(&world, "Ann", "");
    let text = world.read_state("agents/ann.md");
    world.write_state(
        "agents/ann.md",
        &text.replace("access: full\n", "access: full\nbudgetRounds: 3\ntools: summon_servitor, read_file\n"),
    );
    let try_it = |arguments: Value| call("summon_servitor", arguments);
    let script = [
        when("ann", "begin", try_it(json!({"assignment": "x", "tools": ["run_command"]}))),
        when("ann", "more tools", try_it(json!({"assignment": "x", "budget_rounds": 50}))),
        when("ann", "larger budget", say("I cannot.\nSTATUS: FAILED")),
    ];
    let result = run(&world, &script).exits(1).json();
    assert_eq!(states(&result).len(), 1, "{result:#}");
    assert!(
        world
            .trace()
            .iter()
            .any(|event| event["item"]["why"].as_str().is_some_and(|why| why.contains("larger budget")))
    );
}

#[test]
fn one_process_runs_the_servitors_of_a_project() {
    let world = World::new();
    summon(&world, "Ann", "");
    let script =
        world.script(&[json!({"when": {"step": "ann"}, "reply": {"text": "x"}, "delay_ms": 20_000})]);
    let mut running = world.marvin(["servitors", "run", "--script", &script]).start();
    let id = running.id();
    crate::support::until("it runs", || {
        !world.runs().is_empty()
            && fs::read_to_string(world.run().join("trace.jsonl"))
                .is_ok_and(|trace| trace.contains("servitors.started"))
    });
    let other = world.marvin(["servitors", "summon", "more"]).run().exits(1);
    assert!(other.message().contains(&format!("process {id} (")), "{}", other.stderr);
    world.marvin(["servitors", "list"]).run().exits(0);
    running.signal(Signal::KILL);
    running.close_stdout();
    running.end();
    world.marvin(["servitors", "summon", "more"]).run().exits(0);
}

/// Servitors and their commitments, which must be the same before and after.
fn promised(world: &World) -> BTreeMap<String, Vec<String>> {
    let listed = world.marvin(["servitors", "list", "--json"]).run().exits(0).json();
    let ids = listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_string());
    ids.map(|id| {
        let one = world.marvin(["servitors", "show", &id, "--json"]).run().exits(0).json();
        let commitments = one["commitments"].as_array().unwrap();
        let facts =
            commitments.iter().map(|one| format!("{} {} {}", one["id"], one["kind"], one["assertion"]));
        (id, facts.collect())
    })
    .collect()
}

/// Number of kills: few by default, more with `cargo xtask`.
fn kills() -> u64 {
    std::env::var("MARVIN_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

const FIVE: [&str; 5] = ["Ann", "Bob", "Cid", "Dot", "Eve"];

/// Each appends one line to a shared file, writes a file of its own, and is done when both exist. After an
/// interruption it checks before it repeats anything.
fn five() -> Vec<Value> {
    let mut script = Vec::new();
    for name in FIVE {
        let id = name.to_lowercase();
        let line = format!("line of {id}\n");
        let append = || call("append_file", json!({"path": "log.txt", "content": line}));
        let look = || call("code_grep", json!({"pattern": format!("line of {id}"), "path": "log.txt"}));
        let note = || call("create_file", json!({"path": format!("{id}.txt"), "content": "written\n"}));
        script.extend([
            when(&id, "begin", append()),
            when(&id, "Appended", note()),
            when(&id, "Created", json!({"reply": {"text": "Ready.\nSTATUS: DONE"}, "delay_ms": 5})),
            when(&id, "exists already", done()),
            when(&id, "interrupted: ", look()),
            when(&id, "log.txt:", note()),
            when(&id, "No match", append()),
            when(&id, "no match", append()),
        ]);
    }
    script
}

#[test]
fn killed_anywhere_no_servitor_is_lost_and_nothing_is_done_twice() {
    let script = five();
    let mut interrupted = 0;
    for number in 0..kills() {
        let world = World::new();
        world.write("log.txt", "");
        for name in FIVE {
            let id = name.to_lowercase();
            summon(&world, name, &format!("file_contains:log.txt: line of {id}"));
        }
        let before = promised(&world);
        let script = world.script(&script);
        // Killed up to three times, at random moments.
        for kill in 0..1 + number % 3 {
            let running = world
                .marvin(["servitors", "run", "--script", &script])
                .env("MARVIN_DURABILITY", "system")
                .start();
            let moment = (number * 37 + kill * 101) % 240;
            std::thread::sleep(Duration::from_millis(15 + moment));
            running.signal(Signal::KILL);
            interrupted += usize::from(running.end().signal.is_some());
        }
        assert_eq!(promised(&world), before, "kill {number}");
        let ended = world.marvin(["servitors", "run", "--json", "--script", &script]).run().exits(0);
        let states = states(&ended.json());
        assert!(
            states.len() == 5 && states.values().all(|state| state == "done"),
            "kill {number}: {states:?}"
        );
        let mut lines: Vec<String> = world.read("log.txt").lines().map(str::to_string).collect();
        lines.sort();
        let expected: Vec<String> = FIVE.map(|name| format!("line of {}", name.to_lowercase())).into();
        assert_eq!(lines, expected, "kill {number}");
        for name in FIVE {
            ledger(&world.state().join(format!("agents/records/{}.jsonl", name.to_lowercase())));
        }
    }
    assert!(interrupted > 0, "no kill fell into a run");
}

#[test]
fn many_servitors_work_within_bounds_and_none_starves() {
    let many = marvin_testing::sized(150, 1_000);
    let world = World::new();
    let script: Vec<Value> = vec![
        json!({"when": {"role": "Servitor", "contains": "[End with"}, "reply": {"tool_calls": [{"name": "get_working_dir", "arguments": {}}]}, "repeat": true}),
        json!({"when": {"role": "Servitor"}, "reply": {"text": "Fine.\nSTATUS: DONE"}, "repeat": true}),
    ];
    let script = world.script(&script);
    // Their records are written directly: starting a process for each would not test the scheduler.
    world.write("there.txt", "x\n");
    summon(&world, "Agent-0", "file_exists:there.txt");
    let first = world.read_state("agents/agent-0.md");
    for n in 1..many {
        let text = first.replace("agent-0", &format!("agent-{n}")).replace("Agent-0", &format!("Agent-{n}"));
        world.write_state(&format!("agents/agent-{n}.md"), &text);
    }
    let one = World::new();
    one.write("there.txt", "x\n");
    summon(&one, "Agent-0", "file_exists:there.txt");
    let peak = |world: &World, script: &str| {
        let mut running = world
            .marvin(["servitors", "run", "--json", "--script", script])
            .env("MARVIN_DURABILITY", "system")
            .start();
        let id = running.id();
        let peak = std::thread::spawn(move || {
            let mut most = 0;
            while let Ok(status) = fs::read_to_string(format!("/proc/{id}/status")) {
                let line = status.lines().find(|line| line.starts_with("VmHWM:"));
                let size = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
                let Some(size) = size else { break };
                most = most.max(size);
                std::thread::sleep(Duration::from_millis(20));
            }
            most
        });
        let line = running.line();
        let ended = running.end().exits(0);
        (peak.join().unwrap(), line.unwrap_or_else(|| ended.text().to_string()))
    };
    let (alone, _) = peak(&one, &script);
    let (crowd, line) = peak(&world, &script);
    let result: Value = serde_json::from_str(&line).unwrap();
    let states = states(&result);
    assert_eq!(states.len(), many);
    assert!(states.values().all(|state| state == "done"), "{states:?}");
    let each = crowd.saturating_sub(alone) / many as u64;
    println!("{alone} KB alone, {crowd} KB with {many}: {each} KB each");
    assert!(each <= 100, "{each} KB each");
    // None waits until all others are done: each has its first call before all but a few have ended.
    let trace = world.trace();
    let is = |event: &&Value, kind: &str| event["type"] == kind;
    let first_done =
        trace.iter().position(|event| is(&event, "servitor.state") && event["to"] == "done").unwrap();
    let started = trace
        .iter()
        .take(first_done)
        .filter(|event| is(event, "item.started") && event["item"]["type"] == "tool_call")
        .count();
    assert!(started > many / 2, "only {started} had begun when the first was done");
}

#[test]
fn commands_of_servitors_are_sandboxed() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    summon(&world, "Ann", "shell:grep -qx one out.txt");
    let script = [
        when("ann", "begin", call("run_command", json!({"command": "echo one > out.txt && echo written"}))),
        when("ann", "written", done()),
    ];
    assert_eq!(states(&run(&world, &script).exits(0).json())["ann"], "done");
}
