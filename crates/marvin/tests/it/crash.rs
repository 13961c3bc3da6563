//! Kills at random moments: every record still parses, and no acknowledged line is lost.

use crate::support::{World, call, commands_run, files_below, json_file, put, say, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

const WORKERS: u64 = 4;
/// About as many lines as an uninterrupted run prints.
const LINES: u64 = 40;

/// A moment of a run: after this many lines, plus a delay. Kills spread over the whole run even on a busy machine.
#[derive(Debug)]
struct Moment {
    lines: u64,
    then: Duration,
}

impl Moment {
    /// One kill in eight falls into the start, before the first line.
    fn number(number: u64) -> Moment {
        let (lines, micros) = (random(2 * number), random(2 * number + 1));
        match number % 8 {
            0 => Moment { lines: 0, then: Duration::from_micros(micros % 80_000) },
            _ => Moment { lines: 1 + lines % LINES, then: Duration::from_micros(micros % 4_000) },
        }
    }
}

/// The SplitMix64 sequence: the same kills in every run of the test.
fn random(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn script() -> Vec<Value> {
    let mut script: Vec<Value> = (0..4)
        .map(|n| {
            json!({"delay_ms": 2, "chunks": 5, "reply": {
                "text": format!("Round {n}, with some words to say."),
                "tool_calls": [
                    {"name": "create_file", "arguments": {"path": format!("f{n}.txt"), "content": "whole\n".repeat(300)}},
                    {"name": "append_file", "arguments": {"path": "log.txt", "content": format!("{n}\n")}},
                ],
            }})
        })
        .collect();
    script.push(json!({"delay_ms": 3, "reply": {"text": "Done."}}));
    script
}

/// Complete lines that the reader received before the program died.
fn acknowledged(bytes: &[u8]) -> Vec<&str> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let text = std::str::from_utf8(&bytes[..whole]).unwrap();
    text.lines().filter(|line| !line.contains("\"type\":\"item.updated\"")).collect()
}

/// Checks that every ledger parses except for a torn end; returns the lines of the traces.
fn check_records(directory: &Path, seed: &str) -> Vec<String> {
    let mut traced = Vec::new();
    for path in files_below(directory) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".jsonl") {
            let contents = marvin_base::ledger::read(&path).unwrap();
            assert!(contents.damaged.is_empty(), "{seed}: {}: {:?}", path.display(), contents.damaged);
        }
        if name == "trace.jsonl" {
            // The stream has the line without the hash that links it to the previous one.
            let contents = marvin_base::ledger::read_chained(&path).unwrap();
            let begun = path.with_file_name("run.json").exists();
            assert!(begun || contents.entries.is_empty(), "{seed}: a trace without run.json");
            traced.extend(contents.entries.iter().map(Value::to_string));
        }
        if name == "run.json" || name == "usage.json" {
            json_file(&path);
        }
    }
    traced
}

