//! `/mtg`: games of Magic inside a conversation.
//!
//! A higher layer has the games. Their lines are commands and never prompts: no turn, no framing and no
//! memory of the conversation is involved.

use super::{Chat, Reply};
use crate::project_context::ProjectContext;
use async_trait::async_trait;

/// Games that a conversation can play.
#[async_trait]
pub trait GameHost: Send + Sync {
    /// Carries out what follows `/mtg`, and says what happened.
    async fn run_line(&self, project: &ProjectContext, line: &str) -> Reply;
}

impl Chat {
    pub(super) async fn play(&self, line: &str) -> Reply {
        let Some(games) = &self.inner.games else {
            return Reply::Wrong("/mtg: this front end has no games\n  hint: use `marvin mtg play`".into());
        };
        let project = self.project();
        games.run_line(&project, line).await
    }
}
