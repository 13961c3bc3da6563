//! `cargo xtask test`: installs what the tests need, runs all of them, prints the counts.

use crate::output::say;
use crate::{attack, browser, clients, licences, mcp, python, tools, workflows};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The attacks that are part of the tests: one of twenty. `cargo xtask attack` runs all of them; a
/// sample of the cheats at verification is among the tests of the program.
const ATTACKS: &str = "--sample 20 gate_lines ordinary_shell sandbox authority person escapes clients steering servers \
                       secrets env_files";

pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (thorough, filter) = match words {
        ["--thorough", filter @ ..] => (true, filter),
        filter => (false, filter),
    };
    tools::need(&[
        ("git", "git"),
        ("bash", "bash"),
        ("make", "make"),
        ("python3", "python3-venv"),
        ("npm", "npm"),
        ("ip", "iproute2"),
        ("unshare", "util-linux"),
        ("setpriv", "util-linux"),
        ("tmux", "tmux"),
        ("node", "nodejs"),
        ("chromium", "chromium fonts-dejavu"),
    ])?;
    let mut parts = Parts::default();
    let clients = parts.time("Claude Code and Codex", clients::install)?;
    let python = parts.time("Python packages", python::install)?;
    let mcp = parts.time("MCP programs", mcp::install)?;
    let browser = parts.time("browser", browser::install)?;
    let actionlint = parts.time("actionlint", workflows::install)?;
    parts.time("licences", licences::check)?;
    let skips = tools::target().join("skipped-tests.txt");
    std::fs::write(&skips, "").with_context(|| format!("cannot write {}", skips.display()))?;
    let test = || {
        let mut cargo = tools::cargo();
        // No crate has tests in its documentation.
        cargo.args(["test", "--workspace", "--locked", "--no-fail-fast", "--lib", "--bins", "--tests"]);
        cargo
    };
    parts.time("build", || tools::run(test().arg("--no-run")))?;
    let (counts, passed) = parts.time("tests", || {
        let mut tests = test();
        if thorough {
            tests.env("MARVIN_TEST_THOROUGH", "1");
        }
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            // Many tests wait for a process, a socket or a clock.
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            tests.env("RUST_TEST_THREADS", (cores * 2).to_string());
        }
        tests
            .args(filter)
            .env("MARVIN_TEST_CLIENTS", clients)
            .env("MARVIN_TEST_PYTHON", &python)
            .env("MARVIN_TEST_MCP", mcp)
            .env("MARVIN_TEST_BROWSER", browser)
            .env("MARVIN_TEST_ACTIONLINT", actionlint)
            .env("INSTA_UPDATE", "no")
            .env("MARVIN_TEST_SKIPS", &skips);
        let mut counts = Counts::default();
        let passed = counts.run(&mut tests)?;
        counts.take_skips(&std::fs::read_to_string(&skips)?)?;
        Ok((counts, passed))
    })?;
    counts.print()?;
    if !passed {
        bail!("the tests failed");
    }
    if counts.passed == 0 && filter.is_empty() {
        bail!("no test ran");
    }
    if filter.is_empty() {
        parts.time("attacks", || attack::run(&ATTACKS.split(' ').collect::<Vec<_>>()))?;
    }
    parts.print()
}

/// How long each part took.
#[derive(Default)]
struct Parts(Vec<(&'static str, Duration)>);

impl Parts {
    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        let started = Instant::now();
        let result = work();
        self.0.push((name, started.elapsed()));
        result
    }

    /// Prints the parts of a second and more.
    fn print(&self) -> anyhow::Result<()> {
        for (name, taken) in self.0.iter().filter(|(_, taken)| taken.as_secs() > 0) {
            say(format_args!("{:>4} s  {name}", taken.as_secs()))?;
        }
        Ok(())
    }
}

/// The number of tests by their result.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    /// Runs tests, shows what they print, and adds their counts; false if one failed.
    pub(crate) fn run(&mut self, tests: &mut Command) -> anyhow::Result<bool> {
        let mut child =
            tests.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                self.add(&line);
                say(&line)?;
            }
        }
        Ok(child.wait()?.success())
    }

    pub(crate) fn print(&self) -> anyhow::Result<()> {
        say(format_args!("\n{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped))
    }

    /// Shows the tests that ended early because something is missing here, and counts them as skipped, not as passed.
    pub(crate) fn take_skips(&mut self, lines: &str) -> anyhow::Result<()> {
        let mut tests = BTreeMap::new();
        for (test, reason) in lines.lines().filter_map(|line| line.split_once(": ")) {
            tests.entry(test).or_insert(reason);
        }
        for (test, reason) in &tests {
            say(format_args!("skipped {test}: {reason}"))?;
        }
        let skipped = tests.len() as u64;
        self.passed = self.passed.saturating_sub(skipped);
        self.skipped += skipped;
        Ok(())
    }

    /// Adds the counts of a closing line: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some((_, figures)) = line.strip_prefix("test result:").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for figure in figures.split(';') {
            let mut words = figure.split_whitespace();
            let (Some(number), Some(word)) = (words.next().and_then(|n| n.parse::<u64>().ok()), words.next())
            else {
                continue;
            };
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f5_closing_lines_and_skips_are_counted() {
        let mut counts = Counts::default();
        counts.add(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        );
        counts.add("test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured");
        counts.add("test tests::closing_lines ... ok");
        assert_eq!((counts.passed, counts.failed, counts.skipped), (5, 4, 1));
        // F5: a test that has nothing to run is not a passed one.
        counts.take_skips("a::b: tmux is not installed\na::b: again\nc: no node\n").unwrap();
        assert_eq!((counts.passed, counts.failed, counts.skipped), (3, 4, 3));
    }
}
