//! Rules engine of Magic for two players: state, rules, legal actions and views, without a model and
//! without input or output.
//!
//! [`card`] holds what is printed, [`ability`] what it does as data. [`MTGEngine`] runs a
//! [`GameState`]: [`MTGEngine::advance`] works until a player must choose, [`MTGEngine::submit`]
//! takes the answer. The modules follow the chapters of the rules: `turn`, `stack`, `mana`,
//! `casting`, `targets`, `triggers`, `layers`, `replacement`, `state_based`, `combat`.

pub mod ability;
pub mod action;
pub mod card;
pub mod cards;
mod casting;
pub mod characteristics;
mod combat;
pub mod context;
mod costs;
pub mod decision;
pub mod decks;
mod effects;
mod engine;
mod eval;
mod event;
mod faces;
pub mod ids;
pub mod journal;
mod keywords;
mod layers;
mod mana;
pub mod players;
mod replacement;
pub mod rng;
mod sagas;
pub mod scenario;
mod stack;
pub mod state;
mod state_based;
pub mod surface;
mod targets;
mod task;
mod triggers;
mod turn;
pub mod view;

pub use engine::{MTGEngine, Status};
pub use eval::View;
pub use faces::FaceTable;
pub use state::GameState;
