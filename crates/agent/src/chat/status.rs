//! Status of a conversation.

use super::{Chat, lists};
use crate::project_context::ProjectContext;
use marvin_base::settings::table;
use marvin_model::choose;
use marvin_model::price::dollars;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    pub provider: String,
    pub model: String,
    pub profile: String,
    /// `chat`, `coding` or `shell`.
    pub mode: String,
    pub workspace: Option<String>,
    /// Whether a prompt is being answered.
    pub busy: bool,
    pub turn: Option<String>,
    pub prompt: Option<String>,
    /// The event before the first of that turn: a front end that comes late reads from here.
    pub turn_after: Option<u64>,
    /// Seconds that the turn has taken.
    pub seconds: u64,
    pub queued: Option<String>,
    pub cost_usd: f64,
    pub budget_usd: Option<f64>,
    pub sandbox: String,
    /// The tools of TURBOTIME, where it is on.
    pub turbotime: Option<Vec<String>>,
    pub servitors: usize,
    /// Approvals that wait for the person.
    pub approvals: usize,
    pub messages: usize,
    /// Topics of push notifications that are followed.
    pub subscriptions: usize,
    /// Their messages since the last prompt.
    pub unread: usize,
    pub seq: u64,
}

/// Provider and model that would answer; no request is made.
pub(super) fn model_of(project: &ProjectContext) -> (String, String) {
    let provider = choose::provider_name(&project.settings, &project.layout);
    let given = project.settings.given(&table::MODEL).map(str::to_string);
    let usual = || {
        let all = choose::survey(&project.settings, &project.layout, &project.environment);
        all.into_iter().find(|row| row.provider == provider).map(|row| row.model).unwrap_or_default()
    };
    let model = if provider == "mock" { "mock".into() } else { given.unwrap_or_else(usual) };
    (provider, model)
}

impl Chat {
    #[must_use]
    pub fn status(&self) -> Status {
        let (commands, seq) = (self.inner.asking.all().len(), self.inner.log.last());
        let waiting = self.waiting().len();
        let state = self.state();
        let project = &state.project;
        let running = state.running.as_ref();
        Status {
            provider: state.provider.clone(),
            model: state.model.clone(),
            profile: state.profile.clone(),
            mode: if state.shell {
                "shell".into()
            } else if project.coding {
                "coding".into()
            } else {
                "chat".into()
            },
            workspace: project.workspace.as_ref().map(|workspace| workspace.root().display().to_string()),
            busy: running.is_some(),
            turn: running.map(|running| running.id.clone()),
            prompt: running.map(|running| running.prompt.clone()),
            turn_after: running.map(|running| running.after),
            seconds: running.map_or(0, |running| running.since.elapsed().as_secs()),
            queued: state.queued.as_deref().map(|text| project.redactor.text(text).into_owned()),
            cost_usd: dollars(state.spent),
            budget_usd: project.settings.amount(&table::MAX_COST),
            sandbox: marvin_gate::sandbox::chosen(project.settings.text(&table::CONTAINMENT)).to_string(),
            turbotime: state
                .turbotime
                .as_ref()
                .map(|selection| selection.names().iter().map(ToString::to_string).collect()),
            servitors: lists::working(project),
            approvals: commands + waiting,
            messages: state.messages.len(),
            subscriptions: state.topics,
            unread: state.unread,
            seq,
        }
    }
}
