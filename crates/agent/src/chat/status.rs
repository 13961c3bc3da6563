//! How a conversation stands, for a status line.

use super::{Chat, lists};
use crate::project_context::ProjectContext;
use marvin_base::settings::table;
use marvin_model::choose;
use marvin_model::price::dollars;
use serde::Serialize;

/// How a conversation stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Who answers.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// Whose conversation it is.
    pub profile: String,
    /// `chat`, `coding` or `shell`.
    pub mode: String,
    /// The workspace, if there is one.
    pub workspace: Option<String>,
    /// Whether something is being answered.
    pub busy: bool,
    /// The turn that is being answered.
    pub turn: Option<String>,
    /// What is being answered.
    pub prompt: Option<String>,
    /// The event before the first of that turn: a face that comes late reads on from here.
    pub turn_after: Option<u64>,
    /// Seconds that it takes already.
    pub seconds: u64,
    /// The prompt that waits.
    pub queued: Option<String>,
    /// US dollars of this conversation.
    pub cost_usd: f64,
    /// US dollars that it may cost.
    pub budget_usd: Option<f64>,
    /// What contains commands.
    pub sandbox: String,
    /// The tools of TURBOTIME, where it is on.
    pub turbotime: Option<Vec<String>>,
    /// Servitors that work.
    pub servitors: usize,
    /// What waits for the person.
    pub approvals: usize,
    /// Things said.
    pub messages: usize,
    /// The number of the last event.
    pub seq: u64,
}

/// Who would answer, without asking anybody.
pub(super) fn model_of(ground: &ProjectContext) -> (String, String) {
    let provider = choose::provider_name(&ground.settings, &ground.layout);
    let given = ground.settings.given(&table::MODEL).map(str::to_string);
    let usual = || {
        let all = choose::survey(&ground.settings, &ground.layout, &ground.environment);
        all.into_iter().find(|row| row.provider == provider).map(|row| row.model).unwrap_or_default()
    };
    let model = if provider == "mock" { "mock".into() } else { given.unwrap_or_else(usual) };
    (provider, model)
}

impl Chat {
    /// How it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        let (commands, seq) = (self.inner.asking.all().len(), self.inner.log.last());
        let waiting = self.waiting().len();
        let state = self.state();
        let ground = &state.ground;
        let running = state.running.as_ref();
        Status {
            provider: state.provider.clone(),
            model: state.model.clone(),
            profile: state.profile.clone(),
            mode: if state.shell {
                "shell".into()
            } else if ground.coding {
                "coding".into()
            } else {
                "chat".into()
            },
            workspace: ground.workspace.as_ref().map(|workspace| workspace.root().display().to_string()),
            busy: running.is_some(),
            turn: running.map(|running| running.id.clone()),
            prompt: running.map(|running| running.prompt.clone()),
            turn_after: running.map(|running| running.after),
            seconds: running.map_or(0, |running| running.since.elapsed().as_secs()),
            queued: state.queued.as_deref().map(|text| ground.redactor.text(text).into_owned()),
            cost_usd: dollars(state.spent),
            budget_usd: ground.settings.amount(&table::MAX_COST),
            sandbox: marvin_gate::sandbox::chosen(ground.settings.text(&table::CONTAINMENT)).to_string(),
            turbotime: state
                .turbotime
                .as_ref()
                .map(|selection| selection.names().iter().map(ToString::to_string).collect()),
            servitors: lists::working(ground),
            approvals: commands + waiting,
            messages: state.messages.len(),
            seq,
        }
    }
}
