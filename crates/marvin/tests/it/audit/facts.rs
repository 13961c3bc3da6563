//! Findings about wrong facts (B).

use crate::support::{World, commands_run, put, say};
use serde_json::json;

#[test]
fn b8_a_misspelt_command_is_not_sent_to_the_model() {
    let world = World::new();
    for (words, meant) in [
        (&["memry", "list"][..], "marvin memory list"),
        (&["docter"], "marvin doctor"),
        (&["list-run"], "marvin list-runs"),
        (&["comitments", "list"], "marvin commitments list"),
    ] {
        let refused = world.marvin(words).run().exits(2);
        assert!(refused.message().contains(&format!("did you mean `{meant}`?")), "{}", refused.whole());
    }
    assert!(world.runs().is_empty());
    let script = world.script(&[say("Nothing hurts."), say("Nothing hurts."), say("Nothing hurts.")]);
    for words in [&["--", "docter"][..], &["docter what hurts"], &["docter", "what", "hurts", "me"]] {
        let asked = world.marvin(["--script", &script]).args(words).run().exits(0);
        assert!(asked.text().contains("Nothing hurts."), "{}", asked.whole());
    }
}

#[test]
fn help_about_a_misspelt_command_is_not_a_question() {
    let world = World::new();
    let near = world.marvin(["help", "workflow", "aprove"]).run().exits(2);
    assert!(near.text().contains("Usage: marvin workflow <COMMAND>"), "{}", near.whole());
    assert!(near.message().contains("unknown command `workflow aprove`"), "{}", near.whole());
    assert!(near.message().contains("did you mean `marvin help workflow approve`?"), "{}", near.whole());
    let far = world.marvin(["help", "doctor", "who"]).run().exits(2);
    assert!(far.text().contains("Usage: marvin doctor"), "{}", far.whole());
    let first = world.marvin(["help", "workflw", "approve"]).run().exits(2);
    assert!(first.message().contains("did you mean `marvin help workflow approve`?"), "{}", first.whole());
    assert!(world.marvin(["help", "workflow", "approve"]).run().exits(0).text().contains("--reject"));
    assert!(world.runs().is_empty());
    let script = world.script(&[say("Of course.")]);
    let asked = world.marvin(["--script", &script, "help", "me", "please"]).run().exits(0);
    assert!(asked.text().contains("Of course."), "{}", asked.whole());
}

#[test]
fn b10_a_daemon_outlives_the_question_whether_it_runs() {
    let world = World::new();
    world.person(["init"]).run();
    world.marvin(["daemon", "start"]).run().exits(0);
    for _ in 0..3 {
        std::thread::sleep(std::time::Duration::from_millis(400));
        let status = world.marvin(["daemon", "status", "--json"]).run().exits(0).json();
        assert_eq!(status["state"], "alive", "{status}");
    }
    world.person(["daemon", "stop"]).run().exits(0);
}

/// Remembers one fact, by an import and a person's approval.
fn remember(world: &World, text: &str) {
    let fact = json!({"text": text, "type": "fact", "tags": [], "ttl_days": null, "source": "user_said", "why_store": "test"});
    let file = put(&world.root().join("import.jsonl"), &format!("{fact}\n"));
    world.marvin(["memory", "import", file.to_str().unwrap()]).run().exits(0);
    let waiting = world.person(["memory", "pending", "--json"]).run().exits(0).json();
    let id = waiting[0]["fingerprint"].as_str().unwrap().to_string();
    world.person(["memory", "approve", &id, "--reviewer", "ann"]).run().exits(0);
}

#[test]
fn b4_a_moved_project_says_where_its_memory_is() {
    let world = World::new();
    world.play(&[say("Hello.")], &[]).run().exits(0);
    remember(&world, "Elephants are grey");
    let moved = world.root().join("elsewhere");
    std::fs::rename(world.project(), &moved).unwrap();
    let memory = |words: &[&str]| world.marvin(["memory"]).args(words).directory(&moved);
    let listed = memory(&["list"]).run().exits(0);
    let old = world.project().display().to_string();
    assert!(listed.stderr.contains(&format!("was at {old}")), "{}", listed.whole());
    assert!(listed.stderr.contains("`marvin memory audit --adopt`"), "{}", listed.whole());
    assert!(memory(&["audit"]).run().text().contains("--adopt"));
    let runs = world.marvin(["runs", "list"]).directory(&moved).run().exits(0);
    assert!(runs.stderr.contains(&format!("was at {old}")), "{}", runs.whole());
    // Only a person takes it over.
    memory(&["audit", "--adopt"]).run().exits(4);
    world.person(["memory", "audit", "--adopt", "--reviewer", "ann"]).directory(&moved).run().exits(0);
    let listed = memory(&["list"]).run().exits(0).quiet();
    assert!(listed.text().contains("Elephants are grey"), "{}", listed.whole());
    assert_eq!(crate::support::runs_below(&moved.join(".marvin/runs")).len(), 1, "the runs came with it");
}

