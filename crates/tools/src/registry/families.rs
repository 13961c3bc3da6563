//! Table of the tool families and of the modes that offer them. Nothing below imports it.

use crate::tool::DynTool;
use crate::{
    alarms, blender, calendar_tools, command, convert, files, git, github, knowledge, media, notes, ntfy,
    patch, search, tickets, travel, tree, usage, utilities, web, working_dir,
};
use std::sync::Arc;

/// The initial selection of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Conversation: notes, tickets, the web, units, usage, and the services of an assistant.
    Assistant,
    /// Work in a workspace: files, search, git and commands on top.
    Coding,
}

/// The tools of one family.
type Family = fn() -> Vec<Arc<dyn DynTool>>;

const EVERY_MODE: [Family; 6] =
    [convert::tools, github::tools, notes::tools, tickets::tools, usage::tools, web::tools];
/// Services of an assistant. Agents that code get them only where tools are offered by need.
const ASSISTANT: [Family; 8] = [
    alarms::tools,
    blender::tools,
    calendar_tools::tools,
    knowledge::tools,
    media::tools,
    ntfy::tools,
    travel::tools,
    utilities::tools,
];
const CODING: [Family; 8] = [
    command::tools,
    files::tools,
    git::tools,
    patch::tools,
    search::tools,
    tickets::coding_tools,
    tree::tools,
    working_dir::tools,
];

/// Every tool of a mode, whatever the access.
pub(super) fn tools_for_mode(mode: Mode) -> Vec<Arc<dyn DynTool>> {
    let further: &[Family] = match mode {
        Mode::Assistant => &ASSISTANT,
        Mode::Coding => &CODING,
    };
    EVERY_MODE.iter().chain(further).flat_map(|family| family()).collect()
}

/// The services of an assistant, whatever the access.
pub(super) fn assistant_tools() -> Vec<Arc<dyn DynTool>> {
    ASSISTANT.iter().flat_map(|family| family()).collect()
}
