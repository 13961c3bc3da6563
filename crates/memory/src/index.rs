//! The search index: SQLite FTS5 over memories, turns, lessons and artifacts.
//!
//! It is never the record. A file that cannot be used (missing, torn, of another version, a symlink, not a database) is
//! removed and created again, and the owners of the documents add them again. Source, scope and kind are hard filters:
//! they are terms of a column that the text of a query cannot reach, and every hit is checked again.
//!
//! Limits: the rank is FTS5's bm25; terms are stemmed as English ones.

mod search;

pub use search::{Hit, Search};

use crate::error::MemoryError;
use crate::words;
use marvin_base::signature;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An index of another version is rebuilt.
const VERSION: i64 = 2;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_INDEXED_DOCUMENT_BYTES: usize = 256 * 1024;
/// Documents up to this length are found by their neighbours too.
const MAX_SHORT_DOCUMENT_CHARS: usize = 600;

const TABLES: &str = "
    CREATE TABLE docs(
        row INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, scope TEXT NOT NULL, source TEXT NOT NULL,
        component TEXT NOT NULL, failure TEXT NOT NULL, tags TEXT NOT NULL, created INTEGER NOT NULL, place TEXT NOT NULL,
        UNIQUE(kind, id)
    );
    CREATE VIRTUAL TABLE terms USING fts5(
        text, parts, before, after, tags, filters, tokenize = 'porter unicode61 remove_diacritics 2'
    );
    INSERT INTO terms(terms, rank) VALUES('rank', 'bm25(1.0, 0.5, 0.5, 0.3, 0.6, 0.0)');
    INSERT INTO terms(terms, rank) VALUES('secure-delete', 1);
    INSERT INTO terms(terms, rank) VALUES('automerge', 8);
    CREATE TABLE notes(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE vectors(row INTEGER PRIMARY KEY, vector BLOB NOT NULL);
";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An entry of the long-term memory.
    Ltm,
    /// A trace of the short-term memory.
    Stm,
    Turn,
    /// A lesson from a failure.
    Lesson,
    PackLesson,
    /// A file of a run.
    Artifact,
}

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::Ltm, Kind::Stm, Kind::Turn, Kind::Lesson, Kind::PackLesson, Kind::Artifact];

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Ltm => "ltm",
            Kind::Stm => "stm",
            Kind::Turn => "turn",
            Kind::Lesson => "lesson",
            Kind::PackLesson => "pack_lesson",
            Kind::Artifact => "artifact",
        }
    }

    #[must_use]
    pub fn find(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// A document to be indexed.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Unique within its kind.
    pub id: String,
    pub text: String,
    /// The texts before and after it; used only for short documents.
    pub before: String,
    pub after: String,
    /// A session or a profile; empty: all.
    pub scope: String,
    pub source: String,
    pub component: String,
    pub failure: String,
    pub tags: Vec<String>,
    /// Seconds since 1970; 0: unknown.
    pub created: i64,
    /// The owner's reference to the document.
    pub place: String,
}

/// The two texts before and the two after a short document, by which it is found too.
///
/// The texts before weigh more, because an answer is found by its question.
#[must_use]
pub fn neighbours(texts: &[&str], at: usize) -> (String, String) {
    let short = |text: &&&str| text.chars().count() <= MAX_SHORT_DOCUMENT_CHARS;
    if !texts.get(at).is_some_and(|text| short(&text)) {
        return Default::default();
    }
    let joined = |places: std::ops::Range<usize>| {
        let near: Vec<&str> = places.filter_map(|place| texts.get(place).filter(short).copied()).collect();
        near.join("\n")
    };
    (joined(at.saturating_sub(2)..at), joined(at + 1..at + 3))
}

#[derive(Debug)]
pub struct Index {
    connection: Connection,
}

impl Index {
    /// Opens the index; one that cannot be used is created again.
    ///
    /// # Errors
    /// When it cannot be created: no directory, no space, no permission.
    pub fn open(path: &Path) -> rusqlite::Result<Self> {
        if path.is_symlink() || !path.exists() {
            // Journals of a removed index do not belong to the new one.
            return Index::renew(path);
        }
        match Index::connect(path) {
            Ok(index) => Ok(index),
            // The index is valid, and another process writes to it.
            Err(error) if is_busy(&error) => Err(error),
            Err(_) => Index::renew(path),
        }
    }

