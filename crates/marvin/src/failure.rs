//! The failure of a command: one message and one exit code.

use marvin_agent::SessionError;
use marvin_base::Exit;
use std::fmt::Display;
use std::path::PathBuf;

/// A failure, ready to be shown.
#[derive(Debug)]
pub(crate) struct Failure {
    /// One message that names the thing and how to fix it.
    pub(crate) message: String,
    /// The exit code.
    pub(crate) exit: Exit,
    /// The run that it interrupted, if one had begun.
    pub(crate) run: Option<PathBuf>,
}

impl Failure {
    /// A failure with this exit code.
    pub(crate) fn new(exit: Exit, message: impl Display) -> Self {
        Failure { message: message.to_string(), exit, run: None }
    }

    /// The command line or an input was wrong.
    pub(crate) fn usage(message: impl Display) -> Self {
        Failure::new(Exit::Usage, message)
    }

    /// The work failed.
    pub(crate) fn failed(message: impl Display) -> Self {
        Failure::new(Exit::Failed, message)
    }

    /// The gate refused.
    pub(crate) fn refused(message: impl Display) -> Self {
        Failure::new(Exit::Refused, message)
    }

    /// A person is needed.
    pub(crate) fn blocked(message: impl Display) -> Self {
        Failure::new(Exit::Blocked, message)
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Failure::new(error.exit(), error)
    }
}
