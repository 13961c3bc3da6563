//! Cache of the ledger's state beside the seal, so that the cost of a decision does not depend on the ledger's length.
//!
//! It is in the directory of the seal, where a sandboxed program cannot write, and is used only for the very ledger that
//! is sealed. Where it does not match (a process died in between, an older program wrote), the files are scanned and the
//! cache is rebuilt. An audit never uses it.

use super::{Change, Scan, Seal, Vault, chained};
use crate::decision::{Fate, Line, Standing, Word};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A cache of another version is rebuilt.
const VERSION: i64 = 1;
/// Shorter ledgers have no cache.
const MIN_CACHED_LINES: u64 = if cfg!(test) { 2 } else { 500 };

const TABLES: &str = "
    CREATE TABLE decided(fingerprint TEXT PRIMARY KEY, word TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE memories(id TEXT PRIMARY KEY, fate TEXT NOT NULL, original TEXT, stored INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE sealed(head TEXT NOT NULL);
";

/// The state of the ledger, from a scan or from the cache.
#[derive(Debug)]
pub(crate) enum View {
    Scanned(Box<Scan>),
    Cached(LedgerCache),
}

#[derive(Debug)]
pub(crate) struct LedgerCache(Connection);

impl View {
    pub(crate) fn is_active(&self, id: &str) -> rusqlite::Result<bool> {
        match self {
            View::Scanned(scan) => Ok(scan.standing.is_active(id)),
            View::Cached(known) => Ok(known.memory(id)?.is_some_and(|(fate, ..)| fate == "active")),
        }
    }

    /// Whether the file has its line.
    pub(crate) fn is_stored(&self, id: &str) -> rusqlite::Result<bool> {
        match self {
            View::Scanned(scan) => Ok(scan.entries.iter().any(|(_, entry)| entry.id == id)),
            View::Cached(known) => Ok(known.memory(id)?.is_some_and(|(_, _, stored)| stored)),
        }
    }

    /// The fingerprint of the proposal that the memory was edited from.
    pub(crate) fn original(&self, id: &str) -> rusqlite::Result<Option<String>> {
        match self {
            View::Scanned(scan) => {
                Ok(scan.standing.memories.get(id).and_then(|memory| memory.original_fingerprint.clone()))
            }
            View::Cached(known) => Ok(known.memory(id)?.and_then(|(_, original, _)| original)),
        }
    }

    /// The last decision about a candidate.
    pub(crate) fn decided(&self, fingerprint: &str) -> rusqlite::Result<Option<Word>> {
        match self {
            View::Scanned(scan) => Ok(scan.standing.decided.get(fingerprint).copied()),
            View::Cached(known) => {
                let mut query = known.0.prepare_cached("SELECT word FROM decided WHERE fingerprint = ?1")?;
                let word: Option<String> = query.query_row([fingerprint], |row| row.get(0)).optional()?;
                Ok(word.and_then(|word| serde_json::from_value(word.into()).ok()))
            }
        }
    }

    /// Up to three ids with this prefix, without forgotten memories.
    pub(crate) fn beginning(&self, name: &str) -> rusqlite::Result<Vec<String>> {
        match self {
            View::Scanned(scan) => {
                let standing = &scan.standing;
                let kept = standing.memories.keys().filter(|id| standing.is_kept(id) && id.starts_with(name));
                Ok(kept.take(3).cloned().collect())
            }
            View::Cached(known) => {
                let mut query = known.0.prepare_cached(
                    "SELECT id FROM memories WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 AND fate != 'forgotten' ORDER BY id LIMIT 3",
                )?;
                query.query_map([name], |row| row.get(0))?.collect()
            }
        }
    }
}

impl LedgerCache {
    fn path(seal: &Path) -> PathBuf {
        seal.with_extension("sqlite")
    }

    fn open(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(1))?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match version {
            VERSION => Ok(LedgerCache(connection)),
            _ => Err(rusqlite::Error::InvalidQuery),
        }
    }

    fn head(&self) -> rusqlite::Result<String> {
        self.0.query_row("SELECT head FROM sealed", [], |row| row.get(0))
    }

    /// (fate, original, stored).
    fn memory(&self, id: &str) -> rusqlite::Result<Option<(String, Option<String>, bool)>> {
        let mut query = self.0.prepare_cached("SELECT fate, original, stored FROM memories WHERE id = ?1")?;
        query.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
    }

    /// Builds the cache from a scan.
    fn make(path: &Path, scan: &Scan, head: &str) -> rusqlite::Result<()> {
        for end in ["sqlite", "sqlite-wal", "sqlite-shm"] {
            std::fs::remove_file(path.with_extension(end)).ok();
        }
        let mut connection = Connection::open(path)?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        let change = connection.transaction()?;
        change.execute_batch(TABLES)?;
        let stored: BTreeSet<&str> = scan.entries.iter().map(|(_, entry)| entry.id.as_str()).collect();
        put(&change, &scan.standing, &|id| stored.contains(id))?;
        change.execute("INSERT INTO sealed(head) VALUES(?1)", [head])?;
        change.pragma_update(None, "user_version", VERSION)?;
        change.commit()?;
        // The same permissions as the seal.
        private(path);
        Ok(())
    }

    /// Applies a change of the ledger.
    fn follow(&mut self, change: &Change, head: &str) -> rusqlite::Result<()> {
        let transaction = self.0.transaction()?;
        for line in &change.lines {
            // A scan ignores unreadable lines too.
            let Ok(line) = serde_json::from_str::<Line>(line) else { continue };
            let mut standing = Standing::default();
            standing.take(&line);
            let is_new = |id: &str| change.store.iter().any(|(new, _)| new == id);
            let was = |id: &str| -> rusqlite::Result<bool> {
                let query = "SELECT stored FROM memories WHERE id = ?1";
                Ok(transaction.query_row(query, [id], |row| row.get(0)).optional()?.unwrap_or(false))
            };
            let mut kept = BTreeSet::new();
            for id in standing.memories.keys() {
                if is_new(id) || was(id)? {
                    kept.insert(id.clone());
                }
            }
            put(&transaction, &standing, &|id| kept.contains(id))?;
            if let Some(old) = line.supersedes.as_ref().filter(|old| !standing.memories.contains_key(*old)) {
                transaction.execute("UPDATE memories SET fate = 'superseded' WHERE id = ?1", [old])?;
            }
            if line.word == Some(Word::Forget) {
                let forget = "UPDATE memories SET fate = 'forgotten', stored = 0 WHERE id = ?1";
                transaction.execute(forget, [&line.candidate_fingerprint])?;
            }
        }
        transaction.execute("UPDATE sealed SET head = ?1", [head])?;
        transaction.commit()
    }
}

fn put(connection: &Connection, standing: &Standing, stored: &dyn Fn(&str) -> bool) -> rusqlite::Result<()> {
    let mut decide =
        connection.prepare_cached("INSERT OR REPLACE INTO decided(fingerprint, word) VALUES(?1, ?2)")?;
    for (fingerprint, word) in &standing.decided {
        let word = serde_json::to_value(word).ok().and_then(|word| word.as_str().map(str::to_string));
        decide.execute(params![fingerprint, word.unwrap_or_default()])?;
    }
    let mut remember = connection.prepare_cached(
        "INSERT OR REPLACE INTO memories(id, fate, original, stored) VALUES(?1, ?2, ?3, ?4)",
    )?;
    for (id, memory) in &standing.memories {
        let fate = match memory.fate {
            Fate::Active => "active",
            Fate::Forgotten => "forgotten",
            Fate::Superseded { .. } => "superseded",
        };
        remember.execute(params![id, fate, memory.original_fingerprint, stored(id)])?;
    }
    Ok(())
}

fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).ok();
}

