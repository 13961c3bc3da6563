//! Reasons for a pipeline to end before its last phase.

use crate::state::StateError;
use marvin_agent::SessionError;
use marvin_agent::outcome::Status;
use marvin_base::atomic::WriteError;
use marvin_base::ledger::LedgerError;
use marvin_flow::engine::EngineError;
use marvin_tools::ToolError;
use marvin_tools::tickets::TicketError;

/// An orderly end before the last phase.
#[derive(Debug, Clone)]
pub struct Stop {
    pub status: Status,
    /// The reason as a word for programs.
    pub reason: &'static str,
    /// The problem and a hint, for people.
    pub message: String,
}

/// Why a pipeline cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    #[error("{}", .0.message)]
    Stop(Stop),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    State(#[from] StateError),
    /// Another process works on the run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cannot keep the tickets: {0}")]
    Tickets(#[from] TicketError),
    /// A tool of the pipeline failed.
    #[error("{0}")]
    Tool(String),
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

    /// The halt as an orderly end; a disagreement about the state blocks, other errors fail.
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
