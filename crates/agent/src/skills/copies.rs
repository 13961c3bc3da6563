//! Copies of a trusted skill's files in the workspace, where commands can read and run them.
//!
//! Agents can write where the copies are, and a file beside a script may be code that the script loads. So a copy counts only
//! if it has exactly the files of the skill: nothing more, nothing else in them, no links. One that differs is left as it is,
//! because another session may be using it, and the files are copied to a fresh directory.
//!
//! Limits: an agent can change a copy after it was checked. Then it runs its own code, as it may anywhere in the workspace, and
//! the next load finds the difference.

use super::files;
use marvin_base::layout::Layout;
use marvin_gate::{DirectoryEntryKind, Workspace};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Copies of the same files that are looked at before the files are only read out.
const MAX_COPIES: u32 = 32;

/// Where the files of a skill are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedFiles {
    /// Relative to the workspace.
    pub(super) directory: PathBuf,
    /// Copies that were found changed.
    pub(super) changed_copies: u32,
}

/// Finds the copy of a skill's files, or makes one. None: they cannot be copied.
pub(super) fn place(
    workspace: &Workspace,
    source: &Path,
    name: &str,
    paths: &[PathBuf],
) -> Option<PlacedFiles> {
    let copies = Layout::tool_outputs().join("skills");
    // Copies are not part of what a worktree changed. Where the file exists already, it says so too.
    workspace.create_output(&copies.join(".gitignore")).and_then(|mut file| file.write_all(b"*\n")).ok();
    for number in 0..MAX_COPIES {
        let directory = copies.join(match number {
            0 => name.to_string(),
            number => format!("{name}-{}", number + 1),
        });
        let placed = PlacedFiles { directory: directory.clone(), changed_copies: number };
        match workspace.list_plain(&directory) {
            Ok(_) if is_same(workspace, source, &directory, paths) => return Some(placed),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                write(workspace, source, &directory, paths)?;
                return Some(placed);
            }
            // It differs, or is not a directory.
            Ok(_) | Err(_) => {}
        }
    }
    None
}

fn write(workspace: &Workspace, source: &Path, copy: &Path, paths: &[PathBuf]) -> Option<()> {
    for path in paths {
        let bytes = files::read(source, path).ok()?;
        let mut file = workspace.create_output(&copy.join(path)).ok()?;
        file.write_all(&bytes).ok()?;
        file.set_permissions(source.join(path).metadata().ok()?.permissions()).ok()?;
    }
    Some(())
}

/// Whether a copy has these files with the contents of the source, and nothing else.
fn is_same(workspace: &Workspace, source: &Path, copy: &Path, paths: &[PathBuf]) -> bool {
    let expected: BTreeSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let directories: BTreeSet<&Path> = paths.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    let mut count = 0;
    for below in &directories {
        let Ok(entries) = workspace.list_plain(&copy.join(below)) else { return false };
        for entry in entries {
            let path = below.join(&entry.name);
            let is_known = match entry.kind {
                DirectoryEntryKind::Directory => directories.contains(path.as_path()),
                DirectoryEntryKind::File => expected.contains(path.as_path()),
                DirectoryEntryKind::Link | DirectoryEntryKind::Other => false,
            };
            if !is_known {
                return false;
            }
            count += usize::from(entry.kind == DirectoryEntryKind::File);
        }
    }
    count == expected.len() && paths.iter().all(|path| has_content(workspace, source, copy, path))
}

fn has_content(workspace: &Workspace, source: &Path, copy: &Path, path: &Path) -> bool {
    let Ok(bytes) = files::read(source, path) else { return false };
    let Ok((file, length)) = workspace.open_plain(&copy.join(path)) else { return false };
    let mut found = Vec::new();
    let limit = bytes.len() as u64;
    length == limit && file.take(limit + 1).read_to_end(&mut found).is_ok() && found == bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_copy_that_was_changed_is_not_used_again() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (source, project) = (root.join("source"), root.join("project"));
        fs::create_dir_all(source.join("scripts")).unwrap();
        fs::create_dir_all(&project).unwrap();
        fs::write(source.join("scripts/run.py"), "import json\n").unwrap();
        fs::write(source.join("notes.md"), "notes\n").unwrap();
        let workspace = Workspace::open(&project, &root).unwrap();
        let paths = [PathBuf::from("notes.md"), PathBuf::from("scripts/run.py")];
        let place = || place(&workspace, &source, "a-1", &paths).unwrap();
        let first = place();
        assert!(first.directory.ends_with("skills/a-1") && first.changed_copies == 0, "{first:?}");
        assert_eq!(place(), first, "an unchanged copy stays in use");
        let copy = project.join(&first.directory);
        // Python would import it instead of its own module.
        fs::write(copy.join("scripts/json.py"), "evil").unwrap();
        let second = place();
        assert!(second.directory.ends_with("skills/a-1-2") && second.changed_copies == 1, "{second:?}");
        assert_eq!(fs::read_to_string(project.join(&second.directory).join("notes.md")).unwrap(), "notes\n");
        fs::write(project.join(&second.directory).join("scripts/run.py"), "import jsox\n").unwrap();
        let third = place();
        assert_eq!(third.changed_copies, 2);
        let linked = project.join(&third.directory).join("notes.md");
        fs::remove_file(&linked).unwrap();
        std::os::unix::fs::symlink(source.join("notes.md"), &linked).unwrap();
        let fourth = place();
        assert_eq!(fourth.changed_copies, 3);
        fs::create_dir(project.join(&fourth.directory).join("scripts/__pycache__")).unwrap();
        assert_eq!(place().changed_copies, 4);
        fs::remove_file(copy.join("scripts/json.py")).unwrap();
        assert_eq!(place(), first, "a repaired copy is used again");
    }
}
