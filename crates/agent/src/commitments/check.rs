//! Verifies one commitment: runs its command, or looks at its file, outside the agent's session.

use super::assertion::Assertion;
use super::commitment::{Commitment, Kind, Status};
use super::oracle::{self, VerifiedTree};
use super::test_command::test_command;
use marvin_base::child::Ending;
use marvin_base::{signature, truncate};
use marvin_gate::{Intent, JudgedCommand, Workspace, WorkspacePath, decide_command, judge};
use marvin_tools::command::{
    BaselineTree, TestSeal, TestsCheck, TestsInput, run_verification_line, verified_line, verify_tests,
};
use marvin_tools::{ToolContext, ToolError};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// Bytes of evidence that are kept: of the beginning, and of the end, where failures stand.
const HEAD: usize = 500;
const TAIL: usize = 1_500;
/// Bytes of a file that is looked into.
const MAX_CHECKED_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Outcome of one check.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) status: Status,
    pub(super) reason: Option<String>,
    pub(super) evidence: Option<String>,
    pub(super) tests: Option<Tests>,
}

/// How many tests a check ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tests {
    pub passed: u64,
    pub failed: u64,
}

impl Outcome {
    fn passed(evidence: String) -> Self {
        Outcome { status: Status::Passed, reason: None, evidence: Some(evidence), tests: None }
    }

    pub(super) fn failed(reason: impl Into<String>) -> Self {
        Outcome { status: Status::Failed, reason: Some(reason.into()), evidence: None, tests: None }
    }

    pub(super) fn could_not_run(reason: impl Into<String>) -> Self {
        Outcome { status: Status::CouldNotRun, reason: Some(reason.into()), evidence: None, tests: None }
    }

    fn with(mut self, evidence: String) -> Self {
        self.evidence = Some(evidence);
        self
    }
}

/// Baseline of the turn, in addition to what a commitment itself holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beginning<'a> {
    pub(super) seal: Option<&'a TestSeal>,
    pub(super) tree: Option<&'a BaselineTree>,
}

/// The tests that an assertion runs; a line of the shell that runs a test runner counts too.
pub(super) fn tests_input(assertion: &Assertion, timeout_s: u64) -> Option<TestsInput> {
    let (runner, args, command) = match assertion {
        Assertion::TestsPass { runner, words, line } => (*runner, words.clone(), line.clone()),
        Assertion::Shell { line } => test_command(line)?,
        Assertion::FileExists { .. } | Assertion::FileContains { .. } | Assertion::JsonEquals { .. } => {
            return None;
        }
    };
    Some(TestsInput { runner, args, command, timeout: Some(timeout_s) })
}

/// The tree in which an assertion is verified.
pub(super) fn verified_tree(assertion: &Assertion, timeout_s: u64) -> VerifiedTree {
    match tests_input(assertion, timeout_s) {
        Some(_) => VerifiedTree::Copy,
        None => VerifiedTree::Workspace,
    }
}

/// Verifies a commitment. None: it was interrupted.
pub(super) async fn check(
    commitment: &Commitment,
    beginning: Beginning<'_>,
    context: &ToolContext,
) -> Option<Outcome> {
    let assertion = match Assertion::parse(commitment.kind, &commitment.assertion) {
        Ok(assertion) => assertion,
        Err(why) => return Some(Outcome::could_not_run(format!("the assertion is refused: {why}"))),
    };
    let workspace = match context.workspace() {
        Ok(workspace) => workspace,
        Err(error) => return Some(Outcome::could_not_run(error.to_string())),
    };
    let tree = verified_tree(&assertion, commitment.timeout_s);
    if let Some(change) = oracle::changed(workspace, &commitment.oracles, tree) {
        return Some(Outcome::failed(change.reason("; it was not run")));
    }
    let deadline = Duration::from_secs(commitment.timeout_s);
    let outcome = match assertion.clone() {
        Assertion::Shell { .. } | Assertion::TestsPass { .. } => {
            match (tests_input(&assertion, commitment.timeout_s), assertion) {
                (Some(input), _) => tests(&input, commitment, beginning, context).await,
                (None, Assertion::Shell { line }) => shell(&line, deadline, context).await,
                (None, _) => Outcome::could_not_run("it names no tests"),
            }
        }
        Assertion::FileExists { path, directory } => file_exists(workspace, &path, directory, context),
        Assertion::FileContains { path, text } => file_contains(workspace, &path, &text, context),
        Assertion::JsonEquals { path, pointer, value } => {
            json_equals(workspace, &path, &pointer, &value, context)
        }
    };
    if context.cancel.is_cancelled() {
        return None;
    }
    // What was run may have written them.
    match oracle::changed(workspace, &commitment.oracles, tree) {
        Some(change) if outcome.status == Status::Passed => {
            let evidence = outcome.evidence.unwrap_or_default();
            Some(Outcome::failed(change.reason(" while it ran")).with(evidence))
        }
        _ => Some(outcome),
    }
}

