//! Running tests: counts and names of failing tests, for the runners of several languages.
//!
//! The counts come from the runner's own report where it can write one ([`junit`] for pytest, [`node`] for node,
//! [`gotest`] for go), kept in the private temporary directory, and from nothing else; of other runners from their output
//! ([`libtest`], [`summary`]). Text that a test prints is not taken for a report. A run without an executed test has failed.

mod counts;
mod detect;
mod gotest;
mod junit;
mod libtest;
mod node;
mod proof;
mod run_tests;
mod runner;
mod summary;
mod tap;

pub use detect::TestsInput;
pub use proof::{
    BaselineTree, TestSeal, TestsCheck, TestsVerdict, is_left_out_of_copies, is_test_file, verified_line,
    verify_tests,
};
pub(crate) use run_tests::RUN_TESTS;
pub use run_tests::{RunTests, TestsData};
pub use runner::Runner;
