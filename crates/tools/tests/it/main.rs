//! Tools through the toolbox, on real files and with real processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod blender;
mod calendar;
mod env_files;
mod escape;
mod git;
mod hostile;
mod notes;
mod ntfy;
mod patches;
mod secrets_in_files;
mod support;
mod testing;
mod tickets;
mod toolbox;
// Helpers of tests are tests to the lints only when they say so.
#[cfg(test)]
mod web;
