//! `hook`: the time of `marvin hook` with a running daemon, from its start to its end, against
//! `/bin/true` started the same way and against a shell script that asks a Node daemon through
//! `nc -U`; the memory of the daemon with 50 packs and 5,000 lessons; the time to score one file
//! against them (`bench/hooks`, built as a release).
//!
//! All three have the same environment and the same bytes on stdin, and write to a pipe.

use super::report;
use super::timing::{percentile, round, timed_with_input};
use crate::tools;
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const CALLS: usize = 2_000;
const WARM_UP_CALLS: usize = 50;
const TARGET_P50_RATIO: f64 = 2.5;
const TARGET_P99_RATIO: f64 = 5.0;
const TARGET_TIMES_FASTER: f64 = 10.0;
/// Time without calls before the memory of the daemon is measured.
const IDLE_TIME: Duration = Duration::from_secs(5);
const TARGET_RSS_MB: f64 = 12.0;

/// The steps of common wrapper scripts: read the event, find its session, name the daemon by a hash
/// of the project, check that it runs, ask it. `sha256sum` replaces a slower program that is common
/// there.
const SCRIPT: &str = r#"#!/bin/bash
set -o pipefail
event="$1"
told=$(timeout 1 cat)
session=$(echo "$told" | grep -o '"session_id":"[^"]*"' | cut -d'"' -f4)
export HOOK_SESSION="${session:-default}"
hash=$(printf %s "$CLAUDE_PROJECT_DIR" | sha256sum | cut -c1-12)
directory="$TMPDIR/node-$(id -u)"
mkdir -p "$directory" && chmod 700 "$directory"
request="req_$(date +%s)_$RANDOM"
socket="$directory/p-project-$hash.sock"
process=$(cat "$directory/p-project-$hash.pid")
[[ -S "$socket" ]] && kill -0 "$process" || exit 1
line=$(printf '{"hook":"%s","request_id":"%s","input":%s}' "$event" "$request" "$told")
answer=$(echo "$line" | nc -w 25 -U "$socket") || exit 1
echo "$answer"
"#;

/// A daemon that reads a line of JSON and answers one, and judges nothing: faster than one that
/// does.
const DAEMON: &str = r#"const fs = require("fs"), net = require("net"), crypto = require("crypto");
const directory = `${process.env.TMPDIR}/node-${process.getuid()}`;
const hash = crypto.createHash("sha256").update(process.env.CLAUDE_PROJECT_DIR).digest("hex").slice(0, 12);
fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
net.createServer((stream) => {
  let text = "";
  stream.on("data", (data) => {
    text += data;
    if (!text.endsWith("\n")) return;
    JSON.parse(text);
    stream.end('{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}\n');
  });
}).listen(`${directory}/p-project-${hash}.sock`, () => fs.writeFileSync(`${directory}/p-project-${hash}.pid`, `${process.pid}`));
"#;

