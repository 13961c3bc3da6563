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
use crate::state::Outcome;
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
    /// Player who chooses to play or draw; by lot if there is none (103.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chooser: Option<PlayerId>,
}

/// Origin of an answer. Replaying does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOrigin {
    Person,
    Model,
    /// The heuristic player, because the model gave no legal answer.
    HeuristicForModel,
    Random,
    Heuristic,
    Search,
    /// A pass where the player need not be asked.
    Pass,
    /// The only legal answer.
    Forced,
}

impl JournalHeader {
    #[must_use]
    pub fn new(seed: u64, decks: [Vec<String>; 2]) -> Self {
        Self { version: JOURNAL_VERSION, seed, decks, chooser: None }
    }
}

/// Answer of a player, with the state after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalLine {
    pub decision: u32,
    pub player: PlayerId,
    pub kind: DecisionKind,
    pub answer: Answer,
    /// Turn and life totals after the answer.
    pub turn: u32,
    pub life: [i32; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<AnswerOrigin>,
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
    #[error("cannot replay journal line {line}: its kind, turn, life or outcome differs from the game's")]
    Result { line: usize },
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
        let mut engine = MTGEngine::new_match_game(header.seed, [first, second], header.chooser);
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
        self.submit_from(player, number, answer, None)
    }

    /// Answers the open question and records it with its origin.
    ///
    /// # Errors
    /// See [`submit`](Self::submit).
    pub fn submit_from(
        &mut self,
        player: PlayerId,
        number: u32,
        answer: Answer,
        origin: Option<AnswerOrigin>,
    ) -> Result<(), Refusal> {
        let kind = self.engine.decision().map_or(DecisionKind::Priority, |decision| decision.kind);
        self.engine.submit(player, number, answer.clone())?;
        let state = self.engine.state();
        let [first, second] = &state.players;
        self.lines.push(JournalLine {
            decision: number,
            player,
            kind,
            answer,
            turn: state.turn,
            life: [first.life, second.life],
            outcome: state.outcome,
            origin,
            hash: hash_text(&self.engine),
        });
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
                .submit_from(line.player, line.decision, line.answer.clone(), line.origin)
                .map_err(|source| JournalError::Refused { line: number, source })?;
            match journal.lines.last() {
                Some(found) if found.hash != line.hash => {
                    let (expected, found) = (line.hash, found.hash.clone());
                    return Err(JournalError::Hash { line: number, expected, found });
                }
                Some(found) if *found != line => return Err(JournalError::Result { line: number }),
                _ => {}
            }
        }
        Ok(journal)
    }

    /// The game after its first answers: what happened later is forgotten ("what if").
    ///
    /// # Errors
    /// A card or answer that is refused, which only happens if the journal was changed.
    pub fn fork(&self, answers: usize, cards: &dyn CardSource) -> Result<Self, JournalError> {
        let mut journal = Self::start(self.header.clone(), cards)?;
        for (index, line) in self.lines.iter().enumerate().take(answers) {
            journal
                .submit_from(line.player, line.decision, line.answer.clone(), line.origin)
                .map_err(|source| JournalError::Refused { line: index + 2, source })?;
        }
        Ok(journal)
    }

    /// The game without its last answers.
    ///
    /// # Errors
    /// See [`fork`](Self::fork).
    pub fn undo(&self, answers: usize, cards: &dyn CardSource) -> Result<Self, JournalError> {
        self.fork(self.lines.len().saturating_sub(answers), cards)
    }
}
