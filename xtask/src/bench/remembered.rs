//! `memory`: questions and inserts of the index of memory at 100,000 entries against a bare FTS5 table with the same texts
//! (`bench/memory`, built as a release); and a question to a memory of 100,000 entries against one to a memory of 100, whole
//! processes, about a word that neither knows: what is left is the start. The same for one approval.

use super::timing::{median, round, timed};
use crate::tools;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const SIZES: [usize; 2] = [100, 100_000];
const ROUNDS: usize = 60;
const TARGET_START: f64 = 1.25;
/// Approvals that are measured, after one that is not: it keeps what the ledger comes to.
const APPROVALS: usize = 20;
const TARGET_APPROVAL: f64 = 1.5;

/// Measures.
pub(crate) fn run() -> Result<Value, String> {
    let mut build = tools::cargo();
    build.args(["build", "--release", "--locked", "--quiet", "--package", "marvin-bench-memory"]);
    tools::run(&mut build)?;
    let program = tools::target().join("release/marvin-bench-memory");
    let output = Command::new(&program).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let mut result: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let (start, approval) = start(&program)?;
    let holds = |value: &Value| value.get("ok").and_then(Value::as_bool) == Some(true);
    let ok = holds(&result) && holds(&start) && holds(&approval);
    if let Some(object) = result.as_object_mut() {
        object.insert("start".into(), start);
        object.insert("approval".into(), approval);
        object.insert("ok".into(), json!(ok));
    }
    Ok(result)
}

fn start(program: &Path) -> Result<(Value, Value), String> {
    let marvin = tools::release()?;
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let command = |size: usize, arguments: &[&str]| {
        let mut command = Command::new(&marvin);
        command
            .arg("memory")
            .args(arguments)
            .current_dir(directory.path().join(size.to_string()))
            .env("HOME", directory.path())
            .env("MARVIN_MEMORY_DIR", directory.path().join(format!("memory-{size}")));
        command
    };
    let ask = ["query", "--kind", "ltm", "zzyzx"];
    for size in SIZES {
        let memory = directory.path().join(format!("memory-{size}"));
        std::fs::create_dir_all(directory.path().join(size.to_string()).join(".marvin"))
            .map_err(|error| error.to_string())?;
        let mut store = Command::new(program);
        store.arg("store").arg(&memory).arg(size.to_string());
        tools::run(&mut store)?;
        timed(&mut command(size, &["audit", "--adopt", "--reviewer", "bench"]), &[0])?;
        // The first question builds the index.
        timed(&mut command(size, &ask), &[0])?;
    }
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        small.push(timed(&mut command(SIZES[0], &ask), &[0])?.0.wall);
        large.push(timed(&mut command(SIZES[1], &ask), &[0])?.0.wall);
    }
    let (small, large) = (median(small.into_iter()), median(large.into_iter()));
    let ratio = large / small;
    let start = json!({
        "what": "marvin memory query, the whole process", "entries": SIZES,
        "median_ms": [round(small), round(large)], "ratio": round(ratio), "target_ratio": TARGET_START, "runs": ROUNDS,
        "ok": ratio <= TARGET_START,
    });
    let candidates = directory.path().join("candidates.jsonl");
    let lines = (0..=APPROVALS).map(|number| {
        let text = format!("a fact that is new, number {number}");
        json!({"text": text, "type": "fact", "tags": [], "ttl_days": null, "source": "user_said", "why_store": "measured"})
    });
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    std::fs::write(&candidates, lines).map_err(|error| error.to_string())?;
    let mut figures = Vec::new();
    for size in SIZES {
        timed(&mut command(size, &["import", &candidates.display().to_string()]), &[0])?;
        let waiting = command(size, &["pending", "--json"]).output().map_err(|error| error.to_string())?;
        let waiting: Vec<Value> =
            serde_json::from_slice(&waiting.stdout).map_err(|error| error.to_string())?;
        let mut times = Vec::new();
        for one in &waiting {
            let id = one.get("fingerprint").and_then(Value::as_str).unwrap_or_default();
            times.push(timed(&mut command(size, &["approve", id, "--reviewer", "bench"]), &[0])?.0.wall);
        }
        figures.push(median(times.into_iter().skip(1)));
    }
    let ratio = figures.last().copied().unwrap_or(f64::NAN) / figures.first().copied().unwrap_or(f64::NAN);
    let figures: Vec<f64> = figures.into_iter().map(round).collect();
    let approval = json!({
        "what": "marvin memory approve, the whole process", "entries": SIZES, "median_ms": figures,
        "ratio": round(ratio), "target_ratio": TARGET_APPROVAL, "runs": APPROVALS, "ok": ratio <= TARGET_APPROVAL,
    });
    Ok((start, approval))
}
