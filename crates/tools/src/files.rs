//! Reading, making and extending text files of the workspace.

use crate::context::ToolContext;
use crate::result::{FILE_LIMIT, Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_gate::{Intent, Touches};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// The name of [`ReadFile`].
pub const READ_FILE: &str = "read_file";
/// The name of [`CreateFile`].
pub const CREATE_FILE: &str = "create_file";
/// The name of [`AppendFile`].
pub const APPEND_FILE: &str = "append_file";

/// Characters from which a file is read only by ranges of lines: a whole large file would fill the model's context.
const GUARD: usize = 10_000;
/// Bytes of a file that are read at all.
pub(crate) const LARGEST: u64 = 20 * 1024 * 1024;

/// Reads a text file, whole or by lines.
#[derive(Debug, Clone, Copy)]
pub struct ReadFile;

/// Which file, and which lines of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadInput {
    /// Path relative to the working directory.
    path: String,
    /// First line to show, from 1.
    start_line: Option<usize>,
    /// Last line to show, inclusive.
    end_line: Option<usize>,
}

#[async_trait]
impl Tool for ReadFile {
    type Input = ReadInput;
    const NAME: &'static str = READ_FILE;
    const DESCRIPTION: &'static str = "Read a text file of the working directory, with line numbers. \
        Files over 10 KB need start_line and end_line.";
    const EXAMPLE: &'static str = r#"{"path": "src/main.rs", "start_line": 1, "end_line": 80}"#;

    fn touches() -> Touches {
        Touches::READS
    }

    fn intents(input: &ReadInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Read { path: input.path.clone() }]
    }

    async fn call(&self, input: ReadInput, context: &ToolContext) -> Result<Output, ToolError> {
        let workspace = context.workspace()?;
        let path = workspace.path(&input.path)?;
        let text = workspace.read_to_string(&path, LARGEST)?;
        let total = text.lines().count();
        if input.start_line.is_none() && input.end_line.is_none() && text.chars().nth(GUARD).is_some() {
            let middle = (total / 2).max(1);
            return Err(ToolError::Failed(format!(
                "`{path}` is large: {total} lines, {} KB. Read it by ranges of lines, for example \
                 {{\"path\": \"{path}\", \"start_line\": 1, \"end_line\": {}}} or \
                 {{\"path\": \"{path}\", \"start_line\": {middle}, \"end_line\": {}}}; code_grep finds the lines that matter.",
                text.len().div_ceil(1024),
                total.min(100),
                total.min(middle + 100)
            )));
        }
        let first = input.start_line.unwrap_or(1).max(1);
        let last = input.end_line.unwrap_or(total).min(total);
        if total > 0 && first > total {
            return Err(ToolError::Usage(format!(
                "`{path}` has {total} lines; start_line {first} is past its end."
            )));
        }
        if total > 0 && last < first {
            return Err(ToolError::Usage(format!("end_line {last} lies before start_line {first}.")));
        }
        let width = last.max(1).to_string().len();
        let mut shown = format!("{path} ({total} lines)");
        if input.start_line.is_some() || input.end_line.is_some() {
            shown.push_str(&format!(" [showing {first}-{last}]"));
        }
        for (number, line) in text.lines().enumerate().skip(first - 1).take((last + 1).saturating_sub(first))
        {
            shown.push_str(&format!("\n{:>width$} | {line}", number + 1));
        }
        let data = json!({"path": path.as_str(), "lines": total, "start_line": first, "end_line": last});
        Ok(Output { limit: FILE_LIMIT, ..Output::new(format!("Read {path} ({total} lines)"), shown, data) })
    }
}

/// Makes a new file.
#[derive(Debug, Clone, Copy)]
pub struct CreateFile;

/// Which file, and what is to stand in it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteInput {
    /// Path relative to the working directory.
    path: String,
    /// The text.
    content: Option<String>,
}

#[async_trait]
impl Tool for CreateFile {
    type Input = WriteInput;
    const NAME: &'static str = CREATE_FILE;
    const DESCRIPTION: &'static str = "Create a new text file in the working directory, with its folders. \
        To change a file that exists, use apply_patch.";
    const EXAMPLE: &'static str = r#"{"path": "src/greeting.py", "content": "print('hello')\n"}"#;

    fn touches() -> Touches {
        Touches::WRITES
    }

    fn intents(input: &WriteInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Write { path: input.path.clone() }]
    }

    async fn call(&self, input: WriteInput, context: &ToolContext) -> Result<Output, ToolError> {
        let Some(content) = input.content else {
            return Err(ToolError::Usage(
                "create_file needs `content`: the whole text of the new file (\"\" for an empty one).".into(),
            ));
        };
        let workspace = context.workspace()?;
        let path = workspace.path(&input.path)?;
        context.access.may_write(&path)?;
        if workspace.exists(&path) {
            return Err(ToolError::Failed(format!(
                "`{path}` exists already; use apply_patch to change it, or append_file to add to it."
            )));
        }
        workspace.create_new(&path, content.as_bytes())?;
        let bytes = content.len();
        Ok(Output::line(
            format!("Created {path} ({bytes} bytes)"),
            json!({"path": path.as_str(), "bytes": bytes}),
        ))
    }
}

/// Adds to the end of a file.
#[derive(Debug, Clone, Copy)]
pub struct AppendFile;

#[async_trait]
impl Tool for AppendFile {
    type Input = WriteInput;
    const NAME: &'static str = APPEND_FILE;
    const DESCRIPTION: &'static str =
        "Append text to the end of a file that exists in the working directory.";
    const EXAMPLE: &'static str = r#"{"path": "notes.md", "content": "\n- one more point\n"}"#;

    fn touches() -> Touches {
        Touches::WRITES
    }

    fn intents(input: &WriteInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Write { path: input.path.clone() }]
    }

    async fn call(&self, input: WriteInput, context: &ToolContext) -> Result<Output, ToolError> {
        let Some(content) = input.content.filter(|content| !content.is_empty()) else {
            return Err(ToolError::Usage("append_file needs `content`: the text to add.".into()));
        };
        let workspace = context.workspace()?;
        let path = workspace.path(&input.path)?;
        context.access.may_write(&path)?;
        if !workspace.exists(&path) {
            return Err(ToolError::Failed(format!("`{path}` does not exist; use create_file to make it.")));
        }
        workspace.append(&path, content.as_bytes())?;
        let bytes = content.len();
        Ok(Output::line(
            format!("Appended {bytes} bytes to {path}"),
            json!({"path": path.as_str(), "bytes": bytes}),
        ))
    }
}
