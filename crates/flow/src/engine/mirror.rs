//! The copy of a run that other machines carry out: its record, trace and files, for people and programs.
//!
//! The truth is the history that the machines share. A client that looks at the run computes its transitions from that history and
//! writes those that the copy lacks; the same history always gives the same transitions, so a copy only grows.

use super::dispatch::{MAX_STEPS_PER_EVENT, event, step_id, summarize};
use super::{EngineError, Outcome, Run, files};
use crate::machine::Machine;
use crate::record::{Data, NewTransition, StepStatus};
use marvin_base::trace_event::TraceEvent;
use std::time::Instant;

/// Transitions that one commit holds at most.
const MAX_TRANSITIONS_PER_COMMIT: usize = 10_000;

impl Run {
    /// Writes the event that says that the run was begun or resumed.
    ///
    /// # Errors
    /// When the trace cannot be written.
    pub fn announce(&self) -> Result<(), EngineError> {
        Ok(self.trace.event(self.opening())?)
    }

    /// Records the transitions that the copy lacks; `all` are those of the whole run, in order.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn append(&mut self, all: &[NewTransition]) -> Result<(), EngineError> {
        let known = usize::try_from(self.record.last()).unwrap_or(usize::MAX);
        let terminates = |one: &NewTransition| Some((one.step, one.data.terminates.clone()?));
        let termination = all.iter().find_map(terminates);
        for part in all.get(known..).unwrap_or_default().chunks(MAX_TRANSITIONS_PER_COMMIT) {
            let (mut events, mut echoes, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
            self.record.expect(false)?;
            for NewTransition { step, status, data } in part {
                if data.over.is_some() {
                    self.write_report(*step, *status, data)?;
                }
                let text = data.to_text();
                let seq = self.record.write(*step, *status, &text)?;
                match status {
                    StepStatus::Skipped => skipped.push(*step),
                    StepStatus::Succeeded if Data::is_echo(&text) => echoes.push(*step),
                    _ => events.push(event(&self.workflow, *step, *status, seq, data)),
                }
            }
            self.record.commit()?;
            self.write_events(&echoes, &skipped, termination.as_ref(), events)?;
        }
        Ok(())
    }

    fn write_report(&mut self, step: u32, status: StepStatus, data: &Data) -> Result<(), EngineError> {
        if matches!(status, StepStatus::Succeeded | StepStatus::Partial) || !data.artifacts.is_empty() {
            let outputs = data.outputs.clone().unwrap_or_default();
            let id = step_id(&self.workflow, step);
            files::write_step(self.directory.artifacts(), id, &outputs, &data.artifacts)?;
        }
        if !data.artifacts.is_empty() {
            self.record.write_artifacts(step, data.attempt, &data.artifacts)?;
        }
        Ok(())
    }

    fn write_events(
        &self,
        echoes: &[u32],
        skipped: &[u32],
        termination: Option<&(u32, String)>,
        events: Vec<TraceEvent>,
    ) -> Result<(), EngineError> {
        let names = |steps: &[u32]| -> Vec<String> {
            let named = steps.iter().take(MAX_STEPS_PER_EVENT);
            named.map(|step| step_id(&self.workflow, *step).to_string()).collect()
        };
        if !echoes.is_empty() {
            self.trace.event(TraceEvent::StepsSucceeded { count: echoes.len(), steps: names(echoes) })?;
        }
        for event in events {
            self.trace.event(event)?;
        }
        if let (false, Some((by, reason))) = (skipped.is_empty(), termination) {
            self.trace.event(TraceEvent::WorkflowTerminated {
                triggered_by: step_id(&self.workflow, *by).to_string(),
                reason: reason.clone(),
                count: skipped.len(),
                steps: names(skipped),
            })?;
        }
        Ok(())
    }

    /// The outcome of a run in the state of this machine, in which nothing can begin; also written to the files of the run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn close(mut self, machine: &Machine, began: Instant) -> Result<Outcome, EngineError> {
        let mut last = std::collections::BTreeMap::new();
        self.record.each(&mut |transition| {
            if matches!(transition.status, StepStatus::Failed | StepStatus::Blocked) {
                last.insert(transition.step, Data::parse(transition.data));
            }
        })?;
        let mut outcome = summarize(machine, &mut |step| Ok(last.remove(&step).unwrap_or_default()))?;
        outcome.elapsed = began.elapsed();
        self.record.close()?;
        files::write_state(self.directory.path(), &self.record, &self.workflow, &self.redactor)?;
        self.write_outcome(&mut outcome)?;
        Ok(outcome)
    }
}
