//! A home and a project for attacks, and the binary in them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A home directory, a project beside it, and a place for marks.
pub(crate) struct World {
    directory: tempfile::TempDir,
    marvin: PathBuf,
}

impl World {
    /// A world with an empty project.
    pub(crate) fn new(marvin: &Path) -> Result<Self, String> {
        let directory = tempfile::tempdir_in("/var/tmp").map_err(|error| error.to_string())?;
        let world = World { directory, marvin: marvin.to_path_buf() };
        for name in ["home/.config/marvin", "project/.marvin", "project/src", "tmp"] {
            std::fs::create_dir_all(world.path(name)).map_err(|error| error.to_string())?;
        }
        Ok(world)
    }

    /// A path in the world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file with its directories; one that begins with `#!` is made executable.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(fail)?;
        }
        std::fs::write(&path, text).map_err(fail)?;
        if text.starts_with("#!") {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(fail)?;
        }
        Ok(())
    }

    /// The binary in the project, with nothing of this process's environment but `PATH`.
    pub(crate) fn marvin(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.marvin);
        command.args(words).stdin(Stdio::null());
        self.prepare(&mut command);
        command
    }

    /// Gives a command the project as its directory, and the world's environment.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("LANG", "C.UTF-8");
    }

    /// Runs a command with this on its standard input.
    pub(crate) fn feed(&self, mut command: Command, input: &str) -> Result<Output, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let mut stdin = child.stdin.take().ok_or("the command has no stdin")?;
        stdin.write_all(input.as_bytes()).map_err(|error| error.to_string())?;
        drop(stdin);
        child.wait_with_output().map_err(|error| error.to_string())
    }

    /// What the hook answers Claude Code: `allow`, `ask`, `deny` or `none`.
    pub(crate) fn hook(&self, event: &str, payload: &serde_json::Value) -> Result<String, String> {
        let command = self.marvin(&["hook", event, "--client", "claude"]);
        let output = self.feed(command, &payload.to_string())?;
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| {
            format!("the hook printed no JSON: {error}: {}", String::from_utf8_lossy(&output.stderr))
        })?;
        let own = answer.get("hookSpecificOutput");
        let word = own.and_then(|own| {
            own.get("permissionDecision").or_else(|| own.pointer("/decision/behavior"))?.as_str()
        });
        Ok(word.unwrap_or("none").to_string())
    }

    /// A payload of a hook in this project.
    pub(crate) fn payload(&self, tool: &str, input: &serde_json::Value, mode: &str) -> serde_json::Value {
        serde_json::json!({
            "session_id": "attack", "cwd": self.path("project"), "permission_mode": mode,
            "tool_name": tool, "tool_input": input, "tool_use_id": "t1",
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The end of its last session ends the daemon, which otherwise would stay for an hour.
        let end = serde_json::json!({"session_id": "attack", "cwd": self.path("project"), "reason": "other"});
        self.hook("SessionEnd", &end).ok();
    }
}
