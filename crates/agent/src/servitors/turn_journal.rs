//! The life of a servitor, and of the coordinator, as their turns see it.

use super::Servitors;
use super::error::RegistryError;
use super::record::{Entry, Record, ResumePoint};
use super::scheduler::ServitorScheduler;
use super::state::ServitorState;
use crate::turn_journal::{PriorCall, TurnJournal};
use crate::verification::VerificationResult;
use async_trait::async_trait;
use marvin_base::ledger::LedgerError;
use marvin_gate::quote;
use marvin_model::{Message, Reply, ToolCall};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// What is known of calls from an earlier process.
type Calls = (BTreeSet<String>, BTreeMap<String, (bool, String)>);

/// The life of a servitor.
pub(super) struct ServitorJournal {
    household: Arc<ServitorScheduler>,
    id: String,
    record: Record,
    calls: Mutex<Calls>,
}

impl ServitorJournal {
    pub(super) fn new(household: Arc<ServitorScheduler>, id: &str, restored: &mut ResumePoint) -> Self {
        let record = household.registry.record(id);
        let calls = (std::mem::take(&mut restored.begun), std::mem::take(&mut restored.ended));
        ServitorJournal { household, id: id.to_string(), record, calls: Mutex::new(calls) }
    }

    fn become_state(&self, to: ServitorState, reason: &str) -> Result<(), LedgerError> {
        self.household.registry.become_state(&self.id, to, reason).map_err(ledger_error)
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

/// Word from others, as one message. What another agent says is news, not a rule.
pub(super) fn word(letters: &[(String, String)]) -> String {
    let letters: Vec<String> = letters
        .iter()
        .map(|(from, text)| format!("[word from {}]\n{}", quote::line(from, 80), text.trim()))
        .collect();
    letters.join("\n\n")
}

#[async_trait]
impl TurnJournal for ServitorJournal {
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // A model that answers at once would otherwise let one servitor run to its end before another begins.
        tokio::task::yield_now().await;
        self.household.asking.clone().acquire_owned().await.ok()
    }

    fn needs_status(&self) -> bool {
        true
    }

    fn keeps(&self) -> bool {
        true
    }

    fn spent(&self) -> Option<String> {
        let left = self.household.registry.left(&self.id);
        let is_spent = left.nanos == Some(0) || left.rounds == Some(0);
        is_spent.then(|| "the servitor's budget, or that of whoever summoned it, is spent".to_string())
    }

    fn spend(&self, nanos: u64) -> Result<(), LedgerError> {
        if nanos > 0 {
            self.record.append(&Entry::Spent { nanos })?;
            self.household.registry.spend(&self.id, nanos, 0);
        }
        Ok(())
    }

    fn inbox(&self) -> Result<Option<Message>, LedgerError> {
        let letters = self.household.take_letters(&self.id);
        if letters.is_empty() {
            return Ok(None);
        }
        let message = Message::user(word(&letters));
        self.record.append(&Entry::Fed { messages: vec![message.clone()], inbox: letters.len() })?;
        Ok(Some(message))
    }

    async fn company(&self, cancel: &CancellationToken) -> Option<String> {
        self.household.company(&self.id, cancel).await
    }

    fn fed(&self, messages: &[Message]) -> Result<(), LedgerError> {
        self.record.append(&Entry::Fed { messages: messages.to_vec(), inbox: 0 })
    }

    fn replied(&self, reply: &Reply, calls: &[ToolCall]) -> Result<(), LedgerError> {
        let (text, opaque, calls) = (reply.text.clone(), reply.opaque.clone(), calls.to_vec());
        self.record.append(&Entry::Reply { text, opaque, calls })?;
        self.household.registry.spend(&self.id, 0, 1);
        Ok(())
    }

    fn known(&self, call: &ToolCall) -> PriorCall {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        match calls.1.get(&call.id) {
            Some((ok, text)) => PriorCall::Ended(*ok, text.clone()),
            None if calls.0.contains(&call.id) => PriorCall::Begun,
            None => PriorCall::New,
        }
    }

    fn begun(&self, call: &ToolCall) -> Result<(), LedgerError> {
        self.record.append(&Entry::Begun { call: call.id.clone() })
    }

    fn ended(&self, call: &ToolCall, ok: bool, text: &str) -> Result<(), LedgerError> {
        self.record.append(&Entry::Ended { call: call.id.clone(), ok, text: text.to_string() })
    }

    fn rebuilt(&self, messages: &[Message], opening: usize) -> Result<(), LedgerError> {
        self.record.append(&Entry::Rebuilt { messages: messages.to_vec(), opening })
    }

    fn claims(&self, reply: &Reply) -> Result<(), LedgerError> {
        // One that is verified again after a restart was written down before.
        if self.household.registry.get(&self.id).is_some_and(|body| body.state == ServitorState::Verifying) {
            return Ok(());
        }
        let (text, opaque) = (reply.text.clone(), reply.opaque.clone());
        self.record.append(&Entry::Claim { text, opaque })?;
        self.become_state(ServitorState::Verifying, "it says that it is done")
    }

    async fn turn_to_prove(&self) -> Option<OwnedSemaphorePermit> {
        self.household.proving.clone().acquire_owned().await.ok()
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

/// The coordinator of a session: it hears from its servitors, and does not end before they do.
pub(crate) struct CoordinatorInbox(pub(crate) Arc<Servitors>);

#[async_trait]
impl TurnJournal for CoordinatorInbox {
    fn inbox(&self) -> Result<Option<Message>, LedgerError> {
        let Some(household) = self.0.opened() else { return Ok(None) };
        let letters = household.take_letters(household.registry.coordinator());
        Ok((!letters.is_empty()).then(|| Message::user(word(&letters))))
    }

    async fn company(&self, cancel: &CancellationToken) -> Option<String> {
        let household = self.0.opened()?;
        household.company(household.registry.coordinator(), cancel).await
    }
}
