//! The benchmark suite as the evaluation of a checkout.
//!
//! Agents solve the tasks of the suite, each in a workspace of its own, and are told the instructions and skills of the checkout: that
//! is what a checkout can change about how agents work. Hidden tests are counted. What the solvers cost is charged to the run.
//!
//! Limits: it takes as long as the suite, so steps of a session are not evaluated. Replies of a model vary, and so do the counts.

use super::ImproveError;
use super::evaluation::Evaluation;
use super::plan::{EvaluationMethod, Plan};
use super::progress::Progress;
use crate::LabError;
use crate::runner::{Bench, Runner};
use crate::suite::{self, Row};
use crate::task::{self, Task};
use marvin_agent::ProjectContext;
use marvin_base::run::RunDirectory;
use marvin_base::settings::table;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

const COST_VARIABLE: &str = "MARVIN_COST_LEDGER";

/// Evaluates checkouts by the benchmark suite.
#[derive(Debug)]
pub(super) struct SuiteEvaluator {
    bench: Bench,
    tasks: Vec<Task>,
    /// The directory for its results.
    out: PathBuf,
    progress: Progress,
}

impl SuiteEvaluator {
    /// The evaluator of a plan; none: it does not ask for the suite.
    ///
    /// # Errors
    /// When a task is unknown, or Python with pytest is missing.
    pub(super) async fn open(
        plan: &Plan,
        project: &ProjectContext,
        run: &RunDirectory,
        progress: &Progress,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>, ImproveError> {
        let EvaluationMethod::Suite(tasks) = &plan.evaluate else { return Ok(None) };
        let tasks = task::find(tasks)?;
        let settings = &project.settings;
        if settings.on(&table::LAB) {
            return Err(ImproveError::InsideTask);
        }
        let provider = plan.suite_provider().to_string();
        let script = settings.given(&table::SCRIPT).map(|script| project.directory.join(script));
        let recordings = provider == "mock" && script.is_none();
        let given = |setting: &'static marvin_base::settings::Setting| {
            settings.given(setting).map(|text| (setting.key, text.to_string()))
        };
        let mut flags = vec![(table::PROVIDER.key, provider)];
        flags.extend(script.map(|script| (table::SCRIPT.key, script.display().to_string())));
        flags.extend([&table::MODEL, &table::MAX_COST, &table::DEADLINE].into_iter().filter_map(given));
        let bench = Bench::open(
            project.environment.clone().with(COST_VARIABLE, run.cost().display().to_string()),
            project.directory.clone(),
            flags,
            recordings,
            settings.text(&table::LAB_PYTHON),
            cancel.clone(),
        );
        let bench = bench.await.map_err(|error| match error {
            // Its own hint names an option that this command does not have.
            LabError::Python { program, problem } => ImproveError::Python { program, problem },
            other => other.into(),
        })?;
        let out = run.path().join("suite");
        Ok(Some(SuiteEvaluator { bench, tasks, out, progress: progress.clone() }))
    }

    pub(super) async fn evaluate(&self, checkout: &ProjectContext, cancel: &CancellationToken) -> Evaluation {
        let Some(workspace) = &checkout.workspace else {
            return Evaluation::failed("the checkout is not a workspace".into());
        };
        let name = workspace.root().file_name().unwrap_or_default();
        let shown = name.to_string_lossy().into_owned();
        let bench = Bench {
            checkout: Some(workspace.root().to_path_buf()),
            cancel: cancel.clone(),
            ..self.bench.clone()
        };
        let plan = suite::Plan {
            tasks: self.tasks.clone(),
            runners: vec![Runner::Hierarchical],
            repeat: 1,
            concurrency: 1,
            out: self.out.join(name),
            keep: false,
        };
        let tell = |row: &Row| {
            let total = row.passed + row.failed;
            self.progress
                .say(&format!("suite, {shown}: {}: {}/{total} hidden tests", row.task_id, row.passed));
        };
        match Box::pin(suite::run(&plan, &bench, tell)).await {
            Ok((rows, _)) => count(&rows),
            Err(error) => Evaluation::failed(error.to_string()),
        }
    }
}

/// Hidden tests over all tasks; tasks that are not solved have the place of failing tests.
fn count(rows: &[Row]) -> Evaluation {
    let unsolved: Vec<String> =
        rows.iter().filter(|row| !row.success).map(|row| row.task_id.clone()).collect();
    let solved = rows.len() - unsolved.len();
    Evaluation {
        ok: unsolved.is_empty(),
        passed: rows.iter().map(|row| row.passed).sum(),
        failed: rows.iter().map(|row| row.failed).sum(),
        reason: (!unsolved.is_empty()).then(|| format!("{solved} of {} tasks were solved", rows.len())),
        failing_tests: unsolved,
        ran: true,
        ..Evaluation::default()
    }
}
