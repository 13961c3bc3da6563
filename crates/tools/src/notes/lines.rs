//! Reading and changing lines of notes.

use super::blocks;
use super::{existing, notes_directory, project_note};
use crate::context::ToolContext;
use crate::files::{MAX_FILE_BYTES, Range, numbered_without_secrets};
use crate::patch;
use crate::result::{Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::printable::count;
use marvin_gate::{Change, Intent, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy)]
pub struct FileReadLines;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadLinesInput {
    /// Path below the notes directory; `.md` is added to a name without extension.
    path: String,
    /// First line to show, from 1.
    #[serde(default = "crate::schema::count::<1>")]
    start: usize,
    /// Last line to show, inclusive; 0 for the last one.
    #[serde(default)]
    end: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadLinesData {
    /// Path below the notes directory.
    path: String,
    lines: usize,
    start: usize,
    end: usize,
}

#[async_trait]
impl Tool for FileReadLines {
    type Input = ReadLinesInput;
    type Data = ReadLinesData;
    const NAME: &'static str = "file_read_lines";
    const DESCRIPTION: &'static str = "Read lines of a note, with their numbers.";
    const EXAMPLE: &'static str = r#"{"path": "ideas/garden", "start": 1, "end": 40}"#;
    const TOUCHES: Touches = Touches::READS;

    fn intents(input: &ReadLinesInput, context: &ToolContext) -> Vec<Intent> {
        project_note(&input.path, context).map(|path| Intent::Read { path }).into_iter().collect()
    }

    async fn call(
        &self,
        input: ReadLinesInput,
        context: &ToolContext,
    ) -> Result<Output<ReadLinesData>, ToolError> {
        let notes = notes_directory(context, false)?;
        let path = existing(&notes, &input.path)?;
        let text = notes.read_to_string(&path, MAX_FILE_BYTES)?;
        let end = if input.end == 0 { usize::MAX } else { input.end };
        let range = Range::clamp_to_text(&path, &text, input.start, end)?;
        let Range { total, first, last } = range;
        let head = format!("{path} ({}) [showing {first}-{last}]", count(total, "line"));
        let data = ReadLinesData { path: path.to_string(), lines: total, start: first, end: last };
        let summary = format!("Read lines {first}-{last} of {path}");
        let shown = numbered_without_secrets(&head, &text, &range, &context.redactor);
        Ok(Output { is_redacted: true, ..Output::new(summary, shown, data) }.of_file())
    }
}

#[derive(Debug, Clone, Copy)]
pub struct FileApplyPatch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyInput {
    /// Path below the notes directory; `.md` is added to a name without extension.
    path: String,
    /// The hunks of a unified diff; or blocks with a line `---` between them, each beginning with `REPLACE n` (the lines
    /// that follow replace line n), `INSERT n` (they come before line n) or `DELETE n [count]`. Line numbers are those of
    /// the note as it is now.
    patch: String,
    /// Only show the result.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ApplyData {
    /// Path below the notes directory.
    path: String,
    dry_run: bool,
    lines_before: usize,
    lines_after: usize,
}

#[async_trait]
impl Tool for FileApplyPatch {
    type Input = ApplyInput;
    type Data = ApplyData;
    const NAME: &'static str = "file_apply_patch";
    const DESCRIPTION: &'static str = "Change lines of a note, by a unified diff or by blocks: REPLACE n, INSERT n, \
        DELETE n [count], with a line `---` between blocks.";
    const EXAMPLE: &'static str =
        r#"{"path": "ideas/garden", "patch": "REPLACE 2\n- peas\n---\nDELETE 5 2", "dry_run": false}"#;
    const TOUCHES: Touches = Touches::STORES;

    fn intents(input: &ApplyInput, context: &ToolContext) -> Vec<Intent> {
        let path = project_note(&input.path, context);
        // A patch that does not fit is answered with text of the note, so this reads too.
        path.into_iter()
            .flat_map(|path| [Intent::Write { path: path.clone() }, Intent::Read { path }])
            .collect()
    }

    async fn call(&self, input: ApplyInput, context: &ToolContext) -> Result<Output<ApplyData>, ToolError> {
        if input.patch.trim().is_empty() {
            return Err(ToolError::Usage("file_apply_patch needs `patch`: what to change.".into()));
        }
        let notes = notes_directory(context, false)?;
        let path = existing(&notes, &input.path)?;
        let old = notes.read_to_string(&path, MAX_FILE_BYTES)?;
        let new = if blocks::are(&input.patch) {
            blocks::apply(&old, &input.patch)?
        } else {
            patch::apply_to_text(&old, &input.patch)?
        };
        if old == new {
            return Err(ToolError::Failed(format!("the patch changes nothing in `{path}`")));
        }
        let (before, after) = (old.lines().count(), new.lines().count());
        let data = ApplyData {
            path: path.to_string(),
            dry_run: input.dry_run,
            lines_before: before,
            lines_after: after,
        };
        if input.dry_run {
            let before = count(before, "line");
            let summary = format!("The patch fits {path} ({before}, then {after}); nothing was written");
            let text = format!("{summary}. The note would be:\n{new}");
            return Ok(Output::new(summary, text, data).of_file());
        }
        let expected = Some(old.into_bytes());
        notes.change(&[Change::Replace { path: path.clone(), bytes: new.into_bytes(), expected }])?;
        Ok(Output::line(format!("Patched note {path} ({}, now {after})", count(before, "line")), data))
    }
}
