//! Layer 6: the benchmark suite, skills that are built and proved, and self-improve on the same means.
//!
//! A [`runner::Runner`] solves a [`task::Task`] in a workspace of its own; [`grade`] judges the result in another directory with
//! tests that the solver never sees; [`suite`] does that for many tasks, and [`report`] shows the results.

mod error;
pub mod grade;
mod python;
pub mod report;
pub mod runner;
pub mod self_improve;
pub mod skills;
mod snapshot;
pub mod suite;
pub mod task;

pub use error::LabError;
pub use python::Python;
pub use snapshot::Snapshot;
