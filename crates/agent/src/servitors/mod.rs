//! Servitors: agents that outlive a process.
//!
//! A servitor is a document in the state directory (`agents/<id>.md`: name, state, parent, assignment, rights, budget,
//! commitments) and a record (`agents/records/<id>.jsonl`: its conversation and every call it made). Both are written
//! before what they say counts, so that a restart gives back every servitor as it was: a call that has a result is not made
//! again, one that was begun is told as interrupted, a claim that was being verified is verified again.
//!
//! [`Registry`] knows who there is and what may become of them; one process at a time may hold it. [`ServitorScheduler`] runs them,
//! as tasks of one process. [`tools`] are what agents call.
//!
//! Limits: what a call did between its begin and a crash is not known to the shell, only that it began. In a run that is
//! recorded everybody asks the same model, whatever its tier.

mod error;
mod names;
mod record;
mod registry;
mod scheduler;
mod servitor;
mod state;
pub mod tools;
mod turn_journal;
mod work;

pub use error::RegistryError;
pub(crate) use record::Entry;
pub use record::{Record, ResumePoint};
pub use registry::{Registry, Requester, Summons, bodies, is_held};
pub(crate) use scheduler::Parts;
pub use scheduler::{ServitorScheduler, Servitors, WaitResult};
pub use servitor::{Budget, Servitor, access_named, access_word};
pub use state::ServitorState;
pub(crate) use turn_journal::CoordinatorInbox;
