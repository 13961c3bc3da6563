//! Paths of the memory's files: named by the settings, else below one directory.

use marvin_base::layout::Layout;
use marvin_base::settings::{Setting, Settings, table};
use std::path::{Path, PathBuf};

/// The files of one memory.
#[derive(Debug, Clone)]
pub struct Places {
    pub directory: PathBuf,
    pub state: PathBuf,
    pub turns: PathBuf,
    pub stm: PathBuf,
    pub ltm: PathBuf,
    pub approvals: PathBuf,
    pub candidates: PathBuf,
    /// Candidates from practice, in a format that other programs read.
    pub practice: PathBuf,
    pub lessons: PathBuf,
    /// Games of Magic, one directory each.
    pub games: PathBuf,
    /// The index, which can be deleted at any time.
    pub index: PathBuf,
    /// The seal, in the person's own directory.
    pub seal: PathBuf,
}

impl Places {
    /// The paths that the settings name, else those of the layout. Relative paths are below the directory.
    #[must_use]
    pub fn from_settings(layout: &Layout, settings: &Settings) -> Self {
        let directory = settings.given(&table::MEMORY_DIR).map_or_else(|| layout.memory(), PathBuf::from);
        let mut places = Places::below(&directory, layout);
        let named = |setting: &Setting, place: &mut PathBuf| {
            if let Some(path) = settings.given(setting) {
                *place = directory.join(path);
            }
        };
        named(&table::MEMORY_STATE, &mut places.state);
        named(&table::MEMORY_TURNS, &mut places.turns);
        named(&table::MEMORY_LTM, &mut places.ltm);
        named(&table::MEMORY_APPROVALS, &mut places.approvals);
        named(&table::MEMORY_PRACTICE, &mut places.practice);
        if let Some(path) = settings.given(&table::STM_DIR) {
            places.stm =
                directory.join(path).join(format!("{}.jsonl", plain(settings.text(&table::STM_COLLECTION))));
        } else if let Some(name) = settings.given(&table::STM_COLLECTION) {
            places.stm = directory.join(format!("{}.jsonl", plain(name)));
        }
        places
    }

    /// The default file names below a directory.
    #[must_use]
    pub fn below(directory: &Path, layout: &Layout) -> Self {
        Places {
            directory: directory.to_path_buf(),
            state: directory.join("state.json"),
            turns: directory.join("turns.jsonl"),
            stm: directory.join("stm.jsonl"),
            ltm: directory.join("ltm.jsonl"),
            approvals: directory.join("memory_approvals.jsonl"),
            candidates: directory.join("candidates.jsonl"),
            practice: directory.join("practice_candidates.jsonl"),
            lessons: directory.join("lessons"),
            games: directory.join("mtg"),
            index: directory.join("index.sqlite"),
            seal: layout.memory_seal(directory),
        }
    }
}

/// A file name without path separators.
fn plain(name: &str) -> String {
    name.chars()
        .map(|char| if char.is_alphanumeric() || matches!(char, '-' | '_') { char } else { '_' })
        .collect()
}
