//! Programs: run a line, run the tests, install packages. Judged before they are called, always sandboxed (unless the
//! person switched that off), bounded in time, output, processes and files.
//!
//! [`contained`] is the one way in which a tool runs a program.

mod caches;
mod contained;
mod gitlinks;
mod guard;
mod held_root;
mod host;
mod install;
mod rebases;
mod run;
mod sandbox_hint;
mod testing;
mod undone;

pub(crate) use contained::{ContainedRun, PrivateTempDir, contain, contained, contained_with, level_notice};
pub(crate) use guard::NestedChanges;
pub use host::{HostedApplication, host};
pub use install::{Ecosystem, InstallPackages, Manager};
pub use run::{LineOutcome, OutputFiles, RunCommand, run_kept, run_verification_line};
pub(crate) use testing::RUN_TESTS;
pub use testing::{
    BaselineTree, RunTests, Runner, TestSeal, TestsCheck, TestsData, TestsInput, TestsVerdict,
    is_left_out_of_copies, is_test_file, verified_line, verify_tests,
};

use crate::tool::DynTool;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(RunCommand), Arc::new(RunTests), Arc::new(InstallPackages)]
}
