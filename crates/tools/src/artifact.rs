//! Results that are too large for a conversation: stored whole in the run's directory, and referred to.

use crate::result::{ToolResult, is_over};
use marvin_base::layout::Layout;
use marvin_base::open_dir::OpenDir;
use marvin_base::redact::Redactor;
use marvin_gate::Workspace;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes of one artifact; the rest is cut and marked.
const MAX_ARTIFACT_BYTES: usize = 16 * 1024 * 1024;

/// A text in the run's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// Relative to the working directory when it lies there.
    pub path: String,
    pub bytes: usize,
    pub lines: usize,
    pub sha256: String,
}

impl Artifact {
    /// The note for the model.
    pub(crate) fn note(&self) -> String {
        let Artifact { path, bytes, lines, .. } = self;
        format!(
            "\n… [this is a part; the whole, {lines} lines and {bytes} bytes, is kept in {path}: \
             read_file shows ranges of its lines, code_grep with this path finds some]"
        )
    }
}

/// Stores the whole text of a result in `directory`, redacted, when the model sees only a part of it. Returns why it could
/// not be written; then only the rest of the text is lost.
pub(crate) fn keep(
    result: &mut ToolResult,
    whole: Option<&str>,
    directory: &OpenDir,
    tool: &str,
    workspace: Option<&Workspace>,
    redactor: &Redactor,
) -> Option<String> {
    if whole.is_none() && !is_over(&result.text, result.limit) {
        return None;
    }
    let text = redactor.text(whole.unwrap_or(&result.text));
    let mut bytes = text.as_bytes();
    let note = format!("\n… [{} bytes were cut here]\n", bytes.len().saturating_sub(MAX_ARTIFACT_BYTES));
    let cut = bytes.len() > MAX_ARTIFACT_BYTES;
    if cut {
        bytes = bytes.get(..text.floor_char_boundary(MAX_ARTIFACT_BYTES)).unwrap_or(bytes);
    }
    let pieces: &[&[u8]] = if cut { &[bytes, note.as_bytes()] } else { &[bytes] };
    match write(&directory.place(), tool, "txt", pieces) {
        Ok(name) => {
            let copy = workspace.and_then(|workspace| copy_for_reading(workspace, directory, &name, pieces));
            let mut hash = Sha256::new();
            pieces.iter().for_each(|piece| hash.update(piece));
            let path = copy.unwrap_or_else(|| directory.path().join(name));
            result.artifact = Some(Artifact {
                path: path.display().to_string(),
                bytes: pieces.iter().map(|piece| piece.len()).sum(),
                lines: text.lines().count(),
                sha256: hex::encode(hash.finalize()),
            });
            None
        }
        Err(error) => {
            Some(format!("the whole result could not be kept in {}: {error}", directory.path().display()))
        }
    }
}

/// Copies an artifact into the workspace, where file tools and commands can read it: the run itself lies in the state
/// directory, which neither reaches. Returns its path relative to the workspace; none where it cannot be written.
fn copy_for_reading(
    workspace: &Workspace,
    directory: &OpenDir,
    name: &str,
    pieces: &[&[u8]],
) -> Option<PathBuf> {
    if let Ok(inside) = directory.path().strip_prefix(workspace.root()) {
        return Some(inside.join(name));
    }
    let run = directory.path().parent().and_then(Path::file_name)?;
    let path = Layout::tool_outputs().join(run).join(name);
    let mut file = workspace.create_output(&path).ok()?;
    pieces.iter().try_for_each(|piece| file.write_all(piece)).ok()?;
    Some(path)
}

/// Writes a new file and returns its name: `tool-N-NAME.ENDING`, N counting up.
pub(crate) fn write(directory: &Path, tool: &str, ending: &str, pieces: &[&[u8]]) -> std::io::Result<String> {
    let plain: String = tool.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let taken = std::fs::read_dir(directory)?.count();
    for number in taken + 1.. {
        let name = format!("tool-{number}-{plain}.{ending}");
        let opened =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(&name));
        match opened {
            Ok(mut file) => {
                pieces.iter().try_for_each(|piece| file.write_all(piece))?;
                file.sync_data()?;
                return Ok(name);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("no name is left"))
}
