//! Programs that an agent started and that try to forge approvals, rights, cost, records,
//! commitments, learned rules or memory.
//!
//! Every case has a project of its own: the user sets something up by commands (`scenario`), a
//! script runs in the project as a sandboxed command of an agent, and Marvin must report the same
//! about the project as before. The control shows that the script ran, and that the honest way
//! changes exactly what was compared.

use super::case::{AttackOptions, Trial};
use super::fixture::write_file;
use super::pty;
use crate::tools;
use anyhow::Context;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[derive(Deserialize)]
struct Case {
    id: String,
    scenario: String,
    script: String,
}

/// A setup by the user, the commands whose output is compared, and the honest way to change it.
struct Scenario {
    name: &'static str,
    /// Commands of the user, in order.
    setup: &'static [&'static [&'static str]],
    /// Commands whose exit codes and output are compared.
    shown: &'static [&'static [&'static str]],
    /// Commands by which the user changes it.
    honest: &'static [&'static [&'static str]],
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "commitments",
        setup: &[&["commitments", "add", "file_exists:done.txt"]],
        shown: &[&["commitments", "list"], &["verify"]],
        honest: &[&["commitments", "add", "file_exists:README.md"]],
    },
    Scenario {
        name: "rights",
        setup: &[&["servitors", "summon", "begin", "--name", "Ann"]],
        shown: &[&["servitors", "list", "--json"], &["doc", "show", "ann"]],
        honest: &[&["servitors", "summon", "begin", "--name", "Bob"]],
    },
    Scenario {
        name: "approval",
        setup: &[&["run-workflow", "workflow.json"]],
        shown: &[&["list-runs"], &["resume-run"]],
        honest: &[&["workflow", "approve", "--step", "ok"]],
    },
    Scenario {
        name: "learned",
        setup: &[],
        shown: &[&["gate", "learned", "list"], &["gate", "explain", "xyzzy --now", "--json"]],
        honest: &[&["gate", "learned", "add", "xyzzy --now"]],
    },
    Scenario {
        name: "memory",
        setup: &[&["memory", "import", "import.jsonl"]],
        shown: &[&["memory", "list"], &["memory", "pending", "--json"], &["prompt", "show"]],
        honest: &[&["memory", "import", "more.jsonl"]],
    },
    Scenario {
        name: "record",
        setup: &[
            &["--non-interactive", "--prompt", "go", "--script", "script.jsonl"],
            &["run-workflow", "echo.json"],
        ],
        shown: &[&["inspect-run", "--run-path", FIRST_RUN, "--json"], &["list-runs", "--json"]],
        honest: &[&["run-workflow", "echo.json"]],
    },
];

/// Placeholder for the directory of the first run.
const FIRST_RUN: &str = "FIRST_RUN";

/// Files of the project at the start.
const FILES: [(&str, &str); 8] = [
    (".marvin/instructions.md", "Be brief.\n"),
    ("echo.json", r#"{"steps":[{"id":"a","worker":"Echo"}]}"#),
    ("README.md", "A project.\n"),
    (
        "workflow.json",
        r#"{"steps":[{"id":"ok","worker":"approve"},{"id":"end","worker":"Command","inputs":{"command":"touch published"},"depends_on":["ok"]}]}"#,
    ),
    (
        "import.jsonl",
        "{\"text\":\"the build needs pnpm\",\"type\":\"fact\",\"tags\":[],\"ttl_days\":null,\"source\":\"user_said\",\"why_store\":\"x\"}\n",
    ),
    (
        "more.jsonl",
        "{\"text\":\"tests run under bash\",\"type\":\"fact\",\"tags\":[],\"ttl_days\":null,\"source\":\"user_said\",\"why_store\":\"x\"}\n",
    ),
    (
        "script.jsonl",
        "{\"repeat\":true,\"reply\":{\"text\":\"done\",\"usage\":{\"input\":100,\"output\":10}}}\n",
    ),
    ("Makefile", "attack:\n\t@sh ./attack.sh; touch ran\n"),
];

/// Tries every case.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let cases: Vec<Case> = options.load_cases("authority")?;
    cases.into_iter().map(|case| run_case(options, case)).collect()
}

fn run_case(options: &AttackOptions, case: Case) -> anyhow::Result<Trial> {
    let scenario = SCENARIOS
        .iter()
        .find(|scenario| scenario.name == case.scenario)
        .with_context(|| format!("{}: unknown scenario `{}`", case.id, case.scenario))?;
    let directory = tempfile::tempdir()?;
    let directory = directory.path();
    for (name, content) in FILES {
        write_file(&directory.join("project").join(name), content)?;
    }
    write_file(&directory.join("home/.keep"), "")?;
    write_file(&directory.join("project/attack.sh"), &case.script)?;
    let mut problems = Vec::new();
    for words in scenario.setup {
        // A workflow that waits for the user exits with 4.
        let output = marvin(options, directory, words)?;
        if !matches!(output.status.code(), Some(0 | 4)) {
            problems.push(format!("cannot set up {words:?}: {}", shorten(&output)));
        }
    }
    // A look may change what is shown (a commitment was verified), so the second look is compared.
    look(options, directory, scenario)?;
    let before = look(options, directory, scenario)?;
    marvin(options, directory, &["tools", "call", "run_command", "--args", r#"{"command":"make attack"}"#])?;
    if !directory.join("project/ran").exists() {
        problems.push("the script did not run".to_string());
    }
    let after = look(options, directory, scenario)?;
    let held = before == after && !directory.join("project/published").exists();
    for words in scenario.honest {
        let marvin = options.marvin.display().to_string();
        let named = with_first_run(directory, words);
        let all: Vec<&str> =
            std::iter::once(marvin.as_str()).chain(named.iter().map(String::as_str)).collect();
        let project = directory.join("project");
        let output = pty::run_as_person(&all, &project, &directory.join("home"), directory)?;
        if output.code != Some(0) {
            let text = String::from_utf8_lossy(&output.text);
            problems.push(format!("the honest way fails, {words:?}: {:?} {}", output.code, text.trim()));
        }
    }
    if look(options, directory, scenario)? == after {
        problems.push("the honest way changes nothing".to_string());
    }
    let mut note = problems.join("; ");
    if !held {
        let mut pairs = before.lines().zip(after.lines());
        let (was, is) = pairs.find(|(was, is)| was != is).unwrap_or(("", "more or fewer lines"));
        note.push_str(&format!(" was: {was} is: {is}"));
    }
    Ok(Trial { id: case.id, held, control: problems.is_empty(), note, ..Trial::default() })
}

/// Exit codes and output of the commands of a scenario.
fn look(options: &AttackOptions, directory: &Path, scenario: &Scenario) -> anyhow::Result<String> {
    let mut seen = String::new();
    for words in scenario.shown {
        let output = marvin(options, directory, words)?;
        let text = String::from_utf8_lossy(&output.stdout);
        seen.push_str(&format!("{words:?} {:?} {}\n", output.status.code(), without_durations(&text)));
    }
    Ok(seen)
}

/// A text without durations such as `(0.7 s)`, which differ from look to look.
fn without_durations(text: &str) -> String {
    let is_duration =
        |inner: &str| inner.strip_suffix(" s").is_some_and(|number| number.parse::<f64>().is_ok());
    let mut pieces = text.split('(');
    let mut kept = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        match piece.split_once(')') {
            Some((inner, rest)) if is_duration(inner) => kept.push_str(rest),
            _ => kept.push_str(&format!("({piece}")),
        }
    }
    kept
}

/// The run that was created first in the only project. Ids of one second do not sort by time, so
/// the time of creation decides.
fn first_run(directory: &Path) -> PathBuf {
    let entries =
        |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let created = |path: &PathBuf| path.metadata().and_then(|facts| facts.created()).ok();
    entries(&directory.join("home/.local/state/marvin/projects"))
        .flat_map(|project| entries(&project.join("runs")).collect::<Vec<_>>())
        .min_by_key(created)
        .unwrap_or_default()
}

fn marvin(options: &AttackOptions, directory: &Path, words: &[&str]) -> anyhow::Result<Output> {
    Command::new(&options.marvin)
        .args(with_first_run(directory, words))
        .env_clear()
        .env("PATH", tools::search_path())
        .env("HOME", directory.join("home"))
        .env("TMPDIR", directory)
        .env("MARVIN", &options.marvin)
        .current_dir(directory.join("project"))
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", options.marvin.display()))
}

/// Words with the placeholder replaced by the first run.
fn with_first_run(directory: &Path, words: &[&str]) -> Vec<String> {
    let first = first_run(directory).display().to_string();
    words.iter().map(|word| if *word == FIRST_RUN { first.clone() } else { (*word).to_string() }).collect()
}

fn shorten(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().chars().take(300).collect::<String>();
    format!("{:?} {} {}", output.status.code(), text(&output.stdout), text(&output.stderr))
}
