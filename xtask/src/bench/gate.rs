//! `gate`: how many command lines are judged in a second on one core, against a bare parse of them
//! by the same parsers (`bench/gate`, built as a release); and one `marvin gate explain` against an
//! empty program.
//!
//! The lines are those of the JSONL file that `MARVIN_BENCH_LINES` names, otherwise our own; the
//! report says which.

use super::report::ExtendedReport;
use super::timing::{compile, median, round, timed};
use crate::tools;
use serde::Serialize;
use serde_json::Value;
use std::process::Command;

const ROUNDS: usize = 200;
const TARGET_RATIO: f64 = 4.0;

#[derive(Serialize)]
struct Outside {
    set: &'static str,
    explain: Explain,
}

#[derive(Serialize)]
struct Explain {
    what: &'static str,
    reference: Median,
    median_ms: f64,
    ratio: f64,
    target_ratio: f64,
    runs: usize,
    ok: bool,
}

#[derive(Serialize)]
struct Median {
    what: &'static str,
    median_ms: f64,
}

pub(super) fn run() -> anyhow::Result<Value> {
    let mut bench = Command::new(tools::build_release("marvin-bench-gate")?);
    let file = std::env::var_os("MARVIN_BENCH_LINES");
    bench.args(&file);
    let inside = tools::json(&mut bench)?;
    let explain = measure_explain()?;
    let ok = explain.ok;
    let set = if file.is_some() { "the lines of MARVIN_BENCH_LINES" } else { "our own lines" };
    Ok(serde_json::to_value(ExtendedReport::new(inside, Outside { set, explain }, ok))?)
}

/// Measures `marvin gate explain` as a whole process.
fn measure_explain() -> anyhow::Result<Explain> {
    let marvin = tools::release()?;
    let directory = tempfile::tempdir()?;
    let empty = compile(directory.path(), "empty", "fn main() {}\n")?;
    let explain = || {
        let mut command = Command::new(&marvin);
        command
            .args(["gate", "explain", "git status && ls -la | head"])
            .current_dir(directory.path())
            .env("HOME", directory.path());
        command
    };
    let (mut empties, mut explained) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        empties.push(timed(&mut Command::new(&empty), &[0])?.0.wall);
        explained.push(timed(&mut explain(), &[0])?.0.wall);
    }
    let (reference, taken) = (median(empties.into_iter()), median(explained.into_iter()));
    let ratio = taken / reference;
    Ok(Explain {
        what: "marvin gate explain, the whole process",
        reference: Median { what: "an empty Rust program, rustc -O", median_ms: round(reference) },
        median_ms: round(taken),
        ratio: round(ratio),
        target_ratio: TARGET_RATIO,
        runs: ROUNDS,
        ok: ratio <= TARGET_RATIO,
    })
}
