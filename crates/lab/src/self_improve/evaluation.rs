//! The evaluation of a checkout: its tests, or the line of the plan, in a fresh copy of it, judged and in the sandbox.

use super::ImproveError;
use super::changes::FileHashes;
use super::plan::Plan;
use marvin_agent::ProjectContext;
use marvin_agent::commitments::tests_of_line;
use marvin_base::truncate;
use marvin_gate::decide_command;
use marvin_tools::ToolContext;
use marvin_tools::command::{
    BaselineTree, Runner, TestSeal, TestsCheck, TestsInput, verified_line, verify_tests,
};
use serde::{Deserialize, Serialize};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Failing tests that are listed.
const MAX_LISTED_TESTS: usize = 20;
const EVALUATION_TIMEOUT_SECONDS: u64 = 1800;

/// The result of an evaluation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    pub ok: bool,
    pub passed: u64,
    pub failed: u64,
    /// At most 20 names.
    pub failing_tests: Vec<String>,
    pub elapsed_s: f64,
    /// Why it is not ok, whatever was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether anything was run.
    #[serde(default)]
    pub ran: bool,
}

impl Evaluation {
    /// The result in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = format!("ok={}, {} passed, {} failed", self.ok, self.passed, self.failed);
        if !self.failing_tests.is_empty() {
            text.push_str(&format!(", failing: {}", self.failing_tests.join(", ")));
        }
        // Where tests failed, the counts say it.
        if let Some(reason) = self.reason.as_ref().filter(|_| self.failed == 0) {
            text.push_str(&format!(" ({})", truncate::line(reason, 300)));
        }
        text
    }
}

/// Evaluates checkouts by what steered the tests in one of them.
#[derive(Debug)]
pub(super) struct Evaluator {
    input: TestsInput,
    may_change: Vec<String>,
    seal: TestSeal,
    tree: BaselineTree,
    pub(super) hashes: FileHashes,
}

impl Evaluator {
    /// An evaluator whose oracles and steering files are those of this checkout.
    ///
    /// # Errors
    /// When the checkout cannot be read.
    pub(super) async fn new(
        plan: &Plan,
        checkout: &ProjectContext,
        cancel: &CancellationToken,
    ) -> Result<Self, ImproveError> {
        let context = checkout.tool_context(cancel.clone(), None);
        let input = input(plan);
        Ok(Evaluator {
            may_change: plan.may_change.clone(),
            seal: TestSeal::take(&input, false, &context)?,
            tree: BaselineTree::take(&context)?,
            hashes: FileHashes::take(&context).await?,
            input,
        })
    }

    /// Evaluates a checkout. None: it was interrupted.
    pub(super) async fn evaluate(
        &self,
        checkout: &ProjectContext,
        cancel: &CancellationToken,
    ) -> Option<Evaluation> {
        let begun = Instant::now();
        let mut evaluation = self.run(checkout.tool_context(cancel.clone(), None)).await;
        evaluation.elapsed_s = (begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        (!cancel.is_cancelled()).then_some(evaluation)
    }

    /// Evaluates a checkout of a candidate: with the tests that it added, and without them. A new test could change what the
    /// others do, so they must also pass alone; the added files are removed from the checkout.
    pub(super) async fn evaluate_candidate(
        &self,
        checkout: &ProjectContext,
        hashes: &FileHashes,
        cancel: &CancellationToken,
    ) -> Option<Evaluation> {
        let whole = self.evaluate(checkout, cancel).await?;
        let added = self.hashes.added_tests(hashes);
        let Some(workspace) = checkout.workspace.as_ref().filter(|_| whole.ok && !added.is_empty()) else {
            return Some(whole);
        };
        for path in &added {
            std::fs::remove_file(workspace.root().join(path)).ok();
        }
        let alone = self.evaluate(checkout, cancel).await?;
        Some(match alone.ok {
            true => whole,
            false => Evaluation {
                reason: Some(format!("without the tests that were added: {}", alone.summary())),
                ..alone
            },
        })
    }

    async fn run(&self, mut context: ToolContext) -> Evaluation {
        let failed = |reason: String| Evaluation { reason: Some(reason), ..Evaluation::default() };
        let check = TestsCheck {
            seals: vec![&self.seal],
            may_change: &self.may_change,
            has_oracles: false,
            baseline: Some(&self.tree),
        };
        if let Some(line) = verified_line(&self.input, &check, &context) {
            match decide_command(&line, &context.gate()).await {
                Ok(command) => context.permit = command.into(),
                Err(verdict) => {
                    return failed(format!(
                        "the gate does not allow `{line}`: {} [{}]",
                        verdict.reason, verdict.rule
                    ));
                }
            }
        }
        let verdict = match Box::pin(verify_tests(&self.input, &check, &context)).await {
            Ok(verdict) => verdict,
            Err(error) => return failed(error.to_string()),
        };
        let Some(output) = verdict.output else {
            return failed(verdict.finding.unwrap_or_default());
        };
        let data = output.data;
        let passed = data.passed.unwrap_or(0);
        let not_failed = data.failed.unwrap_or(0) + data.errors.unwrap_or(0);
        let missing = passed + not_failed == 0 && data.runner.is_missing(&output.text);
        let reason = if missing || matches!(data.exit_code, Some(126 | 127)) {
            return failed("the test runner is not installed".into());
        } else {
            output.error.or(verdict.finding)
        };
        Evaluation {
            ok: reason.is_none(),
            passed,
            failed: not_failed,
            failing_tests: data.failing_tests.into_iter().take(MAX_LISTED_TESTS).collect(),
            elapsed_s: 0.0,
            reason: reason.map(|reason| truncate::head(&context.redactor.text(&reason), 600)),
            ran: true,
        }
    }
}

fn input(plan: &Plan) -> TestsInput {
    let input = match &plan.evaluate {
        Some(line) => tests_of_line(line),
        None => TestsInput { runner: Runner::Auto, args: Vec::new(), command: None, timeout: None },
    };
    let deadline = if plan.deadline_s == 0 { EVALUATION_TIMEOUT_SECONDS } else { plan.deadline_s };
    TestsInput { timeout: Some(deadline.min(EVALUATION_TIMEOUT_SECONDS)), ..input }
}

/// The evaluation as a commitment of a workflow.
#[must_use]
pub(super) fn commitment(plan: &Plan) -> String {
    plan.evaluate.as_ref().map_or_else(|| "tests_pass:auto".to_string(), |line| format!("shell:{line}"))
}
