//! A deck list: numbers and names, before the names are looked up.

use serde::{Deserialize, Serialize};

/// One line of a deck list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeckEntry {
    pub count: u32,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The collector number within the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
}

impl DeckEntry {
    #[must_use]
    pub fn new(count: u32, name: impl Into<String>) -> Self {
        Self { count, name: name.into(), set: None, number: None }
    }
}

/// A deck as a list of names, in the order in which it was written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeckList {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub main: Vec<DeckEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sideboard: Vec<DeckEntry>,
    /// Commanders and companions, which no game of the engine uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<DeckEntry>,
}

impl DeckList {
    /// The number of cards in the main deck.
    #[must_use]
    pub fn main_count(&self) -> u32 {
        count(&self.main)
    }

    /// The names of the main deck's cards, one for each copy.
    #[must_use]
    pub fn card_names(&self) -> Vec<String> {
        let copies = |entry: &DeckEntry| {
            std::iter::repeat_n(entry.name.clone(), usize::try_from(entry.count).unwrap_or(0))
        };
        self.main.iter().flat_map(copies).collect()
    }

    #[must_use]
    pub fn sideboard_count(&self) -> u32 {
        count(&self.sideboard)
    }

    pub(super) fn section_mut(&mut self, section: Section) -> Option<&mut Vec<DeckEntry>> {
        match section {
            Section::Main => Some(&mut self.main),
            Section::Sideboard => Some(&mut self.sideboard),
            Section::Outside => Some(&mut self.outside),
            Section::About => None,
        }
    }
}

fn count(entries: &[DeckEntry]) -> u32 {
    entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.count))
}

/// A part of a deck file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Main,
    Sideboard,
    Outside,
    /// Lines about the deck, not of it.
    About,
}

/// Headings of sections in all formats, folded to lower case.
pub(super) const SECTIONS: [(&str, Section); 22] = [
    ("deck", Section::Main),
    ("main", Section::Main),
    ("main deck", Section::Main),
    ("maindeck", Section::Main),
    ("mainboard", Section::Main),
    ("creatures", Section::Main),
    ("creature", Section::Main),
    ("spells", Section::Main),
    ("instants", Section::Main),
    ("sorceries", Section::Main),
    ("enchantments", Section::Main),
    ("artifacts", Section::Main),
    ("planeswalkers", Section::Main),
    ("lands", Section::Main),
    ("land", Section::Main),
    ("side", Section::Sideboard),
    ("sideboard", Section::Sideboard),
    ("commander", Section::Outside),
    ("companion", Section::Outside),
    ("maybeboard", Section::Outside),
    ("metadata", Section::About),
    ("about", Section::About),
];
