//! A scripted model, a workspace, and a program that knows both.

use marvin_base::environment::Environment;
use marvin_base::settings::{Settings, Sources};
use marvin_model::Message;
use marvin_model::client::{ModelClient, ModelError, Reply, Request};
use marvin_model::program::{ClaudeProgram, CodexProgram};
use marvin_model::script::{Entry, FailureKind, Script, ScriptFailure, ScriptReply};
use marvin_model::server::ModelServer;
pub(crate) use marvin_testing::client::Program;
use marvin_testing::client::{self, codex_config};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A failure of a program.
pub(crate) fn signature(program: Program, kind: &str) -> String {
    format!("llm-{}-{kind}", program.word())
}

/// An entry in which the model says something.
pub(crate) fn says(text: &str) -> Entry {
    let reply = ScriptReply { text: text.into(), ..ScriptReply::default() };
    Entry { reply: Some(reply), ..Entry::default() }
}

/// An entry in which the model fails.
pub(crate) fn fails(kind: FailureKind, status: Option<u16>) -> Entry {
    Entry { fail: Some(ScriptFailure { kind, status, retry_after_s: None }), ..Entry::default() }
}

/// Everything that a scene needs.
pub(crate) struct Stage {
    program: Program,
    directory: tempfile::TempDir,
    environment: Environment,
    server: ModelServer,
}

impl Stage {
    /// A stage on which the model plays these entries.
    pub(crate) fn new(program: Program, entries: Vec<Entry>) -> Self {
        let server = ModelServer::start(Script::new(entries), "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.address();
        // In the home, not in the temporary directory: Codex does not work in a home below that.
        let directory = tempfile::tempdir_in(std::env::var("HOME").unwrap()).unwrap();
        for name in ["work", "home/.codex"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        std::fs::write(directory.path().join("home/.codex/config.toml"), codex_config(&address.to_string()))
            .unwrap();
        let path = program.path().display().to_string();
        let given = ["PATH", "TMPDIR", "LANG"].map(|name| (name, std::env::var(name).unwrap()));
        let own = [
            ("CODEX_CLI", path.clone()),
            ("CLAUDE_CODE_CLI", path),
            ("ANTHROPIC_BASE_URL", format!("http://{address}")),
        ];
        let common = client::variables(&directory.path().join("home"));
        let environment = given.into_iter().chain(own).chain(common).collect();
        Stage { program, directory, environment, server }
    }

    /// The same stage with a variable set.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.environment = self.environment.with(name, value);
        self
    }

    /// Where the program works.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// The program's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// The program as a model.
    pub(crate) fn client(&self) -> Box<dyn ModelClient> {
        let sources = Sources { environment: self.environment.clone(), ..Sources::default() };
        let settings = Settings::load(&sources).unwrap();
        let workspace = self.workspace();
        match self.program {
            Program::Codex => {
                Box::new(CodexProgram::from_settings(&settings, &workspace, &self.environment, None).unwrap())
            }
            Program::Claude => Box::new(
                ClaudeProgram::from_settings(&settings, &workspace, &self.environment, None).unwrap(),
            ),
        }
    }

    /// One reply to a conversation.
    pub(crate) async fn ask(&self, messages: &[Message]) -> Result<Reply, ModelError> {
        let request = Request { messages: messages.to_vec(), ..Request::default() };
        self.client().send(&request, &mut |_| {}, &CancellationToken::new()).await
    }

    /// What the program sent to its model, as the wire had it.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.server.requests().into_iter().map(|(_, body)| body).filter(Value::is_object).collect()
    }

    /// Marvin's prompt in each request: the one text of the user's that begins as Marvin's prompts do.
    pub(crate) fn prompts(&self) -> Vec<String> {
        self.bodies()
            .iter()
            .map(|body| prompt_in(body).unwrap_or_else(|| panic!("no prompt in {body}")))
            .collect()
    }

    /// Waits until the program has asked its model.
    pub(crate) async fn first_request(&self) {
        for _ in 0..600 {
            if !self.bodies().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the program asked nothing");
    }

    /// How many processes of this stage run: those whose home is the stage's.
    pub(crate) fn processes(&self) -> usize {
        let home = format!("HOME={}\0", self.home().display());
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter(|entry| {
                let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
                let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
                String::from_utf8_lossy(&environment).contains(&home) && !stat.contains(") Z")
            })
            .count()
    }

    /// Checks that no process of this stage is left. The kernel may take a moment to clear away what was killed.
    pub(crate) async fn nothing_is_left(&self) {
        for _ in 0..10 {
            if self.processes() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{} processes are left", self.processes());
    }
}

fn prompt_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text.starts_with("<permissions instructions>\nYour own").then(|| text.clone()),
        Value::Array(list) => list.iter().find_map(prompt_in),
        Value::Object(map) => map.values().find_map(prompt_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
