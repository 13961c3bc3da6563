//! The failure of a command: one message, its hints, and one exit code.

use marvin_agent::SessionError;
use marvin_base::Exit;
use marvin_base::hint::HintLine;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

/// A failure, ready to be shown.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What failed, and why.
    message: String,
    /// What to do about it.
    hints: Vec<String>,
    /// The exit code.
    pub(crate) exit: Exit,
    /// The run that it interrupted, if one had begun.
    pub(crate) run: Option<PathBuf>,
}

impl Failure {
    /// A failure with this exit code.
    pub(crate) fn new(exit: Exit, message: impl Display) -> Self {
        Failure { message: message.to_string(), hints: Vec::new(), exit, run: None }
    }

    /// The same with another hint.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// The same for a run that it interrupted.
    pub(crate) fn in_run(self, run: &Path) -> Self {
        Failure { run: Some(run.to_path_buf()), ..self }
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

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "{}", HintLine(Some(hint))))
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Failure::new(error.exit(), error)
    }
}
