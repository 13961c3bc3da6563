//! Running tests: what passed, what failed and which, for the runners of several languages.
//!
//! The counts come from the runner's own report where it can write one ([`junit`] for pytest, [`tap`] for node,
//! [`gotest`] for go), kept in the private temporary directory, and from nothing else; of other runners from what they print
//! ([`libtest`], [`summary`]). Text that a test prints is not taken for a report. A run in which no test was executed is no success.

mod counts;
mod detect;
mod gotest;
mod junit;
mod libtest;
mod proof;
mod run_tests;
mod summary;
mod tap;

pub use detect::{Runner, TestsInput};
pub use proof::{BaselineTree, TestSeal, TestsCheck, TestsVerdict, verified_line, verify_tests};
pub(crate) use run_tests::RUN_TESTS;
pub use run_tests::{RunTests, TestsData};
