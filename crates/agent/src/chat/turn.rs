//! One prompt after the other: a session each, and what is kept of it.

use super::approvals::approver;
use super::broken::Mark;
use super::events::Teller;
use super::{Chat, Message};
use crate::history::History;
use crate::outcome::{Outcome, Status};
use crate::project_context::ProjectContext;
use crate::session::{Manner, Session, SessionError, SessionOptions};
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_model::price::dollars;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What is to be done with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is asked.
    Prompt,
    /// It is asked of this provider, once.
    Of(&'static str),
    /// Its run is taken up where it broke off.
    TakenUp(String),
}

impl Chat {
    /// Answers a prompt, then the one that waits, until none does.
    pub(super) async fn drive(self, prompt: String, kind: Kind) {
        let mut next = Some((prompt, kind));
        while let Some((prompt, kind)) = next.take() {
            let cancel =
                self.state().running.as_ref().map(|running| running.cancel.clone()).unwrap_or_default();
            let (chat, asked) = (self.clone(), prompt.clone());
            // A task of its own: what breaks in there ends the turn, not the conversation.
            let ended = tokio::spawn(async move { chat.one(&asked, kind, cancel).await }).await;
            let failed = match ended {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(error) => Some(format!("the turn broke: {error}")),
            };
            if let Some(error) = failed {
                let ground = self.ground();
                let error = ground.redactor.text(&error).into_owned();
                self.inner.log.push("turn.failed", json!({ "error": error }));
                self.record(&[("you", &prompt), ("system", &error)]);
            }
            let mut state = self.state();
            state.running = None;
            state.waiting = None;
            if let Some(queued) = state.queued.take() {
                state.begin(&queued, self.inner.log.last());
                next = Some((queued, Kind::Prompt));
            }
            drop(state);
            self.tell_status();
        }
    }

    /// One turn, from its mark on the disk to what is kept of it.
    async fn one(&self, prompt: &str, kind: Kind, cancel: CancellationToken) -> Result<(), SessionError> {
        let (ground, resume) = self.ground_for(kind)?;
        let profile = self.state().profile.clone();
        let open_turns = ground.layout.open_turns(&profile);
        let mut mark = Mark::new(
            &open_turns,
            prompt,
            &ground.layout.runs(),
            &ground.layout.chat_log(&profile),
            &ground.redactor,
        )?;
        let mut teller = Teller::new(self.inner.log.clone(), ground.redactor.clone());
        let brought = self.inner.brings.as_ref().map(|brings| brings(&ground)).unwrap_or_default();
        let opened = Session::open_run(
            SessionOptions {
                ground,
                manner: Manner::Attended,
                record: None,
                response_schema: None,
                listener: Box::new(move |notice| teller.tell(&notice)),
                cancel,
                replay: None,
                commitments: Vec::new(),
                servitors: None,
                turbotime: self.state().turbotime.clone(),
                approver: approver(&self.inner.asking, self.inner.person.is_some()),
            },
            resume.as_deref(),
        );
        let mut session = match opened {
            Ok(session) => session,
            Err(error) => {
                // Nothing began: there is nothing to take up.
                mark.done();
                return Err(error);
            }
        };
        mark.answered_by(session.run().id())?;
        session.take(brought);
        session.arm_deadline();
        {
            let mut state = self.state();
            state.script_state.get_or_insert_with(|| session.run().script_state());
        }
        let outcome = session.turn(prompt).await;
        let totals = session.cost().totals().unwrap_or_default();
        self.state().spent += totals.cost;
        match outcome {
            Ok(outcome) => self.keep(prompt, &outcome),
            Err(error) => {
                // The record broke; that it was asked is told with the error.
                mark.done();
                return Err(error);
            }
        }
        mark.done();
        Ok(())
    }

    /// The ground of a turn: the conversation's, its script, and what is left of its budget.
    fn ground_for(&self, kind: Kind) -> Result<(ProjectContext, Option<String>), SessionError> {
        let (mut ground, script_state, left) = {
            let state = self.state();
            (state.ground.clone(), state.script_state.clone(), state.left())
        };
        let mut settings = ground.settings.as_ref().clone();
        if let (Some(path), true) = (script_state, settings.given(&table::SCRIPT).is_some()) {
            settings = settings.with(&table::SCRIPT_STATE, &path.display().to_string())?;
        }
        if let Some(left) = left {
            settings = settings.with(&table::MAX_COST, &dollars(left).to_string())?;
        }
        let mut resume = None;
        match kind {
            Kind::Prompt => {}
            Kind::Of(provider) => settings = settings.with(&table::PROVIDER, provider)?,
            Kind::TakenUp(run) => resume = Some(run),
        }
        ground.settings = Arc::new(settings);
        Ok((ground, resume))
    }

    /// Shows what the session kept, and keeps why there is no answer.
    fn keep(&self, prompt: &str, outcome: &Outcome) {
        self.shown(&[("you", prompt), ("assistant", &outcome.text)]);
        if outcome.status != Status::Success {
            let why = match outcome.status {
                Status::Interrupted => "broken off".to_string(),
                status => {
                    let why = outcome.error.clone().unwrap_or_else(|| outcome.reason.to_string());
                    format!("{}: {why}", status.name())
                }
            };
            self.record(&[("system", &why)]);
        }
    }

    /// Adds to the chat log, and shows it.
    pub(super) fn record(&self, said: &[(&str, &str)]) {
        let (ground, profile) = {
            let state = self.state();
            (state.ground.clone(), state.profile.clone())
        };
        let clean: Vec<(&str, String)> =
            said.iter().map(|(role, text)| (*role, ground.redactor.text(text).into_owned())).collect();
        let said: Vec<(&str, &str)> = clean.iter().map(|(role, text)| (*role, text.as_str())).collect();
        let (limit, target) =
            (ground.settings.count(&table::HISTORY_COMPACT), ground.settings.count(&table::HISTORY_TARGET));
        let path = ground.layout.chat_log(&profile);
        if let Err(error) = History::record(&path, &said, limit, target) {
            self.say(&format!("{} was not updated: {error}", path.display()));
        }
        self.shown(&said);
    }

    /// Shows what was added to the chat log.
    fn shown(&self, said: &[(&str, &str)]) {
        let mut state = self.state();
        let redactor = state.ground.redactor.clone();
        let now = crate::history::time_now();
        let mut kept: Vec<Arc<Message>> = Vec::new();
        for (role, text) in said {
            if !text.trim().is_empty() {
                kept.push(state.keep(role, &redactor.text(text), &now));
            }
        }
        drop(state);
        for message in kept {
            self.inner.log.push("message", json!(*message));
        }
    }

    /// Runs a command of the shell that the person typed, and keeps it with what it said.
    pub(super) async fn shell(&self, line: &str) -> String {
        let text = match super::lists::run(&self.ground(), line).await {
            Ok(text) => text,
            Err(error) => error,
        };
        let shown = if text.trim().is_empty() { "(it said nothing)".to_string() } else { text };
        self.record(&[("you", &format!("!{line}")), ("assistant", &shown)]);
        truncate::head(&shown, 200_000)
    }
}
