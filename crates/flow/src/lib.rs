//! Layer 5: workflows.
//!
//! A [`spec::Workflow`] is run by the [`engine`], step by step; everything that happens is in its [`record`] before it counts. A step
//! is an [`worker::Order`] to a worker: one that is no model ([`deterministic`]), or a role that runs the one loop of `marvin-agent`
//! ([`workers`]). Whether a failed attempt may be followed by another is for [`retry`] to say. [`manager`] makes a workflow of
//! a goal. [`drive`] brings everybody together; [`tools`] let other programs do so. [`view`] and [`draw`] show what there is.

pub mod deterministic;
pub mod draw;
pub mod drive;
pub mod engine;
pub mod manager;
pub mod record;
pub mod retry;
pub mod spec;
pub mod tools;
pub mod view;
pub mod worker;
pub mod workers;
