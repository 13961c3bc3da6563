//! Errors of the record of a workflow.

use std::path::Path;

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(
        "{path} does not exist: not a workflow run\n  hint: `marvin list-runs` shows the runs of workflows"
    )]
    Missing { path: String },
    /// Its content is not what was written.
    #[error(
        "{path}: the record is damaged: {why}\n  hint: nothing was run; look at it with `marvin inspect-run`, and start a new run of the workflow"
    )]
    Damaged { path: String, why: String },
    #[error("cannot write {path}: {source}{}", marvin_base::atomic::hint(.source))]
    Io {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot {doing} the record {path}: {source}{}", hint(.source))]
    Sql {
        doing: &'static str,
        path: String,
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
            "\n  hint: the disk is full; free some space, then continue with `marvin resume-run`"
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
