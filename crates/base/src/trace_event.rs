//! Events of `trace.jsonl`, which are also the lines of `--output-format stream-json`.
//!
//! One enum names every kind of event with its keys; `marvin schema trace` prints its JSON schema. The writer adds `seq`,
//! `timestamp` and what all events of an agent have in common (its step, its worker); the ledger adds the hash of the line
//! before. What only a caller or a model decides (arguments, results, plans) is kept as JSON.

mod item;
mod result;
mod step;

pub use item::{Item, ModelCallItem, ToolCallItem};
pub use result::{FailedStep, RunResult, Termination, TurnResult, WaitingStep, WorkflowResult};
pub use step::{StepEvent, WorkerEvent, WorkerOutcome, WorkflowOpened};

use crate::run_record::RunKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
pub enum TraceEvent {
    /// A run begins.
    #[serde(rename = "run.started")]
    RunStarted(RunOpened),
    /// A run that was interrupted continues.
    #[serde(rename = "run.resumed")]
    RunResumed(RunOpened),
    /// A turn begins.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// Its number in the run.
        turn: u64,
        /// What was asked, shortened.
        prompt: String,
    },
    /// A turn is over.
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        /// Its number in the run.
        turn: u64,
        /// How it ended.
        status: String,
        /// Requests to the model.
        rounds: usize,
        /// Tool calls.
        tool_calls: usize,
    },
    /// The tool calls of a reply are about to be made.
    #[serde(rename = "tools.started")]
    ToolsStarted {
        /// The number of the request in its turn.
        round: usize,
        /// The names of the tools.
        tools: Vec<String>,
    },
    /// A request to the model or a tool call begins.
    #[serde(rename = "item.started")]
    ItemStarted {
        /// The item.
        item: Item,
    },
    /// A request to the model, a tool call or a message is complete.
    #[serde(rename = "item.completed")]
    ItemCompleted {
        /// The item.
        item: Item,
    },
    /// Something that a person should know.
    #[serde(rename = "notice")]
    Notice(Notice),
    /// A prompt was composed.
    #[serde(rename = "prompt.composed")]
    PromptComposed(PromptComposed),
    /// The conversation was compacted.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// Estimated tokens before.
        tokens_before: usize,
        /// Estimated tokens after.
        tokens_after: usize,
        /// The file with the whole conversation.
        backup: String,
    },
    /// A claim is about to be verified.
    #[serde(rename = "verification.started")]
    VerificationStarted {
        /// The number of the verification in its turn.
        round: usize,
    },
    /// A commitment was checked.
    #[serde(rename = "verification.checked")]
    VerificationChecked {
        /// The number of the verification in its turn.
        round: usize,
        /// The commitment and its result.
        commitment: Value,
    },
    /// A claim was verified.
    #[serde(rename = "verification.completed")]
    VerificationCompleted {
        /// The number of the verification in its turn.
        round: usize,
        /// Whether every commitment holds.
        verified: bool,
        /// The result in a line.
        summary: String,
    },
    /// Memory candidates wait for the person's approval.
    #[serde(rename = "memory.proposed")]
    MemoryProposed {
        /// The candidates with what became of each.
        candidates: Vec<Value>,
    },
    /// The conversation's state was committed.
    #[serde(rename = "state.committed")]
    StateCommitted {
        /// The state before the turn.
        before: Value,
        /// The state after it.
        after: Value,
    },
    /// Servitors were started or resumed.
    #[serde(rename = "servitors.started")]
    ServitorsStarted {
        /// How many.
        servitors: usize,
    },
    /// A servitor was summoned.
    #[serde(rename = "servitor.summoned")]
    ServitorSummoned {
        /// Its id.
        agent: String,
        /// Its name.
        name: String,
        /// The id of its parent.
        parent: String,
        /// Its state.
        state: String,
        /// Its assignment, shortened.
        assignment: String,
        /// The number of its commitments.
        commitments: usize,
    },
    /// A servitor that stopped unfinished is told to continue.
    #[serde(rename = "servitor.prompted")]
    ServitorPrompted {
        /// Its id.
        agent: String,
        /// Its name.
        name: String,
        /// The key of the reason why it stopped.
        reason: String,
        /// How often it was told so.
        time: usize,
    },
    /// A change of state that is not possible was refused.
    #[serde(rename = "servitor.refused")]
    ServitorRefused {
        /// Its id.
        agent: String,
        /// Its name.
        name: String,
        /// Its state.
        from: String,
        /// The state that it cannot have next.
        to: String,
    },
    /// A servitor changed its state.
    #[serde(rename = "servitor.state")]
    ServitorState {
        /// Its id.
        agent: String,
        /// Its name.
        name: String,
        /// The id of its parent.
        parent: String,
        /// The state before.
        from: String,
        /// The state now.
        to: String,
        /// Why, shortened.
        reason: String,
    },
    /// A servitor got a message.
    #[serde(rename = "servitor.message")]
    ServitorMessage {
        /// Its id.
        agent: String,
        /// The sender.
        from: String,
        /// The message, shortened.
        text: String,
    },
    /// A servitor was dismissed.
    #[serde(rename = "servitor.dismissed")]
    ServitorDismissed {
        /// Its id.
        agent: String,
        /// Its name.
        name: String,
        /// Its last state.
        state: String,
    },
    /// A plan for a workflow was accepted.
    #[serde(rename = "plan.made")]
    PlanMade {
        /// The planning step.
        step_id: String,
        /// The number of steps.
        steps: usize,
        /// Why the plan is a single step, if it is one for lack of a better.
        fallback: Option<String>,
    },
    /// A workflow begins.
    #[serde(rename = "workflow.started")]
    WorkflowStarted(WorkflowOpened),
    /// A workflow continues.
    #[serde(rename = "workflow.resumed")]
    WorkflowResumed(WorkflowOpened),
    /// The record of a workflow cannot be written.
    #[serde(rename = "workflow.broken")]
    WorkflowBroken {
        /// Why.
        error: String,
    },
    /// A step ended the workflow early.
    #[serde(rename = "workflow.terminated")]
    WorkflowTerminated {
        /// The step.
        triggered_by: String,
        /// Why.
        reason: String,
        /// How many steps were skipped.
        count: usize,
        /// The first of them.
        steps: Vec<String>,
    },
    /// A step may run.
    #[serde(rename = "step.ready")]
    StepReady(StepEvent),
    /// A step runs.
    #[serde(rename = "step.started")]
    StepStarted(StepEvent),
    /// A step succeeded.
    #[serde(rename = "step.succeeded")]
    StepSucceeded(StepEvent),
    /// A step was skipped.
    #[serde(rename = "step.skipped")]
    StepSkipped(StepEvent),
    /// A step failed.
    #[serde(rename = "step.failed")]
    StepFailed(StepEvent),
    /// A step waits for a person.
    #[serde(rename = "step.blocked")]
    StepBlocked(StepEvent),
    /// A step has a partial result.
    #[serde(rename = "step.partial")]
    StepPartial(StepEvent),
    /// A step will be tried again.
    #[serde(rename = "step.retry")]
    StepRetry(StepEvent),
    /// Steps without a worker of their own succeeded together.
    #[serde(rename = "steps.succeeded")]
    StepsSucceeded {
        /// How many.
        count: usize,
        /// The first of them.
        steps: Vec<String>,
    },
    /// An agent begins to work on a step.
    #[serde(rename = "worker.started")]
    WorkerStarted(Box<WorkerEvent>),
    /// An agent ended its work on a step.
    #[serde(rename = "worker.completed")]
    WorkerCompleted(Box<WorkerEvent>),
    /// A pipeline's phase begins.
    #[serde(rename = "phase.started")]
    PhaseStarted {
        /// The phase.
        phase: String,
        /// Its title.
        title: String,
        /// Its ticket.
        ticket: String,
    },
    /// A pipeline's phase does not apply.
    #[serde(rename = "phase.skipped")]
    PhaseSkipped {
        /// The phase.
        phase: String,
        /// Why.
        reason: String,
    },
    /// A pipeline's phase is complete.
    #[serde(rename = "phase.completed")]
    PhaseCompleted {
        /// The phase.
        phase: String,
        /// Its facts: cost, time, and what the phase counts.
        #[serde(flatten)]
        facts: Map<String, Value>,
    },
    /// The application was asked over HTTP.
    #[serde(rename = "application.asked")]
    ApplicationAsked {
        /// The phase.
        phase: String,
        /// The round.
        round: usize,
        /// Every check with its result.
        checks: Value,
    },
    /// The project's tests ran.
    #[serde(rename = "tests.counted")]
    TestsCounted {
        /// The phase.
        phase: String,
        /// The step.
        step_id: String,
        /// Whether all of them pass.
        green: bool,
        /// The command.
        command: String,
        /// The counts in words.
        counted: String,
        /// The first that fail.
        failing: Vec<String>,
    },
    /// The tests that an agent wrote were checked.
    #[serde(rename = "tests.checked")]
    TestsChecked {
        /// The phase.
        phase: String,
        /// The step.
        step_id: String,
        /// What is wrong with them.
        problems: Vec<String>,
    },
    /// The whole was proved at the end of a pipeline.
    #[serde(rename = "proved")]
    Proved {
        /// Every check with its result.
        checks: Value,
    },
    /// A finding of a review was tried.
    #[serde(rename = "finding.tried")]
    FindingTried {
        /// The phase.
        phase: String,
        /// The step.
        step_id: String,
        /// The finding.
        finding: Value,
        /// Whether it could be reproduced.
        reproduced: bool,
        /// What was seen.
        seen: String,
    },
    /// A document was checked.
    #[serde(rename = "document.checked")]
    DocumentChecked {
        /// The phase.
        phase: String,
        /// The step.
        step_id: String,
        /// The document.
        path: String,
        /// What is wrong with it.
        problems: Vec<String>,
    },
    /// A round of review is over.
    #[serde(rename = "review.round")]
    ReviewRound {
        /// The phase.
        phase: String,
        /// What was reviewed.
        of: String,
        /// The round.
        round: usize,
        /// The findings.
        findings: Value,
    },
    /// How the run ended: the last event.
    #[serde(rename = "result")]
    Result(RunResult),
}

