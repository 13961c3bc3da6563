//! Layer 6: workflow runs on many machines, by Temporal.
//!
//! The workflow code on the server's workers is the machine of [`marvin_flow::remote`] ([`driver::RunDriver`]); an attempt is an
//! activity that runs `marvin attempt` as a child process ([`activities`]). People's decisions, stop and resume are signals. A
//! [`client`] starts runs, and computes their transitions from the history with the same driver ([`fold`]), so that looking at a
//! run needs no worker.
//!
//! Attempts of a wide run begin in waves, child workflows with a history of their own (`waves`, `wave`).
//!
//! Large payloads are blobs of the store ([`codec`]); ends of attempts are objects that only one process can create, so that an
//! attempt that is delivered several times has one end.
//!
//! The workspace is a directory that all workers share, or a commit with patches in the store ([`workspace`]).
//!
//! Limits: effects outside the store happen at least once, with the key of the attempt in `MARVIN_STEP_KEY`.

#![cfg(feature = "fleet")]
#![expect(missing_debug_implementations, reason = "of types that the macros of the SDK make")]

pub mod activities;
pub mod attach;
mod budget;
mod child;
pub mod cipher;
pub mod client;
pub mod codec;
mod config;
pub mod driver;
mod error;
pub mod fold;
mod key_locks;
mod metrics;
pub mod search;
pub mod task;
pub mod wave;
mod wave_plan;
pub mod worker;
pub mod workflow;
pub mod workspace;

pub use config::FleetConfig;
pub use error::FleetError;
