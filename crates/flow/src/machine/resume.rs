//! Steps that an earlier process began: a known end is used; otherwise the attempt is repeated, or a person decides.

use super::{Effect, Machine, Payload, Recollection, RunningAttempt};
use crate::record::{Data, StepStatus};
use crate::worker::Status;

impl Machine {
    pub(super) fn open(&mut self) {
        if let Some((step, reason)) = self.state.terminated.clone() {
            self.skip_rest(step, reason);
        }
        for step in self.steps() {
            if self.status(step) != StepStatus::Running || self.state.running.contains_key(&step) {
                continue;
            }
            // Another loss opens the run again while the answer about this step is awaited.
            if !self.state.recalling.insert(step) {
                continue;
            }
            let ticket = Box::new(self.ticket(step));
            let running = self.state.tried.get(&step).and_then(|tried| tried.running.as_ref());
            let call_id = running.map(|running| running.call_id.clone()).unwrap_or_default();
            self.effects.push(Effect::Recall { step, ticket, call_id });
        }
    }

    pub(super) fn take_recollection(&mut self, step: u32, recollection: Recollection) {
        if !self.state.recalling.remove(&step) {
            return;
        }
        match recollection {
            Recollection::NoWorker => self.block_unknown(step, "its worker no longer exists"),
            Recollection::Ended { end, has_worktree } => {
                // Changes in a worktree may not be merged yet; a worktree that is gone was merged.
                let worktree = self.has_worktree(step);
                if worktree && has_worktree && end.attempt.status == Status::Success {
                    self.state.running.insert(step, RunningAttempt { worktree });
                    self.state.unmerged.insert(step);
                    self.merge_next();
                } else {
                    self.judge(step, *end);
                }
            }
            Recollection::Unknown { repeatable: true, writes } => {
                if !writes || self.has_worktree(step) || self.state.writer.is_none() {
                    self.launch(step, writes, true);
                } else {
                    let data = Data { again: true, ..self.identity(step) };
                    self.transition(step, StepStatus::Ready, data, Payload::Nothing);
                }
            }
            Recollection::Unknown { repeatable: false, .. } => self.block_unknown(
                step,
                "it was interrupted while it ran, and whether it was completed is not known",
            ),
        }
    }

    /// Data with the identity of the attempt that was begun.
    fn identity(&self, step: u32) -> Data {
        let running = self.state.tried.get(&step).and_then(|tried| tried.running.clone());
        let running = running.unwrap_or_default();
        Data { attempt: running.attempt, key: running.key, call_id: running.call_id, ..Data::default() }
    }

    fn block_unknown(&mut self, step: u32, why: &str) {
        let identity = self.identity(step);
        let data = Data {
            blocked: Some("unknown".into()),
            error: Some(format!("{why} (key {})", identity.key)),
            ..identity
        };
        self.transition(step, StepStatus::Blocked, data, Payload::Nothing);
    }
}
