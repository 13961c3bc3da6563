//! The record of one workflow, `run.sqlite`: the specification as it was, and every transition of every step, in order.
//!
//! A step's state is nothing but the last of its transitions; nothing is ever changed or taken away. Each transition carries a
//! mark made from it and from the mark before it, so that a row that was altered, lost or put in is found when the record is
//! opened again. What the operating system tells SQLite of a broken file is asked for as well.
//!
//! Durability: a commit survives the death of the process always, and a power cut when it was made with `full`. A commit that
//! holds the transition of a step with effects is `full` unless the person chose otherwise.
//!
//! Limits: SQLite takes back whole commits when the end of its write-ahead log is damaged. Transitions of steps with effects are
//! also told in `trace.jsonl` after they were committed; a record that knows less than its trace is refused
//! ([`Record::check_against`]).

mod error;
mod fold;
mod mark;
mod row;

pub use error::RecordError;
pub use fold::{StepHistory, WorkflowState};
pub use row::{Data, StepStatus, Transition};

use crate::spec::{self, Workflow};
use mark::Mark;
use marvin_base::clock;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file's name in the directory of a run.
pub const FILE: &str = "run.sqlite";
/// The version of the tables.
const VERSION: &str = "1";
/// How long another process is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE steps (step INTEGER PRIMARY KEY, spec TEXT NOT NULL);
CREATE TABLE log (seq INTEGER PRIMARY KEY, step INTEGER NOT NULL, status TEXT NOT NULL, at INTEGER NOT NULL, data TEXT, mark INTEGER NOT NULL);
CREATE TABLE answers (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, answer TEXT NOT NULL, at INTEGER NOT NULL);
CREATE TABLE artifacts (step INTEGER NOT NULL, attempt INTEGER NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (step, attempt, path)) WITHOUT ROWID;
";

/// When a commit must be on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// What has effects at once, the rest when SQLite likes.
    Auto,
    /// Always at once.
    Full,
    /// When SQLite likes.
    Normal,
}

impl Sync {
    /// Reads the value of the setting `flow.sync`.
    #[must_use]
    pub fn from_setting(text: &str) -> Self {
        match text {
            "full" => Sync::Full,
            "normal" => Sync::Normal,
            _ => Sync::Auto,
        }
    }

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Sync::Auto => "auto",
            Sync::Full => "full",
            Sync::Normal => "normal",
        }
    }
}

/// A file that a step left.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Artifact {
    /// Its path, relative to the workspace.
    pub path: String,
    /// The SHA-256 of its content.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// What a person said of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its number.
    pub id: i64,
    /// The step.
    pub step: u32,
    /// What was said.
    pub answer: Value,
}

/// An open record.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    connection: Connection,
    sync: Sync,
    is_full: bool,
    begun: bool,
    seq: i64,
    mark: Mark,
}

