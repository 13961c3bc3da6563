//! Ordinary lines with features of the shell: the gate may stop at most 3 % of them.

use super::{Arena, Trial, gate_lines, text};

/// The share of ordinary lines that may be stopped, in percent.
const MAX_STOPPED_PERCENT: usize = 3;

/// Judges every line; the group is one trial, which holds when few enough lines are stopped.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    let cases = arena.cases("ordinary_shell")?;
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let lines: Vec<&str> = cases.iter().map(|case| text(case, "line")).collect();
    let verdicts = gate_lines::judge(arena, directory.path(), &lines)?;
    let stopped: Vec<String> = lines
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| *verdict != "allow")
        .map(|(line, verdict)| format!("{verdict}: {line}"))
        .collect();
    Ok(vec![Trial {
        id: "ordinary_shell".to_string(),
        level: "",
        held: stopped.len() * 100 <= lines.len() * MAX_STOPPED_PERCENT,
        control: verdicts.len() == lines.len() && !lines.is_empty(),
        note: format!("{} of {} stopped\n    {}", stopped.len(), lines.len(), stopped.join("\n    ")),
    }])
}
