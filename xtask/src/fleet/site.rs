//! A Temporal server, a store and workers of this machine, over which runs are measured.

use super::{PACKAGES, install_temporal};
use crate::output::say;
use crate::tools;
use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SERVER_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_PAUSE: Duration = Duration::from_millis(200);
/// Time until the server lists what is over.
const LIST_TIMEOUT: Duration = Duration::from_secs(120);
/// A server of a development throttles one run to 20 steps per second, unless it is told otherwise.
const UNTHROTTLED: &str = "history.transferProcessorMaxPollRPS=1000";
/// Histories that are listed.
const MAX_HISTORIES: &str = "100000";
const SECONDS_PER_DAY: f64 = 86_400.0;

/// Builds the program with the feature and the bare program, in the profile of benchmarks.
fn build() -> anyhow::Result<()> {
    let targets = ["--bins", "--example", "bare_sdk"];
    let profile = tools::bench_profile();
    tools::run(tools::cargo().args(["build", "--locked", "--profile", &profile]).args(PACKAGES).args(targets))
}

/// A server with workers, which end with it.
pub(crate) struct Site {
    temporal: PathBuf,
    directory: tempfile::TempDir,
    address: String,
    server: Child,
    workers: Vec<Child>,
}

/// A run as the server has it.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct ServerRun {
    /// From its beginning to its end, by the clock of the server.
    pub(crate) seconds: f64,
    pub(crate) events: u64,
    /// Executions of its workflow code and of its waves.
    pub(crate) histories: usize,
    /// The events of the longest history.
    pub(crate) longest: u64,
}

/// What `temporal workflow list` says of one execution.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecutionRow {
    status: String,
    start_time: String,
    #[serde(default)]
    close_time: Option<String>,
    #[serde(default)]
    history_length: String,
}

impl Site {
    /// Builds the programs and starts a server.
    pub(crate) fn start() -> anyhow::Result<Self> {
        build()?;
        let temporal = install_temporal()?;
        let directory = tempfile::tempdir_in(tools::target())?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        std::fs::create_dir(directory.path().join("project"))?;
        let log = File::create(directory.path().join("server.log"))?;
        let mut command = Command::new(&temporal);
        command
            .args(["server", "start-dev", "--ip", "127.0.0.1", "--headless", "--log-level", "error"])
            .args(["--port", &port.to_string(), "--dynamic-config-value", UNTHROTTLED])
            .args(["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"])
            .arg("--db-filename")
            .arg(directory.path().join("server.sqlite"))
            .env("HOME", directory.path());
        let server = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        let address = format!("127.0.0.1:{port}");
        let site = Site { temporal, directory, address, server, workers: Vec::new() };
        site.wait_for_server()?;
        Ok(site)
    }

