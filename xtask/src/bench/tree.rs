//! `tree`: the tool `tree` on a tree of 100,000 files against `git ls-files` on the same one.
//!
//! The same work is `git ls-files --cached --others --exclude-standard`: what is there and not
//! ignored, as it is on the disk now. Plain `git ls-files` only reads git's index; it is reported
//! as well.

use super::file_tree;
use super::timing::{Run, median, round, timed};
use crate::tools;
use serde_json::{Value, json};
use std::process::Command;

const ROUNDS: usize = 15;
const TARGET_RATIO: f64 = 1.5;
/// Length up to which an answer counts as bounded.
const MAX_ANSWER_BYTES: usize = 60_000;

pub(super) fn run() -> anyhow::Result<Value> {
    let root = file_tree::create()?;
    let marvin = tools::release()?;
    let home = tempfile::tempdir()?;
    let git = |arguments: &str| {
        let mut command = Command::new("git");
        command.arg("ls-files").args(arguments.split_whitespace()).current_dir(&root);
        command
    };
    let ours = |arguments: &str| {
        let mut command = Command::new(&marvin);
        command
            .args(["tools", "call", "tree", "--args", arguments, "--working-dir"])
            .arg(&root)
            .current_dir(home.path())
            .env("HOME", home.path());
        command
    };
    let (mut work, mut index, mut plain, mut deep) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut longest = 0;
    for round in 0..=ROUNDS {
        let runs = [
            timed(&mut git("--cached --others --exclude-standard"), &[0])?,
            timed(&mut git(""), &[0])?,
            timed(&mut ours("{}"), &[0])?,
            timed(&mut ours(r#"{"max_depth": 20}"#), &[0])?,
        ];
        // The first round only warms the cache.
        if round > 0 {
            longest = runs.iter().skip(2).map(|(_, text)| text.len()).max().unwrap_or(0).max(longest);
            for (list, (run, _)) in [&mut work, &mut index, &mut plain, &mut deep].into_iter().zip(runs) {
                list.push(run);
            }
        }
    }
    let wall = |runs: &[Run]| median(runs.iter().map(|run| run.wall));
    let slower = wall(&deep).max(wall(&plain));
    let ratio = slower / wall(&work);
    let reference = "git ls-files --cached --others --exclude-standard";
    Ok(json!({
        "bench": "tree",
        "what": format!("{} files, {ROUNDS} runs each, taking turns, medians", file_tree::FILES),
        "reference": {"what": reference, "median_ms": round(wall(&work))},
        "index_only": {
            "what": "git ls-files", "median_ms": round(wall(&index)), "ratio": round(slower / wall(&index)),
        },
        "tree": {"median_ms": round(wall(&plain))},
        "tree_depth_20": {"median_ms": round(wall(&deep))},
        "ratio": round(ratio), "target_ratio": TARGET_RATIO, "longest_answer_bytes": longest,
        "ok": ratio <= TARGET_RATIO && longest <= MAX_ANSWER_BYTES,
    }))
}
