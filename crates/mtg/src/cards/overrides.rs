//! Overrides: meanings of texts that the grammar should not learn, keyed by the hash of the text.
//!
//! The key is the beginning of the SHA-256 of a paragraph in normal form, or of all paragraphs of a
//! card joined by line breaks. An entry gives the meaning as paragraphs that the grammar reads, as
//! abilities, or both. When a text changes, its hash does too, and the card is declined again. An
//! entry that cannot be used is left out and named by [`override_faults`]; the others stay.

use super::compile::read_line;
use crate::ability::Ability;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use thiserror::Error;

/// Bytes of the hash in a key.
const KEY_BYTES: usize = 8;

/// The meaning of one text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Override {
    /// The card for which it was written, for readers of the file.
    card: String,
    /// In which rare case the meaning differs from the text.
    #[serde(default, rename = "note")]
    _note: String,
    #[serde(default)]
    pub(super) lines: Vec<String>,
    #[serde(default)]
    pub(super) abilities: Vec<Ability>,
}

/// Entry of the overrides that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Error)]
#[error("cannot use override {key} of {card}: {reason}")]
pub struct OverrideFault {
    pub key: String,
    /// The card for which the entry was written; empty if it does not say.
    pub card: String,
    pub reason: String,
}

/// Entries that can be used, and the others.
#[derive(Debug, Default)]
struct OverrideTable {
    entries: BTreeMap<String, Override>,
    faults: Vec<OverrideFault>,
}

static OVERRIDES: LazyLock<OverrideTable> =
    LazyLock::new(|| read_overrides(include_str!("../../data/overrides.json")));

/// Reads each entry on its own: one that is malformed does not spoil the others.
fn read_overrides(text: &str) -> OverrideTable {
    let mut table = OverrideTable::default();
    let values: BTreeMap<String, Value> = match serde_json::from_str(text) {
        Ok(values) => values,
        Err(error) => {
            let reason = format!("the file is not a JSON object: {error}");
            table.faults.push(OverrideFault { key: String::new(), card: String::new(), reason });
            return table;
        }
    };
    for (key, value) in values {
        let card = value.get("card").and_then(Value::as_str).unwrap_or_default().to_owned();
        match read_entry(&key, value) {
            Ok(entry) => {
                table.entries.insert(key, entry);
            }
            Err(error) => table.faults.push(OverrideFault { key, card, reason: error.to_string() }),
        }
    }
    table
}

/// Why an entry cannot be used.
#[derive(Debug, Error)]
enum EntryError {
    #[error("the key is not {} hexadecimal digits", 2 * KEY_BYTES)]
    Key,
    #[error(transparent)]
    Shape(#[from] serde_json::Error),
    #[error("it has neither lines nor abilities")]
    Empty,
}

fn read_entry(key: &str, value: Value) -> Result<Override, EntryError> {
    if key.len() != 2 * KEY_BYTES || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(EntryError::Key);
    }
    let entry = Override::deserialize(value)?;
    if entry.lines.is_empty() && entry.abilities.is_empty() {
        return Err(EntryError::Empty);
    }
    Ok(entry)
}

/// The key of a text in normal form.
fn key(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// The override of a text in normal form.
pub(super) fn find_override(text: &str) -> Option<&'static Override> {
    OVERRIDES.entries.get(&key(text))
}

/// Entries of the shipped overrides that cannot be used, also those whose lines no rule reads.
#[must_use]
pub fn override_faults() -> Vec<OverrideFault> {
    OVERRIDES.all_faults()
}

/// The same of a file of overrides with this text.
#[must_use]
pub fn check_overrides(text: &str) -> Vec<OverrideFault> {
    read_overrides(text).all_faults()
}

impl OverrideTable {
    fn all_faults(&self) -> Vec<OverrideFault> {
        let mut faults = self.faults.clone();
        for (key, entry) in &self.entries {
            let is_read = |line: &&String| [true, false].iter().any(|spell| read_line(line, *spell).is_ok());
            if let Some(line) = entry.lines.iter().find(|line| !is_read(line)) {
                let reason = format!("no rule of the grammar reads its line `{line}`");
                faults.push(OverrideFault { key: key.clone(), card: entry.card.clone(), reason });
            }
        }
        faults
    }
}
