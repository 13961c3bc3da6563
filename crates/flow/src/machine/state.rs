//! The state of the machine.

use super::VERSION;
use crate::record::{Data, StepHistory, StepStatus};
use crate::retry::Strategy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The whole state of a machine. Steps are named by their index in the workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineState {
    pub version: u32,
    pub run_id: String,
    /// The most attempts at a time.
    pub slots: usize,
    pub status: Vec<StepStatus>,
    /// The number of dependencies of each step that are not complete.
    pub missing: Vec<u32>,
    /// Echo steps that can begin.
    pub echoes: BTreeSet<u32>,
    /// Other steps that can begin.
    pub ready: BTreeSet<u32>,
    /// Ready steps that wait until no other step writes to the workspace.
    pub queued: BTreeSet<u32>,
    /// The step whose attempt is being prepared.
    pub preparing: Option<u32>,
    /// Echo steps whose inputs are being resolved.
    pub resolving: BTreeSet<u32>,
    /// Steps that an earlier process began.
    pub recalling: BTreeSet<u32>,
    pub running: BTreeMap<u32, RunningAttempt>,
    /// The step that writes to the workspace.
    pub writer: Option<u32>,
    /// Steps whose results in worktrees are not merged into the workspace yet.
    pub unmerged: BTreeSet<u32>,
    /// Steps that are retried once their lesson is written.
    pub untaught: BTreeMap<u32, UntaughtRetry>,
    /// Steps that were attempted and are not complete, or that wait for a person.
    pub tried: BTreeMap<u32, StepHistory>,
    /// The number in the last call id.
    pub calls: u64,
    /// The last answer of a person that was applied.
    pub last_answer: i64,
    /// Steps that wait for a person.
    pub parked: usize,
    pub stopping: bool,
    /// The step that ended the whole workflow, and its reason.
    pub terminated: Option<(u32, String)>,
    /// Whether a step failed because its commitments do not hold.
    pub unverified: bool,
    /// Steps that this machine completed.
    pub finished: u64,
}

/// An attempt that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningAttempt {
    /// Whether it works in a worktree of its own.
    pub worktree: bool,
}

/// A retry that waits for its lesson.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UntaughtRetry {
    /// The transition without the decision.
    pub data: Data,
    pub strategy: Strategy,
    /// Why it is allowed.
    pub reason: String,
}

/// Why a state cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    #[error("cannot load the state of the run: it is of version {0}, and this program knows {VERSION}")]
    Version(u32),
    #[error("cannot load the state of the run: it has {state} steps, and the workflow has {workflow}")]
    Steps { state: usize, workflow: usize },
}

impl MachineState {
    pub(super) fn check(&self, workflow: usize) -> Result<(), StateError> {
        if self.version != VERSION {
            return Err(StateError::Version(self.version));
        }
        let state = self.status.len();
        if state != workflow || self.missing.len() != workflow {
            return Err(StateError::Steps { state, workflow });
        }
        Ok(())
    }
}
