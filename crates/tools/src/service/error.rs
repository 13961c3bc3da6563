//! Failures of requests to services.

use crate::result::ToolError;
use std::time::Duration;

/// Failure of a request, with a hint.
#[derive(Debug, thiserror::Error)]
#[error("cannot ask {service}: {kind}")]
pub(crate) struct ServiceError {
    /// The name that people know.
    pub(crate) service: &'static str,
    pub(crate) kind: Failure,
    /// Advice in the imperative; empty where the reason says it all.
    pub(crate) hint: String,
}

/// Kind of a failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("no key is set")]
    NoKey,
    #[error("its base URL cannot be used: {0}")]
    BadUrl(String),
    #[error("it cannot be reached ({0})")]
    Unreachable(String),
    /// The service wants no request for this long.
    #[error("it wants a pause of {} s", .0.as_secs().max(1))]
    Limited(Duration),
    #[error("it has trouble (HTTP {0})")]
    Trouble(u16),
    /// The key is wrong or may not do this.
    #[error("it refuses the key (HTTP {0})")]
    Forbidden(u16),
    #[error("it has nothing there")]
    NotFound,
    /// Another error status, with the service's own words.
    #[error("it refused with HTTP {status} and says: {message:?}")]
    Refused { status: u16, message: String },
    #[error("its answer has more than {0} bytes, so it was not read")]
    TooLarge(u64),
    #[error("its answer is not what its documentation says ({0})")]
    Malformed(String),
    #[error("{0}")]
    Gate(String),
    #[error("cancelled")]
    Cancelled,
}

impl ServiceError {
    /// Whether another attempt, or another service, may help.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self.kind,
            Failure::Unreachable(_)
                | Failure::Limited(_)
                | Failure::Trouble(_)
                | Failure::Forbidden(_)
                | Failure::TooLarge(_)
                | Failure::Malformed(_)
                | Failure::NoKey
        )
    }
}

impl From<ServiceError> for ToolError {
    fn from(error: ServiceError) -> Self {
        let hint = if error.hint.is_empty() { String::new() } else { format!("\n  hint: {}", error.hint) };
        ToolError::Failed(format!("{error}{hint}"))
    }
}
