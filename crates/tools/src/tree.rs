//! Listing files and directories as a tree.

use crate::context::ToolContext;
use crate::result::{Confidence, Output, ToolError};
use crate::tool::{DynTool, Tool, run_blocking};
use crate::walk::{self, Walk, WalkItem};
use async_trait::async_trait;
use marvin_gate::{DirectoryEntryKind, Intent, Touches, Workspace, WorkspacePath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Entries shown.
const ENTRIES: usize = 500;
/// Further entries that are counted.
const COUNTED: usize = 10_000;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(Tree)]
}

#[derive(Debug, Clone, Copy)]
pub struct Tree;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TreeInput {
    /// Directory relative to the working directory.
    #[serde(default = "here")]
    path: String,
    /// How many levels to show.
    #[serde(default = "crate::schema::count::<3>")]
    max_depth: usize,
    /// Leave out what .gitignore names.
    #[serde(default = "crate::schema::yes")]
    respect_gitignore: bool,
}

fn here() -> String {
    ".".into()
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TreeData {
    path: String,
    /// Number of shown entries.
    entries: usize,
    /// Number of further entries, as far as they were counted.
    left_out: usize,
    /// Whether all of them were counted.
    all_counted: bool,
}

#[async_trait]
impl Tool for Tree {
    type Input = TreeInput;
    type Data = TreeData;
    const NAME: &'static str = "tree";
    const DESCRIPTION: &'static str = "List files and directories of the working directory as a tree.";
    const EXAMPLE: &'static str = r#"{"path": "src", "max_depth": 2}"#;
    const TOUCHES: Touches = Touches::READS;

    fn intents(input: &TreeInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Read { path: input.path.clone() }]
    }

    async fn call(&self, input: TreeInput, context: &ToolContext) -> Result<Output<TreeData>, ToolError> {
        let workspace = context.shared_workspace()?;
        let path = workspace.path(&input.path)?;
        let cancel = context.cancel.child_token();
        let _guard = cancel.clone().drop_guard();
        // A large tree takes a while, so not on a thread of the runtime.
        run_blocking(move || list(&input, &path, &workspace, &cancel)).await
    }
}

fn list(
    input: &TreeInput,
    path: &WorkspacePath,
    workspace: &Workspace,
    cancel: &CancellationToken,
) -> Result<Output<TreeData>, ToolError> {
    if !workspace.metadata(path)?.is_dir() {
        return Err(workspace.open_read(path).map_or_else(ToolError::Refused, |_| {
            ToolError::Failed(format!("`{path}` is a file; read_file shows it."))
        }));
    }
    let plan = walk::Plan {
        gitignore: input.respect_gitignore,
        max_depth: input.max_depth.clamp(1, 20),
        ..walk::Plan::default()
    };
    let mut lines = vec![format!("{path}/")];
    let (mut more, mut all) = (0usize, true);
    for item in Walk::new(workspace, &workspace.resolve(path)?, plan) {
        if cancel.is_cancelled() {
            return Err(ToolError::Failed("the listing was cancelled".into()));
        }
        // Unreadable directories are shown without their entries: the tree is for orientation.
        let WalkItem::Entry(entry) = item else { continue };
        if lines.len() > ENTRIES {
            if more == COUNTED {
                all = false;
                break;
            }
            more += 1;
            continue;
        }
        let mark = match entry.kind {
            DirectoryEntryKind::Directory => "/",
            DirectoryEntryKind::Link => "@",
            DirectoryEntryKind::File | DirectoryEntryKind::Other => "",
        };
        let name = walk::shown(entry.path.file_name().unwrap_or_default());
        lines.push(format!("{}{name}{mark}", "  ".repeat(entry.depth)));
    }
    let entries = lines.len() - 1;
    if entries == 0 {
        lines.push("  (empty)".into());
    }
    if more > 0 {
        let least = if all { "" } else { "more than " };
        lines.push(format!("… {least}{more} more entries; name a directory or lower max_depth"));
    }
    let data = TreeData { path: path.to_string(), entries, left_out: more, all_counted: all };
    let confidence = if more > 0 { Confidence::Summarized } else { Confidence::Verbatim };
    Ok(Output { confidence, ..Output::new(format!("{entries} entries in {path}"), lines.join("\n"), data) })
}
