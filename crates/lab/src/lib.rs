//! Layer 6: the benchmark suite.
//!
//! A [`task::Task`] is given to a [`runner::Runner`] in a workspace of its own; what it leaves is judged by [`grade`] in a
//! directory outside, with tests that the solver never sees; [`suite`] does that for many, and [`report`] shows what came of it.

mod error;
pub mod grade;
mod python;
pub mod report;
pub mod runner;
mod scramble;
mod snapshot;
pub mod suite;
pub mod task;

pub use error::LabError;
pub use python::Python;
pub use snapshot::Snapshot;
