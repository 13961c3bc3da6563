//! Rules engine of Magic for two players: state, rules, legal actions and views, without a model and
//! without input or output.
//!
//! [`card`] holds what is printed, [`ability`] what it does as data.

pub mod ability;
pub mod card;
pub mod cards;
pub mod decks;
