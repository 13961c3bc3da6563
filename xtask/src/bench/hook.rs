//! `hook`: how long `marvin hook` takes with a warm daemon, from its start to its end, against `/bin/true` started the same way
//! and against the way of a shell script that asks a Node daemon through `nc -U`; how much memory the daemon has with 50 packs
//! and 5,000 lessons; how long scoring one file against them takes (`bench/hooks`, built as a release).
//!
//! All three are given the same environment and the same bytes on standard input, and write to a pipe.

use super::timing::{at, round, told};
use crate::tools;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const CALLS: usize = 2_000;
const WARM: usize = 50;
const TARGET_P50: f64 = 2.5;
const TARGET_P99: f64 = 5.0;
const TARGET_SCRIPT: f64 = 10.0;
/// How long the daemon is left alone before its memory is looked at.
const REST: Duration = Duration::from_secs(5);
const TARGET_MB: f64 = 12.0;

/// What the script does is what such wrappers do: read what was told, find the session in it, name the daemon by a hash of
/// the project, see that it lives, ask it. `sha256sum` stands where a slower program is common.
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

/// A daemon that reads a line of JSON and answers one, and judges nothing: faster than one that does.
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

/// One kind of call.
struct Kind {
    name: &'static str,
    event: &'static str,
    input: fn(&Path, usize) -> Value,
    /// What every answer holds.
    holds: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "pre_tool_use_bash",
        event: "PreToolUse",
        input: |_, _| json!({"tool_name": "Bash", "tool_input": {"command": "git status"}}),
        holds: "\"permissionDecision\":\"allow\"",
    },
    Kind {
        name: "pre_tool_use_edit",
        event: "PreToolUse",
        input: |project, call| {
            let file = project.join(format!("src/area{}/auth/user{call}.ts", call % 50));
            json!({"tool_name": "Edit", "tool_input": {"file_path": file, "old_string": "a", "new_string": "b"}})
        },
        holds: "{",
    },
    Kind {
        name: "post_tool_use",
        event: "PostToolUse",
        input: |_, _| {
            json!({
                "tool_name": "Bash", "tool_input": {"command": "git status"},
                "tool_response": {"stdout": "On branch main\nnothing to commit, working tree clean\n", "stderr": "", "interrupted": false},
            })
        },
        holds: "{",
    },
];

