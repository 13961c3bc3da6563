//! The directory of one run and its `run.json`.

use crate::atomic::{self, WriteError};
use crate::diagnostic_log::{self, RunLog};
use crate::layout::{Layout, migrate};
use crate::open_dir::OpenDir;
use crate::redact::Redactor;
use crate::run_record::{self, RunRecord};
use crate::{clock, ids};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Levels of directories of a record in which Marvin writes files of its own.
const MAX_RECORD_DEPTH: usize = 4;

/// The directory of one run: `run_YYYYMMDD_HHMMSS_<4 hex>`.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    id: String,
    directory: OpenDir,
    artifacts: OpenDir,
    logs: OpenDir,
    started: Timestamp,
    /// Open as long as the run is, where the diagnostic log is on.
    _log: Option<Arc<RunLog>>,
}

impl RunDirectory {
    /// Creates a run in a layout's state directory, which is created with it, and the link to the runs in the project.
    ///
    /// # Errors
    /// When the state directory cannot be used or written, with the path and the reason.
    pub fn create_in(layout: &Layout) -> Result<Self, WriteError> {
        layout.prepare_state().map_err(|error| WriteError {
            path: layout.project_state().display().to_string(),
            source: std::io::Error::other(error.to_string()),
        })?;
        let run = RunDirectory::create(&layout.runs())?;
        layout.link_runs();
        Ok(run)
    }

    /// Makes a new run directory below `runs`.
    ///
    /// # Errors
    /// When the directory cannot be made, with the path and the reason.
    pub fn create(runs: &Path) -> Result<Self, WriteError> {
        let started = clock::now();
        let wrap = |path: &Path, source| WriteError { path: path.display().to_string(), source };
        std::fs::create_dir_all(runs).map_err(|source| wrap(runs, source))?;
        // Where another run started at the same moment, the id says a moment later.
        let mut moment = started;
        loop {
            let id = ids::run_id(moment);
            let path = runs.join(&id);
            let made = OpenDir::create(&path).and_then(|directory| {
                // Held from the beginning: no program has run yet.
                let (artifacts, logs) = (directory.inner("artifacts")?, directory.inner("logs")?);
                let _log = diagnostic_log::open_run(&directory);
                Ok(RunDirectory { id, directory, artifacts, logs, started, _log })
            });
            match made {
                Ok(run) => {
                    tracing::info!(run = run.id, "run begins");
                    return Ok(run);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => moment += ids::RUN_ID_STEP,
                Err(error) => return Err(wrap(&path, error)),
            }
        }
    }

    /// Opens the directory of a run with a given id, which is created if it does not exist.
    ///
    /// # Errors
    /// When the id is not one of a run, or the directory cannot be opened.
    pub fn open_or_create(runs: &Path, id: &str) -> std::io::Result<Self> {
        if is_plain_id(id) {
            std::fs::create_dir_all(runs)?;
            match OpenDir::create(&runs.join(id)) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        RunDirectory::open(runs, id)
    }

    /// Opens an existing run, to resume it.
    ///
    /// # Errors
    /// When the run does not exist, or its directory cannot be opened.
    pub fn open(runs: &Path, id: &str) -> std::io::Result<Self> {
        let started = ids::run_started(id).filter(|_| is_plain_id(id));
        let Some(started) = started else {
            return Err(std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
                format!("`{id}` names no run"),
            ));
        };
        let directory = OpenDir::open(&runs.join(id))?;
        if directory.place().join(migrate::IMPORTED).symlink_metadata().is_ok() {
            return Err(std::io::Error::new(
                std::io::ErrorKind::PermissionDenied,
                format!(
                    "`{id}` was made by an older version, where agents could write its record; it is for reading only"
                ),
            ));
        }
        let inner = |name: &str| match directory.inner(name) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                OpenDir::open(&directory.path().join(name))
            }
            other => other,
        };
        let (artifacts, logs) = (inner("artifacts")?, inner("logs")?);
        let _log = diagnostic_log::open_run(&directory);
        Ok(RunDirectory { id: id.to_string(), directory, artifacts, logs, started, _log })
    }

    /// The run's id, which is the directory's name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    #[must_use]
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// The one trace of the run.
    #[must_use]
    pub fn trace(&self) -> PathBuf {
        self.path().join("trace.jsonl")
    }

    /// The cost ledger of all processes of the run.
    #[must_use]
    pub fn cost(&self) -> PathBuf {
        self.path().join("cost.jsonl")
    }

    /// Which entries of a script have been used, over all processes of the run.
    #[must_use]
    pub fn script_state(&self) -> PathBuf {
        self.path().join("script.json")
    }

    /// Logs for people.
    #[must_use]
    pub fn logs(&self) -> &OpenDir {
        &self.logs
    }

    /// Reports for people.
    #[must_use]
    pub fn reports(&self) -> PathBuf {
        self.path().join("reports")
    }

    /// Things the run made that are too large for the trace.
    #[must_use]
    pub fn artifacts(&self) -> &OpenDir {
        &self.artifacts
    }

    /// Removes the temporary files that a killed process left in the record; returns their number. The caller must hold the run's
    /// lock.
    pub fn remove_temporary_files(&self) -> usize {
        atomic::remove_temporary_files(&self.directory.place(), MAX_RECORD_DEPTH)
    }

    /// Writes `run.json` without secrets.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, record: &RunRecord, redactor: &Redactor) -> Result<(), WriteError> {
        self.write(&self.render(record, redactor))
    }

    /// The text of `run.json` without secrets, for [`RunDirectory::write`].
    #[must_use]
    pub fn render(&self, record: &RunRecord, redactor: &Redactor) -> String {
        let record = RunRecord {
            version: run_record::VERSION,
            run_id: self.id.clone(),
            started_at: clock::stamp(self.started),
            ..record.clone()
        };
        // A record consists of strings, numbers, lists and maps with string keys: it always becomes a value.
        let mut value = serde_json::to_value(&record).unwrap_or_default();
        redactor.value(&mut value);
        format!("{value:#}\n")
    }

    /// Writes a rendered `run.json`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, text: &str) -> Result<(), WriteError> {
        atomic::replace(&self.directory.place().join(run_record::FILE), text.as_bytes()).map_err(|error| {
            WriteError { path: self.path().join(run_record::FILE).display().to_string(), ..error }
        })
    }
}

