//! Measures what an attempt changed: the workspace before and after it, and what the shell counted.
//!
//! Limits: names, sizes and times of at most 20,000 files are compared; of those that changed, 50 are read, 2 MB of each.
//! Directories of caches, build products and records do not count.

use super::progress::Progress;
use marvin_base::files::{self, Links};
use marvin_base::signature;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MAX_WORKSPACE_FILES: usize = 20_000;
const MAX_WORKSPACE_DIRECTORIES: usize = 20_000;
const MAX_HASHED_FILES: usize = 50;
const MAX_HASHED_FILE_BYTES: u64 = 2_000_000;
/// Directories that change without a change of the project.
pub const IGNORED: [&str; 12] = [
    ".git",
    ".marvin",
    ".tickets",
    ".tokimon-tmp",
    "target",
    "node_modules",
    ".venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
];

/// The files of a workspace at one moment, each with a mark that changes when the file does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    files: BTreeMap<String, String>,
}

/// What the shell counted during an attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttemptCounts {
    pub failing_tests: Option<u64>,
    pub passed_tests: Option<u64>,
    pub model_calls: u64,
    pub tool_calls: u64,
    pub iteration_count: u64,
    /// Outputs of a deterministic worker, which count if no file changed. Never a model's words.
    pub facts: Value,
}

impl Snapshot {
    /// Scans a workspace; unreadable entries are left out.
    #[must_use]
    pub fn take(workspace: &Path) -> Self {
        let mut found = BTreeMap::new();
        let mut directories = vec![workspace.to_path_buf()];
        let mut scanned = 0;
        while let Some(directory) = directories.pop() {
            scanned += 1;
            let Ok(entries) = std::fs::read_dir(&directory) else { continue };
            let mut entries: Vec<_> = entries.flatten().take(MAX_WORKSPACE_FILES).collect();
            entries.sort_unstable_by_key(std::fs::DirEntry::file_name);
            for entry in entries {
                // Metadata of the entry itself: links are not followed.
                let Ok(metadata) = entry.metadata() else { continue };
                let name = entry.file_name();
                if metadata.is_dir() {
                    let is_ignored = IGNORED.iter().any(|ignored| name.as_os_str() == *ignored);
                    if !is_ignored && scanned + directories.len() < MAX_WORKSPACE_DIRECTORIES {
                        directories.push(entry.path());
                    }
                } else if found.len() < MAX_WORKSPACE_FILES && !is_product(&name.to_string_lossy()) {
                    let path = entry.path();
                    let path = path.strip_prefix(workspace).unwrap_or(&path);
                    let mark = format!(
                        "{} {} {}.{} {}.{}",
                        metadata.len(),
                        metadata.ino(),
                        metadata.mtime(),
                        metadata.mtime_nsec(),
                        metadata.ctime(),
                        metadata.ctime_nsec()
                    );
                    found.insert(path.to_string_lossy().into_owned(), mark);
                }
            }
        }
        Snapshot { files: found }
    }

    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Changed, new and deleted files, sorted.
    #[must_use]
    pub fn touched<'a>(&'a self, after: &'a Snapshot) -> Vec<&'a str> {
        let changed = after.files.iter().filter(|(path, mark)| self.files.get(*path) != Some(mark));
        let gone = self.files.keys().filter(|path| !after.files.contains_key(*path));
        let mut touched: Vec<&str> =
            changed.map(|(path, _)| path.as_str()).chain(gone.map(String::as_str)).collect();
        touched.sort_unstable();
        touched
    }
}

/// Is this a product of a test run or build?
fn is_product(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "pyc" || extension == "pyo")
}

/// Measures an attempt. `before` is none for a read-only worker, so that changes of other workers do not count as its own.
#[must_use]
pub fn measure(before: Option<&Snapshot>, workspace: &Path, counted: &AttemptCounts) -> Progress {
    let mut progress = Progress {
        failing_tests: counted.failing_tests,
        passed_tests: counted.passed_tests,
        model_calls: counted.model_calls,
        tool_calls: counted.tool_calls,
        iteration_count: counted.iteration_count,
        ..Progress::default()
    };
    if let Some(before) = before {
        let after = Snapshot::take(workspace);
        let touched = before.touched(&after);
        let new = touched.iter().filter(|path| !before.files.contains_key(**path));
        progress.new_artifacts = new.count() as u64;
        if !touched.is_empty() {
            progress.artifact_delta_hash = delta_hash(workspace, &touched);
        }
    }
    if progress.artifact_delta_hash.is_empty() && !is_empty(&counted.facts) {
        progress.artifact_delta_hash = signature::hash(&counted.facts);
        progress.outputs_only = true;
    }
    progress
}

