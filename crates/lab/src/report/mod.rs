//! The report of a suite: `suite-report.json` for programs, `suite-report.md` and `suite-report.html` for people.

pub(crate) mod chart;
pub(crate) mod html;
pub(crate) mod markdown;

use crate::error::LabError;
use crate::runner::Runner;
use crate::suite::Row;
use marvin_base::atomic;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The file name without extension.
pub const NAME: &str = "suite-report";

/// The note in every report that was made with recordings.
pub const RECORDED: &str = "The model's replies were recordings: scripts from the task directories that the built-in mock played. \
    The shell, the tools, the tests and the grading were real; the solutions and their mistakes are the recordings'. \
    These figures show how the runners treat the same mistakes, and say nothing of any model.";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `marvin`.
    pub suite: String,
    /// The version of the program.
    pub version: String,
    pub generated_at: String,
    pub provider: String,
    pub model: Option<String>,
    /// Whether the replies were recordings.
    pub recordings: bool,
    /// A caveat for readers of the figures.
    pub note: Option<String>,
    /// The version that graded.
    pub python: String,
    pub repeat: u32,
    pub interrupted: bool,
    /// One entry for each runner.
    pub runners: Vec<Summary>,
    /// One entry for each task, runner and repetition.
    pub tasks: Vec<Row>,
}

/// The figures of one runner over all tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub runner: String,
    pub meaning: String,
    /// Attempts at tasks.
    pub runs: u64,
    /// Those in which every hidden test passed.
    pub successes: u64,
    /// Their share.
    pub pass_rate: f64,
    /// The mean of the scores.
    pub mean_score: f64,
    /// How often it claimed to have solved a task.
    pub claims: u64,
    /// How often the claim was false.
    pub false_completions: u64,
    /// Their share of all claims; 0 without claims.
    pub false_completion_rate: f64,
    /// Sums over all tasks.
    pub wall_time_s: f64,
    pub model_calls: u64,
    pub tool_calls: u64,
    /// Attempts at steps.
    pub attempts: u64,
    pub lessons: u64,
    /// None if a price is not known.
    pub cost_usd: Option<f64>,
    /// Input and output tokens.
    pub tokens: u64,
}

#[expect(clippy::cast_precision_loss, reason = "counts of attempts and calls")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64 * 1e6).round() / 1e6 }
}

/// A sum that is 0 and not -0 for no values.
fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

fn summary(runner: Runner, rows: &[Row]) -> Summary {
    let own: Vec<&Row> = rows.iter().filter(|row| row.runner == runner.name()).collect();
    let count = |pick: fn(&Row) -> bool| own.iter().filter(|row| pick(row)).count() as u64;
    let sum = |pick: fn(&Row) -> u64| own.iter().map(|row| pick(row)).sum::<u64>();
    let runs = own.len() as u64;
    let (successes, claims) = (count(|row| row.success), count(|row| row.claimed));
    let false_completions = count(|row| row.false_completion);
    let scores = total(own.iter().map(|row| row.score));
    let costs: Vec<f64> = own.iter().filter_map(|row| row.cost_usd).collect();
    let asked = count(|row| row.model_calls > 0);
    #[expect(clippy::cast_precision_loss, reason = "a count of attempts")]
    let mean_score = if runs == 0 { 0.0 } else { (scores / runs as f64 * 1e6).round() / 1e6 };
    Summary {
        runner: runner.name().to_string(),
        meaning: runner.meaning().to_string(),
        runs,
        successes,
        pass_rate: share(successes, runs),
        mean_score,
        claims,
        false_completions,
        false_completion_rate: share(false_completions, claims),
        wall_time_s: (total(own.iter().map(|row| row.wall_time_s)) * 1000.0).round() / 1000.0,
        model_calls: sum(|row| row.model_calls),
        tool_calls: sum(|row| row.tool_calls),
        attempts: sum(|row| row.attempts),
        lessons: sum(|row| row.lessons),
        cost_usd: (costs.len() as u64 >= asked).then(|| total(costs.iter().copied())),
        tokens: sum(|row| row.input_tokens + row.output_tokens),
    }
}

