//! The tool `run_tests`: starts the runner, counts, and describes the result.

use super::counts::Counts;
use super::detect::{self, Plan, Runner, TestsInput, plan};
use super::{gotest, junit, summary, tap};
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

/// Seconds that tests have when neither the call nor the setting gives them more.
const LEAST: u64 = 300;
/// Bytes of each stream that are kept, for counting.
pub(super) const MAX_STREAM_BYTES: usize = 8 * 1024 * 1024;
/// Failing tests that are listed for the model, and in the facts.
const MAX_FAILURES_FOR_MODEL: usize = 50;
const MAX_LISTED_FAILURES: usize = 500;

#[derive(Debug, Clone, Copy)]
pub struct RunTests;

#[derive(Debug, Serialize, JsonSchema)]
pub struct TestsData {
    /// Which runner.
    pub runner: Runner,
    /// The line that was run, without the flags for the report.
    pub command: String,
    /// Its exit code; none when it was ended.
    pub exit_code: Option<i32>,
    /// Figures; none where they are not known.
    pub passed: Option<u64>,
    pub failed: Option<u64>,
    pub skipped: Option<u64>,
    pub errors: Option<u64>,
    /// All of them together.
    pub collected: Option<u64>,
    /// Names of the tests that failed or broke.
    pub failing_tests: Vec<String>,
    /// Where the figures come from: junit, tap, json, text, or none.
    pub report: &'static str,
    /// Seconds that it took.
    pub duration: f64,
    /// Whether its deadline passed.
    pub timed_out: bool,
    /// What contained it.
    pub sandbox: &'static str,
    /// What it changed and should not have: git's configuration and hooks, the record, the tickets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tampered: Vec<String>,
}

#[async_trait]
impl Tool for RunTests {
    type Input = TestsInput;
    type Data = TestsData;
    const NAME: &'static str = RUN_TESTS;
    const DESCRIPTION: &'static str = "Run the project's tests and get counts and the names of failing tests. The runner \
        (pytest, cargo, go, node, or a command of your own) is found from the project's files unless you name it. No \
        network.";
    const EXAMPLE: &'static str =
        r#"{"runner": "pytest", "args": ["tests/test_dates.py", "-k", "zone"], "timeout": 300}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("timeout_s", "timeout"), ("arguments", "args"), ("cmd", "command")];

    fn touches() -> Touches {
        Touches::EXECUTES
    }

    fn intents(input: &TestsInput, context: &ToolContext) -> Vec<Intent> {
        // Without a plan nothing is run; why, is said by the call.
        plan(input, context).map(|plan| vec![Intent::Command { line: plan.line }]).unwrap_or_default()
    }

    async fn call(&self, input: TestsInput, context: &ToolContext) -> Result<Output<TestsData>, ToolError> {
        let plan = plan(&input, context)?;
        let room = PrivateTempDir::new()?;
        let mut child = child(&plan, room.path(), context)?;
        child.deadline = seconds(input.timeout, context);
        if input.timeout.is_none() {
            child.deadline = child.deadline.max(std::time::Duration::from_secs(LEAST));
        }
        child.keep = MAX_STREAM_BYTES;
        let done = contained(child, room.policy(context)?, context).await?;
        let (counts, report) = count(&plan, &done, room.path(), context)?;
        Ok(describe(plan, &done, counts.as_ref(), report, context))
    }
}

/// The report that a runner writes, in the private directory.
const REPORT: &str = "marvin-report";

