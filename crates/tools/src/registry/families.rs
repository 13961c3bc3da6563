//! Which families of tools there are. Each says which of its tools a mode has.

use super::Mode;
use crate::tool::DynTool;
use crate::{
    command, convert, files, git, github, notes, patch, search, tickets, tree, usage, web, working_dir,
};
use std::sync::Arc;

/// Every tool of a mode, whatever the access.
pub(super) fn tools_for_mode(mode: Mode) -> Vec<Arc<dyn DynTool>> {
    let families = [
        command::tools,
        convert::tools,
        files::tools,
        git::tools,
        github::tools,
        working_dir::tools,
        notes::tools,
        patch::tools,
        search::tools,
        tickets::tools,
        tree::tools,
        usage::tools,
        web::tools,
    ];
    families.into_iter().flat_map(|family| family(mode)).collect()
}

/// Tools for work in a workspace.
pub(crate) fn coding<const N: usize>(mode: Mode, tools: [Arc<dyn DynTool>; N]) -> Vec<Arc<dyn DynTool>> {
    if mode == Mode::Coding { tools.into() } else { Vec::new() }
}
