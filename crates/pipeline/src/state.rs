//! `.marvin/pipeline_state`: the last phase that is over, as plain text. It is read from the disk at every question, written
//! whole, and never set back by the pipeline.

use crate::phase::Phase;
use marvin_base::atomic::{self, WriteError};
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use std::path::{Path, PathBuf};

/// Bytes that are read; a name has at most nine.
const MAX_STATE_FILE_BYTES: u64 = 64;

/// Why the state cannot be taken as it is.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It names no phase.
    #[error(
        "{path} says `{text}`, which is no phase ({all})\n  hint: `marvin pipeline resume --trust record` writes what the record of the run knows; `--trust 1b` does everything after 1b again"
    )]
    Unknown {
        /// The file.
        path: String,
        /// What it says.
        text: String,
        /// The names that there are.
        all: String,
    },
    /// It cannot be read.
    #[error("cannot read {path}: {source}\n  hint: it must be a plain file with the name of a phase")]
    Unreadable {
        /// The file.
        path: String,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// It says something else than the record.
    #[error(
        "{path} says {says}, but by the record of {run} the last phase that is over is {knows}: somebody changed the file\n  hint: `marvin pipeline resume --trust record` goes on after {knows}; `marvin pipeline resume --trust {file}` does everything after that again"
    )]
    Changed {
        /// The file.
        path: String,
        /// What it says.
        says: String,
        /// What the record knows.
        knows: String,
        /// The run.
        run: String,
        /// What to trust to take the file's word.
        file: String,
    },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The file.
#[derive(Debug, Clone)]
pub struct StateFile {
    path: PathBuf,
}

impl StateFile {
    /// The state of a project, by the directory of its record.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        StateFile { path }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The last phase that is over; none when there is no file.
    ///
    /// # Errors
    /// When it names no phase, or cannot be read.
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

    /// Is this phase over?
    ///
    /// # Errors
    /// As [`StateFile::read`].
    pub fn is_over(&self, phase: Phase) -> Result<bool, StateError> {
        Ok(self.read()?.is_some_and(|last| last >= phase))
    }

    /// Writes that this phase is over, unless a later one is.
    ///
    /// # Errors
    /// As [`StateFile::read`], and when it cannot be written.
    pub fn save(&self, phase: Phase) -> Result<(), StateError> {
        if self.is_over(phase)? {
            return Ok(());
        }
        Ok(atomic::replace(&self.path, format!("{phase}\n").as_bytes())?)
    }

    /// Writes what somebody decided it to be; none takes it away.
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
    fn it_never_goes_back_and_is_read_every_time() {
        let (_directory, file) = file();
        assert_eq!(file.read().unwrap(), None);
        file.save(Phase::FunctionalTests).unwrap();
        file.save(Phase::Design).unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "2a\n");
        assert!(file.is_over(Phase::Design).unwrap() && !file.is_over(Phase::Debug).unwrap());
        std::fs::write(file.path(), "4c").unwrap();
        assert!(file.is_over(Phase::Debug).unwrap(), "somebody else may have written it");
    }

    #[test]
    fn garbage_is_an_error_and_never_a_phase() {
        let (directory, file) = file();
        for text in [&b""[..], b"2", b"9z", b"2a 2b", b"\xff\xfe", &[b'a'; 5000]] {
            std::fs::write(file.path(), text).unwrap();
            let error = file.read().unwrap_err().to_string();
            assert!(error.contains("is no phase") && error.contains("hint:"), "{error}");
            assert!(file.save(Phase::Quality).is_err(), "what is not understood is not written over");
        }
        std::fs::remove_file(file.path()).unwrap();
        std::fs::write(directory.path().join("other"), "5").unwrap();
        std::os::unix::fs::symlink(directory.path().join("other"), file.path()).unwrap();
        assert!(file.read().is_err(), "a link is no state");
    }
}
