//! Events of `trace.jsonl`, which are also the lines of `--output-format stream-json`.
//!
//! One enum names every kind of event with its keys; `marvin schema trace` prints its JSON schema. The writer adds `seq`,
//! `timestamp` and what all events of an agent have in common (its step, its worker); the ledger adds the hash of the line
//! before. What only a caller or a model decides (arguments, results, plans) is kept as JSON.

mod hook;
mod item;
mod result;
mod run;
mod step;

pub use hook::{
    HookAgent, HookCall, HookCallResult, HookObservation, HookPrompt, HookVerdict, HookVerification,
};
pub use item::{Item, ModelCallItem, ToolCallItem};
pub use result::{FailedStep, RunResult, Termination, TurnResult, WaitingStep, WorkflowResult};
pub use run::{Notice, NoticeKind, PromptComposed, RunOpened};
pub use step::{StepEvent, WorkerEvent, WorkerOutcome, WorkflowOpened};

use crate::clock;
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
    /// Hooks: a session of a client begins, resumes, or was compacted.
    #[serde(rename = "hook.session-start")]
    HookSessionStart {
        /// Why: `startup`, `resume`, `fork`, `clear`, `compact`.
        source: String,
    },
    /// Hooks: a session of a client ends.
    #[serde(rename = "hook.session-end")]
    HookSessionEnd {
        /// Why.
        reason: String,
    },
    /// Hooks: a prompt was submitted.
    #[serde(rename = "hook.user-prompt-submit")]
    HookUserPromptSubmit(HookPrompt),
    /// Hooks: a tool is about to be called.
    #[serde(rename = "hook.pre-tool-use")]
    HookPreToolUse(HookCall),
    /// Hooks: the client is about to ask a person about a call.
    #[serde(rename = "hook.permission-request")]
    HookPermissionRequest(HookCall),
    /// Hooks: a tool returned.
    #[serde(rename = "hook.post-tool-use")]
    HookPostToolUse(HookCallResult),
    /// Hooks: a tool failed.
    #[serde(rename = "hook.post-tool-use-failure")]
    HookPostToolUseFailure(HookCallResult),
    /// Hooks: a sub-agent begins.
    #[serde(rename = "hook.subagent-start")]
    HookSubagentStart(HookAgent),
    /// Hooks: the conversation is about to be compacted.
    #[serde(rename = "hook.pre-compact")]
    HookPreCompact {
        /// What triggered it.
        trigger: String,
    },
    /// Hooks: a project is set up or maintained.
    #[serde(rename = "hook.setup")]
    HookSetup(HookObservation),
    /// Hooks: a prompt file is expanded.
    #[serde(rename = "hook.user-prompt-expansion")]
    HookUserPromptExpansion(HookObservation),
    /// Hooks: several tool calls ended; some may have been refused.
    #[serde(rename = "hook.post-tool-batch")]
    HookPostToolBatch(HookObservation),
    /// Hooks: a call was refused.
    #[serde(rename = "hook.permission-denied")]
    HookPermissionDenied(HookObservation),
    /// Hooks: the client notifies a person.
    #[serde(rename = "hook.notification")]
    HookNotification(HookObservation),
    /// Hooks: the agent claims to be done.
    #[serde(rename = "hook.stop")]
    HookStop(HookObservation),
    /// Hooks: the agent stopped because of an error.
    #[serde(rename = "hook.stop-failure")]
    HookStopFailure(HookObservation),
    /// Hooks: a sub-agent ends.
    #[serde(rename = "hook.subagent-stop")]
    HookSubagentStop(HookObservation),
    /// Hooks: the conversation was compacted.
    #[serde(rename = "hook.post-compact")]
    HookPostCompact(HookObservation),
    /// Hooks: another model is about to be used.
    #[serde(rename = "hook.pre-model-switch")]
    HookPreModelSwitch(HookObservation),
    /// Hooks: another model is used.
    #[serde(rename = "hook.post-model-switch")]
    HookPostModelSwitch(HookObservation),
    /// Hooks: a request to the model is about to be sent.
    #[serde(rename = "hook.pre-model-request")]
    HookPreModelRequest(HookObservation),
    /// Hooks: a teammate has nothing to do.
    #[serde(rename = "hook.teammate-idle")]
    HookTeammateIdle(HookObservation),
    /// Hooks: a task was created.
    #[serde(rename = "hook.task-created")]
    HookTaskCreated(HookObservation),
    /// Hooks: a task was marked complete.
    #[serde(rename = "hook.task-completed")]
    HookTaskCompleted(HookObservation),
    /// Hooks: a server asks for input.
    #[serde(rename = "hook.elicitation")]
    HookElicitation(HookObservation),
    /// Hooks: a server's question was answered.
    #[serde(rename = "hook.elicitation-result")]
    HookElicitationResult(HookObservation),
    /// Hooks: settings changed.
    #[serde(rename = "hook.config-change")]
    HookConfigChange(HookObservation),
    /// Hooks: a worktree is about to be created.
    #[serde(rename = "hook.worktree-create")]
    HookWorktreeCreate(HookObservation),
    /// Hooks: a worktree is about to be removed.
    #[serde(rename = "hook.worktree-remove")]
    HookWorktreeRemove(HookObservation),
    /// Hooks: instruction files were read.
    #[serde(rename = "hook.instructions-loaded")]
    HookInstructionsLoaded(HookObservation),
    /// Hooks: the working directory changed.
    #[serde(rename = "hook.cwd-changed")]
    HookCwdChanged(HookObservation),
    /// Hooks: a watched file changed.
    #[serde(rename = "hook.file-changed")]
    HookFileChanged(HookObservation),
    /// Hooks: a directory was added to the session.
    #[serde(rename = "hook.directory-added")]
    HookDirectoryAdded(HookObservation),
    /// Hooks: a message is shown.
    #[serde(rename = "hook.message-display")]
    HookMessageDisplay(HookObservation),
    /// Hooks: a person interrupted the agent.
    #[serde(rename = "hook.interrupt")]
    HookInterrupt(HookObservation),
    /// Hooks: an event that this version does not know.
    #[serde(rename = "hook.unknown")]
    HookUnknown {
        /// The client's name for it.
        event: String,
        /// The sub-agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_id: Option<String>,
    },
    /// Hooks: a claim to be done was verified.
    #[serde(rename = "hook.verified")]
    HookVerified(HookVerification),
    /// Hooks: a rule was suggested for a command that a person approved.
    #[serde(rename = "hook.suggestion")]
    HookSuggestion {
        /// The id of the suggestion.
        suggestion: String,
    },
    /// Hooks: the outcomes of the session's lessons cannot be counted.
    #[serde(rename = "hook.outcome")]
    HookOutcome {
        /// Why.
        error: String,
    },
    /// How the run ended: the last event.
    #[serde(rename = "result")]
    Result(RunResult),
}

impl TraceEvent {
    /// A notice that is only text.
    #[must_use]
    pub fn notice(text: impl Into<String>) -> Self {
        TraceEvent::Notice(Notice { text: text.into(), ..Notice::default() })
    }

    /// The event as a line of the trace: its type, its number, the time, `about`, and its own keys.
    #[must_use]
    pub fn line(&self, seq: u64, about: &Map<String, Value>) -> Value {
        // An event has only string keys, so that it always becomes an object.
        let mut payload = match serde_json::to_value(self) {
            Ok(Value::Object(payload)) => payload,
            _ => Map::new(),
        };
        let mut line = Map::new();
        line.extend(payload.shift_remove_entry("type"));
        line.insert("seq".into(), seq.into());
        line.insert("timestamp".into(), clock::now_stamp().into());
        line.extend(about.clone());
        line.extend(payload);
        Value::Object(line)
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
