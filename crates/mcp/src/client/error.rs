//! Errors of the client.

use marvin_base::child::ChildError;
use marvin_tools::servers::ServerError;
use std::time::Duration;

/// Why a server or one of its tools cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("interrupted")]
    Interrupted,
    #[error("it did not answer within {} s\n  hint: raise startup_s, or see whether it waits for something", .0.as_secs())]
    StartupTimeout(Duration),
    #[error("its command is refused: {0}")]
    Denied(String),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Process(#[from] ChildError),
    /// A violation of the protocol, or a lost connection.
    #[error("{0}")]
    Protocol(String),
}
