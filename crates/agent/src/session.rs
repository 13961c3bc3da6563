//! A session: what every face holds. It opens the record, chooses the model, lays out the tools, runs turns and closes
//! the record with exactly one `result`.

mod after_turn;
pub mod artifacts;
mod before_turn;
mod close;
mod conversation;
mod error;
mod lazy_session;
pub(crate) mod model;
mod resume;
mod servitors;
mod stages;

pub use before_turn::{ExtraContext, Offer, settle_turns};
pub use error::SessionError;
pub use lazy_session::{LazySession, SharedListener};
pub use resume::{close_broken, prompt_of};
pub use servitors::add as add_tools;

use marvin_base::run_record::{PromptExtra, RunKind, RunRecord, RunStatus, TurnRecord, VerificationRecord};
use marvin_base::trace_event::{RunOpened, TraceEvent};
use model::{check_budget, choose_client};
use resume::InterruptedRun;

use crate::account::Account;
use crate::commitments::Draft;
use crate::compaction::Window;
use crate::compose::{self, access_sentence};
use crate::evaluator;
use crate::launch::{self, Launcher};
use crate::outcome::Outcome;
use crate::profile::{self, Profile};
use crate::project_context::{ProjectContext, usage_reporter};
use crate::protocol::{JsonAction, JsonText, Native, ReplyProtocol};
use crate::roles::Role;
use crate::servitors::{CoordinatorInbox, Parts, Servitors};
use crate::tool_host::{LiveTools, RecordedTools, ToolHost};
use crate::trace::{Listener, Trace};
use crate::turn::{Bounds, Turn};
use crate::turn_commitments::{self, TurnCommitments};
use marvin_base::atomic::WriteError;
use marvin_base::layout::Layout;
use marvin_base::ledger::{Durability, Ledger};
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_base::settings::{Setting, Settings, table};
use marvin_gate::{Layers, Workspace};
use marvin_model::cost::CostLedger;
use marvin_model::price::{self, Prices};
use marvin_model::record::{Recording, ReplayClient};
use marvin_tools::turbotime::Selection;
use marvin_tools::{Approver, Mode};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Whether a person watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// `--non-interactive`: coding tools, no history in the conversation, nothing of it kept.
    Unattended,
    /// A single prompt from a person: assistant tools, the conversation goes on from the chat log.
    Attended,
}

/// What a session is opened with.
pub struct SessionOptions {
    /// Settings, directories and workspace.
    pub ground: ProjectContext,
    /// Whether a person watches.
    pub manner: Manner,
    /// Where to record exchanges.
    pub record: Option<PathBuf>,
    /// The schema of the answer.
    pub response_schema: Option<Value>,
    /// Who is told.
    pub listener: Listener,
    /// Ends everything at once.
    pub cancel: CancellationToken,
    /// A recorded run to play in place of a model.
    pub replay: Option<Replay>,
    /// What must hold before its answer counts.
    pub commitments: Vec<Draft>,
    /// The servitors that it is for, where they are older than it.
    pub servitors: Option<Arc<Servitors>>,
    /// TURBOTIME: goals are framed and planned, with the tools that the person switched on.
    pub turbotime: Option<Selection>,
    /// The person who is asked where the gate does not decide alone.
    pub approver: Option<Arc<dyn Approver>>,
}

/// A recorded run: what answers in place of a model, and what the run knew that may have changed since.
#[derive(Debug)]
pub struct Replay {
    /// The exchanges.
    pub tape: Arc<ReplayClient>,
    /// The day on which it was made.
    pub date: String,
    /// Whether a person had asked: then the conversation before it is taken from the recording.
    pub attended: bool,
    /// What was found when its answers were verified.
    pub verifications: Vec<VerificationRecord>,
    /// What it was told of its commitments, one a line.
    pub promised: Vec<String>,
}

