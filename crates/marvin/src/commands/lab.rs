//! `marvin list-tasks`, `run-task`, `run-suite`: the benchmark suite.

use crate::arguments::{CostLimit, Deadline, parse_cost, parse_deadline, path_text, setting_flags, text};
use crate::failure::Failure;
use crate::output;
use crate::project::{current_directory, find_project};
use crate::runtime::{cancel_on_signal, runtime};
use clap::Args;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{RunKind, RunRecord, RunStatus};
use marvin_base::settings::{Settings, Sources, table};
use marvin_base::{Exit, truncate};
use marvin_lab::report::Report;
use marvin_lab::runner::{Bench, Runner};
use marvin_lab::suite::{self, Plan, Row};
use marvin_lab::{LabError, task};
use serde::Serialize;
use std::path::PathBuf;

const LIST_HELP: &str = "Examples:\n  marvin list-tasks\n  marvin list-tasks --json | jq -r '.[] | select(.difficulty > 3) | .id'\n  marvin list-tasks --show lru-cache";

const TASK_HELP: &str = "\
Runners:
  baseline      one agent, one session, taken at its word
  hierarchical  plans, works in steps, proves each and retries with a lesson
  oracle, nop   controls: the reference solution, and nothing at all

Without --provider and --script the built-in mock plays the task's recordings.
Exit code 0 when every hidden test passes, 3 when it was claimed and they do not, 1 otherwise, 4 without Python and pytest.

Examples:
  marvin run-task --task-id lru-cache --runner oracle
  marvin run-task --task-id single-flight --runner hierarchical --provider anthropic --max-cost 1
  marvin run-task --task-id stats-summary --runner baseline --script mine.jsonl --keep";

const SUITE_HELP: &str = "\
Writes suite-report.json, suite-report.md and suite-report.html. Without --provider and --script the built-in mock plays the \
tasks' recordings, and the report says so. Exit code 0 when everything was run, whatever the results.

Examples:
  marvin run-suite --out report
  marvin run-suite --runners oracle,nop
  marvin run-suite --tasks lru-cache,single-flight --runners baseline,hierarchical \\
    --provider openai --repeat 3 --max-cost 1";

/// List the tasks of the benchmark suite
#[derive(Debug, Args)]
#[command(after_help = LIST_HELP)]
pub(crate) struct ListTasksArguments {
    /// Print the instructions that a solver gets
    #[arg(long, value_name = "ID")]
    show: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The model, the grader and the limits of an attempt.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// The provider (default: the built-in mock)
    #[arg(long, visible_alias = "llm", value_name = "NAME")]
    provider: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// A script for the mock in place of the recordings (JSONL)
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// A Python that has pytest: a program, or the directory of a virtual environment (default: the setting lab.python)
    #[arg(long, value_name = "PATH")]
    python: Option<String>,
    /// Stop an attempt at a task when it has cost this many US dollars
    #[arg(long, value_name = "USD", value_parser = parse_cost)]
    max_cost: Option<CostLimit>,
    /// Stop an attempt at a task after this many seconds; 0: no limit
    #[arg(long, value_name = "SECONDS", value_parser = parse_deadline)]
    deadline: Option<Deadline>,
    /// The directory for reports and artifacts (default: a new run of the project, else of the user)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Run one task of the benchmark suite, and grade the result
#[derive(Debug, Args)]
#[command(after_help = TASK_HELP)]
pub(crate) struct RunTaskArguments {
    /// The task
    #[arg(long, value_name = "ID")]
    task_id: String,
    /// The runner that solves it
    #[arg(long, value_name = "NAME", default_value = "baseline", value_parser = Runner::find)]
    runner: Runner,
    /// Keep the workspace, and print its path
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    bench: BenchArguments,
}

/// Run the benchmark suite and write reports: JSON, Markdown, and a page with plots
#[derive(Debug, Args)]
#[command(after_help = SUITE_HELP)]
pub(crate) struct RunSuiteArguments {
    /// Only these tasks, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    tasks: Vec<String>,
    /// These runners, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "baseline,hierarchical", value_parser = Runner::find)]
    runners: Vec<Runner>,
    /// Repetitions of each task by each runner
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Number of parallel attempts; more than one makes wall times longer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    concurrency: u32,
    #[command(flatten)]
    bench: BenchArguments,
}

#[derive(Serialize)]
struct TaskRow<'a> {
    #[serde(flatten)]
    facts: &'a task::Facts,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// A row of the suite, with the whole path of its artifacts.
#[derive(Serialize)]
struct TaskReport<'a> {
    #[serde(flatten)]
    row: &'a Row,
    recordings: bool,
}

