//! Failures of push notifications.

use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum NtfyError {
    #[error("cannot use the topic `{0}`: a topic is 1 to 64 letters, digits, `_` or `-`")]
    Topic(String),
    #[error("cannot publish an empty message")]
    NoMessage,
    #[error("cannot use the server of `notify.url`: {0}")]
    Address(String),
    #[error("cannot reach the server {server}: {reason}")]
    Unreachable { server: String, reason: String },
    /// `wait` is the pause that the server asks for.
    #[error("the server {server} answered {status}{}", .wait.map(|wait| format!("; it wants a pause of {} s", wait.as_secs())).unwrap_or_default())]
    Status { server: String, status: u16, wait: Option<Duration> },
    #[error("cannot understand the server {server}: {reason}")]
    Answer { server: String, reason: String },
    #[error("cannot find a subscription of `{topic}`. Subscriptions: {known}")]
    NotSubscribed { topic: String, known: String },
    #[error("cannot follow more than {0} topics: unsubscribe from some first")]
    TooMany(usize),
    #[error("cannot {doing} {path}: {source}{}", marvin_base::atomic::hint(.source))]
    Io {
        doing: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    /// The file is left as it is.
    #[error("cannot read {path}: {reason}")]
    Damaged { path: String, reason: String },
    #[error(transparent)]
    Write(#[from] marvin_base::atomic::WriteError),
}

impl NtfyError {
    /// Whether other arguments would have helped.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, NtfyError::Topic(_) | NtfyError::NoMessage)
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            NtfyError::Address(_) => "set notify.url to an address such as https://ntfy.sh",
            NtfyError::Unreachable { .. } => "check the network and the setting notify.url",
            NtfyError::Status { status: 401 | 403, .. } => "check the settings notify.url and notify.token",
            NtfyError::Status { status: 429, .. } => "try again later",
            NtfyError::Status { .. } | NtfyError::Answer { .. } => "check the setting notify.url",
            NtfyError::Damaged { .. } => {
                "correct the file, or move it away and subscribe again; it was not changed"
            }
            _ => return None,
        })
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            NtfyError::Unreachable { .. } | NtfyError::Answer { .. } => true,
            NtfyError::Status { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}
