//! Links on the disk: a name inside the workspace may lead out of it.

use super::place::{Grounds, Place};
use crate::command::reach;
use crate::shell::Word;
use std::path::{Path, PathBuf};

/// Names that one pattern may stand for before nothing is known of it.
pub(super) const MAX_PATTERN_MATCHES: usize = 2_000;

/// The paths that a word may stand for, with every link followed.
pub(super) fn reached(word: &Word, directories: &[Word]) -> Option<Vec<PathBuf>> {
    let text = word.text()?;
    if text.is_empty() || text.len() > 4_096 {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    for directory in directories {
        let path = Path::new(&*directory.text()?).join(&*text);
        let paths = if word.globs() { reach::expand(&path)? } else { vec![path] };
        found.extend(paths.iter().take(MAX_PATTERN_MATCHES).map(|path| reach::real(path)));
        if text.starts_with('/') {
            break;
        }
    }
    Some(found)
}

/// The worse of the place that the text names and the place that it leads to.
pub(super) fn place(word: &Word, directories: &[Word], grounds: Grounds<'_>, by_text: Place) -> Place {
    if matches!(by_text, Place::Root | Place::Device | Place::Sink | Place::Network | Place::Secret)
        || word.beginning().starts_with('-')
    {
        return by_text;
    }
    let Some(paths) = reached(word, directories) else { return by_text };
    let (workspace, home) = (reach::real(Path::new(grounds.workspace)), reach::real(Path::new(grounds.home)));
    let (workspace, home) = (workspace.to_string_lossy(), home.to_string_lossy());
    let real = Grounds { workspace: &workspace, home: &home };
    let found = paths.iter().map(|path| Place::of_path(&path.to_string_lossy(), true, false, real));
    // A directory that a pattern names as a whole is what the text says.
    match found.max() {
        Some(found) if by_text <= Place::Inside || found > by_text => found.max(by_text),
        _ => by_text,
    }
}

/// Does a word lead to the tickets?
pub(super) fn is_ticket(word: &Word, directories: &[Word], grounds: Grounds<'_>) -> bool {
    let tickets = reach::real(Path::new(grounds.workspace)).join(".tickets");
    reached(word, directories).is_some_and(|paths| paths.iter().any(|path| path.starts_with(&tickets)))
}
