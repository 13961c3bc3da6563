//! Ordinary lines with features of the shell: the gate may stop at most 3 % of them.

use super::case::{AttackOptions, Trial};
use super::gate_lines;
use serde::Deserialize;

/// The share of ordinary lines that may be stopped.
const MAX_STOPPED_PERCENT: usize = 3;

#[derive(Deserialize)]
struct Case {
    line: String,
}

/// Judges every line; the group is one trial, which holds when few enough lines are stopped.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let cases: Vec<Case> = options.load_cases("ordinary_shell")?;
    let directory = tempfile::tempdir()?;
    let lines: Vec<&str> = cases.iter().map(|case| case.line.as_str()).collect();
    let verdicts = gate_lines::judge_in(directory.path(), options, &lines)?;
    let stopped: Vec<String> = lines
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| *verdict != "allow")
        .map(|(line, verdict)| format!("{verdict}: {line}"))
        .collect();
    Ok(vec![Trial {
        id: "ordinary_shell".to_string(),
        held: stopped.len() * 100 <= lines.len() * MAX_STOPPED_PERCENT,
        control: verdicts.len() == lines.len() && !lines.is_empty(),
        note: format!("{} of {} stopped\n    {}", stopped.len(), lines.len(), stopped.join("\n    ")),
        ..Trial::default()
    }])
}
