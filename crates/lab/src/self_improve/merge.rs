//! The merger: brings the winner of a batch into the checkout, verified, all of it or nothing.
//!
//! The winner is squashed onto the last commit of the checkout in a worktree apart from it, and evaluated there. Only a tree
//! that passed becomes a commit, and only then the checkout moves forward to it, so that it never contains a tree that was not
//! evaluated. A lock of the operating system makes the merges of several runs wait for each other. Before the checkout moves, an
//! intent is written to the state directory: the next run that takes the lock completes a move that a killed process began.

use super::ImproveError;
use super::evaluator::Evaluator;
use super::journal::{Entry, MergeReport};
use super::progress::Progress;
use super::run_context::{Batch, RunContext};
use super::session_report::SessionReport;
use marvin_agent::ProjectContext;
use marvin_base::atomic;
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use marvin_tools::ToolContext;
use marvin_tools::git::integrate;
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const LOCK_FILE: &str = "self_improve.lock";
const INTENT_FILE: &str = "self_improve_merge.json";
const MAX_INTENT_BYTES: u64 = 64 * 1024;
/// The time that a merge waits for others.
const MERGE_LOCK_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Integrations of one winner, where the checkout moves meanwhile.
const MAX_INTEGRATIONS: u32 = 5;
const MAX_GOAL_CHARS: usize = 60;

/// A move of the checkout that was begun.
#[derive(Debug, Serialize, Deserialize)]
struct Intent {
    version: u32,
    run: String,
    from: String,
    to: String,
}

fn intent_path(project: &ProjectContext) -> PathBuf {
    project.layout.project_state().join(INTENT_FILE)
}

/// Takes the merge lock of the checkout. None: stopped while it waited.
///
/// # Errors
/// When another run holds it for too long.
pub(super) async fn lock(
    project: &ProjectContext,
    stop: &CancellationToken,
    progress: &Progress,
) -> Result<Option<File>, ImproveError> {
    let path = project.layout.project_state().join(LOCK_FILE);
    let open = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let file = open.map_err(|error| ImproveError::file(&path, error))?;
    let until = Instant::now() + MERGE_LOCK_TIMEOUT;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() > until => return Err(ImproveError::Locked),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(ImproveError::file(&path, error)),
        }
        if !std::mem::replace(&mut told, true) {
            progress.say("waiting for another run to merge");
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(None),
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
}

/// Waits for other merges, and completes one that was interrupted. None: stopped while it waited.
///
/// # Errors
/// When the lock cannot be had, or the checkout changed since.
pub(super) async fn lock_and_recover(
    project: &ProjectContext,
    stop: &CancellationToken,
    progress: &Progress,
) -> Result<Option<()>, ImproveError> {
    let Some(_lock) = lock(project, stop, progress).await? else { return Ok(None) };
    recover(project, progress).await.map(Some)
}

/// Completes a move of the checkout that a killed process began. The caller holds the lock.
///
/// # Errors
/// When other files were changed since.
pub(super) async fn recover(project: &ProjectContext, progress: &Progress) -> Result<(), ImproveError> {
    let path = intent_path(project);
    let Ok(text) = files::read_text(&path, MAX_INTENT_BYTES, Links::Refuse) else { return Ok(()) };
    if let Ok(intent) = serde_json::from_str::<Intent>(&text) {
        let context = project.tool_context(CancellationToken::new(), None);
        let head = integrate::head(&context).await?;
        let changed = integrate::uncommitted(&context).await?;
        if (head == intent.from || head == intent.to) && !(head == intent.to && changed.is_empty()) {
            let moved = integrate::changed_between(&intent.from, &intent.to, &context).await?;
            let other: Vec<&str> =
                changed.iter().filter(|path| !moved.contains(path)).map(String::as_str).collect();
            if !other.is_empty() {
                return Err(ImproveError::Recovery(other.join(", ")));
            }
            let begun = path
                .metadata()
                .and_then(|facts| facts.modified())
                .map_err(|error| ImproveError::file(&path, error))?;
            integrate::remove_stale_locks(begun, &context).await?;
            // Half-written files of the move; kept, in case a person edited one since.
            if let Some(kept) =
                integrate::commit_on(&head, "Files before a merge was completed", &context).await?
            {
                progress.say(&format!(
                    "completing the merge of {}; the files as they were are in commit {kept}",
                    intent.run
                ));
            }
            integrate::reset_hard(&intent.to, &context).await?;
        }
    }
    std::fs::remove_file(&path).map_err(|error| ImproveError::file(&path, error))
}

