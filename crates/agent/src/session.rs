//! A session: what every face holds. It opens the record, chooses the model, lays out the tools, runs turns and closes
//! the record with exactly one `result`.

use crate::compaction::Window;
use crate::compose::{Coding, State, access_sentence};
use crate::evaluator;
use crate::ground::{Ground, usage_reporter};
use crate::history::History;
use crate::host::{LiveTools, RecordedTools, ToolHost};
use crate::outcome::Outcome;
use crate::profile::{self, Profile};
use crate::protocol::{JsonText, Native, ReplyProtocol};
use crate::trace::{Listener, Trace};
use crate::turn::{Bounds, Turn};
use marvin_base::atomic::{self, WriteError};
use marvin_base::layout::Layout;
use marvin_base::ledger::{Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::run::RunFolder;
use marvin_base::settings::{Setting, Settings, SettingsError, table};
use marvin_base::{Exit, clock, signature};
use marvin_gate::{Layers, Refusal, Workspace};
use marvin_model::choose::{self, Choice};
use marvin_model::cost::{CostLedger, Lifetime};
use marvin_model::price::{self, PriceError, Prices};
use marvin_model::record::{Recording, Replaying};
use marvin_model::{Message, ModelClient, ModelError};
use marvin_tools::{Mode, Toolbox};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    /// Settings, folders and workspace.
    pub ground: Ground,
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
}

/// A recorded run: what answers in place of a model, and what the run knew that may have changed since.
#[derive(Debug)]
pub struct Replay {
    /// The exchanges.
    pub tape: Arc<Replaying>,
    /// The day on which it was made.
    pub date: String,
    /// Whether a person had asked: then the conversation before it is taken from the recording.
    pub attended: bool,
}

/// Settings that shape a conversation: they are kept in `run.json`, and a replay takes them from there.
static SHAPING: [&Setting; 10] = [
    &table::PROTOCOL,
    &table::MAX_ROUNDS,
    &table::MAX_ROUNDS_CHAT,
    &table::NO_PROGRESS,
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

/// Why a session could not be opened or closed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The working directory is not there.
    #[error("--working-dir {0}: there is no such folder\n  hint: make it first, or check the spelling")]
    NoFolder(String),
    /// The working directory is refused.
    #[error("{0}")]
    Workspace(#[from] Refusal),
    /// Part of the record is a link.
    #[error("{0} is a link, and the record must not lead elsewhere\n  hint: remove the link")]
    LinkedRecord(String),
    /// Sub-agents are nested too deep.
    #[error("this agent would be {depth} levels deep, and {deepest} are allowed (limits.depth)")]
    TooDeep {
        /// How deep it is.
        depth: i64,
        /// How deep it may be.
        deepest: i64,
    },
    /// The model cannot be had.
    #[error("{0}")]
    Model(#[from] ModelError),
    /// The price table is wrong.
    #[error(transparent)]
    Prices(#[from] PriceError),
    /// A budget was set that cannot be kept.
    #[error(
        "--max-cost cannot be kept: no price is known for the model `{model}` of `{provider}`\n  hint: add a [[price]] row for it to {file}"
    )]
    Unpriced {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// Where a price can be put.
        file: String,
    },
    /// The schema of the answer is wrong.
    #[error("--output-schema: {0}")]
    Schema(String),
    /// The record cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] LedgerError),
}

impl SessionError {
    /// Its exit code.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            SessionError::Settings(_)
            | SessionError::NoFolder(_)
            | SessionError::Model(_)
            | SessionError::Prices(_)
            | SessionError::Unpriced { .. }
            | SessionError::Schema(_) => Exit::Usage,
            SessionError::Workspace(_) | SessionError::LinkedRecord(_) | SessionError::TooDeep { .. } => {
                Exit::Refused
            }
            SessionError::Write(_) | SessionError::Record(_) => Exit::Failed,
        }
    }
}

/// An open session.
#[derive(Debug)]
pub struct Session {
    settings: Arc<Settings>,
    layout: Layout,
    redactor: Arc<Redactor>,
    run: RunFolder,
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
    facts: Map<String, Value>,
}

