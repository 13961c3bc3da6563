//! `marvin list-tasks`, `run-task`, `run-suite`: the benchmark suite.

use super::{cancel_on_signal, directory, project, runtime};
use crate::cli::{BenchArguments, RunSuiteArguments, RunTaskArguments};
use crate::failure::Failure;
use crate::output;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{RunKind, RunRecord, RunStatus};
use marvin_base::settings::{Settings, Sources, table};
use marvin_base::{Exit, child, truncate};
use marvin_lab::report::Report;
use marvin_lab::runner::{Bench, Runner};
use marvin_lab::suite::{self, Plan, Row};
use marvin_lab::{LabError, Python, task};
use serde_json::{Value, json};
use std::path::PathBuf;

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Failure { exit: error.exit(), message: error.to_string(), run: None }
    }
}

/// `marvin list-tasks`.
pub(super) fn list(show: Option<&str>, as_json: bool) -> Result<Exit, Failure> {
    let tasks = task::find(&show.map(str::to_string).into_iter().collect::<Vec<_>>())?;
    if as_json {
        let shown = |task: &task::Task| {
            let mut value = json!(task.facts);
            if let (Some(map), true) = (value.as_object_mut(), show.is_some()) {
                map.insert("text".into(), task.text.clone().into());
            }
            value
        };
        let all: Vec<Value> = tasks.iter().map(shown).collect();
        return output::json(&json!(all));
    }
    if show.is_some() {
        return output::line(&tasks.iter().map(|task| task.text.as_str()).collect::<String>());
    }
    let row = |task: &task::Task| {
        let facts = &task.facts;
        format!(
            "{:22}  {:12}  {}  {}",
            facts.id,
            facts.category,
            facts.difficulty,
            truncate::line(&facts.description, 120)
        )
    };
    output::line(&tasks.iter().map(row).collect::<Vec<_>>().join("\n"))
}

/// `marvin run-task`.
pub(super) fn run_task(arguments: &RunTaskArguments) -> Result<Exit, Failure> {
    let tasks = task::find(std::slice::from_ref(&arguments.task_id))?;
    let runners = runners(std::slice::from_ref(&arguments.runner))?;
    let plan = |out| Plan { tasks, runners, repeat: 1, concurrency: 1, out, keep: arguments.keep };
    let (report, out) = drive(&arguments.bench, plan, true)?;
    let Some(row) = report.tasks.first() else { return Ok(Exit::Interrupted) };
    let artifacts = out.join(&row.artifacts_path).display().to_string();
    if arguments.bench.json {
        let mut value = json!(row);
        if let Some(map) = value.as_object_mut() {
            map.insert("artifacts_path".into(), artifacts.into());
            map.insert("recordings".into(), report.recordings.into());
        }
        output::json(&value)?;
    } else {
        output::line(&told(row))?;
        output::line(&format!("artifacts: {artifacts}"))?;
        if let Some(workspace) = &row.workspace {
            output::line(&format!("workspace: {workspace}"))?;
        }
    }
    Ok(match (row.success, row.false_completion) {
        (true, _) => Exit::Success,
        (false, true) => Exit::NotVerified,
        (false, false) => Exit::Failed,
    })
}

/// `marvin run-suite`.
pub(super) fn run_suite(arguments: &RunSuiteArguments) -> Result<Exit, Failure> {
    let tasks = task::find(&arguments.tasks)?;
    let runners = runners(&arguments.runners)?;
    let (repeat, concurrency) = (arguments.repeat, arguments.concurrency as usize);
    let plan = |out| Plan { tasks, runners, repeat, concurrency, out, keep: false };
    let (report, out) = drive(&arguments.bench, plan, arguments.bench.json)?;
    let paths = report.write(&out)?.map(|path| path.display().to_string());
    if arguments.bench.json {
        let mut value = json!(report);
        if let Some(map) = value.as_object_mut() {
            map.insert("reports".into(), json!(paths));
        }
        output::json(&value)?;
    } else {
        for one in &report.runners {
            output::line(&format!(
                "{:14} solved {:>2} of {:<2}  mean score {:.2}  false completions {} of {} claims  {:.1} s  {} model calls  {} tool calls  {} lessons",
                one.runner,
                one.successes,
                one.runs,
                one.mean_score,
                one.false_completions,
                one.claims,
                one.wall_time_s,
                one.model_calls,
                one.tool_calls,
                one.lessons
            ))?;
        }
        for path in &paths {
            output::line(path)?;
        }
        if report.recordings {
            output::talk("note: the model's replies were recordings; the report says what that means");
        }
    }
    Ok(if report.interrupted { Exit::Interrupted } else { Exit::Success })
}

