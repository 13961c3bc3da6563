//! Walking the workspace the way ripgrep does, without ever following a link.

use ignore::{DirEntry, WalkBuilder};
use std::path::{Path, PathBuf};

/// Folders that are never worth a look unless they are named.
const SKIPPED: [&str; 4] = ["node_modules", "__pycache__", "venv", ".venv"];
/// Hidden folders that people do look into.
const SHOWN: [&str; 2] = [".marvin", ".github"];

/// A walk from `start`, which lies in `root`; entries come in the order of their names. With `everything`, only git's own
/// files and the tickets are left out.
pub(crate) fn builder(root: &Path, start: &Path, respect_gitignore: bool, everything: bool) -> WalkBuilder {
    let mut builder = WalkBuilder::new(start);
    builder
        .hidden(false)
        .parents(false)
        .ignore(false)
        .git_global(false)
        .git_exclude(respect_gitignore)
        .git_ignore(respect_gitignore)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(Ord::cmp);
    let (root, start): (PathBuf, PathBuf) = (root.to_path_buf(), start.to_path_buf());
    builder.filter_entry(move |entry| entry.path() == start || shown(entry, &root, everything));
    builder
}

fn shown(entry: &DirEntry, root: &Path, everything: bool) -> bool {
    let name = entry.file_name().to_string_lossy();
    let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    // A worktree's `.git` is a file.
    if name == ".git" || entry.path() == root.join(".tickets") {
        return false;
    }
    everything || !folder || SHOWN.contains(&&*name) || !(name.starts_with('.') || SKIPPED.contains(&&*name))
}
