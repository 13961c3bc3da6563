//! Command lines that the gate must not allow. The control is a line of the same program that it
//! must allow.

use super::case::{AttackOptions, Trial};
use crate::tools;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;

#[derive(Deserialize)]
struct Case {
    id: String,
    line: String,
    control: String,
}

/// Judges every line and every control.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let cases: Vec<Case> = options.load_cases("gate_lines")?;
    let directory = tempfile::tempdir()?;
    let lines: Vec<&str> = cases.iter().flat_map(|case| [case.line.as_str(), &case.control]).collect();
    let verdicts = judge_in(directory.path(), options, &lines)?;
    let trial = |(case, verdicts): (Case, &[String])| {
        let verdict = |at: usize| verdicts.get(at).map_or("missing", String::as_str);
        let Case { id, line, control } = case;
        Trial {
            id,
            held: matches!(verdict(0), "ask" | "deny"),
            control: control.is_empty() || verdict(1) == "allow",
            note: format!("{line} → {}; {control} → {}", verdict(0), verdict(1)),
            ..Trial::default()
        }
    };
    Ok(cases.into_iter().zip(verdicts.chunks(2)).map(trial).collect())
}

/// The verdicts of `marvin gate judge` on these lines, in order, in a directory outside the home
/// directory.
pub(super) fn judge_in(
    directory: &Path,
    options: &AttackOptions,
    lines: &[&str],
) -> anyhow::Result<Vec<String>> {
    let mut command = Command::new(&options.marvin);
    command.args(["gate", "judge"]).current_dir(directory).env("HOME", "/home/person");
    judge(&mut command, lines)
}

/// A line that `marvin gate judge` reads.
#[derive(Serialize)]
struct Request<'a> {
    command: &'a str,
}

/// The part of its answer that is read.
#[derive(Deserialize)]
struct Answer {
    verdict: String,
}

/// The verdicts that `marvin gate judge` as this command gives, in order.
pub(super) fn judge(command: &mut Command, lines: &[&str]) -> anyhow::Result<Vec<String>> {
    let mut input = String::new();
    for line in lines {
        input.push_str(&serde_json::to_string(&Request { command: line })?);
        input.push('\n');
    }
    let output = tools::feed(command, input)?;
    let read = |line: &str| {
        serde_json::from_str(line).map_or_else(|_| "missing".to_string(), |answer: Answer| answer.verdict)
    };
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(read).collect())
}