/// Settings that shape a conversation: they are kept in `run.json`, and a replay takes them from there.
static SHAPING: [&Setting; 13] = [
    &table::PROTOCOL,
    &table::ROLE,
    &table::STEP,
    &table::MAX_ROUNDS,
    &table::MAX_ROUNDS_CHAT,
    &table::NO_PROGRESS,
    &table::VERIFY_ROUNDS,
    &table::CONTEXT_WARN,
    &table::CONTEXT_COMPACT,
    &table::CONTEXT_HARD,
    &table::PROFILE,
    &table::READONLY,
    &table::WRITABLE_FILES,
];

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionOptions").field("ground", &self.ground).finish_non_exhaustive()
    }
}

/// An open session.
#[derive(Debug)]
pub struct Session {
    settings: Arc<Settings>,
    layout: Layout,
    redactor: Arc<Redactor>,
    run: RunDirectory,
    trace: Arc<Trace>,
    cost: Arc<CostLedger>,
    turn: Turn,
    profile: Profile,
    manner: Manner,
    workspace: Option<Arc<Workspace>>,
    access: String,
    date: String,
    replay: Option<Replay>,
    opened: Instant,
    layers: Arc<Layers>,
    promised: Option<TurnCommitments>,
    servitors: Arc<Servitors>,
    record: RunRecord,
    coding: bool,
    role: Role,
    extras: Vec<PromptExtra>,
    /// What floors above let its turns find.
    offers: Vec<Offer>,
    /// What was done before this process took the run up.
    resumed: Option<Account>,
}

impl Session {
    /// Opens a session: finds the ground, chooses the model, makes the run's directory and writes its first lines.
    ///
    /// # Errors
    /// When anything that the session needs is missing, wrong or refused.
    pub fn open(options: SessionOptions) -> Result<Self, SessionError> {
        Session::open_run(options, None)
    }

