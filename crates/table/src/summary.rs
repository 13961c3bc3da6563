//! Summary of a game: who won, why, and what decided it.

use marvin_mtg::ids::PlayerId;
use marvin_mtg::state::EndReason;
use serde::{Deserialize, Serialize};

/// Summary of a game, as `summary.json` holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub game_id: String,
    pub seed: u64,
    pub players: [String; 2],
    pub decks: [String; 2],
    #[serde(default)]
    pub winner_id: Option<PlayerId>,
    /// `None` for a game that was left before its end.
    #[serde(default)]
    pub reason: Option<EndReason>,
    pub turns: u32,
    pub answers: usize,
    /// Number of questions to the tutor or the model.
    pub questions: usize,
}
