//! What is exchanged with the server: the input of a run, signals, and the tasks of workers.

use crate::workspace::WorkspaceState;
use marvin_flow::machine::LessonResult;
use marvin_flow::remote::attempt::AttemptRequest;
use marvin_flow::remote::{AttemptReply, RemoteState};
use marvin_flow::workers::ROLES;
use marvin_memory::lessons::Lesson;
use marvin_store::BlobId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// The input of the workflow code, without the workflow file, which is a payload of its own: all executions of a run share it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInput {
    /// The version of the machine.
    pub version: u32,
    pub run_id: String,
    /// The most attempts at a time.
    pub slots: usize,
    /// Seconds without a sign of life after which an attempt counts as lost.
    pub heartbeat_s: u64,
    /// Workers of steps with a queue of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The budget of the whole run in nano-dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The workspace, if the machines do not share a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceState>,
    /// Whether its search attributes are kept up to date.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub search_attributes: bool,
    /// The state in which an earlier execution of the same run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<RunState>>,
}

/// The state of a run between two executions of its workflow code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub remote: RemoteState,
    /// Nano-dollars that attempts have spent.
    #[serde(default)]
    pub spent: u64,
    /// What one of them has cost at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_cost: Option<u64>,
    /// The number of its last wave.
    #[serde(default)]
    pub last_wave: u32,
    /// Milliseconds that an attempt takes lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace_ms: Option<u64>,
}

/// An attempt, or a merge, for a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptTask {
    pub request: AttemptRequest,
    /// The workspace that it begins with, if the machines do not share a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceState>,
    /// The changes of the attempt that are to be merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<BlobId>,
}

impl AttemptTask {
    /// Whether an agent makes it.
    pub(crate) fn needs_model(&self) -> bool {
        let worker = &self.request.order.ticket.strategy.worker;
        ROLES.iter().any(|role| role.name() == worker)
    }
}

/// The end of an attempt, or of a merge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptDone {
    pub reply: AttemptReply,
    /// What it changed in its workspace, if the machines do not share a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<BlobId>,
    /// Milliseconds that the attempt took on its worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

impl AttemptDone {
    pub(crate) fn new(reply: AttemptReply, changes: Option<BlobId>) -> Self {
        AttemptDone { reply, changes, took_ms: None }
    }
}

/// A signal to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunSignal {
    /// Cancel attempts, and begin nothing.
    Stop,
    /// Continue a run that was stopped, with another budget if one is given.
    Resume {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// The decision of a person about a step.
    Decide { step: u32, decision: Value },
}

/// The result of the workflow code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// Steps that were completed.
    pub finished: u64,
    pub steps: usize,
}

/// A kind of task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    Attempt,
    Recall,
    Merge,
    Teach,
}

impl TaskKind {
    pub(crate) const ALL: [TaskKind; 4] =
        [TaskKind::Attempt, TaskKind::Recall, TaskKind::Merge, TaskKind::Teach];

    /// The name of the activity.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TaskKind::Attempt => "attempt",
            TaskKind::Recall => "recall",
            TaskKind::Merge => "merge",
            TaskKind::Teach => "teach",
        }
    }
}

/// The name of a task of a run. Tasks that end together are taken in the order of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskId {
    pub step: u32,
    pub kind: TaskKind,
    /// The attempt that it belongs to, from 1.
    pub attempt: u32,
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}-{}", self.kind.name(), self.step, self.attempt)
    }
}

impl FromStr for TaskId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('-');
        let (Some(kind), Some(step), Some(attempt), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(());
        };
        let kind = TaskKind::ALL.into_iter().find(|one| one.name() == kind).ok_or(())?;
        Ok(TaskId { step: step.parse().map_err(|_| ())?, kind, attempt: attempt.parse().map_err(|_| ())? })
    }
}

/// A task of a worker.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    Attempt(Box<AttemptTask>),
    /// Find the end of the attempt with this key.
    Recall(String),
    Merge(Box<AttemptTask>),
    Teach(Box<Lesson>),
}

/// The input of a wave: attempts that begin together, in a history of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaveInput {
    /// Seconds without a sign of life after which an attempt counts as lost.
    pub heartbeat_s: u64,
    /// Workers of steps with a queue of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Milliseconds that an attempt takes, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace_ms: Option<u64>,
    pub tasks: Vec<WaveTask>,
}

/// An attempt of a wave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaveTask {
    pub id: TaskId,
    /// The timeout of its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    pub task: AttemptTask,
}

/// How an attempt of a wave ended; without an end, its worker was lost, or it was cancelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaveReport {
    pub id: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Box<AttemptDone>>,
}

impl WaveReport {
    pub(crate) fn new(id: TaskId, end: TaskEnd) -> Self {
        match end {
            TaskEnd::Done(done) => WaveReport { id, done: Some(done) },
            TaskEnd::Recalled(_) | TaskEnd::Taught(_) | TaskEnd::Failed => WaveReport { id, done: None },
        }
    }

    pub(crate) fn end(self) -> (TaskId, TaskEnd) {
        (self.id, self.done.map_or(TaskEnd::Failed, TaskEnd::Done))
    }
}

/// The end of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskEnd {
    /// The end of [`Task::Attempt`] and [`Task::Merge`].
    Done(Box<AttemptDone>),
    Recalled(Option<Box<AttemptDone>>),
    Taught(LessonResult),
    /// Its worker was lost, it was cancelled, or it failed. It has no text, so that all who see it conclude the same.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tasks_are_parsed() {
        for kind in TaskKind::ALL {
            let id = TaskId { step: 12, kind, attempt: 3 };
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in ["", "attempt", "attempt-1", "attempt-1-2-3", "other-1-1", "attempt-x-1", "attempt-1-"] {
            assert_eq!(text.parse::<TaskId>(), Err(()), "{text}");
        }
    }
}
