//! Law 2: a retry changes something.
//!
//! After a failed attempt, [`decide`] decides whether another one may follow. It may if the next rung of the ladder
//! ([`ladder`]) is a call that was not made before, or if something measurable changed since that call was made
//! ([`progress`]); it then comes with a lesson ([`lesson`]). Otherwise it is refused, with a reason for people and a code for
//! programs. The decision is pure: the same record gives the same answer, also after a crash. Measurements are made by the
//! shell ([`measure`]), never taken from a model.
//!
//! Limits: only measurements count: tests, files, artifacts, and outputs of deterministic workers. A model that says something
//! else each time has changed nothing; a worker that changes a file in a new way each time has, whether or not that helps,
//! until its ladder ends.

mod attempt;
mod decide;
mod graph;
pub mod ladder;
mod lesson;
pub mod measure;
mod progress;
#[cfg(test)]
mod properties;
mod seen;
mod signatures;
#[cfg(test)]
mod tests;

pub use attempt::Attempt;
pub use decide::{Candidate, Decision, POLLS_EXHAUSTED, StepFacts, Task, decide, decide_candidate};
pub use ladder::Strategy;
pub use measure::{AttemptCounts, Snapshot, measure};
pub use progress::Progress;
pub use seen::AttemptLog;
pub use signatures::{call_signature, failure_key, subtree_signature};
