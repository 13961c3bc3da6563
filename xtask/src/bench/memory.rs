//! `memory`: queries and inserts of the memory index at 100,000 entries against a bare FTS5 table
//! with the same texts (`bench/memory`, built as a release); and a query to a memory of 100,000
//! entries against one to a memory of 100, whole processes, for a word that is in neither: the
//! difference is in the start. The same for one approval.

use super::report::ExtendedReport;
use super::timing::{median, round, timed};
use crate::tools;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const SIZES: [usize; 2] = [100, 100_000];
const ROUNDS: usize = 60;
const TARGET_START_RATIO: f64 = 1.25;
/// Approvals that are measured, after one that is not: it stores the state of the ledger.
const APPROVALS: usize = 20;
const TARGET_APPROVAL_RATIO: f64 = 1.5;
/// A query for a word that no entry has.
const QUERY: [&str; 4] = ["query", "--kind", "ltm", "zzyzx"];

#[derive(Serialize)]
struct Outside {
    start: Comparison,
    approval: Comparison,
}

/// The small memory against the large one.
#[derive(Serialize)]
struct Comparison {
    what: &'static str,
    entries: [usize; 2],
    median_ms: [f64; 2],
    ratio: f64,
    target_ratio: f64,
    runs: usize,
    ok: bool,
}

impl Comparison {
    fn new(what: &'static str, [small, large]: [f64; 2], target_ratio: f64, runs: usize) -> Self {
        let ratio = large / small;
        Comparison {
            what,
            entries: SIZES,
            median_ms: [round(small), round(large)],
            ratio: round(ratio),
            target_ratio,
            runs,
            ok: ratio <= target_ratio,
        }
    }
}

/// A line of the file that `marvin memory import` reads.
#[derive(Serialize)]
struct Candidate {
    text: String,
    r#type: &'static str,
    tags: [&'static str; 0],
    ttl_days: Option<u32>,
    source: &'static str,
    why_store: &'static str,
}

/// The part of `marvin memory pending --json` that is read.
#[derive(Deserialize)]
struct Pending {
    fingerprint: String,
}

pub(super) fn run() -> anyhow::Result<Value> {
    let program = tools::build_release("marvin-bench-memory")?;
    let inside = tools::json(&mut Command::new(&program))?;
    let memories = Memories::create(&program)?;
    let outside = Outside { start: memories.measure_start()?, approval: memories.measure_approval()? };
    let ok = outside.start.ok && outside.approval.ok;
    Ok(serde_json::to_value(ExtendedReport::new(inside, outside, ok))?)
}

/// Memories of both sizes.
struct Memories {
    directory: tempfile::TempDir,
    marvin: PathBuf,
}

impl Memories {
    fn create(program: &Path) -> anyhow::Result<Self> {
        let memories = Memories { directory: tempfile::tempdir()?, marvin: tools::release()? };
        for size in SIZES {
            std::fs::create_dir_all(memories.directory.path().join(size.to_string()).join(".marvin"))?;
            let mut store = Command::new(program);
            store.arg("store").arg(memories.memory_directory(size)).arg(size.to_string());
            tools::run(&mut store)?;
            memories
                .time(size, &["audit", "--adopt", "--reviewer", "bench"])
                .context("only a person approves memories: run this benchmark from a terminal of yours")?;
            // The first query builds the index.
            memories.time(size, &QUERY)?;
        }
        Ok(memories)
    }

    fn memory_directory(&self, size: usize) -> PathBuf {
        self.directory.path().join(format!("memory-{size}"))
    }

    fn command(&self, size: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.marvin);
        command
            .arg("memory")
            .args(arguments)
            .current_dir(self.directory.path().join(size.to_string()))
            .env("HOME", self.directory.path())
            .env("MARVIN_MEMORY_DIR", self.memory_directory(size));
        command
    }

    /// Milliseconds that a command takes.
    fn time(&self, size: usize, arguments: &[&str]) -> anyhow::Result<f64> {
        Ok(timed(&mut self.command(size, arguments), &[0])?.0.wall)
    }

    fn measure_start(&self) -> anyhow::Result<Comparison> {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (size, times) in SIZES.into_iter().zip(&mut times) {
                times.push(self.time(size, &QUERY)?);
            }
        }
        let medians = times.map(|times| median(times.into_iter()));
        Ok(Comparison::new("marvin memory query, the whole process", medians, TARGET_START_RATIO, ROUNDS))
    }

    fn measure_approval(&self) -> anyhow::Result<Comparison> {
        let mut lines = String::new();
        for number in 0..=APPROVALS {
            let candidate = Candidate {
                text: format!("a fact that is new, number {number}"),
                r#type: "fact",
                tags: [],
                ttl_days: None,
                source: "user_said",
                why_store: "measured",
            };
            lines.push_str(&serde_json::to_string(&candidate)?);
            lines.push('\n');
        }
        let candidates = self.directory.path().join("candidates.jsonl");
        std::fs::write(&candidates, lines)?;
        let candidates = candidates.to_str().context("the temporary directory is not UTF-8")?;
        let mut medians = [0.0; 2];
        for (size, figure) in SIZES.into_iter().zip(&mut medians) {
            self.time(size, &["import", candidates])?;
            let pending: Vec<Pending> = tools::json(&mut self.command(size, &["pending", "--json"]))?;
            let mut times = Vec::new();
            for entry in &pending {
                times.push(self.time(size, &["approve", &entry.fingerprint, "--reviewer", "bench"])?);
            }
            *figure = median(times.into_iter().skip(1));
        }
        let what = "marvin memory approve, the whole process";
        Ok(Comparison::new(what, medians, TARGET_APPROVAL_RATIO, APPROVALS))
    }
}