impl Session {
    /// Opens a session: finds the ground, chooses the model, makes the run's folder and writes its first lines.
    ///
    /// # Errors
    /// When anything that the session needs is missing, wrong or refused.
    pub fn open(options: SessionOptions) -> Result<Self, SessionError> {
        let ground = options.ground;
        let Ground { settings, layout, redactor, workspace, coding, .. } = ground.clone();
        if let Some(schema) = &options.response_schema {
            jsonschema::validator_for(schema).map_err(|error| SessionError::Schema(error.to_string()))?;
        }
        let prices = Prices::load(Some(&layout.prices()))?;
        let durability = Durability::from_setting(settings.text(&table::DURABILITY));

        let (depth, deepest) = (settings.whole(&table::DEPTH), settings.whole(&table::MAX_DEPTH));
        if depth > deepest {
            return Err(SessionError::TooDeep { depth, deepest });
        }
        // Everything that can be wrong with the request is known before the first byte is written.
        let probe = choose_client(&ground, options.replay.as_ref(), None)?;
        let limit = settings.amount(&table::MAX_COST).map(price::nanos);
        check_budget(limit, probe.as_ref(), &prices, &layout)?;
        drop(probe);

        let run = RunFolder::create(&layout.runs())?;
        let script_state =
            settings.given(&table::SCRIPT_STATE).map_or_else(|| run.script_state(), PathBuf::from);
        let mut client = choose_client(&ground, options.replay.as_ref(), Some(script_state.clone()))?;
        if let Some(folder) = &options.record {
            let folder = ground.folder.join(folder);
            let recording = Recording::new(client, &folder, run.id(), redactor.clone()).inspect_err(|_| {
                // Nothing has happened yet: a run that cannot begin leaves no empty folder.
                std::fs::remove_dir_all(run.path()).ok();
            });
            client = Arc::new(recording?);
        }
        let ledger = Ledger::open(&run.trace(), durability, redactor.clone())?;
        let trace = Arc::new(Trace::new(ledger, options.listener));
        let cost_path = settings.given(&table::COST_LEDGER).map_or_else(|| run.cost(), PathBuf::from);
        let above: Vec<u32> =
            settings.list(&table::LINEAGE).iter().filter_map(|id| id.parse().ok()).collect();
        let cost = Arc::new(CostLedger::open(&cost_path, &above, limit, durability, redactor.clone())?);

        let prices = Arc::new(prices);
        let (layers, unjudged) = evaluator::layers(&ground, &cost, &prices, script_state, &options.cancel);
        let layers = Arc::new(layers);
        let mut context = ground.context(
            options.cancel.clone(),
            Some(run.artifacts().clone()),
            usage_reporter(cost.clone(), layout.usage()),
        );
        context.layers = layers.clone();
        let access = access_sentence(&context.access, &context.duty);
        let toolbox = Toolbox::new(if coding { Mode::Coding } else { Mode::Assistant }, &context.access);
        let tools: Arc<dyn ToolHost> = match &options.replay {
            Some(replay) => RecordedTools::new(&toolbox, replay.tape.tool_results()),
            None => Arc::new(LiveTools::new(toolbox, context)),
        };
        let protocol: Arc<dyn ReplyProtocol> = match (settings.text(&table::PROTOCOL), client.native_tools())
        {
            (_, false) => Arc::new(JsonText { render_tools: false }),
            ("json", true) => Arc::new(JsonText { render_tools: true }),
            (_, true) => Arc::new(Native),
        };
        let rounds = if coding { &table::MAX_ROUNDS } else { &table::MAX_ROUNDS_CHAT };
        let late = CancellationToken::new();
        let turn = Turn {
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
            role: if coding { "Coder".into() } else { "Chat".into() },
            step: None,
            response_schema: options.response_schema,
        };
        let profile = Profile::read(&layout, &profile::active(&layout, settings.given(&table::PROFILE)));
        let date = match &options.replay {
            Some(replay) => replay.date.clone(),
            None => run.started().to_zoned(jiff::tz::TimeZone::system()).strftime("%A, %Y-%m-%d").to_string(),
        };
        let mut session = Session {
            facts: Map::new(),
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
        };
        session.begin(options.record.as_deref(), &ground.folder)?;
        session.warn(unjudged)?;
        Ok(session)
    }

