//! The engine: one dispatcher that drives the state machine of the run, and executors that know one attempt each.
//!
//! What follows from what is decided by the machine ([`crate::machine`]). The dispatcher is a thread with the only connection
//! that writes to `run.sqlite` ([`crate::record`]). In each round it gives the machine all reports, writes the transitions that
//! follow and those of steps that begin, commits all of it at once, and only then starts executors and writes events to the trace. So the end of one step and the beginning of the next are one commit, and
//! steps that are ready together share one. Executors are tasks of the thread that called [`Run::go`], since child processes
//! end with the thread that started them; at most `concurrency` of them live at a time.
//!
//! A step whose outputs are its inputs (`Echo`) needs no executor and has no state between ready and done: it is done by its
//! commit. Steps for people are parked: they hold no resources, and a run with nothing else to do ends and is resumed later.
//!
//! When a process died in the middle of a step, the worker of the step is asked first ([`crate::worker::Worker::recall`]): a
//! recorded result is used; otherwise the step is repeated under the same key if that is harmless; otherwise a person decides.

pub(crate) mod dispatch;
mod error;
pub(crate) mod execute;
mod files;
mod lock;
mod mirror;
pub(crate) mod outcome;
pub(crate) mod people;
pub(crate) mod perform;
mod preflight;
pub(crate) mod prepare;
mod prepared;
pub(crate) mod resolve;
pub(crate) mod run;
mod teach;
pub(crate) mod worktree;

pub use crate::machine::is_person;
pub use error::EngineError;
pub use files::state;
pub use lock::{Holder, Lock, holder};
pub use outcome::{BlockedStep, Outcome, WorkflowStatus};
pub use people::{PersonDecision, check_decision, record_decision};
pub use preflight::{check_steps, parse_commitments};
pub use prepared::PreparedRun;
pub use run::{Options, Run};
pub use teach::{MemoryTeacher, Teacher};

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod tests;
