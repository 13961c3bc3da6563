//! `marvin chat-ui` as a child process, for the benchmark and the fuzzer of the browser UI.

use crate::tools;
use anyhow::Context;
use serde::Deserialize;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) struct ChatUi {
    child: Child,
    pub(crate) address: ServerAddress,
}

/// The line that the server prints when it is ready.
#[derive(Deserialize)]
pub(crate) struct ServerAddress {
    pub(crate) url: String,
    pub(crate) token: String,
}

impl ChatUi {
    /// Starts the server with the mock provider, and waits until it listens.
    pub(crate) fn start(
        marvin: &Path,
        project: &Path,
        home: &Path,
        script: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(marvin);
        command.args(["chat-ui", "--port", "0", "--json"]);
        if let Some(script) = script {
            command.arg("--script").arg(script);
        }
        let mut child = command
            .current_dir(project)
            .env_clear()
            .env("PATH", tools::search_path())
            .env("HOME", home)
            .env("MARVIN_PROVIDER", "mock")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", marvin.display()))?;
        match tools::read_json_line(&mut child) {
            Ok(address) => Ok(ChatUi { child, address }),
            Err(error) => {
                tools::kill(child);
                Err(error)
            }
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for ChatUi {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
