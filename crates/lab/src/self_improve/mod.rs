//! Self-improve: batches of parallel sessions work at a goal, and the best verified result is merged.
//!
//! A run evaluates the checkout ([`evaluator`]), lets sessions work in worktrees ([`session`], [`workflow`]), compares what they
//! left ([`compare`]) and merges the winner ([`merge`]). Models propose changes and nothing else: prompts, evaluations, scores and
//! merges are the shell's, by the rules of docs/constitution.md. Everything is in a [`journal`] before it counts, so that a run
//! that was killed anywhere is resumed to the same winner and the same tree.
//!
//! Limits: files that git ignores (`.venv`, `node_modules`) are not in the worktrees of sessions. The code under test runs in the
//! process of its tests.

mod changes;
mod compare;
mod error;
mod evaluation;
mod evaluator;
mod input;
mod journal;
mod merge;
mod plan;
mod progress;
mod prompt;
mod report;
mod run_context;
mod session;
mod session_report;
mod suite_evaluation;
mod workflow;

pub use error::ImproveError;
pub use evaluation::Evaluation;
pub use input::Input;
pub use journal::StopReason;
pub use plan::{EvaluationMethod, MIXED, Plan, PlanError};
pub use progress::Progress;
pub use report::{BatchReport, Energy, ImproveStatus, Report};
pub use session_report::{SessionReport, SessionStatus};

use evaluator::Evaluator;
use futures_util::StreamExt;
use journal::{BatchHistory, Entry, Journal, MergeReport};
use marvin_agent::ProjectContext;
use marvin_base::Exit;
use marvin_base::clock;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{RunKind, RunRecord, RunStatus};
use marvin_flow::engine::Lock;
use marvin_model::choose;
use marvin_tools::git::integrate;
use run_context::{Batch, RunContext, cost_ledger};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use suite_evaluation::SuiteEvaluator;
use tokio_util::sync::CancellationToken;

/// A file in `.marvin` that stops all self-improve runs of a project.
pub const STOP_FILE: &str = "stop-self-improve";
const STOP_POLL: Duration = Duration::from_millis(100);

/// The end of a run.
#[derive(Debug)]
pub struct Outcome {
    pub run: PathBuf,
    pub report: Report,
    /// The paths of the reports.
    pub reports: Vec<PathBuf>,
}

impl Outcome {
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.report.stop_reason {
            Some(StopReason::Budget) => Exit::Budget,
            Some(StopReason::Signal | StopReason::StopFile) => Exit::Interrupted,
            None if self.report.is_blocked() => Exit::Blocked,
            None if self.report.has_success() => Exit::Success,
            None => Exit::NotVerified,
        }
    }
}

/// Checks what can be known before anything is fetched, written or run.
///
/// # Errors
/// When the plan is wrong, names what does not exist, or the directory is not a git checkout.
pub async fn check(project: &ProjectContext, plan: &Plan) -> Result<(), ImproveError> {
    plan.check()?;
    let path = project.directory.display().to_string();
    let root = project.workspace.as_ref().map(|workspace| workspace.root());
    let Some(root) = root.filter(|root| root.join(".git").exists()) else {
        return Err(ImproveError::NoRepository(path));
    };
    let context = project.tool_context(CancellationToken::new(), None);
    match integrate::has_commit(&context).await {
        Ok(true) => {}
        Ok(false) => return Err(ImproveError::NoCommit),
        Err(error) => return Err(ImproveError::BrokenRepository { path, reason: error.to_string() }),
    }
    // Paths of the settings are those of many projects; not every one has them all.
    let mut given = plan.include.iter().filter(|_| plan.is_include_given);
    if let Some(missing) = given.find(|path| root.join(path).symlink_metadata().is_err()) {
        return Err(PlanError::MissingInclude(missing.clone()).into());
    }
    if let Some(script) = project.settings.given(&marvin_base::settings::table::SCRIPT)
        && !project.directory.join(script).exists()
    {
        return Err(PlanError::Script(script.to_string()).into());
    }
    if let EvaluationMethod::Suite(tasks) = &plan.evaluate {
        crate::task::find(tasks)?;
    }
    check_providers(plan, project)
}