/// Verdict of the gate on a line, which logs it like any other.
async fn judged(line: &str, context: &ToolContext) -> Result<JudgedCommand, Outcome> {
    decide_command(line, &context.gate()).await.map_err(|verdict| {
        Outcome::could_not_run(format!(
            "the gate does not allow it: {} [{}]\n  hint: {}",
            verdict.reason,
            verdict.rule,
            permission_hint(line, context)
        ))
    })
}

/// How a person can allow a line, or why no rule can.
pub(super) fn permission_hint(line: &str, context: &ToolContext) -> String {
    let can = match context.learnable(line) {
        Ok(_) => format!("a person can allow it with `marvin gate learned add {line:?}`"),
        Err(why) => format!("no rule can allow it ({why}): choose another assertion"),
    };
    format!("{can}; `marvin gate explain {line:?}` shows more")
}

async fn shell(line: &str, deadline: Duration, context: &ToolContext) -> Outcome {
    let command = match judged(line, context).await {
        Ok(command) => command,
        Err(refused) => return refused,
    };
    let ran = match Box::pin(run_verification_line(command, deadline, context)).await {
        Ok(ran) => ran,
        Err(error) => return Outcome::could_not_run(error.to_string()),
    };
    let evidence = evidence(&ran.text, context);
    let why = ran.error.unwrap_or_default();
    let outcome = match ran.ending {
        Ending::Exited(0) => match tampered(&ran.tampered) {
            Some(why) => Outcome::failed(why),
            None => return Outcome::passed(evidence),
        },
        Ending::Exited(127) => Outcome::could_not_run("exit code 127: a program of it was not found"),
        Ending::Exited(126) => Outcome::could_not_run("exit code 126: a program of it cannot be run"),
        Ending::Exited(_) | Ending::Signalled(_) | Ending::Late | Ending::Crowded => Outcome::failed(why),
        Ending::Cancelled => Outcome::could_not_run(why),
    };
    outcome.with(evidence)
}

/// A check that changes the record fails: it could hide what it did.
fn tampered(changed: &[String]) -> Option<String> {
    let ours: Vec<&str> =
        changed.iter().map(String::as_str).filter(|path| path.starts_with(".marvin")).collect();
    (!ours.is_empty()).then(|| format!("the record was changed while it ran: {}", ours.join(", ")))
}

async fn tests(
    input: &TestsInput,
    commitment: &Commitment,
    beginning: Beginning<'_>,
    context: &ToolContext,
) -> Outcome {
    let check = TestsCheck {
        seals: beginning.seal.into_iter().chain(&commitment.seal).collect(),
        may_change: &commitment.may_change,
        oracles: commitment.oracles.iter().map(|oracle| oracle.path.as_str()).collect(),
        baseline: beginning.tree,
    };
    let mut context = Box::new(context.clone());
    if let Some(line) = verified_line(input, &check, &context) {
        match judged(&line, &context).await {
            Ok(command) => context.permit = command.into(),
            Err(refused) => return refused,
        }
    }
    let context = &context;
    let verdict = match Box::pin(verify_tests(input, &check, context)).await {
        Ok(verdict) => verdict,
        Err(ToolError::Failed(why) | ToolError::Usage(why) | ToolError::NothingToDo(why)) => {
            return Outcome::could_not_run(why);
        }
        Err(ToolError::Refused(refusal)) => return Outcome::could_not_run(refusal.to_string()),
    };
    let notes = verdict.notes.join("\n");
    let Some(output) = verdict.output else {
        return Outcome::failed(verdict.finding.unwrap_or_default()).with(evidence(&notes, context));
    };
    let data = &output.data;
    let evidence = match notes.is_empty() {
        true => evidence(&output.text, context),
        false => format!("{notes}\n{}", evidence(&output.text, context)),
    };
    let executed = [data.passed, data.failed, data.errors].into_iter().flatten().sum::<u64>();
    let counted = data.passed.or(data.failed).or(data.errors).map(|_| Tests {
        passed: data.passed.unwrap_or(0),
        failed: data.failed.unwrap_or(0) + data.errors.unwrap_or(0),
    });
    let missing = executed == 0 && data.runner.is_missing(&output.text);
    let outcome = match (&output.error, data.exit_code) {
        _ if missing => Outcome::could_not_run("the test runner is not installed"),
        (_, Some(127 | 126)) => Outcome::could_not_run("a program of it was not found or cannot be run"),
        (Some(why), _) => Outcome::failed(why.clone()),
        (None, _) if data.passed.is_none() && commitment.kind == Kind::TestsPass => {
            Outcome::failed("it does not say how many tests it ran, and at least one is needed")
        }
        (None, _) => match tampered(&data.tampered).or(verdict.finding) {
            Some(why) => Outcome::failed(why),
            None => Outcome::passed(String::new()),
        },
    };
    Outcome { tests: counted, ..outcome.with(evidence) }
}

