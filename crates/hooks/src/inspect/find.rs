//! Which run is meant.

use marvin_base::run_record;
use std::path::{Path, PathBuf};

/// No run, or more than one, is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// There are no runs at all.
    #[error(
        "there is no run yet (looked in {0})\n  hint: a session with the hooks of `marvin init` makes one, and so does `marvin --non-interactive`"
    )]
    None(String),
    /// No run has this name.
    #[error("there is no run `{name}` (looked here and in {places}){near}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        places: String,
        /// The newest there is.
        near: String,
    },
    /// Several runs begin so.
    #[error("several runs begin with `{name}`: {which}\n  hint: give more of the name")]
    Several {
        /// What was asked for.
        name: String,
        /// Some of them.
        which: String,
    },
}

/// The directory of the run with this name (an id, its beginning, or a directory), or of the newest.
///
/// # Errors
/// When none, or more than one, is meant.
pub fn find(name: Option<&str>, places: &[PathBuf]) -> Result<PathBuf, NotFound> {
    let shown = places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" and ");
    let newest = || places.iter().find_map(|place| run_record::list(place).into_iter().next());
    let Some(name) = name else { return newest().ok_or(NotFound::None(shown)) };
    let is_run = |path: &PathBuf| path.join(run_record::FILE).is_file() || path.join("trace.jsonl").is_file();
    let given = Path::new(name);
    if let Some(path) =
        [given.to_path_buf()].into_iter().chain(places.iter().map(|place| place.join(name))).find(is_run)
    {
        // A directory that is named as `.` has a name all the same.
        return Ok(path.canonicalize().unwrap_or(path));
    }
    let id = |run: &Path| run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let all = places.iter().flat_map(|place| run_record::list(place));
    let beginning: Vec<_> = all.filter(|run| !name.is_empty() && id(run).starts_with(name)).collect();
    match beginning.as_slice() {
        [run] => Ok(run.clone()),
        [] => {
            let near =
                newest().map(|run| format!("\n  hint: the newest is {}", id(&run))).unwrap_or_default();
            Err(NotFound::Unknown { name: name.to_string(), places: shown, near })
        }
        several => {
            let which = several.iter().take(5).map(|run| id(run)).collect::<Vec<_>>().join(", ");
            Err(NotFound::Several { name: name.to_string(), which })
        }
    }
}
