//! Errors of the tickets.

use marvin_gate::Refusal;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum TicketError {
    /// The command makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The gate or the disk refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be done.
    #[error("{0}")]
    Failed(String),
}

/// Is the word one of those that a field takes?
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