    /// As [`Session::open`]; with the id of a run, takes up that run, which broke off.
    ///
    /// # Errors
    /// When anything that the session needs is missing, wrong or refused.
    pub fn open_run(options: SessionOptions, resume: Option<&str>) -> Result<Self, SessionError> {
        let ground = options.ground;
        let ProjectContext { settings, layout, redactor, workspace, coding, .. } = ground.clone();
        if let Some(schema) = &options.response_schema {
            jsonschema::validator_for(schema).map_err(|error| SessionError::Schema(error.to_string()))?;
        }
        let prices = Prices::load(Some(&layout.prices()))?;
        let durability = Durability::from_setting(settings.text(&table::DURABILITY));

        let depth = ground.depth()?;
        // Everything that can be wrong with the request is known before the first byte is written.
        let probe = choose_client(&ground, options.replay.as_ref(), None)?;
        let limit = settings.amount(&table::MAX_COST).map(price::nanos);
        check_budget(limit, probe.as_ref(), &prices, &layout)?;
        drop(probe);
        let examined = turn_commitments::examine(&ground, &options.commitments)?;

        let broken = resume.map(|id| InterruptedRun::find(&layout, id)).transpose()?;
        let run = match &broken {
            Some(broken) => broken.run.clone(),
            None => RunDirectory::create_in(&layout)?,
        };
        let script_state =
            settings.given(&table::SCRIPT_STATE).map_or_else(|| run.script_state(), PathBuf::from);
        let mut client = choose_client(&ground, options.replay.as_ref(), Some(script_state.clone()))?;
        if let Some(directory) = &options.record {
            let directory = ground.directory.join(directory);
            let recording =
                Recording::new(client, &directory, run.id(), redactor.clone()).inspect_err(|_| {
                    // Nothing has happened yet: a run that cannot begin leaves no empty directory.
                    std::fs::remove_dir_all(run.path()).ok();
                });
            client = Arc::new(recording?);
        }
        let promised = match &options.replay {
            None if coding && workspace.is_some() => {
                Some(turn_commitments::make(&Arc::new(ground.clone()), &run, &examined)?)
            }
            _ => None,
        };
        let proof = turn_commitments::proof(
            &Arc::new(ground.clone()),
            promised.as_ref(),
            options.manner == Manner::Unattended,
            options.replay.as_ref().map(|replay| replay.verifications.as_slice()),
        );
        let ledger = Ledger::open_chained(&run.trace(), durability, redactor.clone())?;
        let before = broken.as_ref().map(|broken| broken.events.as_slice()).unwrap_or_default();
        let trace = Arc::new(Trace::going_on(ledger, options.listener, before));
        let cost_path = settings.given(&table::COST_LEDGER).map_or_else(|| run.cost(), PathBuf::from);
        let above: Vec<u32> =
            settings.list(&table::LINEAGE).iter().filter_map(|id| id.parse().ok()).collect();
        let cost = Arc::new(CostLedger::open(&cost_path, &above, limit, durability, redactor.clone())?);

        let prices = Arc::new(prices);
        let (layers, unjudged) =
            evaluator::layers(&ground, &cost, &prices, script_state.clone(), &options.cancel);
        let layers = Arc::new(layers);
        let mut context = ground.context(
            options.cancel.clone(),
            Some(run.artifacts().clone()),
            usage_reporter(cost.clone(), layout.usage()),
        );
        context.layers = layers.clone();
        context.attended = options.approver.is_some();
        context.approver = options.approver;
        let access = access_sentence(&context.access, &context.duty);
        let mut toolbox =
            ground.toolbox(if coding { Mode::Coding } else { Mode::Assistant }, &context.access);
        let shared = Arc::new(ground.clone());
        let servitors = options.servitors.unwrap_or_else(|| Servitors::new(shared.clone(), "a turn"));
        servitors::add(&mut toolbox, &shared, &servitors, &context.access);
        let switched = options.turbotime.as_ref().map(Selection::tools).unwrap_or_default();
        switched.into_iter().for_each(|tool| toolbox.add(tool));
        if coding {
            let launcher = Launcher::new(&ground, client.as_ref(), &cost, &script_state, run.logs());
            launch::add(&mut toolbox, &context.access, launcher.as_ref());
        }
        context.agent = promised.as_ref().map(|promised| promised.document().into());
        let toolbox = Arc::new(toolbox);
        let tools: Arc<dyn ToolHost> = match &options.replay {
            Some(replay) => RecordedTools::new(&toolbox, replay.tape.tool_results()),
            None => Arc::new(LiveTools::new(toolbox.clone(), context.clone())),
        };
        let protocol: Arc<dyn ReplyProtocol> = match (settings.text(&table::PROTOCOL), client.native_tools())
        {
            (_, false) => Arc::new(JsonText { render_tools: false }),
            ("json", true) => Arc::new(JsonText { render_tools: true }),
            ("action", true) => Arc::new(JsonAction),
            (_, true) => Arc::new(Native),
        };
        let rounds = if coding { &table::MAX_ROUNDS } else { &table::MAX_ROUNDS_CHAT };
        let late = CancellationToken::new();
        let usual = if coding { Role::Coder } else { Role::Chat };
        let role = settings.given(&table::ROLE).and_then(|name| Role::find(name).ok()).unwrap_or(usual);
        let resumed =
            broken.as_ref().map(|broken| Account::from_events(&broken.events, &|tool| tools.changes(tool)));
        let mut turn = Turn {
            client,
            protocol,
            tools,
            trace: trace.clone(),
            cost: cost.clone(),
            prices,
            redactor: redactor.clone(),
            bounds: Bounds {
                rounds: settings.count(rounds),
                no_progress: settings.count(&table::NO_PROGRESS),
                window: Window {
                    warn: settings.count(&table::CONTEXT_WARN),
                    compact: settings.count(&table::CONTEXT_COMPACT),
                    hard: settings.count(&table::CONTEXT_HARD),
                },
            },
            cancel: options.cancel,
            late,
            workspace: workspace.as_ref().map(|workspace| workspace.root().to_path_buf()),
            logs: run.logs().clone(),
            role: role.name().to_string(),
            step: settings.given(&table::STEP).map(str::to_string),
            response_schema: options.response_schema,
            proof,
            life: None,
            composer: None,
            stages: None,
        };
        let profile = Profile::read(&layout, &profile::active(&layout, settings.given(&table::PROFILE)));
        let then = broken.as_ref().map(|broken| broken.turn.date.clone()).filter(|date| !date.is_empty());
        let date = match (&options.replay, then) {
            (Some(replay), _) => replay.date.clone(),
            (None, Some(then)) => then,
            (None, None) => compose::day(run.started()),
        };
        let mut lent = None;
        if options.replay.is_none() && depth == 0 {
            lent = Some((turn.clone(), context, toolbox));
            turn.life = Some(Arc::new(CoordinatorInbox(servitors.clone())));
        }
        let framing = stages::framing(options.turbotime.as_ref());
        turn.stages = stages::of_turn(&turn, options.manner, options.replay.as_ref(), depth, framing);
        let mut session = Session {
            servitors,
            extras: broken.as_ref().map(|broken| broken.turn.extras.clone()).unwrap_or_default(),
            record: broken.map(|broken| broken.record).unwrap_or_default(),
            coding,
            role,
            offers: Vec::new(),
            resumed,
            settings,
            layout,
            redactor,
            run,
            trace,
            cost,
            turn,
            profile,
            manner: options.manner,
            workspace,
            access,
            date,
            replay: options.replay,
            opened: Instant::now(),
            layers,
            promised,
        };
        if let Some(selection) = &options.turbotime {
            session.turn_record().turbotime =
                Some(selection.names().iter().map(ToString::to_string).collect());
        }
        session.begin(options.record.as_deref(), &ground.directory)?;
        session.warn(unjudged.into_iter().chain(ground.lent.notices.clone()))?;
        session.warn_of(&examined)?;
        if let Some((turn, context, toolbox)) = lent {
            let script_state = options.record.is_none().then_some(script_state);
            let date = session.date.clone();
            session.servitors.lend(Parts { turn, context, toolbox, date, script_state });
        }
        Ok(session)
    }