#[test]
fn b4_a_memory_without_its_seal_is_not_called_empty() {
    let world = World::new();
    remember(&world, "Elephants are grey");
    std::fs::remove_dir_all(world.user().join("seals")).unwrap();
    let listed = world.marvin(["memory", "list"]).run().exits(0);
    assert!(listed.stderr.contains("`marvin memory audit --adopt`"), "{}", listed.whole());
    world.person(["memory", "audit", "--adopt", "--reviewer", "ann"]).run().exits(0);
    assert!(world.marvin(["memory", "list"]).run().exits(0).text().contains("Elephants are grey"));
}

#[test]
fn b5_a_living_trace_is_shown_as_one() {
    let world = World::new();
    let script = world.script(&[say("31 elephants."), say("Still 31.")]);
    let ask =
        |question: &str| world.marvin(["--script", &script, "--working-dir", ".", question]).run().exits(0);
    ask("how many elephants are in the park?");
    ask("how many elephants are in the park today?");
    let turns = crate::support::ledger(&world.state().join("memory/turns.jsonl"));
    let last = turns.last().unwrap();
    let name = format!("{}:1", last["session_id"].as_str().unwrap());
    let why = world.marvin(["memory", "why", &name]).run().exits(0);
    assert!(why.text().contains("stm_") && why.text().contains("31 elephants"), "{}", why.whole());
    assert!(!why.text().contains("not remembered"), "{}", why.whole());
}

#[test]
fn b2_a_failed_command_does_not_take_its_output_for_the_reason() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let step = json!({"id": "a", "worker": "Command", "inputs": {"command": "echo all is well; exit 2"}});
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": [step]}).to_string());
    let ended = world.marvin(["run-workflow", "w.json"]).run();
    assert_ne!(ended.code, Some(0));
    let shown = world.marvin(["runs", "show"]).run().exits(0);
    assert!(
        shown.text().contains("exit code 2, no message; stdout ends with: all is well"),
        "{}",
        shown.whole()
    );
}

#[test]
fn b7_a_model_without_a_price_is_named() {
    let world = World::new();
    let server = world.server(&[say("Hello.")]);
    let ended = world
        .marvin([
            "--non-interactive",
            "--prompt",
            "hello",
            "--provider",
            "openai",
            "--model",
            "gpt-unheard-of",
        ])
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", format!("{}/v1", server.address()))
        .run()
        .exits(0);
    assert!(ended.stderr.contains("the cost of gpt-unheard-of is not counted"), "{}", ended.whole());
    assert_eq!(ended.cost()["llm_turns"], 1, "the cost stays the last line");
}

