//! What an agent that outlives its turns adds to them. A turn of its own has none of this.

use crate::verification::VerificationResult;
use async_trait::async_trait;
use marvin_base::ledger::LedgerError;
use marvin_model::{Message, Reply, ToolCall};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// What is known of a call from an earlier process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriorCall {
    /// Nothing: it was not made.
    New,
    /// It was begun, and nobody knows what came of it.
    Begun,
    /// What came of it.
    Ended(bool, String),
}

/// The life of an agent, as its turns see it. Everything is written down before it counts.
#[async_trait]
pub trait TurnJournal: Send + Sync {
    /// A place among those that may ask the model at the same time.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        None
    }

    /// Whether a reply without a status is no end.
    fn needs_status(&self) -> bool {
        false
    }

    /// Whether calls are written down, so that whoever takes the work up again knows of them.
    fn keeps(&self) -> bool {
        false
    }

    /// Why nothing more may be spent.
    fn spent(&self) -> Option<String> {
        None
    }

    /// A reply cost this much.
    fn spend(&self, _nanos: u64) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Word that arrived since, as one message.
    fn inbox(&self) -> Result<Option<Message>, LedgerError> {
        Ok(None)
    }

    /// Waits for whoever still works for this agent; gives the news, or nothing when nobody does.
    async fn company(&self, _cancel: &CancellationToken) -> Option<String> {
        None
    }

    /// Messages went into the conversation.
    fn fed(&self, _messages: &[Message]) -> Result<(), LedgerError> {
        Ok(())
    }

    /// The model asked for calls.
    fn replied(&self, _reply: &Reply, _calls: &[ToolCall]) -> Result<(), LedgerError> {
        Ok(())
    }

    /// What is known of a call.
    fn known(&self, _call: &ToolCall) -> PriorCall {
        PriorCall::New
    }

    /// A call is about to be made.
    fn begun(&self, _call: &ToolCall) -> Result<(), LedgerError> {
        Ok(())
    }

    /// What came of it.
    fn ended(&self, _call: &ToolCall, _ok: bool, _text: &str) -> Result<(), LedgerError> {
        Ok(())
    }

    /// The conversation was rebuilt; without its system message.
    fn rebuilt(&self, _messages: &[Message], _opening: usize) -> Result<(), LedgerError> {
        Ok(())
    }

    /// The model claims to be done; a claim that is verified again was written down before.
    fn claims(&self, _reply: &Reply) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Waits until the claim may be verified: one verification at a time works on a project.
    async fn turn_to_prove(&self) -> Option<OwnedSemaphorePermit> {
        None
    }

    /// The claim was verified; `back` says whether the agent goes on.
    fn judged(&self, _proved: &VerificationResult, _back: bool) -> Result<(), LedgerError> {
        Ok(())
    }
}
