//! `start`: the time of `marvin --version` and of a scripted one-turn run, against an empty Rust
//! program; the memory of the turn; the size of the binary.

use super::timing::{Run, compile, median, round, wait};
use crate::tools;
use anyhow::Context;
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 300;
const TURNS: usize = 40;
const TARGET_VERSION_RATIO: f64 = 2.5;
const TARGET_PEAK_MB: f64 = 25.0;
const TARGET_BINARY_MB: f64 = 30.0;

pub(super) fn run() -> anyhow::Result<Value> {
    let marvin = tools::release()?;
    let directory = tempfile::tempdir()?;
    let empty = compile(directory.path(), "empty", "fn main() {}\n")?;
    let script = directory.path().join("script.jsonl");
    std::fs::write(&script, "{\"reply\":{\"text\":\"Hello.\"},\"repeat\":true}\n")?;
    let work = directory.path().join("work");
    std::fs::create_dir(&work)?;
    let turn = || {
        let mut command = Command::new(&marvin);
        command
            .args(["--non-interactive", "--prompt", "hello", "--provider", "mock", "--script"])
            .arg(&script)
            .current_dir(&work)
            .env("HOME", directory.path());
        command
    };
    let mut version = Command::new(&marvin);
    version.arg("--version");

    let (mut empties, mut versions, mut turns) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        empties.push(measure(&mut Command::new(&empty))?);
        versions.push(measure(&mut version)?);
        if round < TURNS {
            turns.push(measure(&mut turn())?);
        }
    }
    let wall = |runs: &[Run]| median(runs.iter().map(|run| run.wall));
    let peak_mb = turns.iter().map(|run| run.peak_kb).max().unwrap_or(0) as f64 / 1024.0;
    let binary_mb = std::fs::metadata(&marvin)?.len() as f64 / 1e6;
    let ratio = wall(&versions) / wall(&empties);
    let ok = ratio <= TARGET_VERSION_RATIO && peak_mb <= TARGET_PEAK_MB && binary_mb <= TARGET_BINARY_MB;
    Ok(json!({
        "bench": "start",
        "reference": {
            "what": "an empty Rust program, rustc -O", "median_ms": round(wall(&empties)), "runs": ROUNDS,
        },
        "version": {
            "median_ms": round(wall(&versions)), "ratio": round(ratio), "target_ratio": TARGET_VERSION_RATIO,
            "runs": ROUNDS,
        },
        "scripted_turn": {
            "median_ms": round(wall(&turns)), "ratio": round(wall(&turns) / wall(&empties)),
            "cpu_ms": round(median(turns.iter().map(|run| run.cpu))),
            "peak_rss_mb": round(peak_mb), "target_peak_rss_mb": TARGET_PEAK_MB, "runs": TURNS,
        },
        "binary_mb": round(binary_mb), "target_binary_mb": TARGET_BINARY_MB,
        "ok": ok,
    }))
}

fn measure(command: &mut Command) -> anyhow::Result<Run> {
    let started = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    wait(&child, started)
}
