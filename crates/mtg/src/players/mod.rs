//! Players without a model: random, heuristic, and tree search. Each gets an [`Observation`], which
//! has no hidden cards.

mod evaluation;
mod heuristic;
mod observation;
mod quick;
mod random;
mod search;

pub use evaluation::win_chance;
pub use heuristic::HeuristicPlayer;
pub use observation::Observation;
pub use random::{RandomPlayer, random_answer};
pub use search::{RatedAnswer, SearchBudget, SearchPlayer};

use crate::decision::{Answer, Refusal};
use crate::journal::GameJournal;

/// Player that answers questions from what it may know.
pub trait GamePlayer {
    /// Answer to the question that is open for the player of the observation.
    fn answer(&mut self, observation: &Observation) -> Answer;
}

/// Answer of a player that the rules refuse.
#[derive(Debug, thiserror::Error)]
#[error("cannot continue game: player {player} answered decision {decision} against the rules: {source}")]
pub struct PlayError {
    pub player: u8,
    pub decision: u32,
    pub source: Refusal,
}

/// Plays a game from where its journal ends, at most so many answers.
///
/// # Errors
/// An answer that the rules refuse.
pub fn continue_game(
    journal: &mut GameJournal,
    players: &mut [&mut dyn GamePlayer; 2],
    max_answers: usize,
) -> Result<(), PlayError> {
    for _ in 0..max_answers {
        let Some(decision) = journal.engine().decision() else { break };
        let (player, number) = (decision.player, decision.number);
        let observation = Observation::new(journal.engine(), player);
        let [first, second] = &mut *players;
        let seat = if player.0 == 0 { first } else { second };
        let answer = seat.answer(&observation);
        journal.submit(player, number, answer).map_err(|source| PlayError {
            player: player.0,
            decision: number,
            source,
        })?;
    }
    Ok(())
}
