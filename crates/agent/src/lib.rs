//! Layer 4: the one loop.
//!
//! Every front end holds a [`session::Session`], which works in a [`project_context::ProjectContext`]. A turn of it
//! composes the prompt from durable state ([`compose`]), sends it, parses the reply ([`protocol`]), lets the gate judge and the
//! tools act ([`tool_host`]), feeds the results back, verifies what a final answer claims ([`verification`]), and ends when
//! there is nothing to feed back or a limit is reached ([`turn`]). Every event is written to one trace ([`trace`]) before it
//! is shown.

pub mod account;
pub mod agent_toolbox;
pub mod chat;
pub mod commitments;
pub mod compaction;
pub mod compose;
mod debug;
pub mod error;
pub mod evaluator;
pub mod history;
pub mod launch;
mod model_client;
pub mod offering;
pub mod outcome;
pub mod person_tools;
pub mod profile;
pub mod progress;
pub mod project_context;
pub mod protocol;
pub mod recall;
mod repository_text;
pub mod roles;
mod run_parts;
pub mod servitors;
pub mod session;
mod session_tools;
pub mod skills;
pub mod stages;
pub mod step_agents;
pub mod tool_caller;
pub mod tool_host;
pub mod trace;
pub mod turn;
mod turn_commitments;
pub mod turn_journal;
pub mod verification;

pub use error::SessionError;
pub use outcome::{Outcome, Status};
pub use project_context::ProjectContext;
pub use session::{Session, SessionOptions};
pub use tool_caller::ToolCaller;
pub use trace::{Notice, Trace};
pub use turn::Turn;
