//! The pipeline itself: it is opened on a run, new or old, goes through the phases, and ends with one result.

mod agent;
mod open;

pub(crate) use agent::{AgentReport, Task, TaskAccess};
pub use open::{Options, Trust, last_run};

use crate::journal::{Journal, PhaseHistory};
use crate::oracle::Oracle;
use crate::phase::Phase;
use crate::project_setup::{self, Tickets};
use crate::report;
use crate::state::StateFile;
use crate::stop::{Halt, Stop};
use marvin_agent::ProjectContext;
use marvin_agent::compose::PromptExtra;
use marvin_agent::outcome::Status;
use marvin_agent::step_agents::StepAgents;
use marvin_agent::trace::Trace;
use marvin_base::atomic;
use marvin_base::files::{self, Links};
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{RunKind, RunRecord};
use marvin_base::trace_event::{RunOpened, TraceEvent, TurnResult};
use marvin_base::{clock, truncate};
use marvin_flow::engine::Lock;
use marvin_gate::{Access, Duty};
use marvin_model::cost::Totals;
use marvin_model::price::dollars;
use marvin_tools::{ToolContext, notify};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Bytes of the kept oracle.
const MAX_KEPT_ORACLE_BYTES: u64 = 80 * 1024 * 1024;

/// A pipeline on a run.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) ground: Arc<ProjectContext>,
    pub(crate) run: RunDirectory,
    pub(crate) crew: StepAgents,
    pub(crate) trace: Arc<Trace>,
    pub(crate) cancel: CancellationToken,
    pub(crate) goal: String,
    root: PathBuf,
    state: StateFile,
    journal: Journal,
    known: PhaseHistory,
    ntfy: Option<String>,
    facts: Box<RunRecord>,
    opened: Instant,
    tickets: Option<Tickets>,
    resumed: bool,
    pub(crate) extras: Vec<PromptExtra>,
    deadline: Duration,
    _lock: Lock,
}

/// How a pipeline ended.
#[derive(Debug, Clone)]
pub struct PipelineOutcome {
    /// How.
    pub status: Status,
    /// Why, in one word.
    pub reason: &'static str,
    /// What a person should know.
    pub message: String,
    /// The report, as Markdown; there is a page beside it.
    pub report: PathBuf,
    /// The directory of the run.
    pub run: PathBuf,
    /// What it cost.
    pub totals: Totals,
}

impl Pipeline {
    /// Goes through the phases that are not over, and closes the run.
    ///
    /// # Errors
    /// When the record cannot be written. Everything else is a [`PipelineOutcome`].
    pub async fn go(mut self) -> Result<PipelineOutcome, Halt> {
        let opened = RunOpened {
            run_id: self.run.id().into(),
            run_path: self.run.path().display().to_string(),
            manner: Some(RunKind::Pipeline),
            goal: Some(self.trace.within_text(&self.goal, 2_000)),
            after: self.state.read().ok().flatten().map(|phase| phase.name().to_string()),
            ..RunOpened::default()
        };
        let opened =
            if self.resumed { TraceEvent::RunResumed(opened) } else { TraceEvent::RunStarted(opened) };
        self.trace.event(opened)?;
        self.push(if self.resumed { "resumed" } else { "started" }, &self.goal).await;
        let course = self.within_deadline().await;
        let stop = match course {
            Ok(()) => Stop {
                status: Status::Success,
                reason: "complete",
                message: "every phase is over, and everything was proved".into(),
            },
            Err(halt) => halt.stop(),
        };
        self.close(&stop).await
    }

    /// The phases, until the deadline; then everything that runs is ended, and goes on with the next command.
    async fn within_deadline(&mut self) -> Result<(), Halt> {
        let (cancel, deadline) = (self.cancel.clone(), self.deadline);
        if deadline.is_zero() {
            return self.course().await;
        }
        let late = Arc::new(AtomicBool::new(false));
        let passed = late.clone();
        let clock = tokio::spawn(async move {
            tokio::time::sleep(deadline).await;
            passed.store(true, Ordering::Relaxed);
            cancel.cancel();
        });
        let course = self.course().await;
        clock.abort();
        match course {
            Err(_) if late.load(Ordering::Relaxed) => {
                let message = format!(
                    "not done after {} s\n  hint: the same command goes on from here",
                    deadline.as_secs()
                );
                Err(Halt::failed("deadline", message))
            }
            course => course,
        }
    }

