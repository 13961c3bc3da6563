//! One measurement in one process: `marvin-bench-engine WHAT STEPS SYNC DIRECTORY`. WHAT is `chain`
//! or `fan` (a workflow of `Echo` steps), `levels` (a hundred levels of equally many steps),
//! `pending` (memory per waiting step), or `one-by-one` or `grouped` (as many rows by bare SQLite).
//! Prints JSON.

use anyhow::bail;
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use marvin_flow::deterministic::Echo;
use marvin_flow::drive;
use marvin_flow::engine::{Options, Run, WorkflowStatus};
use marvin_flow::record::Sync;
use marvin_flow::spec::{self, Workflow};
use marvin_flow::worker::Workers;
use rusqlite::{Connection, params};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Rows of one commit of bare SQLite in groups.
const GROUP_ROWS: usize = 1_000;
/// Data of a row: as much as a transition of an `Echo` step has.
const DATA: &str = "{\"outputs\":{\"n\":12345,\"text\":\"a few words for the next step\"}}";

/// Of bare SQLite only the time and the rate are measured.
#[derive(Default, Serialize)]
struct Report {
    seconds: f64,
    per_s: f64,
    commits: u64,
    begin_s: f64,
    whole_s: f64,
    us_per_step: f64,
    pending_bytes_per_step: f64,
    peak_kb: u64,
}

/// A workflow as its file has it.
#[derive(Serialize)]
struct WorkflowFile {
    workflow_id: &'static str,
    goal: &'static str,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    id: String,
    worker: &'static str,
    inputs: Inputs,
    depends_on: Vec<String>,
}

#[derive(Serialize)]
struct Inputs {
    n: usize,
    text: &'static str,
}

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, steps, sync, directory] = words.as_slice() else {
        bail!("usage: marvin-bench-engine WHAT STEPS SYNC DIRECTORY");
    };
    let (steps, directory) = (steps.parse::<usize>()?, Path::new(directory));
    let result = match what.as_str() {
        "one-by-one" => bare(steps, 1, sync, directory)?,
        "grouped" => bare(steps, GROUP_ROWS, sync, directory)?,
        what => engine(what, steps, sync, directory)?,
    };
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}

fn bare(rows: usize, group: usize, sync: &str, directory: &Path) -> anyhow::Result<Report> {
    let mut connection = Connection::open(directory.join("bare.sqlite"))?;
    let word = if sync == "full" { "FULL" } else { "NORMAL" };
    connection.execute_batch(&format!("PRAGMA journal_mode=WAL; PRAGMA synchronous={word};"))?;
    connection.execute_batch("CREATE TABLE log (seq INTEGER PRIMARY KEY, step INTEGER NOT NULL, status TEXT NOT NULL, at INTEGER NOT NULL, data TEXT, mark INTEGER NOT NULL)")?;
    let started = Instant::now();
    let mut row = 0_i64;
    while row < i64::try_from(rows)? {
        let transaction = connection.transaction()?;
        for _ in 0..group {
            row += 1;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO log (seq, step, status, at, data, mark) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            insert.execute(params![
                row,
                row,
                "SUCCEEDED",
                1_790_000_000_000_i64,
                DATA,
                row.wrapping_mul(0x1234_5678_9abc_def1)
            ])?;
        }
        transaction.commit()?;
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok(Report { seconds, per_s: rows as f64 / seconds, ..Report::default() })
}

fn workflow(what: &str, steps: usize) -> anyhow::Result<Workflow> {
    let wide = (steps / 100).max(1);
    let steps = (0..steps).map(|n| {
        let after = match (what, n) {
            ("chain", n) if n > 0 => Some(n - 1),
            ("levels", n) if n >= wide => Some(n - wide),
            ("pending", n) if n > 0 => Some(0),
            _ => None,
        };
        Step {
            id: format!("s{n}"),
            worker: "Echo",
            inputs: Inputs { n, text: "a few words for the next step" },
            depends_on: after.iter().map(|step| format!("s{step}")).collect(),
        }
    });
    let file = WorkflowFile { workflow_id: "bench", goal: "to be measured", steps: steps.collect() };
    Ok(spec::from_text(&serde_json::to_string(&file)?, "bench.json")?)
}

fn engine(what: &str, steps: usize, sync: &str, directory: &Path) -> anyhow::Result<Report> {
    let environment = Environment::from_iter([
        ("HOME", directory.display().to_string().as_str()),
        ("PATH", "/usr/bin:/bin"),
    ]);
    let project = directory.join("project");
    std::fs::create_dir_all(&project)?;
    let context = ProjectContext::find(environment, project.clone(), Some(&project), true, Vec::new())?;
    let before = resident_bytes();
    let workflow = workflow(what, steps)?;
    let mut workers = Workers::new();
    workers.insert("Echo".into(), Arc::new(Echo));
    let listener: marvin_agent::trace::Listener = Box::new(|_| {});
    let started = Instant::now();
    let run = Run::begin(
        &context,
        workflow,
        Options { concurrency: 0, sync: Some(Sync::from_setting(sync)), listener },
    )?;
    let begun = started.elapsed().as_secs_f64();
    let pending = resident_bytes().saturating_sub(before);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(run.go(workers, drive::teacher(&context), CancellationToken::new()))?;
    if outcome.status != WorkflowStatus::Succeeded {
        bail!("the workflow ended as {}", outcome.status.word());
    }
    let seconds = outcome.dispatched.as_secs_f64();
    Ok(Report {
        seconds,
        per_s: steps as f64 / seconds,
        commits: outcome.commits,
        begin_s: begun,
        whole_s: outcome.elapsed.as_secs_f64(),
        us_per_step: seconds * 1e6 / steps as f64,
        pending_bytes_per_step: pending as f64 / steps as f64,
        peak_kb: peak_kb(),
    })
}

/// Resident memory of this process.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// Peak resident memory of this process.
fn peak_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
