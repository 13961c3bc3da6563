//! Failures of a game at the table.

use marvin_base::printable::count;
use marvin_mtg::decision::Refusal;
use marvin_mtg::journal::JournalError;
use std::path::PathBuf;

/// Why a game cannot be started, continued or closed.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("cannot find deck `{name}`: no shipped deck has this id or name")]
    UnknownDeck { name: String, suggestions: Vec<String> },
    #[error("cannot play deck `{name}`: {cards} of its cards are not supported")]
    UnsupportedDeck { name: String, cards: usize },
    #[error("cannot find game `{id}`: {}", found(.known))]
    UnknownGame { id: String, known: Vec<String> },
    #[error("cannot resume a game: no game is open")]
    NoOpenGame,
    #[error("cannot open game `{id}`: another process plays it")]
    Busy { id: String },
    #[error("cannot {verb} {}: {source}", path.display())]
    File { verb: &'static str, path: PathBuf, source: std::io::Error },
    #[error("cannot read {}: {source}", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("cannot load cards: {0}")]
    Pool(String),
    #[error("cannot take back an answer: {0}")]
    Undo(UndoProblem),
    #[error("no model can be asked: {0}")]
    Model(String),
    #[error(transparent)]
    Memory(#[from] marvin_memory::MemoryError),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: std::net::SocketAddr, source: std::io::Error },
    #[error("cannot read option `{word}`")]
    Option { word: String },
    #[error("cannot start the next game: {0}")]
    Match(MatchProblem),
}

/// Why an answer cannot be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UndoProblem {
    #[error("the game is not a training game")]
    NotTraining,
    #[error("you have not answered yet")]
    NoAnswer,
}

/// Why a match has no next game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MatchProblem {
    #[error("the game is not over")]
    NotOver,
    #[error("the match is decided")]
    Decided,
}

fn found(known: &[String]) -> String {
    match known.first() {
        None => "no game was played here".to_owned(),
        Some(last) => {
            format!("the project has {}, the last is `{last}`", count(known.len(), "game"))
        }
    }
}

impl TableError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownDeck { suggestions, .. } if !suggestions.is_empty() => {
                Some(format!("did you mean {}?", suggestions.join(", ")))
            }
            Self::UnknownDeck { .. } => Some("list the decks: marvin mtg decks list".to_owned()),
            Self::UnsupportedDeck { name, .. } => Some(format!("list them: marvin mtg decks show {name}")),
            Self::UnknownGame { .. } => Some("list the games: marvin mtg play --list".to_owned()),
            Self::NoOpenGame => {
                Some("start one: `marvin mtg play`, or `/mtg play` in a conversation".to_owned())
            }
            Self::Busy { .. } => Some("close the other program, or start another game".to_owned()),
            Self::Undo(UndoProblem::NotTraining) => {
                Some("start the game with --training to take answers back".to_owned())
            }
            Self::Model(_) => Some(
                "name a provider in the settings `mtg.*` or `model.provider`, see docs/mtg.md".to_owned(),
            ),
            Self::Option { .. } => Some("`/mtg help` lists the options".to_owned()),
            Self::Pool(_) => Some("import the facts file again: marvin mtg cards import FILE".to_owned()),
            _ => None,
        }
    }

    /// Whether what was asked for was wrong, and not the work.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownDeck { .. }
                | Self::UnsupportedDeck { .. }
                | Self::UnknownGame { .. }
                | Self::NoOpenGame
                | Self::Model(_)
                | Self::Option { .. }
        )
    }
}
