//! Floor 4: the one loop.
//!
//! A [`session::Session`] is what every face holds; it stands on a [`ground::Ground`]. A turn of it composes the prompt from durable state ([`compose`]),
//! sends it, understands the reply ([`protocol`]), lets the gate judge and the tools act ([`host`]), feeds the results
//! back, proves what a final answer claims ([`prove`]), and ends when there is nothing to feed back or a bound is met
//! ([`turn`]). Everything that happens is an event
//! of one trace ([`trace`]) before anybody sees it.

pub mod account;
pub mod chat;
pub mod commitments;
pub mod compaction;
pub mod compose;
pub mod crew;
pub mod desk;
pub mod evaluator;
pub mod ground;
pub mod history;
pub mod host;
pub mod launch;
pub mod life;
pub mod outcome;
pub mod profile;
pub mod progress;
mod promises;
pub mod protocol;
pub mod prove;
pub mod recall;
pub mod roles;
pub mod servitors;
pub mod session;
pub mod stages;
pub mod trace;
pub mod turn;

pub use desk::ToolCaller;
pub use ground::ProjectContext;
pub use outcome::{Outcome, Status};
pub use session::{Session, SessionError, SessionOptions};
pub use trace::{Notice, Trace};
pub use turn::Turn;