/// An event of a client.
#[derive(Serialize)]
struct Event<'a> {
    session_id: &'static str,
    hook_event_name: &'a str,
    cwd: PathBuf,
    transcript_path: PathBuf,
    permission_mode: &'static str,
    tool_use_id: &'static str,
    #[serde(flatten)]
    details: Details,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Details {
    None {},
    SessionStart { source: &'static str },
    PreToolUse { tool_name: &'static str, tool_input: ToolInput },
    PostToolUse { tool_name: &'static str, tool_input: ToolInput, tool_response: ToolResponse },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToolInput {
    Bash { command: &'static str },
    Edit { file_path: PathBuf, old_string: &'static str, new_string: &'static str },
}

#[derive(Serialize)]
struct ToolResponse {
    stdout: &'static str,
    stderr: &'static str,
    interrupted: bool,
}

const GIT_STATUS: ToolInput = ToolInput::Bash { command: "git status" };

/// One kind of call.
struct Kind {
    name: &'static str,
    event: &'static str,
    /// Details of the call with this number in a project.
    details: fn(&Path, usize) -> Details,
    /// Text that every answer contains.
    answer: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "pre_tool_use_bash",
        event: "PreToolUse",
        details: |_, _| Details::PreToolUse { tool_name: "Bash", tool_input: GIT_STATUS },
        // Judged and recorded, and left to the client's own rules.
        answer: "{}",
    },
    Kind {
        name: "pre_tool_use_edit",
        event: "PreToolUse",
        details: |project, call| {
            let file_path = project.join(format!("src/area{}/auth/user{call}.ts", call % 50));
            let tool_input = ToolInput::Edit { file_path, old_string: "a", new_string: "b" };
            Details::PreToolUse { tool_name: "Edit", tool_input }
        },
        answer: "{",
    },
    Kind {
        name: "post_tool_use",
        event: "PostToolUse",
        details: |_, _| Details::PostToolUse {
            tool_name: "Bash",
            tool_input: GIT_STATUS,
            tool_response: ToolResponse {
                stdout: "On branch main\nnothing to commit, working tree clean\n",
                stderr: "",
                interrupted: false,
            },
        },
        answer: "{",
    },
];

#[derive(Serialize)]
struct Percentiles {
    p50_ms: f64,
    p99_ms: f64,
}

impl Percentiles {
    fn new(times: &[f64]) -> Self {
        Percentiles { p50_ms: round(percentile(times, 50)), p99_ms: round(percentile(times, 99)) }
    }
}

/// The part of `marvin daemon status --json` that is read.
#[derive(Deserialize)]
struct DaemonStatus {
    state: String,
    pid: Option<u32>,
}

pub(super) fn run() -> anyhow::Result<Value> {
    tools::need(&[("nc", "netcat-openbsd"), ("node", "nodejs")])?;
    let bench = Bench::new(tools::release()?)?;
    let scoring = bench.measure_scoring()?;
    let node = bench.start_node()?;
    let daemon = bench.start_daemon()?;
    let calls = bench.measure_calls();
    let busy_mb = memory_mb(daemon);
    std::thread::sleep(IDLE_TIME);
    let idle_mb = memory_mb(daemon);
    let running = bench.daemon();
    bench.command(&bench.marvin).args(["daemon", "stop"]).output().ok();
    tools::kill(node);
    let calls = calls?;
    if running != Some(daemon) {
        bail!("the daemon ended while it was measured");
    }
    let recorded = bench.count_recorded_events();
    let expected = (WARM_UP_CALLS + CALLS) * KINDS.len() + 1;
    if recorded != expected {
        bail!("the record has {recorded} events, not {expected}");
    }
    let (busy_mb, idle_mb) = (busy_mb?, idle_mb?);
    let ok = report::is_ok(&calls) && report::is_ok(&scoring) && idle_mb <= TARGET_RSS_MB;
    Ok(json!({
        "bench": "hook",
        "calls": calls,
        "daemon": {
            "rss_mb": round(idle_mb), "target_rss_mb": TARGET_RSS_MB, "while_busy_mb": round(busy_mb),
            "after_calls": expected,
        },
        "scoring": scoring,
        "ok": ok,
    }))
}

struct Bench {
    directory: tempfile::TempDir,
    marvin: PathBuf,
    script: PathBuf,
}

impl Bench {
    fn new(marvin: PathBuf) -> anyhow::Result<Bench> {
        let directory = tempfile::tempdir()?;
        let script = directory.path().join("hook.sh");
        let bench = Bench { directory, marvin, script };
        let write = |path: &Path, text: &str| {
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, text))
        };
        write(&bench.script, SCRIPT)?;
        write(&bench.directory.path().join("daemon.js"), DAEMON)?;
        for area in 0..50 {
            write(&bench.project().join(format!("src/area{area}/auth/index.ts")), "export {};\n")?;
        }
        std::fs::create_dir_all(bench.project().join(".git"))?;
        std::fs::create_dir_all(bench.directory.path().join("tmp"))?;
        Ok(bench)
    }

    fn project(&self) -> PathBuf {
        self.directory.path().join("home/project")
    }

    /// A program with the environment that all have.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.directory.path().join("home"))
            .env("TMPDIR", self.directory.path().join("tmp"))
            .env("CLAUDE_PROJECT_DIR", self.project())
            .current_dir(self.project());
        command
    }

    /// Writes the packs and measures how they are scored.
    fn measure_scoring(&self) -> anyhow::Result<Value> {
        let mut bench = Command::new(tools::build_release("marvin-bench-hooks")?);
        tools::json(bench.arg(self.project().join(".marvin/packs")))
    }

    fn start_node(&self) -> anyhow::Result<Child> {
        let mut command = self.command(Path::new("node"));
        command.arg(self.directory.path().join("daemon.js")).stdin(Stdio::null());
        let child = command.spawn().context("cannot start node")?;
        let started = Instant::now();
        let event = self.event("PostToolUse", Details::None {})?;
        while self.call_script("PostToolUse", &event).is_err() {
            if started.elapsed() > Duration::from_secs(20) {
                tools::kill(child);
                bail!("the Node daemon does not answer");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(child)
    }

    /// Starts a session, which starts the daemon, and returns the daemon's process id.
    fn start_daemon(&self) -> anyhow::Result<u32> {
        let event = self.event("SessionStart", Details::SessionStart { source: "startup" })?;
        self.call_marvin("SessionStart", &event)?;
        let started = Instant::now();
        loop {
            if let Some(process) = self.daemon() {
                return Ok(process);
            }
            if started.elapsed() > Duration::from_secs(20) {
                bail!("the daemon does not answer");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The process id of the daemon, if it answers.
    fn daemon(&self) -> Option<u32> {
        let output = self.command(&self.marvin).args(["daemon", "status", "--json"]).output().ok()?;
        let status: DaemonStatus = serde_json::from_slice(&output.stdout).ok()?;
        status.pid.filter(|_| status.state == "alive")
    }

    /// An event as a client sends it.
    fn event(&self, name: &str, details: Details) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Event {
            session_id: "0b0c5a1e-5bd4-4d0e-9d3a-6f0f6c5c1c11",
            hook_event_name: name,
            cwd: self.project(),
            transcript_path: self.directory.path().join("home/.claude/projects/p/transcript.jsonl"),
            permission_mode: "default",
            tool_use_id: "toolu_01ABC",
            details,
        })
    }

    fn call_true(&self, input: &[u8]) -> anyhow::Result<f64> {
        timed_with_input(&mut self.command(Path::new("/bin/true")), input).map(|(run, _)| run.wall)
    }

    fn call_marvin(&self, event: &str, input: &[u8]) -> anyhow::Result<(f64, String)> {
        let mut command = self.command(&self.marvin.with_file_name("marvin-hook"));
        command.args([event, "--client", "claude"]);
        timed_with_input(&mut command, input).map(|(run, answer)| (run.wall, answer))
    }

    fn call_script(&self, event: &str, input: &[u8]) -> anyhow::Result<f64> {
        let mut command = self.command(Path::new("/bin/bash"));
        command.arg(&self.script).arg(event).stderr(Stdio::null());
        let (run, answer) = timed_with_input(&mut command, input)?;
        if !answer.starts_with('{') {
            bail!("the script did not answer");
        }
        Ok(run.wall)
    }

    /// Measures all calls, taking turns.
    fn measure_calls(&self) -> anyhow::Result<Value> {
        let mut scripts = Vec::new();
        let mut figures: [(Vec<f64>, Vec<f64>); KINDS.len()] = Default::default();
        for call in 0..WARM_UP_CALLS + CALLS {
            for (number, (kind, (plain, marvin))) in KINDS.iter().zip(&mut figures).enumerate() {
                let input = self.event(kind.event, (kind.details)(&self.project(), call))?;
                let reference = self.call_true(&input)?;
                let (taken, answer) = self.call_marvin(kind.event, &input)?;
                if !answer.contains(kind.answer) {
                    bail!("{} was answered {answer}", kind.name);
                }
                if call >= WARM_UP_CALLS {
                    plain.push(reference);
                    marvin.push(taken);
                }
                if call % KINDS.len() == number {
                    let taken = self.call_script(kind.event, &input)?;
                    if call >= WARM_UP_CALLS {
                        scripts.push(taken);
                    }
                }
            }
        }
        let plain: Vec<f64> = figures.iter().flat_map(|(plain, _)| plain.iter().copied()).collect();
        let marvin: Vec<f64> = figures.iter().flat_map(|(_, marvin)| marvin.iter().copied()).collect();
        let ratio =
            |one: &[f64], other: &[f64], percent| percentile(one, percent) / percentile(other, percent);
        let faster = ratio(&scripts, &marvin, 50);
        let (p50, p99) = (ratio(&marvin, &plain, 50), ratio(&marvin, &plain, 99));
        let kinds = KINDS.iter().zip(&figures).map(|(kind, (plain, marvin))| {
            let report = json!({
                "marvin": Percentiles::new(marvin), "reference": Percentiles::new(plain),
                "ratio_p50": round(ratio(marvin, plain, 50)), "ratio_p99": round(ratio(marvin, plain, 99)),
            });
            (kind.name, report)
        });
        let ok = p50 <= TARGET_P50_RATIO && p99 <= TARGET_P99_RATIO && faster >= TARGET_TIMES_FASTER;
        let script = "a shell script with nc -U to a Node daemon";
        Ok(json!({
            "reference": {"what": "/bin/true", "times": Percentiles::new(&plain)},
            "marvin": {"what": "marvin hook with a warm daemon", "times": Percentiles::new(&marvin)},
            "script": {"what": script, "times": Percentiles::new(&scripts)},
            "kinds": kinds.collect::<BTreeMap<_, _>>(),
            "ratio_p50": round(p50), "target_ratio_p50": TARGET_P50_RATIO,
            "ratio_p99": round(p99), "target_ratio_p99": TARGET_P99_RATIO,
            "times_faster_than_script": round(faster), "target_times_faster": TARGET_TIMES_FASTER,
            "runs_of_each_kind": CALLS,
            "ok": ok,
        }))
    }

    /// Number of events in the session's record.
    fn count_recorded_events(&self) -> usize {
        let runs = std::fs::read_dir(self.project().join(".marvin/runs")).into_iter().flatten().flatten();
        let traces = runs.filter_map(|run| std::fs::read_to_string(run.path().join("trace.jsonl")).ok());
        traces.map(|trace| trace.lines().count()).sum()
    }
}

/// Resident memory of a process.
fn memory_mb(process: u32) -> anyhow::Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    Ok(kilobytes.with_context(|| format!("{path} has no VmRSS"))? / 1024.0)
}
