//! Yields: a seat passes by itself until something happens.

use marvin_mtg::MTGEngine;
use marvin_mtg::decision::DecisionKind;
use marvin_mtg::ids::PlayerId;
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
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenYield {
    pub until: YieldUntil,
    pub turn: u32,
    /// Items on the stack at that moment.
    pub stack: usize,
}

impl OpenYield {
    pub(crate) fn new(until: YieldUntil, engine: &MTGEngine) -> Self {
        Self { until, turn: engine.state().turn, stack: engine.state().stack.len() }
    }

    /// Whether the seat still passes by itself.
    pub(crate) fn holds(&self, engine: &MTGEngine, seat: PlayerId) -> bool {
        let state = engine.state();
        let open = engine.decision().is_some_and(|decision| decision.kind == DecisionKind::Priority);
        let threatened = state.stack.last().is_some_and(|top| top.context.controller != seat);
        let attacked = state.active != seat && !state.combat.attackers.is_empty();
        match self.until {
            _ if !open => true,
            YieldUntil::EmptyStack => !state.stack.is_empty(),
            _ if (threatened && state.stack.len() > self.stack) || attacked => false,
            YieldUntil::EndOfTurn => state.turn == self.turn,
            YieldUntil::OwnTurn => state.turn == self.turn || state.active != seat,
        }
    }
}
