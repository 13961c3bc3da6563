//! A project with Marvin's hooks, a scripted model, and a program between them.

use marvin_model::script::{Entry, Script};
use marvin_model::server::ModelServer;
pub(crate) use marvin_testing::client::Program;
use marvin_testing::client::{self, codex_config};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const MARVIN: &str = env!("CARGO_BIN_EXE_marvin");

pub(crate) struct Stage {
    pub(crate) program: Program,
    directory: tempfile::TempDir,
    server: Option<ModelServer>,
    /// Whether the program is configured with `marvin mcp`.
    pub(crate) serves: bool,
    /// The tools that `marvin mcp` serves; the default ones if empty.
    pub(crate) served_tools: &'static str,
    /// Whether the program decides by itself about what it would ask: nothing is pre-approved.
    pub(crate) asks: bool,
}

impl Stage {
    pub(crate) fn new(program: Program) -> Self {
        let stage = Stage::bare(program);
        let init = stage.run("marvin", &["init", "--client", program.word()]);
        assert!(init.status.success(), "{init:?}");
        stage
    }

    /// The same project without Marvin's hooks.
    pub(crate) fn bare(program: Program) -> Self {
        // In the home, not in the temporary directory: Codex does not work in a home below that.
        let directory = tempfile::tempdir_in(std::env::var("HOME").unwrap()).unwrap();
        for name in ["work/src", "home/.codex", "home/precious", "bin"] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        let stage = Stage { program, directory, server: None, serves: false, served_tools: "", asks: false };
        std::os::unix::fs::symlink(MARVIN, stage.place("bin/marvin")).unwrap();
        fs::write(stage.place("home/precious/file"), "x").unwrap();
        fs::write(stage.place("work/src/a.txt"), "alpha\nbeta\n").unwrap();
        fs::write(stage.place("work/src/b.txt"), "alpha\nbeta\n").unwrap();
        stage.run("git", &["init", "-q"]);
        let pack = stage.place("work/.marvin/packs/team");
        fs::create_dir_all(&pack).unwrap();
        let facts = json!({"name": "team", "version": "1.0.0", "owner": "us", "categories": ["testing"], "sensitive_paths": ["src/a.txt"]});
        fs::write(pack.join("pack.json"), facts.to_string()).unwrap();
        fs::write(pack.join("guardrails.md"), "HOUSE-RULE: say it twice.\n").unwrap();
        let lesson = json!({"timestamp": "2026-01-01T00:00:00Z", "category": "testing", "title": "A lesson", "description": "d", "actionable": "HOUSE-LESSON: use the real database in tests."});
        fs::write(pack.join("lessons.jsonl"), format!("{lesson}\n")).unwrap();
        stage
    }

    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a program in the project.
    pub(crate) fn run(&self, program: &str, words: &[&str]) -> Output {
        let mut command = Command::new(program);
        self.environment(&mut command);
        command.args(words).current_dir(self.place("work")).stdin(Stdio::null()).output().unwrap()
    }

    fn environment(&self, command: &mut Command) {
        let path = format!("{}:{}", self.place("bin").display(), std::env::var("PATH").unwrap());
        command
            .env_clear()
            .env("PATH", path)
            .env("TMPDIR", std::env::var("TMPDIR").unwrap())
            .env("LANG", "C.UTF-8")
            .env("USER", "tester")
            .envs(client::variables(&self.place("home")));
        if let Some(server) = &self.server {
            command.env("ANTHROPIC_BASE_URL", format!("http://{}", server.address()));
        }
    }

