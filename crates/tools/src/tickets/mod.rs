//! Tickets: one Markdown file each in `.tickets`, in the format of `tk`.
//!
//! `format` knows one file, `store` the directory with its locks, `report` and `graph` what is told of many; `command` and
//! `run` are the command line that people (behind `marvin tk`) and models (`tool`) use alike. See `docs/tickets.md`.

pub mod command;
mod draft;
pub mod format;
mod graph;
mod help;
mod id;
pub mod report;
pub mod run;
pub mod store;
pub mod tool;
mod words;

pub use command::{Command, ParsedCommand, parse};
pub use draft::Draft;
pub use format::{Damage, Ticket};
pub use help::{HELP, usage};
pub use run::{Reply, Surroundings, run};
pub use store::{Shelf, Store};
pub(crate) use tool::tools;

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

/// The words of a line as a shell splits it; `None` when a quote is not closed.
#[must_use]
pub fn words(line: &str) -> Option<Vec<String>> {
    words::split(line)
}

/// Is the word one of those that a field takes?
fn choice(what: &str, given: &str, accepted: &[&str]) -> Result<(), TicketError> {
    if accepted.contains(&given) {
        return Ok(());
    }
    Err(TicketError::Usage(format!(
        "invalid {what} '{}'. Must be one of: {}",
        given.escape_debug(),
        accepted.join(" ")
    )))
}

#[cfg(test)]
mod tests;
