//! Layer 6: the benchmark suite.
//!
//! A [`runner::Runner`] solves a [`task::Task`] in a workspace of its own; [`grade`] judges the result in another directory with
//! tests that the solver never sees; [`suite`] does that for many tasks, and [`report`] shows the results.

mod error;
pub mod grade;
mod python;
pub mod report;
pub mod runner;
mod snapshot;
pub mod suite;
pub mod task;

pub use error::LabError;
pub use python::Python;
pub use snapshot::Snapshot;
