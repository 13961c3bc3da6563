//! Tool calls from outside a turn: a person's `marvin tools call`, or another program's agent.
//!
//! Each is judged and recorded like a call of a turn. All calls of one caller are in one run, which is created at the first of
//! them, so that a caller without calls leaves nothing behind.

use crate::debug::debug_fields;
use crate::error::SessionError;
use crate::launch::{self, Launcher};
use crate::model_client::choose_client;
use crate::person_tools;
use crate::project_context::ProjectContext;
use crate::run_parts::{RunParts, RunScope, durability};
use crate::servitors::{self, Servitors};
use crate::skills::LoadSkill;
use crate::tool_host::ToolCallResult;
use crate::trace::{Listener, Trace};
use crate::turn;
use marvin_base::clock;
use marvin_base::ledger::Ledger;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{RunKind, RunRecord, RunStatus};
use marvin_base::trace_event::TraceEvent;
use marvin_gate::Access;
use marvin_model::ToolCall;
use marvin_model::price::Prices;
use marvin_tools::{Approver, Mode, ProgressSink, ToolContext, Toolbox};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Makes one call outside a turn, with a run of its own as its record. Without an approver, questions are refusals.
pub async fn record_call(
    project: &ProjectContext,
    call: &ToolCall,
    approver: Option<Arc<dyn Approver>>,
    cancel: CancellationToken,
) -> Result<ToolCallResult, SessionError> {
    let caller = ToolCaller::new(project, RunKind::Tool, Box::new(|_| {}));
    let caller = match approver {
        Some(approver) => caller.asking(approver),
        None => caller,
    };
    let access = Access::from_settings(&project.settings);
    let mut toolbox = Toolbox::new(Mode::Coding, &access);
    toolbox.add(Arc::new(LoadSkill(project.skills.clone())));
    toolbox.add_assistant_tools(&access);
    person_tools::add(&mut toolbox, &access, &Arc::default());
    launch::add(&mut toolbox, &access, caller.launcher(call)?.as_ref());
    let servitors = Servitors::new(caller.project.clone(), "marvin tools call");
    servitors::add_tools(&mut toolbox, &caller.project, &servitors, &access);
    let called = caller.call(&toolbox, call, cancel, None).await?;
    caller.close(if called.ok { RunStatus::Success } else { RunStatus::Failed })?;
    Ok(called)
}

/// Makes tool calls outside a turn.
pub struct ToolCaller {
    project: Arc<ProjectContext>,
    manner: RunKind,
    approver: Option<Arc<dyn Approver>>,
    state: Mutex<ToolCallerState>,
}

struct ToolCallerState {
    listener: Option<Listener>,
    run: Option<Arc<Open>>,
    calls: usize,
    goal: String,
}

/// Its run, once a call was made.
struct Open {
    parts: RunParts,
    trace: Trace,
    context: ToolContext,
}

debug_fields!(ToolCaller, manner);

impl ToolCaller {
    /// Caller in a project. `run.json` records the manner; the listener hears every event.
    #[must_use]
    pub fn new(project: &ProjectContext, manner: RunKind, listener: Listener) -> Self {
        let state = ToolCallerState { listener: Some(listener), run: None, calls: 0, goal: String::new() };
        ToolCaller { project: Arc::new(project.clone()), manner, approver: None, state: Mutex::new(state) }
    }

    /// The same caller, with an approver.
    #[must_use]
    pub fn asking(self, approver: Arc<dyn Approver>) -> Self {
        ToolCaller { approver: Some(approver), ..self }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ToolCallerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run, made at the first call.
    fn open(&self, call: &ToolCall) -> Result<Arc<Open>, SessionError> {
        let mut state = self.state();
        if let Some(open) = &state.run {
            return Ok(open.clone());
        }
        let project = &self.project;
        let run = RunDirectory::create_in(&project.layout)?;
        let ledger =
            Ledger::open_chained(&run.trace(), durability(&project.settings), project.redactor.clone())?;
        let listener = state.listener.take().unwrap_or_else(|| Box::new(|_| {}));
        let trace = Trace::new(ledger, listener);
        let prices = Prices::load(Some(&project.layout.prices()))?;
        // The gate's own model, where there is one, outlives a single call.
        let never = CancellationToken::new();
        let parts = RunParts::open(project, &run, RunScope::Alone, prices, &never)?;
        let context = ToolContext {
            layers: parts.layers.clone(),
            attended: self.approver.is_some(),
            approver: self.approver.clone(),
            ..project.tool_context(never, Some(run.artifacts().clone()))
        };
        let open = Arc::new(Open { parts, trace, context });
        state.goal.clone_from(&call.name);
        state.run = Some(open.clone());
        drop(state);
        self.save(RunStatus::Running, false)?;
        Ok(open)
    }

    /// Makes a call: judged, recorded, ended by `cancel`.
    ///
    /// # Errors
    /// When the record cannot be written; then the call is not made, or its result does not count.
    pub async fn call(
        &self,
        toolbox: &Toolbox,
        call: &ToolCall,
        cancel: CancellationToken,
        progress: Option<ProgressSink>,
    ) -> Result<ToolCallResult, SessionError> {
        let open = self.open(call)?;
        self.state().calls += 1;
        let item = turn::call_started(&open.trace, call)?;
        let context = ToolContext { cancel, progress, ..open.context.clone() };
        let called = ToolCallResult::from(toolbox.call(&call.name, &call.arguments, &context).await);
        turn::call_completed(&open.trace, &item, call, &called, 0)?;
        open.trace.sync()?;
        Ok(called)
    }

    /// Launcher for tools that start sub-agents; none where no model is available.
    pub fn launcher(&self, call: &ToolCall) -> Result<Option<Arc<Launcher>>, SessionError> {
        let Ok(client) = choose_client(&self.project, None) else { return Ok(None) };
        let open = self.open(call)?;
        let RunParts { run, cost, script_state, .. } = &open.parts;
        Ok(Launcher::new(&self.project, client.as_ref(), cost, script_state, run.logs()))
    }

    /// Writes an event into the record, if there is one.
    pub fn event(&self, event: TraceEvent) -> Result<(), SessionError> {
        let open = self.state().run.clone();
        if let Some(open) = open {
            open.trace.event(event)?;
        }
        Ok(())
    }

    /// Records how it ended; does nothing without a call.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn close(&self, status: RunStatus) -> Result<(), SessionError> {
        self.save(status, true)
    }

    fn save(&self, status: RunStatus, ended: bool) -> Result<(), SessionError> {
        let (open, calls, goal) = {
            let state = self.state();
            (state.run.clone(), state.calls, state.goal.clone())
        };
        let Some(open) = open else { return Ok(()) };
        let record = RunRecord {
            status: Some(status),
            goal: Some(goal),
            tool_call_count: Some(calls as u64),
            ended_at: ended.then(clock::now_stamp),
            ..RunRecord::new(self.manner)
        };
        Ok(open.parts.run.save(&record, &self.project.redactor)?)
    }
}
