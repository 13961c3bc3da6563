//! One session: up to three attempts at the goal in a worktree of its own, each judged from outside.
//!
//! What counts is the candidate: a commit of everything that the session changed, checked out and evaluated elsewhere. So
//! neither files that git ignores nor processes that are left running have a part in the verdict. A session has a state
//! directory of its own with the project's rules and lessons; the others' have no influence on it.

use super::evaluation::Evaluation;
use super::journal::{Entry, OpenSession};
use super::plan::{EvaluationMethod, MAX_ATTEMPTS, Plan, strategy};
use super::prompt::{self, entry_prompt};
use super::run_context::{Batch, RunContext};
use super::session_report::{AttemptReport, PATCH_FILE, SessionReport, SessionStatus};
use super::workflow::{self, Ending};
use super::{ImproveError, compare};
use crate::snapshot::copy_files;
use marvin_agent::ProjectContext;
use marvin_base::atomic;
use marvin_base::layout::Layout;
use marvin_base::layout::state::VARIABLE;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::Workspace;
use marvin_memory::Places;
use marvin_memory::lessons::{Header, Lesson, Lessons};
use marvin_tools::git::integrate;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The version of `session.json`.
const VERSION: u32 = 1;

/// A session at work.
struct Session<'a> {
    batch: &'a Batch<'a>,
    index: u32,
    report: SessionReport,
    project: Arc<ProjectContext>,
    /// Cancelled by a stop signal and at the deadline.
    cancel: CancellationToken,
    late: CancellationToken,
}

/// Runs a session to its end, or resumes it. None: it was stopped before.
pub(super) async fn run(
    batch: &Batch<'_>,
    index: u32,
    before: Option<OpenSession>,
) -> Result<Option<SessionReport>, ImproveError> {
    let shared = batch.shared;
    let plan = &shared.plan;
    let id = super::plan::session_id(batch.number, index);
    let mut report = SessionReport {
        version: VERSION,
        provider: plan.provider(index).to_string(),
        strategy: strategy(index).to_string(),
        run_root: shared.session_directory(&id).display().to_string(),
        clarifying_questions: plan.questions(),
        session_id: id.clone(),
        ..SessionReport::default()
    };
    if !report.clarifying_questions.is_empty() {
        report.status = SessionStatus::Blocked;
        report.verification_reason = "the goal is ambiguous".into();
        shared.save(&report)?;
        return Ok(Some(report));
    }
    let before = before.unwrap_or_default();
    let worktree = shared.worktree(&format!("session-{}", batch.number), index);
    let root = shared.project.tool_context(shared.stop.clone(), None).workspace()?.root().join(&worktree);
    // A tree in which a workflow was begun is continued; every other one begins with the tree that is recorded.
    let continued = before
        .begun
        .as_ref()
        .is_some_and(|(_, _, run)| run.as_ref().is_some_and(|run| workflow::can_resume(run)));
    if !(continued && root.join(".git").is_file()) {
        let last = before.attempts.last().and_then(|attempt| attempt.candidate.as_deref());
        let tree = before.begun.as_ref().map(|(_, tree, _)| tree.as_str()).or(last).unwrap_or(batch.base);
        shared.check_out(&format!("session-{}", batch.number), index, tree).await?;
    }
    report.workspace_root = root.display().to_string();
    report.attempts = before.attempts;
    let (cancel, late) = (shared.stop.child_token(), CancellationToken::new());
    if plan.deadline_s > 0 {
        let (cancel, late, seconds) = (cancel.clone(), late.clone(), plan.deadline_s);
        tokio::spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(seconds)) => { late.cancel(); cancel.cancel(); }
                () = cancel.cancelled() => {}
            }
        });
    }
    let project = open(shared, &root, &id, &report.provider)?;
    let mut session = Session { batch, index, report, project, cancel, late };
    let ended = session.work(before.begun).await;
    session.cancel.cancel();
    Ok(ended?.then_some(session.report))
}