    /// Runs the program on a prompt while the model plays these entries. `session` resumes an earlier one.
    /// Returns the session's id and the program's requests to its model.
    pub(crate) fn play(&mut self, prompt: &str, entries: Vec<Value>, session: Option<&str>) -> PromptOutcome {
        let entries: Vec<Entry> =
            entries.into_iter().map(|entry| serde_json::from_value(entry).unwrap()).collect();
        let server = ModelServer::start(Script::new(entries), "127.0.0.1:0".parse().unwrap()).unwrap();
        fs::write(
            self.place("home/.codex/config.toml"),
            trusting_config(&server.address().to_string(), &self.place("work")),
        )
        .unwrap();
        self.server = Some(server);
        if self.serves {
            // As documented by the client.
            let mut add = Command::new(self.program.path());
            self.environment(&mut add);
            add.args(["mcp", "add", "marvin", "--", "marvin", "mcp"]);
            if !self.served_tools.is_empty() {
                add.args(["--tools", self.served_tools]);
            }
            let added = add.current_dir(self.place("work")).stdin(Stdio::null()).output().unwrap();
            assert!(added.status.success(), "{added:?}");
        }
        let mut command = Command::new(self.program.path());
        self.environment(&mut command);
        match self.program {
            Program::Claude => {
                command.args(["-p", prompt, "--output-format", "json", "--permission-mode", "default"]);
                // The client permits everything here; the hooks under test may still refuse or ask.
                if !self.asks {
                    command.args(["--allowedTools", "Bash", "Edit", "Read", "Write", "Agent", "mcp__marvin"]);
                }
                if let Some(session) = session {
                    command.args(["--resume", session]);
                }
            }
            Program::Codex => {
                command.arg("exec");
                if session.is_some() {
                    command.args(["resume", "--last"]);
                }
                command.args(["--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]);
                if session.is_none() {
                    let sandbox = if self.asks { "read-only" } else { "danger-full-access" };
                    command.args(["--sandbox", sandbox]);
                }
                command.arg(prompt);
            }
        }
        let output = command.current_dir(self.place("work")).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let find = |line: &str| -> Option<String> {
            let value: Value = serde_json::from_str(line).ok()?;
            let id = value.get("session_id").or_else(|| value.get("thread_id"))?;
            Some(id.as_str()?.to_string())
        };
        let session = text.lines().find_map(find).unwrap_or_else(|| panic!("no session\n{text}\n{errors}"));
        let requests: Vec<String> = self
            .server
            .as_ref()
            .unwrap()
            .requests()
            .into_iter()
            .map(|(_, body)| body)
            .filter(Value::is_object)
            .map(|body| body.to_string())
            .collect();
        assert!(!requests.is_empty(), "{text}\n{errors}");
        PromptOutcome { session, requests, text, errors }
    }

    /// Every recorded event.
    pub(crate) fn trace(&self) -> Vec<Value> {
        let mut events = Vec::new();
        for entry in fs::read_dir(self.place("work/.marvin/runs")).unwrap().flatten() {
            let path = entry.path().join("trace.jsonl");
            if path.exists() {
                events.extend(marvin_base::ledger::read(&path).unwrap().entries);
            }
        }
        events
    }

    /// A call of the program's shell tool.
    pub(crate) fn shell(&self, command: &str) -> Value {
        match self.program {
            Program::Claude => call("Bash", json!({"command": command, "description": "d"})),
            Program::Codex => call("exec_command", json!({"cmd": command})),
        }
    }

    /// One reply with several calls of the program's shell tool.
    pub(crate) fn shells(&self, commands: &[String]) -> Value {
        let calls: Vec<Value> =
            commands.iter().map(|command| self.shell(command)["reply"]["tool_calls"][0].clone()).collect();
        json!({"reply": {"tool_calls": calls}})
    }

    /// A call that changes `beta` to another word in a file.
    pub(crate) fn edit(&self, file: &str, word: &str) -> Vec<Value> {
        let path = self.place("work").join(file);
        match self.program {
            Program::Claude => vec![
                call("Read", json!({"file_path": path})),
                call("Edit", json!({"file_path": path, "old_string": "beta", "new_string": word})),
            ],
            Program::Codex => {
                let patch = format!(
                    "*** Begin Patch\n*** Update File: {file}\n@@\n alpha\n-beta\n+{word}\n*** End Patch\n"
                );
                vec![call("apply_patch", Value::String(patch))]
            }
        }
    }

    /// Kills the daemon.
    pub(crate) fn kill_daemon(&self) {
        let directory = Path::new(&std::env::var("TMPDIR").unwrap())
            .join(format!("mhd-{}", rustix::process::getuid().as_raw()));
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|own| own == "pid") {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let pid = text
                    .lines()
                    .next()
                    .and_then(|line| line.parse().ok())
                    .and_then(rustix::process::Pid::from_raw);
                rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::KILL).ok();
            }
        }
    }
}

/// The outcome of a prompt.
pub(crate) struct PromptOutcome {
    pub(crate) session: String,
    pub(crate) requests: Vec<String>,
    pub(crate) text: String,
    pub(crate) errors: String,
}

impl PromptOutcome {
    /// All output, for a failed test.
    pub(crate) fn whole(&self) -> String {
        format!("{}\n{}\n{}", self.text, self.errors, self.requests.last().unwrap())
    }
}

pub(crate) fn say(text: &str) -> Value {
    json!({"reply": {"text": text}})
}

pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    let mut entry = json!({"reply": {"tool_calls": [{"name": tool}]}});
    entry["reply"]["tool_calls"][0]["arguments"] = arguments;
    entry
}

fn trusting_config(address: &str, project: &Path) -> String {
    let common = codex_config(address);
    format!("{common}\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", project.display())
}
