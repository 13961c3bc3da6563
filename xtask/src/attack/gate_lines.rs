//! Command lines that the gate must not allow. The control is a line of the same program that it must allow.

use super::{Arena, Trial, text};
use std::io::Write;
use std::process::{Command, Stdio};

/// Judges every line and every control.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    let cases = arena.cases("gate_lines")?;
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let lines: Vec<&str> =
        cases.iter().flat_map(|case| [text(case, "line"), text(case, "control")]).collect();
    let verdicts = judge(arena, directory.path(), &lines)?;
    let pairs = verdicts.chunks(2);
    Ok(cases
        .iter()
        .zip(pairs)
        .map(|(case, verdicts)| {
            let verdict = |at: usize| verdicts.get(at).map_or("missing", String::as_str);
            Trial {
                id: text(case, "id").to_string(),
                level: "",
                held: matches!(verdict(0), "ask" | "deny"),
                control: text(case, "control").is_empty() || verdict(1) == "allow",
                note: format!(
                    "{} → {}; {} → {}",
                    text(case, "line"),
                    verdict(0),
                    text(case, "control"),
                    verdict(1)
                ),
            }
        })
        .collect())
}

/// The verdicts of `marvin gate judge` on these lines, in order.
pub(super) fn judge(
    arena: &Arena,
    directory: &std::path::Path,
    lines: &[&str],
) -> Result<Vec<String>, String> {
    let mut child = Command::new(&arena.marvin)
        .args(["gate", "judge"])
        .current_dir(directory)
        .env("HOME", "/home/person")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", arena.marvin.display()))?;
    let input: String =
        lines.iter().map(|line| format!("{}\n", serde_json::json!({ "command": line }))).collect();
    let mut stdin = child.stdin.take().ok_or("marvin gate judge has no stdin")?;
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    writer.join().map_err(|_| "cannot write to marvin gate judge")?.map_err(|error| error.to_string())?;
    let read = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        value.get("verdict").and_then(serde_json::Value::as_str).unwrap_or("missing").to_string()
    };
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(read).collect())
}
