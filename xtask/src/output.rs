//! Output of the chores: results on stdout, errors on stderr.

use std::fmt::Display;
use std::io::Write;

/// Stdout was closed by its reader, for example by `head`: the chore ends without a message.
#[derive(Debug, thiserror::Error)]
#[error("stdout is closed")]
pub(crate) struct StdoutClosed;

/// Prints a line to stdout.
pub(crate) fn say(text: impl Display) -> anyhow::Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(StdoutClosed.into()),
        result => Ok(result?),
    }
}

/// Prints a line to stderr. Where stderr is closed, no reader is left to be told.
pub(crate) fn complain(text: impl Display) {
    writeln!(std::io::stderr().lock(), "{text}").ok();
}
