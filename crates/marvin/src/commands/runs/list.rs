//! `marvin runs list` and `marvin list-runs`.

use crate::arguments::ProjectArguments;
use crate::commands::fleet::{self, ServerRun};
use crate::failure::Failure;
use crate::{output, project};
use clap::Args;
use marvin_base::printable::count;
use marvin_base::run_record::{self, RunStatus};
use marvin_base::{Exit, truncate};
use marvin_flow::view::{self, RunRow};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// List the runs of workflows
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  marvin list-runs\n  marvin list-runs --all\n  marvin list-runs --engine temporal\n  marvin list-runs --json | jq -r '.[] | select(.status == \"BLOCKED\") | .run_path'"
)]
pub(crate) struct ListRunsArguments {
    /// Also runs that are not workflows; of a server, also those of other projects
    #[arg(long)]
    all: bool,
    /// Where they are: local (this machine) or temporal (the server)
    #[arg(long, value_name = "NAME", value_parser = ["local", "temporal"], default_value = "local", hide_possible_values = true)]
    engine: String,
    #[command(flatten)]
    project: ProjectArguments,
}

/// List the runs of this project, newest first
#[derive(Debug, Args)]
#[command(
    after_help = "Runs of every kind: turns, workflows, pipelines, servitors, hooks, MCP servers, benchmarks.\n\nExamples:\n  marvin runs list\n  marvin runs list --json | jq -r '.[] | select(.kind == \"workflow\") | .id'"
)]
pub(crate) struct AllRunsArguments {
    #[command(flatten)]
    project: ProjectArguments,
}

#[derive(Serialize)]
struct RunLine {
    id: String,
    kind: String,
    status: String,
    started: String,
    goal: String,
    run_path: String,
}

impl RunLine {
    fn read(path: &Path) -> Self {
        let row = RunRow::read(path);
        RunLine {
            id: row.run_id.unwrap_or_default(),
            kind: row.manner.word().to_string(),
            status: row.status,
            started: row.started_at,
            goal: row.goal.unwrap_or_default(),
            run_path: row.run_path.unwrap_or_default(),
        }
    }
}

/// Lists runs of all kinds.
pub(crate) fn list_all(arguments: &AllRunsArguments) -> Result<Exit, Failure> {
    let rows: Vec<RunLine> =
        found(arguments.project.working_dir.as_deref())?.iter().map(|path| RunLine::read(path)).collect();
    if arguments.project.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        return output::line("This project has no runs.");
    }
    let width = |column: fn(&RunLine) -> &str| {
        rows.iter().map(|row| column(row).chars().count()).max().unwrap_or_default()
    };
    let (id, kind, started) = (width(|row| &row.id), width(|row| &row.kind), width(|row| &row.started));
    let status = width(|row| RunStatus::shown_word(&row.status));
    let line = |row: &RunLine| {
        let RunLine { goal, .. } = row;
        let line = format!(
            "{:id$}  {:kind$}  {:status$}  {:started$}  {}",
            row.id,
            row.kind,
            RunStatus::shown_word(&row.status),
            row.started,
            truncate::line(goal, 60)
        );
        line.trim_end().to_string()
    };
    output::line(&rows.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Lists runs of workflows, and others with `--all`.
pub(crate) fn list_workflows(arguments: &ListRunsArguments) -> Result<Exit, Failure> {
    if arguments.engine == "temporal" {
        return list_on_server(arguments);
    }
    let found = found(arguments.project.working_dir.as_deref())?;
    let chosen = found.iter().filter(|path| arguments.all || view::is_workflow(path));
    let rows: Vec<RunRow> = chosen.map(|path| RunRow::read(path)).collect();
    if arguments.project.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        return output::line("No workflow was run here.");
    }
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let steps = row.steps.map(|steps| count(steps, "step")).unwrap_or_default();
            let mut what = [&row.workflow_id, &row.goal].into_iter().flatten();
            let what = what.find(|text| !text.is_empty()).map(String::as_str).unwrap_or_default();
            let what = truncate::line(what, 60);
            let id = row.run_id.as_deref().unwrap_or_default();
            let status = RunStatus::shown_word(&row.status);
            let line = format!("{status:10}  {id}  {steps:12}  {what}");
            line.trim_end().to_string()
        })
        .collect();
    output::line(&output::visible(&lines.join("\n")))
}

/// Lists runs that the server of a fleet has.
fn list_on_server(arguments: &ListRunsArguments) -> Result<Exit, Failure> {
    let rows = fleet::list(arguments.project.working_dir.as_deref(), arguments.all)?;
    if arguments.project.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        return output::line("The server has no runs of this project.");
    }
    let line = |row: &ServerRun| {
        let what = row.workflow_id.as_deref().unwrap_or_default();
        let project = if arguments.all { format!("{:20}  ", row.project) } else { String::new() };
        let status = RunStatus::shown_word(&row.status);
        let line = format!("{status:10}  {}  {project}{}", row.run_id, truncate::line(what, 60));
        line.trim_end().to_string()
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    output::line(&output::visible(&lines.join("\n")))
}

/// The runs of the project; outside of a project, those that belong to none.
fn found(working_dir: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let layout = project::layout_around(working_dir)?;
    if let Some(note) = project::moved_note(&layout) {
        output::talk(&note);
    }
    let places = layout.run_directories();
    Ok(places.iter().find(|place| place.is_dir()).map(|place| run_record::list(place)).unwrap_or_default())
}