/// The project as a session sees it: its worktree, its provider, a state directory of its own, and the budget of the run.
fn open(
    shared: &RunContext,
    root: &Path,
    id: &str,
    provider: &str,
) -> Result<Arc<ProjectContext>, ImproveError> {
    let master = &shared.project;
    let state = shared.session_state(id);
    let environment = master.environment.clone().with(VARIABLE, state.display().to_string());
    let layout = Layout::new(&environment, Some(root));
    let mut settings = master.settings.with(&table::COST_LEDGER, &shared.run.cost().display().to_string())?;
    if !provider.is_empty() {
        settings = settings.with(&table::PROVIDER, provider)?;
    }
    if shared.plan.is_include_given {
        let files = shared.plan.include.iter().map(|path| path.trim_start_matches("./"));
        settings = settings.with(&table::GRANTED_INSTRUCTIONS, &files.collect::<Vec<_>>().join(","))?;
    }
    if !layout.project_state().exists() {
        layout.prepare_state().map_err(|error| ImproveError::Internal(error.to_string()))?;
        let lessons = |layout: &Layout| Places::from_settings(layout, &master.settings).lessons;
        for (from, to) in
            [(master.layout.security(), layout.security()), (lessons(&master.layout), lessons(&layout))]
        {
            copy_files(&from, &to)?;
        }
    }
    let workspace = Workspace::open(root, master.layout.home())
        .map_err(|refusal| ImproveError::Internal(refusal.to_string()))?;
    Ok(Arc::new(ProjectContext {
        environment,
        layout,
        settings: Arc::new(settings),
        workspace: Some(Arc::new(workspace)),
        ..ProjectContext::clone(master)
    }))
}

