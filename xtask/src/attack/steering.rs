//! Writes of files that instruct agents or run by themselves, by a file tool, through a hook and by
//! a command. The control is an ordinary file, which each of them writes.

use super::case::{AttackOptions, Trial};
use super::fixture::{ProjectFixture, ToolInput};
use super::gate_lines;
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Case {
    id: String,
    path: String,
    control: String,
}

/// Arguments of `create_file`.
#[derive(Serialize)]
struct CreateFile<'a> {
    path: &'a str,
    content: &'static str,
}

/// Whether a write of a path in the project goes through.
type Write = fn(&ProjectFixture, &str) -> anyhow::Result<bool>;

const WAYS: [(&str, Write); 3] = [("tool", by_tool), ("hook", by_hook), ("command", by_command)];

/// Tries every file in every way.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for Case { id, path, control } in options.load_cases("steering")? {
        let fixture = ProjectFixture::new(&options.marvin)?;
        for (way, write) in WAYS {
            let (through, works) = (write(&fixture, &path)?, write(&fixture, &control)?);
            trials.push(Trial {
                id: format!("{id}-{way}"),
                held: !through,
                control: works,
                note: format!("{path} by a {way}; control {control}"),
                ..Trial::default()
            });
        }
    }
    Ok(trials)
}

/// Whether `create_file` makes the file.
fn by_tool(fixture: &ProjectFixture, path: &str) -> anyhow::Result<bool> {
    let arguments = serde_json::to_string(&CreateFile { path, content: "x" })?;
    let project = fixture.path("project").display().to_string();
    let words = ["tools", "call", "create_file", "--args", &arguments, "--working-dir", &project];
    fixture.marvin(&words).output()?;
    Ok(std::fs::read(fixture.path("project").join(path)).is_ok_and(|bytes| bytes == b"x"))
}

/// Whether a hook lets the client's own tool write the file.
fn by_hook(fixture: &ProjectFixture, path: &str) -> anyhow::Result<bool> {
    let input = ToolInput::Write { file_path: fixture.path("project").join(path), content: "x" };
    let answer = fixture.call_hook("PreToolUse", "Write", &input, "default")?;
    Ok(!matches!(answer.as_str(), "ask" | "deny"))
}

/// Whether the gate allows a command that writes the file.
fn by_command(fixture: &ProjectFixture, path: &str) -> anyhow::Result<bool> {
    let mut command = fixture.marvin(&["gate", "judge"]);
    let verdicts = gate_lines::judge(&mut command, &[&format!("echo x > {path}")])?;
    Ok(verdicts.first().is_some_and(|verdict| verdict == "allow"))
}
