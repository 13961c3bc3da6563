//! Layer 5: workflows.
//!
//! The [`machine`] holds the rules of a run, without a clock and without I/O. The [`engine`] runs a [`spec::Workflow`] by it on
//! one machine; a transition counts once it is in the [`record`]. A step is a [`worker::Order`] to a worker: a deterministic one ([`deterministic`]), or a role that runs the agent loop of `marvin-agent`
//! ([`workers`]). [`retry`] decides whether another attempt may follow a failed one. [`manager`] plans a workflow for a goal.
//! [`remote`] is a run whose attempts other machines make. [`drive`] runs a workflow with its workers; [`tools`] offer that to other programs. [`view`] and [`draw`] show runs,
//! [`waiting`] lists the steps that wait for a person.

pub mod deterministic;
pub mod draw;
pub mod drive;
pub mod engine;
pub mod machine;
pub mod manager;
pub mod record;
pub mod remote;
pub mod retry;
pub mod spec;
pub mod tools;
pub mod view;
pub mod waiting;
pub mod worker;
pub mod workers;
