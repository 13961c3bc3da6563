//! Sub-agents: child processes of this same program, started by the tools `launch_agent` and `launch_research_agent`.
//!
//! A child is an unattended run of its own with its own record. It may do at most what this agent may do, as its environment
//! says: depth, ticket, access, model, role. It plays the same script, writes into the same cost ledger, so that a budget holds
//! for the whole tree, and logs its calls where this run keeps its logs. It has a deadline, and it ends with this process,
//! however that ends. Its report is typed: how it ended, what was verified, what it cost, its last message, and its questions.
//!
//! Limits: a budget for one child is a limit for the whole tree at the moment when it starts; children that run at the same
//! time share it.

mod launcher;
mod model;
mod order;
mod report;
mod tools;

pub use launcher::Launcher;
pub use model::ModelChoice;
pub(crate) use model::{ModelPick, WantedModel};
pub use order::Order;
pub use report::{SubAgentReport, questions};
pub use tools::{LaunchAgent, LaunchResearchAgent};

use marvin_gate::Access;
use marvin_tools::Toolbox;
use std::sync::Arc;

/// Adds the tools that start sub-agents, where the access offers them. Without a launcher they can be listed, not called.
pub fn add(toolbox: &mut Toolbox, access: &Access, launcher: Option<&Arc<Launcher>>) {
    if *access == Access::Full {
        toolbox.add(Arc::new(LaunchAgent { launcher: launcher.cloned() }));
    }
    // An agent that may write only some files starts no others.
    if !matches!(access, Access::WritableFiles(_)) {
        toolbox.add(Arc::new(LaunchResearchAgent { launcher: launcher.cloned() }));
    }
}
