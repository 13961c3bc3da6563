//! Tests of a skill, run by the shell in the sandbox, in a fresh copy of the skill alone.
//!
//! Code is every file besides `SKILL.md`, `tests/` and the configuration of test runners. If a skill has no such file, `SKILL.md`
//! takes the place of the code. Tests that pass without the code prove nothing.

use crate::error::LabError;
use crate::snapshot::put;
use marvin_agent::skills::{SKILL_FILE, Skill, list_files};
use marvin_agent::{ProjectContext, step_agents};
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use marvin_gate::decide_command;
use marvin_tools::ToolError;
use marvin_tools::command::{Runner, TestsCheck, TestsInput, verified_line, verify_tests};
use serde::Serialize;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const TEST_TIMEOUT_S: u64 = 300;
/// Bytes of the output of failed tests that are told.
const MAX_FAILURE_BYTES: usize = 2_000;
/// A skill is smaller than this as a whole.
const MAX_COPIED_BYTES: u64 = 64 * 1024 * 1024;
/// The directory of a skill's tests.
const TESTS: &str = "tests";

/// Files that tell a runner that there are tests; they stay where the code is taken away.
const RUNNER_FILES: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "go.mod",
    "package.json",
    "conftest.py",
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
];

/// The result of a skill's tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillProof {
    /// Whether they passed with the code and failed without it.
    pub ok: bool,
    /// Tests that passed with the code.
    pub passed: u64,
    /// Whether they failed without the code.
    pub seen_red: bool,
    /// The line that ran them.
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SkillProof {
    fn failed(reason: impl Into<String>, run: TestRun) -> Self {
        SkillProof {
            ok: false,
            passed: run.passed,
            seen_red: false,
            command: run.command,
            reason: Some(reason.into()),
        }
    }
}

/// One run of the tests.
#[derive(Debug, Default)]
struct TestRun {
    passed: u64,
    command: String,
    /// Why it does not count as passed.
    failure: Option<String>,
    could_not_run: bool,
}

/// Proves a skill: its tests exist, pass with its code, and fail without it.
///
/// # Errors
/// When it cannot be copied, or was interrupted. Tests that fail are not an error.
pub async fn prove(
    project: &Arc<ProjectContext>,
    skill: &Skill,
    directory: &Path,
    cancel: &CancellationToken,
) -> Result<SkillProof, LabError> {
    let refused = |reason: &str| SkillProof::failed(reason, TestRun::default());
    let files = match list_files(directory) {
        Ok(files) => files,
        Err(error) => return Ok(refused(&error.to_string())),
    };
    let is_test = |path: &Path| path.starts_with(TESTS);
    if !files.iter().any(|path| is_test(path)) {
        return Ok(refused("it has no tests: the directory `tests` has no file"));
    }
    let is_support = |path: &Path| is_test(path) || RUNNER_FILES.iter().any(|name| path == Path::new(name));
    let is_text = |path: &Path| path == Path::new(SKILL_FILE);
    let has_code = files.iter().any(|path| !is_support(path) && !is_text(path));
    let green = run(project, skill, directory, &files, cancel).await?;
    if let Some(failure) = green.failure.clone() {
        let what = if green.could_not_run { "its tests cannot be run" } else { "its tests do not pass" };
        // Without a command no runner was detected; the reason for that advises the caller of a tool.
        let reason = match green.command.is_empty() && skill.facts.test.trim().is_empty() {
            true => format!(
                "{what}: no test runner is recognised; name the line that runs them as `marvin-test` below `metadata` of the front matter"
            ),
            false => format!("{what}: {failure}"),
        };
        return Ok(SkillProof::failed(reason, green));
    }
    let stays = |path: &&PathBuf| is_support(path) || (has_code && is_text(path));
    let rest: Vec<PathBuf> = files.iter().filter(stays).cloned().collect();
    let red = run(project, skill, directory, &rest, cancel).await?;
    if red.could_not_run {
        let why = red.failure.clone().unwrap_or_default();
        return Ok(SkillProof::failed(format!("its tests cannot be run without its code: {why}"), green));
    }
    if red.failure.is_none() {
        return Ok(SkillProof::failed("its tests pass without its code, so they prove nothing", green));
    }
    Ok(SkillProof { ok: true, passed: green.passed, seen_red: true, command: green.command, reason: None })
}

