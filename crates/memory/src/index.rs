//! The one index: SQLite FTS5 over everything that can be found again.
//!
//! It is never the record. Whatever is wrong with its file (missing, torn, of another version, a link, no database at all),
//! it is removed and made anew, and whoever owns the documents puts them in again. Where something comes from, whom it is
//! for and what it is are hard filters: they are terms of a column of their own, which a question cannot reach, and are
//! looked at once more in what is found.
//!
//! Limits: the rank is FTS5's bm25; terms are stemmed as English ones.

mod search;

pub use search::{Hit, Search};

use crate::words;
use marvin_base::signature;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version of the tables; another one is built anew.
const VERSION: i64 = 2;
/// How long another process is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of one document that are indexed.
const MAX_INDEXED_DOCUMENT_BYTES: usize = 256 * 1024;
/// Characters up to which a document is short, and is found by its neighbours too.
pub const SHORT: usize = 600;

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

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An entry of the long-term memory.
    Ltm,
    /// A trace of what goes on, of the last days.
    Stm,
    /// What was said in a turn.
    Turn,
    /// What a failure taught.
    Lesson,
    /// What a pack teaches.
    PackLesson,
    /// A file that a run left.
    Artifact,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 6] =
        [Kind::Ltm, Kind::Stm, Kind::Turn, Kind::Lesson, Kind::PackLesson, Kind::Artifact];

    /// Its name.
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

    /// The kind of this name.
    #[must_use]
    pub fn find(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// A document as it is put into the index.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Its name, unique within its kind.
    pub id: String,
    /// What it says.
    pub text: String,
    /// What stands before it: what its neighbours say. Only for short ones.
    pub before: String,
    /// What stands after it.
    pub after: String,
    /// Whom it is for: a session, a profile; empty: everybody.
    pub scope: String,
    /// Where it comes from: a person, a model, a tool.
    pub source: String,
    /// The part of the work that it is about.
    pub component: String,
    /// The failure that it is about.
    pub failure: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// When it was made, in seconds since 1970; 0: unknown.
    pub created: i64,
    /// Where its owner finds it.
    pub place: String,
}

/// What a short document is found by besides its own words: the two that stand before it, and the two after it. What
/// stands before weighs more: an answer is found by its question.
#[must_use]
pub fn neighbours(texts: &[&str], at: usize) -> (String, String) {
    let short = |text: &&&str| text.chars().count() <= SHORT;
    if !texts.get(at).is_some_and(|text| short(&text)) {
        return Default::default();
    }
    let joined = |places: std::ops::Range<usize>| {
        let near: Vec<&str> = places.filter_map(|place| texts.get(place).filter(short).copied()).collect();
        near.join("\n")
    };
    (joined(at.saturating_sub(2)..at), joined(at + 1..at + 3))
}

/// An open index.
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    connection: Connection,
    fresh: bool,
}

impl Index {
    /// Opens the index; one that cannot be used is made anew.
    ///
    /// # Errors
    /// When it cannot be made either: no directory, no room, no permission.
    pub fn open(path: &Path) -> rusqlite::Result<Self> {
        if path.is_symlink() || !path.exists() {
            // What is left of one that somebody removed does not belong to the next.
            return Index::renew(path);
        }
        match Index::connect(path) {
            Ok(index) => Ok(index),
            // Somebody else writes: that is no reason to take it away from them.
            Err(error) if is_busy(&error) => Err(error),
            Err(_) => Index::renew(path),
        }
    }

