//! Notes: the person's own in conversation, the project's while coding.
//!
//! A coding agent must not carry knowledge from run to run in the person's notes, so its notes stay in the project. Both
//! directories are opened like a workspace: no note path leads out of them. In the project no part of the path may be a
//! link, since the protected files of another place (`.git`, the record) would not be known.

mod blocks;
mod directories;
mod lines;

use crate::context::ToolContext;
use crate::files::MAX_FILE_BYTES;
use crate::result::{Output, ToolError};
use crate::tool::{DynTool, Tool};
use async_trait::async_trait;
pub use directories::{NotesLs, NotesMkdir};
pub use lines::{FileApplyPatch, FileReadLines};
use marvin_base::printable::count;
use marvin_gate::{Entry, Intent, Touches, Workspace, WorkspacePath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The project's notes directory in the workspace.
const PROJECT_NOTES: &str = ".marvin/notes";

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        Arc::new(WriteNote),
        Arc::new(ReadNote),
        Arc::new(NotesMkdir),
        Arc::new(NotesLs),
        Arc::new(FileReadLines),
        Arc::new(FileApplyPatch),
    ]
}

#[derive(Debug, Clone, Copy)]
pub struct WriteNote;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteNoteInput {
    /// Path below the notes directory; `.md` is added to a name without extension.
    path: String,
    /// The text.
    #[serde(default)]
    content: String,
    /// Add to the note instead of replacing it.
    #[serde(default)]
    append: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct WriteNoteData {
    /// Path below the notes directory.
    path: String,
    /// The notes directory.
    folder: String,
    bytes: usize,
}

#[async_trait]
impl Tool for WriteNote {
    type Input = WriteNoteInput;
    type Data = WriteNoteData;
    const NAME: &'static str = "write_note";
    const DESCRIPTION: &'static str =
        "Write a note (Markdown) into the notes directory; replaces the note unless append is true.";
    const EXAMPLE: &'static str =
        r##"{"path": "ideas/garden", "content": "# Garden\n- beans\n", "append": false}"##;
    const TOUCHES: Touches = Touches::STORES;

    fn intents(input: &WriteNoteInput, context: &ToolContext) -> Vec<Intent> {
        project_note(&input.path, context).map(|path| Intent::Write { path }).into_iter().collect()
    }

    async fn call(
        &self,
        input: WriteNoteInput,
        context: &ToolContext,
    ) -> Result<Output<WriteNoteData>, ToolError> {
        if input.content.is_empty() {
            return Err(ToolError::Usage("write_note needs `content`: the text of the note.".into()));
        }
        let notes = notes_directory(context, true)?;
        let path = note_path(&notes, &input.path)?;
        let bytes = input.content.as_bytes();
        let done = match (notes.exists(&path), input.append) {
            (false, _) => notes.create_new(&path, bytes).map(|()| "Wrote"),
            (true, true) => notes.append(&path, bytes).map(|()| "Appended to"),
            (true, false) => notes.replace(&path, bytes).map(|()| "Replaced"),
        }?;
        let place = notes.root().join(path.as_path());
        Ok(Output::line(
            format!("{done} note {} ({})", place.display(), count(bytes.len(), "byte")),
            WriteNoteData {
                path: path.to_string(),
                folder: notes.root().display().to_string(),
                bytes: bytes.len(),
            },
        ))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct ReadNote;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadNoteInput {
    /// Path below the notes directory; `.md` is added to a name without extension.
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadNoteData {
    /// Path below the notes directory.
    path: String,
    bytes: usize,
}

#[async_trait]
impl Tool for ReadNote {
    type Input = ReadNoteInput;
    type Data = ReadNoteData;
    const NAME: &'static str = "read_note";
    const DESCRIPTION: &'static str = "Read a note from the notes directory.";
    const EXAMPLE: &'static str = r#"{"path": "ideas/garden"}"#;
    const TOUCHES: Touches = Touches::READS;

    fn intents(input: &ReadNoteInput, context: &ToolContext) -> Vec<Intent> {
        project_note(&input.path, context).map(|path| Intent::Read { path }).into_iter().collect()
    }

    async fn call(
        &self,
        input: ReadNoteInput,
        context: &ToolContext,
    ) -> Result<Output<ReadNoteData>, ToolError> {
        let notes = notes_directory(context, false)?;
        let path = existing(&notes, &input.path)?;
        let text = notes.read_to_string(&path, MAX_FILE_BYTES)?;
        let data = ReadNoteData { path: path.to_string(), bytes: text.len() };
        Ok(Output::new(format!("Read note {path}"), text, data).of_file())
    }
}

/// The path of a note that must exist.
fn existing(notes: &Workspace, text: &str) -> Result<WorkspacePath, ToolError> {
    let path = note_path(notes, text)?;
    if notes.exists(&path) {
        return Ok(path);
    }
    let names: Vec<String> =
        notes.read_dir(&path.parent()).unwrap_or_default().into_iter().take(20).map(name_of).collect();
    Err(ToolError::Failed(format!(
        "the note `{path}` does not exist. In its directory: {}",
        if names.is_empty() { "nothing".into() } else { names.join(", ") }
    )))
}

/// A name for lists; directories end in `/`.
fn name_of(entry: Entry) -> String {
    if entry.directory { format!("{}/", entry.name) } else { entry.name }
}

/// The workspace path of a project note, for the gate; `None` for the person's own notes.
fn project_note(path: &str, context: &ToolContext) -> Option<String> {
    if !context.coding || context.workspace.is_none() {
        return None;
    }
    // An absolute path is refused as what it is.
    let absolute = path.trim().is_empty() || path.starts_with(['/', '~']);
    Some(if absolute { path.to_string() } else { format!("{PROJECT_NOTES}/{path}") })
}

/// Opens the notes directory of this mode.
fn notes_directory(context: &ToolContext, make: bool) -> Result<Workspace, ToolError> {
    if let (true, Some(workspace)) = (context.coding, &context.workspace) {
        let path = workspace.path(PROJECT_NOTES)?;
        if !make && !workspace.exists(&path) {
            return Err(none(&workspace.root().join(PROJECT_NOTES)));
        }
        return Ok(workspace.inner(&path)?);
    }
    let place = context.layout.notes(context.coding);
    if make {
        std::fs::create_dir_all(&place)
            .map_err(|error| ToolError::Failed(format!("cannot create {}: {error}", place.display())))?;
    } else if !place.is_dir() {
        return Err(none(&place));
    }
    Ok(Workspace::open(&place, context.layout.home())?)
}

fn none(place: &Path) -> ToolError {
    ToolError::Failed(format!("no notes yet ({} does not exist)", place.display()))
}

fn note_path(notes: &Workspace, text: &str) -> Result<WorkspacePath, ToolError> {
    let path = notes.path(text)?;
    if path.as_str() == "." {
        return Err(ToolError::Usage("name a note, not the directory.".into()));
    }
    let has_extension = path.as_path().extension().is_some();
    Ok(if has_extension { path } else { notes.path(&format!("{path}.md"))? })
}
