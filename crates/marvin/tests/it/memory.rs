//! Memory: only a person's approval adds to it, and approved entries survive a kill.

use crate::support::{World, ledger, put};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

fn directory(world: &World) -> PathBuf {
    world.state().join("memory")
}

fn candidate(text: &str) -> Value {
    json!({"text": text, "type": "fact", "tags": ["t"], "ttl_days": null, "source": "user_said", "why_store": "test"})
}

/// Proposes candidates by an import; returns the fingerprints of those that wait.
fn propose(world: &World, texts: &[String]) -> Vec<String> {
    fs::create_dir_all(directory(world)).unwrap();
    let lines: String = texts.iter().map(|text| format!("{}\n", candidate(text))).collect();
    let file = put(&world.root().join("import.jsonl"), &lines);
    world.marvin(["memory", "import", file.to_str().unwrap(), "--json"]).run().exits(0);
    pending(world)
}

fn pending(world: &World) -> Vec<String> {
    let waiting = world.person(["memory", "pending", "--json"]).run().exits(0).json();
    let ids = waiting.as_array().unwrap().iter().map(|one| one["fingerprint"].as_str().unwrap().to_string());
    ids.collect()
}

fn list(world: &World) -> Vec<Value> {
    world.marvin(["memory", "list", "--json"]).run().exits(0).json().as_array().unwrap().clone()
}

#[test]
fn a_candidate_is_approved_recalled_and_forgotten() {
    let world = World::new();
    let ids = propose(
        &world,
        &["The elephant is grey".into(), "Tigers are striped".into(), "Snails are slow".into()],
    );
    assert!(list(&world).is_empty());
    // A user name is not enough: without a terminal nothing can be decided.
    for more in [&[][..], &["--reviewer", "ann"]] {
        world.marvin(["memory", "approve", &ids[0]]).args(more).run().exits(4);
    }
    world.person(["memory", "approve", ids[0].get(..12).unwrap(), "--reviewer", "ann"]).run().exits(0);
    world.person(["memory", "reject", &ids[2], "--reviewer", "ann", "--note", "so what"]).run().exits(0);
    let edited = world
        .person([
            "memory",
            "edit",
            &ids[1],
            "--text",
            "Most tigers are striped",
            "--reviewer",
            "ann",
            "--json",
        ])
        .run()
        .exits(0)
        .json();
    assert_eq!(
        (edited["type"].as_str(), edited["candidate_fingerprint"].as_str()),
        (Some("edit"), Some(ids[1].as_str()))
    );
    let found =
        world.marvin(["memory", "query", "striped", "tiger?", "\"AND:", "--json"]).run().exits(0).json();
    assert_eq!(found[0]["text"], "Most tigers are striped", "{found:#}");
    assert_eq!(
        (found[0]["unverified"].as_bool(), found[0]["source"].as_str()),
        (Some(true), Some("assistant_inferred"))
    );
    let exported = world.marvin(["memory", "export"]).run().exits(0);
    assert_eq!(exported.events().len(), 2);
    world.person(["memory", "forget", edited["id"].as_str().unwrap(), "--reviewer", "ann"]).run().exits(0);
    assert_eq!(list(&world).len(), 1);
    let audit = world.marvin(["memory", "audit", "--json"]).run().exits(0).json();
    assert_eq!(
        (audit["ok"].as_bool(), audit["active"].as_u64(), audit["forgotten"].as_u64()),
        (Some(true), Some(1), Some(1))
    );
    let words: Vec<Value> = ledger(&directory(&world).join("memory_approvals.jsonl"))
        .into_iter()
        .map(|line| line["type"].clone())
        .collect();
    assert_eq!(words, ["approve", "reject", "edit", "forget"]);
    // Exported memories wait for approval elsewhere and are not remembered there.
    let other = World::new();
    fs::create_dir_all(directory(&other)).unwrap();
    let file = put(&other.root().join("export.jsonl"), exported.text());
    other.marvin(["memory", "import", file.to_str().unwrap()]).run().exits(0);
    assert_eq!((pending(&other).len(), list(&other).len()), (2, 0));
}

#[test]
fn an_agent_cannot_approve_candidates() {
    let world = World::new();
    let ids = propose(&world, &["The elephant is grey".into()]);
    for (name, value) in
        [("MARVIN_DEPTH", "1"), ("MARVIN_TICKET", "t-1"), ("MARVIN_COST_LEDGER", "/x"), ("CLAUDECODE", "1")]
    {
        for words in [vec!["approve", &ids[0]], vec!["reject", &ids[0]], vec!["audit", "--adopt"]] {
            let arguments = ["memory"].into_iter().chain(words).chain(["--reviewer", "ann"]);
            let refused = world.person(arguments).env(name, value).run().exits(5);
            assert!(refused.message().contains("belongs to an agent"), "{}", refused.stderr);
        }
    }
    assert!(list(&world).is_empty());
    // The gate denies the commands as well.
    for line in [
        "marvin memory approve abc --reviewer me",
        "env -i marvin memory forget abc",
        "bash -c 'marvin memory audit --adopt --reviewer x'",
    ] {
        let explained = world.marvin(["gate", "explain", line, "--json"]).run().json();
        assert_eq!(explained["verdict"], "deny", "{explained:#}");
    }
}

