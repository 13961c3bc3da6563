//! Cards and decks that games are played with.

use crate::error::TableError;
use crate::setup::DeckChoice;
use marvin_base::layout::Layout;
use marvin_mtg::cards::{Pool, fold_name};
use marvin_mtg::decks::{ShippedDeck, check, shipped_decks};
use serde::Serialize;

/// Decks that are proposed for a name that no deck has.
const MAX_SUGGESTIONS: usize = 3;

/// What is printed on a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CardText {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mana_cost: String,
    pub type_line: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// `2/3`, or the loyalty of a planeswalker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<String>,
}

impl CardText {
    #[must_use]
    pub(crate) fn find(pool: &Pool, name: &str) -> Option<Self> {
        let facts = pool.find(name)?;
        let numbers = match (&facts.power, &facts.toughness) {
            (Some(power), Some(toughness)) => Some(format!("{power}/{toughness}")),
            _ => facts.loyalty.clone(),
        };
        Some(Self {
            name: facts.name.clone(),
            mana_cost: facts.mana_cost.clone(),
            type_line: facts.type_line.clone(),
            text: facts.oracle_text.clone(),
            numbers,
        })
    }
}

impl std::fmt::Display for CardText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "{}", format!("{} {}", self.name, self.mana_cost).trim_end())?;
        write!(formatter, "{}", self.type_line)?;
        if let Some(numbers) = &self.numbers {
            write!(formatter, "  {numbers}")?;
        }
        if self.text.is_empty() { Ok(()) } else { write!(formatter, "\n{}", self.text) }
    }
}

/// Text of one mode of a card, from the bullets of its rules text.
pub(crate) fn mode_text(pool: &Pool, name: &str, mode: u8) -> Option<String> {
    let facts = pool.find(name)?;
    let mut bullets = facts.oracle_text.lines().filter_map(|line| line.trim().strip_prefix('•'));
    bullets.nth(usize::from(mode)).map(|text| text.trim().to_owned())
}

/// The shipped pool, with the cards of the imported pack over it.
///
/// # Errors
/// A pack that cannot be read.
pub fn load_pool(layout: &Layout) -> Result<Pool, TableError> {
    let shipped = Pool::shipped().map_err(|error| TableError::Pool(error.to_string()))?;
    let path = layout.card_pack();
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(shipped.clone()),
        Err(source) => return Err(TableError::File { verb: "read", path, source }),
    };
    let mut pool = shipped.clone();
    let imported = Pool::read(&bytes).map_err(|error| TableError::Pool(error.to_string()))?;
    for facts in imported.iter() {
        pool.insert(facts.clone());
    }
    Ok(pool)
}

/// Ids and names of the shipped decks.
pub fn list_decks() -> impl Iterator<Item = (&'static str, &'static str)> {
    shipped_decks().iter().map(|deck| (deck.id.as_str(), deck.deck.name.as_str()))
}

/// The shipped deck with this id or name.
#[must_use]
pub fn find_deck(name: &str) -> Option<&'static ShippedDeck> {
    let decks = shipped_decks();
    decks.iter().find(|deck| deck.id == name).or_else(|| {
        let folded = fold_name(name);
        decks.iter().find(|deck| fold_name(&deck.deck.name) == folded)
    })
}

/// The shipped deck with this id or name, as a choice for a seat.
///
/// # Errors
/// A name that no shipped deck has.
pub fn find_shipped_deck(name: &str) -> Result<DeckChoice, TableError> {
    if let Some(shipped) = find_deck(name) {
        return Ok(DeckChoice { name: shipped.id.clone(), list: shipped.deck.clone() });
    }
    let ids = shipped_decks().iter().map(|deck| deck.id.as_str());
    let near = marvin_base::settings::nearest_of(name, ids);
    let suggestions = near.into_iter().map(str::to_owned).take(MAX_SUGGESTIONS).collect();
    Err(TableError::UnknownDeck { name: name.to_owned(), suggestions })
}

/// Names of the cards of a deck; every card must be supported.
pub(crate) fn deck_cards(deck: &DeckChoice, pool: &Pool) -> Result<Vec<String>, TableError> {
    let report = check(&deck.list, pool);
    if report.is_playable() {
        return Ok(deck.list.card_names());
    }
    let cards = report.unknown.len() + report.unsupported.len();
    Err(TableError::UnsupportedDeck { name: deck.name.clone(), cards })
}
