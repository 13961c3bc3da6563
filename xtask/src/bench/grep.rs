//! `grep`: `code_grep` over a tree of 100,000 files against the program `rg` (the newest, installed
//! by cargo) on the same work: the same pattern, case-insensitive, the same ignore rules, the same
//! lines around matches, the same matches.
//!
//! Both are whole processes with a warm cache, taking turns. For the first matches of a common word
//! `rg` sorts by path and `head` cuts its output: the tool returns the first matches in the order
//! of paths, too. That takes less time than the start of Marvin and its record (`bench start`
//! measures those), so there the time inside the process counts.

use super::file_tree;
use super::timing::{Run, median, round, timed};
use crate::tools;
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const ROUNDS: usize = 9;
const TARGET_RATIO: f64 = 1.3;
const MAX_RESULTS: usize = 20;
/// Options by which `rg` does what `code_grep` does: numbered lines, two around each match, no
/// colours, hidden files, only the ignore files of the tree.
const RG_OPTIONS: &str = "--no-config -i -n -C2 --no-heading --color=never --hidden -g !.git --no-ignore-global --no-ignore-parent \
                  --no-ignore-dot --no-require-git";

struct Case {
    what: &'static str,
    pattern: &'static str,
    /// Whether only the first matches are compared, and the time inside the process.
    cut: bool,
}

const CASES: [Case; 4] = [
    Case { what: "rare: 10 matches in 10 of 100,000 files", pattern: file_tree::RARE_WORD, cut: false },
    Case { what: "none: no match", pattern: "wombat_nowhere", cut: false },
    Case { what: "regex: no literal to search for", pattern: r"[a-z]+_\d{4}", cut: false },
    Case { what: "common: the first 20 of very many", pattern: "return", cut: true },
];

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    what: String,
    reference: String,
    cases: Vec<CaseReport>,
    target_ratio: f64,
    ok: bool,
}

#[derive(Serialize)]
struct CaseReport {
    what: &'static str,
    pattern: &'static str,
    matches: u64,
    rg_ms: f64,
    marvin_ms: f64,
    inside_ms: f64,
    ratio: f64,
    whole_ratio: f64,
    rg_cpu_ms: f64,
    marvin_cpu_ms: f64,
    marvin_peak_rss_mb: f64,
}

/// Arguments of `code_grep`.
#[derive(Serialize)]
struct Arguments {
    pattern: &'static str,
    max_results: usize,
}

/// The part of the result of `code_grep` that is read.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    data: AnswerData,
    elapsed_ms: f64,
}

#[derive(Default, Deserialize)]
struct AnswerData {
    #[serde(default)]
    matches: u64,
}

pub(super) fn run() -> anyhow::Result<Value> {
    let root = file_tree::create()?;
    let marvin = tools::release()?;
    let rg = tools::cargo_install("ripgrep", "rg", &[])?;
    let home = tempfile::tempdir()?;
    let mut cases = Vec::new();
    for case in CASES {
        cases.push(measure(&marvin, &rg, &root, home.path(), &case)?);
    }
    let ok = cases.iter().all(|case| case.ratio <= TARGET_RATIO);
    Ok(serde_json::to_value(Report {
        bench: "grep",
        what: format!("{} files, {ROUNDS} runs each, taking turns, medians", file_tree::FILES),
        reference: version(&rg)?,
        cases,
        target_ratio: TARGET_RATIO,
        ok,
    })?)
}

fn measure(marvin: &Path, rg: &Path, root: &Path, home: &Path, case: &Case) -> anyhow::Result<CaseReport> {
    let Case { what, pattern, cut } = *case;
    let reference = || {
        let line = if cut {
            // The lines around 20 matches are at most 100.
            format!("\"$0\" {RG_OPTIONS} --sort path \"$1\" . | head -n {}", MAX_RESULTS * 5)
        } else {
            format!("exec \"$0\" {RG_OPTIONS} \"$1\" .")
        };
        let mut command = Command::new("sh");
        command.args(["-c", &line]).arg(rg).arg(pattern).current_dir(root);
        timed(&mut command, &[0, 1, 141])
    };
    let arguments = serde_json::to_string(&Arguments { pattern, max_results: MAX_RESULTS })?;
    let ours = || -> anyhow::Result<(Run, Answer)> {
        let mut command = Command::new(marvin);
        command
            .args(["tools", "call", "code_grep", "--json", "--args", &arguments, "--working-dir"])
            .arg(root)
            .current_dir(home)
            .env("HOME", home);
        let (run, stdout) = timed(&mut command, &[0])?;
        let answer =
            serde_json::from_str(&stdout).with_context(|| format!("cannot parse the answer: {stdout}"))?;
        Ok((run, answer))
    };
    // Once to fill the cache, and to check that both find the same.
    let (_, text) = reference()?;
    let matches = ours()?.1.data.matches;
    let found = text.lines().filter(|line| is_match(line)).count();
    if !cut && found.min(MAX_RESULTS) as u64 != matches {
        bail!("`{pattern}`: rg found {found} matches, code_grep {matches}");
    }
    let (mut references, mut runs, mut inside) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        references.push(reference()?.0);
        let (run, answer) = ours()?;
        runs.push(run);
        inside.push(answer.elapsed_ms);
    }
    let wall = |runs: &[Run]| median(runs.iter().map(|run| run.wall));
    let cpu = |runs: &[Run]| median(runs.iter().map(|run| run.cpu));
    let inside = median(inside.into_iter());
    let whole_ratio = wall(&runs) / wall(&references);
    let ratio = if cut { inside / wall(&references) } else { whole_ratio };
    let peak_kb = runs.iter().map(|run| run.peak_kb).max().unwrap_or(0);
    Ok(CaseReport {
        what,
        pattern,
        matches,
        rg_ms: round(wall(&references)),
        marvin_ms: round(wall(&runs)),
        inside_ms: inside,
        ratio: round(ratio),
        whole_ratio: round(whole_ratio),
        rg_cpu_ms: round(cpu(&references)),
        marvin_cpu_ms: round(cpu(&runs)),
        marvin_peak_rss_mb: round(peak_kb as f64 / 1024.0),
    })
}

/// Whether a line of `rg` is a match (`path:12:text`), not context (`path-12-text`).
fn is_match(line: &str) -> bool {
    let mut parts = line.splitn(3, ':');
    parts.next();
    parts.next().is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn version(rg: &Path) -> anyhow::Result<String> {
    let stdout = tools::output(Command::new(rg).arg("--version"))?;
    Ok(String::from_utf8_lossy(&stdout).lines().next().unwrap_or("rg").to_string())
}
