//! The ledger of promises: what was added, taken back and verified, one line each.
//!
//! A commitment whose definition is not the one that was written here, or that is no longer there although nobody took it
//! back, was changed behind our back; a verification says so instead of passing. What somebody wrote into a document by
//! hand without a line here counts too: it can only ask for more.

use super::commitment::Commitment;
use super::store::{Store, StoreError, TURN};
use marvin_base::files::{self, Links};
use marvin_base::ledger::{self, Durability, Ledger};
use marvin_base::redact::Redactor;
use marvin_base::{atomic, clock};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The ledger, beside the documents.
pub(super) const FILE: &str = "commitments.jsonl";
/// Bytes of it that are read.
const MAX_LEDGER_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of it that are kept while assertions run.
const MAX_LEDGER_BACKUP_BYTES: u64 = 8 * 1024 * 1024;

/// What the ledger says.
#[derive(Debug, Default)]
pub(super) struct Seals {
    /// What was promised and not taken back: the definition of each, by document and id.
    pub(super) promises: BTreeMap<(String, String), String>,
    /// Documents whose work is over.
    pub(super) closed: BTreeSet<String>,
}

fn failed(store: &Store, doing: &'static str, reason: &dyn ToString) -> StoreError {
    StoreError::Io { doing, path: store.ledger().display().to_string(), reason: reason.to_string() }
}

/// Writes a line.
pub(super) fn append(store: &Store, redactor: &Arc<Redactor>, mut entry: Value) -> Result<(), StoreError> {
    let path = store.ledger();
    if path.is_symlink() {
        return Err(failed(store, "write", &"it is a link\n  hint: remove it"));
    }
    if let Value::Object(entry) = &mut entry {
        entry.insert("timestamp".into(), clock::now_stamp().into());
    }
    let ledger = Ledger::open_shared_chained(&path, Durability::Line, redactor.clone());
    let written = ledger.and_then(|mut ledger| ledger.append(&entry));
    written.map(|_| ()).map_err(|error| failed(store, "write", &error))
}

/// A line about one commitment.
pub(super) fn build_entry(kind: &str, document: &str, commitment: &Commitment) -> Value {
    json!({
        "type": kind, "document": document, "id": commitment.id, "sha256": commitment.definition(),
        "source": commitment.source,
    })
}

/// Reads what stands.
pub(super) fn read(store: &Store) -> Result<Seals, StoreError> {
    if !is_there(store)? {
        return Ok(Seals::default());
    }
    let contents = ledger::read_chained(&store.ledger()).map_err(|error| failed(store, "read", &error))?;
    if let Some(damaged) = contents.damaged.first() {
        return Err(failed(store, "read", &format!("it is damaged: {damaged:?}\n  hint: mend that line")));
    }
    let mut seals = Seals::default();
    for entry in &contents.entries {
        seals.take(entry);
    }
    Ok(seals)
}

/// Reads what stands of one document. Lines about others are passed over unread: a thousand agents may have written some.
pub(super) fn read_of(store: &Store, document: &str) -> Result<Seals, StoreError> {
    if !is_there(store)? {
        return Ok(Seals::default());
    }
    let bytes = files::read(&store.ledger(), MAX_LEDGER_BYTES, Links::Refuse)
        .map_err(|error| failed(store, "read", &error))?;
    let named = format!("\"document\":\"{document}\"");
    let mut seals = Seals::default();
    for line in String::from_utf8_lossy(&bytes).lines().filter(|line| line.contains(&named)) {
        let entry: Value = serde_json::from_str(line)
            .map_err(|error| failed(store, "read", &format!("it is damaged: {error}")))?;
        seals.take(&entry);
    }
    seals.promises.retain(|(of, _), _| of == document);
    Ok(seals)
}

impl Seals {
    /// Is it part of what must hold in the project? Not what belongs to one turn, nor what is over.
    pub(super) fn is_open(&self, document: &str) -> bool {
        !document.starts_with(TURN) && !self.closed.contains(document)
    }

    fn take(&mut self, entry: &Value) {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
        let key = (text("document"), text("id"));
        match text("type").as_str() {
            "added" | "rehashed" => {
                self.promises.insert(key, text("sha256"));
            }
            "dropped" => {
                self.promises.remove(&key);
            }
            "closed" => {
                self.closed.insert(key.0);
            }
            _ => {}
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

/// The ledger as it was before assertions ran. They run in the workspace, where it lies, and one could wipe it out
/// together with the documents: then nothing would be left to verify the next time.
#[derive(Debug)]
pub(super) struct LedgerBackup {
    bytes: Option<Vec<u8>>,
}

impl LedgerBackup {
    pub(super) fn capture(store: &Store) -> Self {
        let bytes = files::read(&store.ledger(), MAX_LEDGER_BACKUP_BYTES, Links::Refuse).ok();
        LedgerBackup { bytes: bytes.filter(|bytes| bytes.len() as u64 <= MAX_LEDGER_BACKUP_BYTES) }
    }

    /// Brings it back where it no longer begins as it did; says so.
    pub(super) fn bring_back(&self, store: &Store) -> Option<String> {
        let bytes = self.bytes.as_deref()?;
        let now = files::read(&store.ledger(), MAX_LEDGER_BYTES, Links::Refuse).unwrap_or_default();
        if now.starts_with(bytes) {
            return None;
        }
        let path = store.ledger().display().to_string();
        // A directory that leads elsewhere is not written to; it is found out by every verification.
        let agents = store.ledger().parent().is_some_and(std::path::Path::is_symlink);
        let written = !agents && atomic::replace(&store.ledger(), bytes).is_ok();
        let what = if written { "it was brought back" } else { "it could not be brought back" };
        Some(format!("{path} was changed while commitments were verified; {what}"))
    }
}
