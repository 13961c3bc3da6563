//! Execution of a plan, and its diff.

use super::{Change, Plan};
use marvin_base::atomic::{self, WriteError};
use marvin_base::diff;
use marvin_base::files::{self, Links};

/// The reason why a plan was interrupted. Every written file is complete, and the next run does the rest.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Another process changed a file after it was read.
    #[error("{0} changed in this very moment\n  hint: run `marvin init` again")]
    Moved(String),
}

impl Plan {
    /// Writes the planned files one by one.
    ///
    /// # Errors
    /// When a file cannot be written, or another process changed it meanwhile.
    pub fn apply(&self) -> Result<(), ApplyError> {
        for change in self.changes.iter().filter(|change| change.before != change.after) {
            let now = match files::read(&change.path, u64::MAX - 1, Links::Refuse) {
                Ok(bytes) => Some(bytes),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(source) => return Err(failed(change, source).into()),
            };
            if now != change.before {
                return Err(ApplyError::Moved(change.name.clone()));
            }
            match &change.after {
                Some(bytes) if change.is_executable => atomic::replace_executable(&change.path, bytes)?,
                Some(bytes) => atomic::replace(&change.path, bytes)?,
                None => std::fs::remove_file(&change.path).map_err(|source| failed(change, source))?,
            }
        }
        for directory in &self.directories {
            // A directory that is not empty stays.
            std::fs::remove_dir(directory).ok();
        }
        Ok(())
    }
}

fn failed(change: &Change, source: std::io::Error) -> WriteError {
    WriteError { path: change.path.display().to_string(), source }
}

impl Change {
    /// The change as a unified diff; empty when nothing changes.
    #[must_use]
    pub fn diff(&self) -> String {
        if self.before == self.after {
            return String::new();
        }
        let text = |bytes: &Option<Vec<u8>>| {
            String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
        };
        let name = |there: bool| if there { self.name.clone() } else { "/dev/null".to_string() };
        let (before, after) = (text(&self.before), text(&self.after));
        diff::unified((&name(self.before.is_some()), &before), (&name(self.after.is_some()), &after), 3)
    }
}