#[derive(Serialize)]
struct SuiteReport<'a> {
    #[serde(flatten)]
    report: &'a Report,
    reports: &'a [String],
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Failure::new(error.exit(), error)
    }
}

/// `marvin list-tasks`.
pub(crate) fn list(arguments: &ListTasksArguments) -> Result<Exit, Failure> {
    let tasks = task::find(&arguments.show.clone().into_iter().collect::<Vec<_>>())?;
    let show = arguments.show.is_some();
    if arguments.json {
        let rows =
            tasks.iter().map(|task| TaskRow { facts: &task.facts, text: show.then_some(task.text.as_str()) });
        return output::json(&rows.collect::<Vec<_>>());
    }
    if show {
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
pub(crate) fn run_task(arguments: &RunTaskArguments) -> Result<Exit, Failure> {
    let tasks = task::find(std::slice::from_ref(&arguments.task_id))?;
    let runners = vec![arguments.runner];
    let plan = |out| Plan { tasks, runners, repeat: 1, concurrency: 1, out, keep: arguments.keep };
    let (report, out) = drive(&arguments.bench, plan, true)?;
    let Some(row) = report.tasks.first() else { return Ok(Exit::Interrupted) };
    let artifacts_path = out.join(&row.artifacts_path).display().to_string();
    let row = &Row { artifacts_path, ..row.clone() };
    if arguments.bench.json {
        output::json(&TaskReport { row, recordings: report.recordings })?;
    } else {
        output::line(&describe(row))?;
        output::line(&format!("artifacts: {}", row.artifacts_path))?;
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
pub(crate) fn run_suite(arguments: &RunSuiteArguments) -> Result<Exit, Failure> {
    let tasks = task::find(&arguments.tasks)?;
    let mut runners: Vec<Runner> = Vec::new();
    for runner in &arguments.runners {
        if !runners.contains(runner) {
            runners.push(*runner);
        }
    }
    let (repeat, concurrency) = (arguments.repeat, arguments.concurrency as usize);
    let plan = |out| Plan { tasks, runners, repeat, concurrency, out, keep: false };
    let (report, out) = drive(&arguments.bench, plan, arguments.bench.json)?;
    let paths = report.write(&out)?.map(|path| path.display().to_string());
    if arguments.bench.json {
        output::json(&SuiteReport { report: &report, reports: &paths })?;
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

/// One line about a row.
fn describe(row: &Row) -> String {
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

/// Runs a plan. `quiet`: rows are not shown as they are done.
fn drive(
    arguments: &BenchArguments,
    plan: impl FnOnce(PathBuf) -> Plan,
    quiet: bool,
) -> Result<(Report, PathBuf), Failure> {
    let environment = Environment::of_process();
    let here = current_directory()?;
    let layout = Layout::new(&environment, find_project(None)?.as_deref());
    let settings = Settings::load(&Sources {
        flags: arguments.python.iter().map(|python| (table::LAB_PYTHON.key, python.clone())).collect(),
        environment: environment.clone(),
        project: layout.project_config(),
        user: Some(layout.user_config()),
    })
    .map_err(Failure::usage)?;
    if settings.on(&table::LAB) {
        return Err(Failure::refused(
            "the solver of a benchmark task cannot run the benchmark (MARVIN_LAB is set)",
        ));
    }
    let provider = arguments.provider.clone().unwrap_or_else(|| "mock".into());
    let script = arguments.script.as_ref().map(|path| here.join(path));
    let recordings = provider == "mock" && script.is_none();
    let flags = setting_flags([
        (&table::PROVIDER, Some(provider.clone())),
        (&table::MODEL, arguments.model.clone()),
        (&table::SCRIPT, path_text(script.as_ref())),
        (&table::MAX_COST, text(arguments.max_cost)),
        (&table::DEADLINE, text(arguments.deadline)),
    ]);
    let named = settings.text(&table::LAB_PYTHON).to_string();
    let (out, run) = match &arguments.out {
        Some(out) => (here.join(out), None),
        None => {
            let run = RunDirectory::create_in(&layout).map_err(Failure::failed)?;
            (run.path().join("reports"), Some(run))
        }
    };
    let plan = plan(out.clone());
    let runners = plan.runners.clone();
    let model = arguments.model.clone();
    let repeat = plan.repeat;
    let driven = async move {
        let cancel = cancel_on_signal();
        let bench = Bench::open(environment, here, flags, recordings, &named, cancel).await?;
        let version = bench.python.version.clone();
        let (rows, interrupted) = suite::run(&plan, &bench, |row| {
            if !quiet {
                output::talk(&describe(row));
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
        run.save(&record, &output::environment_redactor()).map_err(Failure::failed)?;
    }
    Ok((result?, out))
}