    /// Removes an index and makes it anew, empty.
    ///
    /// # Errors
    /// When it cannot be made.
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
        // What is forgotten is not to be found in the file either. Many inserts change the same pages over and over: they are
        // brought into the file once for every 16 MB of changes.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;
             PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;",
        )?;
        let mut fresh = false;
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
                    fresh = true;
                }
                _ => return Err(rusqlite::Error::InvalidQuery),
            }
            change.commit()?;
        }
        // Tables of the right version that are not ours, or torn pages, show here and not in the middle of a question.
        connection.query_row("SELECT count(*) FROM notes", [], |row| row.get::<_, i64>(0))?;
        connection.query_row("SELECT row FROM docs LIMIT 1", [], |row| row.get::<_, i64>(0)).optional()?;
        connection
            .query_row("SELECT rowid FROM terms WHERE terms MATCH '\"marvin\"' LIMIT 1", [], |row| {
                row.get::<_, i64>(0)
            })
            .optional()?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Index { path: path.to_path_buf(), connection, fresh })
    }

    /// Was it made just now? Then its owner puts everything in.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts documents of one kind in, all or none; one of the same id is replaced.
    ///
    /// # Errors
    /// When the index does not work.
    pub fn put(&mut self, kind: Kind, documents: &[Document]) -> rusqlite::Result<()> {
        self.change(kind, documents, &[], &[])
    }

    /// Puts documents in, takes others out and keeps notes, all in one.
    ///
    /// # Errors
    /// When the index does not work.
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
                // Nearly every one is new: that is tried first, and whether it was there is asked only where it was.
                if add()? == 0 {
                    take_out(&document.id)?;
                    add()?;
                }
                let is_short = text.chars().count() <= SHORT;
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

    /// Takes all documents of a kind out, with the notes that begin so.
    ///
    /// # Errors
    /// When the index does not work.
    pub fn clear(&mut self, kind: Kind, notes: &str) -> rusqlite::Result<()> {
        let change = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let rows = "(SELECT row FROM docs WHERE kind = ?1)";
        change.execute(&format!("DELETE FROM terms WHERE rowid IN {rows}"), [kind.word()])?;
        change.execute(&format!("DELETE FROM vectors WHERE row IN {rows}"), [kind.word()])?;
        change.execute("DELETE FROM docs WHERE kind = ?1", [kind.word()])?;
        change.execute("DELETE FROM notes WHERE substr(key, 1, length(?1)) = ?1", [notes])?;
        change.commit()
    }

    /// A note that its owner left.
    ///
    /// # Errors
    /// When the index does not work.
    pub fn note(&self, key: &str) -> rusqlite::Result<Option<String>> {
        let mut query = self.connection.prepare_cached("SELECT value FROM notes WHERE key = ?1")?;
        query.query_row([key], |row| row.get(0)).optional()
    }

    /// Every note that begins so, without that beginning.
    ///
    /// # Errors
    /// When the index does not work.
    pub fn notes(&self, beginning: &str) -> rusqlite::Result<Vec<(String, String)>> {
        let mut query = self.connection.prepare_cached(
            "SELECT substr(key, length(?1) + 1), value FROM notes WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key",
        )?;
        query.query_map([beginning], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// How many documents of a kind there are.
    ///
    /// # Errors
    /// When the index does not work.
    pub fn count(&self, kind: Kind) -> rusqlite::Result<u64> {
        let count: i64 =
            self.connection
                .query_row("SELECT count(*) FROM docs WHERE kind = ?1", [kind.word()], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Empties the journal into the file, so that what was taken out is in neither.
    ///
    /// # Errors
    /// When the index does not work.
    pub fn settle(&self) -> rusqlite::Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }

    /// The connection, for whoever measures it.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Is it only that somebody else writes?
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

/// The term that stands for a value of a filter.
fn filter(letter: char, value: &str) -> String {
    let digits = signature::hash_bytes(value.as_bytes());
    format!("{letter}{}", digits.get(..12).unwrap_or(&digits))
}

/// The terms of filters, made once for documents that have the same: neighbours nearly always do.
#[derive(Default)]
struct Filters<'a> {
    of: Option<[&'a str; 4]>,
    made: String,
}

impl<'a> Filters<'a> {
    fn for_document(&mut self, kind: Kind, document: &'a Document) -> &str {
        let these =
            [&document.scope, &document.source, &document.component, &document.failure].map(String::as_str);
        if self.of != Some(these) {
            self.of = Some(these);
            self.made = filters(kind, document);
        }
        &self.made
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