    async fn course(&mut self) -> Result<(), Halt> {
        self.prepare().await?;
        for phase in Phase::ALL {
            // From the disk, every time.
            if self.state.is_over(phase)? {
                continue;
            }
            self.agree()?;
            self.phase(phase).await?;
        }
        self.agree()
    }

    /// The repository, the tickets and the documents of the project around.
    async fn prepare(&mut self) -> Result<(), Halt> {
        project_setup::repository(&self.root, self.resumed, &self.cancel).await?;
        let copied = project_setup::upstream(&self.ground)?;
        if !copied.is_empty() {
            let listed = copied.join(", ");
            self.trace.notice(format!("documents of the project around, for reading: {listed}"))?;
        }
        let tickets = Tickets::open(&self.ground, self.run.id(), &self.goal)?;
        tickets.settle(self.known.closed)?;
        self.tickets = Some(tickets);
        Ok(())
    }

    /// The state file says what the journal says; else somebody changed it.
    fn agree(&self) -> Result<(), Halt> {
        let (says, knows) = (self.state.read()?, self.known.closed);
        if says == knows {
            return Ok(());
        }
        Err(open::changed(&self.state, says, knows, self.run.id()).into())
    }

    async fn phase(&mut self, phase: Phase) -> Result<(), Halt> {
        let started = Instant::now();
        if self.known.phases.contains_key(&phase) {
            self.journal.taken(phase)?;
        } else {
            let cost = self.crew.cost().tree()?.cost;
            self.journal.begun(phase, cost)?;
        }
        self.known = Journal::known(self.run.path())?;
        let ticket = self.tickets()?.phase(phase)?;
        self.trace.event(TraceEvent::PhaseStarted {
            phase: phase.name().into(),
            title: phase.title().into(),
            ticket: ticket.clone(),
        })?;
        self.push(phase.name(), phase.title()).await;
        let body = self.body(phase).await;
        let elapsed = || u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if body.is_err() {
            self.journal.worked(phase, elapsed())?;
        }
        if let Err(Halt::Stop(stop)) = &body
            && matches!(stop.status, Status::Failed | Status::NotVerified)
            && stop.reason != "model_error"
        {
            self.journal.failed(phase)?;
        }
        let mut facts = body?;
        self.agree()?;
        let record = self.known.phases.get(&phase).cloned().unwrap_or_default();
        let cost = self.crew.cost().tree()?.cost.saturating_sub(record.cost_before);
        facts.insert("cost_usd".into(), json!(dollars(cost)));
        facts.insert("elapsed_ms".into(), record.worked_ms.saturating_add(elapsed()).into());
        facts.insert("processes".into(), record.taken.into());
        facts.insert("ended".into(), clock::now_stamp().into());
        self.shut(phase, &facts)?;
        self.tickets()?.settle(Some(phase))?;
        self.commit(&format!("Phase {phase} is over: {}", phase.title()), &ticket).await?;
        self.trace.event(TraceEvent::PhaseCompleted { phase: phase.name().into(), facts })?;
        Ok(())
    }

    /// Closes a phase: announced, written, said.
    fn shut(&mut self, phase: Phase, facts: &Map<String, Value>) -> Result<(), Halt> {
        self.journal.closing(phase, facts)?;
        self.state.save(phase)?;
        self.journal.closed(phase)?;
        self.known = Journal::known(self.run.path())?;
        Ok(())
    }

