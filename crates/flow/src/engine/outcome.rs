//! How a run ended.

use crate::record::StepStatus;
use marvin_base::Exit;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How a run stands when nothing more can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Every step is done, or was not needed.
    Succeeded,
    /// Every step is over, and some gave only a part.
    Partial,
    /// A step failed, so others cannot begin.
    Failed,
    /// A person is needed.
    Blocked,
    /// Somebody stopped it; it can be resumed.
    Stopped,
}

impl RunStatus {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Succeeded => "SUCCEEDED",
            RunStatus::Partial => "PARTIAL",
            RunStatus::Failed => "FAILED",
            RunStatus::Blocked => "BLOCKED",
            RunStatus::Stopped => "STOPPED",
        }
    }
}

/// A step that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedStep {
    /// The step.
    pub step_id: String,
    /// What for: `approve`, `answer`, `worker`, `unknown`, `artifact` or `merge`.
    pub kind: String,
    /// The question, or the reason.
    pub text: String,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The run.
    pub run_id: String,
    /// Its directory.
    pub run_path: PathBuf,
    /// How it stands.
    pub status: RunStatus,
    /// How many steps stand where; only those that are.
    pub counts: BTreeMap<&'static str, usize>,
    /// All steps.
    pub steps: usize,
    /// Steps that failed, and why; at most a few.
    pub failed: Vec<(String, String)>,
    /// Steps that wait for a person; at most a few.
    pub waiting: Vec<BlockedStep>,
    /// Whether a step failed because its commitments do not hold.
    pub unverified: bool,
    /// Whether a step failed because the budget is spent.
    pub spent: bool,
    /// What the run cost over all its processes, where somebody was asked who costs something.
    pub cost: Option<Value>,
    /// The step that ended the workflow early, and why.
    pub termination: Option<(String, String)>,
    /// Commits to the record.
    pub commits: u64,
    /// Steps that this process finished.
    pub finished: u64,
    /// From the first transition to the last commit.
    pub dispatched: Duration,
    /// How long it took, with everything that is written at the end.
    pub elapsed: Duration,
}

impl Outcome {
    /// The exit code that goes with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.status {
            RunStatus::Succeeded => Exit::Success,
            RunStatus::Blocked => Exit::Blocked,
            RunStatus::Stopped | RunStatus::Failed | RunStatus::Partial if self.spent => Exit::Budget,
            RunStatus::Stopped => Exit::Interrupted,
            RunStatus::Failed if self.unverified => Exit::NotVerified,
            RunStatus::Failed | RunStatus::Partial => Exit::Failed,
        }
    }

    /// As programs read it.
    #[must_use]
    pub fn json(&self) -> Value {
        let failed: Vec<Value> =
            self.failed.iter().map(|(step, why)| json!({"step_id": step, "error": why})).collect();
        let waiting: Vec<Value> = self
            .waiting
            .iter()
            .map(|one| json!({"step_id": one.step_id, "kind": one.kind, "text": one.text}))
            .collect();
        let mut value = json!({
            "run_id": self.run_id, "run_path": self.run_path.display().to_string(), "status": self.status.word(), "steps": self.counts,
            "elapsed_ms": u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX), "commits": self.commits,
        });
        if let Value::Object(map) = &mut value {
            if !failed.is_empty() {
                map.insert("failed".into(), failed.into());
            }
            if !waiting.is_empty() {
                map.insert("waiting".into(), waiting.into());
            }
            if let Some(cost) = &self.cost {
                map.insert("cost".into(), cost.clone());
            }
            if let Some((step, reason)) = &self.termination {
                map.insert("termination".into(), json!({"triggered_by": step, "reason": reason}));
            }
        }
        value
    }
}

/// How a run stands, from how many steps stand where.
pub(super) fn status_of(counts: &BTreeMap<&'static str, usize>, stopped: bool) -> RunStatus {
    let count = |status: StepStatus| counts.get(status.word()).copied().unwrap_or(0);
    let over = [StepStatus::Succeeded, StepStatus::Skipped, StepStatus::Partial];
    let all: usize = counts.values().sum();
    if over.into_iter().map(count).sum::<usize>() == all {
        return if count(StepStatus::Partial) > 0 { RunStatus::Partial } else { RunStatus::Succeeded };
    }
    if stopped {
        return RunStatus::Stopped;
    }
    if count(StepStatus::Blocked) > 0 { RunStatus::Blocked } else { RunStatus::Failed }
}
