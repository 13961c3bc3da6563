//! Engine-neutral scenarios: positions, actions and expectations as JSON.
//!
//! The format (`mtg-scenarios/1`) names cards and players, not objects of an engine. A scenario is
//! set up as a state, played by its actions, and checked; the first thing that fails is the result.
//! Answers to questions are collected first and matched by player and kind; a question without an
//! answer is answered with as little as the rules allow.

mod check;
mod format;
mod play;
mod setup;

pub use format::{Scenario, ScenarioFile};

use crate::card::CardFace;
use crate::cards::{Pool, compile};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Where the runner gets faces of cards from.
pub trait CardSource {
    /// # Errors
    /// Why the card cannot be used.
    fn find_card(&self, name: &str) -> Result<CardFace, ScenarioError>;
}

/// The shipped pool, compiled on demand.
#[derive(Debug, Clone, Copy, Default)]
pub struct PoolSource;

impl CardSource for PoolSource {
    fn find_card(&self, name: &str) -> Result<CardFace, ScenarioError> {
        let pool = Pool::shipped().map_err(|_| ScenarioError::UnknownCard(name.to_string()))?;
        find_in_pool(pool, name)
    }
}

/// Cards of a pool, each compiled once.
#[derive(Debug)]
pub struct CachedSource<'p> {
    pool: &'p Pool,
    known: RefCell<BTreeMap<String, Result<CardFace, ScenarioError>>>,
}

impl<'p> CachedSource<'p> {
    #[must_use]
    pub fn new(pool: &'p Pool) -> Self {
        Self { pool, known: RefCell::default() }
    }
}

impl CardSource for CachedSource<'_> {
    fn find_card(&self, name: &str) -> Result<CardFace, ScenarioError> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let face = find_in_pool(self.pool, name);
        self.known.borrow_mut().insert(name.to_string(), face.clone());
        face
    }
}

fn find_in_pool(pool: &Pool, name: &str) -> Result<CardFace, ScenarioError> {
    let facts = pool.find(name).ok_or_else(|| ScenarioError::UnknownCard(name.to_string()))?;
    compile(facts).map_err(|decline| ScenarioError::Declined(name.to_string(), decline.to_string()))
}

/// What keeps a scenario from passing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    #[error("unknown card `{0}`")]
    UnknownCard(String),
    #[error("card `{0}` is not supported: {1}")]
    Declined(String, String),
    #[error("no object for `{0}`")]
    NoObject(String),
    #[error("no ability `{0}`")]
    NoAbility(String),
    #[error("unknown step `{0}`")]
    UnknownStep(String),
    #[error("unknown word `{0}` in the scenario")]
    UnknownWord(String),
    #[error("action {0} refused: {1}")]
    Refused(usize, String),
    #[error("action {0} is legal, but should not be")]
    Accepted(usize),
    #[error("action {0}: player {1} does not get to act")]
    NoTurn(usize, String),
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch { what: String, expected: String, found: String },
    #[error("the game does not get there")]
    Stuck,
    #[error("cannot read the scenario: {0}")]
    Malformed(String),
}

/// Result of one scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScenarioResult {
    pub id: String,
    pub ok: bool,
    pub why: String,
}

/// Runs one scenario.
pub fn run_scenario(scenario: &Scenario, cards: &dyn CardSource) -> ScenarioResult {
    let outcome = match &scenario.malformed {
        Some(reason) => Err(ScenarioError::Malformed(reason.clone())),
        None => setup::set_up(scenario, cards).and_then(|mut run| run.play(scenario)),
    };
    match outcome {
        Ok(()) => ScenarioResult { id: scenario.id.clone(), ok: true, why: String::new() },
        Err(error) => ScenarioResult { id: scenario.id.clone(), ok: false, why: error.to_string() },
    }
}
