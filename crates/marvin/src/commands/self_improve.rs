//! `marvin self-improve`: sessions that improve the checkout, and merge only what was verified.

use crate::arguments::{CostLimit, Deadline, parse_cost, parse_deadline, path_text, setting_flags, text};
use crate::failure::Failure;
use crate::output;
use crate::project::{context, find_project};
use crate::runtime::{cancel_on_signal, runtime};
use clap::Args;
use marvin_agent::ProjectContext;
use marvin_base::Exit;
use marvin_base::settings::table;
use marvin_flow::engine;
use marvin_lab::self_improve::{
    self, EvaluationMethod, ImproveError, Input, MIXED, Outcome, Plan, Progress, Report, STOP_FILE,
    StopReason,
};
use marvin_model::choose;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

const HELP: &str = "\
Every batch evaluates the checkout, lets the sessions work in worktrees of their own, compares what they left by a fixed \
rubric, and merges the best verified result, evaluated again. Existing tests are protected: a session that changes one loses. \
The checkout must be a clean git checkout. Reports: self_improve.json, self_improve.md and self_improve.html in the run.

It stops at Ctrl-C, by `marvin stop-run`, and when the file .marvin/stop-self-improve exists; `marvin resume-run` resumes it.

Exit codes: 0 a winner was merged (--no-merge: found); 3 no session was verified, or nothing could be merged; 4 the goal is \
ambiguous, or the checkout is not clean; 6 the budget is spent; 130 stopped.

Examples:
  marvin self-improve --goal 'Fix the rounding of prices' --max-cost 5
  marvin self-improve --goal 'Add a parser for dates' --evaluate 'pytest -q' --include src,tests
  marvin self-improve --goal 'Harden the parser as https://example.com/notes says' \\
    --llm mixed --sessions 10
  marvin self-improve --goal 'Improve AGENTS.md' --include AGENTS.md --evaluate suite --max-cost 20
  marvin self-improve --goal 'Improve the messages' --no-merge --batches 2 --json | jq .batches";

/// Improve this checkout in parallel sessions, and merge the best verified result
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SelfImproveArguments {
    /// What is to be improved
    #[arg(long, value_name = "TEXT")]
    goal: String,
    /// More to work with: a URL, a file or a text (default: the first URL in the goal)
    #[arg(long, value_name = "URL|FILE|TEXT")]
    input: Option<String>,
    /// Sessions of a batch
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    sessions: u32,
    /// Batches, one after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    batches: u32,
    /// Sessions that run at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    workers: u32,
    /// Only report, and merge nothing
    #[arg(long)]
    no_merge: bool,
    /// The provider; mixed: one session of five with claude, the others with codex (default: the first with a key)
    #[arg(long, visible_alias = "provider", value_name = "NAME")]
    llm: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// A script for the mock provider (JSONL); every attempt plays it from its beginning
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// The command that evaluates a checkout; suite or suite:TASK,TASK: the benchmark suite (default: the tests of the project)
    #[arg(long, value_name = "COMMAND")]
    evaluate: Option<String>,
    /// Files and directories that sessions may change (default: the setting self_improve.include)
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    include: Vec<String>,
    /// Tests and files that steer them that sessions may change
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    may_change: Vec<String>,
    /// Stop everything when this many US dollars are spent (exit code 6)
    #[arg(long, value_name = "USD", value_parser = parse_cost)]
    max_cost: Option<CostLimit>,
    /// End a session after this many seconds; 0: no limit
    #[arg(long, value_name = "SECONDS", value_parser = parse_deadline)]
    deadline: Option<Deadline>,
    /// The checkout (default: the project around this directory)
    #[arg(long, value_name = "PATH")]
    working_dir: Option<PathBuf>,
    /// The report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ImproveReport<'a> {
    #[serde(flatten)]
    report: &'a Report,
    reports: &'a [PathBuf],
}

impl From<ImproveError> for Failure {
    fn from(error: ImproveError) -> Self {
        Failure::new(error.exit(), error)
    }
}

