//! `cargo xtask fuzz [TARGET] [--minutes N]`: long searches for inputs that break something. Not
//! part of the tests, which run every target for a moment only.
//!
//! Where a nightly toolchain is installed the engine is libFuzzer by cargo-fuzz, which sees the
//! code that an input reaches; otherwise it is the small mutator of `fuzz/`. Findings and corpus
//! stay below the target directory.

use crate::output::say;
use crate::tools;
use anyhow::{Context, anyhow, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const TARGETS: [&str; 5] = ["patch", "arguments", "path", "ticket", "command"];
const DEFAULT_MINUTES: u64 = 10;

/// Fuzzes the named targets, or all, each for so many minutes.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (mut targets, mut minutes) = (Vec::new(), DEFAULT_MINUTES);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--minutes" => {
                let number = rest.next().and_then(|number| number.parse().ok());
                minutes = number.context("--minutes takes a number of minutes")?;
            }
            target if TARGETS.contains(&target) => targets.push(target),
            other => bail!("unknown target `{other}`; the targets are: {}", TARGETS.join(", ")),
        }
    }
    if targets.is_empty() {
        targets.extend(TARGETS);
    }
    let nightly = has_nightly();
    for target in targets {
        let engine = if nightly { "libFuzzer (nightly)" } else { "the small mutator (no nightly toolchain)" };
        say(format_args!("{target}: {minutes} minutes with {engine}"))?;
        if nightly { libfuzzer(target, minutes)? } else { mutator(target, minutes)? }
    }
    Ok(())
}

fn directory() -> PathBuf {
    tools::target().join("fuzz")
}

fn has_nightly() -> bool {
    Command::new("cargo")
        .args(["+nightly", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn libfuzzer(target: &str, minutes: u64) -> anyhow::Result<()> {
    let program = tools::cargo_install("cargo-fuzz", "cargo-fuzz", &[])?;
    let corpus = directory().join("corpus").join(target);
    let findings = directory().join("findings").join(target);
    for place in [&corpus, &findings] {
        std::fs::create_dir_all(place).with_context(|| format!("cannot create {}", place.display()))?;
    }
    // The crate with the targets writes their seeds.
    let mut seeds = tools::cargo();
    seeds.args(["run", "--locked", "--package", "marvin-fuzz", "--", "--seeds", target]).arg(&corpus);
    tools::run(&mut seeds)?;
    let mut fuzz = Command::new(program);
    fuzz.args(["run", "--fuzz-dir"])
        .arg(tools::root().join("fuzz/libfuzzer"))
        .args(["--target-dir"])
        .arg(directory().join("build"))
        .arg(target)
        .arg(&corpus)
        .arg("--")
        .arg(format!("-max_total_time={}", minutes * 60))
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .args(["-timeout=30", "-rss_limit_mb=4096", "-max_len=20000", "-print_final_stats=1"])
        .current_dir(tools::root())
        // The named toolchain must win over the one that runs this chore.
        .env("RUSTUP_TOOLCHAIN", "nightly")
        .env_remove("CARGO")
        .env_remove("RUSTC");
    tools::run(&mut fuzz)
        .map_err(|error| anyhow!("{error:#}\n  hint: read the findings in {}", findings.display()))
}

fn mutator(target: &str, minutes: u64) -> anyhow::Result<()> {
    let mut fuzz = tools::cargo();
    fuzz.args(["run", "--locked", "--release", "--package", "marvin-fuzz", "--", target])
        .arg((minutes * 60).to_string())
        .arg("1")
        .arg(directory().join("findings").join(target));
    tools::run(&mut fuzz)
}