/// Starts a run.
///
/// # Errors
/// When the plan is wrong, the checkout is not clean or cannot be evaluated, or a record cannot be written.
pub async fn start(
    project: ProjectContext,
    plan: Plan,
    signal: CancellationToken,
    progress: Progress,
) -> Result<Outcome, ImproveError> {
    check(&project, &plan).await?;
    let project = Arc::new(project);
    let context = project.tool_context(CancellationToken::new(), None);
    project.layout.prepare_state().map_err(|error| ImproveError::Internal(error.to_string()))?;
    if merge::lock_and_recover(&project, &signal, &progress).await?.is_none() {
        return Err(ImproveError::Internal("interrupted".into()));
    }
    let changed = integrate::uncommitted(&context).await?;
    if !changed.is_empty() {
        return Err(ImproveError::NotClean(marvin_base::truncate::line(&changed.join(", "), 200)));
    }
    let plan = Plan { branch: integrate::branch(&context).await?, ..plan };
    let run = RunDirectory::create_in(&project.layout)?;
    let _lock = Lock::take(run.path()).map_err(ImproveError::Workflow)?;
    let journal = Journal::open(run.path(), &project.redactor)?;
    save(&run, &project, &plan, RunEnd::from(RunStatus::Running), None)?;
    journal.append(Entry::Planned { plan: Box::new(plan.clone()) })?;
    progress.say(&format!("run {}", run.path().display()));
    drive(Run { project, run, journal, plan }, signal, progress).await
}

/// Refuses a run whose sessions could not ask their provider: no attempt would help.
fn check_providers(plan: &Plan, project: &ProjectContext) -> Result<(), ImproveError> {
    let all = choose::survey(&project.settings, &project.layout, &project.environment);
    // A server that needs no key may be on another machine, which is not asked here.
    let unusable =
        |name: &str| all.iter().find(|row| row.provider == name && !row.ready && row.through.is_empty());
    match (1..=plan.sessions).find_map(|index| unusable(plan.provider(index))) {
        Some(row) => Err(ImproveError::Provider { name: row.provider.to_string(), reason: row.hint.clone() }),
        None => Ok(()),
    }
}

/// Resumes a run that was stopped or killed, or whose winner could not be merged because of changes in the checkout.
///
/// # Errors
/// When it is not a self-improve run, another process works on it, or its journal is damaged.
pub async fn resume(
    project: ProjectContext,
    path: &Path,
    signal: CancellationToken,
    progress: Progress,
) -> Result<Outcome, ImproveError> {
    let shown = path.display().to_string();
    let (Some(runs), Some(id)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(ImproveError::NotARun(shown));
    };
    let run = RunDirectory::open(runs, id).map_err(|error| ImproveError::file(path, error))?;
    let _lock = Lock::take(run.path()).map_err(ImproveError::Workflow)?;
    // Only those of its own record: other runs may be at work in worktrees of the same checkout.
    run.remove_temporary_files();
    let journal = Journal::open(run.path(), &project.redactor)?;
    let history = journal.history();
    let retried = history.batch_to_retry();
    let plan = history.plan.ok_or(ImproveError::NotARun(shown))?;
    if let Some(batch) = retried {
        journal.append(Entry::MergeRetried { batch })?;
    }
    if !history.completed || retried.is_some() {
        journal.append(Entry::Resumed)?;
        save(&run, &project, &plan, RunEnd::from(RunStatus::Running), None)?;
        if merge::lock_and_recover(&project, &signal, &progress).await?.is_none() {
            return Err(ImproveError::Internal("interrupted".into()));
        }
    }
    drive(Run { project: Arc::new(project), run, journal, plan }, signal, progress).await
}

/// The report of a run as it is now; none: it is not a self-improve run.
///
/// # Errors
/// When its journal is damaged.
pub fn read_report(run: &Path) -> Result<Option<Report>, ImproveError> {
    let history = Journal::read(run)?;
    Ok(history.plan.is_some().then(|| Report::new(&history, run)))
}

/// An open run.
struct Run {
    project: Arc<ProjectContext>,
    run: RunDirectory,
    journal: Journal,
    plan: Plan,
}