#[test]
fn b9_every_run_has_a_timeline_an_end_and_a_total() {
    let world = World::new();
    world.play(&[say("Hello.")], &[]).run().exits(0);
    let shown = world.marvin(["runs", "show"]).run().exits(0);
    let when = shown.text().lines().find(|line| line.starts_with("when")).unwrap().to_string();
    assert!(when.contains(" to 2"), "{when}");
    let timeline = world.marvin(["runs", "show", "--timeline"]).run().exits(0);
    for kind in ["run.started", "turn.started", "item.completed", "result"] {
        assert!(timeline.text().contains(kind), "{}", timeline.whole());
    }
    let run = world.run();
    let line = |model: &str| json!({"provider": "mock", "model": model, "input": 10, "output": 1, "cost_nanos": 5_000_000});
    let copy = world.root().join("run_copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(run.join("run.json"), copy.join("run.json")).unwrap();
    std::fs::write(copy.join("cost.jsonl"), format!("{}\n{}\n", line("a"), line("b"))).unwrap();
    let shown = world.marvin(["runs", "show", copy.to_str().unwrap()]).run().exits(0);
    assert!(shown.text().contains("total: 2 replies, 20 tokens in, 2 out, $0.0100"), "{}", shown.whole());
}

#[test]
fn b9_a_client_session_shows_its_verification() {
    let world = World::new();
    let run = world.root().join("run_hooks");
    let record = json!({"version": 1, "run_id": "run_hooks", "manner": "hooks", "started_at": "2026-02-03T04:05:06Z",
        "verification": {"verified": false, "sent_back": 2, "summary": "1 of 2 commitments hold"}});
    put(&run.join("run.json"), &record.to_string());
    let shown = world.marvin(["runs", "show", run.to_str().unwrap()]).run().exits(0);
    assert!(shown.text().contains("not verified, sent back 2 times"), "{}", shown.whole());
    assert!(shown.text().contains("1 of 2 commitments hold"), "{}", shown.whole());
}

#[test]
fn b9_a_step_follows_its_dependency_in_the_timeline() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    // In reverse in the file, commands and echoes taking turns.
    let step = |at: usize| {
        let after: Vec<String> = (at > 0).then(|| format!("s{}", at - 1)).into_iter().collect();
        match at % 2 {
            0 => {
                json!({"id": format!("s{at}"), "worker": "Command", "depends_on": after, "inputs": {"command": "ls"}})
            }
            _ => json!({"id": format!("s{at}"), "worker": "Echo", "depends_on": after}),
        }
    };
    let steps: Vec<_> = (0..6).rev().map(step).collect();
    world.write("w.json", &json!({"workflow_id": "w", "goal": "try", "steps": steps}).to_string());
    world.marvin(["run-workflow", "w.json"]).run().exits(0);
    let timeline = world.marvin(["runs", "show", "--timeline"]).run().exits(0);
    let ends: Vec<String> = timeline
        .text()
        .lines()
        .filter_map(|line| Some(line.split_once("SUCCEEDED ")?.1.trim_start().get(..2)?.to_string()))
        .filter(|step| step.starts_with('s'))
        .collect();
    assert_eq!(ends, ["s0", "s1", "s2", "s3", "s4", "s5"], "{}", timeline.whole());
}

#[test]
fn b12_tools_that_a_directory_lacks_are_explained() {
    let world = World::new();
    let count = |directory: &std::path::Path| {
        let listed = world.marvin(["tools", "list"]).directory(directory).run().exits(0);
        (listed.text().lines().count(), listed.stderr)
    };
    let (inside, silent) = count(&world.project());
    let (outside, note) = count(&world.home());
    assert!(outside < inside && silent.is_empty(), "{outside} {inside} {silent}");
    assert!(note.contains("servitors and commitments are not listed"), "{note}");
}

#[test]
fn b12_every_recorded_event_has_a_number_and_a_time() {
    let world = World::new();
    let done = world.play(&[say("Hello there.")], &["--output-format", "stream-json"]).run().exits(0);
    for event in done.events() {
        let is_numbered = event.get("seq").is_some() && event.get("timestamp").is_some();
        assert_eq!(is_numbered, event["type"] != "item.updated", "{event}");
    }
}

#[test]
fn d7_the_same_mistake_has_the_same_exit_code() {
    let world = World::new();
    let script = world.script(&[say("Done.")]);
    for wrong in ["foo:bar", "file_exists:/etc/passwd", "file_exists:../x"] {
        world.marvin(["commitments", "add", wrong]).run().exits(2);
        world
            .marvin(["--non-interactive", "--script", &script, "--prompt", "x", "--commitment", wrong])
            .run()
            .exits(2);
        world.marvin(["--script", &script, "--commitment", wrong, "hello"]).run().exits(2);
        world.marvin(["servitors", "summon", "work", "--commitment", wrong]).run().exits(2);
        let step =
            json!({"id": "a", "worker": "CodeImplementer", "inputs": {"task": "x"}, "commitments": [wrong]});
        world.write("w.json", &json!({"workflow_id": "w", "goal": "g", "steps": [step]}).to_string());
        world.marvin(["workflow", "check", "w.json"]).run().exits(2);
        world.marvin(["run-workflow", "w.json"]).run().exits(2);
    }
    let refused = world.marvin(["servitors", "summon", "work", "--name", "../../x"]).run().exits(2);
    assert!(refused.message().contains("cannot be a name"), "{}", refused.whole());
}
