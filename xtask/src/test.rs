//! `cargo xtask test`: installs what the tests need, runs all of them, prints the counts.

use crate::output::say;
use crate::{attack, browser, clients, licences, mcp, python, tools, workflows};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// The attacks that are part of the tests: one of twenty. `cargo xtask attack` runs all of them; a
/// sample of the cheats at verification is among the tests of the program.
const ATTACKS: &str = "--sample 20 gate_lines ordinary_shell sandbox authority person escapes clients steering servers \
                       secrets env_files";

pub(crate) fn run(filter: &[&str]) -> anyhow::Result<()> {
    for (program, package) in [
        ("git", "git"),
        ("bash", "bash"),
        ("make", "make"),
        ("python3", "python3"),
        ("npm", "npm"),
        ("ip", "iproute2"),
        ("unshare", "util-linux"),
        ("setpriv", "util-linux"),
        ("tmux", "tmux"),
    ] {
        tools::need(program, package)?;
    }
    let clients = clients::install()?;
    let python = python::install()?;
    let mcp = mcp::install()?;
    let browser = browser::install()?;
    let actionlint = workflows::install()?;
    licences::check()?;
    let skips = tools::target().join("skipped-tests.txt");
    std::fs::write(&skips, "").with_context(|| format!("cannot write {}", skips.display()))?;
    let mut child = tools::cargo()
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .args(filter)
        .env("MARVIN_TEST_CLIENTS", clients)
        .env("MARVIN_TEST_PYTHON", &python)
        .env("MARVIN_TEST_MCP", mcp)
        .env("MARVIN_TEST_BROWSER", browser)
        .env("MARVIN_TEST_ACTIONLINT", actionlint)
        .env("INSTA_UPDATE", "no")
        .env("MARVIN_TEST_SKIPS", &skips)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut counts = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            counts.add(&line);
            say(&line)?;
        }
    }
    let status = child.wait()?;
    counts.take_skips(&std::fs::read_to_string(&skips)?)?;
    say(format_args!("\n{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped))?;
    if !status.success() {
        bail!("the tests failed");
    }
    if !filter.is_empty() {
        return Ok(());
    }
    if counts.passed == 0 {
        bail!("no test ran");
    }
    attack::run(&ATTACKS.split(' ').collect::<Vec<_>>())
}

#[derive(Debug, Default)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    /// Shows the tests that ended early because something is missing here, and counts them as skipped, not as passed.
    fn take_skips(&mut self, lines: &str) -> anyhow::Result<()> {
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
