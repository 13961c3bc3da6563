//! What a game is started with: decks, players, seed and rules of the match.

use crate::cards::find_shipped_deck;
use crate::error::TableError;
use marvin_mtg::decks::DeckList;
use marvin_mtg::ids::PlayerId;
use marvin_mtg::surface::Stops;
use serde::{Deserialize, Serialize};

/// How long the search player thinks about one decision, unless told otherwise.
pub(crate) const DEFAULT_THINK_MS: u64 = 500;

/// What answers the questions of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeatKind {
    Person,
    Random,
    Heuristic,
    Mcts,
    Model,
}

/// The other side of a person's game; the same kinds.
pub type OpponentKind = SeatKind;

impl SeatKind {
    pub const ALL: [Self; 5] = [Self::Person, Self::Random, Self::Heuristic, Self::Mcts, Self::Model];

    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Random => "random",
            Self::Heuristic => "heuristic",
            Self::Mcts => "mcts",
            Self::Model => "model",
        }
    }

    #[must_use]
    pub fn find(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.key() == key)
    }

    /// Whether automatic passes and forced answers spare it questions.
    #[must_use]
    pub(crate) fn is_asked(self) -> bool {
        matches!(self, Self::Person | Self::Model)
    }
}

/// Deck of a seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeckChoice {
    /// Id of a shipped deck, or the name of the file it came from.
    pub name: String,
    pub list: DeckList,
}

/// Standing of a match of several games.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchScore {
    pub wins: [u32; 2],
    pub draws: u32,
    /// Ids of the games that were played before this one.
    #[serde(default)]
    pub games: Vec<String>,
}

/// Setup of one game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameSetup {
    pub decks: [DeckChoice; 2],
    pub seats: [SeatKind; 2],
    pub seed: u64,
    /// Whether hints, warnings and a review are offered.
    #[serde(default)]
    pub tutor: bool,
    /// Whether answers may be taken back.
    #[serde(default)]
    pub training: bool,
    #[serde(default = "one_game")]
    pub best_of: u32,
    #[serde(default)]
    pub score: MatchScore,
    /// Player who chooses to play or draw; by lot if there is none.
    #[serde(default)]
    pub chooser: Option<PlayerId>,
    #[serde(default = "default_think_ms")]
    pub think_ms: u64,
    /// Iterations of the search player for one decision, in place of a time.
    #[serde(default)]
    pub iterations: Option<u32>,
    /// Where each seat is asked.
    #[serde(default)]
    pub stops: [Stops; 2],
}

fn one_game() -> u32 {
    1
}

fn default_think_ms() -> u64 {
    DEFAULT_THINK_MS
}

impl GameSetup {
    #[must_use]
    pub fn new(decks: [DeckChoice; 2], seats: [SeatKind; 2], seed: u64) -> Self {
        Self {
            decks,
            seats,
            seed,
            tutor: false,
            training: false,
            best_of: one_game(),
            score: MatchScore::default(),
            chooser: None,
            think_ms: DEFAULT_THINK_MS,
            iterations: None,
            stops: [Stops::default(), Stops::default()],
        }
    }

    /// A person in seat 0 with a shipped deck against another; the seed is random.
    ///
    /// # Errors
    /// A deck that is not shipped.
    pub fn against(deck: &str, other: &str, opponent: OpponentKind) -> Result<Self, TableError> {
        let decks = [find_shipped_deck(deck)?, find_shipped_deck(other)?];
        Ok(Self::new(decks, [SeatKind::Person, opponent], random_seed()))
    }

    #[must_use]
    pub(crate) fn seat(&self, seat: PlayerId) -> SeatKind {
        let [first, second] = self.seats;
        if seat == PlayerId(0) { first } else { second }
    }

    #[must_use]
    pub(crate) fn deck(&self, seat: PlayerId) -> &DeckChoice {
        let [first, second] = &self.decks;
        if seat == PlayerId(0) { first } else { second }
    }

    pub(crate) fn deck_mut(&mut self, seat: PlayerId) -> &mut DeckChoice {
        let [first, second] = &mut self.decks;
        if seat == PlayerId(0) { first } else { second }
    }

    #[must_use]
    pub(crate) fn stops(&self, seat: PlayerId) -> &Stops {
        let [first, second] = &self.stops;
        if seat == PlayerId(0) { first } else { second }
    }

    pub(crate) fn stops_mut(&mut self, seat: PlayerId) -> &mut Stops {
        let [first, second] = &mut self.stops;
        if seat == PlayerId(0) { first } else { second }
    }

    /// Wins that decide the match.
    #[must_use]
    pub(crate) fn wins_needed(&self) -> u32 {
        self.best_of / 2 + 1
    }
}

/// Seed of a game that names none.
#[must_use]
pub fn random_seed() -> u64 {
    u64::from_str_radix(&marvin_base::ids::short(12), 16).unwrap_or(1)
}
