//! Failures of the table and of journals as failures of a command.

use crate::failure::Failure;
use marvin_mtg::journal::JournalError;
use marvin_table::TableError;

/// What a journal is.
pub(super) const JOURNAL_HINT: &str = "name a journal that `marvin mtg simulate --journals` or a game wrote";

/// A failure of the table with its hint and exit code.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands over the error")]
pub(super) fn table_failure(error: TableError) -> Failure {
    let failure = if error.is_usage() { Failure::usage(&error) } else { Failure::failed(&error) };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// A journal that cannot be read is a wrong argument; one that does not replay has failed.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands over the error")]
pub(super) fn journal_failure(error: JournalError) -> Failure {
    match error {
        JournalError::Empty | JournalError::Line { .. } | JournalError::Version(_) => {
            Failure::usage(&error).hint(JOURNAL_HINT)
        }
        _ => Failure::failed(&error),
    }
}