fn runners(names: &[String]) -> Result<Vec<Runner>, Failure> {
    let mut runners = Vec::new();
    for name in names {
        let runner = Runner::find(name).map_err(|why| Failure::usage(format!("--runner: {why}")))?;
        if !runners.contains(&runner) {
            runners.push(runner);
        }
    }
    Ok(runners)
}

/// One line about a row.
fn told(row: &Row) -> String {
    let what = match (row.success, row.false_completion) {
        (true, _) => "solved",
        (false, true) => "false completion",
        (false, false) => "not solved",
    };
    let mut line = format!(
        "{what:16}  {:22}  {:12}  {}/{} hidden tests  score {:.2}  {:.1} s  {} model calls  {} tool calls  {} lessons",
        row.task_id,
        row.runner,
        row.passed,
        row.passed + row.failed,
        row.score,
        row.wall_time_s,
        row.model_calls,
        row.tool_calls,
        row.lessons
    );
    if !row.changed_tests.is_empty() {
        line.push_str(&format!("  (it changed {}; restored)", row.changed_tests.join(", ")));
    }
    line
}

/// Runs a plan. `quiet`: nobody is told of rows as they are done.
fn drive(
    arguments: &BenchArguments,
    plan: impl FnOnce(PathBuf) -> Plan,
    quiet: bool,
) -> Result<(Report, PathBuf), Failure> {
    let environment = Environment::of_process();
    let here = directory()?;
    let layout = Layout::new(&environment, project(None)?.as_deref());
    let settings = Settings::load(&Sources {
        flags: arguments.python.iter().map(|python| (table::LAB_PYTHON.key, python.clone())).collect(),
        environment: environment.clone(),
        project: layout.project_config(),
        user: Some(layout.user_config()),
    })
    .map_err(|error| Failure::usage(error.to_string()))?;
    if settings.on(&table::LAB) {
        return Err(Failure::refused(
            "whoever solves a benchmark task does not run the benchmark (MARVIN_LAB is set)",
        ));
    }
    let provider = arguments.provider.clone().unwrap_or_else(|| "mock".into());
    let script = arguments.script.as_ref().map(|path| here.join(path));
    let recordings = provider == "mock" && script.is_none();
    let flags = [
        ("model.provider", Some(provider.clone())),
        ("model.name", arguments.model.clone()),
        ("model.script", script.map(|path| path.display().to_string())),
        ("limits.cost_usd", arguments.max_cost.clone()),
        ("limits.deadline_s", arguments.deadline.clone()),
    ];
    let flags = flags.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let named = settings.text(&table::LAB_PYTHON).to_string();
    let (out, run) = match &arguments.out {
        Some(out) => (here.join(out), None),
        None => {
            let run = RunDirectory::create_in(&layout).map_err(|error| Failure::failed(error.to_string()))?;
            (run.path().join("reports"), Some(run))
        }
    };
    let plan = plan(out.clone());
    let runners = plan.runners.clone();
    let model = arguments.model.clone();
    let repeat = plan.repeat;
    let driven = async move {
        let cancel = cancel_on_signal();
        let python = Python::find(&named, &here, &cancel).await?;
        let mut variables = python.variables(&environment);
        variables.insert("MARVIN_LAB".into(), "1".into());
        child::set_for_all(variables);
        let version = python.version.clone();
        let bench = Bench { environment, directory: here, flags, recordings, python, cancel };
        let (rows, interrupted) = suite::run(&plan, &bench, |row| {
            if !quiet {
                output::talk(&told(row));
            }
        })
        .await?;
        let report = Report::new(&runners, rows, recordings);
        Ok::<Report, Failure>(Report { provider, model, python: version, repeat, interrupted, ..report })
    };
    let result = runtime()?.block_on(driven);
    if let Some(run) = run {
        let status = match &result {
            Ok(report) if report.interrupted => RunStatus::Interrupted,
            Ok(_) => RunStatus::Success,
            Err(_) => RunStatus::Failed,
        };
        let record = RunRecord {
            status: Some(status),
            ended_at: Some(marvin_base::clock::now_stamp()),
            ..RunRecord::new(RunKind::Suite)
        };
        run.save(&record, &output::environment_redactor())
            .map_err(|error| Failure::failed(error.to_string()))?;
    }
    Ok((result?, out))
}
