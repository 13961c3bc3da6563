//! Agents for the steps of a workflow: one loop per attempt, all of them in one run.
//!
//! [`StepAgents`] belongs to a run that its caller opened: trace, budget and directory are the run's. A [`Job`] is one
//! attempt at one step; it is a [`Turn`] like every other, with the role's prompt and rights, and with the worker protocol
//! ([`crate::protocol::Worker`]). It is recorded under its key before it counts: a process that resumes the same key continues
//! where the other ended, makes no call twice whose result is known, and returns what was done already.
//!
//! Limits: the effect of a call that was interrupted by a crash is unknown, only that it began. Workers start no agents of
//! their own.

mod job;

pub use crate::turn_commitments::TurnCommitments;
pub(crate) use job::file_name;
pub use job::{Job, JobResult, Rights};

use crate::compose::{self, Composer, budget, tool_names};
use crate::error::SessionError;
use crate::launch::ModelChoice;
use crate::model_client::{TierClients, check_budget, choose_client};
use crate::outcome::{Outcome, Status};
use crate::project_context::ProjectContext;
use crate::protocol::Worker;
use crate::roles::Role;
use crate::run_parts::{RunParts, RunScope, cost_limit, script_state};
use crate::servitors::{Entry, Record, RecordJournal, ResumePoint};
use crate::tool_host::LiveTools;
use crate::trace::Trace;
use crate::turn::Turn;
use marvin_base::ledger::{self, Ledger, LedgerError};
use marvin_base::run::RunDirectory;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use marvin_gate::{Access, Workspace, ticket};
use marvin_model::cost::CostLedger;
use marvin_model::price::Prices;
use marvin_model::{Message, ModelClient};
use marvin_tools::{Mode, ToolContext};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Type of the entry with the result of a key.
const RESULT_ENTRY: &str = "kept";

#[derive(Serialize)]
struct KeptEntry<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    value: &'a Value,
}

/// Agents of the steps of one run.
pub struct StepAgents {
    parts: RunParts,
    /// What every turn has in common.
    turn: Turn,
    context: ToolContext,
    date: String,
    tier_clients: TierClients,
    asking: Arc<Semaphore>,
    proving: Arc<Semaphore>,
}

impl std::fmt::Debug for StepAgents {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StepAgents").field("run", &self.parts.run.id()).finish_non_exhaustive()
    }
}

impl StepAgents {
    /// Checks, before a run is made, whether its agents could ask a model.
    ///
    /// # Errors
    /// When the provider, its script or the budget cannot be used.
    pub fn check(project: &ProjectContext) -> Result<(), SessionError> {
        project.depth()?;
        let prices = Prices::load(Some(&project.layout.prices()))?;
        let client = choose_client(project, None)?;
        check_budget(cost_limit(&project.settings), client.as_ref(), &prices, &project.layout)
    }

    /// Opens the agents of a run: chooses the model and opens the cost ledger.
    pub fn open(
        project: &ProjectContext,
        run: &RunDirectory,
        trace: &Trace,
        cancel: &CancellationToken,
    ) -> Result<Self, SessionError> {
        project.depth()?;
        let project = Arc::new(project.clone());
        let prices = Prices::load(Some(&project.layout.prices()))?;
        let client = choose_client(&project, Some(script_state(&project.settings, run)))?;
        check_budget(cost_limit(&project.settings), client.as_ref(), &prices, &project.layout)?;
        let parts = RunParts::open(&project, run, RunScope::Tree, prices, cancel)?;
        if let Some(text) = &parts.unjudged {
            trace.notice(text)?;
        }
        let context = parts.tool_context();
        let tools = LiveTools::new(project.toolbox(Mode::Coding, &Access::Readonly), context.clone());
        let trace = Arc::new(trace.about(serde_json::Map::new()));
        let concurrency = project.settings.count(&table::CONCURRENCY);
        Ok(StepAgents {
            turn: parts.turn(client, trace, Arc::new(tools), Role::Implementer, &table::WORKER_ROUNDS),
            date: compose::day(run.started()),
            parts,
            context,
            tier_clients: TierClients::default(),
            asking: Arc::new(Semaphore::new(concurrency)),
            proving: Arc::new(Semaphore::new(1)),
        })
    }

    #[must_use]
    pub fn cost(&self) -> &Arc<CostLedger> {
        &self.turn.cost
    }

