//! Summary of a game: who won, why, what decided it, and what there is to learn.

use crate::log::reason_text;
use crate::model_player::ModelFigures;
use crate::turning_point::{KeyTurn, TurningPoint};
use marvin_memory::Candidate;
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
    /// Turn that changed the chances most, for the person or else seat 0.
    #[serde(default)]
    pub key_turn: Option<KeyTurn>,
    /// Answers that cost most, where a tutor looked at them.
    #[serde(default)]
    pub turning_points: Vec<TurningPoint>,
    #[serde(default)]
    pub model: Option<ModelFigures>,
    /// What was proposed for the long-term memory; a person approves it.
    #[serde(default)]
    pub candidates: Vec<Candidate>,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let result = match (self.winner_id, self.reason) {
            (Some(winner), Some(reason)) => {
                let name = self.players.get(usize::from(winner.0)).map(String::as_str).unwrap_or_default();
                format!("{name} (seat {}) won: {}", winner.0, reason_text(reason))
            }
            (None, Some(reason)) => format!("draw: {}", reason_text(reason)),
            (_, None) => format!("left; `marvin mtg play --resume {}` continues it", self.game_id),
        };
        let mut lines =
            vec![format!("{}: {result}, turn {}, {} answers", self.game_id, self.turns, self.answers)];
        if let Some(key) = &self.key_turn {
            lines.push(format!(
                "key turn {}: chances {} % to {} %",
                key.turn, key.before_percent, key.after_percent
            ));
        }
        for point in &self.turning_points {
            lines.push(format!(
                "turn {}, {}: {} ({} %); better: {} ({} %); rule {}",
                point.turn,
                point.severity.key(),
                point.chosen,
                point.chosen_percent,
                point.better,
                point.better_percent,
                point.rule
            ));
        }
        lines.extend(self.model.iter().map(ToString::to_string));
        if !self.candidates.is_empty() {
            lines.push("proposed for memory, approve with `marvin memory pending`:".to_owned());
            let texts = self.candidates.iter();
            lines.extend(texts.map(|candidate| format!("  {}: {}", candidate.kind.word(), candidate.text)));
        }
        formatter.write_str(&lines.join("\n"))
    }
}