    fn begin(&mut self, record: Option<&Path>, folder: &Path) -> Result<(), SessionError> {
        let workspace = self.workspace.as_ref().map(|workspace| workspace.root().display().to_string());
        let facts = json!({
            "status": "running",
            "provider": self.turn.client.provider(),
            "model": self.turn.client.model(),
            "protocol": self.turn.protocol.name(),
            "nativeTools": self.turn.client.native_tools(),
            "manner": if self.manner == Manner::Unattended { "non-interactive" } else { "inline" },
            "workingDir": workspace,
            "profile": self.profile.name,
            "date": self.date,
            "durability": self.settings.text(&table::DURABILITY),
            "sandbox": self.sandbox(),
            "record": record.map(|path| folder.join(path).display().to_string()),
            "responseSchema": self.turn.response_schema,
            "settings": SHAPING.map(|setting| (setting.key, self.settings.text(setting)))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
            "depth": self.settings.whole(&table::DEPTH),
            "toolCallCount": 0,
        });
        if let Value::Object(facts) = facts {
            self.facts = facts;
        }
        self.save()?;
        self.trace.event(
            "run.started",
            json!({
                "run_id": self.run.id(), "run_path": self.run.path().display().to_string(),
                "provider": self.turn.client.provider(), "model": self.turn.client.model(),
                "working_dir": workspace, "tools": self.turn.tools.specs().len(),
            }),
        )?;
        // Without a key the built-in model answers. A program that expected another must be able to see why.
        let asked_for = self.settings.given(&table::PROVIDER).or(self.settings.given(&table::SCRIPT));
        if asked_for.is_none() && self.manner == Manner::Unattended && self.turn.client.provider() == "mock" {
            let text =
                "no provider has a key, so the built-in model answers (`marvin doctor` shows how to set one)";
            self.trace.event("notice", json!({ "text": text }))?;
        }
        for problem in &self.profile.problems {
            self.trace.event("notice", json!({"text": format!("the profile is damaged: {problem}")}))?;
        }
        Ok(())
    }

    /// Says what is wrong with the gate's rules.
    fn warn(&self, further: Option<String>) -> Result<(), SessionError> {
        let problems = self.layers.problems().into_iter().map(|problem| problem.to_string());
        for text in problems.take(10).chain(further) {
            self.trace.event("notice", json!({ "text": text }))?;
        }
        Ok(())
    }