impl Report {
    /// A report of these rows; the caller sets the other fields.
    #[must_use]
    pub fn new(runners: &[Runner], rows: Vec<Row>, recordings: bool) -> Report {
        Report {
            suite: "marvin".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            generated_at: marvin_base::clock::now_stamp(),
            recordings,
            note: recordings.then(|| RECORDED.to_string()),
            runners: runners.iter().map(|runner| summary(*runner, &rows)).collect(),
            tasks: rows,
            ..Report::default()
        }
    }

    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    #[must_use]
    pub fn html(&self) -> String {
        html::render(self)
    }

    /// Writes all three files and returns their paths.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<[PathBuf; 3], LabError> {
        std::fs::create_dir_all(directory).map_err(|error| LabError::file(directory, error))?;
        let paths = ["json", "md", "html"].map(|ending| directory.join(format!("{NAME}.{ending}")));
        let json = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        for (path, text) in paths.iter().zip([json, self.markdown(), self.html()]) {
            atomic::replace(path, text.as_bytes())?;
        }
        Ok(paths)
    }
}

/// The outcome in words, since colour alone is not accessible.
fn verdict(row: &Row) -> &'static str {
    match (row.success, row.false_completion) {
        (true, _) => "solved",
        (false, true) => "false completion",
        (false, false) => "not solved",
    }
}

/// A share as a percentage.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Dollars, or a dash if they are not known.
fn dollars(cost: Option<f64>) -> String {
    cost.map_or_else(|| "–".to_string(), |cost| format!("{cost:.4}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn example() -> Report {
        let row = |task: &str, runner: &str, success: bool, claimed: bool| Row {
            task_id: task.into(),
            category: "parsing & <more>".into(),
            runner: runner.into(),
            repeat: 1,
            success,
            claimed,
            false_completion: claimed && !success,
            passed: if success { 9 } else { 4 },
            failed: if success { 0 } else { 5 },
            score: if success { 1.0 } else { 0.4 },
            scores: vec![0.4],
            model_calls: 3,
            tool_calls: 5,
            wall_time_s: 1.25,
            cost_usd: Some(0.01),
            error: Some("a | b <c>".into()),
            artifacts_path: format!("{task}/{runner}-1"),
            ..Row::default()
        };
        let rows = vec![
            row("a-task", "baseline", false, true),
            row("a-task", "oracle", true, true),
            row("b-task", "baseline", false, false),
            row("b-task", "oracle", true, true),
        ];
        Report {
            provider: "mock".into(),
            python: "3.13, pytest 8".into(),
            repeat: 1,
            ..Report::new(&[Runner::Baseline, Runner::Oracle], rows, true)
        }
    }

    #[test]
    fn figures_add_up() {
        let report = example();
        let baseline = &report.runners[0];
        assert_eq!(
            (baseline.runs, baseline.successes, baseline.claims, baseline.false_completions),
            (2, 0, 1, 1)
        );
        assert!((baseline.false_completion_rate - 1.0).abs() < 1e-9 && baseline.pass_rate.abs() < 1e-9);
        assert!((report.runners[1].pass_rate - 1.0).abs() < 1e-9);
        assert_eq!(baseline.cost_usd, Some(0.02));
        let nothing = Report::new(&[Runner::Baseline], Vec::new(), false);
        assert!(!nothing.markdown().contains("-0.0"), "{}", nothing.markdown());
    }

    #[test]
    fn all_three_are_written_and_say_that_they_are_recordings() {
        let directory = tempfile::tempdir().unwrap();
        let paths = example().write(directory.path()).unwrap();
        let texts = paths.map(|path| std::fs::read_to_string(path).unwrap());
        let read: Report = serde_json::from_str(&texts[0]).unwrap();
        assert_eq!(read, Report { generated_at: read.generated_at.clone(), ..example() });
        for text in &texts {
            assert!(text.contains("were recordings"), "{text}");
        }
    }
}
