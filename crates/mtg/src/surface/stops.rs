//! Automatic passing: a player is asked for an action only where there is one, and where they want it.

use crate::ability::TurnStep;
use crate::action::Action;
use crate::decision::{Answer, DecisionKind, Refusal};
use crate::engine::MTGEngine;
use crate::ids::PlayerId;
use crate::journal::GameJournal;
use serde::{Deserialize, Serialize};

/// Passes in a row after which the caller looks again.
const MAX_PASSES: usize = 10_000;

/// Where a player with something to do is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stops {
    pub own_turn: Vec<TurnStep>,
    pub opponent_turn: Vec<TurnStep>,
    /// When the top of the stack is the opponent's.
    pub opponent_stack: bool,
}

impl Default for Stops {
    fn default() -> Self {
        Self {
            own_turn: vec![TurnStep::Main1, TurnStep::DeclareBlockers, TurnStep::Main2],
            opponent_turn: vec![TurnStep::DeclareAttackers, TurnStep::DeclareBlockers, TurnStep::End],
            opponent_stack: true,
        }
    }
}

impl MTGEngine {
    /// Whether the open question is one for an action that the player need not be asked.
    #[must_use]
    pub fn passes_automatically(&self, stops: &Stops) -> bool {
        let Some(decision) = self.decision().filter(|decision| decision.kind == DecisionKind::Priority)
        else {
            return false;
        };
        let player = decision.player;
        let state = self.state();
        let wanted = match state.stack.last() {
            Some(top) => stops.opponent_stack && top.context.controller != player,
            None if state.active == player => stops.own_turn.contains(&state.step),
            None => stops.opponent_turn.contains(&state.step),
        };
        !wanted || !self.has_real_action(player)
    }
}

impl GameJournal {
    /// Passes for both players as long as neither need be asked, and returns how often.
    ///
    /// # Errors
    /// A pass that is refused, which no rule does.
    pub fn pass_automatically(&mut self, stops: [&Stops; 2]) -> Result<usize, Refusal> {
        let [first, second] = stops;
        for count in 0..MAX_PASSES {
            let Some(decision) = self.engine().decision() else { return Ok(count) };
            let (player, number) = (decision.player, decision.number);
            let own = if player == PlayerId(0) { first } else { second };
            if !self.engine().passes_automatically(own) {
                return Ok(count);
            }
            self.submit(player, number, Answer::Action(Box::new(Action::Pass)))?;
        }
        Ok(MAX_PASSES)
    }
}
