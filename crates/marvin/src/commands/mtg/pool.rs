//! The cards and decks that commands work with.

use crate::failure::Failure;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_mtg::cards::Pool;
use marvin_mtg::decks::{ShippedDeck, shipped_decks};

pub(super) fn layout() -> Layout {
    Layout::new(&Environment::of_process(), None)
}

/// The shipped pool, with the cards of the imported pack over it.
pub(super) fn load_pool() -> Result<Pool, Failure> {
    let shipped = Pool::shipped().map_err(Failure::failed)?;
    let path = layout().card_pack();
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(shipped.clone()),
        Err(error) => return Err(Failure::failed(format!("cannot read {}: {error}", path.display()))),
    };
    let mut pool = shipped.clone();
    let imported = Pool::read(&bytes).map_err(|error| {
        Failure::failed(error).hint("import the facts file again: marvin mtg cards import FILE")
    })?;
    for facts in imported.iter() {
        pool.insert(facts.clone());
    }
    Ok(pool)
}

/// The shipped deck with this id or name.
pub(super) fn find_deck(name: &str) -> Option<&'static ShippedDeck> {
    let decks = shipped_decks();
    decks.iter().find(|deck| deck.id == name).or_else(|| {
        let folded = marvin_mtg::cards::fold_name(name);
        decks.iter().find(|deck| marvin_mtg::cards::fold_name(&deck.deck.name) == folded)
    })
}
