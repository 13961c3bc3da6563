//! Secrets that a person, a model and a ticket bring into a run. None may reach a file that Marvin keeps. The control is a
//! harmless text that looks similar, in the same run: it must be in the record unchanged.
//!
//! The cases are the lists of `crates/base/src/redact/data`, which the unit tests check as well.

use super::{Arena, Trial};
use marvin_base::redact::samples;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Secrets that one run carries.
const BATCH: usize = 24;

struct Case {
    id: String,
    text: String,
    secret: String,
    control: String,
}

/// Runs the secrets in batches and looks for each in everything that was written.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    let harmless: Vec<String> = samples::list(samples::HARMLESS)
        .enumerate()
        // Other seeds than those of the secrets, so that no value is in both.
        .map(|(seed, (_, template))| samples::expand(template, seed as u64 + 10_000))
        .collect();
    let cases: Vec<Case> = samples::list(samples::SECRETS)
        .enumerate()
        .map(|(seed, (kind, template))| {
            let (text, secret) = samples::secret(template, seed as u64);
            let control = harmless.get(seed % harmless.len().max(1)).cloned().unwrap_or_default();
            Case { id: format!("{kind}-{seed}"), text, secret, control }
        })
        .step_by(arena.every.max(1))
        .collect();
    let mut trials = Vec::new();
    for batch in cases.chunks(BATCH) {
        trials.extend(run_batch(arena, batch)?);
    }
    Ok(trials)
}

fn run_batch(arena: &Arena, cases: &[Case]) -> Result<Vec<Trial>, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (home, project) = (directory.path().join("home"), directory.path().join("project"));
    for place in [&home, &project] {
        std::fs::create_dir_all(place).map_err(|error| error.to_string())?;
    }
    // The controls come first: a private key without an end takes everything behind it with it.
    let controls = cases.iter().map(|case| format!("{}\n\n", case.control));
    let all: String = controls.chain(cases.iter().map(|case| format!("{}\n\n", case.text))).collect();
    let script = directory.path().join("script.jsonl");
    let ticket =
        serde_json::json!({"name": "create_ticket", "arguments": {"title": "a ticket", "description": all}});
    let note = serde_json::json!({"name": "memory_propose", "arguments": {"text": all}});
    let first = serde_json::json!({"reply": {"text": "I write it down.", "tool_calls": [ticket, note]}});
    let last = serde_json::json!({"reply": {"text": all}});
    std::fs::write(&script, format!("{first}\n{last}\n")).map_err(|error| error.to_string())?;
    let mut child = Command::new(&arena.marvin)
        .args(["--non-interactive", "--script"])
        .arg(&script)
        .current_dir(&project)
        .env_clear()
        .env("HOME", &home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", arena.marvin.display()))?;
    let mut stdin = child.stdin.take().ok_or("marvin has no stdin")?;
    let prompt = format!("Please keep this:\n{all}");
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, prompt.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    writer.join().map_err(|_| "cannot write to marvin")?.ok();
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
        return Err(format!("no trace was written: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(cases.iter().map(|case| trial(case, &kept, &record)).collect())
}

fn trial(case: &Case, kept: &[(&PathBuf, String)], record: &str) -> Trial {
    // A short secret is looked for with what stands around it.
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
        level: "",
        held: leak.is_none(),
        control: record.contains(&case.control),
        note: match leak {
            Some((path, _)) => format!("{} is in {}", case.text, path.display()),
            None => format!("{} is not in the record as it was", case.control),
        },
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
