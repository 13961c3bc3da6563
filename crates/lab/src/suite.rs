//! Runs tasks, runners and repetitions: each in a workspace of its own, graded outside, as one row.

use crate::error::LabError;
use crate::grade::{Grade, Tests, grade};
use crate::runner::{AttemptDirectory, Bench, Runner, RunnerReport, solve, state_beside};
use crate::snapshot::{Snapshot, changed_tests, copy_files};
use crate::task::Task;
use futures_util::StreamExt as _;
use marvin_base::atomic;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One attempt at one task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub task_id: String,
    pub category: String,
    /// 1 to 5.
    pub difficulty: u8,
    pub runner: String,
    /// The repetition, from 1.
    pub repeat: u32,
    /// The runner's own word.
    pub status: String,
    /// Whether every hidden test passed.
    pub success: bool,
    /// Whether the runner claims to have solved the task.
    pub claimed: bool,
    /// It claims so, and hidden tests fail.
    pub false_completion: bool,
    /// Hidden tests that passed.
    pub passed: u64,
    /// Hidden tests that did not.
    pub failed: u64,
    /// Of the best intermediate state.
    pub best_passed: u64,
    /// Of the best intermediate state.
    pub best_failed: u64,
    /// 0 to 1.
    pub score: f64,
    /// Scores of all states, oldest first; the last is final.
    pub scores: Vec<f64>,
    /// Of the original visible tests.
    pub visible_passed: u64,
    pub visible_failed: u64,
    /// Visible tests that the solver changed; they were restored.
    pub changed_tests: Vec<String>,
    /// Seconds of solving, without grading.
    pub wall_time_s: f64,
    pub model_calls: u64,
    pub tool_calls: u64,
    /// Attempts at steps.
    pub attempts: u64,
    pub lessons: u64,
    /// None if a price is not known.
    pub cost_usd: Option<f64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub error: Option<String>,
    /// Its files, below the directory of the report.
    pub artifacts_path: String,
    /// The workspace, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// The tasks and runners to run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub tasks: Vec<Task>,
    pub runners: Vec<Runner>,
    pub repeat: u32,
    pub concurrency: usize,
    /// The directory for results.
    pub out: PathBuf,
    /// Whether to keep workspaces.
    pub keep: bool,
}

impl Plan {
    /// All attempts, in the order of the report.
    fn cells(&self) -> Vec<(&Task, Runner, u32)> {
        let mut cells = Vec::new();
        for task in &self.tasks {
            for runner in &self.runners {
                cells.extend((1..=self.repeat).map(|repeat| (task, *runner, repeat)));
            }
        }
        cells
    }
}

/// Runs a plan and calls `on_row` for every finished row; also returns whether it was interrupted.
///
/// # Errors
/// When a task cannot be started or graded; finished attempts stay on the disk.
pub async fn run(
    plan: &Plan,
    bench: &Bench,
    mut on_row: impl FnMut(&Row),
) -> Result<(Vec<Row>, bool), LabError> {
    let cells = plan.cells();
    let jobs = cells.iter().enumerate().map(|(at, (task, runner, repeat))| async move {
        (at, Box::pin(one(task, *runner, *repeat, plan, bench)).await)
    });
    let mut running = futures_util::stream::iter(jobs).buffer_unordered(plan.concurrency.max(1));
    let mut rows = Vec::new();
    let mut interrupted = false;
    while let Some((at, row)) = running.next().await {
        match row {
            Ok(row) => {
                on_row(&row);
                rows.push((at, row));
            }
            Err(LabError::Interrupted) => interrupted = true,
            Err(error) => return Err(error),
        }
    }
    rows.sort_by_key(|(at, _)| *at);
    Ok((rows.into_iter().map(|(_, row)| row).collect(), interrupted))
}

/// One task, one runner, once.
async fn one(task: &Task, runner: Runner, repeat: u32, plan: &Plan, bench: &Bench) -> Result<Row, LabError> {
    if bench.cancel.is_cancelled() {
        return Err(LabError::Interrupted);
    }
    let attempt = AttemptDirectory::new(task)?;
    let begun = Instant::now();
    let solved = Box::pin(solve(runner, task, &attempt, bench)).await?;
    let wall_time_s = (begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
    let last = Snapshot::take(task, attempt.workspace());
    let mut states = solved.states.clone();
    if states.last() != Some(&last) {
        states.push(last);
    }
    let mut grades = Vec::new();
    for (at, state) in states.iter().enumerate() {
        let which = if at + 1 == states.len() { Tests::All } else { Tests::Hidden };
        let graded = grade(task, state, which, &bench.python, &bench.environment, &bench.cancel);
        grades.push(Box::pin(graded).await?);
    }
    let name = format!("{}/{}-{repeat}", task.id(), runner.name());
    let mut row = row(task, runner, &solved, &grades);
    row.repeat = repeat;
    row.wall_time_s = wall_time_s;
    row.changed_tests = changed_tests(task, attempt.workspace());
    row.artifacts_path.clone_from(&name);
    save(&plan.out.join(&name), attempt.workspace(), &row, &grades)?;
    if plan.keep {
        row.workspace = Some(attempt.keep().display().to_string());
    }
    Ok(row)
}

fn row(task: &Task, runner: Runner, solved: &RunnerReport, grades: &[Grade]) -> Row {
    let last = grades.last().cloned().unwrap_or_default();
    let best = grades.iter().max_by_key(|grade| grade.passed).unwrap_or(&last);
    let success = last.is_complete();
    Row {
        task_id: task.id().to_string(),
        category: task.facts.category.clone(),
        difficulty: task.facts.difficulty,
        runner: runner.name().to_string(),
        status: solved.status.clone(),
        success,
        claimed: solved.claimed,
        false_completion: solved.claimed && !success,
        passed: last.passed,
        failed: last.failed,
        best_passed: best.passed,
        best_failed: best.failed,
        score: last.score,
        scores: grades.iter().map(|grade| grade.score).collect(),
        visible_passed: last.visible_passed,
        visible_failed: last.visible_failed,
        model_calls: solved.model_calls,
        tool_calls: solved.tool_calls,
        attempts: solved.attempts,
        lessons: solved.lessons,
        cost_usd: solved.cost_usd,
        input_tokens: solved.tokens.0,
        output_tokens: solved.tokens.1,
        error: solved.error.clone().or_else(|| last.problem.clone()),
        ..Row::default()
    }
}

/// `grade.json` of an attempt.
#[derive(Serialize)]
struct GradeFile<'a> {
    row: &'a Row,
    grades: &'a [Grade],
}

/// Saves the workspace, the records of the attempt, and the grades.
fn save(place: &Path, workspace: &Path, row: &Row, grades: &[Grade]) -> Result<(), LabError> {
    copy_files(workspace, &place.join("workspace"))?;
    copy_files(&state_beside(workspace), &place.join("state"))?;
    std::fs::create_dir_all(place).map_err(|error| LabError::file(place, error))?;
    let text = serde_json::to_string_pretty(&GradeFile { row, grades }).unwrap_or_default() + "\n";
    Ok(atomic::replace(&place.join("grade.json"), text.as_bytes())?)
}
