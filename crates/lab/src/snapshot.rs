//! Snapshots of the graded files of a workspace. The workspace may be hostile: links are not followed, and sizes and numbers are
//! limited.

use crate::error::LabError;
use crate::task::Task;
use marvin_base::files::{self, Links};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Larger files, and more files of a directory, are left out.
const MAX_SNAPSHOT_FILE_BYTES: u64 = 1024 * 1024;
const MAX_SNAPSHOT_FILES: usize = 200;
const MAX_COPIED_FILES: usize = 2_000;
const MAX_COPIED_BYTES: u64 = 8 * 1024 * 1024;

/// The graded files of a workspace at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// By path.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Snapshot {
    #[must_use]
    pub fn take(task: &Task, workspace: &Path) -> Snapshot {
        let mut files = BTreeMap::new();
        for pattern in &task.facts.files {
            for path in matching(pattern, workspace) {
                if let Ok(bytes) = files::read(&workspace.join(&path), MAX_SNAPSHOT_FILE_BYTES, Links::Refuse)
                    && bytes.len() as u64 <= MAX_SNAPSHOT_FILE_BYTES
                {
                    files.insert(path, bytes);
                }
            }
        }
        Snapshot { files }
    }

    /// Writes the files below a directory.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), LabError> {
        for (path, bytes) in &self.files {
            put(&directory.join(path), bytes)?;
        }
        Ok(())
    }
}

/// The paths that match a pattern of `task.json`: a path, or `directory/*.ext`.
fn matching(pattern: &str, workspace: &Path) -> Vec<String> {
    let Some((directory, ending)) = pattern.split_once("/*") else { return vec![pattern.to_string()] };
    let place = workspace.join(directory);
    if !place.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(&place).into_iter().flatten().flatten().take(10_000);
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(ending))
        .collect();
    names.sort();
    names.truncate(MAX_SNAPSHOT_FILES);
    names.into_iter().map(|name| format!("{directory}/{name}")).collect()
}

/// Writes a file and creates its parent directories.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(|error| LabError::file(directory, error))?;
    }
    std::fs::write(path, bytes).map_err(|error| LabError::file(path, error))
}

/// Copies the regular files below a directory; links are not followed, and files that are too large are left out.
pub(crate) fn copy_files(from: &Path, to: &Path) -> Result<(), LabError> {
    let mut directories = vec![PathBuf::new()];
    let mut count = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(from.join(&directory)).into_iter().flatten().flatten() {
            let inner = directory.join(entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                directories.push(inner);
            } else if kind.is_file()
                && count < MAX_COPIED_FILES
                && let Ok(bytes) = files::read(&from.join(&inner), MAX_COPIED_BYTES, Links::Refuse)
                && bytes.len() as u64 <= MAX_COPIED_BYTES
            {
                count += 1;
                put(&to.join(&inner), &bytes)?;
            }
        }
    }
    Ok(())
}

/// Visible tests that the solver changed.
#[must_use]
pub(crate) fn changed_tests(task: &Task, workspace: &Path) -> Vec<String> {
    let same = |path: &str, text: &str| {
        files::read(&workspace.join(path), MAX_SNAPSHOT_FILE_BYTES, Links::Refuse)
            .is_ok_and(|bytes| bytes == text.as_bytes())
    };
    let tests = task.directory("starter").filter(|(path, _)| path.starts_with("tests/"));
    tests.filter(|(path, text)| !same(path, text)).map(|(path, _)| path.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task;

    #[test]
    fn only_graded_files_are_captured() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let shop = task::find(&["shop-refactor".into()]).unwrap().remove(0);
        for name in ["shop/a.py", "shop/conftest.txt", "conftest.py", "sitecustomize.py", "shop/deep/b.py"] {
            put(&root.join(name), b"x").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", root.join("shop/link.py")).unwrap();
        put(&root.join("shop/large.py"), &vec![b'x'; 2 << 20]).unwrap();
        let taken = Snapshot::take(&shop, root);
        assert_eq!(taken.files.keys().collect::<Vec<_>>(), ["shop/a.py"]);
        std::fs::rename(root.join("shop"), root.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", root.join("shop")).unwrap();
        assert_eq!(Snapshot::take(&shop, root), Snapshot::default(), "a directory that is a link");
        assert_eq!(changed_tests(&shop, root), ["tests/test_shop.py"]);
    }
}
