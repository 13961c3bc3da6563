//! The programs that cargo builds of tests, run side by side.
//!
//! Cargo runs one after the other, and many of them wait: for a browser, a client, a clock. Here as many run at once as there
//! are cores, the longest first.

use crate::output::say;
use crate::tools;
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// A program of tests.
#[derive(Debug)]
pub(crate) struct TestProgram {
    path: PathBuf,
    /// The directory of its package.
    directory: PathBuf,
    name: String,
}

/// What a program printed, and whether all its tests passed.
pub(crate) struct TestOutput {
    pub(crate) lines: Vec<String>,
    pub(crate) passed: bool,
}

/// A line of cargo's `--message-format=json`; fields that are not needed are left out.
#[derive(Deserialize)]
struct CargoMessage {
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    target: Option<CargoTarget>,
    profile: Option<CargoProfile>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
}

#[derive(Deserialize)]
struct CargoProfile {
    test: bool,
}

impl TestProgram {
    fn from_message(line: &str) -> Option<TestProgram> {
        let message: CargoMessage = serde_json::from_str(line).ok()?;
        if !message.profile?.test {
            return None;
        }
        let directory = message.manifest_path?.parent()?.to_path_buf();
        let package = directory.file_name()?.to_string_lossy().into_owned();
        let name = format!("{package}: {}", message.target?.name);
        Some(TestProgram { path: message.executable?, directory, name })
    }

    /// Runs the tests. Both outputs are one stream, so that what a test printed stands beside its failure.
    fn run(&self, prepare: &dyn Fn(&mut Command), filter: &[&str]) -> anyhow::Result<TestOutput> {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.directory).env("CARGO_MANIFEST_DIR", &self.directory).args(filter);
        prepare(&mut command);
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", self.path.display()))?;
        // The command holds the writing ends; the stream ends with the program.
        drop(command);
        let lines = BufReader::new(reader).split(b'\n').map_while(Result::ok);
        let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned()).collect();
        Ok(TestOutput { lines, passed: child.wait()?.success() })
    }
}

/// Builds the tests by a `cargo test` command, and lists their programs.
pub(crate) fn build(cargo: &mut Command) -> anyhow::Result<Vec<TestProgram>> {
    cargo.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let mut child = cargo.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let stdout = child.stdout.take().context("cargo has no output")?;
    let lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let mut programs: Vec<TestProgram> = lines.filter_map(|line| TestProgram::from_message(&line)).collect();
    if !child.wait()?.success() {
        bail!("the tests cannot be built");
    }
    programs.sort_by_key(|program| (rank(&program.path), program.name.clone()));
    Ok(programs)
}

/// The suites that take longest start first: what is short fills the time beside them.
fn rank(path: &Path) -> usize {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let starts = ["it-", "real_", "metamorphic-", "table_games-"];
    starts.iter().position(|start| name.starts_with(start)).unwrap_or(starts.len())
}

/// Runs all programs, as many at once as there are cores. `prepare` sets what each of them needs; `report` gets each output.
pub(crate) fn run(
    programs: Vec<TestProgram>,
    filter: &[&str],
    prepare: &(dyn Fn(&mut Command) + Sync),
    report: &mut (dyn FnMut(&TestOutput) -> anyhow::Result<()> + Send),
) -> anyhow::Result<()> {
    let queue = Mutex::new(VecDeque::from(programs));
    let report = Mutex::new(report);
    let lane = || -> anyhow::Result<()> {
        loop {
            let Some(program) = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else {
                return Ok(());
            };
            say(format_args!("running {}", program.name))?;
            let output = program.run(&|command| prepare(command), filter)?;
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            say(format_args!("\n{}", program.name))?;
            report(&output)?;
            if !output.passed {
                say(format_args!("failed: {}", program.name))?;
            }
        }
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..tools::cores()).map(|_| scope.spawn(lane)).collect();
        for lane in lanes {
            match lane.join() {
                Ok(result) => result?,
                Err(_) => bail!("a thread that runs tests has panicked"),
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_cargo_name_the_programs_of_tests() {
        let line = |test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/gate/Cargo.toml","target":{{"name":"bounds"}},"profile":{{"test":{test}}},"executable":"/t/bounds-1"}}"#
            )
        };
        let program = TestProgram::from_message(&line(true)).unwrap();
        assert_eq!(
            (program.name.as_str(), program.directory.to_str().unwrap()),
            ("gate: bounds", "/w/crates/gate")
        );
        assert!(TestProgram::from_message(&line(false)).is_none());
        assert!(TestProgram::from_message(r#"{"reason":"build-finished","success":true}"#).is_none());
    }

    #[test]
    fn long_suites_are_first() {
        let rank = |name: &str| rank(Path::new(name));
        assert!(rank("/t/it-1") < rank("/t/real_hooks-2") && rank("/t/real_hooks-2") < rank("/t/bounds-1"));
    }

    #[test]
    fn outputs_and_failures_of_all_programs_are_reported() {
        let script = |text: &str| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("program");
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            (
                TestProgram { path, directory: directory.path().to_path_buf(), name: "a script".to_string() },
                directory,
            )
        };
        let (good, _good) = script("echo out $1 $A; echo err >&2");
        let (bad, _bad) = script("exit 3");
        let mut outputs = Vec::new();
        run(
            vec![good, bad],
            &["filter"],
            &|command| {
                command.env("A", "set");
            },
            &mut |output| {
                outputs.push((output.lines.join(" "), output.passed));
                Ok(())
            },
        )
        .unwrap();
        outputs.sort();
        assert_eq!(outputs, [(String::new(), false), ("out filter set err".to_string(), true)]);
    }
}
