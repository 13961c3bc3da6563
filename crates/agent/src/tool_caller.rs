//! Where calls arrive that no turn of ours makes: a person's `marvin tools call`, or another program's agent.
//!
//! Each is judged and recorded like a call of a turn. All calls of one desk stand in one run, which is made at the first
//! of them, so that a desk nobody calls leaves nothing behind.

use crate::evaluator;
use crate::launch::Launcher;
use crate::project_context::ProjectContext;
use crate::session::SessionError;
use crate::tool_host::ToolCallResult;
use crate::trace::{Listener, Trace};
use crate::turn;
use marvin_base::clock;
use marvin_base::ledger::{Durability, Ledger};
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{RunKind, RunRecord, RunStatus};
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use marvin_gate::Workspace;
use marvin_model::ToolCall;
use marvin_model::choose::{self, Choice};
use marvin_model::cost::CostLedger;
use marvin_model::price::{self, Prices};
use marvin_tools::{Approver, ProgressSink, ToolContext, Toolbox};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// The desk.
pub struct ToolCaller {
    ground: ProjectContext,
    manner: RunKind,
    approver: Option<Arc<dyn Approver>>,
    state: Mutex<ToolCallerState>,
}

/// What changes while it is open.
struct ToolCallerState {
    listener: Option<Listener>,
    run: Option<Arc<Open>>,
    calls: usize,
    goal: String,
}

/// The run of a desk that was called.
struct Open {
    run: RunDirectory,
    trace: Trace,
    context: ToolContext,
    cost: Arc<CostLedger>,
}

impl std::fmt::Debug for ToolCaller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Desk").field("manner", &self.manner).finish_non_exhaustive()
    }
}

impl ToolCaller {
    /// A desk on this ground. The manner is what `run.json` says of its run; the listener is told of every event.
    #[must_use]
    pub fn new(ground: &ProjectContext, manner: RunKind, listener: Listener) -> Self {
        let state = ToolCallerState { listener: Some(listener), run: None, calls: 0, goal: String::new() };
        ToolCaller { ground: ground.clone(), manner, approver: None, state: Mutex::new(state) }
    }

    /// The same desk, where somebody can be asked.
    #[must_use]
    pub fn asking(self, approver: Arc<dyn Approver>) -> Self {
        ToolCaller { approver: Some(approver), ..self }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ToolCallerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run, made when it is not there yet.
    fn open(&self, call: &ToolCall) -> Result<Arc<Open>, SessionError> {
        let mut state = self.state();
        if let Some(open) = &state.run {
            return Ok(open.clone());
        }
        let ground = &self.ground;
        let run = RunDirectory::create_in(&ground.layout)?;
        let durability = Durability::from_setting(ground.settings.text(&table::DURABILITY));
        let ledger = Ledger::open_chained(&run.trace(), durability, ground.redactor.clone())?;
        let listener = state.listener.take().unwrap_or_else(|| Box::new(|_| {}));
        let trace = Trace::new(ledger, listener);
        let limit = ground.settings.amount(&table::MAX_COST).map(price::nanos);
        let cost = Arc::new(CostLedger::open(&run.cost(), &[], limit, durability, ground.redactor.clone())?);
        let prices = Arc::new(Prices::load(Some(&ground.layout.prices()))?);
        // The gate's own model, where there is one, is no part of a call: it ends with the desk.
        let never = CancellationToken::new();
        let (layers, _) = evaluator::layers(ground, &cost, &prices, run.script_state(), &never);
        let mut context = ground.tool_context(never, Some(run.artifacts().clone()));
        context.layers = Arc::new(layers);
        context.attended = self.approver.is_some();
        context.approver = self.approver.clone();
        let open = Arc::new(Open { run, trace, context, cost });
        state.goal.clone_from(&call.name);
        state.run = Some(open.clone());
        drop(state);
        self.save(RunStatus::Running, false)?;
        Ok(open)
    }

    /// Makes a call: judged, recorded, ended by `cancel`.
    ///
    /// # Errors
    /// When the record cannot be written; then the call is not made, or what came of it does not count.
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

    /// What a call of a tool that starts sub-agents needs; none where no model can be had.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn launcher(&self, call: &ToolCall) -> Result<Option<Arc<Launcher>>, SessionError> {
        let ground = &self.ground;
        let client = choose::client(&Choice {
            settings: &ground.settings,
            environment: &ground.environment,
            layout: &ground.layout,
            workspace: ground.workspace.as_deref().map_or(ground.directory.as_path(), Workspace::root),
            script_state: None,
        });
        let Ok(client) = client else { return Ok(None) };
        let open = self.open(call)?;
        let state = open.run.script_state();
        Ok(Launcher::new(ground, client.as_ref(), &open.cost, &state, open.run.logs()))
    }

    /// Writes an event into the record, if there is one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn event(&self, event: TraceEvent) -> Result<(), SessionError> {
        let open = self.state().run.clone();
        if let Some(open) = open {
            open.trace.event(event)?;
        }
        Ok(())
    }

    /// Says how it ended; a desk that nobody called has nothing to say.
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
        Ok(open.run.save(&record, &self.ground.redactor)?)
    }
}
