//! Prompts of a conversation, one after the other, each in a session of its own.

use super::approvals::approver;
use super::broken::Mark;
use super::events::{FailedEvent, Teller};
use super::shell::{self, ShellLine};
use super::{Chat, Message};
use crate::error::SessionError;
use crate::history::History;
use crate::outcome::{Outcome, Status};
use crate::project_context::ProjectContext;
use crate::session::{Manner, Session, SessionOptions};
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_model::price::dollars;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// How a prompt is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// By the model of the conversation.
    Prompt,
    /// By this provider, once.
    Of(&'static str),
    /// By resuming its interrupted run.
    Resumed(String),
}

impl Chat {
    /// Answers a prompt, then the one that waits, until none does.
    pub(super) async fn drive(self, prompt: String, kind: Kind) {
        let mut next = Some((prompt, kind));
        while let Some((prompt, kind)) = next.take() {
            let cancel =
                self.state().running.as_ref().map(|running| running.cancel.clone()).unwrap_or_default();
            let (chat, asked) = (self.clone(), prompt.clone());
            // A task of its own, so that a panic ends the turn and not the conversation.
            let ended = tokio::spawn(async move { chat.one(&asked, kind, cancel).await }).await;
            let failed = match ended {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(error) => Some(format!("the turn broke: {error}")),
            };
            if let Some(error) = failed {
                let project = self.project();
                let error = project.redactor.text(&error).into_owned();
                self.inner.log.push("turn.failed", &FailedEvent { error: &error });
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

    /// Runs one turn, from its mark on disk to the stored messages.
    async fn one(&self, prompt: &str, kind: Kind, cancel: CancellationToken) -> Result<(), SessionError> {
        let (project, resume) = self.project_for(kind)?;
        let profile = self.state().profile.clone();
        let open_turns = project.layout.open_turns(&profile);
        let mut mark = Mark::new(
            &open_turns,
            prompt,
            &project.layout.runs(),
            &project.layout.chat_log(&profile),
            &project.redactor,
        )?;
        let mut teller = Teller::new(self.inner.log.clone(), project.redactor.clone());
        let brought = self.inner.brings.as_ref().map(|brings| brings(&project)).unwrap_or_default();
        let opened = Session::open_run(
            SessionOptions {
                project,
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
                // Nothing began, so there is nothing to resume.
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
        self.add_cost(&totals);
        match outcome {
            Ok(outcome) => {
                self.keep(prompt, &outcome, session.run().id());
                self.apply_changes(session.changes().take());
            }
            Err(error) => {
                // The record failed; the error is shown with the prompt.
                mark.done();
                return Err(error);
            }
        }
        mark.done();
        Ok(())
    }

    /// Project context of a turn: the conversation's, with its script and the rest of its budget.
    fn project_for(&self, kind: Kind) -> Result<(ProjectContext, Option<String>), SessionError> {
        let (mut project, script_state, left) = {
            let state = self.state();
            (state.project.clone(), state.script_state.clone(), state.left())
        };
        let mut settings = project.settings.as_ref().clone();
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
            Kind::Resumed(run) => resume = Some(run),
        }
        project.settings = Arc::new(settings);
        Ok((project, resume))
    }

    /// Shows what the session stored, and records why it did not succeed.
    fn keep(&self, prompt: &str, outcome: &Outcome, run: &str) {
        let run = (outcome.calls > 0).then_some(run);
        self.shown(&[("you", prompt), ("assistant", &outcome.text)], run);
        if outcome.status != Status::Success {
            let why = match outcome.status {
                Status::Interrupted => "interrupted".to_string(),
                status => {
                    let why = outcome.error.clone().unwrap_or_else(|| outcome.reason.to_string());
                    format!("{}: {why}", status.name())
                }
            };
            self.record(&[("system", &why)]);
        }
    }

    /// Adds to the chat log, and shows it.
    pub(super) fn record(&self, entries: &[(&str, &str)]) {
        let (project, profile) = {
            let state = self.state();
            (state.project.clone(), state.profile.clone())
        };
        let clean: Vec<(&str, String)> =
            entries.iter().map(|(role, text)| (*role, project.redactor.text(text).into_owned())).collect();
        let entries: Vec<(&str, &str)> = clean.iter().map(|(role, text)| (*role, text.as_str())).collect();
        let (limit, target) =
            (project.settings.count(&table::HISTORY_COMPACT), project.settings.count(&table::HISTORY_TARGET));
        let path = project.layout.chat_log(&profile);
        if let Err(error) = History::record(&path, &entries, limit, target) {
            self.say(&format!("{} was not updated: {error}", path.display()));
        }
        self.shown(&entries, None);
    }

    /// Shows what was added to the chat log; `run` gave the answer.
    fn shown(&self, entries: &[(&str, &str)], run: Option<&str>) {
        let mut state = self.state();
        let redactor = state.project.redactor.clone();
        let now = crate::history::time_now();
        let mut kept: Vec<Arc<Message>> = Vec::new();
        for (role, text) in entries {
            if !text.trim().is_empty() {
                let run = run.filter(|_| *role == "assistant").map(str::to_string);
                kept.push(state.keep(role, &redactor.text(text), &now, run));
            }
        }
        drop(state);
        for message in kept {
            self.inner.log.push("message", &*message);
        }
    }

    /// Runs a shell command that the person typed, and stores it with its output. In shell mode the directory stays.
    pub(super) async fn shell(&self, line: &str) -> String {
        let (project, directory) = {
            let state = self.state();
            (state.project.clone(), state.shell_directory.clone().filter(|_| state.shell))
        };
        let is_kept = self.state().shell;
        let root =
            project.workspace.as_ref().map_or(project.directory.as_path(), |workspace| workspace.root());
        let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        let ran =
            if is_kept { ShellLine::new(line, directory.as_deref()) } else { ShellLine::unchanged(line) };
        let text = match super::lists::run(&project, &ran.text).await {
            Ok(text) => text,
            Err(error) => error.to_string(),
        };
        let (mut text, found) = ran.split_output(&text);
        match found.map(|found| shell::keep_directory(&found, &root)) {
            Some(Ok(directory)) => self.state().shell_directory = directory,
            Some(Err(error)) => text.push_str(&format!("\n{error}")),
            None => {}
        }
        let shown = if text.trim().is_empty() { "(it said nothing)".to_string() } else { text };
        self.record(&[("you", &format!("!{line}")), ("assistant", &shown)]);
        truncate::head(&shown, 200_000)
    }
}
