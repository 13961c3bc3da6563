//! Errors of the tickets.

use marvin_gate::Refusal;

/// Failure of a command on tickets.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    #[error("{0}")]
    Usage(String),
    /// No ticket has the given id.
    #[error("{0}")]
    NotFound(String),
    /// The gate or the disk refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{0}")]
    Failed(String),
}

/// Checks that a word is one of those that a field accepts.
pub(super) fn choice(what: &str, given: &str, accepted: &[&str]) -> Result<(), TicketError> {
    if accepted.contains(&given) {
        return Ok(());
    }
    Err(TicketError::Usage(format!(
        "invalid {what} '{}'. Must be one of: {}",
        given.escape_debug(),
        accepted.join(" ")
    )))
}
