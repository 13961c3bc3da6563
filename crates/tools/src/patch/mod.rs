//! Changing files that exist: one exact replacement, or a whole patch.
//!
//! Models that were trained on patches send patches, whatever the schema says; so `apply_patch` takes the seed's three
//! fields, and also Codex patches and unified diffs, which may create, delete and move files too. A patch over several
//! files is applied whole or not at all: every new text is computed before the first is written, and the workspace writes
//! all of them or none ([`Workspace::change`]).

mod error;
mod hunk;
mod nearest;
mod parse;
mod unified;

use crate::context::ToolContext;
use crate::files::MAX_FILE_BYTES;
use crate::result::{Output, ToolError};
use crate::tool::{DynTool, Tool};
use async_trait::async_trait;
use error::PatchError;
use hunk::Hunk;
use marvin_base::redact::{Redactor, Scope};
use marvin_gate::{Change, Intent, Refusal, RefusalKind, Touches, Workspace, WorkspacePath};
use parse::FilePatch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const APPLY_PATCH: &str = "apply_patch";

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(ApplyPatch)]
}

#[derive(Debug, Clone, Copy)]
pub struct ApplyPatch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchInput {
    /// Path relative to the working directory.
    #[serde(default)]
    path: String,
    /// The exact text to replace; it must occur exactly once.
    #[serde(default)]
    old_str: String,
    /// The text to put in its place; empty deletes.
    #[serde(default)]
    new_str: String,
    /// Instead of the other fields: a `*** Begin Patch` patch or a unified diff.
    patch: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PatchData {
    files: Vec<FileChange>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FileChange {
    path: String,
    new_file: bool,
    deleted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_to: Option<String>,
    lines_before: usize,
    lines_after: usize,
}

/// A file with its text before and after.
struct Edit {
    path: WorkspacePath,
    old: Option<String>,
    /// The new text, unless it is deleted.
    new: Option<String>,
    moved: Option<WorkspacePath>,
}

impl Edit {
    fn changes(&self) -> Vec<Change> {
        let (path, bytes) = (self.path.clone(), self.new.clone().unwrap_or_default().into_bytes());
        let expected = self.old.clone().map(String::into_bytes);
        match (&self.old, &self.new, &self.moved) {
            (None, _, _) => vec![Change::Create { path, bytes, like: None }],
            (Some(_), None, _) => vec![Change::Remove { path, expected }],
            (Some(_), Some(_), None) => vec![Change::Replace { path, bytes, expected }],
            (Some(_), Some(_), Some(to)) => vec![
                Change::Create { path: to.clone(), bytes, like: Some(path.clone()) },
                Change::Remove { path, expected },
            ],
        }
    }

    fn fact(&self) -> FileChange {
        let lines = |text: &Option<String>| text.as_deref().unwrap_or_default().lines().count();
        FileChange {
            path: self.path.to_string(),
            new_file: self.old.is_none(),
            deleted: self.new.is_none(),
            moved_to: self.moved.as_ref().map(ToString::to_string),
            lines_before: lines(&self.old),
            lines_after: lines(&self.new),
        }
    }
}

#[async_trait]
impl Tool for ApplyPatch {
    type Input = PatchInput;
    type Data = PatchData;
    const NAME: &'static str = APPLY_PATCH;
    const DESCRIPTION: &'static str = "Change a file: replace old_str, which must occur exactly once, by new_str. \
        Or give `patch`: a *** Begin Patch patch or a unified diff, over one or several files, applied whole or not at all; it may also add, delete and move files.";
    const EXAMPLE: &'static str =
        r#"{"path": "src/main.py", "old_str": "print('helo')", "new_str": "print('hello')"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[
        ("input", "patch"),
        ("patch_text", "patch"),
        ("diff", "patch"),
        ("old_string", "old_str"),
        ("new_string", "new_str"),
    ];
    const TOUCHES: Touches = Touches::WRITES;

    fn intents(input: &PatchInput, context: &ToolContext) -> Vec<Intent> {
        // A patch that does not fit is answered with text of the file, so changing a file reads it too.
        let touch = |path: &str| {
            let there =
                |workspace: &Workspace| workspace.path(path).is_ok_and(|path| workspace.exists(&path));
            let read = context.workspace.as_deref().is_some_and(there);
            let read = read.then(|| Intent::Read { path: path.to_string() });
            std::iter::once(Intent::Write { path: path.to_string() }).chain(read)
        };
        match files_of(input) {
            // A patch that cannot be parsed writes nothing; the call returns the error.
            Some(files) => {
                files.unwrap_or_default().iter().flat_map(FilePatch::paths).flat_map(touch).collect()
            }
            None => touch(&input.path).collect(),
        }
    }

    async fn call(&self, input: PatchInput, context: &ToolContext) -> Result<Output<PatchData>, ToolError> {
        let workspace = context.workspace()?;
        let edits = match files_of(&input) {
            Some(files) => {
                files?.iter().map(|file| edit(file, workspace, context)).collect::<Result<Vec<_>, _>>()?
            }
            None => vec![replacement(&input, workspace, context)?],
        };
        for edit in &edits {
            refuse_placeholders(edit, &context.redactor)?;
        }
        workspace.change(&edits.iter().flat_map(Edit::changes).collect::<Vec<_>>())?;
        let done = |edit: &Edit| match (&edit.new, &edit.moved) {
            (None, _) => format!("{} (deleted)", edit.path),
            (_, Some(to)) => format!("{} (now {to})", edit.path),
            _ => edit.path.to_string(),
        };
        let names: Vec<String> = edits.iter().map(done).collect();
        let files = edits.iter().map(Edit::fact).collect();
        Ok(Output::line(format!("Patched {}", names.join(", ")), PatchData { files }))
    }
}

/// Refuses a change that would write the placeholder of a secret over the secret, which the model did not see.
fn refuse_placeholders(edit: &Edit, redactor: &Redactor) -> Result<(), ToolError> {
    const PLACEHOLDER: &str = "[REDACTED:";
    let (Some(old), Some(new)) = (&edit.old, &edit.new) else { return Ok(()) };
    let count = |text: &str| text.matches(PLACEHOLDER).count();
    if count(new) > count(old) && count(&redactor.text_for(old, Scope::Model)) > count(old) {
        return Err(ToolError::Failed(format!(
            "cannot write `{}`: the new text holds {PLACEHOLDER}…], which stands for a secret that is not shown. Change the \
             other lines only. Nothing was changed.",
            edit.path
        )));
    }
    Ok(())
}

/// The files of a patch, if the input is one.
fn files_of(input: &PatchInput) -> Option<Result<Vec<FilePatch>, PatchError>> {
    let patch = input.patch.as_deref().filter(|patch| !patch.trim().is_empty())?;
    let path = Some(input.path.as_str()).filter(|path| !path.is_empty());
    Some(parse::parse(patch, path))
}

fn edit(file: &FilePatch, workspace: &Workspace, context: &ToolContext) -> Result<Edit, ToolError> {
    let path = open(file.path(), workspace, context)?;
    let exists = |path: &WorkspacePath, hint: &str| {
        Refusal::new(RefusalKind::Exists, format!("`{path}` exists already; nothing was changed"), hint)
    };
    let apply = |old: &str, hunks: &[Hunk]| {
        hunk::apply(old, hunks)
            .map_err(|error| ToolError::Failed(format!("`{path}`, {error}\nNothing was changed.")))
    };
    match file {
        FilePatch::Add { content, .. } => {
            if workspace.exists(&path) {
                return Err(exists(&path, "Update it instead of adding it.").into());
            }
            Ok(Edit { path, old: None, new: Some(content.clone()), moved: None })
        }
        FilePatch::Update { hunks, moved, .. } => {
            let old = workspace.read_to_string(&path, MAX_FILE_BYTES)?;
            let new = if hunks.is_empty() { old.clone() } else { apply(&old, hunks)? };
            let moved = moved.as_deref().map(|to| open(to, workspace, context)).transpose()?;
            match &moved {
                None => changed(path, old, new),
                Some(to) if workspace.exists(to) => {
                    Err(exists(to, "Move the file to a name that is free.").into())
                }
                Some(_) => Ok(Edit { path, old: Some(old), new: Some(new), moved }),
            }
        }
        FilePatch::Delete { hunks, .. } => {
            let old = workspace.read_to_string(&path, MAX_FILE_BYTES)?;
            // A diff shows every deleted line; a file that holds more is not the one that was meant.
            if !hunks.is_empty() && !apply(&old, hunks)?.is_empty() {
                return Err(ToolError::Failed(format!(
                    "`{path}` holds lines that the patch does not show, so it is not deleted. Nothing was changed; read it again."
                )));
            }
            Ok(Edit { path, old: Some(old), new: None, moved: None })
        }
    }
}

fn replacement(input: &PatchInput, workspace: &Workspace, context: &ToolContext) -> Result<Edit, ToolError> {
    if input.old_str.is_empty() {
        return Err(ToolError::Usage(
            "apply_patch needs `old_str`: the exact text to replace, with enough around it to occur once. \
             To add to the end of a file use append_file, for a new file create_file."
                .into(),
        ));
    }
    let path = open(&input.path, workspace, context)?;
    let old = workspace.read_to_string(&path, MAX_FILE_BYTES)?;
    let (mut wanted, mut fresh) = (input.old_str.clone(), input.new_str.clone());
    // Models write plain line feeds; in a file from Windows they stand for its own line endings.
    if !old.contains(&wanted) && old.contains("\r\n") {
        let windows = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
        (wanted, fresh) = (windows(&wanted), windows(&fresh));
    }
    match occurrences(&old, &wanted) {
        1 => {
            let new = old.replacen(&wanted, &fresh, 1);
            changed(path, old, new)
        }
        0 => {
            let lines: Vec<&str> = old.lines().collect();
            let wanted: Vec<&str> = input.old_str.lines().collect();
            let near = nearest::describe(&lines, &wanted);
            Err(ToolError::Failed(format!("old_str is not in `{path}`. {near}")))
        }
        count => Err(ToolError::Failed(format!(
            "old_str occurs {}{count} times in `{path}`; add lines around it so that it occurs once",
            if count == COUNTED { "at least " } else { "" }
        ))),
    }
}

/// Applies a patch of one file, whatever its name, to a text.
///
/// # Errors
/// When the patch is malformed or does not fit.
pub fn apply_to_text(text: &str, patch: &str) -> Result<String, ToolError> {
    match parse::parse(patch, Some("note"))?.as_slice() {
        [FilePatch::Update { hunks, moved: None, .. }] => hunk::apply(text, hunks)
            .map_err(|error| ToolError::Failed(format!("{error}\nNothing was changed."))),
        _ => Err(ToolError::Usage(
            "the patch must change one text; it cannot add, delete or move files.".into(),
        )),
    }
}

/// Occurrences of an old text that are counted.
const COUNTED: usize = 100;

/// How often a text occurs, overlaps included: of two overlapping ones neither is the one that was meant.
fn occurrences(text: &str, wanted: &str) -> usize {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut rest = text;
    let mut count = 0;
    while let Some(at) = rest.find(wanted).filter(|_| count < COUNTED) {
        count += 1;
        rest = rest.get(at + step..).unwrap_or_default();
    }
    count
}

fn open(path: &str, workspace: &Workspace, context: &ToolContext) -> Result<WorkspacePath, ToolError> {
    let path = workspace.path(path)?;
    context.access.may_write(&path)?;
    workspace.writable(&path)?;
    Ok(path)
}

fn changed(path: WorkspacePath, old: String, new: String) -> Result<Edit, ToolError> {
    if old == new {
        return Err(ToolError::Failed(format!(
            "the patch changes nothing in `{path}`: old and new text are the same"
        )));
    }
    Ok(Edit { path, old: Some(old), new: Some(new), moved: None })
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