    #[must_use]
    pub fn project(&self) -> &Arc<ProjectContext> {
        &self.parts.project
    }

    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.turn.trace
    }

    /// Interrupts all agents; they continue when the run is resumed.
    pub fn stop(&self) {
        self.turn.cancel.cancel();
    }

    /// Path of a file beside the record of a key.
    #[must_use]
    pub fn beside(&self, key: &str, name: &str) -> PathBuf {
        self.parts.run.logs().place().join(format!("{}-{name}", file_name(key)))
    }

    /// Makes one attempt, or resumes it.
    pub async fn work(&self, job: &Job, cancel: &CancellationToken) -> Result<JobResult, SessionError> {
        let started = Instant::now();
        let project = at(&self.parts.project, job.workspace.as_deref())?;
        let record = self.record(&job.key);
        let mut restored = record.restore()?;
        let before = (restored.calls, restored.replies());
        if restored.messages.is_empty() {
            let message = Message::user(job.task.clone());
            record.append(&Entry::Fed { messages: vec![message.clone()], inbox: 0 })?;
            restored.messages.push(message);
            restored.opening = 1;
        }
        let promise = TurnCommitments::of_step(&project, &self.parts.run, &job.key, &job.commitments)?;
        let outcome = self.turn(job, &project, promise.as_ref(), &record, restored, cancel).await?;
        let mut done = JobResult::from_outcome(outcome, before);
        if let Some(promise) = &promise {
            if done.needs_measure() && !cancel.is_cancelled() {
                done.count(&promise.verify(cancel).await);
            }
            promise.settle(&self.parts.run)?;
        }
        done.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(done)
    }

    async fn turn(
        &self,
        job: &Job,
        project: &Arc<ProjectContext>,
        promise: Option<&TurnCommitments>,
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
        if job.rights.logs_calls && context.settings.given(&table::SUBAGENT_LOG).is_none() {
            let path = self.beside(&job.key, "tools.jsonl").display().to_string();
            context.settings = Arc::new(context.settings.with(&table::SUBAGENT_LOG, &path)?);
        }
        let access = context.access.clone();
        context.workspace = project.workspace.clone();
        context.cancel = cancel.clone();
        context.agent = promise.map(|promise| promise.document().into());
        let mut toolbox = project.toolbox(Mode::Coding, &access);
        if let Some(tools) = &job.rights.tools {
            toolbox.keep(tools);
        }
        let composer = Composer {
            date: self.date.clone(),
            documents: promise.map(|promise| promise.document().to_string()).into_iter().collect(),
            extras: job.extras.clone(),
            budget: budget(self.turn.bounds.window.compact),
            ..Composer::of_agent(project, &context, tool_names(&toolbox.specs()), job.role, &job.step)
        };
        let trace = Arc::new(self.turn.trace.about(job.about()));
        composer.skills.tell(&trace)?;
        let composed = composer.compose();
        trace.event(TraceEvent::PromptComposed(composed.record("step", &job.task)))?;
        let rounds = project.settings.count(&table::VERIFY_ROUNDS);
        let proof = promise.map(|promise| Arc::new(promise.verifier(rounds)));
        let client = self.model(job.role, job.rights.model)?;
        let protocol = Worker {
            native: client.native_tools() && project.settings.text(&table::PROTOCOL) != "json",
            render_tools: client.native_tools(),
            outputs: job.outputs_schema.clone(),
        };
        let journal =
            RecordJournal::of_step(record.clone(), &mut restored, self.asking.clone(), self.proving.clone());
        let turn = Turn {
            client,
            protocol: Arc::new(protocol),
            tools: Arc::new(LiveTools::new(toolbox, context)),
            trace,
            cancel: cancel.clone(),
            workspace: project.workspace.as_ref().map(|workspace| workspace.root().to_path_buf()),
            role: job.role.name().to_string(),
            step: Some(job.step.clone()),
            composer: Some(Arc::new(composer)),
            proof,
            journal: Some(Arc::new(journal)),
            ..self.turn.clone()
        };
        Ok(turn.resume(restored.start(Message::system(composed.text))).await?)
    }

    /// Model of a role: that of its tier, where one is set or its provider has the usual one; else the run's.
    fn model(&self, role: Role, choice: ModelChoice) -> Result<Arc<dyn ModelClient>, SessionError> {
        let project = &self.parts.project;
        let wanted = choice.model(role, self.turn.client.provider(), &project.settings, &project.layout);
        self.tier_clients.get(wanted, &self.turn, project, &self.parts.script_state)
    }

    fn record(&self, key: &str) -> Record {
        Record::new(
            &self.parts.run.logs().place(),
            &file_name(key),
            self.parts.project.redactor.clone(),
            self.parts.durability,
        )
    }

    fn record_path(&self, key: &str) -> PathBuf {
        self.parts.run.logs().place().join(format!("{}.jsonl", file_name(key)))
    }

    /// Records the result of a key, so that it is not computed again.
    pub fn keep(&self, key: &str, value: &Value) -> Result<(), LedgerError> {
        let path = self.record_path(key);
        let mut ledger =
            Ledger::open_shared_chained(&path, self.parts.durability, self.parts.project.redactor.clone())?;
        ledger.append(&KeptEntry { kind: RESULT_ENTRY, value }).map(|_| ())
    }

    /// Recorded result of a key, if there is one.
    pub fn kept(&self, key: &str) -> Result<Option<Value>, LedgerError> {
        let path = self.record_path(key);
        if !ledger::is_known(&path) {
            return Ok(None);
        }
        let is_kept = |entry: &Value| entry.get("type").and_then(Value::as_str) == Some(RESULT_ENTRY);
        let mut entries = ledger::read_chained(&path)?.entries;
        entries.retain(is_kept);
        Ok(entries.pop().and_then(|mut entry| entry.get_mut("value").map(Value::take)))
    }
}

/// Project context with another workspace: a worktree of the project. The record stays the project's.
pub fn at(
    project: &Arc<ProjectContext>,
    workspace: Option<&Path>,
) -> Result<Arc<ProjectContext>, SessionError> {
    let same = |path: &Path| {
        let root = project.workspace.as_ref().map(|workspace| workspace.root());
        root == Some(path) || path.canonicalize().is_ok_and(|path| root == Some(path.as_path()))
    };
    match workspace {
        Some(path) if !same(path) => {
            let workspace = Workspace::open(path, project.layout.home())?;
            Ok(Arc::new(ProjectContext {
                workspace: Some(Arc::new(workspace)),
                ..ProjectContext::clone(project)
            }))
        }
        _ => Ok(project.clone()),
    }
}

impl ResumePoint {
    /// Replies of the model on record: rounds of calls, and judged claims.
    fn replies(&self) -> u64 {
        self.rounds + self.sent_back as u64
    }
}

impl JobResult {
    /// Whether tests are counted although nothing was claimed.
    fn needs_measure(&self) -> bool {
        matches!(self.outcome.status, Status::Failed | Status::Partial)
            && self.outcome.verification.proved.is_empty()
    }
}
