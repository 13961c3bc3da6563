//! Journal of a game: seed, decks and every answer with the hash of the state after it.
//!
//! A journal is JSON lines: a header, then one line for each answer. The same header and answers give
//! the same bytes on every machine; replaying asserts every hash. A fork replays the first lines and
//! continues from there.

use crate::card::CardFace;
use crate::decision::{Answer, DecisionKind, Refusal};
use crate::engine::MTGEngine;
use crate::ids::PlayerId;
use crate::scenario::{CardSource, ScenarioError};
use serde::{Deserialize, Serialize};

/// Version of the format.
pub const JOURNAL_VERSION: u32 = 1;

/// First line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    pub version: u32,
    pub seed: u64,
    /// Names of the cards of both decks, in order.
    pub decks: [Vec<String>; 2],
}

/// Answer of a player, with the state after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalLine {
    pub decision: u32,
    pub player: PlayerId,
    pub kind: DecisionKind,
    pub answer: Answer,
    /// Hash of the state after the answer, as 16 hexadecimal digits.
    pub hash: String,
}

/// Journal that is written while a game is played.
#[derive(Debug, Clone)]
pub struct GameJournal {
    pub header: JournalHeader,
    pub lines: Vec<JournalLine>,
    engine: MTGEngine,
}

/// Why a journal cannot be read or replayed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot read journal: it is empty")]
    Empty,
    #[error("cannot read journal line {line}: {source}")]
    Line { line: usize, source: serde_json::Error },
    #[error("cannot replay journal: version {0} is not known")]
    Version(u32),
    #[error("cannot replay journal: {0}")]
    Card(#[from] ScenarioError),
    #[error("cannot replay journal line {line}: {source}")]
    Refused { line: usize, source: Refusal },
    #[error("cannot replay journal line {line}: the state's hash is {found}, the journal has {expected}")]
    Hash { line: usize, expected: String, found: String },
}

fn hash_text(engine: &MTGEngine) -> String {
    format!("{:016x}", engine.state().state_hash())
}

impl GameJournal {
    /// Starts a game and its journal.
    ///
    /// # Errors
    /// A card that is not supported.
    pub fn start(header: JournalHeader, cards: &dyn CardSource) -> Result<Self, JournalError> {
        if header.version != JOURNAL_VERSION {
            return Err(JournalError::Version(header.version));
        }
        let mut decks: [Vec<CardFace>; 2] = [Vec::new(), Vec::new()];
        for (deck, names) in decks.iter_mut().zip(&header.decks) {
            for name in names {
                let known = deck.iter().find(|card| card.name == *name).cloned();
                deck.push(match known {
                    Some(card) => card,
                    None => cards.find_card(name)?,
                });
            }
        }
        let [first, second] = &decks;
        let mut engine = MTGEngine::new_game(header.seed, [first, second]);
        engine.advance();
        Ok(Self { header, lines: Vec::new(), engine })
    }

    #[must_use]
    pub fn engine(&self) -> &MTGEngine {
        &self.engine
    }

    /// Answers the open question and records it.
    ///
    /// # Errors
    /// The rule or condition that refuses the answer; nothing is recorded then.
    pub fn submit(&mut self, player: PlayerId, number: u32, answer: Answer) -> Result<(), Refusal> {
        let kind = self.engine.decision().map_or(DecisionKind::Priority, |decision| decision.kind);
        self.engine.submit(player, number, answer.clone())?;
        let hash = hash_text(&self.engine);
        self.lines.push(JournalLine { decision: number, player, kind, answer, hash });
        Ok(())
    }

    /// The journal as JSON lines.
    ///
    /// # Errors
    /// A line that cannot be written as JSON.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(&self.header)?;
        text.push('\n');
        for line in &self.lines {
            text.push_str(&serde_json::to_string(line)?);
            text.push('\n');
        }
        Ok(text)
    }

    /// Replays a journal, at most so many lines, and asserts every hash.
    ///
    /// # Errors
    /// The first line that cannot be read, is refused or leads to another state.
    pub fn replay(text: &str, cards: &dyn CardSource, limit: Option<usize>) -> Result<Self, JournalError> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let header = lines.next().ok_or(JournalError::Empty)?;
        let header = serde_json::from_str(header).map_err(|source| JournalError::Line { line: 1, source })?;
        let mut journal = Self::start(header, cards)?;
        for (index, line) in lines.enumerate().take(limit.unwrap_or(usize::MAX)) {
            let number = index + 2;
            let line: JournalLine =
                serde_json::from_str(line).map_err(|source| JournalError::Line { line: number, source })?;
            journal
                .submit(line.player, line.decision, line.answer)
                .map_err(|source| JournalError::Refused { line: number, source })?;
            let found = hash_text(&journal.engine);
            if found != line.hash {
                return Err(JournalError::Hash { line: number, expected: line.hash, found });
            }
        }
        Ok(journal)
    }
}
