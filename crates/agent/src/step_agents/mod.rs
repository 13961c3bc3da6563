//! Agents for the steps of a workflow: one loop per attempt, all of them in one run.
//!
//! [`StepAgents`] belongs to a run that its caller opened: trace, budget and directory are the run's. A [`Job`] is one
//! attempt at one step; it is a [`Turn`] like every other, with the role's prompt and rights, and with the worker protocol
//! ([`crate::protocol::Worker`]). It is written down under its key before it counts: a process that takes the same key up again goes on where
//! the other ended, makes no call twice whose result is known, and gives back what was done already.
//!
//! Limits: what a call did between its begin and a crash is not known, only that it began. Workers start no agents of
//! their own.

mod commitments;
mod job;
mod turn_journal;

pub use commitments::StepCommitments;
pub use job::{Job, JobResult, Rights};

use crate::compose::{self, Coding, Composer, access_sentence, budget};
use crate::evaluator;
use crate::launch::ModelChoice;
use crate::outcome::{Outcome, Status};
use crate::project_context::{ProjectContext, usage_reporter};
use crate::protocol::Worker;
use crate::roles::Role;
use crate::servitors::{Entry, Record, ResumePoint};
use crate::session::{SessionError, model};
use crate::tool_host::LiveTools;
use crate::trace::Trace;
use crate::turn::{Bounds, Turn};
use crate::{compaction::Window, protocol};
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::run::RunDirectory;
use marvin_base::settings::table;
use marvin_base::signature;
use marvin_base::trace_event::TraceEvent;
use marvin_gate::{Access, Workspace, ticket};
use marvin_model::cost::CostLedger;
use marvin_model::price::{self, Prices};
use marvin_model::{Message, ModelClient};
use marvin_tools::{Mode, ToolContext};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use turn_journal::JobJournal;

/// The workers of one run.
pub struct StepAgents {
    ground: Arc<ProjectContext>,
    run: RunDirectory,
    /// What every turn has in common.
    turn: Turn,
    context: ToolContext,
    date: String,
    script_state: PathBuf,
    durability: Durability,
    models: Mutex<BTreeMap<String, Arc<dyn ModelClient>>>,
    asking: Arc<Semaphore>,
    proving: Arc<Semaphore>,
}

impl std::fmt::Debug for StepAgents {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Crew").field("run", &self.run.id()).finish_non_exhaustive()
    }
}

impl StepAgents {
    /// A crew for a run: chooses the model, opens the account of the run.
    ///
    /// # Errors
    /// When the run is nested too deep, a model cannot be had, a budget cannot be kept, or the record cannot be written.
    pub fn open(
        ground: &ProjectContext,
        run: &RunDirectory,
        trace: &Trace,
        cancel: &CancellationToken,
    ) -> Result<Self, SessionError> {
        let ProjectContext { settings, layout, redactor, workspace, .. } = ground;
        ground.depth()?;
        let prices = Arc::new(Prices::load(Some(&layout.prices()))?);
        let durability = Durability::from_setting(settings.text(&table::DURABILITY));
        let script_state =
            settings.given(&table::SCRIPT_STATE).map_or_else(|| run.script_state(), PathBuf::from);
        let client = model::choose_client(ground, None, Some(script_state.clone()))?;
        let limit = settings.amount(&table::MAX_COST).map(price::nanos);
        model::check_budget(limit, client.as_ref(), &prices, layout)?;
        let cost_path = settings.given(&table::COST_LEDGER).map_or_else(|| run.cost(), PathBuf::from);
        let above: Vec<u32> =
            settings.list(&table::LINEAGE).iter().filter_map(|id| id.parse().ok()).collect();
        let cost = Arc::new(CostLedger::open(&cost_path, &above, limit, durability, redactor.clone())?);
        let (layers, unjudged) = evaluator::layers(ground, &cost, &prices, script_state.clone(), cancel);
        if let Some(text) = unjudged {
            trace.notice(text)?;
        }
        let mut context = ground.context(
            cancel.clone(),
            Some(run.artifacts().clone()),
            usage_reporter(cost.clone(), layout.usage()),
        );
        context.layers = Arc::new(layers);
        let turn = Turn {
            client,
            protocol: Arc::new(protocol::Native),
            tools: Arc::new(LiveTools::new(ground.toolbox(Mode::Coding, &Access::Readonly), context.clone())),
            trace: Arc::new(trace.about(serde_json::Map::new())),
            cost,
            prices,
            redactor: redactor.clone(),
            bounds: Bounds {
                rounds: settings.count(&table::WORKER_ROUNDS),
                no_progress: settings.count(&table::NO_PROGRESS),
                window: Window {
                    warn: settings.count(&table::CONTEXT_WARN),
                    compact: settings.count(&table::CONTEXT_COMPACT),
                    hard: settings.count(&table::CONTEXT_HARD),
                },
            },
            cancel: cancel.clone(),
            late: CancellationToken::new(),
            workspace: workspace.as_ref().map(|workspace| workspace.root().to_path_buf()),
            logs: run.logs().clone(),
            role: Role::Implementer.name().to_string(),
            step: None,
            response_schema: None,
            composer: None,
            stages: None,
            proof: None,
            life: None,
        };
        let many = settings.count(&table::CONCURRENCY);
        Ok(StepAgents {
            ground: Arc::new(ground.clone()),
            date: compose::day(run.started()),
            run: run.clone(),
            turn,
            context,
            script_state,
            durability,
            models: Mutex::default(),
            asking: Arc::new(Semaphore::new(many)),
            proving: Arc::new(Semaphore::new(1)),
        })
    }

