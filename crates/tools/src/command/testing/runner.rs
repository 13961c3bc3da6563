//! Test runners: everything that differs between them.
//!
//! A new runner is a variant here, a parser of its report in a module of its own, rows in `proof/steering.toml` for the
//! files that steer it, and its language in `proof/source.rs`.

use super::counts::Counts;
use super::{gotest, junit, node};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Runner {
    /// Detected from the project's files.
    #[default]
    Auto,
    Pytest,
    Cargo,
    Go,
    Node,
    /// A shell line.
    Command,
}

/// The names of the runners that the project's files can show, as a literal for texts.
macro_rules! names {
    () => {
        "pytest, cargo, go, node"
    };
}
pub(super) use names;

/// The family of test runners that a file which steers tests belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Ecosystem {
    Python,
    Rust,
    Node,
    Go,
    Make,
    Other,
}

impl Runner {
    /// The names of the runners that the project's files can show.
    pub const NAMES: &str = names!();

    /// The same runners, the most likely first.
    pub(super) const DETECTED: [Runner; 4] = [Runner::Cargo, Runner::Go, Runner::Pytest, Runner::Node];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Runner::Auto => "auto",
            Runner::Pytest => "pytest",
            Runner::Cargo => "cargo",
            Runner::Go => "go",
            Runner::Node => "node",
            Runner::Command => "command",
        }
    }

    #[must_use]
    pub fn find(name: &str) -> Option<Runner> {
        let others = [Runner::Auto, Runner::Command];
        Runner::DETECTED.into_iter().chain(others).find(|runner| runner.name() == name)
    }

    /// The runner that a command line starts, and the number of words that start it.
    #[must_use]
    pub fn from_words(words: &[&str]) -> Option<(Runner, usize)> {
        match words {
            ["pytest" | "py.test", ..] => Some((Runner::Pytest, 1)),
            ["python" | "python3", "-m", "pytest", ..] => Some((Runner::Pytest, 3)),
            ["cargo", "test", ..] => Some((Runner::Cargo, 2)),
            ["node", "--test", ..] => Some((Runner::Node, 2)),
            _ => None,
        }
    }

    /// Whether the output of a run without tests says that the runner is not installed.
    #[must_use]
    pub fn is_missing(self, output: &str) -> bool {
        match self {
            Runner::Pytest => output.contains("No module named 'pytest'"),
            Runner::Cargo => output.contains("no such command"),
            Runner::Auto | Runner::Go | Runner::Node | Runner::Command => false,
        }
    }

    /// Whether it reads files of an ecosystem. A shell line may start any runner.
    pub(super) fn reads(self, ecosystem: Ecosystem) -> bool {
        match self {
            Runner::Pytest => ecosystem == Ecosystem::Python,
            Runner::Cargo => ecosystem == Ecosystem::Rust,
            Runner::Go => ecosystem == Ecosystem::Go,
            Runner::Node => ecosystem == Ecosystem::Node,
            Runner::Auto | Runner::Command => true,
        }
    }

    /// Whether the project has files of it.
    pub(super) fn is_used(self, root: &Path) -> bool {
        let has = |name: &str| root.join(name).is_file();
        match self {
            Runner::Cargo => has("Cargo.toml"),
            Runner::Go => has("go.mod"),
            Runner::Node => has("package.json"),
            Runner::Pytest => {
                let names = [
                    "pytest.ini",
                    "conftest.py",
                    "tests/conftest.py",
                    "pyproject.toml",
                    "setup.cfg",
                    "setup.py",
                    "tox.ini",
                ];
                names.iter().any(|name| has(name))
                    || [".", "tests", "test"].iter().any(|directory| has_python_tests(&root.join(directory)))
            }
            Runner::Auto | Runner::Command => false,
        }
    }

    /// The command with these arguments; none where the runner has no command of its own.
    pub(super) fn words(self, args: &[String], root: &Path) -> Option<Vec<String>> {
        let (start, end): (&[&str], &[&str]) = match self {
            Runner::Pytest => (&["python3", "-m", "pytest"], &[]),
            Runner::Cargo
                if root.join(".config/nextest.toml").exists() && !args.iter().any(|word| word == "--doc") =>
            {
                (&["cargo", "nextest", "run", "--no-fail-fast"], &[])
            }
            Runner::Cargo => (&["cargo", "test", "--no-fail-fast"], &[]),
            // Flags come before the packages.
            Runner::Go if args.iter().all(|word| word.starts_with('-')) => {
                (&["go", "test", "-json"], &["./..."])
            }
            Runner::Go => (&["go", "test", "-json"], &[]),
            Runner::Node => (&["node", "--test"], &[]),
            Runner::Auto | Runner::Command => return None,
        };
        let args = args.iter().map(String::as_str);
        Some(start.iter().copied().chain(args).chain(end.iter().copied()).map(str::to_string).collect())
    }

    /// The command that only builds what the words run; none where running is one step with building.
    pub(super) fn build_words(self, words: &[String]) -> Option<Vec<String>> {
        let at = words.iter().position(|word| word == "test" || word == "run")? + 1;
        // Cargo does not build documentation tests beforehand.
        if self != Runner::Cargo || words.iter().any(|word| word == "--doc" || word == "--no-run") {
            return None;
        }
        let mut build = words.to_vec();
        build.insert(at, "--no-run".to_string());
        Some(build)
    }

    /// Adds the flags that make it write a report to this path.
    pub(super) fn add_report_flags(self, words: &mut Vec<String>, report: &Path) {
        let report = report.display();
        match self {
            Runner::Pytest => words.push(format!("--junitxml={report}")),
            Runner::Node => {
                // After `node --test`.
                let flags = [
                    "--test-reporter=tap".to_string(),
                    format!("--test-reporter-destination={report}"),
                    "--test-reporter=spec".to_string(),
                    "--test-reporter-destination=stdout".to_string(),
                ];
                words.splice(2..2, flags);
            }
            Runner::Auto | Runner::Cargo | Runner::Go | Runner::Command => {}
        }
    }

    /// A variable that it needs in the sandbox.
    pub(super) fn variable(self, private: &Path) -> Option<(String, String)> {
        // The usual cache of go lies outside the workspace, where nothing can be written.
        let cache = || ("GOCACHE".to_string(), private.join("go-build").display().to_string());
        (self == Runner::Go).then(cache)
    }

    /// Whether it reports at its end. Without the report, the output proves nothing: a test that ends the whole process
    /// can print anything before.
    pub(super) fn has_report(self) -> bool {
        matches!(self, Runner::Pytest | Runner::Node | Runner::Go)
    }

    /// The counts of its own report, and the kind of the report. `file` reads the report at the path of
    /// [`Runner::add_report_flags`].
    pub(super) fn read_report(
        self,
        file: impl FnOnce() -> Option<String>,
        stdout: &str,
        words: &[String],
        root: &Path,
    ) -> Option<(Counts, &'static str)> {
        match self {
            Runner::Pytest => Some((junit::read(&file()?, root)?, "junit")),
            Runner::Node => Some((node::read_report(&file()?, words, root)?, "tap")),
            Runner::Go => Some((gotest::read(stdout)?, "json")),
            Runner::Auto | Runner::Cargo | Runner::Command => None,
        }
    }

    /// Its standard output for people, where that is not what it printed.
    pub(super) fn output(self, stdout: &str) -> Option<String> {
        (self == Runner::Go).then(|| gotest::text(stdout))
    }
}