/// Kills one run and checks its files.
fn kill_once(world: &World, script: &str, number: u64) -> usize {
    let moment = Moment::number(number);
    let seed = format!("kill {number} at {moment:?}");
    let directory = world.root().join(format!("w{number}"));
    fs::create_dir(&directory).unwrap();
    let mut running = world
        .marvin(["--non-interactive", "--prompt", "go", "--output-format", "stream-json", "--record", "tape"])
        .args(["--script", script])
        // Syncing adds nothing here: data that the kernel has accepted survives the death of a process.
        .env("MARVIN_DURABILITY", if number.is_multiple_of(2) { "turn" } else { "system" })
        .directory(&directory)
        .start();
    let mut streamed: Vec<u8> = Vec::new();
    for _ in 0..moment.lines {
        let Some(line) = running.line() else { break };
        streamed.extend_from_slice(line.as_bytes());
        streamed.push(b'\n');
    }
    std::thread::sleep(moment.then);
    running.signal(Signal::KILL);
    let ended = running.end();
    assert!(!ended.stderr.contains("panicked"), "{seed}: {}", ended.stderr);

    streamed.extend_from_slice(&ended.stdout);
    let streamed = acknowledged(&streamed);
    let traced = check_records(&world.state_of(&directory), &seed);
    for line in &streamed {
        assert!(traced.iter().any(|kept| kept == line), "{seed}: streamed but not recorded: {line}");
    }
    // Everything that the record reports as done is done completely.
    for line in traced.iter().filter(|line| line.contains("\"tool\":\"create_file\"")) {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        if let (Some(true), Some(path)) =
            (event["item"]["ok"].as_bool(), event["item"]["result"]["data"]["path"].as_str())
        {
            assert_eq!(fs::read_to_string(directory.join(path)).unwrap().len(), 1_800, "{seed}: {path}");
        }
    }
    // No half-written file has its final name, acknowledged or not.
    for path in files_below(&directory).into_iter().filter(|path| path.parent() == Some(directory.as_path()))
    {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('f') {
            assert_eq!(fs::metadata(&path).unwrap().len(), 1_800, "{seed}: {name} is half written");
        }
    }
    // The next run in the same directory, with the same recording, works.
    let next = world.script(&[call("tree", json!({})), say("fine")]);
    let ended = world
        .marvin(["--non-interactive", "--prompt", "again", "--record", "tape", "--script", &next])
        .directory(&directory)
        .run();
    assert_eq!(ended.code, Some(0), "{seed}: {}", ended.whole());
    assert!(ended.text().ends_with("fine\n"), "{seed}");
    check_records(&world.state_of(&directory), &seed);
    streamed.len()
}

#[test]
fn kills_lose_no_acknowledged_line() {
    let kills = marvin_testing::sized(60, 200);
    let world = World::new();
    let script = world.script(&script());
    let lines_before_kill: Vec<usize> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (world, script) = (&world, script.as_str());
                scope.spawn(move || {
                    let mine = (0..kills).filter(move |number| number % WORKERS == worker);
                    mine.map(|number| kill_once(world, script, number)).collect::<Vec<usize>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(lines_before_kill.len() as u64, kills);
    // The test proves something only if kills fell into the middle of runs.
    let middle = lines_before_kill.iter().filter(|lines| (3..34).contains(*lines)).count();
    assert!(middle as u64 > kills / 2, "only {middle} kills fell into a run: {lines_before_kill:?}");
    check_records(&world.user(), "the user directory");
}

/// Processes whose command line holds a text.
fn processes(text: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let id = entry.file_name().into_string().ok().filter(|name| name.parse::<u32>().is_ok())?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            String::from_utf8_lossy(&line).contains(text).then_some(id)
        })
        .collect()
}

#[test]
fn a_killed_parent_leaves_no_child() {
    for signal in [Signal::KILL, Signal::TERM] {
        let world = World::new();
        if !commands_run(&world) {
            return;
        }
        // A sleep duration that no other process uses.
        let length = format!("300.{}{}", std::process::id(), signal.as_raw());
        world.write("Makefile", &format!("wait:\n\tsleep {length}; true\n"));
        let script = [call("run_command", json!({"command": "make wait", "timeout": 250})), say("never")];
        let running = world.play(&script, &[]).start();
        until("the command runs", || !processes(&format!("sleep\0{length}")).is_empty());
        running.signal(signal);
        let ended = running.end();
        if signal == Signal::TERM {
            assert_eq!(ended.exits(130).cost()["llm_turns"], 1);
        }
        until("the command is gone", || processes(&length).is_empty());
    }
}

#[test]
fn a_torn_record_of_an_earlier_process_is_set_aside() {
    let world = World::new();
    let tape =
        put(&world.root().join("tape/script.jsonl"), "{\"reply\":{\"text\":\"old\"}}\n{\"reply\":{\"te");
    let directory = tape.parent().unwrap().display().to_string();
    world.play(&[say("new")], &["--record", &directory]).run().exits(0);
    let kept = crate::support::ledger(&tape);
    assert_eq!(kept.len(), 2);
    assert_eq!((&kept[0]["reply"]["text"], &kept[1]["reply"]["text"]), (&json!("old"), &json!("new")));
    let torn = fs::read_to_string(world.root().join("tape/script.jsonl.torn")).unwrap();
    assert_eq!(torn, "{\"reply\":{\"te\n");
}