#[test]
fn kept_words_survive_a_kill_at_any_moment() {
    let kills: u64 = std::env::var("MARVIN_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let world = World::new();
    let texts: Vec<String> = (0..kills).map(|number| format!("fact number {number}")).collect();
    let ids = propose(&world, &texts);
    assert_eq!(ids.len() as u64, kills);
    let mut acknowledged = Vec::new();
    let mut longest = Duration::from_millis(60);
    for (number, id) in ids.iter().enumerate() {
        // Every fourth run is not killed, which also measures how long one takes.
        let mut running = world.person(["memory", "approve", id, "--reviewer", "ann", "--json"]).start();
        if number % 4 == 0 {
            let started = std::time::Instant::now();
            running.end().exits(0);
            longest = started.elapsed();
            acknowledged.push(id);
            continue;
        }
        let share = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        std::thread::sleep(longest.mul_f64(share as f64 / f64::from(1 << 24)));
        running.signal(rustix::process::Signal::KILL);
        if running.line().is_some() {
            acknowledged.push(id);
        }
        drop(running);
        if number % 5 == 0 {
            let audit = world.marvin(["memory", "audit", "--json"]).run().exits(0).json();
            assert_eq!(audit["ok"], true, "{number}: {audit:#}");
        }
    }
    let audit = world.marvin(["memory", "audit", "--json"]).run().exits(0).json();
    let remembered: Vec<String> =
        list(&world).iter().map(|one| one["id"].as_str().unwrap().to_string()).collect();
    assert_eq!(audit["active"].as_u64().unwrap() as usize, remembered.len());
    for id in acknowledged {
        assert!(remembered.contains(id), "{id} was acknowledged and is lost");
    }
    // No approved entry is lost, and none is counted twice.
    assert_eq!(pending(&world).len() + remembered.len(), ids.len());
}

#[test]
fn a_turn_receives_memories_and_the_ledger_records_them() {
    let world = World::new();
    let ids = propose(
        &world,
        &["The staging database listens on port 5544".into(), "The cat is called Ada".into()],
    );
    world.person(["memory", "approve", &ids[0], &ids[1], "--reviewer", "ann"]).run().exits(0);
    fs::write(
        directory(&world).join("state.json"),
        r#"{"active_context": ["moving the database"], "open_threads": [], "version": 1}"#,
    )
    .unwrap();
    let ask = |words: &str, answer: Value| {
        let script = world.script(&[json!({"when": {"contains": words}, "reply": answer})]);
        world.marvin(["--script", &script, words]).run()
    };
    ask("which port has staging", json!({"text": "5544, as far as I remember."})).exits(0);
    let turns = ledger(&directory(&world).join("turns.jsonl"));
    let turn = &turns[0];
    assert_eq!(
        (turn["user_input"].as_str(), turn["turn_number"].as_u64()),
        (Some("which port has staging"), Some(1))
    );
    assert_eq!(turn["state_before"]["active_context"][0], "moving the database");
    let session = turn["session_id"].as_str().unwrap().to_string();
    let why = world.marvin(["memory", "why", &format!("{session}:1"), "--json"]).run().exits(0).json();
    assert_eq!(why["memories"].as_array().unwrap().len(), 1, "{why:#}");
    assert_eq!(why["memories"][0]["id"], ids[0].as_str());
    assert_eq!(why["memories"][0]["memory"]["approval"]["reviewer"], "ann");
    // The prompt contains it in a marked section.
    let run = crate::support::runs_below(&world.state().join("runs")).pop().unwrap();
    let extras = crate::support::json_file(&run.join("run.json"))["extras"].to_string();
    assert!(
        extras.contains("port 5544") && extras.contains("not verified") && !extras.contains("Ada"),
        "{extras}"
    );
    // A failed turn is recorded, but adds no memory and changes no state.
    ask("now fail", json!({"json": {"status": "FAILURE", "summary": "no"}}));
    let failing = world.script(&[json!({"fail": {"kind": "http", "status": 500}, "repeat": true})]);
    let failed = world.marvin(["--script", &failing, "broken", "turn"]).env("MARVIN_RETRIES", "0").run();
    assert_ne!(failed.code, Some(0));
    let turns = ledger(&directory(&world).join("turns.jsonl"));
    let last = turns.last().unwrap();
    assert!(last["error"].is_string() && last["final_output"] == "", "{last:#}");
    assert_eq!(last["state_before"], last["state_after"]);
    let traces = fs::read_to_string(directory(&world).join("stm.jsonl")).unwrap();
    assert!(traces.contains("which port has staging") && !traces.contains("broken turn"), "{traces}");
    world.marvin(["memory", "audit"]).run().exits(0);
    // A non-interactive run receives none.
    let quiet = world.play(&[crate::support::say("ok")], &[]).run().exits(0);
    assert!(quiet.text().contains("ok"));
    assert_eq!(ledger(&directory(&world).join("turns.jsonl")).len(), turns.len());
}
