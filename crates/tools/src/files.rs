//! Reading, creating and appending to text files of the workspace.

use crate::context::ToolContext;
use crate::result::{Output, ToolError, is_over};
use crate::tool::{DynTool, Tool};
use async_trait::async_trait;
use marvin_base::printable::count;
use marvin_base::redact::{Redactor, Scope};
use marvin_gate::secrets::is_env_file;
use marvin_gate::{Intent, Refusal, RefusalKind, Touches};
use memchr::memchr_iter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

pub const READ_FILE: &str = "read_file";
pub const CREATE_FILE: &str = "create_file";
pub const APPEND_FILE: &str = "append_file";

/// Characters above which a file is read only by ranges of lines: a whole large file would fill the model's context.
const MAX_WHOLE_FILE_CHARS: usize = 10_000;
pub(crate) const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;
/// Bytes of the longest secret over several lines: a private key of PGP.
const MAX_SECRET_BYTES: usize = 128 * 1024;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(ReadFile), Arc::new(CreateFile), Arc::new(AppendFile)]
}

#[derive(Debug, Clone, Copy)]
pub struct ReadFile;

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

#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadData {
    path: String,
    lines: usize,
    start_line: usize,
    end_line: usize,
}

#[async_trait]
impl Tool for ReadFile {
    type Input = ReadInput;
    type Data = ReadData;
    const NAME: &'static str = READ_FILE;
    const DESCRIPTION: &'static str = "Read a text file of the working directory, with line numbers. \
        Files over 10 KB need start_line and end_line.";
    const EXAMPLE: &'static str = r#"{"path": "src/main.rs", "start_line": 1, "end_line": 80}"#;
    const TOUCHES: Touches = Touches::READS;

    fn intents(input: &ReadInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Read { path: input.path.clone() }]
    }

    async fn call(&self, input: ReadInput, context: &ToolContext) -> Result<Output<ReadData>, ToolError> {
        let workspace = context.workspace()?;
        let path = workspace.path(&input.path)?;
        let text = workspace.read_to_string(&path, MAX_FILE_BYTES)?;
        if input.start_line.is_none() && input.end_line.is_none() && is_over(&text, MAX_WHOLE_FILE_CHARS) {
            let total = line_count(&text);
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
        let (first, last) = (input.start_line.unwrap_or(1), input.end_line.unwrap_or(usize::MAX));
        let range = Range::clamp_to_text(&path, &text, first, last)?;
        let Range { total, first, last } = range;
        let mut head = format!("{path} ({})", count(total, "line"));
        if input.start_line.is_some() || input.end_line.is_some() {
            head.push_str(&format!(" [showing {first}-{last}]"));
        }
        // A closed file can be read only after a person opened it; what redacts results knows whether they did.
        let is_redacted = !is_env_file(Path::new(&input.path));
        let shown = if is_redacted {
            numbered_without_secrets(&head, &text, &range, &context.redactor)
        } else {
            numbered(head, &text, &range)
        };
        let data = ReadData { path: path.to_string(), lines: total, start_line: first, end_line: last };
        let output = Output::new(format!("Read {path} ({})", count(total, "line")), shown, data);
        Ok(Output { is_redacted, ..output }.of_file())
    }
}

/// A range of lines, counted from 1, both ends included.
pub(crate) struct Range {
    /// Lines of the whole text.
    pub(crate) total: usize,
    pub(crate) first: usize,
    /// In an empty text the line before the first.
    pub(crate) last: usize,
}

impl Range {
    /// The range, cut to the lines of the text.
    ///
    /// # Errors
    /// When it is empty or past the end.
    pub(crate) fn clamp_to_text(
        path: &impl Display,
        text: &str,
        first: usize,
        last: usize,
    ) -> Result<Range, ToolError> {
        let total = line_count(text);
        let range = Range { total, first: first.max(1), last: last.min(total) };
        if total > 0 && range.first > total {
            return Err(ToolError::Usage(format!(
                "`{path}` has {}; line {first} is past its end.",
                count(total, "line")
            )));
        }
        if total > 0 && range.last < range.first {
            return Err(ToolError::Usage(format!(
                "`{path}` cannot be shown from line {first} to line {last}: the last comes before the first."
            )));
        }
        Ok(range)
    }
}

fn line_count(text: &str) -> usize {
    let ended = memchr_iter(b'\n', text.as_bytes()).count();
    ended + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// As [`numbered`], without the secrets that the whole text shows: a line of a private key, or a value below its name,
/// alone proves nothing, and a number in front of it would hide it, too.
pub(crate) fn numbered_without_secrets(head: &str, text: &str, range: &Range, redactor: &Redactor) -> String {
    let head = redactor.text_for(head, Scope::Model).into_owned();
    let near = lines_near(text, range);
    let clean =
        text.get(near.clone()).map_or(Cow::Borrowed(text), |part| redactor.lines_for(part, Scope::Model));
    match clean {
        Cow::Borrowed(_) => numbered(head, text, range),
        Cow::Owned(clean) if near == (0..text.len()) => numbered(head, &clean, range),
        Cow::Owned(clean) => {
            let before = text.get(..near.start).unwrap_or_default();
            numbered(head, &[before, clean.as_str()].concat(), range)
        }
    }
}

/// The whole of a text; of a large one, whole lines around a range, with room for secrets that begin before it.
fn lines_near(text: &str, range: &Range) -> std::ops::Range<usize> {
    let bytes = text.as_bytes();
    if bytes.len() <= 2 * MAX_SECRET_BYTES {
        return 0..bytes.len();
    }
    let line_end = |lines: usize, from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        lines.checked_sub(1).and_then(|last| memchr_iter(b'\n', rest).nth(last)).map(|end| from + end + 1)
    };
    let first = line_end(range.first.saturating_sub(1), 0).unwrap_or(0);
    let last = line_end((range.last + 1).saturating_sub(range.first), first).unwrap_or(bytes.len());
    let head = bytes.get(..first.saturating_sub(MAX_SECRET_BYTES)).unwrap_or_default();
    let start = memchr::memrchr(b'\n', head).map_or(0, |end| end + 1);
    let tail = last.saturating_add(MAX_SECRET_BYTES);
    let end = bytes
        .get(tail..)
        .and_then(|rest| memchr::memchr(b'\n', rest))
        .map_or(bytes.len(), |end| tail + end + 1);
    start..end
}