impl Vault {
    /// The cache, where it belongs to the sealed ledger.
    pub(super) fn known(&self, seal: &Seal) -> Option<LedgerCache> {
        let path = LedgerCache::path(&self.places.seal);
        if seal.lines < MIN_CACHED_LINES || !path.exists() {
            return None;
        }
        let known = LedgerCache::open(&path).ok()?;
        (known.head().ok()? == seal.head).then_some(known)
    }

    /// Stores the result of a scan.
    pub(super) fn keep_known(&self, scan: &Scan, seal: &Seal) {
        if seal.lines >= MIN_CACHED_LINES && scan.findings.is_empty() && self.known(seal).is_none() {
            // Without a cache the next call scans again.
            LedgerCache::make(&LedgerCache::path(&self.places.seal), scan, &seal.head).ok();
        }
    }

    /// Applies a change that was just sealed.
    pub(super) fn follow(&self, before: &str, change: &Change) {
        let path = LedgerCache::path(&self.places.seal);
        if !path.exists() {
            return;
        }
        let head = change.lines.iter().fold(before.to_string(), |head, line| chained(&head, line.as_bytes()));
        if let Ok(mut known) = LedgerCache::open(&path)
            && known.head().is_ok_and(|head| head == before)
        {
            known.follow(change, &head).ok();
        }
    }
}
