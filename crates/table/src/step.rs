//! One step of a game: whose answer is next, and how a player without a person finds it.

use crate::model_player::{ModelCall, ModelMind};
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
    Model(ModelMind),
}

/// Answer that a thought found.
#[derive(Debug)]
pub struct ThoughtResult {
    pub(crate) seat: PlayerId,
    pub(crate) number: u32,
    pub(crate) answers: usize,
    pub(crate) answer: Answer,
    pub(crate) origin: AnswerOrigin,
    /// Requests to a model.
    pub(crate) calls: Vec<ModelCall>,
    /// Public remark of a model.
    pub(crate) remark: Option<String>,
}

impl Thought {
    /// Seat that thinks.
    #[must_use]
    pub fn seat(&self) -> PlayerId {
        self.seat
    }

    /// Thinks; work of the processor runs on a thread of its own.
    pub async fn run(self) -> ThoughtResult {
        let Self { seat, number, answers, observation, mind } = self;
        let found = match mind {
            Mind::Model(mind) => {
                let found = mind.answer(&observation).await;
                let origin =
                    if found.fallback { AnswerOrigin::HeuristicForModel } else { AnswerOrigin::Model };
                return ThoughtResult {
                    seat,
                    number,
                    answers,
                    answer: found.answer,
                    origin,
                    calls: found.calls,
                    remark: found.remark,
                };
            }
            other => {
                let copy = observation.clone();
                tokio::task::spawn_blocking(move || compute(&other, &copy)).await
            }
        };
        // A thread is cancelled only when the runtime ends: the answer no longer matters then.
        let (answer, origin) =
            found.unwrap_or_else(|_| (HeuristicPlayer.answer(&observation), AnswerOrigin::Heuristic));
        ThoughtResult { seat, number, answers, answer, origin, calls: Vec::new(), remark: None }
    }
}

/// Answer of a player without a model.
fn compute(mind: &Mind, observation: &Observation) -> (Answer, AnswerOrigin) {
    match mind {
        Mind::Random { seed } => (RandomPlayer::new(*seed).answer(observation), AnswerOrigin::Random),
        Mind::Search { budget, seed } => {
            (SearchPlayer::new(*budget, *seed).answer(observation), AnswerOrigin::Search)
        }
        Mind::Heuristic => (HeuristicPlayer.answer(observation), AnswerOrigin::Heuristic),
        Mind::Model(_) => (HeuristicPlayer.answer(observation), AnswerOrigin::HeuristicForModel),
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
