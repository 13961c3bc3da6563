//! `grep`: `code_grep` over a tree of 100,000 files against the program `rg` (the newest, installed by cargo) on the same
//! work: the same pattern, case-insensitive, the same ignore rules, the same lines around matches, the same matches.
//!
//! Both are whole processes with a warm cache, taking turns. For the first matches of a common word `rg` sorts by path and
//! is cut off by `head`, which is what the tool promises: the first ones in the order of paths. That takes less time than
//! the start of Marvin and its record (`bench start` measures those), so there the time inside the process counts.

use super::forest;
use super::timing::{median, round, timed};
use crate::tools;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const ROUNDS: usize = 9;
const TARGET: f64 = 1.3;
/// How `rg` does what `code_grep` does: numbered lines, two around each match, no colours, hidden files, only the ignore
/// files of the tree.
const RG: &str = "--no-config -i -n -C2 --no-heading --color=never --hidden -g !.git --no-ignore-global --no-ignore-parent \
                  --no-ignore-dot --no-require-git";

/// Measures.
pub(crate) fn run() -> Result<Value, String> {
    let root = forest::grow()?;
    let marvin = tools::release()?;
    let rg = ripgrep()?;
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let cases = [
        ("rare: 10 matches in 10 of 100,000 files", forest::RARE, 20, false),
        ("none: no match", "wombat_nowhere", 20, false),
        ("expression: no literal to look for", r"[a-z]+_\d{4}", 20, false),
        ("common: the first 20 of very many", "return", 20, true),
    ];
    let mut shown = Vec::new();
    let mut ok = true;
    for (what, pattern, most, cut) in cases {
        let case = measure(&marvin, &rg, &root, home.path(), pattern, most, cut)?;
        let counted = if cut { case.inside / case.rg } else { case.ratio };
        ok = ok && counted <= TARGET;
        shown.push(json!({
            "what": what, "pattern": pattern, "matches": case.matches,
            "rg_ms": round(case.rg), "marvin_ms": round(case.marvin), "inside_ms": case.inside,
            "ratio": round(counted), "whole_ratio": round(case.ratio), "rg_cpu_ms": round(case.rg_cpu), "marvin_cpu_ms": round(case.marvin_cpu),
            "marvin_peak_rss_mb": round(case.peak),
        }));
    }
    Ok(json!({
        "bench": "grep",
        "what": format!("{} files, {ROUNDS} runs each, taking turns, medians", forest::FILES),
        "reference": version(&rg), "cases": shown, "target_ratio": TARGET, "ok": ok,
    }))
}

struct Case {
    rg: f64,
    rg_cpu: f64,
    marvin: f64,
    marvin_cpu: f64,
    inside: f64,
    peak: f64,
    ratio: f64,
    matches: u64,
}

fn measure(
    marvin: &Path,
    rg: &Path,
    root: &Path,
    home: &Path,
    pattern: &str,
    most: usize,
    cut: bool,
) -> Result<Case, String> {
    let reference = || {
        let line = format!("exec \"$0\" {RG} \"$1\" .");
        // The lines around 20 matches are at most 100.
        let line =
            if cut { format!("\"$0\" {RG} --sort path \"$1\" . | head -n {}", most * 5) } else { line };
        let mut command = Command::new("sh");
        command.args(["-c", &line]).arg(rg).arg(pattern).current_dir(root);
        command
    };
    let arguments = json!({"pattern": pattern, "max_results": most}).to_string();
    let ours = || {
        let mut command = Command::new(marvin);
        command
            .args(["tools", "call", "code_grep", "--json", "--args", &arguments, "--working-dir"])
            .arg(root)
            .current_dir(home)
            .env("HOME", home);
        command
    };
    // Once for the cache, and to see that both find the same.
    let (_, text) = timed(&mut reference(), &[0, 1, 141])?;
    let (_, said) = timed(&mut ours(), &[0])?;
    let said: Value = serde_json::from_str(&said).map_err(|error| format!("{error}: {said}"))?;
    let data = said.get("data").cloned().unwrap_or_default();
    let matches = data.get("matches").and_then(Value::as_u64).unwrap_or(0);
    let found = text.lines().filter(|line| is_match(line)).count() as u64;
    if !cut && found.min(most as u64) != matches {
        return Err(format!("`{pattern}`: rg found {found} matches, code_grep {matches}"));
    }
    let (mut references, mut runs, mut inside) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        references.push(timed(&mut reference(), &[0, 1, 141])?.0);
        let (run, said) = timed(&mut ours(), &[0])?;
        runs.push(run);
        let said: Value = serde_json::from_str(&said).map_err(|error| error.to_string())?;
        inside.push(said.get("elapsed_ms").and_then(Value::as_f64).unwrap_or(f64::NAN));
    }
    let (rg, marvin) =
        (median(references.iter().map(|run| run.wall)), median(runs.iter().map(|run| run.wall)));
    Ok(Case {
        rg,
        marvin,
        rg_cpu: median(references.iter().map(|run| run.cpu)),
        marvin_cpu: median(runs.iter().map(|run| run.cpu)),
        inside: median(inside.into_iter()),
        peak: runs.iter().map(|run| run.peak).max().unwrap_or(0) as f64 / 1024.0,
        ratio: marvin / rg,
        matches,
    })
}

/// `path:12:text`, not `path-12-text`.
fn is_match(line: &str) -> bool {
    let mut parts = line.splitn(3, ':');
    parts.next();
    parts.next().is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The newest `rg` that cargo gives, beside the other tools.
fn ripgrep() -> Result<PathBuf, String> {
    let program = tools::directory().join("bin/rg");
    if !program.exists() {
        crate::say("installing ripgrep …");
        let mut cargo = tools::cargo();
        cargo.args(["install", "--quiet", "--locked", "ripgrep", "--root"]).arg(tools::directory());
        tools::run(&mut cargo)?;
    }
    Ok(program)
}

fn version(rg: &Path) -> String {
    let output = Command::new(rg).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("rg").to_string()
}