/// Runs the tests in a copy of some files.
async fn run(
    project: &Arc<ProjectContext>,
    skill: &Skill,
    directory: &Path,
    files: &[PathBuf],
    cancel: &CancellationToken,
) -> Result<TestRun, LabError> {
    let place = tempfile::Builder::new().prefix("marvin-skill-").tempdir();
    let place = place.map_err(|error| LabError::file(Path::new("a temporary directory"), error))?;
    // The sandbox sees canonical paths.
    let root = place.path().canonicalize().map_err(|error| LabError::file(place.path(), error))?;
    let root = root.join(&skill.name);
    copy(directory, files, &root)?;
    let own = step_agents::at(project, Some(&root))?;
    let mut context = own.tool_context(cancel.clone(), None);
    let line = skill.facts.test.trim();
    let input = TestsInput {
        runner: if line.is_empty() { Runner::Auto } else { Runner::Command },
        args: Vec::new(),
        command: (!line.is_empty()).then(|| line.to_string()),
        timeout: Some(TEST_TIMEOUT_S),
    };
    let check = TestsCheck::default();
    let command = verified_line(&input, &check, &context).unwrap_or_default();
    let stopped = |why: String| {
        Ok(TestRun {
            command: command.clone(),
            failure: Some(why),
            could_not_run: true,
            ..TestRun::default()
        })
    };
    if !command.is_empty() {
        match decide_command(&command, &context.gate()).await {
            Ok(judged) => context.permit = judged.into(),
            Err(verdict) => {
                return stopped(format!(
                    "the gate does not allow `{command}`: {} [{}]",
                    verdict.reason, verdict.rule
                ));
            }
        }
    }
    let verdict = match Box::pin(verify_tests(&input, &check, &context)).await {
        Ok(verdict) => verdict,
        Err(_) if cancel.is_cancelled() => return Err(LabError::Interrupted),
        Err(ToolError::Refused(refusal)) => return stopped(refusal.to_string()),
        Err(error) => return stopped(error.to_string()),
    };
    if cancel.is_cancelled() {
        return Err(LabError::Interrupted);
    }
    let Some(output) = verdict.output else { return stopped(verdict.finding.unwrap_or_default()) };
    let data = &output.data;
    let executed = [data.passed, data.failed, data.errors].into_iter().flatten().sum::<u64>();
    let is_missing = executed == 0 && data.runner.is_missing(&output.text);
    let failure = match (&output.error, data.passed) {
        _ if is_missing => Some("the test runner is not installed".to_string()),
        // The text begins with the line and why it failed; what an assertion says is at its end.
        (Some(_), _) => Some(truncate::middle(output.text.trim(), MAX_FAILURE_BYTES)),
        (None, None | Some(0)) => Some("it does not say that at least one test passed".to_string()),
        (None, Some(_)) => verdict.finding,
    };
    let could_not_run = is_missing || matches!(data.exit_code, Some(126 | 127));
    Ok(TestRun { passed: data.passed.unwrap_or(0), command, failure, could_not_run })
}

/// Copies files of a skill, with their permission to be executed.
pub(super) fn copy(from: &Path, files: &[PathBuf], to: &Path) -> Result<(), LabError> {
    for path in files {
        let (source, target) = (from.join(path), to.join(path));
        let bytes = files::read(&source, MAX_COPIED_BYTES, Links::Refuse)
            .map_err(|error| LabError::file(&source, error))?;
        put(&target, &bytes)?;
        let mode = source.metadata().map_err(|error| LabError::file(&source, error))?.permissions().mode();
        if mode & 0o100 != 0 {
            let permissions = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&target, permissions).map_err(|error| LabError::file(&target, error))?;
        }
    }
    Ok(())
}
