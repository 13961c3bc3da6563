//! The report as Markdown.

use super::{Report, Summary, dollars, percent, verdict};
use crate::suite::Row;

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ").replace('<', "&lt;")
}

pub(crate) fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|text| cell(text)).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

fn runner(summary: &Summary) -> Vec<String> {
    vec![
        summary.runner.clone(),
        format!("{} of {} ({})", summary.successes, summary.runs, percent(summary.pass_rate)),
        format!("{:.2}", summary.mean_score),
        format!(
            "{} of {} ({})",
            summary.false_completions,
            summary.claims,
            percent(summary.false_completion_rate)
        ),
        format!("{:.1}", summary.wall_time_s),
        summary.model_calls.to_string(),
        summary.tool_calls.to_string(),
        summary.lessons.to_string(),
        summary.tokens.to_string(),
        dollars(summary.cost_usd),
    ]
}

fn row(row: &Row) -> Vec<String> {
    vec![
        row.task_id.clone(),
        row.runner.clone(),
        verdict(row).to_string(),
        format!("{}/{}", row.passed, row.passed + row.failed),
        format!("{}/{}", row.best_passed, row.best_passed + row.best_failed),
        format!("{:.2}", row.score),
        format!("{:.1}", row.wall_time_s),
        row.model_calls.to_string(),
        row.tool_calls.to_string(),
        row.attempts.to_string(),
        row.lessons.to_string(),
        dollars(row.cost_usd),
        format!("[{0}]({0}/grade.json)", row.artifacts_path),
    ]
}

pub(super) fn render(report: &Report) -> String {
    let mut text = String::from("# Benchmark suite\n\n");
    if let Some(note) = &report.note {
        text.push_str(&format!("> **Recordings.** {note}\n\n"));
    }
    if report.interrupted {
        text.push_str("> **Interrupted.** Not everything that was planned was run.\n\n");
    }
    let model = report.model.as_deref().map(|model| format!(" ({model})")).unwrap_or_default();
    text.push_str(&format!(
        "{} · provider {}{model} · Python {} · each task {} × · marvin {}\n\n## Runners\n\n",
        report.generated_at, report.provider, report.python, report.repeat, report.version
    ));
    let heads = [
        "runner",
        "solved",
        "mean score",
        "false completions, of claims",
        "seconds",
        "model calls",
        "tool calls",
        "lessons",
        "tokens",
        "USD",
    ];
    text.push_str(&table(&heads, report.runners.iter().map(runner)));
    text.push('\n');
    for one in &report.runners {
        text.push_str(&format!("- `{}`: {}\n", one.runner, one.meaning));
    }
    text.push_str("\n## Tasks\n\n");
    let heads = [
        "task",
        "runner",
        "outcome",
        "hidden tests",
        "best",
        "score",
        "seconds",
        "model calls",
        "tool calls",
        "attempts",
        "lessons",
        "USD",
        "artifacts",
    ];
    text.push_str(&table(&heads, report.tasks.iter().map(row)));
    text.push_str(
        "\nA task is solved when all of its hidden tests pass. A false completion is a claim to have solved a task of which hidden tests fail. \
         Seconds are those of solving, without grading.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn tables_have_the_same_number_of_cells_in_every_row() {
        let text = super::super::tests::example().markdown();
        let mut width = 0;
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        for line in text.lines() {
            if !line.starts_with('|') {
                width = 0;
            } else if width == 0 {
                width = bars(line);
            } else {
                assert_eq!(bars(line), width, "{line}");
            }
        }
        assert!(text.contains("| a-task | baseline | false completion | 4/9 |"), "{text}");
    }
}
