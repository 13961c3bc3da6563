//! Failures of the table as failures of a command.

use crate::failure::Failure;
use marvin_table::TableError;

/// A failure of the table with its hint and exit code.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands over the error")]
pub(super) fn table_failure(error: TableError) -> Failure {
    let failure = if error.is_usage() { Failure::usage(&error) } else { Failure::failed(&error) };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