/// Path of a file, if the gate lets it be read.
fn place(workspace: &Workspace, path: &str, context: &ToolContext) -> Result<WorkspacePath, Outcome> {
    let verdict = judge(&Intent::Read { path: path.to_string() }, &context.gate());
    if !verdict.is_allowed() {
        let why = format!("the gate does not allow it: {} [{}]", verdict.reason, verdict.rule);
        return Err(Outcome::could_not_run(why));
    }
    workspace.path(path).map_err(|refusal| Outcome::could_not_run(refusal.to_string()))
}

fn file_exists(workspace: &Workspace, path: &str, directory: bool, context: &ToolContext) -> Outcome {
    let place = match place(workspace, path, context) {
        Ok(place) => place,
        Err(outcome) => return outcome,
    };
    match workspace.metadata(&place) {
        Ok(facts) if directory && !facts.is_dir() => Outcome::failed(format!("`{path}` is not a directory")),
        Ok(facts) => Outcome::passed(format!("`{path}` is there, {} bytes", facts.len())),
        Err(refusal) => Outcome::failed(refusal.reason),
    }
}

fn read(workspace: &Workspace, path: &str, context: &ToolContext) -> Result<String, Outcome> {
    let place = place(workspace, path, context)?;
    workspace
        .read_to_string(&place, MAX_CHECKED_FILE_BYTES)
        .map_err(|refusal| Outcome::failed(refusal.reason))
}

fn file_contains(workspace: &Workspace, path: &str, text: &str, context: &ToolContext) -> Outcome {
    match read(workspace, path, context) {
        Err(outcome) => outcome,
        Ok(content) => match content.find(text) {
            Some(at) => {
                let line = 1 + content.get(..at).unwrap_or_default().matches('\n').count();
                Outcome::passed(format!("`{path}` holds it at line {line}"))
            }
            None => Outcome::failed(format!("`{path}` does not hold the text")),
        },
    }
}

fn json_equals(
    workspace: &Workspace,
    path: &str,
    pointer: &str,
    value: &Value,
    context: &ToolContext,
) -> Outcome {
    let content = match read(workspace, path, context) {
        Ok(content) => content,
        Err(outcome) => return outcome,
    };
    let whole: Value = match serde_json::from_str(&content) {
        Ok(whole) => whole,
        Err(error) => return Outcome::failed(format!("`{path}` is not JSON: {error}")),
    };
    match whole.pointer(pointer) {
        None => Outcome::failed(format!("`{path}` has nothing at `{pointer}`")),
        Some(found) if signature::hash(found) == signature::hash(value) => {
            Outcome::passed(format!("`{path}` has it at `{pointer}`"))
        }
        Some(found) => Outcome::failed(format!("`{path}` has another value at `{pointer}`"))
            .with(evidence(&found.to_string(), context)),
    }
}

/// Beginning and end of an output, redacted and without control characters.
fn evidence(text: &str, context: &ToolContext) -> String {
    let clean = context.redactor.text(text);
    let mut plain = String::with_capacity(clean.len());
    let mut chars = clean.chars();
    while let Some(char) = chars.next() {
        match char {
            // A colour, or where the cursor goes.
            '\u{1b}' => while chars.next().is_some_and(|char| !char.is_ascii_alphabetic()) {},
            '\n' | '\t' => plain.push(char),
            char if char.is_control() => {}
            char => plain.push(char),
        }
    }
    let plain = plain.trim_end();
    if plain.len() <= HEAD + TAIL {
        return plain.to_string();
    }
    let head = truncate::floor(plain, HEAD);
    let tail = truncate::floor(plain, plain.len() - TAIL);
    format!(
        "{}\n… [{} of {} bytes cut here] …\n{}",
        plain.get(..head).unwrap_or_default(),
        tail - head,
        plain.len(),
        plain.get(tail..).unwrap_or_default()
    )
}

#[cfg(test)]
mod tests;
