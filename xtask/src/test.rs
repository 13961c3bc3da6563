//! `cargo xtask test`: installs what the tests need, runs all of them, prints the counts.

use crate::output::say;
use crate::test_programs::{self, TestProgram};
use crate::{attack, browser, clients, licences, mcp, node, python, tools, workflows};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The attacks that are part of the tests: one of twenty. `cargo xtask attack` runs all of them; a
/// sample of the cheats at verification is among the tests of the program.
const ATTACKS: &str = "--sample 20 gate_lines ordinary_shell sandbox authority person escapes clients steering servers \
                       secrets env_files";

/// Programs that the tests start, and the packages of Debian that have them.
const PROGRAMS: [(&str, &str); 11] = [
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
];

pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (thorough, filter) = match words {
        ["--thorough", filter @ ..] => (true, filter),
        filter => (false, filter),
    };
    let mut parts = Parts::default();
    let result = run_parts(&mut parts, thorough, filter);
    if parts.sum().as_secs() > 0 {
        say(&parts)?;
    }
    result
}

fn run_parts(parts: &mut Parts, thorough: bool, filter: &[&str]) -> anyhow::Result<()> {
    parts.time("programs of the system", || tools::need(&PROGRAMS))?;
    let suites = Suites::install(parts)?;
    parts.time("licences", licences::check)?;
    let build = || {
        let mut cargo = tools::cargo();
        // `--tests` leaves out documentation, where no crate has any. The programs that measure have none at all.
        cargo.args([
            "test",
            "--workspace",
            "--exclude",
            "marvin-bench*",
            "--exclude",
            "marvin-fleet-sim",
            "--tests",
            "--locked",
            "--no-fail-fast",
        ]);
        test_programs::build(&mut cargo)
    };
    let programs = parts.time("build", build)?;
    let (counts, passed) = parts.time("tests", || run_tests(programs, &suites, thorough, filter))?;
    counts.print()?;
    if !passed {
        bail!("the tests failed");
    }
    if counts.passed == 0 && filter.is_empty() {
        bail!("no test ran");
    }
    if filter.is_empty() {
        // Cargo would build the program again, with the features of its package alone.
        let binary = tools::target().join("debug/marvin");
        let binary = binary.to_str().context("the path of the target directory is not UTF-8")?;
        let words: Vec<&str> = ["--binary", binary].into_iter().chain(ATTACKS.split(' ')).collect();
        parts.time("attacks", || attack::run(&words))?;
    }
    Ok(())
}

/// Runs the tests with the counts of those that were skipped; false if one failed.
fn run_tests(
    programs: Vec<TestProgram>,
    suites: &Suites,
    thorough: bool,
    filter: &[&str],
) -> anyhow::Result<(Counts, bool)> {
    let skips = tools::target().join("skipped-tests.txt");
    std::fs::write(&skips, "").with_context(|| format!("cannot write {}", skips.display()))?;
    let prepare = |program: &mut Command| {
        suites.set_variables(program);
        program.env("INSTA_UPDATE", "no").env("MARVIN_TEST_SKIPS", &skips);
        if thorough {
            program.env("MARVIN_TEST_THOROUGH", "1");
        }
        // Many tests wait for a process, a socket or a clock, and as many programs run beside this one as there are cores.
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            program.env("RUST_TEST_THREADS", (tools::cores() + 1).to_string());
        }
    };
    let (mut counts, mut passed) = (Counts::default(), true);
    test_programs::run(programs, filter, &prepare, &mut |output| {
        passed &= output.passed;
        for line in &output.lines {
            counts.add(line);
            say(line)?;
        }
        Ok(())
    })?;
    counts.take_skips(&std::fs::read_to_string(&skips)?)?;
    Ok((counts, passed))
}

/// Directories and programs that are installed for the tests, below the target directory.
struct Suites {
    clients: PathBuf,
    python: PathBuf,
    node: PathBuf,
    mcp: PathBuf,
    browser: PathBuf,
    actionlint: PathBuf,
}

impl Suites {
    fn install(parts: &mut Parts) -> anyhow::Result<Self> {
        Ok(Suites {
            clients: parts.time("Claude Code and Codex", clients::install)?,
            python: parts.time("Python packages", python::install)?,
            node: parts.time("Node.js", node::install)?,
            mcp: parts.time("MCP programs", mcp::install)?,
            browser: parts.time("browser", browser::install)?,
            actionlint: parts.time("actionlint", workflows::install)?,
        })
    }

    fn set_variables(&self, tests: &mut Command) {
        tests
            .env("MARVIN_TEST_CLIENTS", &self.clients)
            .env("MARVIN_TEST_PYTHON", &self.python)
            .env("MARVIN_TEST_NODE", &self.node)
            .env("MARVIN_TEST_MCP", &self.mcp)
            .env("MARVIN_TEST_BROWSER", &self.browser)
            .env("MARVIN_TEST_ACTIONLINT", &self.actionlint);
    }
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

    fn sum(&self) -> Duration {
        self.0.iter().map(|(_, taken)| *taken).sum()
    }
}

impl Display for Parts {
    /// The parts of a second and more, and their sum.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        for (name, taken) in self.0.iter().filter(|(_, taken)| taken.as_secs() > 0) {
            writeln!(formatter, "{:>5} s  {name}", taken.as_secs())?;
        }
        write!(formatter, "{:>5} s  together", self.sum().as_secs())
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
    fn parts_of_a_second_and_more_are_listed_with_their_sum() {
        let parts = [("browser", 400), ("build", 61_000), ("tests", 300_700)];
        let parts = Parts(parts.map(|(name, millis)| (name, Duration::from_millis(millis))).to_vec());
        assert_eq!(parts.to_string(), "   61 s  build\n  300 s  tests\n  362 s  together");
    }

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