    fn begin(&mut self, record: Option<&Path>, directory: &Path) -> Result<(), SessionError> {
        let workspace = self.workspace.as_ref().map(|workspace| workspace.root().display().to_string());
        let unattended = self.manner == Manner::Unattended;
        self.record.status = Some(RunStatus::Running);
        self.record.manner = if unattended { RunKind::NonInteractive } else { RunKind::Inline };
        self.record.tool_call_count = Some(0);
        let shaping =
            SHAPING.map(|setting| (setting.key.to_string(), self.settings.text(setting).to_string()));
        self.record.turn = Some(Box::new(TurnRecord {
            provider: self.turn.client.provider().to_string(),
            model: self.turn.client.model().to_string(),
            protocol: self.turn.protocol.name().to_string(),
            native_tools: self.turn.client.native_tools(),
            working_dir: workspace.clone(),
            profile: self.profile.name.clone(),
            date: self.date.clone(),
            durability: self.settings.text(&table::DURABILITY).to_string(),
            sandbox: self.sandbox().to_string(),
            record: record.map(|path| directory.join(path).display().to_string()),
            response_schema: self.turn.response_schema.clone(),
            settings: shaping.into(),
            role: self.role.name().to_string(),
            depth: self.settings.whole(&table::DEPTH),
            ..*self.record.turn.take().unwrap_or_default()
        }));
        self.save()?;
        let opened = RunOpened {
            run_id: self.run.id().to_string(),
            run_path: self.run.path().display().to_string(),
            provider: Some(self.turn.client.provider().to_string()),
            model: Some(self.turn.client.model().to_string()),
            working_dir: workspace,
            tools: Some(self.turn.tools.specs().len()),
            ..RunOpened::default()
        };
        self.trace.event(match self.resumed {
            Some(_) => TraceEvent::RunResumed(opened),
            None => TraceEvent::RunStarted(opened),
        })?;
        // Without a key the built-in model answers. A program that expected another must be able to see why.
        let asked_for = self.settings.given(&table::PROVIDER).or(self.settings.given(&table::SCRIPT));
        if asked_for.is_none() && self.manner == Manner::Unattended && self.turn.client.provider() == "mock" {
            let text =
                "no provider has a key, so the built-in model answers (`marvin doctor` shows how to set one)";
            self.trace.notice(text)?;
        }
        for problem in &self.profile.problems {
            self.trace.notice(format!("the profile is damaged: {problem}"))?;
        }
        Ok(())
    }

