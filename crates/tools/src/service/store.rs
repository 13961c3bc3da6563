//! Small JSON files of the person that tools change: places, bookmarks, tokens.
//!
//! A change is made under a lock, on what the file holds then, and put in place by a rename, so that two processes lose nothing of
//! each other and a kill leaves the old file or the new one. A file that cannot be parsed is never overwritten.

use crate::result::ToolError;
use marvin_base::atomic;
use marvin_base::files::{self, Links};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::path::Path;

const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a file; a missing one is empty.
///
/// # Errors
/// When it exists and cannot be read or parsed.
pub(crate) fn read<T: DeserializeOwned + Default>(path: &Path) -> Result<T, ToolError> {
    let failed = |reason: String| {
        ToolError::Failed(format!(
            "cannot read {}: {reason}\n  hint: tell the person to repair or move that file",
            path.display()
        ))
    };
    match files::read_text(path, MAX_FILE_BYTES, Links::Follow) {
        Ok(text) if text.trim().is_empty() => Ok(T::default()),
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Changes a file under its lock; it is private to the person. An error of `change` leaves it as it is.
///
/// # Errors
/// When it cannot be read or written, or the change fails.
pub(crate) fn change<T, R>(
    path: &Path,
    change: impl FnOnce(&mut T) -> Result<R, ToolError>,
) -> Result<R, ToolError>
where
    T: DeserializeOwned + Serialize + Default,
{
    let failed =
        |error: std::io::Error| ToolError::Failed(format!("cannot change {}: {error}", path.display()));
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    let lock =
        File::options().create(true).append(true).open(path.with_extension("json.lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut value: T = read(path)?;
    let result = change(&mut value)?;
    let text = serde_json::to_string_pretty(&value).map_err(|error| failed(error.into()))? + "\n";
    // The target of a link is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    atomic::replace_private(&target, text.as_bytes()).map_err(|error| failed(error.source))?;
    Ok(result)
}
