//! Duration of a phase: the sum over the processes that worked on it, killed or not, without the time between them.

use super::{begin, events, script, state};
use crate::support::{World, put, until};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// The first phase of the Python project only, with these delays in milliseconds before its first reply and before the
/// second one.
fn first_phase(world: &World, name: &str, first: u64, second: u64) -> String {
    let text = fs::read_to_string(script("python_cli")).unwrap();
    let mut lines = String::new();
    for line in text.lines().filter(|line| line.contains("\"step\": \"1a.")) {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        if entry["when"]["step"] == "1a.spec.1" {
            let wait = if entry["when"]["contains"].is_null() { first } else { second };
            entry["delay_ms"] = json!(wait);
        }
        lines.push_str(&format!("{entry}\n"));
    }
    put(&world.root().join(name), &lines).display().to_string()
}

fn phase(world: &World, name: &str) -> Value {
    let status = world.marvin(["pipeline", "status", "--json"]).run().exits(0).json();
    status["phases"].as_array().unwrap().iter().find(|phase| phase["phase"] == name).unwrap().clone()
}

#[test]
fn the_time_of_a_killed_process_counts_and_the_time_until_it_resumes_does_not() {
    let world = World::new();
    let path = std::env::var("PATH").unwrap();
    let slow = first_phase(&world, "slow.jsonl", 900, 120_000);
    let running = begin(&world, &path, &slow, "Build it").start();
    // Killed after its first call, while it waits for the model.
    let called = || {
        let runs = world.runs().into_iter();
        let texts = runs.map(|run| fs::read_to_string(run.join("trace.jsonl")).unwrap_or_default());
        texts.into_iter().any(|text| text.contains("Created .marvin/spec.md"))
    };
    until("it has called something", called);
    running.signal(rustix::process::Signal::KILL);
    assert_eq!(running.end().code, None);
    let killed = phase(&world, "1a");
    let first = killed["elapsed_ms"].as_u64().unwrap();
    assert!((900..60_000).contains(&first), "{killed:#}");
    assert_eq!((&killed["state"], &killed["processes"]), (&json!("begun"), &json!(1)));
    // No process works for a while.
    std::thread::sleep(Duration::from_secs(3));
    let quick = first_phase(&world, "quick.jsonl", 0, 400);
    let began = Instant::now();
    let ended = begin(&world, &path, &quick, "Build it").run();
    let second = u64::try_from(began.elapsed().as_millis()).unwrap();
    assert_eq!((ended.code, state(&world).as_str()), (Some(1), "1a"), "{}", ended.stderr);
    let over = phase(&world, "1a");
    let whole = over["elapsed_ms"].as_u64().unwrap();
    assert!(whole >= first + 400 && whole <= first + second, "{first} and {second}: {over:#}");
    assert_eq!((&over["state"], &over["processes"]), (&json!("over"), &json!(2)));
    assert_eq!((&over["facts"]["elapsed_ms"], &over["facts"]["processes"]), (&json!(whole), &json!(2)));
    let trace = world.trace();
    let completed = events(&trace, "phase.completed");
    assert_eq!((completed.len(), &completed[0]["elapsed_ms"]), (1, &json!(whole)));
    // The next phase failed because the script was exhausted: its time is recorded too, and more is added to it.
    let before = phase(&world, "1a_review");
    assert_eq!((&before["state"], &before["processes"]), (&json!("begun"), &json!(1)));
    begin(&world, &path, &quick, "Build it").run();
    let after = phase(&world, "1a_review");
    assert_eq!(after["processes"], 2);
    assert!(after["elapsed_ms"].as_u64() > before["elapsed_ms"].as_u64(), "{before:#} {after:#}");
    assert_eq!(phase(&world, "1a")["elapsed_ms"], json!(whole), "what is over stays as it is");
    let seconds = format!("{}.{} s", whole / 1000, whole % 1000 / 100);
    let report = fs::read_to_string(world.run().join("reports/pipeline.md")).unwrap();
    let line = report.lines().find(|line| line.starts_with("| 1a |")).unwrap();
    assert!(line.contains(&seconds) && line.contains("worked on by 2 processes"), "{line}");
    let status = world.marvin(["pipeline", "status"]).run().exits(0);
    assert!(status.text().contains(&seconds), "{}", status.text());
}
