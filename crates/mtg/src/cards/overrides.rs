//! Overrides: meanings of texts that the grammar should not learn, keyed by the hash of the text.
//!
//! The key is the beginning of the SHA-256 of a paragraph in normal form, or of all paragraphs of a
//! card joined by line breaks. An entry gives the meaning as paragraphs that the grammar reads, as
//! abilities, or both. When a text changes, its hash does too, and the card is declined again.

use crate::ability::Ability;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Bytes of the hash in a key.
const KEY_BYTES: usize = 8;

/// The meaning of one text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Override {
    /// The card for which it was written, for readers of the file.
    #[serde(rename = "card")]
    _card: String,
    /// In which rare case the meaning differs from the text.
    #[serde(default, rename = "note")]
    _note: String,
    #[serde(default)]
    pub(super) lines: Vec<String>,
    #[serde(default)]
    pub(super) abilities: Vec<Ability>,
}

static OVERRIDES: LazyLock<Result<BTreeMap<String, Override>, serde_json::Error>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../data/overrides.json")));

/// The key of a text in normal form.
fn key(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// The override of a text in normal form.
pub(super) fn find_override(text: &str) -> Option<&'static Override> {
    OVERRIDES.as_ref().ok()?.get(&key(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_whole() {
        let overrides = OVERRIDES.as_ref().unwrap();
        assert!(!overrides.is_empty());
        for (key, entry) in overrides {
            assert_eq!(key.len(), 2 * KEY_BYTES, "{}", entry._card);
            assert!(!entry.lines.is_empty() || !entry.abilities.is_empty(), "{}", entry._card);
        }
    }
}
