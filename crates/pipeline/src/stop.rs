//! Why a pipeline ends before its last phase.

use crate::state::StateError;
use marvin_agent::SessionError;
use marvin_agent::outcome::Status;
use marvin_base::atomic::WriteError;
use marvin_base::ledger::LedgerError;
use marvin_flow::engine::EngineError;
use marvin_tools::ToolError;
use marvin_tools::tickets::TicketError;

/// An end before the last phase, with its reason.
#[derive(Debug, Clone)]
pub struct Stop {
    /// How the run ended.
    pub status: Status,
    /// Why, in one word.
    pub reason: &'static str,
    /// What a person should know: the thing and the mend.
    pub message: String,
}

/// Why a pipeline does not go on.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// It ended, by a rule.
    #[error("{}", .0.message)]
    Stop(Stop),
    /// The session cannot go on.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The state is not what it should be.
    #[error(transparent)]
    State(#[from] StateError),
    /// Somebody else works on the run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Tickets cannot be kept.
    #[error("the tickets cannot be kept: {0}")]
    Tickets(#[from] TicketError),
    /// Something of the pipeline's own could not be run.
    #[error("{0}")]
    Tool(String),
    /// It makes no sense to begin.
    #[error("{0}")]
    Usage(String),
}

impl From<LedgerError> for Halt {
    fn from(error: LedgerError) -> Self {
        Halt::Session(error.into())
    }
}

impl From<WriteError> for Halt {
    fn from(error: WriteError) -> Self {
        Halt::Session(error.into())
    }
}

impl From<ToolError> for Halt {
    fn from(error: ToolError) -> Self {
        Halt::Tool(error.to_string())
    }
}

impl Halt {
    /// The work failed.
    pub fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        Halt::Stop(Stop { status: Status::Failed, reason, message: message.into() })
    }

    /// What was claimed does not hold.
    pub fn not_verified(reason: &'static str, message: impl Into<String>) -> Self {
        Halt::Stop(Stop { status: Status::NotVerified, reason, message: message.into() })
    }

    /// As an end: what is no rule's is a failure, but for what a person must decide.
    #[must_use]
    pub fn stop(&self) -> Stop {
        match self {
            Halt::Stop(stop) => stop.clone(),
            Halt::State(error) => {
                Stop { status: Status::Blocked, reason: "state_changed", message: error.to_string() }
            }
            other => Stop { status: Status::Failed, reason: "broken", message: other.to_string() },
        }
    }
}
