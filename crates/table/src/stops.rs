//! Yields: a seat passes by itself until something happens.

use marvin_mtg::MTGEngine;
use marvin_mtg::ids::{ObjectId, PlayerId};
use serde::{Deserialize, Serialize};

/// When a yield ends. Every yield also ends when the opponent puts something on the stack or attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum YieldUntil {
    /// The next turn of either player.
    EndOfTurn,
    /// The own next turn.
    OwnTurn,
    /// Nothing is on the stack; what the opponent adds does not end it.
    EmptyStack,
}

/// Yield of a seat, with the moment at which it began.
#[derive(Debug, Clone)]
pub(crate) struct OpenYield {
    until: YieldUntil,
    turn: u32,
    /// Items on the stack at that moment; what is added later ends the yield.
    known: Vec<ObjectId>,
}

impl OpenYield {
    pub(crate) fn new(until: YieldUntil, engine: &MTGEngine) -> Self {
        let known = engine.state().stack.iter().map(|item| item.object).collect();
        Self { until, turn: engine.state().turn, known }
    }

    /// Whether the seat still passes by itself.
    pub(crate) fn holds(&self, engine: &MTGEngine, seat: PlayerId) -> bool {
        let state = engine.state();
        let threatened = state
            .stack
            .iter()
            .any(|item| item.context.controller != seat && !self.known.contains(&item.object));
        let attacked = state.active != seat && !state.combat.attackers.is_empty();
        match self.until {
            YieldUntil::EmptyStack => !state.stack.is_empty(),
            _ if threatened || attacked => false,
            YieldUntil::EndOfTurn => state.turn == self.turn,
            YieldUntil::OwnTurn => state.turn == self.turn || state.active != seat,
        }
    }
}
