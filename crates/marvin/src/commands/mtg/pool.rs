//! The cards and decks that commands work with.

use crate::failure::Failure;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_mtg::cards::Pool;
pub(super) use marvin_table::find_deck;

pub(super) fn layout() -> Layout {
    Layout::new(&Environment::of_process(), None)
}

/// The shipped pool, with the cards of the imported pack over it.
pub(super) fn load_pool() -> Result<Pool, Failure> {
    marvin_table::load_pool(&layout()).map_err(super::failures::table_failure)
}