    async fn close(self, stop: &Stop) -> Result<PipelineOutcome, Halt> {
        let totals = self.crew.cost().tree()?;
        let known = Journal::known(self.run.path())?;
        let report = report::write(&self, &known, stop)?;
        let proved = known
            .phases
            .get(&Phase::Quality)
            .and_then(|record| record.ended.as_ref())
            .and_then(|facts| facts.get("proved"));
        let complete = stop.status == Status::Success;
        let verification = json!({"status": if complete { "verified" } else { "not_verified" }, "commitments": [], "proved": proved});
        let result = TurnResult {
            status: stop.status.name().into(),
            reason: stop.reason.into(),
            exit_code: stop.status.exit().code(),
            text: stop.message.clone(),
            error: (!complete).then(|| stop.message.clone()),
            failure_signature: (!complete).then(|| stop.reason.replace('_', "-")),
            data: json!({"phase": known.closed.map(Phase::name), "report": report.display().to_string()}),
            verification,
            cost: totals.report(),
            rounds: totals.turns,
            tool_calls: self.crew.cost().calls().values().sum::<u64>(),
            duration_ms: u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX),
            run_id: Some(self.run.id().into()),
            run_path: Some(self.run.path().display().to_string()),
            ..TurnResult::default()
        };
        let record = RunRecord {
            status: Some(stop.status.into()),
            end_reason: Some(stop.reason.into()),
            ended_at: Some(clock::now_stamp()),
            cost: Some(result.cost.clone()),
            exit_code: Some(result.exit_code),
            phase: known.closed.map(|phase| phase.name().to_string()),
            ..*self.facts.clone()
        };
        self.run.save(&record, &self.ground.redactor)?;
        self.trace.event(result)?;
        self.trace.sync()?;
        self.push(stop.status.name(), &stop.message).await;
        let run = self.run.path().to_path_buf();
        Ok(PipelineOutcome {
            status: stop.status,
            reason: stop.reason,
            message: stop.message.clone(),
            report,
            run,
            totals,
        })
    }

    /// The workspace.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn tickets(&self) -> Result<&Tickets, Halt> {
        self.tickets.as_ref().ok_or_else(|| Halt::Tool("the tickets were not opened".into()))
    }

    /// The surroundings of what the pipeline does itself.
    pub(crate) fn context(&self, ticket: Option<&str>) -> ToolContext {
        let mut context = self.ground.tool_context(self.cancel.clone(), Some(self.run.artifacts().clone()));
        context.access = Access::Full;
        context.duty = Arc::new(Duty::new(ticket));
        context
    }

    /// Commits what is there, with the ticket in its message. Nothing to commit is no failure; what git refuses is said.
    pub(crate) async fn commit(&self, message: &str, ticket: &str) -> Result<(), Halt> {
        let mut context = self.context(Some(ticket));
        context.duty.made(ticket);
        context.artifacts = None;
        if let Err(why) = project_setup::commit(message, &context).await {
            self.trace.notice(format!("nothing was committed: {}", truncate::line(&why, 300)))?;
        }
        Ok(())
    }

    /// A key of this phase, in this generation of it.
    pub(crate) fn key(&self, phase: Phase, name: &str) -> String {
        match self.known.generation(phase) {
            0 => name.to_string(),
            number => format!("g{number}-{name}"),
        }
    }

    /// What was found out under a name, or what is found out now and written down.
    pub(crate) async fn once(
        &self,
        phase: Phase,
        name: &str,
        find: impl AsyncFnOnce() -> Result<Value, Halt>,
    ) -> Result<Value, Halt> {
        let key = format!("check-{}", self.key(phase, name));
        if let Some(value) = self.crew.kept(&key)? {
            return Ok(value);
        }
        let value = find().await?;
        if self.cancel.is_cancelled() {
            return Err(interrupted());
        }
        self.crew.keep(&key, &value)?;
        Ok(value)
    }

    /// Takes the tests and the plan as what everything after this is judged by.
    pub(crate) fn seal(&self) -> Result<Oracle, Halt> {
        let oracle = Oracle::take(&self.root);
        let path = self.crew.beside("oracle", "files.json");
        atomic::replace(&path, json!(oracle).to_string().as_bytes())?;
        Ok(oracle)
    }

    /// What everything is judged by, once the tests are written.
    pub(crate) fn oracle(&self) -> Result<Oracle, Halt> {
        let path = self.crew.beside("oracle", "files.json");
        let read = files::read_text(&path, MAX_KEPT_ORACLE_BYTES, Links::Refuse).ok();
        read.and_then(|text| serde_json::from_str(&text).ok()).ok_or_else(|| {
            Halt::Tool(format!("{} is gone or damaged: nobody knows how the tests were\n  hint: `marvin pipeline resume --trust 2a` writes the integration tests again", path.display()))
        })
    }

    /// Tells the ntfy topic, if one was given.
    async fn push(&self, what: &str, text: &str) {
        let Some(topic) = &self.ntfy else { return };
        let message =
            self.ground.redactor.text(&format!("{what}: {}", truncate::line(text, 160))).into_owned();
        if let Err(error) = notify::publish(&self.ground.settings, topic, "Marvin pipeline", &message).await {
            self.trace.notice(format!("the notification to `{topic}` was not sent: {error}")).ok();
        }
    }

    pub(crate) fn goal(&self) -> &str {
        &self.goal
    }
}

/// Somebody ended it.
pub(crate) fn interrupted() -> Halt {
    Halt::Stop(Stop {
        status: Status::Interrupted,
        reason: "interrupted",
        message: "interrupted; the same command goes on from here".into(),
    })
}
