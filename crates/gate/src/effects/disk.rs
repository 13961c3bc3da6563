//! Links on the disk: a name inside the workspace may lead out of it.

use super::place::{Grounds, Place};
use crate::command::reach;
use crate::shell::Word;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Names that one pattern may stand for before nothing is known of it.
pub(super) const MAX_PATTERN_MATCHES: usize = 2_000;

/// What a part of a path that is not known may be, as patterns: nothing, a name, a hidden one, or two.
const UNKNOWN_PARTS: [&str; 4] = ["", "*", ".*", ".*/*"];

/// The paths that a word may stand for, with every link followed.
pub(super) fn reached(word: &Word, directories: &[Word]) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    for text in texts(word)? {
        if text.is_empty() || text.len() > 4_096 {
            continue;
        }
        for directory in directories {
            let is_pattern =
                word.text().is_none() || word.globs() || directory.globs() && !text.starts_with('/');
            let path = Path::new(&*directory.text()?).join(&text);
            let paths = if is_pattern { reach::expand(&path)? } else { vec![path] };
            found.extend(paths.iter().take(MAX_PATTERN_MATCHES).map(|path| reach::real(path)));
            if text.starts_with('/') {
                break;
            }
        }
    }
    Some(found)
}

/// The texts that a word may be: more than one where a directory on the way to a name is not known.
fn texts(word: &Word) -> Option<Vec<String>> {
    if let Some(text) = word.text() {
        return Some(vec![text.into_owned()]);
    }
    if word.globs() && !word.after_unknown().contains('/') {
        let begin = word.beginning();
        return begin.rsplit_once('/').map(|(directory, _)| vec![directory.to_string()]);
    }
    let is_named = word.after_unknown().rsplit_once('/').is_some_and(|(_, name)| !name.is_empty());
    (is_named && !word.beginning().is_empty())
        .then(|| UNKNOWN_PARTS.iter().map(|part| word.with_unknown_as(part)).collect())
}

/// The places of what a word finds on the disk; none where the text says enough.
pub(super) fn places(
    word: &Word,
    directories: &[Word],
    grounds: Grounds<'_>,
    by_text: Place,
) -> BTreeSet<Place> {
    if matches!(by_text, Place::Root | Place::Device | Place::Sink | Place::Network | Place::Secret)
        || word.beginning().starts_with('-')
    {
        return BTreeSet::new();
    }
    let Some(paths) = reached(word, directories) else { return BTreeSet::new() };
    let (workspace, home) = (reach::real(Path::new(grounds.workspace)), reach::real(Path::new(grounds.home)));
    let (workspace, home) = (workspace.to_string_lossy(), home.to_string_lossy());
    let real = Grounds { workspace: &workspace, home: &home };
    paths.iter().map(|path| Place::of_path(&path.to_string_lossy(), true, false, real)).collect()
}

/// The worse of the place that the text names and the places that it leads to.
pub(super) fn worst(by_text: Place, found: &BTreeSet<Place>) -> Place {
    // A directory that a pattern names as a whole is what the text says.
    match found.last() {
        Some(found) if by_text <= Place::Inside || *found > by_text => by_text.max(*found),
        _ => by_text,
    }
}

/// Does a word lead to the tickets?
pub(super) fn is_ticket(word: &Word, directories: &[Word], grounds: Grounds<'_>) -> bool {
    let tickets = reach::real(Path::new(grounds.workspace)).join(".tickets");
    reached(word, directories).is_some_and(|paths| paths.iter().any(|path| path.starts_with(&tickets)))
}
