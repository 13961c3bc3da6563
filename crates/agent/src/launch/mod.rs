//! Sub-agents: child processes of this same program, started by the tools `launch_agent` and `launch_research_agent`.
//!
//! A child is an unattended run of its own with its own record. What it may do is at most what this agent may do, and stands in
//! its environment: depth, ticket, access, model, role. It plays the same script, writes into the same cost ledger, so that a
//! budget holds for the whole tree, and logs its calls where this run keeps its logs. It has a deadline, and it ends with this
//! process, however that ends. What comes back is typed: how it ended, what was verified, what it cost, its last message, and
//! its questions.
//!
//! Limits: a budget for one child is a bound on the whole tree at the moment when it starts; children that run side by side
//! share it.

mod model;
mod order;
mod report;
mod tools;

pub use model::ModelChoice;
pub use order::Order;
pub use report::{SubAgentReport, questions};
pub use tools::{LaunchAgent, LaunchResearchAgent};

use crate::project_context::ProjectContext;
use marvin_base::open_dir::OpenDir;
use marvin_base::settings::{Origin, table};
use marvin_gate::Access;
use marvin_model::ModelClient;
use marvin_model::cost::CostLedger;
use marvin_tools::Toolbox;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Flags of this process that are not simply handed on: they are worked out for each child.
static OWN: [&str; 3] = ["limits.deadline_s", "limits.cost_usd", "model.name"];

/// What a process needs to start others like itself.
#[derive(Debug)]
pub struct Launcher {
    program: PathBuf,
    /// Where this process was started: paths in flags are relative to it.
    directory: PathBuf,
    provider: String,
    /// The model that was asked for, if one was.
    model: Option<String>,
    cost: Arc<CostLedger>,
    script_state: PathBuf,
    logs: OpenDir,
    /// Flags of this process, as variables for its children.
    flags: BTreeMap<String, String>,
    started: AtomicU64,
}

impl Launcher {
    /// A launcher for the children of this run; none where the program's own file cannot be found.
    #[must_use]
    pub fn new(
        ground: &ProjectContext,
        client: &dyn ModelClient,
        cost: &Arc<CostLedger>,
        script_state: &Path,
        logs: &OpenDir,
    ) -> Option<Arc<Self>> {
        let settings = &ground.settings;
        let given = settings.iter().filter(|(_, value)| value.origin == Origin::Flag);
        let flags =
            given.filter(|(setting, _)| !OWN.contains(&setting.key)).filter_map(|(setting, value)| {
                Some(((*setting.variables.first()?).to_string(), value.text.clone()))
            });
        let mut flags: BTreeMap<String, String> = flags.collect();
        // The provider may have been chosen by a key; a child must not choose another one.
        if let Some(variable) = table::PROVIDER.variables.first() {
            flags.insert((*variable).to_string(), client.provider().to_string());
        }
        Some(Arc::new(Launcher {
            program: std::env::current_exe().ok()?,
            directory: ground.directory.clone(),
            provider: client.provider().to_string(),
            model: settings.given(&table::MODEL).map(str::to_string),
            cost: cost.clone(),
            script_state: script_state.to_path_buf(),
            logs: logs.clone(),
            flags,
            started: AtomicU64::new(0),
        }))
    }

    fn next(&self) -> u64 {
        self.started.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Adds the tools that start sub-agents, where the access offers them. Without a launcher they can be looked at, not called.
pub fn add(toolbox: &mut Toolbox, access: &Access, launcher: Option<&Arc<Launcher>>) {
    if *access == Access::Full {
        toolbox.add(Arc::new(LaunchAgent { launcher: launcher.cloned() }));
    }
    // An agent that is bound to a few files starts nobody.
    if !matches!(access, Access::WritableFiles(_)) {
        toolbox.add(Arc::new(LaunchResearchAgent { launcher: launcher.cloned() }));
    }
}
