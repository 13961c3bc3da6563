//! `cargo xtask fuzz [TARGET] [--minutes N]`: long looks for inputs that break something. Not part of the tests, which try
//! every target for a moment only.
//!
//! Where a nightly toolchain is installed the engine is libFuzzer by cargo-fuzz, which sees what code an input reaches; else
//! it is the small mutator of `fuzz/`. Findings and what was learnt stay below the target directory.

use crate::tools;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const TARGETS: [&str; 5] = ["patch", "arguments", "path", "ticket", "command"];
const MINUTES: u64 = 10;

/// Fuzzes one target, or each for its time.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let (mut targets, mut minutes) = (Vec::new(), MINUTES);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--minutes" => {
                let number = rest.next().and_then(|number| number.parse().ok());
                minutes = number.ok_or("--minutes takes a number of minutes")?;
            }
            target if TARGETS.contains(&target) => targets.push(target),
            other => return Err(format!("there is no target `{other}` (there are: {})", TARGETS.join(", "))),
        }
    }
    if targets.is_empty() {
        targets.extend(TARGETS);
    }
    let nightly = has_nightly();
    for target in targets {
        let engine = if nightly { "libFuzzer (nightly)" } else { "the small mutator (no nightly toolchain)" };
        crate::say(&format!("{target}: {minutes} minutes with {engine}"));
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

fn libfuzzer(target: &str, minutes: u64) -> Result<(), String> {
    let program = tools::directory().join("bin/cargo-fuzz");
    if !program.exists() {
        crate::say("installing cargo-fuzz …");
        let mut cargo = tools::cargo();
        cargo.args(["install", "--quiet", "--locked", "cargo-fuzz", "--root"]).arg(tools::directory());
        tools::run(&mut cargo)?;
    }
    let corpus = directory().join("corpus").join(target);
    let findings = directory().join("findings").join(target);
    for place in [&corpus, &findings] {
        std::fs::create_dir_all(place)
            .map_err(|error| format!("cannot make {}: {error}", place.display()))?;
    }
    // The seeds are written by the crate that the targets stand in.
    let mut seeds = tools::cargo();
    seeds
        .args(["run", "--quiet", "--locked", "--package", "marvin-fuzz", "--", "--seeds", target])
        .arg(&corpus);
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
        // The rustup toolchain that is named wins over the one that runs this chore.
        .env("RUSTUP_TOOLCHAIN", "nightly")
        .env_remove("CARGO")
        .env_remove("RUSTC");
    tools::run(&mut fuzz).map_err(|error| format!("{error}\n  hint: findings are in {}", findings.display()))
}

fn mutator(target: &str, minutes: u64) -> Result<(), String> {
    let mut fuzz = tools::cargo();
    fuzz.args(["run", "--quiet", "--locked", "--release", "--package", "marvin-fuzz", "--", target])
        .arg((minutes * 60).to_string())
        .arg("1")
        .arg(directory().join("findings").join(target));
    tools::run(&mut fuzz)
}
