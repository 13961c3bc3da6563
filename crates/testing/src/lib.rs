//! Layer 0: fixtures that the tests of several crates share. A dev-dependency, no part of the program.
//!
//! It depends on no crate of the workspace, so that every layer above can use it; variables of an environment are given as
//! pairs.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a fixture that cannot be made is a failed test"
)]

pub mod client;
mod cpu_timer;
mod git;
pub mod namespace;
pub mod node;
mod project;
mod skip;

pub use cpu_timer::CpuTimer;
pub use git::git;
pub use project::{Project, write};
pub use skip::skip;

/// The size of a test: `usual`, or `thorough` for `cargo xtask test --thorough`.
#[must_use]
pub fn sized<T>(usual: T, thorough: T) -> T {
    if std::env::var_os("MARVIN_TEST_THOROUGH").is_some() { thorough } else { usual }
}
