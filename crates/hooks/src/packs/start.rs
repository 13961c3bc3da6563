//! What an agent of ours is told by packs when it begins: the same that a session of a client is told.

use super::{InjectionHistory, Packs};
use marvin_base::layout::Layout;
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

/// Names of files that are looked at.
const MAX_SCAN_ENTRIES: usize = 3_000;

/// What the packs of a project and of the person tell at the beginning, within `cap` tokens.
#[must_use]
pub fn at_start(layout: &Layout, cap: usize) -> Option<String> {
    let project = layout.project()?;
    let packs = Packs::load(&layout.packs());
    if packs.all().is_empty() {
        return None;
    }
    packs
        .digest(&extensions_below(project), &mut InjectionHistory::default(), cap)
        .map(|telling| telling.text)
}

/// How the names of files end, near the top first.
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
