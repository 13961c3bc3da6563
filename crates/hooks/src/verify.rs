//! Verification of commitments when an agent stops.

use marvin_agent::ProjectContext;
use marvin_agent::commitments::{self, CommitmentResult, PROJECT, Report, TurnBaseline};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Shorter than the 600 seconds that the client waits; it takes silence for a yes.
const VERIFICATION_TIMEOUT: Duration = Duration::from_secs(570);

/// Verifies the project's own commitments; those of servitors and other agents are verified when these claim to be done. A
/// check that takes too long is interrupted, and fails.
pub(crate) async fn report(context: &ProjectContext) -> Report {
    let cancel = CancellationToken::new();
    let (documents, baseline) = ([(PROJECT, [].as_slice())], TurnBaseline::default());
    let mut notice = |_: &CommitmentResult| {};
    let verification = commitments::verify_documents(context, &documents, &baseline, &cancel, &mut notice);
    tokio::pin!(verification);
    tokio::select! {
        report = &mut verification => report,
        () = tokio::time::sleep(VERIFICATION_TIMEOUT) => {
            cancel.cancel();
            verification.await
        }
    }
}
