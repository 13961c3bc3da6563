//! Ledger of commitments: one line for each that was added, dropped or verified.
//!
//! A commitment whose definition differs from its line, or that is gone although it was not dropped, was changed by another
//! process; a verification reports that instead of passing. A commitment that a person wrote into a document by hand, without a
//! line here, counts too: it can only ask for more.

use super::commitment::{Commitment, Source};
use super::error::StoreError;
use super::store::{Store, TURN};
use marvin_base::files::{self, Links};
use marvin_base::ledger::{self, Durability, Ledger};
use marvin_base::redact::Redactor;
use marvin_base::{atomic, clock};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The ledger, beside the documents.
pub(super) const FILE: &str = "commitments.jsonl";
const MAX_LEDGER_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of it that are kept while assertions run.
const MAX_LEDGER_BACKUP_BYTES: u64 = 8 * 1024 * 1024;

/// State that the ledger describes.
#[derive(Debug, Default)]
pub(super) struct Seals {
    /// Definition of each commitment that was not dropped, by document and id.
    pub(super) promises: BTreeMap<(String, String), String>,
    /// Documents whose work is over.
    pub(super) closed: BTreeSet<String>,
}

fn failed(store: &Store, doing: &'static str, reason: &dyn ToString) -> StoreError {
    StoreError::Io { doing, path: store.ledger().display().to_string(), reason: reason.to_string() }
}

/// Writes a line.
pub(super) fn append(store: &Store, redactor: &Arc<Redactor>, entry: &Entry) -> Result<(), StoreError> {
    let path = store.ledger();
    if path.is_symlink() {
        return Err(failed(store, "write", &"it is a link\n  hint: remove it"));
    }
    let ledger = Ledger::open_shared_chained(&path, Durability::Line, redactor.clone());
    let written = ledger.and_then(|mut ledger| ledger.append(entry));
    written.map(|_| ()).map_err(|error| failed(store, "write", &error))
}

/// Type of an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EntryKind {
    Added,
    Dropped,
    Rehashed,
    Closed,
    Verified,
    /// One of a later version.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Entry of the ledger: about a commitment, a document, or a verification.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    #[serde(rename = "type")]
    kind: EntryKind,
    #[serde(skip_serializing_if = "String::is_empty")]
    document: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    sha256: String,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    source: Option<Source>,
    #[serde(flatten)]
    counts: Option<Counts>,
    timestamp: String,
}

/// Result of a verification.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) all: bool,
    pub(super) verified: bool,
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) could_not_run: usize,
}

impl Entry {
    pub(super) fn new(kind: EntryKind, document: &str, id: &str) -> Self {
        let (document, id) = (document.to_string(), id.to_string());
        Entry { kind, document, id, timestamp: clock::now_stamp(), ..Entry::default() }
    }

    /// Entry about a verification.
    pub(super) fn verified(counts: Counts) -> Self {
        Entry { counts: Some(counts), ..Entry::new(EntryKind::Verified, "", "") }
    }

    /// Entry about one commitment.
    pub(super) fn about(kind: EntryKind, document: &str, commitment: &Commitment) -> Self {
        Entry {
            sha256: commitment.definition(),
            source: Some(commitment.source),
            ..Entry::new(kind, document, &commitment.id)
        }
    }
}

/// Reads the ledger.
pub(super) fn read(store: &Store) -> Result<Seals, StoreError> {
    if !is_there(store)? {
        return Ok(Seals::default());
    }
    let contents = ledger::read_chained(&store.ledger()).map_err(|error| failed(store, "read", &error))?;
    if let Some(damaged) = contents.damaged.first() {
        return Err(failed(store, "read", &format!("it is damaged: {damaged:?}\n  hint: fix that line")));
    }
    let mut seals = Seals::default();
    for entry in contents.entries {
        let entry = serde_json::from_value(entry)
            .map_err(|error| failed(store, "read", &format!("it is damaged: {error}")))?;
        seals.take(entry);
    }
    Ok(seals)
}

/// Reads the lines about one document. Other lines are not parsed: a thousand agents may have written some.
pub(super) fn read_of(store: &Store, document: &str) -> Result<Seals, StoreError> {
    if !is_there(store)? {
        return Ok(Seals::default());
    }
    let bytes = files::read(&store.ledger(), MAX_LEDGER_BYTES, Links::Refuse)
        .map_err(|error| failed(store, "read", &error))?;
    let named = format!("\"document\":\"{document}\"");
    let mut seals = Seals::default();
    for line in String::from_utf8_lossy(&bytes).lines().filter(|line| line.contains(&named)) {
        let entry = serde_json::from_str(line)
            .map_err(|error| failed(store, "read", &format!("it is damaged: {error}")))?;
        seals.take(entry);
    }
    seals.promises.retain(|(of, _), _| of == document);
    Ok(seals)
}

impl Seals {
    /// Whether a document applies to the project: it is open and not that of a single turn.
    pub(super) fn is_open(&self, document: &str) -> bool {
        !document.starts_with(TURN) && !self.closed.contains(document)
    }

    fn take(&mut self, entry: Entry) {
        let Entry { kind, document, id, sha256, .. } = entry;
        match kind {
            EntryKind::Added | EntryKind::Rehashed => {
                self.promises.insert((document, id), sha256);
            }
            EntryKind::Dropped => {
                self.promises.remove(&(document, id));
            }
            EntryKind::Closed => {
                self.closed.insert(document);
            }
            EntryKind::Verified | EntryKind::Unknown => {}
        }
    }
}

fn is_there(store: &Store) -> Result<bool, StoreError> {
    let facts = match store.ledger().symlink_metadata() {
        Ok(facts) => facts,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(store, "read", &error)),
    };
    if !facts.is_file() {
        return Err(failed(store, "read", &"it is a link, or not a file\n  hint: remove it"));
    }
    if facts.len() > MAX_LEDGER_BYTES {
        return Err(failed(store, "read", &format!("it is larger than {MAX_LEDGER_BYTES} bytes")));
    }
    Ok(true)
}

/// Copy of the ledger from before assertions ran. They run in the workspace, where it lies, and one could delete it together
/// with the documents: then nothing would be left to verify the next time.
#[derive(Debug)]
pub(super) struct LedgerBackup {
    bytes: Option<Vec<u8>>,
}

impl LedgerBackup {
    pub(super) fn capture(store: &Store) -> Self {
        let bytes = files::read(&store.ledger(), MAX_LEDGER_BACKUP_BYTES, Links::Refuse).ok();
        LedgerBackup { bytes: bytes.filter(|bytes| bytes.len() as u64 <= MAX_LEDGER_BACKUP_BYTES) }
    }

    /// Restores the ledger where it no longer begins as it did, and reports that.
    pub(super) fn bring_back(&self, store: &Store) -> Option<String> {
        let bytes = self.bytes.as_deref()?;
        let now = files::read(&store.ledger(), MAX_LEDGER_BYTES, Links::Refuse).unwrap_or_default();
        if now.starts_with(bytes) {
            return None;
        }
        let path = store.ledger().display().to_string();
        // A linked directory is not written to; every verification reports it.
        let agents = store.ledger().parent().is_some_and(std::path::Path::is_symlink);
        let written = !agents && atomic::replace(&store.ledger(), bytes).is_ok();
        let what = if written { "it was brought back" } else { "it could not be brought back" };
        Some(format!("{path} was changed while commitments were verified; {what}"))
    }
}