/// Adds the flags that make a runner report.
pub(super) fn report_words(runner: Runner, words: &mut Vec<String>, room: &Path) {
    let report = room.join(REPORT).display().to_string();
    match runner {
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

/// The program with the flags that make it report.
fn child(plan: &Plan, room: &Path, context: &ToolContext) -> Result<JudgedCommand, ToolError> {
    let mut words = plan.words.clone();
    report_words(plan.runner, &mut words, room);
    let mut child = context.judged(&plan.line)?.with_words(&words);
    for (name, value) in [("NO_COLOR", "1"), ("FORCE_COLOR", "0"), ("CARGO_TERM_COLOR", "never"), ("CI", "1")]
    {
        child.set.insert(name.into(), value.into());
    }
    child.set.insert("PYTHONUNBUFFERED".into(), "1".into());
    if plan.runner == Runner::Go {
        // Its usual cache lies outside the workspace, where nothing can be written.
        child.set.insert("GOCACHE".into(), room.join("go-build").display().to_string());
    }
    detect::with_virtual_environment(&mut child, context.workspace()?.root());
    Ok(child)
}

/// A report of more bytes is no report.
const MAX_REPORT_BYTES: u64 = 64 * 1024 * 1024;

/// The figures, and where they come from.
pub(super) fn count(
    plan: &Plan,
    done: &ContainedRun,
    room: &Path,
    context: &ToolContext,
) -> Result<(Option<Counts>, &'static str), ToolError> {
    let root = context.workspace()?.root();
    let report = || {
        // The tests could put anything there: a link, a pipe, a report without end.
        let bytes = files::read(&room.join(REPORT), MAX_REPORT_BYTES, Links::Refuse).ok()?;
        (bytes.len() as u64 <= MAX_REPORT_BYTES).then_some(bytes)
    };
    let report = || report().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let from_report = match plan.runner {
        Runner::Pytest => report().and_then(|text| junit::read(&text, root)).map(|counts| (counts, "junit")),
        Runner::Node => report().and_then(|text| node(&text, plan, root)).map(|counts| (counts, "tap")),
        Runner::Go => gotest::read(&done.outcome.stdout.text()).map(|counts| (counts, "json")),
        Runner::Auto | Runner::Cargo | Runner::Command => None,
    };
    if let Some((counts, kind)) = from_report {
        return Ok((Some(counts), kind));
    }
    let (stdout, stderr) = (done.outcome.stdout.text(), done.outcome.stderr.text());
    let ended = done.code().is_some();
    Ok(match plan.runner {
        // These write a report when they come to their end. Without it, what was printed proves nothing: a test that ends
        // the whole process can print anything before.
        Runner::Pytest | Runner::Node | Runner::Go => (ended.then(Counts::default), "none"),
        Runner::Auto | Runner::Cargo | Runner::Command => {
            let none = || plan.runner != Runner::Command || summary::says_none(&stdout, &stderr);
            match summary::read(&stdout, &stderr, done.code() == Some(0)) {
                Some(counts) => (Some(counts), "text"),
                // Cargo always says how many tests it ran, unless it ran none or was ended before it could.
                None if ended && none() => (Some(Counts::default()), "none"),
                None => (None, "none"),
            }
        }
    })
}

/// Bytes of a file that is looked at for its tests.
const MAX_TEST_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Node's report. Node counts a file without tests as one that passed, and so it counts a file that ended the process before
/// its tests were done. That a file ended well is not a test; where it has some, it is an error that none was reported.
fn node(text: &str, plan: &Plan, root: &Path) -> Option<Counts> {
    let mut counts = tap::read(text)?;
    let is_file = |name: &str| {
        let path = Path::new(name);
        let is_script = path.extension().is_some_and(|extension| {
            ["js", "mjs", "cjs", "ts", "mts", "cts"].iter().any(|known| extension == *known)
        });
        is_script && (path.is_absolute() || is_test(path)) && root.join(path).is_file()
    };
    // Which tests are left out is not always reported.
    let picked = plan.words.iter().skip(2).any(|word| word.starts_with("--test-"));
    for file in tap::files(text, is_file) {
        counts.passed = counts.passed.saturating_sub(1);
        let has_tests = || {
            let bytes =
                files::read(&root.join(&file), MAX_TEST_FILE_BYTES, Links::Refuse).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains("node:test")
        };
        if !picked && is_test(Path::new(&file)) && has_tests() {
            counts.errors += 1;
            counts.failing.push(format!("{file} (it ended before its tests were reported)"));
        }
    }
    Some(counts)
}

/// Is this a name that node takes for one of a file of tests?
fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem == "test"
        || stem.starts_with("test-")
        || [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end))
}

/// Why the run is no success; none when it is one.
fn verdict(done: &ContainedRun, counts: Option<&Counts>) -> Option<String> {
    let ended = done.error();
    let Some(counts) = counts else { return ended };
    let wrong = counts.failed + counts.errors > 0;
    match ended {
        Some(ended) if wrong => Some(format!("{} ({ended})", counts.words())),
        // It failed although no test did.
        Some(ended) if counts.ran() > 0 => {
            Some(format!("{ended}, though no test failed: {}", counts.words()))
        }
        Some(ended) => Some(format!("{ended}; no test was executed")),
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
    let said = match plan.runner {
        Runner::Go => OutputText::from_run_with_stdout(gotest::text(&done.outcome.stdout.text()), done),
        _ => OutputText::from_run(done),
    };
    text.push_str(&said.text);
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
    let confidence = if said.whole.is_some() { Confidence::Summarized } else { Confidence::Verbatim };
    Output { error, confidence, whole: said.whole, ..Output::new(summary, text, data) }
}
