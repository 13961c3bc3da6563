//! The record of one workflow, `run.sqlite`: the specification at its beginning, and every transition in order.
//!
//! The state of a step is its last transition; rows are never changed or deleted. Each transition carries a mark computed from
//! it and from the mark before it, so that an altered, missing or inserted row is found when the record is opened. SQLite's
//! integrity check is run as well.
//!
//! Durability: a commit always survives the death of the process, and survives a power cut if it was made with `full`. A commit
//! with the transition of a step with effects is `full` unless the user chose otherwise.
//!
//! Limits: SQLite rolls back whole commits when the end of its write-ahead log is damaged. Transitions of steps with effects are
//! also written to `trace.jsonl` after their commit; a record that knows less than its trace is refused
//! ([`Record::check_against`]).

mod error;
mod fold;
mod mark;
mod row;

pub use error::RecordError;
pub(crate) use fold::call_id;
pub use fold::{CallIdentity, StepHistory, WorkflowState};
pub use row::{Data, NewTransition, StepStatus, Transition};

use crate::spec::{self, Workflow};
use mark::Mark;
use marvin_base::clock;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file name in a run directory.
pub const FILE: &str = "run.sqlite";
/// The version of the tables.
const VERSION: &str = "1";
/// How long to wait for another process.
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
    /// Transitions of steps with effects at once, others when SQLite checkpoints.
    Auto,
    /// Every commit at once.
    Full,
    /// When SQLite checkpoints.
    Normal,
}

impl Sync {
    /// Parses the value of the setting `flow.sync`.
    #[must_use]
    pub fn from_setting(text: &str) -> Self {
        match text {
            "full" => Sync::Full,
            "normal" => Sync::Normal,
            _ => Sync::Auto,
        }
    }

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Sync::Auto => "auto",
            Sync::Full => "full",
            Sync::Normal => "normal",
        }
    }
}

/// A file that a step created.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Artifact {
    /// Relative to the workspace.
    pub path: String,
    pub sha256: String,
    pub bytes: u64,
}

/// An answer of a person to a step.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Answer {
    pub id: i64,
    pub step: u32,
    pub answer: Value,
}

/// A step that waits for a person.
#[derive(Debug, Clone)]
pub struct WaitingStep {
    pub step_id: String,
    /// Milliseconds since 1970.
    pub since_ms: i64,
    /// Of its last transition.
    pub data: Data,
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
    /// Creates the record of a new run.
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
        let wrap = |source| RecordError::sql(&path, "create", source);
        create_private(&path)
            .map_err(|source| RecordError::Io { path: path.display().to_string(), source })?;
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

    /// Opens the record of a run and checks all of it.
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

    /// Opens a record for reading, while another process may write to it.
    ///
    /// # Errors
    /// As [`Record::open`].
    pub fn look(directory: &Path) -> Result<(Self, Workflow, WorkflowState), RecordError> {
        let mut record = Record::connect(directory, true)?;
        // One transaction, so that the workflow and its transitions are of one moment.
        record.connection.execute_batch("BEGIN").map_err(|source| record.wrap("read", source))?;
        let workflow = record.workflow()?;
        let folded = record.fold(&workflow)?;
        record.connection.execute_batch("COMMIT").map_err(|source| record.wrap("read", source))?;
        Ok((record, workflow, folded))
    }

    fn connect(directory: &Path, read_only: bool) -> Result<Self, RecordError> {
        let path = directory.join(FILE);
        let facts = path.symlink_metadata();
        if !facts.is_ok_and(|facts| facts.is_file()) {
            return Err(RecordError::Missing { path: path.display().to_string() });
        }
        let wrap = |source| RecordError::sql(&path, "open", source);
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = match Connection::open_with_flags(&path, flags) {
            // A run in a read-only directory can still be read.
            Err(_) if read_only => Connection::open_with_flags(
                &path,
                OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
            )
            .map_err(wrap)?,
            other => other.map_err(wrap)?,
        };
        connection.busy_timeout(BUSY_TIMEOUT).map_err(wrap)?;
        if !read_only {
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
            None => Err(record.damaged("it has no version")),
        }
    }

    fn wrap(&self, doing: &'static str, source: rusqlite::Error) -> RecordError {
        RecordError::sql(&self.path, doing, source)
    }

    fn damaged(&self, why: impl Into<String>) -> RecordError {
        RecordError::Damaged { path: self.path.display().to_string(), why: why.into() }
    }