impl Session<'_> {
    /// Attempts until one is verified or none is left; false: it was stopped.
    async fn work(
        &mut self,
        mut begun: Option<(u32, String, Option<PathBuf>)>,
    ) -> Result<bool, ImproveError> {
        let shared = self.batch.shared;
        self.fold();
        shared.save(&self.report)?;
        while self.next() {
            if shared.stop.is_cancelled() {
                return Ok(false);
            }
            let number = u32::try_from(self.report.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
            let Some(done) = self.attempt(number, begun.take()).await? else { return Ok(false) };
            let id = self.report.session_id.clone();
            shared.journal.append(Entry::AttemptEnded { session: id, report: Box::new(done.clone()) })?;
            self.report.attempts.push(done);
            self.fold();
            if self.next() {
                self.report.status = SessionStatus::Retrying;
                self.teach()?;
            }
            shared.save(&self.report)?;
        }
        self.report.status =
            if self.report.verification_ok { SessionStatus::Completed } else { SessionStatus::Failed };
        shared.save(&self.report)?;
        Ok(true)
    }

    /// Whether another attempt is to be made.
    fn next(&self) -> bool {
        let last = self.report.attempts.last();
        !last.is_some_and(|last| last.verification_ok || last.is_last)
            && self.report.attempts.len() < MAX_ATTEMPTS as usize
    }

    /// Brings the report in line with its attempts; the last one counts.
    fn fold(&mut self) {
        let report = &mut self.report;
        report.entrypoint_attempts = u32::try_from(report.attempts.len()).unwrap_or(u32::MAX);
        report.model_calls = report.attempts.iter().map(|attempt| attempt.model_calls).sum();
        report.tool_calls = report.attempts.iter().map(|attempt| attempt.tool_calls).sum();
        if let Some(last) = report.attempts.last().cloned() {
            report.workflow_ok = last.workflow_ok;
            report.workflow_status = last.workflow_status;
            report.workflow_error = last.error.clone();
            report.error = last.error;
            report.evaluation = last.evaluation;
            report.changed_files = last.changed_files;
            report.verification_ok = last.verification_ok;
            report.verification_reason = last.verification_reason;
            report.candidate = last.candidate;
        }
        report.score = compare::score(report);
    }

    /// Writes the lesson of a failed attempt before the next begins.
    fn teach(&self) -> Result<(), ImproveError> {
        let places = Places::from_settings(&self.project.layout, &self.project.settings);
        let mut lessons = Lessons::open(&places.lessons, &places.index, self.project.redactor.clone());
        let Some(last) = self.report.attempts.last() else { return Ok(()) };
        let header = Header {
            id: format!("lesson-{}-{}-{}", self.batch.shared.run.id(), self.report.session_id, last.attempt),
            timestamp: marvin_base::clock::now_stamp(),
            task_id: self.batch.shared.run.id().to_string(),
            step_id: format!("session-{}", self.report.session_id),
            failure_signature: "not-verified".into(),
            strategy_id: format!("attempt-{}", last.attempt + 1),
            tags: vec!["self-improve".into()],
            component: "self-improve".into(),
            root_cause_hypothesis: last.verification_reason.clone(),
            strategy_change: "the next prompt names the reason".into(),
            evidence_of_novelty: "another prompt, and the files of the attempt before".into(),
        };
        let body = format!(
            "Attempt {} at `{}` was not verified: {}",
            last.attempt, self.batch.shared.plan.goal, last.verification_reason
        );
        lessons.write(&Lesson { header, body })?;
        Ok(())
    }

    /// One attempt, or the rest of one that was begun. None: it was stopped.
    async fn attempt(
        &mut self,
        number: u32,
        begun: Option<(u32, String, Option<PathBuf>)>,
    ) -> Result<Option<AttemptReport>, ImproveError> {
        let shared = self.batch.shared;
        let id = self.report.session_id.clone();
        let started = Instant::now();
        let failure = self.report.attempts.last().map(|last| last.verification_reason.clone());
        let prompt = entry_prompt(
            &shared.plan,
            prompt::Attempt {
                session: &id,
                index: self.index,
                number,
                baseline: self.batch.baseline,
                failure: failure.as_deref(),
            },
        );
        let resumed = begun.and_then(|(_, _, run)| run).filter(|run| workflow::can_resume(run));
        let last = self.report.attempts.last().and_then(|last| last.candidate.clone());
        let tree = last.unwrap_or_else(|| self.batch.base.to_string());
        if resumed.is_none() {
            let tree = tree.clone();
            shared.journal.append(Entry::Attempt { session: id.clone(), attempt: number, tree })?;
        }
        shared.progress.say(&format!("session {id}: attempt {number} ({})", self.report.provider));
        let note = |run: &Path| {
            let run = run.display().to_string();
            shared.journal.append(Entry::Workflow { session: id.clone(), attempt: number, run })
        };
        let work = |resumed: Option<PathBuf>| {
            let (project, evaluator) = (&self.project, self.batch.evaluator);
            Box::pin(workflow::run(project, evaluator, &prompt, &shared.plan, resumed, &self.cancel, &note))
        };
        let was_resumed = resumed.is_some();
        let mut done = work(resumed).await?;
        if was_resumed && done.ending.is_stuck() && !self.cancel.is_cancelled() {
            // What a killed step did cannot be settled: the attempt is made again with the tree that it began with.
            shared.check_out(&format!("session-{}", self.batch.number), self.index, &tree).await?;
            shared.journal.append(Entry::Attempt { session: id.clone(), attempt: number, tree })?;
            done = work(None).await?;
        }
        let late = self.late.is_cancelled();
        if shared.stop.is_cancelled() {
            return Ok(None);
        }
        let calls = workflow::count_session_calls(&shared.session_state(&id));
        let mut report = AttemptReport {
            attempt: number,
            prompt,
            run_path: done.run.display().to_string(),
            model_calls: calls.model_calls.saturating_sub(self.report.model_calls),
            tool_calls: calls.tool_calls.saturating_sub(self.report.tool_calls),
            steps: done.steps,
            is_last: late,
            ..AttemptReport::default()
        };
        match done.ending {
            _ if late => {
                (report.workflow_status, report.error) = ("LATE".into(), Some("the deadline passed".into()));
            }
            // The run is stopped as a whole: the budget is everybody's.
            Ending::Spent => {
                shared.stop_spent();
                return Ok(None);
            }
            Ending::Workflow(outcome) => {
                report.workflow_status = outcome.status.word().to_string();
                report.workflow_ok = outcome.status == marvin_flow::engine::WorkflowStatus::Succeeded;
                let failed = outcome.failed.iter().chain(&outcome.partial);
                let failed = failed.map(|(step, why)| format!("{step}: {why}"));
                let waiting = outcome
                    .waiting
                    .iter()
                    .map(|one| format!("{} waits for a person: {}", one.step_id, one.text));
                let problems: Vec<String> = failed.chain(waiting).collect();
                report.error = (!problems.is_empty()).then(|| truncate::head(&problems.join("; "), 1_000));
            }
            Ending::Error(why) => {
                report.workflow_status = "ERROR".into();
                report.error = Some(why);
                report.is_last = true;
            }
        }
        if late {
            // Not judged any more; its changes are kept for a person.
            self.commit_changes().await.ok();
        } else if !self.judge(&mut report).await? {
            return Ok(None);
        }
        let objection = objection(&shared.plan, &report);
        report.verification_ok = objection.is_none();
        report.verification_reason = objection.unwrap_or_else(|| "verified".into());
        report.elapsed_s = (started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        shared.progress.say(&format!("session {id}: attempt {number}: {}", report.verification_reason));
        Ok(Some(report))
    }

    /// Commits what the session changed, apart from the checkout, and writes it as a patch, whatever is said of it later. None:
    /// it changed nothing.
    async fn commit_changes(&self) -> Result<Option<String>, ImproveError> {
        let (batch, shared) = (self.batch, self.batch.shared);
        let context = self.project.tool_context(CancellationToken::new(), None);
        let message = format!("self-improve: candidate of session {}", self.report.session_id);
        let place = shared.session_directory(&self.report.session_id).join(PATCH_FILE);
        let Some(candidate) = integrate::commit_on(batch.base, &message, &context).await? else {
            // That of an earlier attempt, whose changes were undone.
            std::fs::remove_file(&place).ok();
            return Ok(None);
        };
        let patch = integrate::patch_between(batch.base, &candidate, &context).await.unwrap_or_default();
        atomic::replace(&place, self.project.redactor.text(&patch).as_bytes())?;
        Ok(Some(candidate))
    }

    /// Makes the candidate and evaluates it in a checkout of its own; false: it was stopped.
    async fn judge(&self, report: &mut AttemptReport) -> Result<bool, ImproveError> {
        let (batch, shared) = (self.batch, self.batch.shared);
        // A file that git cannot add (a name that is not UTF-8) costs this session its result, not the others theirs.
        match self.commit_changes().await {
            Ok(candidate) => report.candidate = candidate,
            Err(ImproveError::Write(error)) => return Err(ImproveError::Write(error)),
            Err(error) => {
                report.evaluation = Some(Evaluation::failed(format!("cannot commit its changes: {error}")));
                return Ok(true);
            }
        }
        let Some(candidate) = &report.candidate else {
            report.evaluation = Some(batch.baseline.clone());
            return Ok(true);
        };
        let name = format!("evaluate-{}", batch.number);
        let checkout = shared.check_out(&name, self.index, candidate).await?;
        let context = checkout.tool_context(self.cancel.clone(), None);
        let hashes = super::changes::FileHashes::take(&context).await?;
        report.changed_files = batch.evaluator.hashes.changed(&hashes);
        if let Some(problem) = batch.evaluator.hashes.forbidden(&hashes, &shared.plan) {
            report.evaluation = Some(Evaluation::failed(problem));
            return Ok(true);
        }
        let (evaluator, base) = (batch.evaluator, batch.baseline);
        report.evaluation = evaluator.evaluate_candidate(&checkout, &hashes, base, &self.cancel).await;
        shared.stop_if_spent()?;
        Ok(!shared.stop.is_cancelled())
    }
}

/// The reason why an attempt is not verified.
fn objection(plan: &Plan, report: &AttemptReport) -> Option<String> {
    let evaluation = report.evaluation.as_ref();
    if let Some(reason) =
        evaluation.filter(|evaluation| !evaluation.ran).and_then(|evaluation| evaluation.reason.as_ref())
    {
        return Some(reason.clone());
    }
    if !report.workflow_ok {
        let why = report.error.as_deref().unwrap_or("no step says why");
        return Some(format!("the workflow ended as {}: {why}", report.workflow_status));
    }
    match evaluation {
        Some(evaluation) if evaluation.ok => {}
        Some(evaluation) => {
            let is_suite = matches!(plan.evaluate, EvaluationMethod::Suite(_));
            let growth = evaluation.reason.as_ref().filter(|_| is_suite);
            let growth = growth.map(|reason| format!(": {reason}")).unwrap_or_default();
            return Some(format!("the evaluation failed: {}{growth}", evaluation.summary()));
        }
        None => return Some("it was not evaluated".into()),
    }
    let unchanged = plan.asks_for_change() && report.changed_files.is_empty();
    unchanged.then(|| "the goal asks for a change, and no file was changed".into())
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::*;

    #[test]
    fn a_claim_alone_is_never_verified() {
        let plan = plan("Fix the sum");
        let good = AttemptReport {
            workflow_ok: true,
            workflow_status: "SUCCEEDED".into(),
            evaluation: Some(Evaluation { ok: true, ran: true, passed: 1, ..Evaluation::default() }),
            changed_files: vec!["src/a.py".into()],
            ..AttemptReport::default()
        };
        assert_eq!(objection(&plan, &good), None);
        let reason = |report: AttemptReport| objection(&plan, &report).unwrap();
        assert!(reason(AttemptReport { evaluation: None, ..good.clone() }).contains("not evaluated"));
        assert!(reason(AttemptReport { workflow_ok: false, ..good.clone() }).contains("ended as SUCCEEDED"));
        assert!(reason(AttemptReport { changed_files: Vec::new(), ..good.clone() }).contains("no file"));
        let red = Evaluation { ran: true, failed: 1, ..Evaluation::default() };
        assert!(reason(AttemptReport { evaluation: Some(red), ..good.clone() }).contains("1 failed"));
    }
}
