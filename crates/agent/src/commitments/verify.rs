//! Verification of commitments, one after the other, from scratch; each outcome is written down before it counts.
//!
//! One verification at a time works on a project; another waits for it. A commitment that is changed, removed or added while
//! the others run makes the whole not verified.

use super::beginning::TurnBaseline;
use super::check::{self, Outcome};
use super::commitment::{Commitment, Status};
use super::error::StoreError;
use super::report::{Notice, Report};
use super::seal::{self, Counts, Entry, Seals};
use super::store::{DocumentCommitment, Store};
use crate::project_context::ProjectContext;
use marvin_base::clock;
use marvin_gate::Access;
use marvin_tools::ToolContext;
use std::fs::File;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a verification waits for another one.
const VERIFY_LOCK_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Verifies the commitments of these ids; of none, all. What is not verified is not reported.
pub async fn verify(
    project: &ProjectContext,
    only: &[String],
    cancel: &CancellationToken,
    notice: Notice<'_>,
) -> Report {
    let scope = if only.is_empty() { Scope::Project } else { Scope::Ids(only) };
    verify_scope(project, scope, &TurnBaseline::default(), cancel, notice).await
}

/// Verifies the commitments of these documents. With each stands what the shell itself knows to be in it, which counts even if
/// both the document and the ledger were rewritten.
pub async fn verify_documents(
    project: &ProjectContext,
    documents: &[(&str, &[Commitment])],
    baseline: &TurnBaseline,
    cancel: &CancellationToken,
    notice: Notice<'_>,
) -> Report {
    verify_scope(project, Scope::Documents(documents), baseline, cancel, notice).await
}

/// What is verified.
#[derive(Debug, Clone, Copy)]
enum Scope<'a> {
    /// Everything that must hold in the project.
    Project,
    /// These commitments.
    Ids(&'a [String]),
    /// These documents, of which this was promised.
    Documents(&'a [(&'a str, &'a [Commitment])]),
}

impl Scope<'_> {
    /// Commitments of the documents, and why some documents cannot be read.
    fn commitments(self, store: &Store) -> (Vec<DocumentCommitment>, Vec<StoreError>) {
        match self {
            Scope::Project | Scope::Ids(_) => store.commitments(),
            Scope::Documents(documents) => {
                let (mut found, mut errors) = (Vec::new(), Vec::new());
                for (id, _) in documents {
                    match store.read(id) {
                        Ok(document) => {
                            found.extend(document.commitments.into_iter().map(|one| (id.to_string(), one)));
                        }
                        // What was promised in it is reported as gone.
                        Err(StoreError::Missing(_)) => {}
                        Err(error) => errors.push(error),
                    }
                }
                (found, errors)
            }
        }
    }

    fn seals(self, store: &Store) -> Result<Seals, StoreError> {
        let Scope::Documents(documents) = self else { return seal::read(store) };
        let mut seals = Seals::default();
        for (id, promised) in documents {
            seals.promises.extend(seal::read_of(store, id)?.promises);
            let known = promised.iter().map(|one| ((id.to_string(), one.id.clone()), one.definition()));
            seals.promises.extend(known);
        }
        Ok(seals)
    }

    fn has(self, seals: &Seals, document: &str, id: &str) -> bool {
        match self {
            Scope::Project => seals.is_open(document),
            Scope::Ids(ids) => ids.iter().any(|one| one == id),
            Scope::Documents(documents) => documents.iter().any(|(of, _)| *of == document),
        }
    }

    fn is_all(self) -> bool {
        matches!(self, Scope::Project)
    }
}

async fn verify_scope(
    project: &ProjectContext,
    scope: Scope<'_>,
    baseline: &TurnBaseline,
    cancel: &CancellationToken,
    notice: Notice<'_>,
) -> Report {
    let mut report = Report::default();
    let Some(store) = Store::from_layout(&project.layout) else { return report };
    if scope.is_all() && !store.has_commitments() {
        return report;
    }
    match take(&store, cancel).await {
        // Held until the end; it goes with this process.
        Ok(Some(_lock)) => run((&store, project), scope, baseline, cancel, notice, &mut report).await,
        Ok(None) => report.interrupted = true,
        // Without a place to write outcomes to, none counts.
        Err(error) => unrecorded(&store, scope, &error, notice, &mut report),
    }
    report
}