    /// A value of the table `meta`.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<String> {
        let query =
            self.connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0));
        query.optional().ok().flatten()
    }

    #[must_use]
    pub fn sync(&self) -> Sync {
        self.sync
    }

    /// The number of the last transition.
    #[must_use]
    pub fn last(&self) -> i64 {
        self.seq
    }

    /// The workflow as it was when the run began.
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

    /// Visits the transitions in order, each checked against its mark.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(Transition<'_>)) -> Result<(i64, Mark), RecordError> {
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
                let known = StepStatus::parse(status);
                let (Some(status), Ok(step), true) =
                    (known, u32::try_from(step), mark.number() == kept && seq == last + 1)
                else {
                    wrong = Some(seq);
                    return Ok(());
                };
                last = seq;
                visit(Transition { seq, step, status, at, data });
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
        let (last, mark) = self.each(&mut |transition| folded.apply(&transition))?;
        (self.seq, self.mark) = (last, mark);
        Ok(folded)
    }

    /// Refuses a record that ends before the last transition in the trace.
    ///
    /// # Errors
    /// When transitions that were acknowledged are missing.
    pub fn check_against(&self, traced: i64) -> Result<(), RecordError> {
        if traced <= self.seq {
            return Ok(());
        }
        Err(self.damaged(format!(
            "it ends at transition {}, but the trace has transition {traced}: the last commits are lost",
            self.seq
        )))
    }

    /// Writes a transition and returns its number. It counts when [`Record::commit`] has returned.
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
        tracing::debug!(step, status = status.word(), seq, "step transition");
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

    /// Writes the artifacts of an attempt.
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

    /// Are there uncommitted transitions?
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.begun
    }

    /// Commits everything written so far.
    ///
    /// # Errors
    /// When SQLite fails; then none of it counts.
    pub fn commit(&mut self) -> Result<(), RecordError> {
        if !self.begun {
            return Ok(());
        }
        let commit = || self.connection.prepare_cached("COMMIT")?.execute([]);
        commit().map_err(|source| self.wrap("commit to", source))?;
        self.begun = false;
        Ok(())
    }

    /// Chooses the durability of the next commit, before its first write.
    ///
    /// # Errors
    /// When SQLite fails.
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

    /// Every artifact with its step and attempt, in this order.
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

    /// Writes the answer of a person to a step.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn answer(&self, step: u32, answer: &Value) -> Result<bool, RecordError> {
        let write = || -> rusqlite::Result<bool> {
            self.connection.execute_batch("PRAGMA synchronous=FULL")?;
            let written = self.connection.execute(
                "INSERT INTO answers (step, answer, at) SELECT ?1, ?2, ?3 \
                 WHERE (SELECT status FROM log WHERE step = ?1 ORDER BY seq DESC LIMIT 1) = ?4",
                params![step, answer.to_string(), clock::now().as_millisecond(), StepStatus::Blocked.word()],
            )?;
            Ok(written > 0)
        };
        write().map_err(|source| self.wrap("write to", source))
    }

    /// The answers after the one with this number.
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
                let answer = serde_json::from_str(&text).unwrap_or_else(|_| Map::new().into());
                Ok(Answer { id: row.get(0)?, step: row.get(1)?, answer })
            })?;
            rows.collect()
        };
        read().map_err(|source| self.wrap("read", source))
    }

    /// The steps that wait for a person and have no answer yet, with the data of their last transition and its time.
    ///
    /// Cheap enough to be asked again and again while another process writes: the marks are not checked. A decision about a
    /// step opens the record with [`Record::look`], which does.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn waiting(directory: &Path) -> Result<Vec<WaitingStep>, RecordError> {
        let path = directory.join(FILE);
        let wrap = |source| RecordError::sql(&path, "read", source);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(&path, flags).map_err(wrap)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(wrap)?;
        let read = || -> rusqlite::Result<Vec<WaitingStep>> {
            let mut select = connection.prepare(
                "SELECT json_extract(steps.spec, '$.id'), log.at, log.data FROM log \
                 JOIN (SELECT max(seq) AS last FROM log GROUP BY step) ON log.seq = last \
                 JOIN steps ON steps.step = log.step \
                 WHERE log.status = ?1 AND NOT EXISTS (SELECT 1 FROM answers WHERE answers.step = log.step AND answers.id > \
                   (SELECT coalesce(max(json_extract(data, '$.answer')), 0) FROM log WHERE json_valid(data))) \
                 ORDER BY log.seq",
            )?;
            let rows = select.query_map([StepStatus::Blocked.word()], |row| {
                let data: Option<String> = row.get(2)?;
                Ok(WaitingStep {
                    step_id: row.get(0)?,
                    since_ms: row.get(1)?,
                    data: Data::parse(data.as_deref().unwrap_or_default()),
                })
            })?;
            rows.collect()
        };
        read().map_err(wrap)
    }

    /// Commits, syncs, and moves the write-ahead log into the file.
    ///
    /// # Errors
    /// When SQLite fails.
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

/// Configures a connection that writes.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF;")?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Creates an empty file that only its owner may read.
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

#[cfg(test)]
mod tests;