/// A hash over the content of touched files, without their times.
fn delta_hash(workspace: &Path, touched: &[&str]) -> String {
    let describe = |(at, path): (usize, &&str)| {
        let place = workspace.join(path);
        let length = place.symlink_metadata().map(|metadata| metadata.len()).ok();
        let content = if at < MAX_HASHED_FILES { content_hash(&place) } else { String::new() };
        (path.to_string(), length, content)
    };
    signature::hash(&touched.iter().enumerate().map(describe).collect::<Vec<_>>())
}

/// The hash of the beginning of a file; for a link, its target.
fn content_hash(place: &Path) -> String {
    if let Ok(target) = std::fs::read_link(place) {
        return format!("link to {}", target.display());
    }
    files::read(place, MAX_HASHED_FILE_BYTES, Links::Refuse)
        .map(|bytes| signature::hash_bytes(&bytes))
        .unwrap_or_default()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    #[test]
    fn touched_files_are_compared_by_content() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("a.txt"), "one").unwrap();
        fs::create_dir(at(".marvin")).unwrap();
        let before = Snapshot::take(directory.path());
        let now = |before: &Snapshot| measure(Some(before), directory.path(), &AttemptCounts::default());
        fs::write(at(".marvin/x"), "record").unwrap();
        fs::write(at("m.pyc"), "product").unwrap();
        assert_eq!(now(&before), Progress::default(), "neither the record nor products count");
        fs::write(at("b.txt"), "new").unwrap();
        let first = now(&before);
        assert_eq!((first.new_artifacts, first.artifact_delta_hash.len()), (1, 64));
        // Written again with the same content: touched, and the same.
        fs::write(at("b.txt"), "new").unwrap();
        assert_eq!(now(&before).artifact_delta_hash, first.artifact_delta_hash);
        fs::write(at("b.txt"), "old").unwrap();
        assert_ne!(now(&before).artifact_delta_hash, first.artifact_delta_hash);
        fs::remove_file(at("b.txt")).unwrap();
        assert_eq!(now(&before), Progress::default());
        fs::remove_file(at("a.txt")).unwrap();
        let gone = now(&before);
        assert_eq!((gone.new_artifacts, gone.artifact_delta_hash.len()), (0, 64));
        assert_eq!(serde_json::from_value::<Snapshot>(json!(before)).unwrap(), before);
    }

    #[test]
    fn links_huge_files_and_invalid_names_are_measured() {
        use std::os::unix::ffi::OsStrExt;
        let directory = tempfile::tempdir().unwrap();
        let before = Snapshot::take(directory.path());
        std::os::unix::fs::symlink("/proc/self/mem", directory.path().join("link")).unwrap();
        fs::write(directory.path().join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), [0xff; 9]).unwrap();
        fs::File::create(directory.path().join("huge")).unwrap().set_len(1 << 40).unwrap();
        let progress = measure(Some(&before), directory.path(), &AttemptCounts::default());
        assert_eq!((progress.new_artifacts, progress.artifact_delta_hash.len()), (3, 64));
        assert_eq!(
            measure(Some(&before), Path::new("/nowhere"), &AttemptCounts::default()),
            Progress::default()
        );
    }

    #[test]
    fn facts_count_where_nothing_was_touched() {
        let directory = tempfile::tempdir().unwrap();
        let facts = |facts: Value| {
            let counted = AttemptCounts { facts, failing_tests: Some(1), ..AttemptCounts::default() };
            measure(None, directory.path(), &counted)
        };
        assert_eq!(facts(json!({})).artifact_delta_hash, "");
        assert_ne!(facts(json!({"stdout": "1"})), facts(json!({"stdout": "2"})));
        assert_eq!(facts(Value::Null).failing_tests, Some(1));
    }
}
