//! `/mtg`: games of Magic inside a conversation.
//!
//! A higher layer has the games. Their lines are commands and never prompts: no turn, no framing and no
//! memory of the conversation is involved.

use crate::project_context::ProjectContext;
use async_trait::async_trait;

/// What a game says to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GameReply {
    Text(String),
    /// The line was not carried out; this says why, with a hint.
    Refusal(String),
}

/// Games that a conversation can play.
#[async_trait]
pub trait GameHost: Send + Sync {
    /// Carries out what follows `/mtg`, and says what happened.
    async fn run_line(&self, project: &ProjectContext, line: &str) -> GameReply;
}
