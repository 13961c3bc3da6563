//! The tools of a session's own agent: those of the mode, external ones, servitors, commitments and sub-agents.
//!
//! Whatever lists tools (`/tools`, `marvin tools list`, completion, prompts) asks here, so that a listing and a turn agree.

use crate::launch::{self, Launcher};
use crate::project_context::ProjectContext;
use crate::servitors::{self, Servitors};
use marvin_gate::Access;
use marvin_tools::turbotime::Selection;
use marvin_tools::{Mode, Toolbox};
use std::sync::Arc;

/// Tools for a listing: they can be described, not all of them called.
#[must_use]
pub fn agent_toolbox(project: &ProjectContext, access: &Access) -> Toolbox {
    let project = Arc::new(project.clone());
    live_toolbox(&project, &Servitors::new(project.clone(), ""), None, None, access)
}

/// Tools of a turn: they reach these servitors and start sub-agents by this launcher.
pub(crate) fn live_toolbox(
    project: &Arc<ProjectContext>,
    servitors: &Arc<Servitors>,
    turbotime: Option<&Selection>,
    launcher: Option<&Arc<Launcher>>,
    access: &Access,
) -> Toolbox {
    let mode = if project.coding { Mode::Coding } else { Mode::Assistant };
    let mut toolbox = project.toolbox(mode, access);
    servitors::add_tools(&mut toolbox, project, servitors, access);
    turbotime.map(Selection::tools).unwrap_or_default().into_iter().for_each(|tool| toolbox.add(tool));
    if project.coding {
        launch::add(&mut toolbox, access, launcher);
    }
    toolbox
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use marvin_base::environment::Environment;
    use marvin_model::ToolSpec;

    /// Every tool of a session's agent with full access, in a project.
    pub(crate) fn every_tool() -> Vec<ToolSpec> {
        let place = tempfile::tempdir().unwrap();
        let (home, root) = (place.path().join("home"), place.path().join("project"));
        for directory in [&home, &root] {
            std::fs::create_dir(directory).unwrap();
        }
        let environment = Environment::from_iter([("HOME", home.to_str().unwrap())]);
        let project = ProjectContext::find(environment, root.clone(), Some(&root), true, Vec::new()).unwrap();
        agent_toolbox(&project, &Access::Full).specs()
    }
}