pub(crate) fn run(arguments: &SelfImproveArguments) -> Result<Exit, Failure> {
    let llm = arguments.llm.as_deref().map(str::trim).filter(|llm| *llm != MIXED);
    let flags = setting_flags([
        (&table::PROVIDER, llm.map(str::to_string)),
        (&table::MODEL, arguments.model.clone()),
        (&table::SCRIPT, path_text(arguments.script.as_ref())),
        (&table::MAX_COST, text(arguments.max_cost)),
        (&table::DEADLINE, text(arguments.deadline)),
    ]);
    let project = context(find_project(arguments.working_dir.as_deref())?.as_deref(), true, flags)?;
    let evaluate = EvaluationMethod::parse(arguments.evaluate.as_deref()).map_err(Failure::usage)?;
    if let EvaluationMethod::Command(line) = &evaluate {
        engine::parse_commitments(&[format!("shell:{line}")])
            .map_err(|error| Failure::usage(format!("--evaluate: {error}")))?;
    }
    let named = |paths: &[String]| paths.iter().map(|path| path.trim().to_string()).collect::<Vec<_>>();
    let include = match named(&arguments.include) {
        paths if paths.is_empty() => project.settings.list(&table::SELF_IMPROVE_INCLUDE),
        paths => paths,
    };
    let provider = choose::provider_name(&project.settings, &project.layout);
    let plan = Plan {
        goal: arguments.goal.clone(),
        input: Input::default(),
        sessions: arguments.sessions,
        batches: arguments.batches,
        workers: arguments.workers,
        merge: !arguments.no_merge,
        llm: if arguments.llm.as_deref() == Some(MIXED) { MIXED.into() } else { provider },
        evaluate,
        include,
        is_include_given: !arguments.include.is_empty(),
        may_change: named(&arguments.may_change),
        branch: None,
        deadline_s: project.settings.seconds(&table::DEADLINE).as_secs(),
    };
    plan.check().map_err(Failure::usage)?;
    finish(arguments.json, async |cancel, progress| {
        // Before the input: fetching it is recorded, and may ask the network.
        self_improve::check(&project, &plan).await?;
        let input = Input::read(arguments.input.as_deref(), &plan.goal, &project, &cancel).await?;
        self_improve::start(project, Plan { input, ..plan }, cancel, progress).await
    })
}

/// Resumes a run.
pub(crate) fn resume(project: ProjectContext, path: &Path, json: bool) -> Result<Exit, Failure> {
    finish(json, async |cancel, progress| self_improve::resume(project, path, cancel, progress).await)
}

/// Runs the work on this thread, since children end with the thread that started them, and prints its outcome.
fn finish(
    json: bool,
    work: impl AsyncFnOnce(CancellationToken, Progress) -> Result<Outcome, ImproveError>,
) -> Result<Exit, Failure> {
    let progress = Progress::new(|line| output::talk(&output::visible(line)));
    let outcome = runtime()?.block_on(async { work(cancel_on_signal(), progress).await })?;
    if json {
        output::json(&ImproveReport { report: &outcome.report, reports: &outcome.reports })?;
    } else {
        output::line(&output::visible(&summary(&outcome)))?;
    }
    Ok(outcome.exit())
}

fn summary(outcome: &Outcome) -> String {
    let (report, run) = (&outcome.report, outcome.run.display());
    let mut text =
        format!("{}: {}\n", report.describe_result(), report.goal.lines().next().unwrap_or_default());
    for batch in &report.batches {
        text.push_str(&format!("batch {}: {}\n", batch.batch_index, batch.summary()));
        if batch.can_retry() {
            text.push_str(&format!(
                "  hint: put the checkout in order, then marvin resume-run --run-path {run}\n"
            ));
        }
        if let Some(patch) = batch.stranded_patch() {
            text.push_str(&format!("  hint: git apply {} applies the winner's changes\n", patch.display()));
        }
        for session in &batch.sessions {
            text.push_str(&format!(
                "  session {}: {}\n",
                session.title(&[&session.provider]),
                session.verification_reason
            ));
        }
        let questions = batch.sessions.first().map(|session| session.clarifying_questions.as_slice());
        for question in questions.unwrap_or_default() {
            text.push_str(&format!("  question: {question}\n"));
        }
    }
    text.push_str(&format!("energy: {} planned, {} used\n", report.energy.planned, report.energy.actual));
    for path in &outcome.reports {
        text.push_str(&format!("{}\n", path.display()));
    }
    match report.stop_reason {
        Some(StopReason::Budget) => {
            text.push_str(&format!(
                "the budget is spent\n  hint: marvin resume-run --run-path {run} --max-cost USD\n"
            ));
        }
        Some(StopReason::StopFile) => text.push_str(&format!(
            "stopped by the file .marvin/{STOP_FILE}\n  hint: delete it, then marvin resume-run --run-path {run}\n"
        )),
        Some(StopReason::Signal) => {
            text.push_str(&format!("stopped\n  hint: marvin resume-run --run-path {run}\n"));
        }
        None => {}
    }
    text.trim_end().to_string()
}