/// The beginning of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunOpened {
    /// The run's id.
    pub run_id: String,
    /// The run's directory.
    pub run_path: String,
    /// How it was started, if not as a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<RunKind>,
    /// What is to be done, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The last phase that is complete, of a pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The provider of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// The number of tools that the model is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
}

/// Something that a person should know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// The kind, for programs; none for plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<NoticeKind>,
    /// The text.
    pub text: String,
    /// The tool that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// The paths that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// The kind of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A program changed what it should not.
    Tampering,
}

/// What a prompt was composed of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptComposed {
    /// Why: `turn`, `resume`, `step`, `compaction`.
    pub reason: String,
    /// The hash of system message and task.
    pub signature: String,
    /// The SHA-256 of the system message.
    pub sha256: String,
    /// Bytes of the system message.
    pub system_bytes: usize,
    /// Bytes of the task.
    pub task_bytes: usize,
    /// Its pieces, with their sizes.
    pub pieces: Value,
}

impl NoticeKind {
    /// The word for it in the trace.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            NoticeKind::Tampering => "tampering",
        }
    }
}

impl TraceEvent {
    /// A notice that is only text.
    #[must_use]
    pub fn notice(text: impl Into<String>) -> Self {
        TraceEvent::Notice(Notice { text: text.into(), ..Notice::default() })
    }
}

impl From<TurnResult> for TraceEvent {
    fn from(result: TurnResult) -> Self {
        TraceEvent::Result(RunResult::Turn(Box::new(result)))
    }
}

impl From<WorkflowResult> for TraceEvent {
    fn from(result: WorkflowResult) -> Self {
        TraceEvent::Result(RunResult::Workflow(Box::new(result)))
    }
}
