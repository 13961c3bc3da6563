//! Servitors of a session: their tools, and a session that runs them instead of a turn of its own.

use super::{Session, SessionError};
use crate::commitments::Source;
use crate::commitments::tools::Keeper;
use crate::outcome::{Outcome, Status};
use crate::project_context::ProjectContext;
use crate::servitors::{Servitor, ServitorState, Servitors, tools};
use crate::verification::Verification;
use marvin_base::run_record::RunKind;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use marvin_gate::Access;
use marvin_tools::Toolbox;
use serde_json::Map;
use std::sync::Arc;

/// Adds the tools for servitors and for commitments that this access offers. Sub-agents do one thing; who has no project has
/// nobody to summon.
pub fn add(toolbox: &mut Toolbox, ground: &Arc<ProjectContext>, servitors: &Arc<Servitors>, access: &Access) {
    if !ground.coding || ground.workspace.is_none() || ground.settings.whole(&table::DEPTH) > 0 {
        return;
    }
    let keeper = Keeper::new(ground.clone(), None, Source::Agent);
    let all = tools::all(&Arc::downgrade(servitors)).into_iter().chain(keeper.tools());
    for tool in all.filter(|tool| access.offers(tool.touches())) {
        toolbox.add(tool);
    }
}

impl Session {
    /// Takes up everybody who has something to do, runs them to their end, and closes the record.
    ///
    /// # Errors
    /// When somebody else looks after the servitors, or the record cannot be written.
    pub async fn run_servitors(&mut self) -> Result<(Outcome, Vec<Servitor>), SessionError> {
        let household = self.servitors.open()?;
        self.is_for_servitors()?;
        let started = household.start_all();
        self.trace.event(TraceEvent::ServitorsStarted { servitors: started })?;
        household.settled().await;
        let bodies = household.registry.living();
        let outcome = self.outcome_of(&bodies);
        self.close(&outcome)?;
        Ok((outcome, bodies))
    }

    /// Says in the record that this session has no turn of its own.
    pub(super) fn is_for_servitors(&mut self) -> Result<(), SessionError> {
        self.record.manner = RunKind::Servitors;
        self.record.goal = Some(RunKind::Servitors.word().into());
        Ok(self.save()?)
    }

    pub(super) fn outcome_of(&self, bodies: &[Servitor]) -> Outcome {
        let unfinished = bodies.iter().any(|body| body.state.is_active());
        let failed = |body: &Servitor| body.state == ServitorState::Failed;
        let unproved = |body: &Servitor| failed(body) && body.reason.starts_with("not verified");
        let (status, reason) = if unfinished && self.turn.late.is_cancelled() {
            (Status::Failed, "deadline")
        } else if unfinished && self.turn.cancel.is_cancelled() {
            (Status::Interrupted, "interrupted")
        } else if bodies.iter().any(unproved) {
            (Status::NotVerified, "not_verified")
        } else if bodies.iter().any(failed) {
            (Status::Failed, "servitor_failed")
        } else if bodies.iter().any(|body| body.state == ServitorState::Waiting) {
            (Status::Blocked, "servitor_waiting")
        } else if unfinished {
            (Status::Partial, "servitor_unfinished")
        } else {
            (Status::Success, "done")
        };
        let count = |state: ServitorState| bodies.iter().filter(|body| body.state == state).count();
        let parts: Vec<String> = ServitorState::ALL
            .into_iter()
            .filter(|state| count(*state) > 0)
            .map(|state| format!("{} {}", count(state), state.word()))
            .collect();
        let text = if parts.is_empty() { "there are no servitors".into() } else { parts.join(", ") };
        Outcome {
            status,
            reason,
            error: (status != Status::Success).then(|| text.clone()),
            text,
            failure_signature: None,
            data: Map::new(),
            rounds: 0,
            calls: 0,
            verification: Verification::default(),
        }
    }
}