/// Lines of a text with their numbers, under a heading. Every file that is read passes here: the number is counted up as
/// digits, and the text is built as bytes, since formatting each line took as long as reading the file.
pub(crate) fn numbered(head: String, text: &str, range: &Range) -> String {
    let Range { first, last, .. } = range;
    let width = (*last).max(1).to_string().len();
    let count = (last + 1).saturating_sub(*first);
    let mut prefix = format!("\n{first:>width$} | ").into_bytes();
    let mut shown = head.into_bytes();
    shown.reserve(text.len() + count * prefix.len());
    let bytes = text.as_bytes();
    let mut start = 0;
    let ends = memchr_iter(b'\n', bytes).chain([bytes.len()]);
    for (number, end) in (1..=*last).zip(ends) {
        if number >= *first {
            let line = bytes.get(start..end).unwrap_or_default();
            shown.extend_from_slice(&prefix);
            shown.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
            count_up(prefix.get_mut(1..=width).unwrap_or_default());
        }
        start = end + 1;
    }
    String::from_utf8(shown).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Increments a decimal number in place; the slice is wide enough for it.
fn count_up(digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        match digit {
            b'9' => *digit = b'0',
            b' ' => {
                *digit = b'1';
                return;
            }
            _ => {
                *digit += 1;
                return;
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct CreateFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteInput {
    /// Path relative to the working directory.
    path: String,
    /// The text.
    content: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct WriteData {
    path: String,
    bytes: usize,
}

#[async_trait]
impl Tool for CreateFile {
    type Input = WriteInput;
    type Data = WriteData;
    const NAME: &'static str = CREATE_FILE;
    const DESCRIPTION: &'static str = "Create a new text file in the working directory, with its directories. \
        To change a file that exists, use apply_patch.";
    const EXAMPLE: &'static str = r#"{"path": "src/greeting.py", "content": "print('hello')\n"}"#;
    const TOUCHES: Touches = Touches::WRITES;

    fn intents(input: &WriteInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Write { path: input.path.clone() }]
    }

    async fn call(&self, input: WriteInput, context: &ToolContext) -> Result<Output<WriteData>, ToolError> {
        let Some(content) = input.content else {
            return Err(ToolError::Usage(
                "create_file needs `content`: the whole text of the new file (\"\" for an empty one).".into(),
            ));
        };
        let workspace = context.workspace()?;
        let path = workspace.path(&input.path)?;
        context.access.may_write(&path)?;
        workspace.create_new(&path, content.as_bytes()).map_err(|refusal| match refusal.kind {
            RefusalKind::Exists => Refusal::new(
                RefusalKind::Exists,
                format!("`{path}` exists already"),
                "To change it use apply_patch, to add to it append_file.",
            ),
            _ => refusal,
        })?;
        let bytes = content.len();
        Ok(Output::line(
            format!("Created {path} ({})", count(bytes, "byte")),
            WriteData { path: path.to_string(), bytes },
        ))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct AppendFile;

#[async_trait]
impl Tool for AppendFile {
    type Input = WriteInput;
    type Data = WriteData;
    const NAME: &'static str = APPEND_FILE;
    const DESCRIPTION: &'static str =
        "Append text to the end of a file that exists in the working directory.";
    const EXAMPLE: &'static str = r#"{"path": "notes.md", "content": "\n- one more point\n"}"#;
    const TOUCHES: Touches = Touches::WRITES;

    fn intents(input: &WriteInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Write { path: input.path.clone() }]
    }

    async fn call(&self, input: WriteInput, context: &ToolContext) -> Result<Output<WriteData>, ToolError> {
        let Some(content) = input.content.filter(|content| !content.is_empty()) else {
            return Err(ToolError::Usage("append_file needs `content`: the text to add.".into()));
        };
        let workspace = context.workspace()?;
        let path = workspace.path(&input.path)?;
        context.access.may_write(&path)?;
        workspace.append(&path, content.as_bytes()).map_err(|refusal| match refusal.kind {
            RefusalKind::Missing => Refusal::new(
                RefusalKind::Missing,
                format!("`{path}` does not exist"),
                "To make it use create_file.",
            ),
            _ => refusal,
        })?;
        let bytes = content.len();
        Ok(Output::line(
            format!("Appended {} to {path}", count(bytes, "byte")),
            WriteData { path: path.to_string(), bytes },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_counted_like_any_other_way() {
        for text in ["", "\n", "a", "a\n", "a\nb", "\n\n", "a\r\nb\r\n", &"x\n".repeat(1234)] {
            assert_eq!(line_count(text), text.lines().count(), "{text:?}");
            let total = line_count(text);
            for first in [1, 2, 9, 10, 99, 100, 999] {
                let Ok(range) = Range::clamp_to_text(&"a", text, first, usize::MAX) else { continue };
                let width = total.max(1).to_string().len();
                let plain: String = text
                    .lines()
                    .enumerate()
                    .skip(range.first - 1)
                    .map(|(number, line)| format!("\n{:>width$} | {line}", number + 1))
                    .collect();
                assert_eq!(numbered(String::new(), text, &range), plain);
            }
        }
    }
}