/// Merges a winner. None: stopped before the checkout was touched.
///
/// # Errors
/// When git or the journal fails.
pub(super) async fn merge(
    batch: &Batch<'_>,
    winner: &SessionReport,
) -> Result<Option<MergeReport>, ImproveError> {
    let shared = batch.shared;
    let Some(_lock) = lock(&shared.project, &shared.stop, &shared.progress).await? else { return Ok(None) };
    recover(&shared.project, &shared.progress).await?;
    let refused = |reason: String| Ok(Some(MergeReport { reason: Some(reason), ..MergeReport::default() }));
    let context = shared.project.tool_context(CancellationToken::new(), None);
    // A process that died after the move wrote no result.
    if let Some(intent) =
        shared.journal.history().batches.get(&batch.number).and_then(|batch| batch.merging.clone())
        && integrate::is_ancestor(&intent.to, "HEAD", &context).await?
    {
        return Ok(Some(MergeReport {
            merged: true,
            commit: Some(intent.to),
            evaluation: Some(intent.evaluation),
            conflicts: intent.conflicts,
            ..MergeReport::default()
        }));
    }
    let Some(candidate) = winner.candidate.as_deref() else {
        // The goal was reached without a change, so the checkout has the result.
        return Ok(Some(MergeReport {
            merged: true,
            reason: Some("nothing to merge: the winner changed nothing".into()),
            evaluation: winner.evaluation.clone(),
            ..MergeReport::default()
        }));
    };
    for _ in 0..MAX_INTEGRATIONS {
        let changed = integrate::uncommitted(&context).await?;
        if !changed.is_empty() {
            let changed = truncate::line(&changed.join(", "), 200);
            return Ok(Some(MergeReport {
                reason: Some(format!("the checkout has uncommitted changes: {changed}")),
                can_retry: true,
                ..MergeReport::default()
            }));
        }
        let branch = integrate::branch(&context).await?;
        if let Some(planned) = shared.plan.branch.as_ref().filter(|planned| branch.as_ref() != Some(*planned))
        {
            let now = branch.map_or("no branch".to_string(), |branch| format!("`{branch}`"));
            return Ok(Some(MergeReport {
                reason: Some(format!("the run began on `{planned}`, and the checkout is on {now} now")),
                can_retry: true,
                ..MergeReport::default()
            }));
        }
        let head = integrate::head(&context).await?;
        match integrate_at(batch, &head, candidate, winner).await? {
            Integration::Stopped => return Ok(None),
            Integration::Refused(report) => return Ok(Some(report)),
            Integration::Ready(report) => {
                // Without a commit the checkout has the result already.
                let Some(to) = report.commit.clone() else { return Ok(Some(report)) };
                if move_checkout(shared, batch.number, &head, &to, &report, &context).await? {
                    return Ok(Some(report));
                }
            }
        }
    }
    refused("the checkout moved on again and again".into())
}

enum Integration {
    Ready(MergeReport),
    Refused(MergeReport),
    Stopped,
}

/// Squashes a candidate onto the head of the checkout, apart from it, and evaluates the result.
async fn integrate_at(
    batch: &Batch<'_>,
    head: &str,
    candidate: &str,
    winner: &SessionReport,
) -> Result<Integration, ImproveError> {
    let shared = batch.shared;
    let cancel = &shared.stop;
    // Oracles are those of the checkout as it is now.
    let evaluator = if head == batch.base {
        batch.evaluator.clone()
    } else {
        let checkout = shared.check_out("head", batch.number, head).await?;
        Arc::new(Evaluator::new(&shared.plan, shared.suite.as_ref(), &checkout, cancel).await?)
    };
    let tree = shared.check_out("merge", batch.number, head).await?;
    let context = tree.tool_context(CancellationToken::new(), None);
    let conflicts = integrate::squash(candidate, &context).await?;
    let goal = truncate::line(&shared.plan.goal, MAX_GOAL_CHARS);
    let message =
        format!("self-improve: winner session {}\n\n{goal}\n\nRun: {}", winner.session_id, shared.run.id());
    let report = MergeReport { conflicts, ..MergeReport::default() };
    let commit = integrate::commit_index(head, &message, &context).await?;
    let hashes = super::changes::FileHashes::take(&context).await?;
    let problem = evaluator.hashes.forbidden(&hashes, &shared.plan);
    let evaluation = match &problem {
        Some(_) => None,
        None => {
            let found = evaluator.evaluate_candidate(&tree, &hashes, batch.baseline, cancel).await;
            shared.stop_if_spent()?;
            match found.filter(|_| !cancel.is_cancelled()) {
                Some(evaluation) => Some(evaluation),
                None => return Ok(Integration::Stopped),
            }
        }
    };
    if let Some(evaluation) = evaluation.as_ref().filter(|evaluation| evaluation.ok) {
        let evaluation = Some(evaluation.clone());
        let has_changes = "nothing to merge: the checkout already has these changes";
        let reason = commit.is_none().then(|| has_changes.to_string());
        return Ok(Integration::Ready(MergeReport { merged: true, commit, reason, evaluation, ..report }));
    }
    integrate::reset_hard(head, &context).await?;
    let reason = problem.or_else(|| {
        evaluation
            .as_ref()
            .map(|evaluation| format!("the merged tree fails the evaluation: {}", evaluation.summary()))
    });
    Ok(Integration::Refused(MergeReport { reason, evaluation, ..report }))
}

/// Moves the checkout to an evaluated commit; false: it moved elsewhere meanwhile.
async fn move_checkout(
    shared: &RunContext,
    batch: u32,
    from: &str,
    to: &str,
    report: &MergeReport,
    context: &ToolContext,
) -> Result<bool, ImproveError> {
    if shared.stop.is_cancelled() || integrate::head(context).await? != from {
        return Ok(false);
    }
    shared.journal.append(Entry::Merging {
        batch,
        from: from.into(),
        to: to.into(),
        evaluation: report.evaluation.clone().unwrap_or_default(),
        conflicts: report.conflicts.clone(),
    })?;
    let path = intent_path(&shared.project);
    let intent = Intent { version: 1, run: shared.run.id().into(), from: from.into(), to: to.into() };
    atomic::replace_private(&path, &serde_json::to_vec(&intent).unwrap_or_default())?;
    let moved = integrate::fast_forward(to, context).await;
    if let Err(error) = moved {
        // The checkout was clean, so whatever differs now is a part of the move.
        if integrate::head(context).await? == from {
            integrate::reset_hard(from, context).await?;
            std::fs::remove_file(&path).map_err(|error| ImproveError::file(&path, error))?;
        }
        return Err(error.into());
    }
    std::fs::remove_file(&path).map_err(|error| ImproveError::file(&path, error))?;
    Ok(true)
}
