//! The outcome of a run.

use crate::record::StepStatus;
use marvin_base::Exit;
use marvin_base::run_record::{CostReport, RunStatus};
use marvin_base::trace_event::{FailedStep, Termination, WaitingStep, WorkflowResult};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The status of a run in which no step can begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowStatus {
    /// Every step succeeded or was skipped.
    Succeeded,
    /// Every step is over, and some have only a partial result.
    Partial,
    /// A step failed, so dependent steps cannot begin.
    Failed,
    /// A person is needed.
    Blocked,
    /// It was cancelled and can be resumed.
    Stopped,
}

impl From<WorkflowStatus> for RunStatus {
    fn from(status: WorkflowStatus) -> Self {
        match status {
            WorkflowStatus::Succeeded => RunStatus::Succeeded,
            WorkflowStatus::Partial => RunStatus::Partial,
            WorkflowStatus::Failed => RunStatus::Failed,
            WorkflowStatus::Blocked => RunStatus::Blocked,
            WorkflowStatus::Stopped => RunStatus::Stopped,
        }
    }
}

impl WorkflowStatus {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            WorkflowStatus::Succeeded => "SUCCEEDED",
            WorkflowStatus::Partial => "PARTIAL",
            WorkflowStatus::Failed => "FAILED",
            WorkflowStatus::Blocked => "BLOCKED",
            WorkflowStatus::Stopped => "STOPPED",
        }
    }
}

/// A step that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedStep {
    pub step_id: String,
    /// What it waits for: `approve`, `answer`, `worker`, `unknown`, `artifact` or `merge`.
    pub kind: String,
    /// The question, or the reason.
    pub text: String,
}

/// The outcome of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub run_id: String,
    pub run_path: PathBuf,
    pub status: WorkflowStatus,
    /// The number of steps by status, without zeros.
    pub counts: BTreeMap<&'static str, usize>,
    /// The number of all steps.
    pub steps: usize,
    /// Failed steps with their errors, at most 20.
    pub failed: Vec<(String, String)>,
    /// Steps that gave only a part, with the reasons, at most 20.
    pub partial: Vec<(String, String)>,
    /// Steps that wait for a person, at most 20.
    pub waiting: Vec<BlockedStep>,
    /// Whether a step failed because its commitments do not hold.
    pub unverified: bool,
    /// Whether a step failed because the budget is spent.
    pub spent: bool,
    /// The cost of the run over all its processes, if it used a model.
    pub cost: Option<CostReport>,
    /// The step that ended the workflow early, and its reason.
    pub termination: Option<(String, String)>,
    /// Commits to the record.
    pub commits: u64,
    /// Steps that this process completed.
    pub finished: u64,
    /// From the first transition to the last commit.
    pub dispatched: Duration,
    /// The time of the whole run, with everything that is written at its end.
    pub elapsed: Duration,
}

impl Outcome {
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.status {
            WorkflowStatus::Succeeded => Exit::Success,
            WorkflowStatus::Blocked => Exit::Blocked,
            WorkflowStatus::Stopped | WorkflowStatus::Failed | WorkflowStatus::Partial if self.spent => {
                Exit::Budget
            }
            WorkflowStatus::Stopped => Exit::Interrupted,
            WorkflowStatus::Failed if self.unverified => Exit::NotVerified,
            WorkflowStatus::Failed | WorkflowStatus::Partial => Exit::Failed,
        }
    }

    /// The last event of the run, for programs.
    #[must_use]
    pub fn result(&self) -> WorkflowResult {
        let failed =
            self.failed.iter().map(|(step, why)| FailedStep { step_id: step.clone(), error: why.clone() });
        let waiting = self.waiting.iter().map(|one| WaitingStep {
            step_id: one.step_id.clone(),
            kind: Some(one.kind.clone()),
            text: one.text.clone(),
        });
        let termination = self
            .termination
            .as_ref()
            .map(|(step, reason)| Termination { triggered_by: step.clone(), reason: reason.clone() });
        WorkflowResult {
            run_id: self.run_id.clone(),
            run_path: self.run_path.display().to_string(),
            status: self.status.word().to_string(),
            steps: self.counts.iter().map(|(status, count)| ((*status).to_string(), *count)).collect(),
            elapsed_ms: u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            commits: self.commits,
            failed: failed.collect(),
            waiting: waiting.collect(),
            cost: self.cost.clone(),
            termination,
        }
    }
}

/// The status of a run in which no step can begin, from the number of steps by status.
pub(crate) fn status_of(counts: &BTreeMap<&'static str, usize>, stopped: bool) -> WorkflowStatus {
    let count = |status: StepStatus| counts.get(status.word()).copied().unwrap_or(0);
    let over = [StepStatus::Succeeded, StepStatus::Skipped, StepStatus::Partial];
    let all: usize = counts.values().sum();
    if over.into_iter().map(count).sum::<usize>() == all {
        return if count(StepStatus::Partial) > 0 {
            WorkflowStatus::Partial
        } else {
            WorkflowStatus::Succeeded
        };
    }
    if stopped {
        return WorkflowStatus::Stopped;
    }
    if count(StepStatus::Blocked) > 0 { WorkflowStatus::Blocked } else { WorkflowStatus::Failed }
}