    /// What the run costs.
    #[must_use]
    pub fn cost(&self) -> &Arc<CostLedger> {
        &self.turn.cost
    }

    /// The ground that it works on.
    #[must_use]
    pub fn ground(&self) -> &Arc<ProjectContext> {
        &self.ground
    }

    /// The trace of the run.
    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.turn.trace
    }

    /// Ends everybody's work: what was begun goes on when the run is taken up again.
    pub fn stop(&self) {
        self.turn.cancel.cancel();
    }

    /// Where something beside the record of a key is kept.
    #[must_use]
    pub fn beside(&self, key: &str, name: &str) -> PathBuf {
        self.run.logs().place().join(format!("{}-{name}", file_name(key)))
    }

    /// Makes one attempt, or goes on with it.
    ///
    /// # Errors
    /// When what it needs is refused, or the record cannot be written.
    pub async fn work(&self, job: &Job, cancel: &CancellationToken) -> Result<JobResult, SessionError> {
        let started = Instant::now();
        let ground = at(&self.ground, job.workspace.as_deref())?;
        let record = self.record(&job.key);
        let mut restored = record.restore()?;
        let before = (restored.calls, restored.replies());
        if restored.messages.is_empty() {
            let message = Message::user(job.task.clone());
            record.append(&Entry::Fed { messages: vec![message.clone()], inbox: 0 })?;
            restored.messages.push(message);
            restored.opening = 1;
        }
        let promise = StepCommitments::make(&ground, &self.run, &job.key, &job.commitments)?;
        let outcome = self.turn(job, &ground, promise.as_ref(), &record, restored, cancel).await?;
        let mut done = JobResult::from_outcome(outcome, before);
        if let Some(promise) = &promise {
            if done.needs_measure() && !cancel.is_cancelled() {
                done.count(&promise.verify(cancel).await);
            }
            promise.settle(&self.run)?;
        }
        done.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(done)
    }

    async fn turn(
        &self,
        job: &Job,
        ground: &Arc<ProjectContext>,
        promise: Option<&StepCommitments>,
        record: &Record,
        mut restored: ResumePoint,
        cancel: &CancellationToken,
    ) -> Result<Outcome, SessionError> {
        let mut context = self.context.clone();
        if let Some(access) = &job.rights.access {
            context.access = access.clone();
        }
        if job.readonly {
            context.access = Access::Readonly;
        }
        if let Some(duty) = &job.rights.duty {
            let refused = |text: &str| text.contains(ticket::SENT_BACK);
            let tried = restored.messages.iter().any(|message| refused(message.content()))
                || restored.ended.values().any(|(_, text)| refused(text));
            duty.recall(tried, None);
            context.duty = duty.clone();
        }
        let access = context.access.clone();
        context.workspace = ground.workspace.clone();
        context.cancel = cancel.clone();
        context.agent = promise.map(|promise| promise.document().into());
        let coding = Coding::new(ground.workspace.as_deref(), access_sentence(&access, &context.duty));
        let composer = Composer {
            layout: ground.layout.clone(),
            workspace: ground.workspace.clone(),
            profile: String::new(),
            history: Vec::new(),
            coding: Some(coding),
            date: self.date.clone(),
            role: job.role,
            step: Some(job.step.clone()),
            has_parent: true,
            documents: promise.map(|promise| promise.document().to_string()).into_iter().collect(),
            recorded: None,
            extras: job.extras.clone(),
            budget: budget(self.turn.bounds.window.compact),
        };
        let trace = Arc::new(self.turn.trace.about(job.about()));
        let composed = composer.compose();
        trace.event(TraceEvent::PromptComposed(composed.record("step", &job.task)))?;
        let rounds = ground.settings.count(&table::VERIFY_ROUNDS);
        let proof = promise.map(|promise| Arc::new(promise.proof(rounds)));
        let client = self.model(job.role, job.rights.model)?;
        let protocol = Worker {
            native: client.native_tools() && ground.settings.text(&table::PROTOCOL) != "json",
            render_tools: client.native_tools(),
            outputs: job.outputs_schema.clone(),
        };
        let mut toolbox = ground.toolbox(Mode::Coding, &access);
        if let Some(tools) = &job.rights.tools {
            toolbox.keep(tools);
        }
        let life = JobJournal::new(record.clone(), &mut restored, self.asking.clone(), self.proving.clone());
        let turn = Turn {
            client,
            protocol: Arc::new(protocol),
            tools: Arc::new(LiveTools::new(toolbox, context)),
            trace,
            cancel: cancel.clone(),
            workspace: ground.workspace.as_ref().map(|workspace| workspace.root().to_path_buf()),
            role: job.role.name().to_string(),
            step: Some(job.step.clone()),
            composer: Some(Arc::new(composer)),
            proof,
            life: Some(Arc::new(life)),
            ..self.turn.clone()
        };
        Ok(turn.take_up(restored.start(Message::system(composed.text))).await?)
    }

    /// The model of a role: that of its tier, where one is set or its provider has the usual one; else the run's.
    fn model(&self, role: Role, choice: ModelChoice) -> Result<Arc<dyn ModelClient>, SessionError> {
        let own = &self.turn.client;
        let wanted = choice.model(role, own.provider(), &self.ground.settings, None);
        let Some(wanted) = wanted.filter(|wanted| wanted != own.model()) else { return Ok(own.clone()) };
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = models.get(&wanted) {
            return Ok(client.clone());
        }
        let mut ground = ProjectContext::clone(&self.ground);
        ground.settings = Arc::new(ground.settings.with(&table::MODEL, &wanted)?);
        let client = model::choose_client(&ground, None, Some(self.script_state.clone()))?;
        model::check_budget(self.turn.cost.limit(), client.as_ref(), &self.turn.prices, &ground.layout)?;
        models.insert(wanted, client.clone());
        Ok(client)
    }

    /// The record of what is done under a key.
    fn record(&self, key: &str) -> Record {
        Record::new(&self.run.logs().place(), &file_name(key), self.ground.redactor.clone(), self.durability)
    }

    fn record_path(&self, key: &str) -> PathBuf {
        self.run.logs().place().join(format!("{}.jsonl", file_name(key)))
    }

    /// Writes down what came of everything under a key, so that it is not done again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, key: &str, value: &Value) -> Result<(), LedgerError> {
        let path = self.record_path(key);
        let mut ledger = Ledger::open_shared_chained(&path, self.durability, self.ground.redactor.clone())?;
        ledger.append(&json!({"type": "kept", "value": value})).map(|_| ())
    }

    /// What came of everything under a key, if that is known.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn kept(&self, key: &str) -> Result<Option<Value>, LedgerError> {
        let path = self.record_path(key);
        if !ledger::is_known(&path) {
            return Ok(None);
        }
        let is_kept = |entry: &Value| entry.get("type").and_then(Value::as_str) == Some("kept");
        let mut entries = ledger::read_chained(&path)?.entries;
        entries.retain(is_kept);
        Ok(entries.pop().and_then(|mut entry| entry.get_mut("value").map(Value::take)))
    }
}

