//! Journals of turns: one that is written to a record, and the coordinator's, which only listens.

use super::inbox::join_messages;
use super::record::{Entry, Record, ResumePoint};
use super::scheduler::{ServitorScheduler, Servitors};
use super::state::ServitorState;
use crate::error::RegistryError;
use crate::turn_journal::{PriorCall, TurnJournal};
use crate::verification::VerificationResult;
use async_trait::async_trait;
use marvin_base::ledger::LedgerError;
use marvin_model::{Message, Reply, ToolCall};
use marvin_tools::FileHashes;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Journal of a turn that another process can resume: of a servitor, or of an attempt at a step.
pub(crate) struct RecordJournal {
    record: Record,
    /// Calls that an earlier process began.
    begun: BTreeMap<String, Option<FileHashes>>,
    /// Results of calls that an earlier process wrote down.
    ended: BTreeMap<String, (bool, String)>,
    asking: Arc<Semaphore>,
    proving: Arc<Semaphore>,
    /// The servitor; none for a step.
    servitor: Option<(Arc<ServitorScheduler>, String)>,
}

impl RecordJournal {
    /// Journal of an attempt at a step.
    pub(crate) fn of_step(
        record: Record,
        restored: &mut ResumePoint,
        asking: Arc<Semaphore>,
        proving: Arc<Semaphore>,
    ) -> Self {
        let (begun, ended) = (std::mem::take(&mut restored.begun), std::mem::take(&mut restored.ended));
        RecordJournal { record, begun, ended, asking, proving, servitor: None }
    }

    /// Journal of a servitor's turn.
    pub(super) fn of_servitor(
        scheduler: &Arc<ServitorScheduler>,
        id: &str,
        restored: &mut ResumePoint,
    ) -> Self {
        let (asking, proving) = (scheduler.asking.clone(), scheduler.proving.clone());
        RecordJournal {
            servitor: Some((scheduler.clone(), id.to_string())),
            ..RecordJournal::of_step(scheduler.registry.record(id), restored, asking, proving)
        }
    }

    fn become_state(&self, to: ServitorState, reason: &str) -> Result<(), LedgerError> {
        let Some((scheduler, id)) = &self.servitor else { return Ok(()) };
        scheduler.registry.become_state(id, to, reason).map_err(ledger_error)
    }
}

/// A change that cannot be written ends the turn, as a record that cannot be written does.
fn ledger_error(error: RegistryError) -> LedgerError {
    match error {
        RegistryError::Record(error) => error,
        other => LedgerError::Io {
            doing: "write",
            path: "the servitor's document".into(),
            source: std::io::Error::other(other.to_string()),
        },
    }
}

#[async_trait]
impl TurnJournal for RecordJournal {
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // A model that answers at once would otherwise let one agent run to its end before another begins.
        tokio::task::yield_now().await;
        self.asking.clone().acquire_owned().await.ok()
    }

    fn needs_status(&self) -> bool {
        true
    }

    fn keeps(&self) -> bool {
        true
    }

    fn spent(&self) -> Option<String> {
        let (scheduler, id) = self.servitor.as_ref()?;
        let left = scheduler.registry.left(id);
        let is_spent = left.nanos == Some(0) || left.rounds == Some(0);
        is_spent.then(|| "the budget of the servitor, or of its parent, is spent".to_string())
    }

    fn spend(&self, nanos: u64) -> Result<(), LedgerError> {
        if let (Some((scheduler, id)), true) = (&self.servitor, nanos > 0) {
            self.record.append(&Entry::Spent { nanos })?;
            scheduler.registry.spend(id, nanos, 0);
        }
        Ok(())
    }

    fn inbox(&self) -> Result<Option<Message>, LedgerError> {
        let Some((scheduler, id)) = &self.servitor else { return Ok(None) };
        let letters = scheduler.take_letters(id);
        if letters.is_empty() {
            return Ok(None);
        }
        let message = Message::user(join_messages(&letters));
        self.record.append(&Entry::Fed { messages: vec![message.clone()], inbox: letters.len() })?;
        Ok(Some(message))
    }

    async fn wait_for_news(&self, cancel: &CancellationToken) -> Option<String> {
        let (scheduler, id) = self.servitor.as_ref()?;
        scheduler.wait_for_news(id, cancel).await
    }

    fn fed(&self, messages: &[Message]) -> Result<(), LedgerError> {
        self.record.append(&Entry::Fed { messages: messages.to_vec(), inbox: 0 })
    }

    fn replied(&self, reply: &Reply, calls: &[ToolCall]) -> Result<(), LedgerError> {
        let (text, opaque, calls) = (reply.text.clone(), reply.opaque.clone(), calls.to_vec());
        self.record.append(&Entry::Reply { text, opaque, calls })?;
        if let Some((scheduler, id)) = &self.servitor {
            scheduler.registry.spend(id, 0, 1);
        }
        Ok(())
    }

    fn known(&self, call: &ToolCall) -> PriorCall {
        match self.ended.get(&call.id) {
            Some((ok, text)) => PriorCall::Ended(*ok, text.clone()),
            None => self.begun.get(&call.id).cloned().map_or(PriorCall::New, PriorCall::Begun),
        }
    }

    fn begun(&self, call: &ToolCall, before: Option<FileHashes>) -> Result<(), LedgerError> {
        self.record.append(&Entry::Begun { call: call.id.clone(), before })
    }

    fn ended(&self, call: &ToolCall, ok: bool, text: &str) -> Result<(), LedgerError> {
        self.record.append(&Entry::Ended { call: call.id.clone(), ok, text: text.to_string() })
    }

    fn rebuilt(&self, messages: &[Message], opening: usize) -> Result<(), LedgerError> {
        self.record.append(&Entry::Rebuilt { messages: messages.to_vec(), opening })
    }

    fn claims(&self, reply: &Reply) -> Result<(), LedgerError> {
        // A servitor's claim that is verified again after a restart was written down before.
        let servitor = self.servitor.as_ref().and_then(|(scheduler, id)| scheduler.registry.get(id));
        if servitor.is_some_and(|servitor| servitor.state == ServitorState::Verifying) {
            return Ok(());
        }
        let (text, opaque) = (reply.text.clone(), reply.opaque.clone());
        self.record.append(&Entry::Claim { text, opaque })?;
        self.become_state(ServitorState::Verifying, "it says that it is done")
    }

    async fn turn_to_prove(&self) -> Option<OwnedSemaphorePermit> {
        self.proving.clone().acquire_owned().await.ok()
    }

    fn judged(&self, proved: &VerificationResult, back: bool) -> Result<(), LedgerError> {
        let summary = proved.summary.clone();
        self.record.append(&Entry::Judged { verified: proved.verified, summary: summary.clone() })?;
        if back {
            self.become_state(ServitorState::Working, &format!("not verified: {summary}"))?;
        }
        Ok(())
    }
}

/// Journal of a session's own turn: it hears from its servitors, and does not end before they do.
pub(crate) struct CoordinatorInbox(pub(crate) Arc<Servitors>);

#[async_trait]
impl TurnJournal for CoordinatorInbox {
    fn inbox(&self) -> Result<Option<Message>, LedgerError> {
        let Some(scheduler) = self.0.opened() else { return Ok(None) };
        let letters = scheduler.take_letters(scheduler.registry.coordinator());
        Ok((!letters.is_empty()).then(|| Message::user(join_messages(&letters))))
    }

    async fn wait_for_news(&self, cancel: &CancellationToken) -> Option<String> {
        let scheduler = self.0.opened()?;
        scheduler.wait_for_news(scheduler.registry.coordinator(), cancel).await
    }
}
