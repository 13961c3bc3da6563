//! A session, as every front end holds it. It opens the record, chooses the model, sets up the tools, runs turns and closes the
//! record with exactly one `result`.

mod after_turn;
pub mod artifacts;
mod before_turn;
mod close;
mod conversation;
mod lazy_session;
mod open;
mod options;
mod resume;
mod servitors;
mod stages;

pub use before_turn::settle_turns;
pub use lazy_session::{LazySession, SharedListener};
pub use options::{ExtraContext, Manner, Offer, Replay, SessionOptions};
pub use resume::{close_broken, prompt_of};

use crate::account::Account;
use crate::error::SessionError;
use crate::outcome::Outcome;
use crate::person_tools::SessionChanges;
use crate::profile::Profile;
use crate::roles::Role;
use crate::servitors::Servitors;
use crate::skills::SkillSource;
use crate::trace::Trace;
use crate::turn::Turn;
use crate::turn_commitments::TurnCommitments;
use marvin_base::atomic::WriteError;
use marvin_base::layout::Layout;
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{PromptExtra, RunKind, RunRecord, RunStatus, TurnRecord};
use marvin_base::settings::{Setting, Settings, table};
use marvin_base::trace_event::{RunOpened, TraceEvent};
use marvin_gate::{Layers, Workspace};
use marvin_model::Message;
use marvin_model::cost::CostLedger;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// Settings that shape a conversation: they are kept in `run.json`, and a replay takes them from there.
static SHAPING: [&Setting; 15] = [
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
    &table::TOOLS_OFFER,
    &table::TOOLS_ALWAYS,
];

/// An open session.
#[derive(Debug)]
pub struct Session {
    changes: Arc<SessionChanges>,
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
    skills: SkillSource,
    extras: Vec<PromptExtra>,
    /// Documents of higher layers that its turns can find.
    offers: Vec<Offer>,
    /// The conversation before this prompt, where the caller has it.
    earlier: Option<Vec<Message>>,
    /// Account of the run before this process resumed it.
    resumed: Option<Account>,
}

impl Session {
    fn begin(
        &mut self,
        record: Option<&Path>,
        directory: &Path,
        start: BTreeMap<String, String>,
    ) -> Result<(), SessionError> {
        let workspace = self.workspace.as_ref().map(|workspace| workspace.root().display().to_string());
        let unattended = self.manner == Manner::Unattended;
        self.record.status = Some(RunStatus::Running);
        self.record.manner = if unattended { RunKind::NonInteractive } else { RunKind::Inline };
        self.record.tool_call_count = Some(0);
        self.record.start = start;
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

    /// Reports problems of the gate's rules, and other notices.
    fn warn(&self, further: impl Iterator<Item = String>) -> Result<(), SessionError> {
        let problems = self.layers.problems().into_iter().map(|problem| problem.to_string());
        for text in problems.take(10).chain(further) {
            self.trace.notice(text)?;
        }
        Ok(())
    }

    /// Kind of sandbox of this run's commands.
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

    /// Changes of the conversation that tools asked for.
    #[must_use]
    pub fn changes(&self) -> &SessionChanges {
        &self.changes
    }

    #[must_use]
    pub fn run(&self) -> &RunDirectory {
        &self.run
    }

    /// Text without secrets.
    #[must_use]
    pub fn redacted(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }

    #[must_use]
    pub fn servitors(&self) -> &Arc<Servitors> {
        &self.servitors
    }

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
    pub async fn turn(&mut self, prompt: &str) -> Result<Outcome, SessionError> {
        let outcome = self.whole_turn(prompt).await;
        if outcome.is_err() {
            // The record failed: say so where that still works, so that the run does not seem to be running.
            self.record.status = Some(RunStatus::Failed);
            self.record.end_reason = Some("record_failed".into());
            self.save().ok();
        }
        // The commitments of a turn end with it; their document becomes part of its run.
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
        let outcome = self.turn.continue_with(messages, self.resumed.clone().unwrap_or_default()).await?;
        if history.is_some() {
            self.remember(prompt, &outcome.text)?;
        }
        let account = self.account(&outcome);
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
