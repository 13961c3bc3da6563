//! Skills that are built by an agent and proved by the shell.
//!
//! [`build`] lets the SkillBuilder write a draft in a worktree. What it wrote is copied to where no agent writes, [`proof`] runs its
//! tests there, with its code and without, and only what passed is registered, with a lesson that names gap and benefit. Everything
//! else is kept as a [`Candidate`] with the reason.

mod builder;
mod candidate;
mod cleanup;
mod draft;
pub mod proof;

pub use builder::{BuildReport, SkillRequest, build};
pub use candidate::{Candidate, candidates, remove_candidate};
