//! What lies where.

use crate::context::ToolContext;
use crate::result::{Confidence, Output, ToolError};
use crate::tool::Tool;
use crate::walk;
use async_trait::async_trait;
use marvin_gate::{Intent, Touches};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Entries shown at most.
const ENTRIES: usize = 500;

/// Lists files and folders as a tree.
#[derive(Debug, Clone, Copy)]
pub struct Tree;

/// From where, and how deep.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TreeInput {
    /// Folder relative to the working directory.
    #[serde(default = "here")]
    path: String,
    /// How many levels to show.
    #[serde(default = "three")]
    max_depth: usize,
    /// Leave out what .gitignore names.
    #[serde(default = "yes")]
    respect_gitignore: bool,
}

fn here() -> String {
    ".".into()
}

fn three() -> usize {
    3
}

fn yes() -> bool {
    true
}

#[async_trait]
impl Tool for Tree {
    type Input = TreeInput;
    const NAME: &'static str = "tree";
    const DESCRIPTION: &'static str = "List files and folders of the working directory as a tree.";
    const EXAMPLE: &'static str = r#"{"path": "src", "max_depth": 2}"#;

    fn touches() -> Touches {
        Touches::READS
    }

    fn intents(input: &TreeInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Read { path: input.path.clone() }]
    }

    async fn call(&self, input: TreeInput, context: &ToolContext) -> Result<Output, ToolError> {
        let workspace = context.workspace()?;
        let path = workspace.path(&input.path)?;
        if !workspace.metadata(&path)?.is_dir() {
            return Err(ToolError::Failed(format!("`{path}` is a file; read_file shows it.")));
        }
        let start = workspace.root().join(workspace.resolve(&path)?);
        let mut lines = vec![format!("{path}/")];
        let mut more = 0usize;
        let walk = walk::builder(workspace.root(), &start, input.respect_gitignore, false)
            .max_depth(Some(input.max_depth.clamp(1, 20)))
            .build();
        // Entries that cannot be looked at are left out: the tree is for orientation.
        for entry in walk.filter_map(Result::ok).filter(|entry| entry.depth() > 0) {
            if lines.len() > ENTRIES {
                more += 1;
                continue;
            }
            let mark = match entry.file_type() {
                Some(kind) if kind.is_dir() => "/",
                Some(kind) if kind.is_symlink() => "@",
                _ => "",
            };
            lines.push(format!(
                "{}{}{mark}",
                "  ".repeat(entry.depth()),
                entry.file_name().to_string_lossy()
            ));
        }
        let entries = lines.len() - 1;
        if entries == 0 {
            lines.push("  (empty)".into());
        }
        if more > 0 {
            lines.push(format!("… {more} more entries; name a folder or lower max_depth"));
        }
        let data = json!({"path": path.as_str(), "entries": entries, "left_out": more});
        let confidence = if more > 0 { Confidence::Summarized } else { Confidence::Verbatim };
        Ok(Output {
            confidence,
            ..Output::new(format!("{entries} entries in {path}"), lines.join("\n"), data)
        })
    }
}