fn has_python_tests(directory: &Path) -> bool {
    let mut names = std::fs::read_dir(directory).into_iter().flatten().flatten().take(1000);
    names.any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_detected_runner_is_named() {
        let mut named: Vec<&str> = Runner::NAMES.split(", ").collect();
        let mut detected: Vec<&str> = Runner::DETECTED.iter().map(|runner| runner.name()).collect();
        named.sort_unstable();
        detected.sort_unstable();
        assert_eq!(named, detected);
        assert!(named.iter().all(|name| Runner::find(name).is_some_and(|runner| runner.name() == *name)));
        assert_eq!(Runner::find("command"), Some(Runner::Command));
        assert_eq!(Runner::find("make"), None);
    }

    #[test]
    fn flags_of_go_come_before_the_packages() {
        let words = |runner: Runner, args: &[&str]| {
            let args: Vec<String> = args.iter().map(|word| (*word).to_string()).collect();
            runner.words(&args, Path::new("/nonexistent")).map(|words| words.join(" "))
        };
        assert_eq!(words(Runner::Go, &["-run", "-v"]).unwrap(), "go test -json -run -v ./...");
        assert_eq!(words(Runner::Go, &["./a", "-v"]).unwrap(), "go test -json ./a -v");
        assert_eq!(words(Runner::Cargo, &["--doc"]).unwrap(), "cargo test --no-fail-fast --doc");
        assert_eq!(words(Runner::Auto, &[]), None);
    }

    #[test]
    fn cargo_builds_before_it_runs() {
        let build = |runner: Runner, words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_string).collect();
            runner.build_words(&words).map(|words| words.join(" "))
        };
        let built = build(Runner::Cargo, "cargo test --no-fail-fast -p a -- test").unwrap();
        assert_eq!(built, "cargo test --no-run --no-fail-fast -p a -- test");
        assert_eq!(build(Runner::Cargo, "cargo nextest run a").unwrap(), "cargo nextest run --no-run a");
        assert_eq!(build(Runner::Cargo, "cargo test --no-fail-fast --doc"), None);
        assert_eq!(build(Runner::Pytest, "python3 -m pytest test"), None);
    }
}