    fn wait_for_server(&self) -> anyhow::Result<()> {
        let until = Instant::now() + SERVER_TIMEOUT;
        loop {
            let health = self.temporal(&["operator", "cluster", "health"]).stderr(Stdio::null()).output()?;
            if String::from_utf8_lossy(&health.stdout).contains("SERVING") {
                return Ok(());
            }
            ensure!(Instant::now() < until, "the Temporal server does not answer");
            std::thread::sleep(POLL_PAUSE);
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// The home directory of the programs.
    pub(crate) fn home(&self) -> &Path {
        self.directory.path()
    }

    /// A program that was built.
    pub(crate) fn program(name: &str) -> PathBuf {
        tools::target().join(tools::bench_profile()).join(name)
    }

    fn temporal(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.temporal);
        command.args(words).args(["--address", &self.address]).env("HOME", self.directory.path());
        command
    }

    /// The program with the settings of this site.
    pub(crate) fn marvin(&self, words: &[&str]) -> Command {
        let mut command = Command::new(Site::program("marvin"));
        command
            .args(words)
            .current_dir(self.project())
            .env("HOME", self.directory.path())
            .env("MARVIN_FLEET_ADDRESS", &self.address)
            .env("MARVIN_FLEET_STORE", self.directory.path().join("store"));
        command
    }

    /// Starts a worker, and waits until it takes tasks.
    pub(crate) fn start_worker(&mut self, slots: usize) -> anyhow::Result<()> {
        let log = self.directory.path().join(format!("worker{}.log", self.workers.len()));
        let mut command = self.marvin(&["worker", "--slots", &slots.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
        self.workers.push(command.spawn()?);
        let until = Instant::now() + SERVER_TIMEOUT;
        while !std::fs::read_to_string(&log)?.contains("ready, takes steps") {
            ensure!(Instant::now() < until, "the worker is not ready: {}", std::fs::read_to_string(&log)?);
            std::thread::sleep(POLL_PAUSE);
        }
        Ok(())
    }

    /// Ends all workers.
    pub(crate) fn stop_workers(&mut self) {
        self.workers.drain(..).for_each(tools::kill);
    }

    /// Resident memory of the workers in bytes: now, and at most.
    pub(crate) fn memory(&self) -> anyhow::Result<(u64, u64)> {
        let mut sums = (0, 0);
        for worker in &self.workers {
            let status = std::fs::read_to_string(format!("/proc/{}/status", worker.id()))?;
            let bytes = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1_024
            };
            sums = (sums.0 + bytes("VmRSS:"), sums.1 + bytes("VmHWM:"));
        }
        Ok(sums)
    }

    /// Runs a workflow to its end; returns the id that the server knows it by, and its result.
    pub(crate) fn run(
        &self,
        name: &str,
        workflow: &Value,
        words: &[&str],
    ) -> anyhow::Result<(String, Value)> {
        let file = self.project().join(format!("{name}.json"));
        std::fs::write(&file, workflow.to_string())?;
        let file = file.to_string_lossy();
        let mut command = self.marvin(&["run-workflow", &file, "--engine", "temporal", "--json"]);
        // A line for each step.
        let progress = File::create(self.directory.path().join("progress.log"))?;
        let done = command.args(words).stdin(Stdio::null()).stderr(progress).output()?;
        let result: Value = serde_json::from_slice(&done.stdout)
            .with_context(|| format!("the run printed {}", String::from_utf8_lossy(&done.stdout)))?;
        let path = result.pointer("/run_path").and_then(Value::as_str).context("the run has a path")?;
        let record: Value = serde_json::from_slice(&std::fs::read(Path::new(path).join("run.json"))?)?;
        let id = record.pointer("/fleet/id").and_then(Value::as_str).context("the run has an id")?;
        Ok((id.to_string(), result))
    }

    /// What the server has of a workflow that is over.
    pub(crate) fn server_run(&self, id: &str) -> anyhow::Result<ServerRun> {
        let query = format!("WorkflowId = '{id}' OR WorkflowId STARTS_WITH 'wave/{id}/'");
        let words = ["workflow", "list", "--output", "json", "--limit", MAX_HISTORIES, "--query", &query];
        let until = Instant::now() + LIST_TIMEOUT;
        loop {
            let listed = tools::output(&mut self.temporal(&words))?;
            let listed: Vec<ExecutionRow> = serde_json::from_slice(&listed)?;
            let is_open = |one: &ExecutionRow| one.status == "WORKFLOW_EXECUTION_STATUS_RUNNING";
            if !listed.is_empty() && !listed.iter().any(is_open) {
                return measure(&listed);
            }
            ensure!(Instant::now() < until, "the server does not list {id} as closed");
            std::thread::sleep(POLL_PAUSE);
        }
    }

    /// The kinds of the events of a workflow's first history.
    pub(crate) fn event_kinds(&self, id: &str) -> anyhow::Result<Vec<String>> {
        let words = ["workflow", "show", "--output", "json", "--workflow-id", id];
        let history: Value = tools::json(&mut self.temporal(&words))?;
        let events =
            history.pointer("/events").and_then(Value::as_array).context("the history has events")?;
        let kind = |event: &Value| event.get("eventType").and_then(Value::as_str).unwrap_or("").to_string();
        Ok(events.iter().map(kind).collect())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop_workers();
        // Both fail only if it is over already.
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

fn measure(listed: &[ExecutionRow]) -> anyhow::Result<ServerRun> {
    let first = listed.iter().map(|one| one.start_time.as_str()).min().context("it has a beginning")?;
    let last = listed.iter().filter_map(|one| one.close_time.as_deref()).max().context("it has an end")?;
    let length = |one: &ExecutionRow| one.history_length.parse::<u64>().unwrap_or(0);
    Ok(ServerRun {
        seconds: (second_of_day(last)? - second_of_day(first)?).rem_euclid(SECONDS_PER_DAY),
        events: listed.iter().map(length).sum(),
        histories: listed.len(),
        longest: listed.iter().map(length).max().unwrap_or(0),
    })
}

/// The second of the day of `2026-01-01T12:00:00.5Z`.
fn second_of_day(stamp: &str) -> anyhow::Result<f64> {
    let time = stamp.split_once('T').and_then(|(_, time)| time.strip_suffix('Z'));
    let parts: Vec<f64> = time.unwrap_or("").split(':').filter_map(|part| part.parse().ok()).collect();
    match parts[..] {
        [hours, minutes, seconds] => Ok((hours * 60.0 + minutes) * 60.0 + seconds),
        _ => bail!("`{stamp}` is not a time"),
    }
}

/// A workflow of steps `true`, one after another or all at once.
pub(crate) fn commands(shape: &str, steps: usize) -> Value {
    let step = |number: usize| {
        let before = (shape == "chain").then(|| number.checked_sub(1)).flatten();
        let before: Vec<String> = before.map(|before| format!("s{before}")).into_iter().collect();
        json!({"id": format!("s{number}"), "worker": "Command", "writes": false, "repeatable": true,
               "depends_on": before, "inputs": {"command": "true"}})
    };
    let steps: Vec<Value> = (0..steps).map(step).collect();
    json!({"workflow_id": shape, "goal": "measure the engine", "steps": steps})
}

/// Says how a run went.
pub(crate) fn report(what: &str, steps: usize, run: ServerRun) -> anyhow::Result<()> {
    say(format_args!(
        "{what}: {steps} steps in {:.1} s, {:.1} per second; {:.2} events a step in {} histories, the longest of {}",
        run.seconds,
        steps as f64 / run.seconds,
        run.events as f64 / steps as f64,
        run.histories,
        run.longest
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_measured_from_its_first_history_to_its_last() {
        let listed = r#"[
            {"status": "C", "startTime": "2026-01-01T23:59:50.5Z", "closeTime": "2026-01-01T23:59:58Z", "historyLength": "7"},
            {"status": "C", "startTime": "2026-01-01T23:59:58Z", "closeTime": "2026-01-02T00:00:10.5Z", "historyLength": "12"}
        ]"#;
        let run = measure(&serde_json::from_str::<Vec<ExecutionRow>>(listed).unwrap()).unwrap();
        assert_eq!((run.seconds, run.events, run.histories, run.longest), (20.0, 19, 2, 12));
        assert!(second_of_day("yesterday").is_err());
    }
}
