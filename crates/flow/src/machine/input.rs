//! Inputs and effects of the machine.

use crate::record::{Answer, Data, StepStatus};
use crate::retry::{Attempt, Strategy};
use marvin_memory::lessons::Lesson;
use serde::{Deserialize, Serialize};

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Input {
    /// A process resumes the run, or begins it.
    Open,
    /// Everything that happened together was fed: begin what can begin.
    Advance,
    /// The answer to [`Effect::Prepare`] and [`Effect::Ask`].
    Prepared { step: u32, preparation: Preparation },
    /// The answer to [`Effect::Resolve`]: why the step fails, if it does.
    Resolved { step: u32, problem: Option<Problem> },
    /// The answer to [`Effect::Recall`].
    Recalled { step: u32, recollection: Recollection },
    /// An attempt ended.
    Finished { step: u32, end: Box<AttemptEnd> },
    /// The answer to [`Effect::Merge`]: the end of the attempt, which is BLOCKED if its changes do not apply.
    Merged { step: u32, end: Box<AttemptEnd> },
    /// The answer to [`Effect::Teach`].
    Taught { step: u32, lesson: LessonResult },
    /// Answers of people, in their order. Of several about one step, the last counts.
    Answers(Vec<Answer>),
    /// The run was cancelled: nothing begins any more.
    Stop,
}

/// What the driver is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Effect {
    /// Record a transition.
    Record(Box<Change>),
    /// Record that an echo step succeeded; its outputs are its inputs as they are written.
    Echo { step: u32 },
    /// Resolve and check the inputs of an echo step.
    Resolve { step: u32 },
    /// Resolve the inputs of a step for a person.
    Ask { step: u32 },
    /// Resolve the inputs of an attempt. It is not recorded yet, and may wait for the workspace.
    Prepare { step: u32, ticket: Box<Ticket> },
    /// Start the attempt that was prepared or recalled last, after its transition is recorded.
    Start { step: u32, call_id: String },
    /// Find what is known of an attempt that an earlier process began.
    Recall { step: u32, ticket: Box<Ticket>, call_id: String },
    /// Merge the changes in the worktree of an attempt into the workspace.
    Merge { step: u32 },
    /// Write a lesson.
    Teach { step: u32, lesson: Box<Lesson> },
    /// Record that these steps are skipped.
    Skip { by: u32, reason: Box<str>, steps: Box<[u32]> },
}

/// A transition that the driver completes with values that the machine does not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub step: u32,
    pub status: StepStatus,
    pub data: Data,
    pub payload: Payload,
}

/// Values that belong to a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payload {
    Nothing,
    /// The resolved inputs of the attempt.
    Inputs,
    /// The resolved inputs, and the question to a person as the error.
    Question,
    /// The resolved inputs of an echo step, as its outputs.
    Echo,
    /// The outputs and artifacts of the attempt that ended.
    Report,
    /// The inputs of the step's last transition; its error too, if the step stays BLOCKED.
    Previous,
}

/// An attempt that is to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ticket {
    /// Counted from 1.
    pub attempt: u32,
    /// The idempotency key.
    pub key: String,
    pub strategy: Strategy,
    /// The previous attempt.
    pub previous: Option<PreviousFailure>,
    /// The id of the lesson for it.
    pub lesson: Option<String>,
    /// Whether a person allowed what the gate asked about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_approved: bool,
}

/// The failure of an earlier attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousFailure {
    pub summary: String,
    pub failure_signature: Option<String>,
}

/// Whether a step can begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preparation {
    Ready {
        /// Whether the attempt may change files in the workspace.
        writes: bool,
    },
    /// The inputs cannot be resolved, or do not match their schema.
    Invalid(Problem),
    /// The worker of its strategy does not exist.
    NoWorker,
}

/// Why a step fails without an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub error: String,
    /// `inputs` or `outputs`.
    pub code: String,
}

/// What is known of an attempt that an earlier process began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Recollection {
    /// Its worker does not exist any more.
    NoWorker,
    Ended {
        end: Box<AttemptEnd>,
        /// Whether its worktree still exists, so that its changes may not be merged.
        has_worktree: bool,
    },
    Unknown {
        /// Whether repeating it is harmless.
        repeatable: bool,
        writes: bool,
    },
}

/// Whether a lesson was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LessonResult {
    Written { id: String },
    Failed { error: String },
}

/// The end of an attempt, as the driver measured it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnd {
    pub attempt: Attempt,
    /// It was cancelled, so its effects are not known.
    pub stopped: bool,
    /// The call signature of the next attempt ([`crate::retry::Task::candidate`]); none at the end of the ladder.
    pub next_signature: Option<String>,
    /// The component of the step in lessons ([`crate::retry::Task::component`]).
    pub component: String,
    /// Whether a failed attempt may be repeated at all.
    pub retryable: bool,
    /// The reason why the whole workflow ends with this step.
    pub terminates: Option<String>,
}
