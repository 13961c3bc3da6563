//! Deck lists: import from and export to the formats of other programs, checks, and shipped decks.

mod check;
mod export;
mod import;
mod list;
mod shipped;
mod xml;

pub use check::{
    Construction, DeckReport, Legality, UnknownCard, UnsupportedCard, Violation, check, find_substitutes,
};
pub use export::export;
pub use import::{DeckFormat, ImportError, ImportedDeck, LineProblem, SkippedLine, import};
pub use list::{DeckEntry, DeckList};
pub use shipped::{ShippedDeck, shipped_card_names, shipped_decks};