/// Measures.
pub(crate) fn run() -> Result<Value, String> {
    tools::need("nc", "netcat-openbsd")?;
    tools::need("node", "nodejs")?;
    let bench = Bench::new(tools::release()?)?;
    let scoring = bench.packs()?;
    let node = bench.start_node()?;
    let daemon = bench.start_daemon()?;
    let figures = bench.calls();
    let busy_mb = memory_mb(daemon);
    std::thread::sleep(REST);
    let memory_mb = memory_mb(daemon);
    let alive = bench.daemon();
    bench.command(&bench.marvin).args(["daemon", "stop"]).output().ok();
    end(node);
    let figures = figures?;
    if alive.is_none_or(|process| process != daemon) {
        return Err("the daemon ended while it was measured".into());
    }
    let recorded = bench.recorded();
    let expected = (WARM + CALLS) * KINDS.len() + 1;
    if recorded != expected {
        return Err(format!("{recorded} events are in the record, and there were {expected}"));
    }
    let (busy_mb, memory_mb) = (busy_mb?, memory_mb?);
    let holds = |value: &Value| value.get("ok").and_then(Value::as_bool) == Some(true);
    let ok = holds(&figures) && holds(&scoring) && memory_mb <= TARGET_MB;
    Ok(json!({
        "bench": "hook",
        "calls": figures,
        "daemon": {
            "rss_mb": round(memory_mb), "target_rss_mb": TARGET_MB, "while_busy_mb": round(busy_mb), "after_calls": expected,
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
    fn new(marvin: PathBuf) -> Result<Bench, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let script = directory.path().join("hook.sh");
        let bench = Bench { directory, marvin, script };
        let write = |path: &Path, text: &str| {
            let parent = path.parent().unwrap_or(path);
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(path, text))
                .map_err(|error| error.to_string())
        };
        write(&bench.script, SCRIPT)?;
        write(&bench.directory.path().join("daemon.js"), DAEMON)?;
        for area in 0..50 {
            write(&bench.project().join(format!("src/area{area}/auth/index.ts")), "export {};\n")?;
        }
        std::fs::create_dir_all(bench.project().join(".git")).map_err(|error| error.to_string())?;
        std::fs::create_dir_all(bench.directory.path().join("tmp")).map_err(|error| error.to_string())?;
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
    fn packs(&self) -> Result<Value, String> {
        let mut build = tools::cargo();
        build.args(["build", "--release", "--locked", "--quiet", "--package", "marvin-bench-hooks"]);
        tools::run(&mut build)?;
        let output = Command::new(tools::target().join("release/marvin-bench-hooks"))
            .arg(self.project().join(".marvin/packs"))
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
    }

    fn start_node(&self) -> Result<Child, String> {
        let mut command = self.command(Path::new("node"));
        command.arg(self.directory.path().join("daemon.js")).stdin(Stdio::null());
        let child = command.spawn().map_err(|error| format!("cannot start node: {error}"))?;
        let started = Instant::now();
        let told = self.told("PostToolUse", &json!({}));
        while self.call_script("PostToolUse", &told).is_err() {
            if started.elapsed() > Duration::from_secs(20) {
                end(child);
                return Err("the Node daemon does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(child)
    }

    /// Lets a session begin, which starts the daemon. Returns its process.
    fn start_daemon(&self) -> Result<u32, String> {
        self.call_marvin("SessionStart", &self.told("SessionStart", &json!({"source": "startup"})))?;
        let started = Instant::now();
        loop {
            if let Some(process) = self.daemon() {
                return Ok(process);
            }
            if started.elapsed() > Duration::from_secs(20) {
                return Err("the daemon does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The process of the daemon, where it answers.
    fn daemon(&self) -> Option<u32> {
        let output = self.command(&self.marvin).args(["daemon", "status", "--json"]).output().ok()?;
        let status: Value = serde_json::from_slice(&output.stdout).ok()?;
        (status.get("state")? == "alive").then(|| status.get("pid")?.as_u64()?.try_into().ok()).flatten()
    }

    /// What a client tells of an event.
    fn told(&self, event: &str, facts: &Value) -> Vec<u8> {
        let mut told = json!({
            "session_id": "0b0c5a1e-5bd4-4d0e-9d3a-6f0f6c5c1c11", "hook_event_name": event, "cwd": self.project(),
            "transcript_path": self.directory.path().join("home/.claude/projects/p/transcript.jsonl"),
            "permission_mode": "default", "tool_use_id": "toolu_01ABC",
        });
        if let (Some(told), Some(facts)) = (told.as_object_mut(), facts.as_object()) {
            told.extend(facts.clone());
        }
        told.to_string().into_bytes()
    }

    fn call_true(&self, input: &[u8]) -> Result<f64, String> {
        told(&mut self.command(Path::new("/bin/true")), input).map(|(run, _)| run.wall)
    }

    fn call_marvin(&self, event: &str, input: &[u8]) -> Result<(f64, String), String> {
        let mut command = self.command(&self.marvin);
        command.args(["hook", event, "--client", "claude"]);
        told(&mut command, input).map(|(run, answer)| (run.wall, answer))
    }

    fn call_script(&self, event: &str, input: &[u8]) -> Result<f64, String> {
        let mut command = self.command(Path::new("/bin/bash"));
        command.arg(&self.script).arg(event).stderr(Stdio::null());
        let (run, answer) = told(&mut command, input)?;
        if answer.starts_with('{') { Ok(run.wall) } else { Err("the script gave no answer".into()) }
    }

    /// All calls, taking turns.
    fn calls(&self) -> Result<Value, String> {
        let mut scripts = Vec::new();
        let mut figures: [(Vec<f64>, Vec<f64>); KINDS.len()] = Default::default();
        for call in 0..WARM + CALLS {
            for (number, (kind, (plain, marvin))) in KINDS.iter().zip(&mut figures).enumerate() {
                let input = self.told(kind.event, &(kind.input)(&self.project(), call));
                let reference = self.call_true(&input)?;
                let (taken, answer) = self.call_marvin(kind.event, &input)?;
                if !answer.contains(kind.holds) {
                    return Err(format!("{} was answered {answer}", kind.name));
                }
                if call >= WARM {
                    plain.push(reference);
                    marvin.push(taken);
                }
                if call % KINDS.len() == number {
                    let taken = self.call_script(kind.event, &input)?;
                    if call >= WARM {
                        scripts.push(taken);
                    }
                }
            }
        }
        let plain: Vec<f64> = figures.iter().flat_map(|(plain, _)| plain.iter().copied()).collect();
        let marvin: Vec<f64> = figures.iter().flat_map(|(_, marvin)| marvin.iter().copied()).collect();
        let faster = at(&scripts, 50) / at(&marvin, 50);
        let (p50, p99) = (at(&marvin, 50) / at(&plain, 50), at(&marvin, 99) / at(&plain, 99));
        let ok = p50 <= TARGET_P50 && p99 <= TARGET_P99 && faster >= TARGET_SCRIPT;
        let mut kinds = serde_json::Map::new();
        for (kind, (plain, marvin)) in KINDS.iter().zip(&figures) {
            let (p50, p99) = (at(marvin, 50) / at(plain, 50), at(marvin, 99) / at(plain, 99));
            kinds.insert(
                kind.name.into(),
                json!({"marvin": show(marvin), "reference": show(plain), "ratio_p50": round(p50), "ratio_p99": round(p99)}),
            );
        }
        Ok(json!({
            "reference": {"what": "/bin/true", "times": show(&plain)},
            "marvin": {"what": "marvin hook with a warm daemon", "times": show(&marvin)},
            "script": {"what": "a shell script with nc -U to a Node daemon", "times": show(&scripts)},
            "kinds": kinds,
            "ratio_p50": round(p50), "target_ratio_p50": TARGET_P50,
            "ratio_p99": round(p99), "target_ratio_p99": TARGET_P99,
            "times_faster_than_script": round(faster), "target_times_faster": TARGET_SCRIPT,
            "runs_of_each_kind": CALLS,
            "ok": ok,
        }))
    }

    /// How many events the session's record holds.
    fn recorded(&self) -> usize {
        let runs = std::fs::read_dir(self.project().join(".marvin/runs")).into_iter().flatten().flatten();
        let traces = runs.filter_map(|run| std::fs::read_to_string(run.path().join("trace.jsonl")).ok());
        traces.map(|trace| trace.lines().count()).sum()
    }
}

fn show(times: &[f64]) -> Value {
    json!({"p50_ms": round(at(times, 50)), "p99_ms": round(at(times, 99))})
}

/// Resident memory of a process.
fn memory_mb(process: u32) -> Result<f64, String> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kilobytes.map(|kilobytes| kilobytes / 1024.0).ok_or_else(|| format!("{path} has no VmRSS"))
}

fn end(mut child: Child) {
    child.kill().ok();
    child.wait().ok();
}
