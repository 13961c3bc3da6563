//! The tool `run_tests`: starts the runner, counts, and describes the result.

use super::counts::Counts;
use super::detect::{self, Plan, TestsInput, plan};
use super::runner::{self, Runner};
use super::summary;
use crate::command::contained::{ContainedRun, PrivateTempDir, contained, seconds};
use crate::command::run::OutputText;
use crate::context::ToolContext;
use crate::result::{Confidence, Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use marvin_gate::{Intent, JudgedCommand, Touches};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

pub(crate) const RUN_TESTS: &str = "run_tests";

/// Timeout in seconds when neither the call nor the setting gives more.
const MIN_TIMEOUT_SECONDS: u64 = 300;
/// Bytes of each stream that are kept, for counting.
pub(super) const MAX_STREAM_BYTES: usize = 8 * 1024 * 1024;
/// Failing tests that are listed for the model, and in the facts.
const MAX_FAILURES_FOR_MODEL: usize = 50;
const MAX_LISTED_FAILURES: usize = 500;

#[derive(Debug, Clone, Copy)]
pub struct RunTests;

#[derive(Debug, Serialize, JsonSchema)]
pub struct TestsData {
    pub runner: Runner,
    /// The line that was run, without the flags for the report.
    pub command: String,
    pub exit_code: Option<i32>,
    /// Counts; none where they are unknown.
    pub passed: Option<u64>,
    pub failed: Option<u64>,
    pub skipped: Option<u64>,
    pub errors: Option<u64>,
    pub collected: Option<u64>,
    /// Names of the tests that failed or could not be run.
    pub failing_tests: Vec<String>,
    /// Source of the counts: junit, tap, json, text, or none.
    pub report: &'static str,
    /// In seconds.
    pub duration: f64,
    pub timed_out: bool,
    /// The sandbox that it had.
    pub sandbox: &'static str,
    /// Protected files that it changed: git's configuration and hooks, the record, the tickets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tampered: Vec<String>,
}

#[async_trait]
impl Tool for RunTests {
    type Input = TestsInput;
    type Data = TestsData;
    const NAME: &'static str = RUN_TESTS;
    const DESCRIPTION: &'static str = concat!(
        "Run the project's tests and get counts and the names of failing tests. The runner (",
        runner::names!(),
        ", or a command of your own) is found from the project's files unless you name it. No network."
    );
    const EXAMPLE: &'static str =
        r#"{"runner": "pytest", "args": ["tests/test_dates.py", "-k", "zone"], "timeout": 300}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("timeout_s", "timeout"), ("arguments", "args"), ("cmd", "command")];
    const TOUCHES: Touches = Touches::EXECUTES;

    fn intents(input: &TestsInput, context: &ToolContext) -> Vec<Intent> {
        // Without a plan nothing is run, and the call returns the error.
        plan(input, context).map(|plan| vec![Intent::Command { line: plan.line }]).unwrap_or_default()
    }

    async fn call(&self, input: TestsInput, context: &ToolContext) -> Result<Output<TestsData>, ToolError> {
        let plan = plan(&input, context)?;
        let private = PrivateTempDir::new()?;
        let mut child = child(&plan, private.path(), context)?;
        child.deadline = seconds(input.timeout, context);
        if input.timeout.is_none() {
            child.deadline = child.deadline.max(std::time::Duration::from_secs(MIN_TIMEOUT_SECONDS));
        }
        child.keep = MAX_STREAM_BYTES;
        let done = contained(child, private.policy(context)?, context).await?;
        let (counts, report) = count(&plan, &done, private.path(), context)?;
        Ok(describe(plan, &done, counts.as_ref(), report, context))
    }
}

/// Name of the runner's report in the private directory.
const REPORT: &str = "marvin-report";

/// Adds the flags that make a runner report.
pub(super) fn report_words(runner: Runner, words: &mut Vec<String>, private: &Path) {
    runner.add_report_flags(words, &private.join(REPORT));
}

/// The program with the flags that make it report.
fn child(plan: &Plan, private: &Path, context: &ToolContext) -> Result<JudgedCommand, ToolError> {
    let mut words = plan.words.clone();
    report_words(plan.runner, &mut words, private);
    let mut child = context.judged(&plan.line)?.with_words(&words);
    for (name, value) in [("NO_COLOR", "1"), ("FORCE_COLOR", "0"), ("CARGO_TERM_COLOR", "never"), ("CI", "1")]
    {
        child.set.insert(name.into(), value.into());
    }
    child.set.insert("PYTHONUNBUFFERED".into(), "1".into());
    child.set.extend(plan.runner.variable(private));
    detect::with_virtual_environment(&mut child, context.workspace()?.root());
    Ok(child)
}

