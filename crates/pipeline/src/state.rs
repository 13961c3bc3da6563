//! `.marvin/pipeline_state`: the last complete phase, as plain text. It is read from the disk each time, replaced atomically,
//! and never set back by the pipeline.

use crate::phase::Phase;
use marvin_base::atomic::{self, WriteError};
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use std::path::{Path, PathBuf};

/// A phase name has at most nine bytes.
const MAX_STATE_FILE_BYTES: u64 = 64;

/// Why the state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It does not name a phase.
    #[error(
        "{path} says `{text}`, which is not a phase ({all})\n  hint: `marvin pipeline resume --trust record` restores it from the record of the run; `--trust 1b` repeats everything after 1b"
    )]
    Unknown {
        path: String,
        text: String,
        /// The names of all phases.
        all: String,
    },
    #[error("cannot read {path}: {source}\n  hint: it must be a plain file with the name of a phase")]
    Unreadable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    /// It disagrees with the record.
    #[error(
        "{path} says {stated}, but by the record of {run} the last complete phase is {recorded}: the file was changed by hand\n  hint: `marvin pipeline resume --trust record` continues after {recorded}; `marvin pipeline resume --trust {file}` repeats everything after that"
    )]
    Changed {
        path: String,
        stated: String,
        recorded: String,
        run: String,
        /// The value of `--trust` that accepts the file.
        file: String,
    },
    #[error(transparent)]
    Write(#[from] WriteError),
}

#[derive(Debug, Clone)]
pub struct StateFile {
    path: PathBuf,
}

impl StateFile {
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        StateFile { path }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last complete phase; none if the file does not exist.
    ///
    /// # Errors
    /// When it does not name a phase, or cannot be read.
    pub fn read(&self) -> Result<Option<Phase>, StateError> {
        let path = || self.path.display().to_string();
        let bytes = match files::read(&self.path, MAX_STATE_FILE_BYTES, Links::Refuse) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StateError::Unreadable { path: path(), source }),
        };
        let text = String::from_utf8_lossy(&bytes);
        match Phase::find(text.trim()) {
            Some(phase) => Ok(Some(phase)),
            None => {
                let all = Phase::ALL.map(Phase::name).join(", ");
                let text = truncate::line(&text.escape_debug().to_string(), 40);
                Err(StateError::Unknown { path: path(), text, all })
            }
        }
    }

    /// Is this phase complete?
    ///
    /// # Errors
    /// As [`StateFile::read`].
    pub fn is_over(&self, phase: Phase) -> Result<bool, StateError> {
        Ok(self.read()?.is_some_and(|last| last >= phase))
    }

    /// Writes that this phase is complete, unless a later one is.
    ///
    /// # Errors
    /// As [`StateFile::read`], and when it cannot be written.
    pub fn save(&self, phase: Phase) -> Result<(), StateError> {
        if self.is_over(phase)? {
            return Ok(());
        }
        Ok(atomic::replace(&self.path, format!("{phase}\n").as_bytes())?)
    }

    /// Sets the state by a decision of the user; none removes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn decide(&self, phase: Option<Phase>) -> Result<(), StateError> {
        match phase {
            Some(phase) => Ok(atomic::replace(&self.path, format!("{phase}\n").as_bytes())?),
            None => match std::fs::remove_file(&self.path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    Err(WriteError { path: self.path.display().to_string(), source }.into())
                }
                _ => Ok(()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, StateFile) {
        let directory = tempfile::tempdir().unwrap();
        let file = StateFile::new(directory.path().join("pipeline_state"));
        (directory, file)
    }

    #[test]
    fn the_state_never_goes_back_and_is_read_every_time() {
        let (_directory, file) = file();
        assert_eq!(file.read().unwrap(), None);
        file.save(Phase::FunctionalTests).unwrap();
        file.save(Phase::Design).unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "2a\n");
        assert!(file.is_over(Phase::Design).unwrap() && !file.is_over(Phase::Debug).unwrap());
        std::fs::write(file.path(), "4c").unwrap();
        assert!(file.is_over(Phase::Debug).unwrap(), "another process may have written it");
    }

    #[test]
    fn garbage_is_an_error_and_never_a_phase() {
        let (directory, file) = file();
        for text in [&b""[..], b"2", b"9z", b"2a 2b", b"\xff\xfe", &[b'a'; 5000]] {
            std::fs::write(file.path(), text).unwrap();
            let error = file.read().unwrap_err().to_string();
            assert!(error.contains("is not a phase") && error.contains("hint:"), "{error}");
            assert!(file.save(Phase::Quality).is_err(), "what is not understood is not written over");
        }
        std::fs::remove_file(file.path()).unwrap();
        std::fs::write(directory.path().join("other"), "5").unwrap();
        std::os::unix::fs::symlink(directory.path().join("other"), file.path()).unwrap();
        assert!(file.read().is_err(), "links are not followed");
    }
}