    /// Says what is wrong with the gate's rules, and what else a person should know.
    fn warn(&self, further: impl Iterator<Item = String>) -> Result<(), SessionError> {
        let problems = self.layers.problems().into_iter().map(|problem| problem.to_string());
        for text in problems.take(10).chain(further) {
            self.trace.notice(text)?;
        }
        Ok(())
    }

    /// What contains this run's commands.
    fn sandbox(&self) -> &'static str {
        marvin_gate::sandbox::chosen(self.settings.text(&table::CONTAINMENT))
    }

    fn save(&self) -> Result<(), WriteError> {
        self.run.save(&self.record, &self.redactor)
    }

    /// The part of `run.json` that turns have.
    fn turn_record(&mut self) -> &mut TurnRecord {
        self.record.turn.get_or_insert_default()
    }

    /// The run's directory.
    #[must_use]
    pub fn run(&self) -> &RunDirectory {
        &self.run
    }

    /// Text without secrets.
    #[must_use]
    pub fn redacted(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }

    /// The servitors of this session.
    #[must_use]
    pub fn servitors(&self) -> &Arc<Servitors> {
        &self.servitors
    }

    /// The cost so far.
    #[must_use]
    pub fn cost(&self) -> &Arc<CostLedger> {
        &self.cost
    }

    /// Ends the session's turns when the deadline passes.
    pub fn arm_deadline(&self) {
        let seconds = self.settings.seconds(&table::DEADLINE);
        if !seconds.is_zero() {
            let (late, cancel) = (self.turn.late.clone(), self.turn.cancel.clone());
            tokio::spawn(async move {
                tokio::time::sleep(seconds).await;
                late.cancel();
                cancel.cancel();
            });
        }
    }

    /// Runs one turn and closes the record with its result.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub async fn turn(&mut self, prompt: &str) -> Result<Outcome, SessionError> {
        let outcome = self.whole_turn(prompt).await;
        if outcome.is_err() {
            // The record broke: say so where that still works, so that the run does not seem to go on.
            self.record.status = Some(RunStatus::Failed);
            self.record.end_reason = Some("record_failed".into());
            self.save().ok();
        }
        // The promises of a turn end with it; its document becomes part of its run.
        if let Some(promised) = self.promised.take() {
            promised.settle(&self.run)?;
        }
        outcome
    }

    async fn whole_turn(&mut self, prompt: &str) -> Result<Outcome, SessionError> {
        let goal = self.trace.within_text(prompt, 4_000);
        self.record.goal = Some(goal.clone());
        self.turn_record().prompt = Some(prompt.to_string());
        self.save()?;
        self.trace.event(TraceEvent::TurnStarted { turn: 1, prompt: goal })?;
        let history = self.history()?;
        let recollection = self.recollected(prompt);
        let messages = self.compose(prompt, history.as_ref())?;
        let outcome = self.turn.go_on(messages, self.resumed.clone().unwrap_or_default()).await?;
        if history.is_some() {
            self.remember(prompt, &outcome.text)?;
        }
        let account = self.account(prompt, &outcome).await?;
        if let Some(recollection) = recollection {
            let mut recollection = recollection.lock().unwrap_or_else(PoisonError::into_inner);
            self.keep(&mut recollection, prompt, &outcome, account.as_deref());
        }
        self.trace.event(TraceEvent::TurnCompleted {
            turn: 1,
            status: outcome.status.name().to_string(),
            rounds: outcome.rounds,
            tool_calls: outcome.calls,
        })?;
        self.close(&outcome)?;
        Ok(outcome)
    }
}
