//! Tickets: one Markdown file each in `.tickets`, in the format of `tk`.
//!
//! `format` parses one file, `store` locks the directory, `report` and `graph` describe many tickets; `command` and
//! `run` are the command line that people (behind `marvin tk`) and models (`tool`) use alike. See `docs/tickets.md`.

pub mod command;
mod draft;
mod error;
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
pub use error::TicketError;
pub use format::{Damage, Ticket};
pub use help::{HELP, usage};
pub use run::{Reply, Surroundings, run};
pub use store::{Shelf, Store};
pub(crate) use tool::{coding_tools, tools};

/// The words of a line as a shell splits it; `None` when a quote is not closed.
#[must_use]
pub fn words(line: &str) -> Option<Vec<String>> {
    words::split(line)
}

#[cfg(test)]
mod tests;
