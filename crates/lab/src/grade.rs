//! Grading in a fresh temporary directory: the graded files of the solver, the original visible tests, and the hidden tests.
//!
//! Other changes of a solver have no effect: its own tests, `conftest.py`, `sitecustomize.py` or `pytest.py` are not copied.
//!
//! The judge (`judge/judge.py`) runs in the sandbox without network. It never loads the solver's code into its own process, and
//! the hidden tests are deleted before any of that code runs. Its report counts only with the secret that it was given.
//!
//! Limits: the solver's code can falsify what is counted *inside its own process* (operations), but not its results.

use crate::error::LabError;
use crate::python::Python;
use crate::snapshot::{Snapshot, put};
use crate::task::Task;
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use marvin_gate::JudgedCommand;
use marvin_tools::command::run_verification_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const JUDGE: &str = include_str!("../judge/judge.py");
const JUDGE_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_JUDGE_REPORT_BYTES: u64 = 4 * 1024 * 1024;

/// The grade of a solution.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// Hidden tests that passed.
    pub passed: u64,
    /// Hidden tests that did not, or were not run.
    pub failed: u64,
    /// From 0 to 1: the share of each criterion's tests, weighted.
    pub score: f64,
    /// The share of each criterion.
    pub criteria: BTreeMap<String, f64>,
    /// Hidden tests that did not pass, and why.
    pub failing: Vec<TestFailure>,
    /// Visible tests, as they were given.
    pub visible_passed: u64,
    /// Those of them that failed.
    pub visible_failed: u64,
    /// Why the judge left no report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Grade {
    /// Did all hidden tests pass?
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

/// A hidden test that did not pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFailure {
    pub test: String,
    pub why: String,
}

#[derive(Debug, Deserialize)]
struct Report {
    secret: String,
    tests: BTreeMap<String, Verdict>,
    errors: Vec<String>,
    visible: VisibleCounts,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    passed: bool,
    why: String,
}

#[derive(Debug, Default, Deserialize)]
struct VisibleCounts {
    passed: u64,
    failed: u64,
}

/// The tests to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    Hidden,
    /// Hidden and visible tests.
    All,
}

/// Grades a solution.
///
/// # Errors
/// When the judge cannot be started or contained, or was interrupted. What the solver's code does is never an error.
pub async fn grade(
    task: &Task,
    solution: &Snapshot,
    which: Tests,
    python: &Python,
    environment: &Environment,
    cancel: &CancellationToken,
) -> Result<Grade, LabError> {
    let directory = tempfile::Builder::new().prefix("marvin-grade-").tempdir();
    let directory = directory.map_err(|error| LabError::file(Path::new("a temporary directory"), error))?;
    // The sandbox sees canonical paths.
    let root = directory.path().canonicalize().map_err(|error| LabError::file(directory.path(), error))?;
    solution.write(&root.join("solution"))?;
    let tests = task.directory("starter").filter(|(path, _)| path.starts_with("tests/"));
    for (path, text) in tests.filter(|_| which == Tests::All) {
        put(&root.join(path), text.as_bytes())?;
    }
    for (path, text) in task.directory("hidden") {
        put(&root.join("hidden").join(path), text.as_bytes())?;
    }
    let secret = marvin_base::ids::short(32);
    put(&root.join("secret"), secret.as_bytes())?;
    put(&root.join("judge.py"), JUDGE.as_bytes())?;

    let project = ProjectContext::find(environment.clone(), root.clone(), Some(&root), true, Vec::new())?;
    let context = project.tool_context(cancel.clone(), None);
    let command = JudgedCommand::own(&python.program, &["-I", "-B", "judge.py"]);
    let ran = run_verification_line(command, JUDGE_TIMEOUT, &context).await;
    let ran = ran
        .map_err(|error| LabError::Python { program: python.program.clone(), problem: error.to_string() })?;
    if cancel.is_cancelled() {
        return Err(LabError::Interrupted);
    }
    let report = files::read_text(&root.join("report.json"), MAX_JUDGE_REPORT_BYTES, Links::Refuse).ok();
    let report = report.and_then(|text| serde_json::from_str::<Report>(&text).ok());
    Ok(match report.filter(|report| report.secret == secret) {
        Some(report) => weigh(task, &report),
        None => Grade {
            failed: task.facts.hidden_tests,
            problem: Some(format!("the judge left no report: {}", truncate::line(&ran.text, 400))),
            ..Grade::default()
        },
    })
}

/// Computes the grade from a report; tests that were not run have failed.
fn weigh(task: &Task, report: &Report) -> Grade {
    let mut shares: BTreeMap<&str, (u64, u64)> =
        task.facts.criteria.keys().map(|name| (name.as_str(), (0, 0))).collect();
    let mut grade = Grade {
        visible_passed: report.visible.passed,
        visible_failed: report.visible.failed,
        problem: report.errors.first().map(|error| truncate::line(error, 400)),
        ..Grade::default()
    };
    for (test, verdict) in &report.tests {
        if let Some((passed, all)) = task.criterion(test).and_then(|name| shares.get_mut(name)) {
            *passed += u64::from(verdict.passed);
            *all += 1;
        }
        if verdict.passed {
            grade.passed += 1;
        } else {
            grade.failing.push(TestFailure { test: test.clone(), why: verdict.why.clone() });
        }
    }
    grade.passed = grade.passed.min(task.facts.hidden_tests);
    grade.failed = task.facts.hidden_tests - grade.passed;
    for (name, (passed, all)) in shares {
        #[expect(clippy::cast_precision_loss, reason = "a few dozen tests")]
        let share = if all == 0 { 0.0 } else { passed as f64 / all as f64 };
        grade.score += share * task.facts.criteria.get(name).copied().unwrap_or_default();
        grade.criteria.insert(name.to_string(), share);
    }
    // Rounds away floating-point errors of the sum.
    grade.score = (grade.score * 1e6).round() / 1e6;
    grade
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task;

    fn report(tests: &[(&str, bool)]) -> Report {
        let tests = tests
            .iter()
            .map(|(name, passed)| (name.to_string(), Verdict { passed: *passed, why: String::new() }))
            .collect();
        Report { secret: String::new(), tests, errors: Vec::new(), visible: VisibleCounts::default() }
    }

    #[test]
    fn scores_are_weighted_and_missing_tests_fail() {
        let dedupe = task::find(&["dedupe-sorted".into()]).unwrap().remove(0);
        let grade = weigh(&dedupe, &report(&[("test_result", true), ("test_cost_of_groups[1]", false)]));
        assert_eq!((grade.passed, grade.failed), (1, 5));
        assert!((grade.score - 0.5).abs() < 1e-9 && !grade.is_complete());
        assert_eq!(grade.failing.len(), 1);
        let none = weigh(&dedupe, &report(&[]));
        assert_eq!((none.passed, none.failed), (0, 6));
        assert!(!none.is_complete() && none.score.abs() < 1e-9);
    }
}