    /// What contains this run's commands.
    fn sandbox(&self) -> &'static str {
        marvin_gate::containment::chosen(self.settings.text(&table::CONTAINMENT))
    }

    fn save(&self) -> Result<(), WriteError> {
        let mut facts = Value::Object(self.facts.clone());
        self.redactor.value(&mut facts);
        match facts {
            Value::Object(facts) => self.run.save(facts),
            _ => Ok(()),
        }
    }

    /// The run's folder.
    #[must_use]
    pub fn run(&self) -> &RunFolder {
        &self.run
    }

    /// Text without secrets.
    #[must_use]
    pub fn redacted(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
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
            for (key, value) in [("status", "failed"), ("endReason", "record_failed")] {
                self.facts.insert(key.into(), value.into());
            }
            self.save().ok();
        }
        outcome
    }

    async fn whole_turn(&mut self, prompt: &str) -> Result<Outcome, SessionError> {
        let goal = self.trace.within(&json!(prompt), 4_000);
        self.facts.insert("goal".into(), goal.clone());
        self.facts.insert("prompt".into(), prompt.into());
        self.save()?;
        self.trace.event("turn.started", json!({"turn": 1, "prompt": goal}))?;
        let history = self.history()?;
        let messages = self.compose(prompt, history.as_ref());
        let outcome = self.turn.run(messages).await?;
        if history.is_some() {
            self.remember(prompt, &outcome.text)?;
        }
        self.trace.event(
            "turn.completed",
            json!({"turn": 1, "status": outcome.status.name(), "rounds": outcome.rounds, "tool_calls": outcome.calls}),
        )?;
        self.close(&outcome)?;
        Ok(outcome)
    }

    /// Adds to the chat log what was said, without secrets. A log that cannot be written does not undo the turn.
    fn remember(&self, prompt: &str, answer: &str) -> Result<(), SessionError> {
        let (prompt, answer) = (self.redactor.text(prompt), self.redactor.text(answer));
        let (limit, target) =
            (self.settings.count(&table::HISTORY_COMPACT), self.settings.count(&table::HISTORY_TARGET));
        let path = self.chat_log();
        if let Err(error) = History::record(&path, &[("you", &prompt), ("assistant", &answer)], limit, target)
        {
            let text = format!("{} was not updated: {error}", path.display());
            self.trace.event("notice", json!({ "text": text }))?;
        }
        Ok(())
    }

    fn chat_log(&self) -> PathBuf {
        self.layout.profile(&self.profile.name).join("chat_log.json")
    }

    fn history(&self) -> Result<Option<History>, SessionError> {
        if self.manner != Manner::Attended {
            return Ok(None);
        }
        let path = self.chat_log();
        match History::read(&path) {
            Ok(history) => Ok(Some(history)),
            Err(error) => {
                let text = format!("{} cannot be read and is left alone: {error}", path.display());
                self.trace.event("notice", json!({ "text": text }))?;
                Ok(None)
            }
        }
    }

    /// The conversation, from durable state: unattended turns see the chat log only as lines of the system message.
    fn compose(&self, prompt: &str, history: Option<&History>) -> Vec<Message> {
        let asked_before = self.replay.as_ref().filter(|replay| replay.attended);
        let (lines, said) = match (asked_before, history) {
            (Some(replay), _) => (Vec::new(), replay.tape.said_before()),
            (None, Some(history)) => (Vec::new(), history.messages()),
            (None, None) => (
                History::read(&self.chat_log()).map(|history| history.compact_lines()).unwrap_or_default(),
                Vec::new(),
            ),
        };
        let coding = (self.turn.role == "Coder").then(|| Coding {
            working_dir: self.workspace.as_ref().map_or_else(
                || "none (file tools need --working-dir)".to_string(),
                |workspace| workspace.root().display().to_string(),
            ),
            access: self.access.clone(),
        });
        let state =
            State::read(&self.layout, self.workspace.as_deref(), &self.profile, &lines, coding, &self.date);
        let mut messages = vec![Message::system(state.compose())];
        messages.extend(said);
        messages.push(Message::user(prompt));
        messages
    }

    /// Writes the one `result`, `run.json` and lifetime usage, and forces the record to the disk.
    fn close(&mut self, outcome: &Outcome) -> Result<(), SessionError> {
        let totals = self.cost.totals()?;
        let duration = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut result = json!({
            "status": outcome.status.name(),
            "reason": outcome.reason,
            "exit_code": outcome.status.exit().code(),
            "text": outcome.text,
            "error": outcome.error,
            "failure_signature": outcome.failure_signature,
            "data": outcome.data,
            "verification": {"status": "none", "commitments": []},
            "cost": totals.report(),
            "rounds": outcome.rounds,
            "tool_calls": outcome.calls,
            "duration_ms": duration,
            "run_id": self.run.id(),
            "run_path": self.run.path().display().to_string(),
        });
        if let (Some(map), true) = (result.as_object_mut(), self.turn.response_schema.is_some()) {
            let structured = serde_json::from_str(&outcome.text).unwrap_or(Value::Null);
            map.insert("structured_output".into(), structured);
        }
        for (key, value) in [
            ("status", json!(outcome.status.name())),
            ("endReason", json!(outcome.reason)),
            ("endedAt", json!(clock::now_stamp())),
            ("toolCallCount", json!(outcome.calls)),
            ("cost", totals.report()),
            ("exitCode", json!(outcome.status.exit().code())),
            ("result", self.trace.within(&json!(outcome.text), 4_000)),
            ("resultSignature", json!(signature::of_bytes(self.redactor.text(&outcome.text).as_bytes()))),
        ] {
            self.facts.insert(key.into(), value);
        }
        self.save()?;
        if let Some(metrics) = self.layers.log().and_then(marvin_gate::layers::Log::metrics) {
            atomic::replace(
                &self.run.path().join("security-metrics.json"),
                format!("{metrics:#}\n").as_bytes(),
            )?;
        }
        // A replay spends nothing; a sub-agent's spending is counted by the outermost process.
        if self.replay.is_none() && self.settings.whole(&table::DEPTH) == 0 {
            // Usage over a lifetime is a convenience: a damaged file must not fail a run that is done.
            if let Err(error) = Lifetime::add(&self.layout.usage(), &totals, &self.cost.calls()) {
                let text = format!("{} was not updated: {error}", self.layout.usage().display());
                self.trace.event("notice", json!({ "text": text }))?;
            }
        }
        self.trace.event("result", result)?;
        self.trace.sync()?;
        Ok(())
    }
}

fn choose_client(
    ground: &Ground,
    replay: Option<&Replay>,
    script_state: Option<PathBuf>,
) -> Result<Arc<dyn ModelClient>, ModelError> {
    if let Some(replay) = replay {
        return Ok(replay.tape.clone());
    }
    choose::client(&Choice {
        settings: &ground.settings,
        environment: &ground.environment,
        layout: &ground.layout,
        workspace: ground.workspace.as_deref().map_or(ground.folder.as_path(), Workspace::root),
        script_state,
    })
}

/// A budget needs a price; where none is known it could not be kept, so it is refused at once.
fn check_budget(
    limit: Option<u64>,
    client: &dyn ModelClient,
    prices: &Prices,
    layout: &Layout,
) -> Result<(), SessionError> {
    let reports_itself = client.provider() == "claude";
    if limit.is_none() || reports_itself || prices.knows(client.provider(), client.model()) {
        return Ok(());
    }
    Err(SessionError::Unpriced {
        provider: client.provider().to_string(),
        model: client.model().to_string(),
        file: layout.prices().display().to_string(),
    })
}
