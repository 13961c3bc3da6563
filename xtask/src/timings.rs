//! `timings`: what a build from nothing costs, by crate.
//!
//! Cargo's own report is a page for a browser; its data is read from there, because stable cargo prints it nowhere else.

use crate::output::say;
use crate::tools;
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Crates that are printed.
const ROWS: usize = 30;

/// One unit of work of cargo: a crate, or its build script.
#[derive(Deserialize)]
struct Unit {
    name: String,
    target: String,
    /// Seconds.
    duration: f64,
}

pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let profile = match words {
        [] => "release",
        ["--profile", profile] => profile,
        _ => bail!("unknown words: {}\n  hint: cargo xtask timings [--profile NAME]", words.join(" ")),
    };
    let target = tools::target().join("timings");
    if target.exists() {
        std::fs::remove_dir_all(&target).with_context(|| format!("cannot empty {}", target.display()))?;
    }
    say(format_args!("building marvin from nothing, profile {profile} …"))?;
    let started = Instant::now();
    let words = ["build", "--locked", "--timings", "--package", "marvin", "--profile", profile];
    tools::run(tools::cargo().args(words).env("CARGO_TARGET_DIR", &target))?;
    let seconds = started.elapsed().as_secs_f64();
    let units = read(&target.join("cargo-timings/cargo-timing.html"))?;
    let total: f64 = units.iter().map(|unit| unit.duration).sum();
    say(format_args!("{seconds:.0} s, {} units with {total:.0} s of work", units.len()))?;
    let mut by_crate: BTreeMap<String, f64> = BTreeMap::new();
    for unit in units {
        *by_crate.entry([unit.name, unit.target].concat()).or_default() += unit.duration;
    }
    let mut rows: Vec<(String, f64)> = by_crate.into_iter().collect();
    rows.sort_by(|one, other| other.1.total_cmp(&one.1));
    for (name, seconds) in rows.iter().take(ROWS) {
        say(format_args!("{seconds:>7.1} s  {name}"))?;
    }
    say("packages in more than one version:")?;
    let words =
        ["tree", "--locked", "--package", "marvin", "--edges", "normal", "--duplicates", "--depth", "0"];
    let duplicates = String::from_utf8(tools::output(tools::cargo().args(words))?)?;
    let mut names: Vec<&str> = duplicates.lines().filter(|line| !line.trim().is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names.iter().try_for_each(|name| say(format_args!("  {name}")))
}

fn read(report: &Path) -> anyhow::Result<Vec<Unit>> {
    let text =
        std::fs::read_to_string(report).with_context(|| format!("cannot read {}", report.display()))?;
    let data = text
        .split_once("const UNIT_DATA = ")
        .and_then(|(_, rest)| rest.split_once("];\n"))
        .context("cargo's report has another form than expected")?;
    serde_json::from_str(&[data.0, "]"].concat()).context("cargo's report has another form than expected")
}
