//! Secrets that the user, a model and a ticket bring into a run. None may reach a file that Marvin
//! keeps. The control is a harmless text that looks similar, in the same run: it must be in the
//! record unchanged.
//!
//! The cases are the lists of `crates/base/src/redact/data`, which the unit tests check as well.

use super::case::{AttackOptions, Trial};
use crate::script::{ScriptCall, ScriptEntry, ScriptReply};
use crate::tools;
use anyhow::bail;
use marvin_base::redact::samples;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const SECRETS_PER_RUN: usize = 24;

struct Case {
    id: String,
    text: String,
    secret: String,
    control: String,
}

/// Runs the secrets in batches and searches every file that was written for each.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let harmless: Vec<String> = samples::list(samples::HARMLESS)
        .enumerate()
        // Seeds other than those of the secrets, so that no value is in both.
        .map(|(seed, (_, template))| samples::expand(template, seed as u64 + 10_000))
        .collect();
    let cases: Vec<Case> = samples::list(samples::SECRETS)
        .enumerate()
        .map(|(seed, (kind, template))| {
            let (text, secret) = samples::secret(template, seed as u64);
            let control = harmless.get(seed % harmless.len().max(1)).cloned().unwrap_or_default();
            Case { id: format!("{kind}-{seed}"), text, secret, control }
        })
        .step_by(options.every.max(1))
        .collect();
    let mut trials = Vec::new();
    for batch in cases.chunks(SECRETS_PER_RUN) {
        trials.extend(run_batch(options, batch)?);
    }
    Ok(trials)
}

fn run_batch(options: &AttackOptions, cases: &[Case]) -> anyhow::Result<Vec<Trial>> {
    let directory = tempfile::tempdir()?;
    let (home, project) = (directory.path().join("home"), directory.path().join("project"));
    for place in [&home, &project] {
        std::fs::create_dir_all(place)?;
    }
    // The controls come first: the redaction of a private key without an end includes everything
    // after it.
    let controls = cases.iter().map(|case| format!("{}\n\n", case.control));
    let all: String = controls.chain(cases.iter().map(|case| format!("{}\n\n", case.text))).collect();
    let ticket = BTreeMap::from([("title", "a ticket"), ("description", all.as_str())]);
    let ticket = ScriptCall { name: "create_ticket", arguments: ticket };
    let note = ScriptCall { name: "memory_propose", arguments: BTreeMap::from([("text", all.as_str())]) };
    let reply = ScriptReply { text: "I write it down.", tool_calls: vec![ticket, note] };
    let first = ScriptEntry { reply, ..ScriptEntry::default() }.to_line()?;
    let script = directory.path().join("script.jsonl");
    std::fs::write(&script, first + &ScriptEntry::with_text(&all).to_line()?)?;
    let mut command = Command::new(&options.marvin);
    command
        .args(["--non-interactive", "--script"])
        .arg(&script)
        .current_dir(&project)
        .env_clear()
        .env("HOME", &home)
        .env("PATH", tools::search_path());
    let output = tools::feed(&mut command, format!("Please keep this:\n{all}"))?;
    let files = files_below(directory.path());
    let kept: Vec<(&PathBuf, String)> = files
        .iter()
        .filter(|path| **path != script)
        .map(|path| (path, String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()))
        .collect();
    let record: String = kept
        .iter()
        .filter(|(path, _)| path.ends_with("trace.jsonl"))
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| serde_json::from_str(line).ok())
        .map(|event: serde_json::Value| strings(&event))
        .collect();
    if record.is_empty() {
        bail!("no trace was written: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(cases.iter().map(|case| check_case(case, &kept, &record)).collect())
}

fn check_case(case: &Case, kept: &[(&PathBuf, String)], record: &str) -> Trial {
    // A short secret is searched for together with the text around it.
    let needle = if case.secret.len() < 7 { &case.text } else { &case.secret };
    let parts: Vec<String> = needle
        .lines()
        .filter(|line| line.len() >= 6 && !line.contains("-----"))
        .flat_map(|line| {
            let escaped = serde_json::Value::from(line).to_string();
            [line.to_string(), escaped.trim_matches('"').to_string()]
        })
        .collect();
    let leak = kept.iter().find(|(_, text)| parts.iter().any(|part| text.contains(part)));
    Trial {
        id: case.id.clone(),
        held: leak.is_none(),
        control: record.contains(&case.control),
        note: match leak {
            Some((path, _)) => format!("{} is in {}", case.text, path.display()),
            None => format!("{} is not in the record unchanged", case.control),
        },
        ..Trial::default()
    }
}

/// All strings of a value, one per line.
fn strings(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => format!("{text}\n"),
        serde_json::Value::Array(list) => list.iter().map(strings).collect(),
        serde_json::Value::Object(map) => map.values().map(strings).collect(),
        _ => String::new(),
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(place) = open.pop() {
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files
}
