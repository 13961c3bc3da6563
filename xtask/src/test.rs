//! `cargo xtask test`: everything that the tests need, then all of them, then the counts.

use crate::{attack, browser, clients, licences, mcp, python, tools};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// The attacks that are part of the tests: one of twenty. `cargo xtask attack` makes all of them; cheats at verification have their
/// sample among the tests of the program.
const ATTACKS: [&str; 13] = [
    "--sample",
    "20",
    "gate_lines",
    "ordinary_shell",
    "sandbox",
    "authority",
    "person",
    "escapes",
    "clients",
    "steering",
    "servers",
    "secrets",
    "env_files",
];

/// Installs, checks, runs, counts.
pub(crate) fn run(filter: &[&str]) -> Result<(), String> {
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
    let clients = clients::install(&tools::directory())?;
    let python = python::install(&tools::directory())?;
    let mcp = mcp::install(&tools::directory())?;
    let browser = browser::install(&tools::directory())?;
    licences::check()?;
    let mut child = tools::cargo()
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .args(filter)
        .env("MARVIN_TEST_CLIENTS", clients)
        .env("MARVIN_TEST_PYTHON", &python)
        .env("MARVIN_TEST_MCP", mcp)
        .env("MARVIN_TEST_BROWSER", browser)
        .env("INSTA_UPDATE", "no")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    let mut counts = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            counts.read(&line);
            crate::say(&line);
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    crate::say(&format!("\n{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped));
    match (status.success(), counts.passed) {
        (true, 0) if filter.is_empty() => Err("no test ran".to_string()),
        (true, _) if filter.is_empty() => attack::run(&ATTACKS),
        (true, _) => Ok(()),
        (false, _) => Err("the tests failed".to_string()),
    }
}

#[derive(Debug, Default)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    /// Reads a closing line: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn read(&mut self, line: &str) {
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
    fn closing_lines_are_counted() {
        let mut counts = Counts::default();
        counts.read(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s",
        );
        counts.read("test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured");
        counts.read("test tests::closing_lines ... ok");
        assert_eq!((counts.passed, counts.failed, counts.skipped), (5, 4, 1));
    }
}
