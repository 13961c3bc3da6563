//! Clients of the models that answer a run, and whether a budget can be kept with them.

use crate::error::SessionError;
use crate::launch::{ModelPick, WantedModel};
use crate::project_context::ProjectContext;
use crate::turn::Turn;
use marvin_base::layout::Layout;
use marvin_base::settings::table;
use marvin_gate::Workspace;
use marvin_model::choose::{self, Choice};
use marvin_model::price::Prices;
use marvin_model::{ModelClient, ModelError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Client of the model that the settings choose.
pub(crate) fn choose_client(
    project: &ProjectContext,
    script_state: Option<PathBuf>,
) -> Result<Arc<dyn ModelClient>, ModelError> {
    choose::client_with_fallback(&Choice {
        settings: &project.settings,
        environment: &project.environment,
        layout: &project.layout,
        workspace: project.workspace.as_deref().map_or(project.directory.as_path(), Workspace::root),
        script_state,
    })
}

/// Refuses a budget for a model without a known price, because it could not be kept.
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

/// Clients of the models of tiers, each made once.
#[derive(Default)]
pub(crate) struct TierClients {
    clients: Mutex<BTreeMap<WantedModel, Arc<dyn ModelClient>>>,
    /// Tiers without a model at the provider, of which the person was told.
    told: Mutex<BTreeSet<String>>,
}

impl TierClients {
    /// Client of the model that was chosen; that of `turn` where no other is wanted.
    pub(crate) fn get(
        &self,
        pick: ModelPick,
        turn: &Turn,
        project: &ProjectContext,
        script_state: &Path,
    ) -> Result<Arc<dyn ModelClient>, SessionError> {
        if let Some(text) = pick.passed_over
            && self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone())
        {
            turn.trace.notice(text)?;
        }
        let is_own = |wanted: &WantedModel| wanted.provider.is_none() && wanted.model == turn.client.model();
        let Some(wanted) = pick.wanted.filter(|wanted| !is_own(wanted)) else {
            return Ok(turn.client.clone());
        };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&wanted) {
            return Ok(client.clone());
        }
        let mut project = project.clone();
        let mut settings = project.settings.with(&table::MODEL, &wanted.model)?;
        if let Some(provider) = &wanted.provider {
            settings = settings.with(&table::PROVIDER, provider)?;
        }
        project.settings = Arc::new(settings);
        let client = choose_client(&project, Some(script_state.to_path_buf()))?;
        check_budget(turn.cost.limit(), client.as_ref(), &turn.prices, &project.layout)?;
        clients.insert(wanted, client.clone());
        Ok(client)
    }
}