/// Whether an id names a run, and nothing outside the directory of runs.
fn is_plain_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    ids::run_started(id).is_some() && id.bytes().all(plain)
}

/// Finds a run by its directory or by its id below `runs`.
#[must_use]
pub fn find(name: &str, runs: &Path) -> Option<PathBuf> {
    [PathBuf::from(name), runs.join(name)].into_iter().find(|path| path.join(run_record::FILE).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_record::RunKind;

    #[test]
    fn a_run_is_saved_and_found() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDirectory::create(directory.path()).unwrap();
        let record = RunRecord { goal: Some("x".into()), ..RunRecord::new(RunKind::Tool) };
        run.save(&record, &Redactor::patterns_only()).unwrap();
        let saved = RunRecord::read(run.path()).unwrap();
        assert_eq!((saved.run_id.as_str(), saved.goal.as_deref()), (run.id(), Some("x")));
        assert_eq!(find(run.id(), directory.path()).unwrap(), run.path());
        assert_eq!(find("run_nothing", directory.path()), None);
        let again = RunDirectory::open(directory.path(), run.id()).unwrap();
        assert_eq!((again.id(), again.started().as_second()), (run.id(), run.started().as_second()));
        for odd in
            ["", "..", "run_20260203_040506_abcd", "run_20260203_040506_../x", "run_99999999_999999_0000"]
        {
            assert!(RunDirectory::open(directory.path(), odd).is_err(), "{odd}");
        }
    }
}
