//! The evaluator of checkouts: runs their tests or the command of the plan, in a fresh copy, judged and in the sandbox; or the
//! benchmark suite ([`super::suite_evaluation`]).

use super::ImproveError;
use super::changes::FileHashes;
use super::evaluation::Evaluation;
use super::plan::{EvaluationMethod, Plan};
use super::suite_evaluation::SuiteEvaluator;
use marvin_agent::ProjectContext;
use marvin_agent::commitments::tests_of_line;
use marvin_base::truncate;
use marvin_gate::decide_command;
use marvin_tools::ToolContext;
use marvin_tools::command::{
    BaselineTree, Runner, TestSeal, TestsCheck, TestsInput, verified_line, verify_tests,
};
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Failing tests that are listed.
const MAX_LISTED_TESTS: usize = 20;
const EVALUATION_TIMEOUT_SECONDS: u64 = 1800;

/// Evaluates checkouts by what steered the tests in one of them, or by the suite.
#[derive(Debug)]
pub(super) struct Evaluator {
    method: Method,
    pub(super) hashes: FileHashes,
}

#[derive(Debug)]
enum Method {
    Tests(Box<TestEvaluator>),
    Suite(Arc<SuiteEvaluator>),
}

impl Evaluator {
    /// An evaluator whose oracles and steering files are those of this checkout.
    ///
    /// # Errors
    /// When the checkout cannot be read.
    pub(super) async fn new(
        plan: &Plan,
        suite: Option<&Arc<SuiteEvaluator>>,
        checkout: &ProjectContext,
        cancel: &CancellationToken,
    ) -> Result<Self, ImproveError> {
        let context = checkout.tool_context(cancel.clone(), None);
        let method = match suite {
            Some(suite) => Method::Suite(suite.clone()),
            None => Method::Tests(Box::new(TestEvaluator::new(plan, &context)?)),
        };
        Ok(Evaluator { method, hashes: FileHashes::take(&context).await? })
    }

    /// Evaluates the checkout of a batch. None: it was interrupted.
    pub(super) async fn evaluate_base(
        &self,
        checkout: &ProjectContext,
        cancel: &CancellationToken,
    ) -> Option<Evaluation> {
        match &self.method {
            Method::Tests(tests) => tests.evaluate(checkout, cancel).await,
            Method::Suite(suite) => {
                let evaluation = timed(Box::pin(suite.evaluate(checkout, cancel))).await;
                (!cancel.is_cancelled()).then_some(evaluation)
            }
        }
    }

    /// Evaluates the worktree of a session after a step. None: it was interrupted, or the suite would take too long for every step.
    pub(super) async fn evaluate_step(
        &self,
        checkout: &ProjectContext,
        cancel: &CancellationToken,
    ) -> Option<Evaluation> {
        match &self.method {
            Method::Tests(tests) => tests.evaluate(checkout, cancel).await,
            Method::Suite(_) => None,
        }
    }

    /// Evaluates a checkout of a candidate. Tests are run with those that it added, and without them: a new test could change what
    /// the others do, so they must also pass alone; the added files are removed from the checkout. The suite must do better than on
    /// the base, unless nothing fails.
    pub(super) async fn evaluate_candidate(
        &self,
        checkout: &ProjectContext,
        hashes: &FileHashes,
        base: &Evaluation,
        cancel: &CancellationToken,
    ) -> Option<Evaluation> {
        let whole = self.evaluate_base(checkout, cancel).await?;
        let tests = match &self.method {
            Method::Tests(tests) => tests,
            Method::Suite(_) => return Some(require_growth(whole, base)),
        };
        let added = self.hashes.added_tests(hashes);
        let Some(workspace) = checkout.workspace.as_ref().filter(|_| whole.ok && !added.is_empty()) else {
            return Some(whole);
        };
        for path in &added {
            std::fs::remove_file(workspace.root().join(path)).ok();
        }
        let alone = tests.evaluate(checkout, cancel).await?;
        Some(match alone.ok {
            true => whole,
            false => Evaluation {
                reason: Some(format!("without the tests that were added: {}", alone.summary())),
                ..alone
            },
        })
    }
}

