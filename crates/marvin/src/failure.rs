//! What a command can end with, besides success: one message and one exit code.

use marvin_agent::SessionError;
use marvin_base::Exit;
use std::path::PathBuf;

/// A failure, ready to be shown.
#[derive(Debug)]
pub(crate) struct Failure {
    /// One message that names the thing and the mend.
    pub(crate) message: String,
    /// The exit code.
    pub(crate) exit: Exit,
    /// The run that it broke off, if one had begun.
    pub(crate) run: Option<PathBuf>,
}

impl Failure {
    /// The command line or an input was wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure { message: message.into(), exit: Exit::Usage, run: None }
    }

    /// The work failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Failure { message: message.into(), exit: Exit::Failed, run: None }
    }

    /// The gate refused.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Failure { message: message.into(), exit: Exit::Refused, run: None }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Failure { exit: error.exit(), message: error.to_string(), run: None }
    }
}
