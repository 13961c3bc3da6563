//! `marvin list-runs`.

use super::places;
use crate::cli::ListRunsArguments;
use crate::failure::Failure;
use crate::output;
use marvin_base::run_record::{self, RunKind, RunRecord, RunStatus};
use marvin_base::{Exit, truncate};
use marvin_flow::view;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The newest run of a workflow, also one that did not get beyond its plan.
pub(super) fn newest(places: &[PathBuf]) -> Option<PathBuf> {
    let is_one = |path: &PathBuf| view::is_workflow(path) || is_without_plan(path);
    places.iter().find_map(|place| run_record::list(place).into_iter().find(is_one))
}

/// Did the run end while its goal was made into a workflow?
pub(super) fn is_without_plan(run: &Path) -> bool {
    let record = RunRecord::read(run).unwrap_or_default();
    let is_planned = record.manner == RunKind::Workflow && record.status == Some(RunStatus::Planning);
    is_planned && !view::is_workflow(run)
}

/// Lists runs.
pub(in super::super) fn list(arguments: &ListRunsArguments) -> Result<Exit, Failure> {
    let places = places(arguments.working_dir.as_deref())?;
    // What is kept for no project is listed where there is no project.
    let place = places.iter().find(|place| place.is_dir());
    let found = place.map(|place| run_record::list(place)).unwrap_or_default();
    let mut rows = Vec::new();
    for path in found.into_iter().filter(|path| arguments.all || view::is_workflow(path)) {
        rows.push(view::row(&path));
    }
    if arguments.json {
        return output::json(&Value::Array(rows));
    }
    if rows.is_empty() {
        return output::line("There are no runs of workflows here.");
    }
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let steps = row
                .get("steps")
                .and_then(Value::as_u64)
                .map(|steps| format!("{steps} steps"))
                .unwrap_or_default();
            let what = [text(row, "workflow_id"), text(row, "goal")]
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or_default();
            let line = format!(
                "{:10}  {}  {:12}  {}",
                text(row, "status"),
                text(row, "run_id"),
                steps,
                truncate::line(&what, 60)
            );
            line.trim_end().to_string()
        })
        .collect();
    output::line(&output::visible(&lines.join("\n")))
}
