//! First messages of a session's conversation, and its chat log.

use super::Session;
use super::options::{ExtraContext, Manner};
use crate::commitments::{PROJECT, VettedCommitment};
use crate::compose::{Coding, Composer, PromptExtra, budget, tool_names};
use crate::error::SessionError;
use crate::history::History;
use crate::turn_commitments::TurnCommitments;
use marvin_base::settings::table;
use marvin_base::trace_event::TraceEvent;
use marvin_model::Message;
use std::path::PathBuf;
use std::sync::Arc;

impl Session {
    /// Adds a text to the prompts of this session, such as guidance or memories. A resumed run keeps the texts that it began
    /// with.
    pub fn bring(&mut self, extra: PromptExtra) {
        if self.resumed.is_none() {
            self.extras.push(extra);
            self.turn_record().extras = self.extras.clone();
        }
    }

    /// Takes the additions of a higher layer.
    pub fn take(&mut self, brought: ExtraContext) {
        brought.guidance.into_iter().for_each(|extra| self.bring(extra));
        self.offers.extend(brought.offered);
    }

    /// Continues a conversation that the caller has, instead of the one in the chat log.
    pub fn continue_from(&mut self, earlier: Vec<Message>) {
        self.earlier = Some(earlier);
    }

    /// Adds prompt and answer to the chat log, redacted. A log that cannot be written does not undo the turn.
    pub(super) fn remember(&self, prompt: &str, answer: &str) -> Result<(), SessionError> {
        let (prompt, answer) = (self.redactor.text(prompt), self.redactor.text(answer));
        let (limit, target) =
            (self.settings.count(&table::HISTORY_COMPACT), self.settings.count(&table::HISTORY_TARGET));
        let path = self.chat_log();
        if let Err(error) = History::record(&path, &[("you", &prompt), ("assistant", &answer)], limit, target)
        {
            let text = format!("{} was not updated: {error}", path.display());
            self.trace.notice(text)?;
        }
        Ok(())
    }

    fn chat_log(&self) -> PathBuf {
        self.layout.chat_log(&self.profile.name)
    }

    pub(super) fn history(&self) -> Result<Option<History>, SessionError> {
        if self.manner != Manner::Attended {
            return Ok(None);
        }
        let path = self.chat_log();
        match History::read(&path) {
            Ok(history) => Ok(Some(history)),
            Err(error) => {
                let text = format!("{} cannot be read and is left alone: {error}", path.display());
                self.trace.notice(text)?;
                Ok(None)
            }
        }
    }

    /// First messages, from durable state: unattended turns see the chat log only as lines of the system message. The record
    /// says first what they are made of.
    pub(super) fn compose(
        &mut self,
        prompt: &str,
        history: Option<&History>,
    ) -> Result<Vec<Message>, SessionError> {
        let asked_before = self.replay.as_ref().filter(|replay| replay.attended);
        let (lines, earlier) = match (asked_before, history) {
            (None, _) if self.earlier.is_some() => (Vec::new(), self.earlier.clone().unwrap_or_default()),
            (Some(replay), _) => (Vec::new(), replay.tape.said_before()),
            (None, Some(history)) => (Vec::new(), history.messages()),
            (None, None) => (
                History::read(&self.chat_log()).map(|history| history.compact_lines()).unwrap_or_default(),
                Vec::new(),
            ),
        };
        self.skills.tell(&self.trace)?;
        let composer = self.composer(lines);
        let (reason, task) = match &self.resumed {
            Some(account) => {
                let left = self.turn.left(account.rounds())?;
                ("resume", account.task(prompt, &composer.standing(), left))
            }
            None => ("turn", prompt.to_string()),
        };
        let state = composer.state();
        self.turn_record().promised = state.commitments.clone();
        self.turn_record().skills = state.skills.clone();
        let composed = state.compose();
        self.trace.event(TraceEvent::PromptComposed(composed.record(reason, &task)))?;
        let mut messages = vec![Message::system(composed.text)];
        messages.extend(earlier);
        messages.push(Message::user(task));
        self.turn.composer = Some(Arc::new(composer));
        Ok(messages)
    }

    fn composer(&self, history: Vec<String>) -> Composer {
        let coding = self.coding.then(|| Coding::new(self.workspace.as_deref(), self.access.clone()));
        Composer {
            layout: self.layout.clone(),
            workspace: self.workspace.clone(),
            profile: self.profile.name.clone(),
            history,
            coding,
            date: self.date.clone(),
            role: self.role,
            step: self.turn.step.clone(),
            has_parent: self.settings.whole(&table::DEPTH) > 0,
            attended: self.manner == Manner::Attended
                || self.replay.as_ref().is_some_and(|replay| replay.attended),
            tools: tool_names(&self.turn.tools.specs()),
            documents: self
                .promised
                .iter()
                .map(TurnCommitments::document)
                .chain([PROJECT])
                .map(str::to_string)
                .collect(),
            recorded: self.replay.as_ref().map(|replay| replay.promised.clone()),
            skills: self.skills.clone(),
            extras: self.extras.clone(),
            budget: budget(self.turn.bounds.window.compact),
        }
    }

    /// Reports commitments that the gate would ask about, since no person is there to answer.
    pub(super) fn warn_of(&self, examined: &[VettedCommitment]) -> Result<(), SessionError> {
        for one in examined {
            if let Some(doubt) = &one.doubt {
                let line = &one.commitment.assertion;
                let text = format!(
                    "the gate asks about `{line}` ({}), so it cannot be verified until a person allows it: {}",
                    doubt.reason, doubt.how_to_fix
                );
                self.trace.notice(text)?;
            }
        }
        Ok(())
    }
}