    /// Replaces the index by an empty one.
    pub fn renew(path: &Path) -> rusqlite::Result<Self> {
        for end in ["", "-wal", "-shm", "-journal"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            let name = PathBuf::from(name);
            if name.is_dir() && !name.is_symlink() {
                std::fs::remove_dir_all(&name).ok();
            } else {
                std::fs::remove_file(&name).ok();
            }
        }
        Index::connect(path)
    }

    fn connect(path: &Path) -> rusqlite::Result<Self> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).ok();
        }
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // `secure_delete` removes forgotten content from the file as well. Many inserts change the same pages repeatedly:
        // they are written to the file once for every 16 MB of changes.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;
             PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;",
        )?;
        let version = |connection: &Connection| {
            connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        };
        if version(&connection)? != VERSION {
            let change = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            match version(&change)? {
                VERSION => {}
                0 => {
                    change.execute_batch(TABLES)?;
                    change.pragma_update(None, "user_version", VERSION)?;
                }
                _ => return Err(rusqlite::Error::InvalidQuery),
            }
            change.commit()?;
        }
        // Foreign tables of the right version, or torn pages, fail here and not in the middle of a query.
        connection.query_row("SELECT count(*) FROM notes", [], |row| row.get::<_, i64>(0))?;
        connection.query_row("SELECT row FROM docs LIMIT 1", [], |row| row.get::<_, i64>(0)).optional()?;
        connection
            .query_row("SELECT rowid FROM terms WHERE terms MATCH '\"marvin\"' LIMIT 1", [], |row| {
                row.get::<_, i64>(0)
            })
            .optional()?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Index { connection })
    }

    /// Adds or replaces documents of one kind, all or none.
    pub fn put(&mut self, kind: Kind, documents: &[Document]) -> rusqlite::Result<()> {
        self.change(kind, documents, &[], &[])
    }

    /// Adds and removes documents and notes in one transaction.
    pub fn change(
        &mut self,
        kind: Kind,
        put: &[Document],
        remove: &[String],
        notes: &[(String, Option<String>)],
    ) -> rusqlite::Result<()> {
        let change = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        {
            let mut find = change.prepare_cached("SELECT row FROM docs WHERE kind = ?1 AND id = ?2")?;
            let mut insert = change.prepare_cached(
                "INSERT INTO docs(row, kind, id, scope, source, component, failure, tags, created, place)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT(kind, id) DO NOTHING",
            )?;
            let mut say = change.prepare_cached(
                "INSERT INTO terms(rowid, text, parts, before, after, tags, filters)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            let mut forget = change.prepare_cached("DELETE FROM terms WHERE rowid = ?1")?;
            let mut drop = change.prepare_cached("DELETE FROM docs WHERE row = ?1")?;
            let mut blind = change.prepare_cached("DELETE FROM vectors WHERE row = ?1")?;
            let mut take_out = |id: &str| -> rusqlite::Result<()> {
                let row: Option<i64> =
                    find.query_row(params![kind.word(), id], |row| row.get(0)).optional()?;
                if let Some(row) = row {
                    forget.execute([row])?;
                    drop.execute([row])?;
                    blind.execute([row])?;
                }
                Ok(())
            };
            for id in remove {
                take_out(id)?;
            }
            let mut filters = Filters::default();
            for document in put {
                let text = bounded(&document.text);
                let tags = match document.tags.as_slice() {
                    [] => "[]".into(),
                    tags => serde_json::to_string(tags).unwrap_or_default(),
                };
                let mut add = || {
                    insert.execute(params![
                        None::<i64>,
                        kind.word(),
                        document.id,
                        document.scope,
                        document.source,
                        document.component,
                        document.failure,
                        tags,
                        document.created,
                        document.place,
                    ])
                };
                // Most documents are new, so an insert is tried before the removal of the old document.
                if add()? == 0 {
                    take_out(&document.id)?;
                    add()?;
                }
                let is_short = text.chars().count() <= MAX_SHORT_DOCUMENT_CHARS;
                let near = |text| if is_short { bounded(text) } else { "" };
                say.execute(params![
                    change.last_insert_rowid(),
                    text,
                    words::all_parts(text),
                    near(&document.before),
                    near(&document.after),
                    document.tags.join(" "),
                    filters.for_document(kind, document),
                ])?;
            }
            let mut note =
                change.prepare_cached("INSERT OR REPLACE INTO notes(key, value) VALUES(?1, ?2)")?;
            let mut unnote = change.prepare_cached("DELETE FROM notes WHERE key = ?1")?;
            for (key, value) in notes {
                match value {
                    Some(value) => note.execute(params![key, value])?,
                    None => unnote.execute(params![key])?,
                };
            }
        }
        change.commit()
    }

    /// Removes all documents of a kind and the notes with this prefix.
    pub fn clear(&mut self, kind: Kind, notes: &str) -> rusqlite::Result<()> {
        let change = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let rows = "(SELECT row FROM docs WHERE kind = ?1)";
        change.execute(&format!("DELETE FROM terms WHERE rowid IN {rows}"), [kind.word()])?;
        change.execute(&format!("DELETE FROM vectors WHERE row IN {rows}"), [kind.word()])?;
        change.execute("DELETE FROM docs WHERE kind = ?1", [kind.word()])?;
        change.execute("DELETE FROM notes WHERE substr(key, 1, length(?1)) = ?1", [notes])?;
        change.commit()
    }

    /// A note of the documents' owner.
    pub fn note(&self, key: &str) -> rusqlite::Result<Option<String>> {
        let mut query = self.connection.prepare_cached("SELECT value FROM notes WHERE key = ?1")?;
        query.query_row([key], |row| row.get(0)).optional()
    }

    /// The notes with a prefix, which is removed from their keys.
    pub fn notes(&self, beginning: &str) -> rusqlite::Result<Vec<(String, String)>> {
        let mut query = self.connection.prepare_cached(
            "SELECT substr(key, length(?1) + 1), value FROM notes WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key",
        )?;
        query.query_map([beginning], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The number of documents of a kind.
    pub fn count(&self, kind: Kind) -> rusqlite::Result<u64> {
        let count: i64 =
            self.connection
                .query_row("SELECT count(*) FROM docs WHERE kind = ?1", [kind.word()], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Writes the journal into the file, so that removed content is in neither.
    pub fn settle(&self) -> rusqlite::Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }

    /// The connection, for benchmarks.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Runs `work` with the index in a slot; if the index fails, once more with a new one.
pub(crate) fn with_index<T>(
    slot: &mut Option<Index>,
    path: &Path,
    work: impl Fn(&mut Index) -> Result<T, MemoryError>,
) -> Result<T, MemoryError> {
    let failed = |error: rusqlite::Error| MemoryError::index(path, &error);
    let mut index = match slot.take() {
        // The file of an open index may have been removed.
        Some(index) if path.exists() => index,
        _ => Index::open(path).map_err(failed)?,
    };
    let mut result = work(&mut index);
    if let Err(MemoryError::Index { .. }) = &result {
        drop(index);
        index = Index::renew(path).map_err(failed)?;
        result = work(&mut index);
    }
    *slot = Some(index);
    result
}

/// Whether another process holds the lock.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}

fn bounded(text: &str) -> &str {
    let end = marvin_base::truncate::floor(text, MAX_INDEXED_DOCUMENT_BYTES.min(text.len()));
    text.get(..end).unwrap_or(text)
}

/// The term for a value of a filter.
fn filter(letter: char, value: &str) -> String {
    let digits = signature::hash_bytes(value.as_bytes());
    format!("{letter}{}", digits.get(..12).unwrap_or(&digits))
}

/// The filter terms of the last document, which the next one usually shares.
#[derive(Default)]
struct Filters<'a> {
    values: Option<[&'a str; 4]>,
    terms: String,
}

impl<'a> Filters<'a> {
    fn for_document(&mut self, kind: Kind, document: &'a Document) -> &str {
        let these =
            [&document.scope, &document.source, &document.component, &document.failure].map(String::as_str);
        if self.values != Some(these) {
            self.values = Some(these);
            self.terms = filters(kind, document);
        }
        &self.terms
    }
}

fn filters(kind: Kind, document: &Document) -> String {
    let mut all = vec![filter('k', kind.word()), filter('o', &document.scope)];
    for (letter, value) in [('s', &document.source), ('c', &document.component), ('f', &document.failure)] {
        if !value.is_empty() {
            all.push(filter(letter, value));
        }
    }
    all.join(" ")
}

#[cfg(test)]
mod tests;
