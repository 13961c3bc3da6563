//! The end of a game: summary, review and candidates.

use crate::error::TableError;
use crate::records;
use crate::setup::SeatKind;
use crate::summary::Summary;
use crate::table::Table;
use crate::tutor::{REVIEW_ITERATIONS, Review};
use marvin_mtg::ids::PlayerId;

impl Table {
    /// Writes the summary of a game that is over or left, and proposes what a person's game teaches.
    ///
    /// # Errors
    /// Records or a memory that cannot be written.
    pub fn close(&mut self) -> Result<Summary, TableError> {
        let outcome = self.outcome();
        let questions = records::read_questions(&self.records.directory).len();
        let person = self.person();
        let over = outcome.is_some();
        let seat = person.unwrap_or(PlayerId(0));
        let iterations = (over && self.setup().tutor && person.is_some()).then_some(REVIEW_ITERATIONS);
        let review = Review::of_game(self.context(), self.id(), seat, iterations)?;
        let candidates = match (&self.context().memory, person.is_some() && over) {
            (Some(memory), true) => {
                let candidates = self.make_candidates(&review, questions);
                memory.propose(candidates.clone(), self.id())?;
                candidates
            }
            _ => Vec::new(),
        };
        let [one, two] = &self.setup().decks;
        let has_model = self.setup().seats.contains(&SeatKind::Model);
        let summary = Summary {
            game_id: self.id().to_owned(),
            seed: self.setup().seed,
            players: self.setup().seats.map(|kind| kind.key().to_owned()),
            decks: [one.name.clone(), two.name.clone()],
            winner_id: outcome.and_then(|outcome| outcome.winner),
            reason: outcome.map(|outcome| outcome.reason),
            turns: self.engine().state().turn,
            answers: self.journal().lines.len(),
            questions,
            key_turn: review.key_turn,
            turning_points: review.turning_points,
            model: has_model.then(|| self.model_figures()),
            candidates,
        };
        self.records.write_summary(&summary)?;
        Ok(summary)
    }
}
