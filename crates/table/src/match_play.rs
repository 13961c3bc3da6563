//! Matches of several games.

use crate::error::{MatchProblem, TableError};
use crate::setup::{GameSetup, MatchScore};
use crate::sideboard::NextGame;
use crate::table::Table;
use marvin_mtg::ids::PlayerId;

impl Table {
    /// Standing of the match with this game.
    #[must_use]
    pub fn score(&self) -> MatchScore {
        let mut score = self.setup().score.clone();
        let Some(outcome) = self.outcome() else { return score };
        let [first, second] = &mut score.wins;
        match outcome.winner {
            Some(PlayerId(0)) => *first += 1,
            Some(_) => *second += 1,
            None => score.draws += 1,
        }
        score.games.push(self.id().to_owned());
        score
    }

    /// Starts the next game of the match with the same decks.
    ///
    /// # Errors
    /// See [`plan_next_game`](Self::plan_next_game) and [`NextGame::start`].
    pub fn next_game(&self) -> Result<Self, TableError> {
        self.plan_next_game()?.start()
    }

    /// The next game of the match before it begins; the loser will choose to play or draw (103.1).
    ///
    /// # Errors
    /// A game that is not over, a match that is decided.
    pub fn plan_next_game(&self) -> Result<NextGame, TableError> {
        let Some(outcome) = self.outcome() else { return Err(TableError::Match(MatchProblem::NotOver)) };
        let score = self.score();
        let needed = self.setup().wins_needed();
        let played = score.wins.iter().sum::<u32>() + score.draws;
        if score.wins.iter().any(|wins| *wins >= needed) || played >= self.setup().best_of {
            return Err(TableError::Match(MatchProblem::Decided));
        }
        let setup = GameSetup {
            seed: self.setup().seed.wrapping_add(1),
            chooser: outcome.winner.map(PlayerId::opponent),
            score,
            ..self.setup().clone()
        };
        Ok(NextGame::new(self.context().clone(), setup))
    }
}
