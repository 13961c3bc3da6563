//! Compaction of a conversation that grows too long, from the state and the record.

use super::{Course, Halt, Turn};
use crate::account::RemainingBudget;
use crate::compaction;
use marvin_base::ledger::{Durability, Ledger, LedgerError};
use marvin_base::trace_event::{PromptComposed, TraceEvent};
use marvin_base::truncate;
use marvin_model::Message;
use marvin_model::price::dollars;

impl Turn {
    /// Compacts the conversation when it grows too long, after writing it down whole.
    pub(super) fn compact(&self, course: &mut Course) -> Result<(), Halt> {
        let before = compaction::total(&course.messages);
        if before < self.bounds.window.compact {
            return Ok(());
        }
        // A run that was resumed has backups already.
        let (path, place) = loop {
            course.backups += 1;
            let name = format!("context-backup-{}.jsonl", course.backups);
            let place = self.logs.place().join(&name);
            if place.symlink_metadata().is_err() {
                break (self.logs.path().join(&name), place);
            }
        };
        let mut backup = Ledger::open(&place, Durability::Turn, self.redactor.clone())?;
        for message in &course.messages {
            backup.append(message)?;
        }
        backup.sync()?;
        let (system, record) = self.compose_again(course)?;
        let task = course.messages.get(course.opening.saturating_sub(1));
        let task = task.map(|message| message.content().to_string()).unwrap_or_default();
        let (messages, opening) =
            compaction::compact(&course.messages, course.opening, &system, &task, self.bounds.window);
        course.messages = messages;
        course.opening = opening;
        if let Some(journal) = &self.journal {
            let kept: Vec<Message> = course.messages.iter().skip(1).cloned().collect();
            journal.rebuilt(&kept, opening.saturating_sub(1))?;
        }
        let after = compaction::total(&course.messages);
        self.trace.event(TraceEvent::ContextCompacted {
            tokens_before: before,
            tokens_after: after,
            backup: path.display().to_string(),
        })?;
        if let Some(record) = record {
            self.trace.event(TraceEvent::PromptComposed(record))?;
        }
        Ok(())
    }

    /// Updates the task in the conversation; gives the system message as it is now, and the record of both.
    fn compose_again(&self, course: &mut Course) -> Result<(String, Option<PromptComposed>), LedgerError> {
        let left = self.left(course.acted)?;
        let at = course.opening.saturating_sub(1);
        let goal = course.messages.get(at).map(|message| message.content().to_string()).unwrap_or_default();
        let standing = self.composer.as_ref().map(|composer| composer.standing()).unwrap_or_default();
        let task = course.account.task(&goal, &standing, left);
        // A goal that fills the window by itself stays, but what comes on top of it is cut.
        let task = truncate::middle(&task, goal.len() + self.bounds.window.compact);
        if let Some(message) = course.messages.get_mut(at) {
            *message = Message::user(task.clone());
        }
        Ok(match &self.composer {
            Some(composer) => {
                let composed = composer.compose();
                let record = composed.record("compaction", &task);
                (composed.text, Some(record))
            }
            None => {
                let system = course.messages.first().filter(|first| matches!(first, Message::System { .. }));
                (system.map(|system| system.content().to_string()).unwrap_or_default(), None)
            }
        })
    }

    /// Budget that is left after `rounds` tool rounds.
    pub(crate) fn left(&self, rounds: usize) -> Result<RemainingBudget, LedgerError> {
        let spent = match self.cost.limit() {
            Some(_) => self.cost.tree()?.cost,
            None => 0,
        };
        Ok(RemainingBudget {
            dollars: self.cost.limit().map(|limit| dollars(limit.saturating_sub(spent))),
            rounds: self.bounds.rounds.saturating_sub(rounds),
        })
    }
}
