//! Runs the project's tests and takes the counts from the runner's report.

#[cfg(test)]
mod tests;

use crate::stop::Halt;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::{Intent, decide_command};
use marvin_tools::command::{RunTests, Runner, TestsCheck, TestsInput, verify_tests};
use marvin_tools::{Tool, ToolContext};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Characters of test output that are kept.
const MAX_KEPT_OUTPUT_BYTES: usize = 24_000;
const TEST_TIMEOUT_SECS: u64 = 900;

/// The result of a test run, by the runner's own count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TestReport {
    /// At least one test passed and none failed.
    pub(crate) green: bool,
    /// The command line.
    pub(crate) command: String,
    pub(crate) counts: Value,
    /// Names of failing tests.
    pub(crate) failing: Vec<String>,
    /// The output, cut.
    pub(crate) text: String,
}

impl TestReport {
    pub(crate) fn words(&self) -> String {
        let number = |key: &str| self.counts.get(key).and_then(Value::as_u64).unwrap_or(0);
        format!("{} passed, {} failed, {} errors", number("passed"), number("failed"), number("errors"))
    }
}

/// Runs the tests of the settings, or those that are detected, in a fresh copy of the project, so that caches and runners planted
/// by an agent have no effect. `all` continues after files that cannot be loaded, where pytest would stop; such a run judges the
/// tests themselves and works in the project.
///
/// # Errors
/// When the gate does not allow them.
pub(crate) async fn run(context: &ToolContext, all: bool) -> Result<TestReport, Halt> {
    let line = context.settings.text(&table::TEST_COMMAND).trim().to_string();
    let (runner, command) =
        if line.is_empty() { (Runner::Auto, None) } else { (Runner::Command, Some(line)) };
    let tested = run_with(
        TestsInput { runner, args: Vec::new(), command, timeout: Some(TEST_TIMEOUT_SECS) },
        !all,
        context,
    )
    .await?;
    let stopped = tested.counts.get("runner").and_then(Value::as_str) == Some("pytest")
        && tested.counts.get("errors").and_then(Value::as_u64) > Some(0);
    if !(all && stopped) {
        return Ok(tested);
    }
    let args = vec!["--continue-on-collection-errors".to_string()];
    run_with(
        TestsInput { runner: Runner::Pytest, args, command: None, timeout: Some(TEST_TIMEOUT_SECS) },
        false,
        context,
    )
    .await
}

async fn run_with(input: TestsInput, in_copy: bool, context: &ToolContext) -> Result<TestReport, Halt> {
    let mut context = Box::new(context.clone());
    for intent in RunTests::intents(&input, &context) {
        let Intent::Command { line } = intent else { continue };
        match decide_command(&line, &context.gate()).await {
            Ok(command) => context.permit = command.into(),
            Err(verdict) => {
                return Err(Halt::failed(
                    "tests_refused",
                    format!("the gate does not allow the project's tests `{line}`: {}", verdict.reason),
                ));
            }
        }
    }
    let context = &context;
    let ran = match in_copy {
        true => {
            let verified = Box::pin(verify_tests(&input, &TestsCheck::default(), context)).await;
            verified.map(|verdict| verdict.output)
        }
        false => RunTests.call(input, context).await.map(Some),
    };
    match ran {
        Ok(None) => Ok(TestReport { counts: not_run(), ..TestReport::default() }),
        Ok(Some(output)) => {
            let data = serde_json::to_value(&output.data).unwrap_or_default();
            let green = output.error.is_none() && data.get("passed").and_then(Value::as_u64).unwrap_or(0) > 0;
            let text = context.redactor.text(&output.text).into_owned();
            Ok(TestReport {
                green,
                command: output.data.command.clone(),
                failing: output.data.failing_tests.clone(),
                counts: data,
                text: truncate::middle(&text, MAX_KEPT_OUTPUT_BYTES),
            })
        }
        // No runner is found or can be started: the tests do not pass, and the prompt says why.
        Err(error) => Ok(TestReport { text: error.to_string(), counts: not_run(), ..TestReport::default() }),
    }
}

/// The counts of tests that were not run.
fn not_run() -> Value {
    Value::from_iter([("exit_code", Value::Null)])
}
