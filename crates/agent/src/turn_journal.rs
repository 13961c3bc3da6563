//! Journal of an agent that outlives its turns: a servitor, a step, or a coordinator. Other turns have none.

use crate::verification::VerificationResult;
use async_trait::async_trait;
use marvin_base::ledger::LedgerError;
use marvin_model::{Message, Reply, ToolCall};
use marvin_tools::FileHashes;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// What an earlier process recorded of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriorCall {
    /// Nothing: it was not made.
    New,
    /// It was begun, and its result is unknown; with the files that it writes as they were before.
    Begun(Option<FileHashes>),
    /// Its result.
    Ended(bool, String),
}

/// Journal of a turn. Everything is recorded before it counts.
#[async_trait]
pub trait TurnJournal: Send + Sync {
    /// Permit to ask the model, where the number of concurrent requests is limited.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        None
    }

    /// Whether a reply needs a status to end the work.
    fn needs_status(&self) -> bool {
        false
    }

    /// Whether calls are recorded for a process that resumes the work.
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

    /// Messages that arrived since, as one.
    fn inbox(&self) -> Result<Option<Message>, LedgerError> {
        Ok(None)
    }

    /// Waits for the servitors of this agent; gives their news, or none when none runs.
    async fn wait_for_news(&self, _cancel: &CancellationToken) -> Option<String> {
        None
    }

    /// Messages were added to the conversation.
    fn fed(&self, _messages: &[Message]) -> Result<(), LedgerError> {
        Ok(())
    }

    /// The model asked for calls.
    fn replied(&self, _reply: &Reply, _calls: &[ToolCall]) -> Result<(), LedgerError> {
        Ok(())
    }

    /// What an earlier process recorded of a call.
    fn known(&self, _call: &ToolCall) -> PriorCall {
        PriorCall::New
    }

    /// A call is about to be made; `before` are the files that it writes, where it does nothing else.
    fn begun(&self, _call: &ToolCall, _before: Option<FileHashes>) -> Result<(), LedgerError> {
        Ok(())
    }

    fn ended(&self, _call: &ToolCall, _ok: bool, _text: &str) -> Result<(), LedgerError> {
        Ok(())
    }

    /// The conversation was compacted; `messages` are without the system message.
    fn rebuilt(&self, _messages: &[Message], _opening: usize) -> Result<(), LedgerError> {
        Ok(())
    }

    /// The model claims to be done; a claim that is verified again was recorded before.
    fn claims(&self, _reply: &Reply) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Waits until the claim may be verified: one verification at a time works on a project.
    async fn turn_to_prove(&self) -> Option<OwnedSemaphorePermit> {
        None
    }

    /// The claim was verified; `back` says whether the agent continues.
    fn judged(&self, _proved: &VerificationResult, _back: bool) -> Result<(), LedgerError> {
        Ok(())
    }
}
