//! Detection of a project's test runner, and its command line.

use crate::command::contained::line_of;
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_base::child::Child;
use marvin_gate::Workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

const MAX_PACKAGE_JSON_BYTES: u64 = 1024 * 1024;
/// Part of the `test` script that `npm init` writes.
const NPM_PLACEHOLDER: &str = "no test specified";
/// A `test` script that is better run without npm.
const NODE_TEST: &str = "node --test";
/// Flags that would send the report elsewhere.
const REPORT_FLAGS: [&str; 4] =
    ["--junitxml", "--junit-xml", "--test-reporter", "--test-reporter-destination"];

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

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestsInput {
    /// Which runner; auto finds it from the project's files.
    #[serde(default)]
    pub runner: Runner,
    /// Further words for the runner, such as files or names of tests.
    #[serde(default)]
    pub args: Vec<String>,
    /// The line to run, for the runner `command`.
    pub command: Option<String>,
    /// Seconds after which it is ended (300).
    pub timeout: Option<u64>,
}

/// The command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) runner: Runner,
    /// The program and its words; none for a line of the shell.
    #[serde(default)]
    pub(super) words: Vec<String>,
    /// The same as a line, which the gate judges.
    pub(super) line: String,
    /// Other runners that the project has files of.
    #[serde(default)]
    pub(super) others: Vec<Runner>,
}

impl Runner {
    pub(super) fn name(self) -> &'static str {
        match self {
            Runner::Auto => "auto",
            Runner::Pytest => "pytest",
            Runner::Cargo => "cargo",
            Runner::Go => "go",
            Runner::Node => "node",
            Runner::Command => "command",
        }
    }
}

/// The command of a call in this workspace.
pub(super) fn plan(input: &TestsInput, context: &ToolContext) -> Result<Plan, ToolError> {
    let workspace = context.workspace()?;
    let command = input.command.as_deref().map(str::trim).filter(|line| !line.is_empty());
    if let Some(word) = input.args.iter().find(|word| word.contains('\0')) {
        return Err(ToolError::Usage(format!("`{}` holds a zero byte.", word.escape_debug())));
    }
    match (input.runner, command) {
        (Runner::Command | Runner::Auto, Some(line)) => {
            let line = match input.args.as_slice() {
                [] => line.to_string(),
                words => format!("{line} {}", line_of(words)),
            };
            Ok(Plan { runner: Runner::Command, words: Vec::new(), line, others: Vec::new() })
        }
        (Runner::Command, None) => {
            Err(ToolError::Usage("the runner `command` needs `command`: the line to run.".into()))
        }
        (runner, Some(_)) => Err(ToolError::Usage(format!(
            "`command` goes with the runner `command`; the runner `{}` takes `args`.",
            runner.name()
        ))),
        (Runner::Auto, None) => {
            let found = found(workspace);
            let Some((first, others)) = found.split_first() else {
                return Err(ToolError::Failed(
                    "no tests were recognised in the working directory (no Cargo.toml, go.mod, package.json, Python tests); \
                     name a runner, or give the line: {\"runner\": \"command\", \"command\": \"make test\"}"
                        .into(),
                ));
            };
            let mut plan = of_runner(*first, &input.args, workspace)?;
            plan.others = others.to_vec();
            Ok(plan)
        }
        (runner, None) => of_runner(runner, &input.args, workspace),
    }
}

fn of_runner(runner: Runner, args: &[String], workspace: &Workspace) -> Result<Plan, ToolError> {
    let takes = |flag: &&str, word: &String| {
        word == flag || word.strip_prefix(*flag).is_some_and(|rest| rest.starts_with('='))
    };
    if let Some(flag) = REPORT_FLAGS.iter().find(|flag| args.iter().any(|word| takes(flag, word))) {
        return Err(ToolError::Usage(format!("leave `{flag}` out: the report is read for you.")));
    }
    let has = |name: &str| workspace.root().join(name).exists();
    let start: Vec<&str> = match runner {
        Runner::Pytest => vec!["python3", "-m", "pytest"],
        Runner::Cargo if has(".config/nextest.toml") && !args.iter().any(|word| word == "--doc") => {
            vec!["cargo", "nextest", "run", "--no-fail-fast"]
        }
        Runner::Cargo => vec!["cargo", "test", "--no-fail-fast"],
        Runner::Go if args.iter().all(|word| word.starts_with('-')) => vec!["go", "test", "-json", "./..."],
        Runner::Go => vec!["go", "test", "-json"],
        Runner::Node => match script(workspace) {
            Some(program) if args.is_empty() => {
                let line = format!("{program} test");
                return Ok(Plan { runner: Runner::Command, words: Vec::new(), line, others: Vec::new() });
            }
            _ => vec!["node", "--test"],
        },
        Runner::Auto | Runner::Command => {
            return Err(ToolError::Usage("name a runner: pytest, cargo, go, node or command.".into()));
        }
    };
    let mut words: Vec<String> = start.into_iter().map(str::to_string).collect();
    if runner == Runner::Go && words.last().is_some_and(|last| last == "./...") {
        // Flags come before the packages.
        words.splice(3..3, args.iter().cloned());
    } else {
        words.extend(args.iter().cloned());
    }
    Ok(Plan { runner, line: line_of(&words), words, others: Vec::new() })
}

/// The runners that the project has files of, the most likely first.
fn found(workspace: &Workspace) -> Vec<Runner> {
    let root = workspace.root();
    let has = |name: &str| root.join(name).is_file();
    let mut found = Vec::new();
    if has("Cargo.toml") {
        found.push(Runner::Cargo);
    }
    if has("go.mod") {
        found.push(Runner::Go);
    }
    let python = [
        "pytest.ini",
        "conftest.py",
        "tests/conftest.py",
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "tox.ini",
    ];
    if python.iter().any(|name| has(name))
        || [".", "tests", "test"].iter().any(|directory| has_python_tests(&root.join(directory)))
    {
        found.push(Runner::Pytest);
    }
    if has("package.json") {
        found.push(Runner::Node);
    }
    found
}

fn has_python_tests(directory: &Path) -> bool {
    let mut names = std::fs::read_dir(directory).into_iter().flatten().flatten().take(1000);
    names.any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
    })
}

/// The program that runs the project's own `test` script, if `package.json` has one that is not node's own runner.
fn script(workspace: &Workspace) -> Option<&'static str> {
    let path = workspace.path("package.json").ok()?;
    let package: Value =
        serde_json::from_str(&workspace.read_to_string(&path, MAX_PACKAGE_JSON_BYTES).ok()?).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?.trim();
    if script.is_empty() || script.contains(NPM_PLACEHOLDER) || script == NODE_TEST {
        return None;
    }
    let locked =
        [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lockb", "bun"), ("bun.lock", "bun")];
    let program = locked.iter().find(|(lock, _)| workspace.root().join(lock).exists());
    Some(program.map_or("npm", |(_, program)| program))
}

/// Puts the project's own Python first on the PATH, as after `activate`.
pub(super) fn with_virtual_environment(child: &mut Child, root: &Path) {
    let directories = [".venv", "venv"].map(|name| root.join(name));
    let Some(directory) = directories.iter().find(|directory| directory.join("bin/python3").exists()) else {
        return;
    };
    let path =
        marvin_base::child::environment().get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin").to_string();
    child.set.insert("PATH".into(), format!("{}:{path}", directory.join("bin").display()));
    child.set.insert("VIRTUAL_ENV".into(), directory.display().to_string());
}
