//! The launcher: what a process needs to start others like itself.

use crate::project_context::ProjectContext;
use marvin_base::open_dir::OpenDir;
use marvin_base::settings::{Origin, table};
use marvin_model::ModelClient;
use marvin_model::cost::CostLedger;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Flags of this process that are computed for each child instead of passed on.
static COMPUTED: [&str; 3] = ["limits.deadline_s", "limits.cost_usd", "model.name"];

/// Starts sub-agents of this process.
#[derive(Debug)]
pub struct Launcher {
    pub(super) program: PathBuf,
    /// Where this process was started: paths in flags are relative to it.
    pub(super) directory: PathBuf,
    pub(super) provider: String,
    pub(super) cost: Arc<CostLedger>,
    pub(super) script_state: PathBuf,
    pub(super) logs: OpenDir,
    /// Flags of this process, as variables for its children.
    pub(super) flags: BTreeMap<String, String>,
    started: AtomicU64,
}

impl Launcher {
    /// A launcher for the children of this run; none where the program's own file cannot be found.
    #[must_use]
    pub fn new(
        project: &ProjectContext,
        client: &dyn ModelClient,
        cost: &Arc<CostLedger>,
        script_state: &Path,
        logs: &OpenDir,
    ) -> Option<Arc<Self>> {
        let settings = &project.settings;
        let given = settings.iter().filter(|(_, value)| value.origin == Origin::Flag);
        let flags =
            given.filter(|(setting, _)| !COMPUTED.contains(&setting.key)).filter_map(|(setting, value)| {
                Some(((*setting.variables.first()?).to_string(), value.text.clone()))
            });
        let mut flags: BTreeMap<String, String> = flags.collect();
        // The provider may have been chosen by a key; a child must not choose another one.
        if let Some(variable) = table::PROVIDER.variables.first() {
            flags.insert((*variable).to_string(), client.provider().to_string());
        }
        Some(Arc::new(Launcher {
            program: std::env::current_exe().ok()?,
            directory: project.directory.clone(),
            provider: client.provider().to_string(),
            cost: cost.clone(),
            script_state: script_state.to_path_buf(),
            logs: logs.clone(),
            flags,
            started: AtomicU64::new(0),
        }))
    }

    pub(super) fn next(&self) -> u64 {
        self.started.fetch_add(1, Ordering::Relaxed) + 1
    }
}
