//! The pipeline: it is opened on a new or old run, executes the phases, and ends with one result.

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
use marvin_tools::{ToolContext, ntfy};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const MAX_KEPT_ORACLE_BYTES: u64 = 80 * 1024 * 1024;

/// A pipeline on a run.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) project: Arc<ProjectContext>,
    pub(crate) run: RunDirectory,
    pub(crate) agents: StepAgents,
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
    /// The answer to the question at which the pipeline stopped.
    answer: Option<String>,
    deadline: Duration,
    _lock: Lock,
}

/// The outcome of a pipeline.
#[derive(Debug, Clone)]
pub struct PipelineOutcome {
    pub status: Status,
    /// The reason as a word for programs.
    pub reason: &'static str,
    /// The message for people.
    pub message: String,
    /// The Markdown report; an HTML page lies beside it.
    pub report: PathBuf,
    pub run: PathBuf,
    pub totals: Totals,
}

/// The data of the result.
#[derive(Serialize)]
struct PipelineData {
    phase: Option<&'static str>,
    report: String,
}

/// The verification of the result.
#[derive(Serialize)]
struct PipelineProof<'a> {
    status: &'static str,
    commitments: [&'a str; 0],
    proved: Option<&'a Value>,
}

impl Pipeline {
    /// Executes the remaining phases and closes the run.
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
                message: "every phase is complete, and everything was verified".into(),
            },
            Err(halt) => halt.stop(),
        };
        self.close(&stop).await
    }

    /// Executes the phases until the deadline; then everything is cancelled and can be resumed.
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
                    "not done after {} s\n  hint: run the same command to continue from here",
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
            // Read from the disk each time, since other processes can change it.
            if self.state.is_over(phase)? {
                continue;
            }
            self.check_state()?;
            self.phase(phase).await?;
        }
        self.check_state()
    }

    /// Prepares the repository, the tickets and the documents of the enclosing project.
    async fn prepare(&mut self) -> Result<(), Halt> {
        project_setup::repository(&self.root, self.resumed, &self.cancel).await?;
        let copied = project_setup::upstream(&self.project)?;
        if !copied.is_empty() {
            self.trace
                .notice(format!("read-only documents of the enclosing project: {}", copied.join(", ")))?;
        }
        let tickets = Tickets::open(&self.project, self.run.id(), &self.goal)?;
        tickets.settle(self.known.closed)?;
        self.tickets = Some(tickets);
        Ok(())
    }

    /// Checks that the state file agrees with the journal.
    fn check_state(&self) -> Result<(), Halt> {
        let (stated, recorded) = (self.state.read()?, self.known.closed);
        if stated == recorded {
            return Ok(());
        }
        Err(open::changed(&self.state, stated, recorded, self.run.id()).into())
    }

    async fn phase(&mut self, phase: Phase) -> Result<(), Halt> {
        let started = Instant::now();
        if self.known.phases.contains_key(&phase) {
            self.journal.taken(phase)?;
        } else {
            let cost = self.agents.cost().tree()?.cost;
            self.journal.begun(phase, cost)?;
        }
        self.known = Journal::read(self.run.path())?;
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
        self.check_state()?;
        let record = self.known.phases.get(&phase).cloned().unwrap_or_default();
        let cost = self.agents.cost().tree()?.cost.saturating_sub(record.cost_before);
        facts.insert("cost_usd".into(), dollars(cost).into());
        facts.insert("elapsed_ms".into(), record.worked_ms.saturating_add(elapsed()).into());
        facts.insert("processes".into(), record.taken.into());
        facts.insert("ended".into(), clock::now_stamp().into());
        self.close_phase(phase, &facts)?;
        self.tickets()?.settle(Some(phase))?;
        self.commit(&format!("Phase {phase} is complete: {}", phase.title()), &ticket).await?;
        self.trace.event(TraceEvent::PhaseCompleted { phase: phase.name().into(), facts })?;
        Ok(())
    }

    /// Closes a phase in the journal and the state file.
    fn close_phase(&mut self, phase: Phase, facts: &Map<String, Value>) -> Result<(), Halt> {
        self.journal.closing(phase, facts)?;
        self.state.save(phase)?;
        self.journal.closed(phase)?;
        self.known = Journal::read(self.run.path())?;
        Ok(())
    }

    async fn close(self, stop: &Stop) -> Result<PipelineOutcome, Halt> {
        let totals = self.agents.cost().tree()?;
        let known = Journal::read(self.run.path())?;
        let report = report::write(&self, &known, stop)?;
        let proved = known
            .phases
            .get(&Phase::Quality)
            .and_then(|record| record.ended.as_ref())
            .and_then(|facts| facts.get("proved"));
        let complete = stop.status == Status::Success;
        let verification = PipelineProof {
            status: if complete { "verified" } else { "not_verified" },
            commitments: [],
            proved,
        };
        let data =
            PipelineData { phase: known.closed.map(Phase::name), report: report.display().to_string() };
        let result = TurnResult {
            status: stop.status.name().into(),
            reason: stop.reason.into(),
            exit_code: stop.status.exit().code(),
            text: stop.message.clone(),
            error: (!complete).then(|| stop.message.clone()),
            failure_signature: (!complete).then(|| stop.reason.replace('_', "-")),
            data: serde_json::to_value(data).unwrap_or_default(),
            verification: serde_json::to_value(verification).unwrap_or_default(),
            cost: totals.report(),
            rounds: totals.turns,
            tool_calls: self.agents.cost().calls().values().sum::<u64>(),
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
        self.run.save(&record, &self.project.redactor)?;
        self.trace.event(result)?;
        self.trace.sync()?;
        self.push(stop.status.name(), &stop.message).await;
        let run = self.run.path().to_path_buf();
        // The record has the cost of the whole run; the caller of this process pays for this process.
        let totals = self.agents.cost().totals()?;
        Ok(PipelineOutcome {
            status: stop.status,
            reason: stop.reason,
            message: stop.message.clone(),
            report,
            run,
            totals,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn tickets(&self) -> Result<&Tickets, Halt> {
        self.tickets.as_ref().ok_or_else(|| Halt::Tool("the tickets were not opened".into()))
    }

    /// The tool context of the pipeline's own calls.
    pub(crate) fn context(&self, ticket: Option<&str>) -> ToolContext {
        let mut context = self.project.tool_context(self.cancel.clone(), Some(self.run.artifacts().clone()));
        context.access = Access::Full;
        context.duty = Arc::new(Duty::new(ticket));
        context
    }

    /// Commits all changes, with the ticket in the message; a refusal by git becomes a notice.
    pub(crate) async fn commit(&self, message: &str, ticket: &str) -> Result<(), Halt> {
        let mut context = self.context(Some(ticket));
        context.duty.made(ticket);
        context.artifacts = None;
        if let Err(why) = project_setup::commit(message, &context).await {
            self.trace.notice(format!("cannot commit: {}", truncate::line(&why.to_string(), 300)))?;
        }
        Ok(())
    }

    /// A record key of this generation of a phase.
    pub(crate) fn key(&self, phase: Phase, name: &str) -> String {
        match self.known.generation(phase) {
            0 => name.to_string(),
            number => format!("g{number}-{name}"),
        }
    }

    /// The recorded value of this name; computed and recorded at the first call.
    pub(crate) async fn once<T: Serialize + DeserializeOwned>(
        &self,
        phase: Phase,
        name: &str,
        compute: impl AsyncFnOnce() -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        let key = format!("check-{}", self.key(phase, name));
        if let Some(value) = self.agents.kept(&key)? {
            return serde_json::from_value(value)
                .map_err(|error| Halt::Tool(format!("the record of {key}: {error}")));
        }
        let value = compute().await?;
        if self.cancel.is_cancelled() {
            return Err(interrupted());
        }
        self.keep(&key, &value)?;
        Ok(value)
    }

    /// Records a value under a key.
    pub(crate) fn keep(&self, key: &str, value: &impl Serialize) -> Result<(), Halt> {
        let value = serde_json::to_value(value).map_err(|error| Halt::Tool(error.to_string()))?;
        Ok(self.agents.keep(key, &value)?)
    }

    /// Seals the tests and the plan as the oracle of all later phases.
    pub(crate) fn seal(&self) -> Result<Oracle, Halt> {
        let oracle = Oracle::take(&self.root);
        let path = self.agents.beside("oracle", "files.json");
        atomic::replace(&path, &serde_json::to_vec(&oracle).unwrap_or_default())?;
        Ok(oracle)
    }

    /// The sealed oracle.
    pub(crate) fn oracle(&self) -> Result<Oracle, Halt> {
        let path = self.agents.beside("oracle", "files.json");
        let read = files::read_text(&path, MAX_KEPT_ORACLE_BYTES, Links::Refuse).ok();
        read.and_then(|text| serde_json::from_str(&text).ok()).ok_or_else(|| {
            Halt::Tool(format!("{} is missing or damaged, so the sealed tests are not known\n  hint: `marvin pipeline resume --trust 2a` writes the integration tests again", path.display()))
        })
    }

    /// Notifies the ntfy topic, if one was given.
    async fn push(&self, what: &str, text: &str) {
        let Some(topic) = &self.ntfy else { return };
        let message =
            self.project.redactor.text(&format!("{what}: {}", truncate::line(text, 160))).into_owned();
        if let Err(error) = ntfy::publish(&self.project.settings, topic, "Marvin pipeline", &message).await {
            self.trace.notice(format!("cannot send the notification to `{topic}`: {error}")).ok();
        }
    }

    pub(crate) fn goal(&self) -> &str {
        &self.goal
    }
}

/// The halt of a cancelled pipeline.
pub(crate) fn interrupted() -> Halt {
    Halt::Stop(Stop {
        status: Status::Interrupted,
        reason: "interrupted",
        message: "interrupted; run the same command to continue from here".into(),
    })
}
