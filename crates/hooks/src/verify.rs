//! Proves what an agent claims when it stops.

use marvin_agent::ProjectContext;
use marvin_agent::commitments::{self, Report};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long it may take. The client waits for 600 seconds, and takes silence for a yes.
const VERIFICATION_TIMEOUT: Duration = Duration::from_secs(570);

/// Verifies every commitment of the project. What takes too long is interrupted, and is not verified.
pub(crate) async fn report(ground: &ProjectContext) -> Report {
    let cancel = CancellationToken::new();
    let verification = commitments::verify_all(ground, &cancel);
    tokio::pin!(verification);
    tokio::select! {
        report = &mut verification => report,
        () = tokio::time::sleep(VERIFICATION_TIMEOUT) => {
            cancel.cancel();
            verification.await
        }
    }
}
