//! The digest of packs for Marvin's own agents: the same as at the start of a client's session.

use super::{InjectionHistory, Packs};
use marvin_base::layout::Layout;
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

const MAX_SCAN_ENTRIES: usize = 3_000;

/// The digest of the packs of a project and of the person.
#[must_use]
pub fn at_start(layout: &Layout, max_tokens: usize) -> Option<String> {
    let project = layout.project()?;
    let packs = Packs::load(&layout.packs());
    if packs.all().is_empty() {
        return None;
    }
    packs
        .digest(&extensions_below(project), &mut InjectionHistory::default(), max_tokens)
        .map(|injection| injection.text)
}

/// The extensions of a project's files, by a bounded breadth-first search.
#[must_use]
pub fn extensions_below(project: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut directories = VecDeque::from([project.to_path_buf()]);
    let mut seen = 0;
    while let Some(directory) = directories.pop_front() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_SCAN_ENTRIES {
                return found;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type();
            if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
                let bulk =
                    matches!(name.as_str(), "node_modules" | "target" | "dist" | "build" | "vendor" | "venv");
                if !name.starts_with('.') && !bulk {
                    directories.push_back(entry.path());
                }
            } else if let Some((_, ending)) = name.rsplit_once('.') {
                found.insert(format!(".{}", ending.to_lowercase()));
            }
        }
    }
    found
}
