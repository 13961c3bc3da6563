//! One step of a game: whose answer is next, and how a player without a person finds it.

use crate::setup::{GameSetup, SeatKind};
use marvin_mtg::decision::Answer;
use marvin_mtg::ids::PlayerId;
use marvin_mtg::journal::AnswerOrigin;
use marvin_mtg::players::{
    GamePlayer, HeuristicPlayer, Observation, RandomPlayer, SearchBudget, SearchPlayer,
};
use marvin_mtg::state::Outcome;
use std::time::Duration;

/// What a game waits for.
#[derive(Debug)]
pub enum Step {
    /// A person in this seat must answer.
    Person(PlayerId),
    /// A player without a person must think.
    Think(Box<Thought>),
    Over(Outcome),
}

/// Work of a player without a person. It has a copy of what its seat may know, and can run anywhere.
#[derive(Debug)]
pub struct Thought {
    pub(crate) seat: PlayerId,
    pub(crate) number: u32,
    /// Answers that were in the journal when the thought began.
    pub(crate) answers: usize,
    pub(crate) observation: Observation,
    pub(crate) mind: Mind,
}

/// How a thought is thought.
#[derive(Debug)]
pub(crate) enum Mind {
    Random { seed: u64 },
    Heuristic,
    Search { budget: SearchBudget, seed: u64 },
}

/// Answer that a thought found.
#[derive(Debug)]
pub struct ThoughtResult {
    pub(crate) seat: PlayerId,
    pub(crate) number: u32,
    pub(crate) answers: usize,
    pub(crate) answer: Answer,
    pub(crate) origin: AnswerOrigin,
}

impl Thought {
    /// Seat that thinks.
    #[must_use]
    pub fn seat(&self) -> PlayerId {
        self.seat
    }

    /// Thinks; work of the processor runs on a thread of its own.
    pub async fn run(self) -> ThoughtResult {
        let (seat, number, answers) = (self.seat, self.number, self.answers);
        let observation = self.observation.clone();
        let work = tokio::task::spawn_blocking(move || self.think());
        match work.await {
            Ok(result) => result,
            // The thread was cancelled because the runtime ends: the answer no longer matters.
            Err(_) => ThoughtResult {
                seat,
                number,
                answers,
                answer: HeuristicPlayer.answer(&observation),
                origin: AnswerOrigin::Heuristic,
            },
        }
    }

    /// Thinks on this thread.
    #[must_use]
    pub fn think(self) -> ThoughtResult {
        let (answer, origin) = match self.mind {
            Mind::Random { seed } => {
                (RandomPlayer::new(seed).answer(&self.observation), AnswerOrigin::Random)
            }
            Mind::Heuristic => (HeuristicPlayer.answer(&self.observation), AnswerOrigin::Heuristic),
            Mind::Search { budget, seed } => {
                (SearchPlayer::new(budget, seed).answer(&self.observation), AnswerOrigin::Search)
            }
        };
        let Self { seat, number, answers, .. } = self;
        ThoughtResult { seat, number, answers, answer, origin }
    }
}

/// The mind of a seat for one decision. Its seed depends on the game and the decision only, so that a
/// resumed game continues in the same way.
pub(crate) fn choose_mind(setup: &GameSetup, seat: PlayerId, number: u32) -> Option<Mind> {
    let mixed = setup.seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let seed = mixed.wrapping_add(u64::from(seat.0));
    match setup.seat(seat) {
        SeatKind::Random => Some(Mind::Random { seed }),
        SeatKind::Heuristic => Some(Mind::Heuristic),
        SeatKind::Mcts => {
            let time = Duration::from_millis(setup.think_ms);
            let budget = setup.iterations.map_or(SearchBudget::Time(time), SearchBudget::Iterations);
            Some(Mind::Search { budget, seed })
        }
        SeatKind::Person | SeatKind::Model => None,
    }
}
