//! Servitors: agents that outlive a process.
//!
//! A servitor is a document in the state directory (`agents/<id>.md`: name, state, parent, assignment, rights, budget,
//! commitments) and a record (`agents/records/<id>.jsonl`: its conversation and every call it made). Both are written
//! before they count, so that a restart restores every servitor: a call that has a result is not made again, one that was begun
//! is reported as interrupted, a claim that was being verified is verified again.
//!
//! [`Registry`] holds the servitors and their state; one process at a time may hold it. [`ServitorScheduler`] runs them as tasks
//! of one process. [`tools`] are what agents call.
//!
//! Limits: the effect of a call that was interrupted by a crash is unknown, only that it began. In a run that is recorded every
//! servitor asks the same model, whatever its tier.

mod inbox;
mod lock;
mod names;
mod record;
mod registry;
mod scheduler;
mod servitor;
mod state;
mod tool_host;
pub mod tools;
mod turn_journal;
mod work;

pub use crate::error::RegistryError;
pub(crate) use record::Entry;
pub use record::{Record, ResumePoint};
pub use registry::{Registry, Requester, Summons, is_held, list};
pub(crate) use scheduler::Parts;
pub use scheduler::{ServitorScheduler, Servitors, WaitResult};
pub use servitor::{Budget, Servitor, access_named, access_word};
pub use state::ServitorState;
pub use tools::add_tools;
pub(crate) use turn_journal::{CoordinatorInbox, RecordJournal};
