//! Failures of requests to services.

use crate::result::ToolError;
use std::fmt;
use std::time::Duration;

/// Failure of a request, with a hint.
#[derive(Debug, thiserror::Error)]
#[error("cannot ask {service}: {kind}")]
pub(crate) struct ServiceError {
    /// The name that people know.
    pub(crate) service: &'static str,
    pub(crate) kind: Failure,
    pub(crate) hint: Hint,
}

/// Advice in the imperative; empty where the reason says it all.
#[derive(Debug, Default)]
pub(crate) struct Hint {
    /// What the caller of the tool can do.
    pub(crate) caller: String,
    /// What only the person can do, such as a setting.
    pub(crate) person: String,
}

impl Hint {
    /// Advice that only the person can follow.
    pub(crate) fn person(advice: impl Into<String>) -> Self {
        Hint { caller: String::new(), person: advice.into() }
    }

    /// The advice for a model, which speaks to the person.
    pub(crate) fn for_model(&self) -> String {
        let person = match self.person.as_str() {
            "" => String::new(),
            advice => format!("tell the person: {advice}"),
        };
        [self.caller.clone(), person].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// The advice for the person.
    pub(crate) fn for_person(&self) -> &str {
        if self.person.is_empty() { &self.caller } else { &self.person }
    }
}

impl<T: Into<String>> From<T> for Hint {
    fn from(advice: T) -> Self {
        Hint { caller: advice.into(), person: String::new() }
    }
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
    /// The key is wrong or may not do this, or the service wants none and refuses all the same.
    #[error("it refuses {credential} (HTTP {status}){message}")]
    Forbidden { credential: Credential, status: u16, message: String },
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

/// What a refused request carried to show who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credential {
    Key,
    /// The token of a sign-in.
    Token,
    /// No key, though the service takes one.
    NoKey,
    /// Nothing: the service takes no key.
    NotUsed,
}

impl fmt::Display for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Credential::Key => "the key",
            Credential::Token => "the sign-in",
            Credential::NoKey => "a request without a key",
            Credential::NotUsed => "the request",
        })
    }
}

impl ServiceError {
    /// Whether another attempt, or another service, may help.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self.kind,
            Failure::Unreachable(_)
                | Failure::Limited(_)
                | Failure::Trouble(_)
                | Failure::Forbidden { .. }
                | Failure::TooLarge(_)
                | Failure::Malformed(_)
                | Failure::NoKey
        )
    }
}

impl From<ServiceError> for ToolError {
    fn from(error: ServiceError) -> Self {
        ToolError::Failed(match error.hint.for_model().as_str() {
            "" => error.to_string(),
            hint => format!("{error}\n  hint: {hint}"),
        })
    }
}