impl Record {
    /// Makes the record of a new run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(
        directory: &Path,
        workflow: &Workflow,
        run_id: &str,
        sync: Sync,
    ) -> Result<Self, RecordError> {
        let path = directory.join(FILE);
        let wrap = |source| RecordError::sql(&path, "make", source);
        make_private(&path).map_err(|source| RecordError::Io { path: path.display().to_string(), source })?;
        let mut connection = Connection::open(&path).map_err(wrap)?;
        prepare(&connection).map_err(wrap)?;
        let make = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            transaction.execute_batch(TABLES)?;
            let mut signature = Mark::default();
            {
                let mut insert = transaction.prepare("INSERT INTO steps (step, spec) VALUES (?1, ?2)")?;
                for (index, step) in (0_i64..).zip(&workflow.steps) {
                    let text = step.to_json(workflow).to_string();
                    signature = signature.after_text(&text);
                    insert.execute(params![index, text])?;
                }
                let mut meta = transaction.prepare("INSERT INTO meta (key, value) VALUES (?1, ?2)")?;
                for (key, value) in [
                    ("version", VERSION.to_string()),
                    ("run_id", run_id.to_string()),
                    ("workflow_id", workflow.workflow_id.clone()),
                    ("goal", workflow.goal.clone()),
                    ("metadata", Value::Object(workflow.metadata.clone()).to_string()),
                    ("steps", workflow.steps.len().to_string()),
                    ("spec_mark", signature.number().to_string()),
                    ("sync", sync.word().to_string()),
                    ("created_at", clock::now_stamp()),
                ] {
                    meta.execute(params![key, value])?;
                }
            }
            transaction.commit()
        };
        make(&mut connection).map_err(wrap)?;
        Ok(Record { path, connection, sync, is_full: true, begun: false, seq: 0, mark: Mark::default() })
    }

    /// Opens the record of a run and reads everything; a record that is not whole is refused.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is of another version.
    pub fn open(
        directory: &Path,
        sync: Option<Sync>,
    ) -> Result<(Self, Workflow, WorkflowState), RecordError> {
        let mut record = Record::connect(directory, false)?;
        let workflow = record.workflow()?;
        record.sync = sync.unwrap_or_else(|| Sync::from_setting(&record.meta("sync").unwrap_or_default()));
        let folded = record.fold(&workflow)?;
        Ok((record, workflow, folded))
    }

    /// Opens a record to look at it, while another process may write to it.
    ///
    /// # Errors
    /// As [`Record::open`].
    pub fn look(directory: &Path) -> Result<(Self, Workflow, WorkflowState), RecordError> {
        let mut record = Record::connect(directory, true)?;
        // One moment of it, however much is written meanwhile.
        record.connection.execute_batch("BEGIN").map_err(|source| record.wrap("read", source))?;
        let workflow = record.workflow()?;
        let folded = record.fold(&workflow)?;
        record.connection.execute_batch("COMMIT").map_err(|source| record.wrap("read", source))?;
        Ok((record, workflow, folded))
    }

    fn connect(directory: &Path, only_look: bool) -> Result<Self, RecordError> {
        let path = directory.join(FILE);
        let facts = path.symlink_metadata();
        if !facts.is_ok_and(|facts| facts.is_file()) {
            return Err(RecordError::Missing { path: path.display().to_string() });
        }
        let wrap = |source| RecordError::sql(&path, "open", source);
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = match Connection::open_with_flags(&path, flags) {
            // A directory that may only be read can still be looked at.
            Err(_) if only_look => Connection::open_with_flags(
                &path,
                OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
            )
            .map_err(wrap)?,
            other => other.map_err(wrap)?,
        };
        connection.busy_timeout(BUSY_TIMEOUT).map_err(wrap)?;
        if !only_look {
            prepare(&connection).map_err(wrap)?;
        }
        let record = Record {
            path,
            connection,
            sync: Sync::Auto,
            is_full: true,
            begun: false,
            seq: 0,
            mark: Mark::default(),
        };
        let sound: String = record
            .connection
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .map_err(|source| record.wrap("check", source))?;
        if sound != "ok" {
            return Err(record.damaged(sound));
        }
        match record.meta("version").as_deref() {
            Some(VERSION) => Ok(record),
            Some(other) => {
                Err(record.damaged(format!("it is of version {other}, and this program knows {VERSION}")))
            }
            None => Err(record.damaged("it says nothing of its version")),
        }
    }

    fn wrap(&self, doing: &'static str, source: rusqlite::Error) -> RecordError {
        RecordError::sql(&self.path, doing, source)
    }

    fn damaged(&self, why: impl Into<String>) -> RecordError {
        RecordError::Damaged { path: self.path.display().to_string(), why: why.into() }
    }

    /// A fact of the run.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<String> {
        let query =
            self.connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0));
        query.optional().ok().flatten()
    }

    /// How commits are kept.
    #[must_use]
    pub fn sync(&self) -> Sync {
        self.sync
    }

    /// The number of the last transition.
    #[must_use]
    pub fn last(&self) -> i64 {
        self.seq
    }

    /// The workflow, as it was when the run began.
    fn workflow(&self) -> Result<Workflow, RecordError> {
        let mut problems = Vec::new();
        let mut sketches = Vec::new();
        let mut signature = Mark::default();
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare("SELECT spec FROM steps ORDER BY step")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let text = row.get_ref(0)?.as_str().unwrap_or_default();
                signature = signature.after_text(text);
                sketches.extend(spec::sketch_of(text, &mut problems));
            }
            Ok(())
        };
        read().map_err(|source| self.wrap("read", source))?;
        if self.meta("spec_mark") != Some(signature.number().to_string()) {
            return Err(self.damaged("the specification in it was altered"));
        }
        let metadata: Map<String, Value> =
            self.meta("metadata").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        spec::restore(
            self.meta("workflow_id").unwrap_or_default(),
            self.meta("goal").unwrap_or_default(),
            metadata,
            sketches,
            problems,
        )
        .map_err(|error| self.damaged(error.to_string()))
    }

    /// The transitions, one by one, each checked against its mark.
    pub(crate) fn each(&self, see: &mut dyn FnMut(Transition<'_>)) -> Result<(i64, Mark), RecordError> {
        let mut mark = Mark::default();
        let mut last = 0;
        let mut wrong = None;
        let mut read = || -> rusqlite::Result<()> {
            let mut statement =
                self.connection.prepare("SELECT seq, step, status, at, data, mark FROM log ORDER BY seq")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (seq, step): (i64, i64) = (row.get(0)?, row.get(1)?);
                let status = row.get_ref(2)?.as_str().unwrap_or_default();
                let at: i64 = row.get(3)?;
                let data = row.get_ref(4)?.as_str_or_null().ok().flatten().unwrap_or_default();
                let kept: i64 = row.get(5)?;
                mark = mark.after(seq, step, status, at, data);
                let known = StepStatus::read(status);
                let (Some(status), Ok(step), true) =
                    (known, u32::try_from(step), mark.number() == kept && seq == last + 1)
                else {
                    wrong = Some(seq);
                    return Ok(());
                };
                last = seq;
                see(Transition { seq, step, status, at, data });
            }
            Ok(())
        };
        read().map_err(|source| self.wrap("read", source))?;
        match wrong {
            Some(seq) => Err(self.damaged(format!(
                "transition {seq} is not the one that was written, or one before it is missing"
            ))),
            None => Ok((last, mark)),
        }
    }

    fn fold(&mut self, workflow: &Workflow) -> Result<WorkflowState, RecordError> {
        let mut folded = WorkflowState::empty(workflow.steps.len());
        let (last, mark) = self.each(&mut |transition| folded.take(&transition))?;
        (self.seq, self.mark) = (last, mark);
        Ok(folded)
    }

    /// Refuses a record that knows less than what was told of it.
    ///
    /// # Errors
    /// When transitions that were acknowledged are missing.
    pub fn check_against(&self, told: i64) -> Result<(), RecordError> {
        if told <= self.seq {
            return Ok(());
        }
        Err(self.damaged(format!(
            "it ends at transition {}, but the trace tells of transition {told}: what was committed last is lost",
            self.seq
        )))
    }

    /// Writes a transition. It counts when [`Record::commit`] has returned. Gives its number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, step: u32, status: StepStatus, data: &str) -> Result<i64, RecordError> {
        self.begin()?;
        let seq = self.seq + 1;
        let at = clock::now().as_millisecond();
        let mark = self.mark.after(seq, i64::from(step), status.word(), at, data);
        let insert = || -> rusqlite::Result<usize> {
            let mut insert = self.connection.prepare_cached(
                "INSERT INTO log (seq, step, status, at, data, mark) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            let data = (!data.is_empty()).then_some(data);
            insert.execute(params![seq, step, status.word(), at, data, mark.number()])
        };
        insert().map_err(|source| self.wrap("write to", source))?;
        (self.seq, self.mark) = (seq, mark);
        Ok(seq)
    }

    fn begin(&mut self) -> Result<(), RecordError> {
        if !self.begun {
            let begin = || self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]);
            begin().map_err(|source| self.wrap("write to", source))?;
            self.begun = true;
        }
        Ok(())
    }

    /// Writes which files a step left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_artifacts(
        &mut self,
        step: u32,
        attempt: u32,
        artifacts: &[Artifact],
    ) -> Result<(), RecordError> {
        self.begin()?;
        for artifact in artifacts {
            let insert = || -> rusqlite::Result<usize> {
                let mut insert = self.connection.prepare_cached(
                    "INSERT OR REPLACE INTO artifacts (step, attempt, path, sha256, bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?;
                let bytes = i64::try_from(artifact.bytes).unwrap_or(i64::MAX);
                insert.execute(params![step, attempt, artifact.path, artifact.sha256, bytes])
            };
            insert().map_err(|source| self.wrap("write to", source))?;
        }
        Ok(())
    }

    /// Is something written that does not count yet?
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.begun
    }

    /// Makes everything written so far count. Nothing to do is nothing done.
    ///
    /// # Errors
    /// When it cannot; then none of it counts.
    pub fn commit(&mut self) -> Result<(), RecordError> {
        if !self.begun {
            return Ok(());
        }
        let commit = || self.connection.prepare_cached("COMMIT")?.execute([]);
        commit().map_err(|source| self.wrap("commit to", source))?;
        self.begun = false;
        Ok(())
    }

    /// Says how the next commit is kept; to be called when nothing is written yet.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn expect(&mut self, effects: bool) -> Result<(), RecordError> {
        let full = match self.sync {
            Sync::Auto => effects,
            Sync::Full => true,
            Sync::Normal => false,
        };
        if full != self.is_full && !self.begun {
            let word = if full { "PRAGMA synchronous=FULL" } else { "PRAGMA synchronous=NORMAL" };
            self.connection.execute_batch(word).map_err(|source| self.wrap("write to", source))?;
            self.is_full = full;
        }
        Ok(())
    }

    /// The data of a transition.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn data(&self, seq: i64) -> Result<String, RecordError> {
        let read = || -> rusqlite::Result<Option<String>> {
            let mut select = self.connection.prepare_cached("SELECT data FROM log WHERE seq = ?1")?;
            select.query_row([seq], |row| row.get(0))
        };
        Ok(read().map_err(|source| self.wrap("read", source))?.unwrap_or_default())
    }

    /// Every artifact with its step and attempt, in the order in which they were made.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn artifacts(&self) -> Result<Vec<(u32, u32, Artifact)>, RecordError> {
        let read = || -> rusqlite::Result<Vec<(u32, u32, Artifact)>> {
            let mut select = self.connection.prepare(
                "SELECT step, attempt, path, sha256, bytes FROM artifacts ORDER BY step, attempt, path",
            )?;
            let rows = select.query_map([], |row| {
                let bytes: i64 = row.get(4)?;
                let artifact = Artifact {
                    path: row.get(2)?,
                    sha256: row.get(3)?,
                    bytes: u64::try_from(bytes).unwrap_or(0),
                };
                Ok((row.get(0)?, row.get(1)?, artifact))
            })?;
            rows.collect()
        };
        read().map_err(|source| self.wrap("read", source))
    }

    /// Keeps what a person said of a step.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn answer(&self, step: u32, answer: &Value) -> Result<(), RecordError> {
        let write = || -> rusqlite::Result<()> {
            self.connection.execute_batch("PRAGMA synchronous=FULL")?;
            self.connection.execute(
                "INSERT INTO answers (step, answer, at) VALUES (?1, ?2, ?3)",
                params![step, answer.to_string(), clock::now().as_millisecond()],
            )?;
            Ok(())
        };
        write().map_err(|source| self.wrap("write to", source))
    }

    /// What people said after the answer of this number.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn answers_after(&self, id: i64) -> Result<Vec<Answer>, RecordError> {
        let read = || -> rusqlite::Result<Vec<Answer>> {
            let mut select = self
                .connection
                .prepare_cached("SELECT id, step, answer FROM answers WHERE id > ?1 ORDER BY id")?;
            let rows = select.query_map([id], |row| {
                let text: String = row.get(2)?;
                let answer = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
                Ok(Answer { id: row.get(0)?, step: row.get(1)?, answer })
            })?;
            rows.collect()
        };
        read().map_err(|source| self.wrap("read", source))
    }

    /// Puts everything on the disk and into the one file.
    ///
    /// # Errors
    /// When it cannot.
    pub fn close(&mut self) -> Result<(), RecordError> {
        self.commit()?;
        let close = || -> rusqlite::Result<()> {
            self.connection.execute_batch("PRAGMA synchronous=FULL")?;
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        self.is_full = true;
        close().map_err(|source| self.wrap("close", source))
    }
}

/// What every connection that writes is set to.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;")?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// An empty file that only its owner may read.
fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

#[cfg(test)]
mod tests;
