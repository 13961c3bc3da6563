//! Which run is meant.

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
    let newest = || places.iter().find_map(|place| Some(place.join(runs(place).pop()?)));
    let Some(name) = name else { return newest().ok_or(NotFound::None(shown)) };
    let is_run = |path: &PathBuf| path.join("run.json").is_file() || path.join("trace.jsonl").is_file();
    let given = Path::new(name);
    if let Some(path) =
        [given.to_path_buf()].into_iter().chain(places.iter().map(|place| place.join(name))).find(is_run)
    {
        // A directory that is named as `.` has a name all the same.
        return Ok(path.canonicalize().unwrap_or(path));
    }
    let all = places.iter().flat_map(|place| runs(place).into_iter().map(move |run| (place, run)));
    let beginning: Vec<_> = all.filter(|(_, run)| !name.is_empty() && run.starts_with(name)).collect();
    match beginning.as_slice() {
        [(place, run)] => Ok(place.join(run)),
        [] => {
            let near = newest().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
            let near = near.map(|near| format!("\n  hint: the newest is {near}")).unwrap_or_default();
            Err(NotFound::Unknown { name: name.to_string(), places: shown, near })
        }
        several => {
            let which =
                several.iter().rev().take(5).map(|(_, run)| run.as_str()).collect::<Vec<_>>().join(", ");
            Err(NotFound::Several { name: name.to_string(), which })
        }
    }
}

/// The names of runs in a directory, oldest first. A link is none.
fn runs(place: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = directories.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("run_")).collect();
    names.sort();
    names
}
