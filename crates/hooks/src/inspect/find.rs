//! Search of a run by its name.

use marvin_base::run_record;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    #[error(
        "no run exists yet (looked in {0})\n  hint: a session with the hooks of `marvin init` makes one, and so does `marvin --non-interactive`"
    )]
    None(String),
    /// `near` is a hint with the newest run.
    #[error("unknown run `{name}` (looked here and in {places}){near}")]
    Unknown { name: String, places: String, near: String },
    #[error("several runs begin with `{name}`: {which}\n  hint: give more of the name")]
    Several { name: String, which: String },
}

/// The directory of a run by its id, a prefix of it or a path; by default the newest.
///
/// # Errors
/// When no run, or more than one, matches.
pub fn find(name: Option<&str>, places: &[PathBuf]) -> Result<PathBuf, NotFound> {
    let shown = places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" and ");
    let newest = || places.iter().find_map(|place| run_record::list(place).into_iter().next());
    let Some(name) = name else { return newest().ok_or(NotFound::None(shown)) };
    let is_run = |path: &PathBuf| path.join(run_record::FILE).is_file() || path.join("trace.jsonl").is_file();
    let given = Path::new(name);
    if let Some(path) =
        [given.to_path_buf()].into_iter().chain(places.iter().map(|place| place.join(name))).find(is_run)
    {
        // The canonical path has a name, also for `.`.
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