/// A larger report is ignored.
const MAX_REPORT_BYTES: u64 = 64 * 1024 * 1024;

/// The counts, and their source.
pub(super) fn count(
    plan: &Plan,
    done: &ContainedRun,
    private: &Path,
    context: &ToolContext,
) -> Result<(Option<Counts>, &'static str), ToolError> {
    let root = context.workspace()?.root();
    let report = || {
        // The tests could put anything there: a link, a pipe, a report without end.
        let bytes = files::read(&private.join(REPORT), MAX_REPORT_BYTES, Links::Refuse).ok()?;
        (bytes.len() as u64 <= MAX_REPORT_BYTES).then_some(bytes)
    };
    let report = || report().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (stdout, stderr) = (done.outcome.stdout.text(), done.outcome.stderr.text());
    if let Some((counts, kind)) = plan.runner.read_report(report, &stdout, &plan.words, root) {
        return Ok((Some(counts), kind));
    }
    let ended = done.code().is_some();
    if plan.runner.has_report() {
        return Ok((ended.then(Counts::default), "none"));
    }
    let none = || plan.runner != Runner::Command || summary::says_none(&stdout, &stderr);
    Ok(match summary::read(&stdout, &stderr, done.code() == Some(0), root) {
        Some(counts) => (Some(counts), "text"),
        // Cargo always prints how many tests it ran, unless it ran none or was killed before.
        None if ended && none() => (Some(Counts::default()), "none"),
        None => (None, "none"),
    })
}

/// Why the run has failed; none when it has not.
fn verdict(done: &ContainedRun, counts: Option<&Counts>) -> Option<String> {
    let error = done.error();
    let Some(counts) = counts else { return error };
    let wrong = counts.failed + counts.errors > 0;
    match error {
        Some(error) if wrong => Some(format!("{} ({error})", counts.words())),
        Some(error) if counts.ran() > 0 => {
            Some(format!("{error}, though no test failed: {}", counts.words()))
        }
        Some(error) => Some(format!("{error}; no test was executed")),
        None if wrong => Some(format!("{}, though the exit code is 0", counts.words())),
        None if counts.ran() == 0 && counts.skipped > 0 => {
            Some(format!("no test was executed: {} skipped", counts.skipped))
        }
        None if counts.ran() == 0 => Some("no test was executed: none was found".to_string()),
        None => None,
    }
}

pub(super) fn describe(
    plan: Plan,
    done: &ContainedRun,
    counts: Option<&Counts>,
    report: &'static str,
    context: &ToolContext,
) -> Output<TestsData> {
    let error = verdict(done, counts);
    let figures = match (counts, &error) {
        (_, Some(error)) => error.clone(),
        (Some(counts), None) => counts.words(),
        (None, None) => "done; it does not say how many tests it ran".to_string(),
    };
    let line = truncate::line(&context.redactor.text(&plan.line), 80);
    let summary = format!("`{line}`: {figures}");
    let mut text = format!("{summary}\n");
    if !plan.others.is_empty() {
        let others = plan.others.iter().map(|runner| runner.name()).collect::<Vec<_>>().join(", ");
        text.push_str(&format!("(also found here: {others}; name it with `runner` to run those)\n"));
    }
    let failing = counts.map(|counts| counts.failing.clone()).unwrap_or_default();
    if !failing.is_empty() {
        text.push_str("failing:\n");
        for name in failing.iter().take(MAX_FAILURES_FOR_MODEL) {
            text.push_str(&format!("  {name}\n"));
        }
        if failing.len() > MAX_FAILURES_FOR_MODEL {
            text.push_str(&format!("  … and {} more\n", failing.len() - MAX_FAILURES_FOR_MODEL));
        }
    }
    let output = match plan.runner.output(&done.outcome.stdout.text()) {
        Some(stdout) => OutputText::from_run_with_stdout(stdout, done),
        None => OutputText::from_run(done),
    };
    text.push_str(&output.text);
    let number = |pick: fn(&Counts) -> u64| counts.map(pick);
    let data = TestsData {
        runner: plan.runner,
        command: plan.line,
        exit_code: done.code(),
        passed: number(|counts| counts.passed),
        failed: number(|counts| counts.failed),
        skipped: number(|counts| counts.skipped),
        errors: number(|counts| counts.errors),
        collected: number(Counts::collected),
        failing_tests: failing.into_iter().take(MAX_LISTED_FAILURES).collect(),
        report,
        duration: done.outcome.elapsed.as_secs_f64(),
        timed_out: done.timed_out(),
        sandbox: done.sandbox,
        tampered: done.tampered.clone(),
    };
    let confidence = if output.whole.is_some() { Confidence::Summarized } else { Confidence::Verbatim };
    Output { error, confidence, whole: output.whole, ..Output::new(summary, text, data) }
}