/// A model rarely solves every task: what counts is that fewer tests fail than before.
fn require_growth(found: Evaluation, base: &Evaluation) -> Evaluation {
    match found.ran && (found.failed == 0 || found.failed < base.failed) {
        true => Evaluation { ok: true, reason: None, ..found },
        false => {
            let reason = found.reason.clone().filter(|_| !found.ran);
            let grown = format!("{} hidden tests fail, and {} on the base", found.failed, base.failed);
            Evaluation { ok: false, reason: Some(reason.unwrap_or(grown)), ..found }
        }
    }
}

async fn timed(work: impl Future<Output = Evaluation>) -> Evaluation {
    let begun = Instant::now();
    let mut evaluation = work.await;
    evaluation.elapsed_s = (begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
    evaluation
}

/// Runs the tests of checkouts by what steered them in one of them.
#[derive(Debug)]
struct TestEvaluator {
    input: TestsInput,
    may_change: Vec<String>,
    seal: TestSeal,
    tree: BaselineTree,
}

impl TestEvaluator {
    fn new(plan: &Plan, context: &ToolContext) -> Result<Self, ImproveError> {
        let input = input(plan);
        Ok(TestEvaluator {
            may_change: plan.may_change.clone(),
            seal: TestSeal::take(&input, false, context)?,
            tree: BaselineTree::take(context)?,
            input,
        })
    }

    async fn evaluate(&self, checkout: &ProjectContext, cancel: &CancellationToken) -> Option<Evaluation> {
        let evaluation = timed(self.run(checkout.tool_context(cancel.clone(), None))).await;
        (!cancel.is_cancelled()).then_some(evaluation)
    }

    async fn run(&self, mut context: ToolContext) -> Evaluation {
        let failed = Evaluation::failed;
        let check = TestsCheck {
            seals: vec![&self.seal],
            may_change: &self.may_change,
            oracles: Vec::new(),
            baseline: Some(&self.tree),
        };
        let line = verified_line(&self.input, &check, &context);
        if let Some(line) = &line {
            match decide_command(line, &context.gate()).await {
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
            return failed(match line {
                Some(line) => format!("`{line}` needs a program that was not found"),
                None => "the test runner is not installed".into(),
            });
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
        EvaluationMethod::Command(line) => tests_of_line(line),
        EvaluationMethod::Tests | EvaluationMethod::Suite(_) => {
            TestsInput { runner: Runner::Auto, args: Vec::new(), command: None, timeout: None }
        }
    };
    let deadline = if plan.deadline_s == 0 { EVALUATION_TIMEOUT_SECONDS } else { plan.deadline_s };
    TestsInput { timeout: Some(deadline.min(EVALUATION_TIMEOUT_SECONDS)), ..input }
}

/// Commitments of a session's workflow. The suite is run on the candidate alone.
#[must_use]
pub(super) fn commitments(plan: &Plan) -> Vec<String> {
    match &plan.evaluate {
        EvaluationMethod::Tests => vec!["tests_pass:auto".to_string()],
        EvaluationMethod::Command(line) => vec![format!("shell:{line}")],
        EvaluationMethod::Suite(_) => Vec::new(),
    }
}

/// The evaluation as prompts name it.
#[must_use]
pub(super) fn describe(plan: &Plan) -> String {
    match &plan.evaluate {
        EvaluationMethod::Suite(tasks) => {
            let tasks = if tasks.is_empty() { "all tasks".to_string() } else { tasks.join(", ") };
            format!(
                "the benchmark suite ({tasks}), solved by agents that work with the instructions and skills of this checkout; fewer hidden tests must fail than in the baseline"
            )
        }
        EvaluationMethod::Tests | EvaluationMethod::Command(_) => {
            commitments(plan).iter().map(|one| format!("`{one}`")).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_must_do_better_than_on_the_base() {
        let suite = |passed, failed| Evaluation { ran: true, passed, failed, ..Evaluation::default() };
        for (found, base, ok) in [((9, 1), (8, 2), true), ((8, 2), (8, 2), false), ((7, 3), (8, 2), false)] {
            let found = require_growth(suite(found.0, found.1), &suite(base.0, base.1));
            assert_eq!((found.ok, found.reason.is_none()), (ok, ok), "{found:?}");
        }
        assert!(require_growth(suite(10, 0), &suite(10, 0)).ok, "nothing is left to improve");
        let broken = require_growth(Evaluation::failed("no Python".into()), &suite(8, 2));
        assert_eq!((broken.ok, broken.reason.as_deref()), (false, Some("no Python")));
    }
}
