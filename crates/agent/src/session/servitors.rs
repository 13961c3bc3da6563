//! Sessions that run servitors instead of a turn of their own.

use super::Session;
use crate::error::SessionError;
use crate::outcome::{Outcome, Status};
use crate::servitors::{Servitor, ServitorState};
use marvin_base::run_record::RunKind;
use marvin_base::trace_event::TraceEvent;

impl Session {
    /// Runs all active servitors to their end, and closes the record.
    pub async fn run_servitors(&mut self) -> Result<(Outcome, Vec<Servitor>), SessionError> {
        let scheduler = self.servitors.open()?;
        self.mark_for_servitors()?;
        let started = scheduler.start_all();
        self.trace.event(TraceEvent::ServitorsStarted { servitors: started })?;
        scheduler.settled().await;
        let servitors = scheduler.registry.living();
        let outcome = self.outcome_of(&servitors);
        self.close(&outcome)?;
        Ok((outcome, servitors))
    }

    /// Records that this session has no turn of its own.
    pub(super) fn mark_for_servitors(&mut self) -> Result<(), SessionError> {
        self.record.manner = RunKind::Servitors;
        self.record.goal = Some(RunKind::Servitors.word().into());
        Ok(self.save()?)
    }

    pub(super) fn outcome_of(&self, servitors: &[Servitor]) -> Outcome {
        let unfinished = servitors.iter().any(|servitor| servitor.state.is_active());
        let failed = |servitor: &Servitor| servitor.state == ServitorState::Failed;
        let unproved = |servitor: &Servitor| failed(servitor) && servitor.failure == "not_verified";
        let (status, reason) = if unfinished && self.turn.late.is_cancelled() {
            (Status::Failed, "deadline")
        } else if unfinished && self.turn.cancel.is_cancelled() {
            (Status::Interrupted, "interrupted")
        } else if servitors.iter().any(unproved) {
            (Status::NotVerified, "not_verified")
        } else if servitors.iter().any(failed) {
            (Status::Failed, "servitor_failed")
        } else if servitors.iter().any(|servitor| servitor.state == ServitorState::Waiting) {
            (Status::Blocked, "servitor_waiting")
        } else if unfinished {
            (Status::Partial, "servitor_unfinished")
        } else {
            (Status::Success, "done")
        };
        let count =
            |state: ServitorState| servitors.iter().filter(|servitor| servitor.state == state).count();
        let parts: Vec<String> = ServitorState::ALL
            .into_iter()
            .filter(|state| count(*state) > 0)
            .map(|state| format!("{} {}", count(state), state.word()))
            .collect();
        let text = if parts.is_empty() { "no servitors".into() } else { parts.join(", ") };
        let error = (status != Status::Success).then(|| text.clone());
        Outcome { text, ..Outcome::new(status, reason, error) }
    }
}
