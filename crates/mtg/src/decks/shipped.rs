//! Decks that are part of the program: published preconstructed decks and five of one colour each.

use super::list::DeckList;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Read;
use std::sync::LazyLock;

/// A shipped deck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippedDeck {
    /// The name for commands: small letters, digits and underscores.
    pub id: String,
    /// The code of the set with which the deck was published; empty for a deck of this project.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub set: String,
    #[serde(flatten)]
    pub deck: DeckList,
}

static DECKS: LazyLock<Vec<ShippedDeck>> = LazyLock::new(|| {
    let mut text = String::new();
    let compressed: &[u8] = include_bytes!("../../data/decks.json.gz");
    // A test reads the file; a broken one cannot be shipped.
    match GzDecoder::new(compressed).read_to_string(&mut text) {
        Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => Vec::new(),
    }
});

/// All shipped decks, in the order of their ids.
#[must_use]
pub fn shipped_decks() -> &'static [ShippedDeck] {
    &DECKS
}

/// The names of all cards of the shipped decks.
#[must_use]
pub fn shipped_card_names() -> BTreeSet<&'static str> {
    let entries = DECKS.iter().flat_map(|shipped| shipped.deck.main.iter().chain(&shipped.deck.sideboard));
    entries.map(|entry| entry.name.as_str()).collect()
}
