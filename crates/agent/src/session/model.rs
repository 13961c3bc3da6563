//! The model of a session, and whether its budget can be kept.

use super::{Replay, SessionError};
use crate::project_context::ProjectContext;
use marvin_base::layout::Layout;
use marvin_gate::Workspace;
use marvin_model::choose::{self, Choice};
use marvin_model::price::Prices;
use marvin_model::{ModelClient, ModelError};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) fn choose_client(
    ground: &ProjectContext,
    replay: Option<&Replay>,
    script_state: Option<PathBuf>,
) -> Result<Arc<dyn ModelClient>, ModelError> {
    if let Some(replay) = replay {
        return Ok(replay.tape.clone());
    }
    choose::client(&Choice {
        settings: &ground.settings,
        environment: &ground.environment,
        layout: &ground.layout,
        workspace: ground.workspace.as_deref().map_or(ground.directory.as_path(), Workspace::root),
        script_state,
    })
}

/// A budget needs a price; where none is known it could not be kept, so it is refused at once.
pub(crate) fn check_budget(
    limit: Option<u64>,
    client: &dyn ModelClient,
    prices: &Prices,
    layout: &Layout,
) -> Result<(), SessionError> {
    let reports_itself = client.provider() == "claude";
    if limit.is_none() || reports_itself || prices.knows(client.provider(), client.model()) {
        return Ok(());
    }
    Err(SessionError::Unpriced {
        provider: client.provider().to_string(),
        model: client.model().to_string(),
        file: layout.prices().display().to_string(),
    })
}
