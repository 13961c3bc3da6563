//! Layer 3: the tools that models call.
//!
//! A [`Tool`] declares its name, the type of its input, what it touches, and what it intends for a given input; it never
//! decides whether it may. The [`Toolbox`] is the one entry point: it parses the arguments, asks the gate, runs the tool
//! so that a panic does not end the process, and returns the verdict and the result for the record.

pub mod alarms;
pub mod approval;
pub mod artifact;
pub mod blender;
pub mod calendar;
pub mod calendar_tools;
pub mod command;
pub mod context;
pub mod convert;
pub mod explain;
pub mod files;
mod function_tool;
pub mod git;
mod github;
mod knowledge;
mod log;
mod media;
pub mod notes;
pub mod ntfy;
pub mod patch;
mod pattern;
pub mod registry;
pub mod result;
pub mod schema;
pub mod search;
pub mod servers;
pub mod service;
pub mod tickets;
pub mod tool;
mod travel;
pub mod tree;
pub mod turbotime;
pub mod usage;
mod utilities;
mod walk;
pub mod web;
pub mod working_dir;

pub use approval::{ApprovalAnswer, Approver, Question};
pub use artifact::Artifact;
pub use context::{ProgressSink, Step, ToolContext};
pub use registry::{CallOutcome, FileHashes, MISUNDERSTOOD, Mode, Toolbox, canonical_name};
pub use result::{Confidence, Output, ToolError, ToolResult};
pub use tool::{DynTool, NoInput, PreparedCall, Tool, run_blocking};