async fn take(store: &Store, cancel: &CancellationToken) -> Result<Option<File>, StoreError> {
    let until = Instant::now() + VERIFY_LOCK_TIMEOUT;
    loop {
        if let Some(lock) = store.try_verifying()? {
            return Ok(Some(lock));
        }
        if Instant::now() > until {
            return Err(StoreError::Busy("another verification".into()));
        }
        tokio::select! {
            () = cancel.cancelled() => return Ok(None),
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
}

fn unrecorded(store: &Store, scope: Scope<'_>, error: &StoreError, notice: Notice<'_>, report: &mut Report) {
    let (pairs, errors) = scope.commitments(store);
    let seals = scope.seals(store).unwrap_or_default();
    report.problems.extend(errors.iter().map(ToString::to_string));
    report.problems.push(error.to_string());
    for (document, commitment) in pairs {
        if scope.has(&seals, &document, &commitment.id) {
            let why = format!("its outcome cannot be written down: {error}");
            report.add(&document, &commitment, Outcome::could_not_run(why), 0, notice);
        }
    }
}

async fn run(
    (store, project): (&Store, &ProjectContext),
    scope: Scope<'_>,
    baseline: &TurnBaseline,
    cancel: &CancellationToken,
    notice: Notice<'_>,
    report: &mut Report,
) {
    let (pairs, errors) = scope.commitments(store);
    report.problems.extend(errors.iter().map(ToString::to_string));
    let seals = scope.seals(store).unwrap_or_else(|error| {
        report.problems.push(error.to_string());
        Seals::default()
    });
    let broken = sealed(store, &pairs, scope, &seals, report);
    let chosen: Vec<DocumentCommitment> =
        pairs.into_iter().filter(|(of, one)| scope.has(&seals, of, &one.id)).collect();
    if chosen.is_empty() && report.problems.is_empty() {
        return;
    }
    // The shell itself verifies, with full access, whatever the agent may do.
    let context = ToolContext { access: Access::Full, ..project.tool_context(cancel.clone(), None) };
    let kept = seal::LedgerBackup::capture(store);
    let begun = begin(store, &chosen);
    for (document, commitment) in &chosen {
        let started = Instant::now();
        let outcome = if cancel.is_cancelled() {
            None
        } else if let Err(why) = &begun {
            Some(Outcome::could_not_run(format!("its outcome cannot be written down: {why}")))
        } else if broken.iter().any(|(of, id)| of == document && *id == commitment.id) {
            let why = "it was changed by hand since it was added";
            let hint = format!(
                "a person can drop it with `marvin commitments drop {}` and add it again",
                commitment.id
            );
            Some(Outcome::failed(format!("{why}\n  hint: {hint}")))
        } else {
            check::check(commitment, baseline.for_commitment(document, &commitment.id), &context).await
        };
        let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Some(outcome) = outcome else {
            report.interrupted = true;
            break;
        };
        let outcome = record(store, document, commitment, outcome, took);
        let status = outcome.status.word();
        tracing::info!(document, id = commitment.id, status, ms = took, "commitment verified");
        report.add(document, commitment, outcome, took, notice);
    }
    report.problems.extend(kept.bring_back(store));
    if report.interrupted {
        release(store, &chosen);
        return;
    }
    newcomers(store, scope, notice, report);
    let counts = Counts {
        all: scope.is_all(),
        verified: report.verified(),
        passed: report.count(Status::Passed),
        failed: report.count(Status::Failed),
        could_not_run: report.count(Status::CouldNotRun),
    };
    let entry = Entry::verified(counts);
    if let Err(error) = seal::append(store, &project.redactor, &entry) {
        report.problems.push(error.to_string());
    }
}

/// Commitments whose definition differs from the ledger; those that are gone become problems of the report.
fn sealed(
    store: &Store,
    pairs: &[DocumentCommitment],
    scope: Scope<'_>,
    seals: &Seals,
    report: &mut Report,
) -> Vec<(String, String)> {
    let mut broken = Vec::new();
    for ((document, id), definition) in &seals.promises {
        match pairs.iter().find(|(of, commitment)| of == document && commitment.id == *id) {
            Some((of, commitment)) if commitment.definition() != *definition => {
                broken.push((of.clone(), commitment.id.clone()));
            }
            Some(_) => {}
            None if scope.has(seals, document, id) => report.problems.push(format!(
                "the commitment {id} is gone from {} although it was not dropped\n  hint: restore the file, or drop it with `marvin commitments drop {id}`",
                store.path(document).display()
            )),
            None => {}
        }
    }
    broken
}

/// Marks everything as being verified.
fn begin(store: &Store, chosen: &[DocumentCommitment]) -> Result<(), StoreError> {
    each(store, chosen, |commitment| {
        commitment.status = Status::Verifying;
        commitment.reason = None;
        commitment.evidence = None;
        commitment.duration_ms = None;
    })
}

/// Resets what was not verified to pending.
fn release(store: &Store, chosen: &[DocumentCommitment]) {
    // Where that cannot be written it stays as it is, which does not count as a pass.
    each(store, chosen, |commitment| {
        if commitment.status == Status::Verifying {
            commitment.status = Status::Pending;
        }
    })
    .ok();
}

fn each(
    store: &Store,
    chosen: &[DocumentCommitment],
    change: impl Fn(&mut Commitment),
) -> Result<(), StoreError> {
    let mut documents: Vec<&str> = chosen.iter().map(|(document, _)| document.as_str()).collect();
    documents.dedup();
    for id in documents {
        store.change(id, |document| {
            for commitment in &mut document.commitments {
                if chosen.iter().any(|(of, one)| of == id && one.id == commitment.id) {
                    change(commitment);
                }
            }
        })?;
    }
    Ok(())
}

/// Writes an outcome down. It counts only if that succeeds and the commitment is still the one that was verified.
fn record(store: &Store, document: &str, verified: &Commitment, mut outcome: Outcome, took: u64) -> Outcome {
    let written = store.change(document, |document| {
        let Some(commitment) = document.commitment(&verified.id) else {
            return Some("it was removed while it was verified");
        };
        let changed = commitment.definition() != verified.definition();
        let why = changed.then_some("it was changed while it was verified");
        commitment.status = if changed { Status::Failed } else { outcome.status };
        commitment.reason = why.map(str::to_string).or(outcome.reason.clone());
        commitment.evidence.clone_from(&outcome.evidence);
        commitment.duration_ms = Some(took);
        let now = clock::now_stamp();
        commitment.updated_at = Some(now.clone());
        document.set("updatedAt", &now);
        why
    });
    match written {
        Ok(None) => outcome,
        Ok(Some(why)) => {
            (outcome.status, outcome.reason) = (Status::Failed, Some(why.to_string()));
            outcome
        }
        Err(error) => Outcome::could_not_run(format!("its outcome cannot be written down: {error}")),
    }
}

/// Reports commitments that were added meanwhile as not verified.
fn newcomers(store: &Store, scope: Scope<'_>, notice: Notice<'_>, report: &mut Report) {
    let (pairs, errors) = scope.commitments(store);
    let seals = scope.seals(store).unwrap_or_default();
    for problem in errors.iter().map(ToString::to_string) {
        if !report.problems.contains(&problem) {
            report.problems.push(problem);
        }
    }
    for (document, commitment) in pairs {
        let known = report.commitments.iter().any(|one| one.document == document && one.id == commitment.id);
        if !known && scope.has(&seals, &document, &commitment.id) {
            let why = "it was added while the others were verified; verify again";
            report.add(&document, &commitment, Outcome::could_not_run(why), 0, notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verification_may_run_on_any_thread() {
        fn is_send<T: Send>(
            _: fn(
                &'static ProjectContext,
                &'static [String],
                &'static CancellationToken,
                Notice<'static>,
            ) -> T,
        ) {
        }
        is_send(verify);
    }
}
