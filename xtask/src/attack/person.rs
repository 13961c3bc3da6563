//! Decisions that an agent tries to take: `attacks/person.toml`.
//!
//! A case is a `way` and a deciding command. The way is a shell line that an agent runs (a copy of
//! bash under the name of an agent, in a terminal whose window is this program); `{decide}` in it
//! is the command, which leaves its exit code in the file `{code}`. The attack holds when the
//! command is refused and the record of decisions stays empty. The control is the same command in
//! the same terminal without the agent: it must succeed.

use super::case::{AttackOptions, Trial};
use super::pty::TerminalFixture;
use anyhow::Context;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time that a detached command has to leave its exit code.
const DETACHED_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
struct Case {
    id: String,
    way: String,
    command: String,
    /// Whether the way reaches the command at all: `no`, or only as `root`.
    #[serde(default)]
    reaches: String,
    agent: Option<String>,
}

/// Runs every case and, once for each command, its control.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let mut controls: BTreeMap<String, (bool, String)> = BTreeMap::new();
    let mut trials = Vec::new();
    for case in options.load_cases::<Case>("person")? {
        if !controls.contains_key(&case.command) {
            controls.insert(case.command.clone(), run_control(options, &case.command)?);
        }
        let (control, seen) = controls.get(&case.command).cloned().unwrap_or_default();
        let (held, note) = run_attack(options, &case)?;
        let note = format!("{}: {note}; control: {seen}", case.way);
        trials.push(Trial { id: case.id, held, control, note, ..Trial::default() });
    }
    Ok(trials)
}

/// A project in which the command can succeed, and the words of the command.
fn prepare(options: &AttackOptions, command: &str) -> anyhow::Result<(TerminalFixture, Vec<String>)> {
    let fixture = TerminalFixture::new(&options.marvin)?;
    std::fs::create_dir(fixture.path("project/.marvin"))?;
    let mut words: Vec<String> = command.split(' ').map(str::to_string).collect();
    let id = match command.split(' ').collect::<Vec<_>>().as_slice() {
        ["memory", "approve" | "reject" | "edit", ..] => {
            let fact = r#"{"text":"The port is 9090","type":"fact","tags":[],"ttl_days":null,"source":"assistant_inferred","why_store":"t"}"#;
            fixture.write("project/facts.jsonl", fact)?;
            let proposed = fixture.json(&["memory", "import", "facts.jsonl", "--json"])?;
            proposed.pointer("/0/fingerprint").and_then(serde_json::Value::as_str).map(str::to_string)
        }
        ["commitments", ..] => {
            fixture.write("project/oracle.txt", "unchanged\n")?;
            let words = ["commitments", "add", "file_exists:a.txt", "--oracle", "oracle.txt", "--json"];
            let added = fixture.json(&words)?;
            added.get("id").and_then(serde_json::Value::as_str).map(str::to_string)
        }
        ["lessons", ..] => {
            fixture.marvin(&["packs", "new", "api"])?;
            None
        }
        ["workflow", ..] => {
            fixture.write(
                "project/flow.json",
                r#"{"workflow_id":"w","goal":"g","steps":[{"id":"ok","worker":"approve"},{"id":"ask","worker":"answer"}]}"#,
            )?;
            fixture.marvin(&["run-workflow", "flow.json"])?;
            None
        }
        ["skills", ..] => {
            let text = "---\nname: deploy\ndescription: x\n---\nPush it.\n";
            fixture.write("project/.marvin/skills/deploy/SKILL.md", text)?;
            None
        }
        ["mcp", ..] => {
            fixture.write("project/.marvin/config.toml", "[mcp.servers.p]\ncommand = \"true\"\n")?;
            None
        }
        ["pipeline", ..] => {
            let asks = r#"{"reply":{"text":"QUESTIONS_FOR_PARENT:\n1. Which colour should it have?"},"repeat":true}"#;
            fixture.write("project/asks.jsonl", asks)?;
            let words = "--non-interactive --working-dir . --design-first --prompt go --script asks.jsonl";
            fixture.marvin(&words.split(' ').collect::<Vec<_>>())?;
            None
        }
        _ => None,
    };
    for word in &mut words {
        *word = word.replace("{id}", id.as_deref().unwrap_or_default()).replace('+', " ");
    }
    Ok((fixture, words))
}

fn run_control(options: &AttackOptions, command: &str) -> anyhow::Result<(bool, String)> {
    let (fixture, words) = prepare(options, command)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let seen = fixture.marvin(&words)?;
    let decided = count_decisions(&fixture) == 1;
    let shown = String::from_utf8_lossy(&seen.text).replace(['\r', '\n'], " ");
    // A pipeline takes the answer and ends with the next question.
    Ok((matches!(seen.code, Some(0 | 4)) && decided, format!("exit {:?}, {shown}", seen.code)))
}

/// Number of lines in the record of decisions.
fn count_decisions(fixture: &TerminalFixture) -> usize {
    let path = fixture.path("home/.local/state/marvin/decisions.jsonl");
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn run_attack(options: &AttackOptions, case: &Case) -> anyhow::Result<(bool, String)> {
    let (fixture, words) = prepare(options, &case.command)?;
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    let variables: String = fixture
        .variables()?
        .iter()
        .map(|(name, value)| {
            format!("export {name}=\"${{{name}:-}}\"\n[ -n \"${name}\" ] || export {name}={}\n", quote(value))
        })
        .collect();
    let marvin = options.marvin.display().to_string();
    // The command has its variables even where the way removes all of them; it keeps those that the
    // way sets.
    fixture.write(
        "decide",
        &format!(
            "#!/bin/sh\nexport PATH=\"${{PATH:-/usr/bin:/bin}}\"\n{variables}cd {}\n${{M:-{}}} {} </dev/null >{out} 2>&1\necho $? >{code}\n",
            quote(&fixture.text("project")),
            quote(&marvin),
            words.join(" "),
            out = quote(&fixture.text("out")),
            code = quote(&fixture.text("code")),
        ),
    )?;
    // An agent: a shell under its name.
    let agent_path = fixture.path("bin").join(case.agent.as_deref().unwrap_or("claude"));
    let shell = std::fs::canonicalize("/bin/bash")?;
    std::fs::copy(shell, &agent_path).context("cannot copy bash")?;
    let way = case
        .way
        .replace("{decide}", &fixture.text("decide"))
        .replace("{dir}", &fixture.text("tmp"))
        .replace("{code}", &fixture.text("code"))
        .replace("{marvin}", &marvin)
        .replace("{agent}", &agent_path.display().to_string())
        .replace("{id}", &case.id);
    fixture.run(&[&agent_path.display().to_string(), "-c", &format!("{way}\n:")])?;
    let until = Instant::now() + DETACHED_TIMEOUT;
    let code = loop {
        match std::fs::read_to_string(fixture.path("code")) {
            Ok(code) if code.ends_with('\n') => break Some(code.trim().to_string()),
            _ if Instant::now() > until => break None,
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let printed = std::fs::read_to_string(fixture.path("out")).unwrap_or_default();
    let refused = matches!(code.as_deref(), Some("4" | "5"));
    let reached = match case.reaches.as_str() {
        "no" => false,
        "root" => rustix::process::geteuid().is_root(),
        _ => true,
    };
    // A way that is stopped before the command runs at all (no namespace is available) proves
    // nothing, unless the case says so.
    let held = count_decisions(&fixture) == 0 && (refused || (code.is_none() && !reached));
    Ok((held, format!("exit {code:?}, {}", printed.lines().next().unwrap_or_default())))
}
