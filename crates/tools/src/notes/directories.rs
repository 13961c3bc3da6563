//! Directories of notes: creating and listing them.

use super::{name_of, notes_directory, project_note};
use crate::context::ToolContext;
use crate::result::{Confidence, Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_gate::{Intent, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Entries shown.
const ENTRIES: usize = 200;

#[derive(Debug, Clone, Copy)]
pub struct NotesMkdir;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MkdirInput {
    /// Path below the notes directory.
    path: String,
}

/// The created directory.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MkdirData {
    /// Path below the notes directory.
    path: String,
    /// The notes directory.
    folder: String,
}

#[async_trait]
impl Tool for NotesMkdir {
    type Input = MkdirInput;
    type Data = MkdirData;
    const NAME: &'static str = "notes_mkdir";
    const DESCRIPTION: &'static str = "Create a directory of notes, with its parents.";
    const EXAMPLE: &'static str = r#"{"path": "ideas/garden"}"#;
    const TOUCHES: Touches = Touches::STORES;

    fn intents(input: &MkdirInput, context: &ToolContext) -> Vec<Intent> {
        project_note(&input.path, context).map(|path| Intent::Write { path }).into_iter().collect()
    }

    async fn call(&self, input: MkdirInput, context: &ToolContext) -> Result<Output<MkdirData>, ToolError> {
        let notes = notes_directory(context, true)?;
        let path = notes.path(&input.path)?;
        notes.make_directory(&path)?;
        let data = MkdirData { path: path.to_string(), folder: notes.root().display().to_string() };
        Ok(Output::line(format!("Directory {} exists", notes.root().join(path.as_path()).display()), data))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct NotesLs;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LsInput {
    /// Path below the notes directory; empty for the notes directory itself.
    #[serde(default)]
    path: String,
}

impl LsInput {
    fn place(&self) -> &str {
        if self.path.trim().is_empty() { "." } else { &self.path }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LsData {
    /// Path below the notes directory.
    path: String,
    /// Names; directories end in `/`.
    entries: Vec<String>,
    /// Number of further entries.
    left_out: usize,
}

#[async_trait]
impl Tool for NotesLs {
    type Input = LsInput;
    type Data = LsData;
    const NAME: &'static str = "notes_ls";
    const DESCRIPTION: &'static str = "List the notes and directories in the notes directory.";
    const EXAMPLE: &'static str = r#"{"path": "ideas"}"#;
    const TOUCHES: Touches = Touches::READS;

    fn intents(input: &LsInput, context: &ToolContext) -> Vec<Intent> {
        project_note(input.place(), context).map(|path| Intent::Read { path }).into_iter().collect()
    }

    async fn call(&self, input: LsInput, context: &ToolContext) -> Result<Output<LsData>, ToolError> {
        let notes = notes_directory(context, false)?;
        let path = notes.path(input.place())?;
        let mut entries: Vec<String> = notes.read_dir(&path)?.into_iter().map(name_of).collect();
        let left_out = entries.len().saturating_sub(ENTRIES);
        entries.truncate(ENTRIES);
        let mut text = if entries.is_empty() { "(nothing)".to_string() } else { entries.join("\n") };
        if left_out > 0 {
            text.push_str(&format!("\n… {left_out} more"));
        }
        let place = notes.root().join(path.as_path());
        let summary = format!("{} entries in {}", entries.len(), place.display());
        let confidence = if left_out > 0 { Confidence::Summarized } else { Confidence::Verbatim };
        let data = LsData { path: path.to_string(), entries, left_out };
        Ok(Output { confidence, ..Output::new(summary, text, data) })
    }
}
