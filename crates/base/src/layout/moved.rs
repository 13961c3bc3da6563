//! Projects that were moved: their state belongs to the old path until a person takes it over.

use super::state::{ProjectNote, RUNS_LINK, StateError};
use super::{Layout, state};
use std::path::{Path, PathBuf};

/// The directory of the state that is taken over run by run.
const RUNS: &str = "runs";

/// The state of the path where a project was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedState {
    /// Where the project was.
    pub old_path: String,
    directory: PathBuf,
}

impl Layout {
    /// The state of the path where this project was: the link to the runs, which moved with it, leads to the state of a path
    /// that no longer exists. The link is data of the repository: it may be shown, and only a person may act on it.
    #[must_use]
    pub fn moved_state(&self) -> Option<MovedState> {
        let runs = std::fs::read_link(self.record()?.join(RUNS_LINK)).ok()?;
        let directory = runs.parent()?.canonicalize().ok()?;
        let projects = self.state.join("projects").canonicalize().ok()?;
        let own = self.project_state();
        if directory.parent() != Some(&projects) || own.canonicalize().is_ok_and(|own| own == directory) {
            return None;
        }
        let ProjectNote { path, .. } = state::read_note(&directory)?;
        (!Path::new(&path).exists()).then_some(MovedState { old_path: path, directory })
    }

    /// Moves the state of the old path here, and returns the names of what stayed, because this project has the same already.
    ///
    /// # Errors
    /// When the state directory cannot be used or something cannot be moved; what was moved stays moved.
    pub fn take_over(&self, moved: &MovedState) -> Result<Vec<String>, StateError> {
        self.prepare_state()?;
        let own = self.project_state();
        let failed = |source| StateError::Io {
            doing: "take over",
            path: moved.directory.display().to_string(),
            source,
        };
        let mut stayed = Vec::new();
        for name in names(&moved.directory).map_err(failed)? {
            let (old, new) = (moved.directory.join(&name), own.join(&name));
            if name == RUNS && new.is_dir() {
                for run in names(&old).map_err(failed)? {
                    if !take(&old.join(&run), &new.join(&run)).map_err(failed)? {
                        stayed.push(format!("{RUNS}/{run}"));
                    }
                }
                std::fs::remove_dir(&old).ok();
            } else if name != "project.json" && !take(&old, &new).map_err(failed)? {
                stayed.push(name);
            }
        }
        if stayed.is_empty() {
            std::fs::remove_dir_all(&moved.directory).map_err(failed)?;
        }
        let link = self.record().map(|record| record.join(RUNS_LINK));
        if link.is_some_and(|link| std::fs::remove_file(link).is_ok()) {
            self.link_runs();
        }
        Ok(stayed)
    }
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Moves a file or directory, unless the new place has files already.
fn take(old: &Path, new: &Path) -> std::io::Result<bool> {
    if has_files(new) {
        return Ok(false);
    }
    if new.is_dir() {
        std::fs::remove_dir_all(new)?;
    }
    std::fs::rename(old, new).map(|()| true)
}

/// Whether a path is a file, or a directory with a file somewhere below it.
fn has_files(path: &Path) -> bool {
    match path.symlink_metadata() {
        Err(_) => false,
        Ok(facts) if !facts.is_dir() => true,
        Ok(_) => std::fs::read_dir(path)
            .map_or(true, |entries| entries.flatten().any(|entry| has_files(&entry.path()))),
    }
}
