//! `gate`: how many command lines are judged in a second on one core, against a bare parse of them by the same parsers
//! (`bench/gate`, built as a release); and one `marvin gate explain` against an empty program.
//!
//! The lines are those of the development set where it lies beside the project, else our own; the result says which.

use super::timing::{compile, median, round, timed};
use crate::tools;
use serde_json::{Value, json};
use std::process::Command;

const ROUNDS: usize = 200;
const TARGET_ONCE: f64 = 3.0;

/// Measures.
pub(crate) fn run() -> Result<Value, String> {
    let mut build = tools::cargo();
    build.args(["build", "--release", "--locked", "--quiet", "--package", "marvin-bench-gate"]);
    tools::run(&mut build)?;
    let mut judged = Command::new(tools::target().join("release/marvin-bench-gate"));
    let set = tools::root().join("../shared/data/gate/dev.jsonl");
    if set.exists() {
        judged.arg(&set);
    }
    let output = judged.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let mut result: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let once = once()?;
    let holds = |value: &Value| value.get("ok").and_then(Value::as_bool) == Some(true);
    let ok = holds(&result) && holds(&once);
    if let Some(object) = result.as_object_mut() {
        object
            .insert("set".into(), json!(if set.exists() { "the development set" } else { "our own lines" }));
        object.insert("explain".into(), once);
        object.insert("ok".into(), json!(ok));
    }
    Ok(result)
}

/// One `marvin gate explain`, as a whole process.
fn once() -> Result<Value, String> {
    let marvin = tools::release()?;
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let empty = compile(directory.path(), "empty", "fn main() {}\n")?;
    let explain = || {
        let mut command = Command::new(&marvin);
        command
            .args(["gate", "explain", "git status && ls -la | head"])
            .current_dir(directory.path())
            .env("HOME", directory.path());
        command
    };
    if let Err(error) = timed(&mut explain(), &[0]) {
        return Ok(json!({"what": "marvin gate explain", "missing": error, "ok": false}));
    }
    let (mut empties, mut explained) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        empties.push(timed(&mut Command::new(&empty), &[0])?.0.wall);
        explained.push(timed(&mut explain(), &[0])?.0.wall);
    }
    let (reference, taken) = (median(empties.into_iter()), median(explained.into_iter()));
    let ratio = taken / reference;
    Ok(json!({
        "what": "marvin gate explain, the whole process",
        "reference": {"what": "an empty Rust program, rustc -O", "median_ms": round(reference)},
        "median_ms": round(taken), "ratio": round(ratio), "target_ratio": TARGET_ONCE, "runs": ROUNDS,
        "ok": ratio <= TARGET_ONCE,
    }))
}
