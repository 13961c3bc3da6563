//! Why the record of a workflow cannot be used.

use std::path::Path;

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is none.
    #[error(
        "{path}: there is no record of a workflow\n  hint: `marvin list-runs` shows the runs of workflows"
    )]
    Missing {
        /// The file.
        path: String,
    },
    /// It is not what was written.
    #[error(
        "{path}: the record is damaged: {why}\n  hint: nothing was run; look at it with `marvin inspect-run`, and begin a new run of the workflow"
    )]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// The operating system refused.
    #[error("cannot write {path}: {source}{}", marvin_base::atomic::hint(.source))]
    Io {
        /// The file.
        path: String,
        /// Its reason.
        #[source]
        source: std::io::Error,
    },
    /// SQLite refused.
    #[error("cannot {doing} the record {path}: {source}{}", hint(.source))]
    Sql {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: String,
        /// Its reason.
        #[source]
        source: rusqlite::Error,
    },
}

impl RecordError {
    pub(super) fn sql(path: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        let path = path.display().to_string();
        match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                RecordError::Damaged { path, why: source.to_string() }
            }
            _ => RecordError::Sql { doing, path, source },
        }
    }
}

fn hint(error: &rusqlite::Error) -> &'static str {
    use rusqlite::ErrorCode;
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            "\n  hint: the disk is full; free some room, then `marvin resume-run` goes on"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "\n  hint: the directory of the run must be writable"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "\n  hint: another process holds it; wait for it to end"
        }
        Some(ErrorCode::SystemIoFailure) => "\n  hint: the disk failed; nothing after the last commit counts",
        _ => "",
    }
}