/// The ground with another workspace: a worktree of the project. The record stays the project's.
///
/// # Errors
/// When it cannot be a workspace.
pub fn at(
    ground: &Arc<ProjectContext>,
    workspace: Option<&Path>,
) -> Result<Arc<ProjectContext>, SessionError> {
    let same = |path: &Path| {
        let root = ground.workspace.as_ref().map(|workspace| workspace.root());
        root == Some(path) || path.canonicalize().is_ok_and(|path| root == Some(path.as_path()))
    };
    match workspace {
        Some(path) if !same(path) => {
            let workspace = Workspace::open(path, ground.layout.home())?;
            Ok(Arc::new(ProjectContext {
                workspace: Some(Arc::new(workspace)),
                ..ProjectContext::clone(ground)
            }))
        }
        _ => Ok(ground.clone()),
    }
}

/// A key as the name of a file: what can stand in one, and enough of its signature to tell it apart.
fn file_name(key: &str) -> String {
    let plain =
        |char: char| if char.is_ascii_alphanumeric() || char == '-' || char == '_' { char } else { '-' };
    let words: String = key.chars().take(60).map(plain).collect();
    let signature = signature::hash_bytes(key.as_bytes());
    format!("worker-{words}-{}", signature.get(..12).unwrap_or_default())
}

impl ResumePoint {
    /// Requests to the model that were answered, as far as the record tells: rounds of calls, and claims that were judged.
    fn replies(&self) -> u64 {
        self.rounds + self.sent_back as u64
    }
}

impl JobResult {
    /// Is it worth counting tests although nothing was claimed?
    fn needs_measure(&self) -> bool {
        matches!(self.outcome.status, Status::Failed | Status::Partial)
            && self.outcome.verification.proved.is_empty()
    }
}
