//! The life of an attempt as its turn sees it: everything is written down under its key before it counts.

use crate::servitors::{Entry, Record, ResumePoint};
use crate::turn_journal::{PriorCall, TurnJournal};
use crate::verification::VerificationResult;
use async_trait::async_trait;
use marvin_base::ledger::LedgerError;
use marvin_model::{Message, Reply, ToolCall};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The life of one attempt.
pub(super) struct JobJournal {
    record: Record,
    begun: BTreeSet<String>,
    ended: BTreeMap<String, (bool, String)>,
    asking: Arc<Semaphore>,
    proving: Arc<Semaphore>,
}

impl JobJournal {
    pub(super) fn new(
        record: Record,
        restored: &mut ResumePoint,
        asking: Arc<Semaphore>,
        proving: Arc<Semaphore>,
    ) -> Self {
        let (begun, ended) = (std::mem::take(&mut restored.begun), std::mem::take(&mut restored.ended));
        JobJournal { record, begun, ended, asking, proving }
    }
}

#[async_trait]
impl TurnJournal for JobJournal {
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // A model that answers at once would otherwise let one worker run to its end before another begins.
        tokio::task::yield_now().await;
        self.asking.clone().acquire_owned().await.ok()
    }

    fn needs_status(&self) -> bool {
        true
    }

    fn keeps(&self) -> bool {
        true
    }

    fn fed(&self, messages: &[Message]) -> Result<(), LedgerError> {
        self.record.append(&Entry::Fed { messages: messages.to_vec(), inbox: 0 })
    }

    fn replied(&self, reply: &Reply, calls: &[ToolCall]) -> Result<(), LedgerError> {
        let (text, opaque, calls) = (reply.text.clone(), reply.opaque.clone(), calls.to_vec());
        self.record.append(&Entry::Reply { text, opaque, calls })
    }

    fn known(&self, call: &ToolCall) -> PriorCall {
        match self.ended.get(&call.id) {
            Some((ok, text)) => PriorCall::Ended(*ok, text.clone()),
            None if self.begun.contains(&call.id) => PriorCall::Begun,
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
        let (text, opaque) = (reply.text.clone(), reply.opaque.clone());
        self.record.append(&Entry::Claim { text, opaque })
    }

    async fn turn_to_prove(&self) -> Option<OwnedSemaphorePermit> {
        self.proving.clone().acquire_owned().await.ok()
    }

    fn judged(&self, proved: &VerificationResult, _back: bool) -> Result<(), LedgerError> {
        self.record.append(&Entry::Judged { verified: proved.verified, summary: proved.summary.clone() })
    }
}
