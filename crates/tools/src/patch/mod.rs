//! Changing files that exist: one exact replacement, or a whole patch.
//!
//! Models that were trained on patches send patches, whatever the schema says; so `apply_patch` takes the seed's three
//! fields, and also Codex patches and unified diffs. A patch over several files is applied whole or not at all: every new
//! text is computed before the first is written, and what was written is taken back when a later write fails.

mod hunk;
mod nearest;
mod parse;

use crate::context::ToolContext;
use crate::files::LARGEST;
use crate::result::{Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_gate::{Intent, Refusal, Touches, Workspace, WorkspacePath};
use parse::FilePatch;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// The name of [`ApplyPatch`].
pub const APPLY_PATCH: &str = "apply_patch";

/// Changes files.
#[derive(Debug, Clone, Copy)]
pub struct ApplyPatch;

/// A replacement in one file, or a patch.
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

/// A file with its new text.
struct Change {
    path: WorkspacePath,
    old: Option<String>,
    new: String,
}

#[async_trait]
impl Tool for ApplyPatch {
    type Input = PatchInput;
    const NAME: &'static str = APPLY_PATCH;
    const DESCRIPTION: &'static str = "Change a file: replace old_str, which must occur exactly once, by new_str. \
        Or give `patch`: a *** Begin Patch patch or a unified diff, over one or several files, applied whole or not at all.";
    const EXAMPLE: &'static str =
        r#"{"path": "src/main.py", "old_str": "print('helo')", "new_str": "print('hello')"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[
        ("input", "patch"),
        ("patch_text", "patch"),
        ("diff", "patch"),
        ("old_string", "old_str"),
        ("new_string", "new_str"),
    ];

    fn touches() -> Touches {
        Touches::WRITES
    }

    fn intents(input: &PatchInput, context: &ToolContext) -> Vec<Intent> {
        // A patch that does not fit is answered with the text that is there: changing a file is reading it too.
        let touch = |path: &str| {
            let there =
                |workspace: &Workspace| workspace.path(path).is_ok_and(|path| workspace.exists(&path));
            let read = context.workspace.as_deref().is_some_and(there);
            let read = read.then(|| Intent::Read { path: path.to_string() });
            std::iter::once(Intent::Write { path: path.to_string() }).chain(read)
        };
        match files_of(input) {
            // A patch that cannot be read writes nothing; the call says what is wrong with it.
            Some(files) => files.unwrap_or_default().iter().flat_map(|file| touch(file.path())).collect(),
            None => touch(&input.path).collect(),
        }
    }

    async fn call(&self, input: PatchInput, context: &ToolContext) -> Result<Output, ToolError> {
        let workspace = context.workspace()?;
        let changes = match files_of(&input) {
            Some(files) => {
                let files = files.map_err(|error| ToolError::Usage(format!("{error}.")))?;
                files.iter().map(|file| change(file, workspace, context)).collect::<Result<Vec<_>, _>>()?
            }
            None => vec![replacement(&input, workspace, context)?],
        };
        write(workspace, &changes)?;
        let names: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        let delta: Vec<_> = changes
            .iter()
            .map(|change| {
                let before = change.old.as_deref().unwrap_or_default().lines().count();
                json!({"path": change.path.as_str(), "new_file": change.old.is_none(),
                       "lines_before": before, "lines_after": change.new.lines().count()})
            })
            .collect();
        Ok(Output::line(format!("Patched {}", names.join(", ")), json!({"files": delta})))
    }
}

/// The files of a patch, if the input is one.
fn files_of(input: &PatchInput) -> Option<Result<Vec<FilePatch>, String>> {
    let patch = input.patch.as_deref().filter(|patch| !patch.trim().is_empty())?;
    let path = Some(input.path.as_str()).filter(|path| !path.is_empty());
    Some(parse::parse(patch, path))
}

fn change(file: &FilePatch, workspace: &Workspace, context: &ToolContext) -> Result<Change, ToolError> {
    let path = open(file.path(), workspace, context)?;
    match file {
        FilePatch::Add { content, .. } => {
            if workspace.exists(&path) {
                return Err(ToolError::Failed(format!(
                    "`{path}` exists already; update it instead of adding it"
                )));
            }
            Ok(Change { path, old: None, new: content.clone() })
        }
        FilePatch::Update { hunks, .. } => {
            let old = workspace.read_to_string(&path, LARGEST)?;
            let new = hunk::apply(&old, hunks)
                .map_err(|error| ToolError::Failed(format!("`{path}`, {error}\nNothing was changed.")))?;
            changed(path, old, new)
        }
    }
}

fn replacement(
    input: &PatchInput,
    workspace: &Workspace,
    context: &ToolContext,
) -> Result<Change, ToolError> {
    if input.old_str.is_empty() {
        return Err(ToolError::Usage(
            "apply_patch needs `old_str`: the exact text to replace, with enough around it to occur once. \
             To add to the end of a file use append_file, for a new file create_file."
                .into(),
        ));
    }
    let path = open(&input.path, workspace, context)?;
    let old = workspace.read_to_string(&path, LARGEST)?;
    let (mut wanted, mut fresh) = (input.old_str.clone(), input.new_str.clone());
    // Models write plain line feeds; a file from Windows is met on its own terms.
    if !old.contains(&wanted) && old.contains("\r\n") {
        let windows = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
        (wanted, fresh) = (windows(&wanted), windows(&fresh));
    }
    match old.matches(&wanted).count() {
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
            "old_str occurs {count} times in `{path}`; add lines around it so that it occurs once"
        ))),
    }
}

fn open(path: &str, workspace: &Workspace, context: &ToolContext) -> Result<WorkspacePath, ToolError> {
    let path = workspace.path(path)?;
    context.access.may_write(&path)?;
    workspace.writable(&path)?;
    Ok(path)
}

fn changed(path: WorkspacePath, old: String, new: String) -> Result<Change, ToolError> {
    if old == new {
        return Err(ToolError::Failed(format!(
            "the patch changes nothing in `{path}`: old and new text are the same"
        )));
    }
    Ok(Change { path, old: Some(old), new })
}

/// Writes all, or takes back what was written.
fn write(workspace: &Workspace, changes: &[Change]) -> Result<(), ToolError> {
    for (done, change) in changes.iter().enumerate() {
        let written = match &change.old {
            None => workspace.create_new(&change.path, change.new.as_bytes()),
            Some(_) => workspace.replace(&change.path, change.new.as_bytes()),
        };
        if let Err(refusal) = written {
            let lost = take_back(workspace, changes.get(..done).unwrap_or_default());
            return Err(match lost {
                Ok(()) => refusal.into(),
                Err(error) => ToolError::Failed(format!(
                    "{refusal}\nAnd the files before it could not be restored: {error}"
                )),
            });
        }
    }
    Ok(())
}

fn take_back(workspace: &Workspace, changes: &[Change]) -> Result<(), Refusal> {
    changes.iter().rev().try_for_each(|change| match &change.old {
        None => workspace.remove(&change.path),
        Some(old) => workspace.replace(&change.path, old.as_bytes()),
    })
}

#[cfg(test)]
mod tests;
