//! Errors of reading and changing lessons.

use marvin_base::atomic::WriteError;
use marvin_base::ledger::LedgerError;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum LessonsError {
    #[error("cannot {action} {path}: {source}")]
    Io { action: &'static str, path: String, source: std::io::Error },
    #[error("{path} is larger than {bytes} bytes\n  hint: prune it by hand")]
    TooLarge { path: String, bytes: u64 },
    #[error(
        "{0} was changed by another process meanwhile; nothing was written\n  hint: run the command again"
    )]
    Changed(String),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(
        "unknown pack `{name}`{near}\n  hint: `marvin packs list` shows them, `marvin packs new {name}` makes one"
    )]
    UnknownPack { name: String, near: String },
    #[error("no pack speaks of {id} ({title:?})\n  hint: name one with --pack")]
    NoPack { id: String, title: String },
    #[error("{0} is empty\n  hint: marvin lessons teach PACK TITLE --actionable 'what to do'")]
    Empty(&'static str),
    /// The pack has a lesson with this title, or one that says much the same.
    #[error("{0}")]
    Duplicate(String),
}

impl LessonsError {
    pub(super) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        LessonsError::Io { action, path: path.display().to_string(), source }
    }
}
