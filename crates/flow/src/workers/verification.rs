//! Verifies the commitments of a step whose worker does not verify them itself: exit code 0 is only a claim.

use crate::worker::Order;
use marvin_agent::ProjectContext;
use marvin_agent::SessionError;
use marvin_agent::step_agents::{self, TurnCommitments};
use marvin_base::atomic::WriteError;
use marvin_base::run::RunDirectory;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The result of a verification.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Whether all commitments hold; true without commitments.
    pub verified: bool,
    /// `not-verified:<ids>` if some do not hold.
    pub failure_signature: Option<String>,
    /// One line.
    pub summary: String,
    /// The numbers of passed and failed tests.
    pub tests: Option<(u64, u64)>,
}

/// Verifies the commitments of a step once, outside of its worker.
///
/// # Errors
/// When a commitment is refused, or the record cannot be written.
pub async fn verify(
    project: &Arc<ProjectContext>,
    order: &Order,
    cancel: &CancellationToken,
) -> Result<Verdict, SessionError> {
    if order.commitments.is_empty() {
        return Ok(Verdict { verified: true, ..Verdict::default() });
    }
    let project = step_agents::at(project, Some(&order.workspace))?;
    let unreadable = |source| WriteError { path: order.run_directory.display().to_string(), source };
    let runs = order.run_directory.parent().unwrap_or(&order.run_directory);
    let run = RunDirectory::open(runs, &order.run_id).map_err(unreadable)?;
    let Some(commitments) = TurnCommitments::of_step(&project, &run, &order.key, &order.commitments)? else {
        return Ok(Verdict { verified: true, ..Verdict::default() });
    };
    let verification = commitments.verify(cancel).await;
    commitments.settle(&run)?;
    let (tests, open) = verification.figures();
    Ok(Verdict {
        verified: verification.verified,
        failure_signature: (!verification.verified).then(|| format!("not-verified:{}", open.join(","))),
        summary: verification.summary,
        tests,
    })
}