/// Runs all batches that are not over, and writes the reports.
async fn drive(run: Run, signal: CancellationToken, progress: Progress) -> Result<Outcome, ImproveError> {
    let Run { project, run, journal, plan } = run;
    let stop = signal.child_token();
    let suite = SuiteEvaluator::open(&plan, &project, &run, &progress, &stop).await;
    if let Err(error) = &suite {
        save(&run, &project, &plan, RunEnd { status: RunStatus::Failed, error: Some(error) }, None)?;
    }
    let suite = suite?;
    let shared = RunContext {
        plan,
        project,
        run,
        journal,
        progress,
        git: tokio::sync::Mutex::new(()),
        stop: stop.clone(),
        spent: CancellationToken::new(),
        suite: suite.map(Arc::new),
    };
    let file = shared.project.layout.record().map(|record| record.join(STOP_FILE));
    let is_there = move || file.as_ref().is_some_and(|file| file.exists());
    // Before anything begins, and then again and again.
    if is_there() {
        stop.cancel();
    }
    let watch = tokio::spawn(async move {
        while !is_there() {
            tokio::time::sleep(STOP_POLL).await;
        }
        stop.cancel();
    });
    let mut result = Ok(());
    for number in 1..=shared.plan.batches {
        if shared.stop.is_cancelled() || shared.journal.history().completed {
            break;
        }
        result = Box::pin(batch(&shared, number)).await;
        if result.is_err() {
            break;
        }
    }
    watch.abort();
    if result.is_ok() && !shared.journal.history().completed {
        let reason = match (shared.stop.is_cancelled(), shared.spent.is_cancelled(), signal.is_cancelled()) {
            (false, ..) => None,
            (true, true, _) => Some(StopReason::Budget),
            (true, false, true) => Some(StopReason::Signal),
            (true, false, false) => Some(StopReason::StopFile),
        };
        shared.journal.append(reason.map_or(Entry::Completed, |reason| Entry::Stopped { reason }))?;
    }
    let report = Report::new(&shared.journal.history(), shared.run.path());
    let reports = report.write(&shared.run.reports(), &shared.project.redactor)?;
    let outcome = Outcome { run: shared.run.path().to_path_buf(), report, reports };
    let status = match (&result, outcome.exit()) {
        (Err(_), _) => RunStatus::Failed,
        (Ok(()), Exit::Success) => RunStatus::Success,
        (Ok(()), Exit::Budget) => RunStatus::BudgetSpent,
        (Ok(()), Exit::Interrupted) => RunStatus::Stopped,
        (Ok(()), Exit::Blocked) => RunStatus::Blocked,
        (Ok(()), _) => RunStatus::NotVerified,
    };
    let end = RunEnd { status, error: result.as_ref().err() };
    save(&shared.run, &shared.project, &shared.plan, end, Some(&outcome.report))?;
    // A checkout that cannot be evaluated left nothing that resuming could use.
    let is_over = match &result {
        Ok(()) => outcome.report.stop_reason.is_none(),
        Err(error) => matches!(error, ImproveError::Evaluation(_)),
    };
    if is_over {
        remove_worktrees(&shared).await;
    }
    result.map(|()| outcome)
}

/// How a run ended, or that it has not.
#[derive(Clone, Copy)]
struct RunEnd<'a> {
    status: RunStatus,
    error: Option<&'a ImproveError>,
}

impl From<RunStatus> for RunEnd<'_> {
    fn from(status: RunStatus) -> Self {
        RunEnd { status, error: None }
    }
}

/// Writes `run.json` with the status, and the error that ended the run.
fn save(
    run: &RunDirectory,
    project: &ProjectContext,
    plan: &Plan,
    end: RunEnd<'_>,
    report: Option<&Report>,
) -> Result<(), ImproveError> {
    let mut start = project.starting_settings();
    if plan.llm == MIXED {
        start.remove(marvin_base::settings::table::PROVIDER.key);
    }
    let record = RunRecord {
        status: Some(end.status),
        goal: Some(plan.goal.clone()),
        ended_at: (!end.status.is_open()).then(clock::now_stamp),
        // Only the first line: the hints below it were for the person who started the run.
        end_reason: end.error.and_then(|error| Some(error.to_string().lines().next()?.to_string())),
        tool_call_count: report.map(Report::tool_calls),
        cost: report.and_then(|_| Some(cost_ledger(run, project).ok()?.tree().ok()?.report())),
        start,
        ..RunRecord::new(RunKind::SelfImprove)
    };
    Ok(run.save(&record, &project.redactor)?)
}

/// Best effort: a leftover worktree is harmless, and git prunes it.
async fn remove_worktrees(shared: &RunContext) {
    let context = shared.project.tool_context(CancellationToken::new(), None);
    let Ok(workspace) = context.workspace() else { return };
    let directory = shared.worktree("any", 0).parent().map(Path::to_path_buf).unwrap_or_default();
    let names = std::fs::read_dir(workspace.root().join(&directory)).into_iter().flatten().flatten();
    for name in names.map(|entry| directory.join(entry.file_name())) {
        marvin_tools::git::remove_worktree(&name.display().to_string(), &context).await.ok();
    }
    std::fs::remove_dir(workspace.root().join(&directory)).ok();
}

