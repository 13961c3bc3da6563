//! Calls that a hook must not allow in a client, with the setting that allows most. The control is
//! a line that it allows.

use super::case::{AttackOptions, Trial};
use super::fixture::{ProjectFixture, ToolInput};
use anyhow::Context;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Files of the project, besides those of the case.
const FILES: [(&str, &str); 6] = [
    ("README.md", "a\n"),
    ("src/main.rs", "fn main() {}\n"),
    (".env", "KEY=1\n"),
    ("list", "x\n"),
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\tbare = false\n"),
];

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(default)]
    line: String,
    #[serde(default)]
    control: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    tool: Option<String>,
    /// Input of the tool as JSON, instead of a line for Bash.
    #[serde(default)]
    input: String,
    mode: Option<String>,
    event: Option<String>,
}

/// Sends every call to the hook.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let cases: Vec<Case> = options.load_cases("clients")?;
    cases.into_iter().map(|case| run_case(options, case)).collect()
}

fn run_case(options: &AttackOptions, case: Case) -> anyhow::Result<Trial> {
    let fixture = ProjectFixture::new(&options.marvin)?;
    fixture.write("home/.config/marvin/config.toml", "[hooks]\nallow = \"harmless\"\n")?;
    for (name, content) in FILES {
        fixture.write(&format!("project/{name}"), content)?;
    }
    std::os::unix::fs::symlink("/etc", fixture.path("project/link"))?;
    // The control comes first: the files of the case may affect it, too.
    let control = match case.control.as_str() {
        "" => "allow".to_string(),
        command => fixture.call_hook("PreToolUse", "Bash", &ToolInput::Bash { command }, "default")?,
    };
    for (name, content) in &case.files {
        fixture.write(&format!("project/{name}"), content)?;
    }
    let input = match case.input.as_str() {
        "" => ToolInput::Bash { command: &case.line },
        input => {
            let input = input.replace("{project}", &fixture.path("project").display().to_string());
            let parsed = serde_json::from_str(&input);
            ToolInput::Other(parsed.with_context(|| format!("cannot parse the input of {}", case.id))?)
        }
    };
    let event = case.event.as_deref().unwrap_or("PreToolUse");
    let tool = case.tool.as_deref().unwrap_or("Bash");
    let answer = fixture.call_hook(event, tool, &input, case.mode.as_deref().unwrap_or("default"))?;
    Ok(Trial {
        held: answer != "allow",
        control: control == "allow",
        note: format!("{} {} → {answer}; {} → {control}", case.line, case.input, case.control),
        id: case.id,
        ..Trial::default()
    })
}
