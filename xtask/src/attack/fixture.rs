//! A home directory and a project for one case, and Marvin in them.

use crate::tools;
use anyhow::Context;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A home directory, a project beside it, and room for the files that an attack leaves.
pub(super) struct ProjectFixture {
    directory: tempfile::TempDir,
    marvin: PathBuf,
}

/// A tool call of Claude Code, as its hooks report it.
#[derive(Serialize)]
struct ToolEvent<'a> {
    session_id: &'static str,
    cwd: PathBuf,
    permission_mode: &'a str,
    tool_name: &'a str,
    tool_input: &'a ToolInput<'a>,
    tool_use_id: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ToolInput<'a> {
    Bash { command: &'a str },
    Write { file_path: PathBuf, content: &'static str },
    Other(Value),
}

#[derive(Serialize)]
struct SessionEnd {
    session_id: &'static str,
    cwd: PathBuf,
    reason: &'static str,
}

impl ProjectFixture {
    pub(super) fn new(marvin: &Path) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir_in("/var/tmp")?;
        let fixture = ProjectFixture { directory, marvin: marvin.to_path_buf() };
        for name in ["home/.config/marvin", "project/.marvin", "project/src", "tmp"] {
            std::fs::create_dir_all(fixture.path(name))?;
        }
        Ok(fixture)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file and its directories; a file that starts with `#!` is made executable.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        write_file(&self.path(name), text)
    }

    /// Marvin in the project, with nothing of this process's environment but `PATH`.
    pub(super) fn marvin(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.marvin);
        command.args(words).stdin(Stdio::null());
        self.prepare(&mut command);
        command
    }

    /// Gives a command the directory and the environment of the project.
    pub(super) fn prepare(&self, command: &mut Command) {
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", tools::search_path())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("LANG", "C.UTF-8");
    }

    /// What the hook answers Claude Code about a tool call: `allow`, `ask`, `deny` or `none`.
    pub(super) fn call_hook(
        &self,
        event: &str,
        tool: &str,
        input: &ToolInput<'_>,
        mode: &str,
    ) -> anyhow::Result<String> {
        let answer = self.send(
            event,
            &ToolEvent {
                session_id: "attack",
                cwd: self.path("project"),
                permission_mode: mode,
                tool_name: tool,
                tool_input: input,
                tool_use_id: "t1",
            },
        )?;
        let decision = ["/permissionDecision", "/decision/behavior"]
            .iter()
            .find_map(|pointer| answer.get("hookSpecificOutput")?.pointer(pointer)?.as_str());
        Ok(decision.unwrap_or("none").to_string())
    }

    fn send(&self, event: &str, payload: &impl Serialize) -> anyhow::Result<Value> {
        let mut command = self.marvin(&["hook", event, "--client", "claude"]);
        let output = tools::feed(&mut command, serde_json::to_string(payload)?)?;
        serde_json::from_slice(&output.stdout).with_context(|| {
            format!("cannot parse the answer of the hook: {}", String::from_utf8_lossy(&output.stderr))
        })
    }
}

impl Drop for ProjectFixture {
    fn drop(&mut self) {
        // The end of its last session ends the daemon, which otherwise would run for an hour more.
        let end = SessionEnd { session_id: "attack", cwd: self.path("project"), reason: "other" };
        self.send("SessionEnd", &end).ok();
    }
}

/// Writes a file and its directories; a file that starts with `#!` is made executable.
pub(super) fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let write = || {
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, text)?;
        if text.starts_with("#!") {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
        }
        Ok::<(), std::io::Error>(())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
