//! Proving a success of a worker that does not prove it itself: a command that ended well is still only a claim where the step
//! promises something.

use crate::worker::Order;
use marvin_agent::ProjectContext;
use marvin_agent::SessionError;
use marvin_agent::step_agents::{self, TurnCommitments};
use marvin_base::atomic::WriteError;
use marvin_base::run::RunDirectory;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// Whether everything holds; also where nothing was promised.
    pub verified: bool,
    /// `not-verified:<ids>` where something does not.
    pub failure_signature: Option<String>,
    /// One line.
    pub summary: String,
    /// Tests that passed and that failed.
    pub tests: Option<(u64, u64)>,
}

/// Verifies what a step promises, once, outside of whoever did it.
///
/// # Errors
/// When a commitment is refused, or the record cannot be written.
pub async fn prove(
    ground: &Arc<ProjectContext>,
    order: &Order,
    cancel: &CancellationToken,
) -> Result<Verdict, SessionError> {
    if order.commitments.is_empty() {
        return Ok(Verdict { verified: true, ..Verdict::default() });
    }
    let ground = step_agents::at(ground, Some(&order.workspace))?;
    let unreadable = |source| WriteError { path: order.run_directory.display().to_string(), source };
    let runs = order.run_directory.parent().unwrap_or(&order.run_directory);
    let run = RunDirectory::open(runs, &order.run_id).map_err(unreadable)?;
    let Some(promise) = TurnCommitments::of_step(&ground, &run, &order.key, &order.commitments)? else {
        return Ok(Verdict { verified: true, ..Verdict::default() });
    };
    let proved = promise.verify(cancel).await;
    promise.settle(&run)?;
    let (tests, open) = proved.figures();
    Ok(Verdict {
        verified: proved.verified,
        failure_signature: (!proved.verified).then(|| format!("not-verified:{}", open.join(","))),
        summary: proved.summary,
        tests,
    })
}
