//! The command line of a test run, with the runner detected from the project's files.

use super::runner::Runner;
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
            let root = workspace.root();
            let found: Vec<Runner> =
                Runner::DETECTED.into_iter().filter(|runner| runner.is_used(root)).collect();
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
    if let (Runner::Node, [], Some(program)) = (runner, args, script(workspace)) {
        let line = format!("{program} test");
        return Ok(Plan { runner: Runner::Command, words: Vec::new(), line, others: Vec::new() });
    }
    let Some(words) = runner.words(args, workspace.root()) else {
        return Err(ToolError::Usage(format!("name a runner: {} or command.", Runner::NAMES)));
    };
    Ok(Plan { runner, line: line_of(&words), words, others: Vec::new() })
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