/// Runs a batch, or the rest of it.
async fn batch(shared: &RunContext, number: u32) -> Result<(), ImproveError> {
    let known = shared.journal.history().batches.get(&number).cloned();
    if known.as_ref().is_some_and(|known| known.merge.is_some()) {
        return Ok(());
    }
    let context = shared.project.tool_context(CancellationToken::new(), None);
    let base = match &known {
        Some(known) => known.base.clone(),
        None => integrate::head(&context).await?,
    };
    let checkout = shared.check_out("base", number, &base).await?;
    let evaluator = Evaluator::new(&shared.plan, shared.suite.as_ref(), &checkout, &shared.stop);
    let evaluator = Arc::new(evaluator.await?);
    let known = match known {
        Some(known) => known,
        None => {
            let baseline = evaluate_baseline(shared, number, &evaluator, &checkout).await?;
            let Some(evaluation) = baseline else { return Ok(()) };
            let entry = Entry::Batch { batch: number, base: base.clone(), evaluation: evaluation.clone() };
            shared.journal.append(entry)?;
            BatchHistory { base: base.clone(), evaluation, ..BatchHistory::default() }
        }
    };
    let batch = Batch { number, base: &base, baseline: &known.evaluation, evaluator: &evaluator, shared };
    sessions(&batch, &known).await?;
    if shared.stop.is_cancelled() {
        return Ok(());
    }
    let history = shared.journal.history();
    let ended: Vec<SessionReport> =
        history.batches.get(&number).map(|batch| batch.ended.values().cloned().collect()).unwrap_or_default();
    let winner = compare::winner(&ended);
    let name = winner.map(|winner| winner.session_id.clone());
    if known.winner.is_none() {
        shared.journal.append(Entry::Winner { batch: number, session: name.clone() })?;
    }
    let refused = |reason: &str| MergeReport { reason: Some(reason.into()), ..MergeReport::default() };
    let merged = match winner {
        None => Some(refused("no session was verified")),
        Some(_) if !shared.plan.merge => Some(refused("report only (--no-merge)")),
        Some(winner) => merge::merge(&batch, winner).await?,
    };
    let Some(merge) = merged else { return Ok(()) };
    let name = name.as_deref().unwrap_or("none");
    let what = merge.reason.clone().unwrap_or_else(|| "merged".into());
    shared.progress.say(&format!("batch {number}: winner {name}: {what}"));
    shared.journal.append(Entry::Merged { batch: number, merge })
}

/// Evaluates the checkout of a batch. None: it was interrupted.
async fn evaluate_baseline(
    shared: &RunContext,
    number: u32,
    evaluator: &Evaluator,
    checkout: &ProjectContext,
) -> Result<Option<Evaluation>, ImproveError> {
    // The sessions only ask the person, and compare nothing.
    if !shared.plan.questions().is_empty() {
        return Ok(Some(Evaluation::failed("not evaluated: the goal is ambiguous".into())));
    }
    shared.progress.say(&format!("batch {number}: evaluating the checkout"));
    let Some(evaluation) = evaluator.evaluate_base(checkout, &shared.stop).await else { return Ok(None) };
    shared.stop_if_spent()?;
    if shared.stop.is_cancelled() {
        return Ok(None);
    }
    if !evaluation.ran {
        return Err(ImproveError::Evaluation(evaluation.reason.unwrap_or_default()));
    }
    shared.progress.say(&format!("batch {number}: baseline: {}", evaluation.summary()));
    Ok(Some(evaluation))
}

/// Runs the sessions of a batch that have no end yet, in parallel.
async fn sessions(batch: &Batch<'_>, known: &BatchHistory) -> Result<(), ImproveError> {
    let shared = batch.shared;
    let left = (1..=shared.plan.sessions)
        .map(|index| (index, plan::session_id(batch.number, index)))
        .filter(|(_, id)| !known.ended.contains_key(id));
    let jobs = left.map(|(index, id)| {
        let open = known.open.get(&id).cloned();
        async move {
            // A session whose turn comes after the stop does not begin.
            if shared.stop.is_cancelled() {
                return Ok(None);
            }
            Box::pin(session::run(batch, index, open)).await
        }
    });
    let mut running = futures_util::stream::iter(jobs).buffer_unordered(shared.plan.workers.max(1) as usize);
    while let Some(ended) = running.next().await {
        if let Some(session) = ended? {
            shared.journal.append(Entry::SessionEnded { session: Box::new(session) })?;
            let report = Report::new(&shared.journal.history(), shared.run.path());
            report.write(&shared.run.reports(), &shared.project.redactor)?;
        }
    }
    Ok(())
}
