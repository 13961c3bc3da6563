//! Files that a command must not change, compared before and after it and restored.
//!
//! In namespaces the protected files that exist are mounted read-only, so what is left to find is new ones: `.git/commondir`, a hook, a
//! settings file of another agent. Without namespaces they can be written too. Either way a change is undone: what was
//! there is written back, what is new is moved into the run's `artifacts/tampered`, and the names are reported.
//!
//! Limits: a file above [`MAX_FILE_BYTES`] is reported and not restored. The person may change one of these files in the same
//! moment; that looks the same and is undone too, with a copy kept beside the report.

use marvin_base::atomic;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Entries of one directory that are compared.
const MAX_ENTRIES: usize = 256;
/// The largest file whose content is kept for restoring.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Depth to which protected directories are compared.
const MAX_DEPTH: usize = 3;

/// Files of `.marvin` that steer Marvin. The rest of it is written by other processes of Marvin while a command runs.
const OWN_SETTINGS: [&str; 6] = ["config.toml", "instructions.md", "packs", "rules", "security", "skills"];

/// Directories that are looked at for nested repositories.
const MAX_DIRECTORIES: usize = 400;
/// Directories of dependencies and builds, which hold repositories of their own.
const REGENERATED: [&str; 7] = [".git", "node_modules", "target", ".venv", "venv", "build", "dist"];

/// The protected files of a workspace as they were.
#[derive(Debug)]
pub(super) struct Guard {
    root: PathBuf,
    places: Vec<PathBuf>,
    files: BTreeMap<PathBuf, FileSnapshot>,
    repositories: BTreeSet<PathBuf>,
}

#[derive(Debug)]
struct FileSnapshot {
    mark: Mark,
    mode: u32,
    /// Its content, or the target of a link; none when it is too large.
    content: Option<Content>,
}

#[derive(Debug)]
enum Content {
    Bytes(Vec<u8>),
    Link(PathBuf),
}

/// Metadata of a file that changes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Guard {
    /// Records the protected files of a workspace, whether they exist or not.
    pub(super) fn begin(root: &Path, places: &[PathBuf]) -> Self {
        let mut places: Vec<PathBuf> =
            places.iter().filter(|place| !is_record(root, place)).cloned().collect();
        places.extend(OWN_SETTINGS.map(|name| root.join(".marvin").join(name)));
        let files =
            list(&places).into_iter().map(|(path, facts)| (path.clone(), save(&path, &facts))).collect();
        Guard { root: root.to_path_buf(), places, files, repositories: nested_repositories(root) }
    }

    /// Undoes every change and returns the paths, relative to the workspace. New files are moved to `quarantine`.
    pub(super) fn finish(&self, quarantine: Option<&Path>) -> Vec<String> {
        let now = list(&self.places);
        let mut tampered = Vec::new();
        for (path, facts) in &now {
            if self.files.get(path).is_some_and(|saved| saved.is_same(path, facts)) {
                continue;
            }
            tampered.push(self.shown(path));
            remove(path, quarantine);
        }
        for (path, saved) in &self.files {
            match now.get(path) {
                Some(facts) if saved.is_same(path, facts) => {}
                None if is_removed_worktree(path) => {}
                found => {
                    if found.is_none() {
                        tampered.push(self.shown(path));
                    }
                    restore(path, saved);
                }
            }
        }
        // A repository inside the workspace has hooks and settings of its own. It is reported and stays: builds create some.
        let new = nested_repositories(&self.root);
        tampered.extend(new.difference(&self.repositories).map(|path| self.shown(path)));
        tampered.sort();
        tampered.dedup();
        tampered
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

impl FileSnapshot {
    /// Whether the file is as it was; one that was written again with the same content is.
    fn is_same(&self, path: &Path, facts: &std::fs::Metadata) -> bool {
        let is_rewritten = || match &self.content {
            Some(Content::Bytes(bytes)) => {
                facts.is_file()
                    && facts.nlink() == 1
                    && facts.mode() == self.mode
                    && facts.size() == bytes.len() as u64
                    && std::fs::read(path).is_ok_and(|now| now == *bytes)
            }
            Some(Content::Link(_)) | None => false,
        };
        self.mark == mark(facts) || is_rewritten()
    }
}

/// Whether the file belonged to a git worktree that is gone: other processes of Marvin remove theirs while a command runs.
fn is_removed_worktree(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
        && path.ancestors().any(|own| {
            own.parent().is_some_and(|all| all.file_name().is_some_and(|name| name == "worktrees"))
                && own.symlink_metadata().is_err()
        })
}

/// Marvin's own directory and the tickets change while a command runs, by other processes of Marvin.
fn is_record(root: &Path, place: &Path) -> bool {
    [".marvin", ".tickets"].iter().any(|own| place == root.join(own))
}

/// Repositories below the workspace's own, in the upper part of its tree.
fn nested_repositories(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut waiting = VecDeque::from([(root.to_path_buf(), 0)]);
    let mut left = MAX_DIRECTORIES;
    while let Some((directory, depth)) = waiting.pop_front() {
        left -= 1;
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten().take(MAX_ENTRIES) {
            let (name, kind) = (entry.file_name(), entry.file_type());
            if name == ".git" && depth > 0 {
                found.insert(entry.path());
            } else if kind.is_ok_and(|kind| kind.is_dir())
                && depth < MAX_DEPTH
                && !REGENERATED.iter().any(|made| name == *made)
            {
                waiting.push_back((entry.path(), depth + 1));
            }
        }
        if left == 0 {
            break;
        }
    }
    found
}

/// Every file and link of the protected places, with its metadata.
fn list(places: &[PathBuf]) -> BTreeMap<PathBuf, std::fs::Metadata> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<(PathBuf, usize)> = places.iter().map(|place| (place.clone(), 0)).collect();
    while let Some((place, depth)) = waiting.pop() {
        let Ok(facts) = place.symlink_metadata() else { continue };
        if facts.is_dir() && depth < MAX_DEPTH {
            let entries = std::fs::read_dir(&place).into_iter().flatten().flatten().take(MAX_ENTRIES);
            waiting.extend(entries.map(|entry| (entry.path(), depth + 1)));
        } else if !facts.is_dir() {
            found.insert(place, facts);
        }
    }
    found
}

fn mark(facts: &std::fs::Metadata) -> Mark {
    Mark { inode: facts.ino(), size: facts.size(), changed: (facts.ctime(), facts.ctime_nsec()) }
}

fn save(path: &Path, facts: &std::fs::Metadata) -> FileSnapshot {
    let content = if facts.is_symlink() {
        std::fs::read_link(path).ok().map(Content::Link)
    } else if facts.is_file() && facts.size() <= MAX_FILE_BYTES {
        std::fs::read(path).ok().map(Content::Bytes)
    } else {
        None
    };
    FileSnapshot { mark: mark(facts), mode: facts.mode(), content }
}

/// Moves a file out of the workspace, into `to` where that is possible.
fn remove(path: &Path, to: Option<&Path>) {
    let is_small =
        path.symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.size() <= MAX_FILE_BYTES);
    if let (Some(to), true) = (to, is_small) {
        let name = path.to_string_lossy().replace('/', "_");
        // A copy for the person; the file is removed either way.
        std::fs::create_dir_all(to).and_then(|()| std::fs::copy(path, to.join(name))).ok();
    }
    std::fs::remove_file(path).ok();
}

fn restore(path: &Path, saved: &FileSnapshot) {
    match &saved.content {
        Some(Content::Bytes(bytes)) => {
            path.parent().map(std::fs::create_dir_all);
            if atomic::replace(path, bytes).is_ok() {
                use std::os::unix::fs::PermissionsExt;
                let mode = std::fs::Permissions::from_mode(saved.mode & 0o7777);
                std::fs::set_permissions(path, mode).ok();
            }
        }
        Some(Content::Link(target)) => {
            path.parent().map(std::fs::create_dir_all);
            std::os::unix::fs::symlink(target, path).ok();
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_changes_are_undone_and_reported() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("work");
        let quarantine = directory.path().join("tampered");
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join(".git/config"), "[core]\n").unwrap();
        std::fs::write(root.join(".git/hooks/pre-commit"), "true").unwrap();
        let places = [".git/config", ".git/hooks", ".git/commondir", ".marvin", ".envrc"]
            .map(|place| root.join(place));

        let guard = Guard::begin(&root, &places);
        std::fs::write(root.join("a"), "a").unwrap();
        std::fs::write(root.join(".git/index"), "i").unwrap();
        assert_eq!(guard.finish(Some(&quarantine)), Vec::<String>::new());

        let guard = Guard::begin(&root, &places);
        std::fs::write(root.join(".git/config"), "[evil]\n").unwrap();
        std::fs::write(root.join(".git/hooks/post-commit"), "x").unwrap();
        std::fs::write(root.join(".git/commondir"), "..").unwrap();
        std::fs::write(root.join(".envrc"), "x").unwrap();
        std::fs::create_dir_all(root.join(".marvin/runs")).unwrap();
        std::fs::write(root.join(".marvin/config.toml"), "x").unwrap();
        std::fs::create_dir_all(root.join("sub/.git")).unwrap();
        std::fs::remove_file(root.join(".git/hooks/pre-commit")).unwrap();
        let expected = [
            ".envrc",
            ".git/commondir",
            ".git/config",
            ".git/hooks/post-commit",
            ".git/hooks/pre-commit",
            ".marvin/config.toml",
            "sub/.git",
        ];
        assert_eq!(guard.finish(Some(&quarantine)), expected);
        assert_eq!(std::fs::read_to_string(root.join(".git/config")).unwrap(), "[core]\n");
        assert_eq!(std::fs::read_to_string(root.join(".git/hooks/pre-commit")).unwrap(), "true");
        for gone in [".git/hooks/post-commit", ".git/commondir", ".envrc", ".marvin/config.toml"] {
            assert!(!root.join(gone).exists(), "{gone}");
        }
        assert_eq!(std::fs::read_dir(&quarantine).unwrap().count(), 5);
        assert_eq!(Guard::begin(&root, &places).finish(None), Vec::<String>::new());
    }

    #[test]
    fn worktrees_of_other_processes_come_and_go() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let own = |name: &str| root.join(".git/worktrees").join(name);
        for name in ["again", "gone", "robbed"] {
            std::fs::create_dir_all(own(name)).unwrap();
            std::fs::write(own(name).join("commondir"), "../..\n").unwrap();
        }
        let places = ["again", "gone", "robbed"].map(|name| own(name).join("commondir"));
        let guard = Guard::begin(root, &places);
        std::fs::remove_dir_all(own("gone")).unwrap();
        std::fs::remove_dir_all(own("again")).unwrap();
        std::fs::create_dir(own("again")).unwrap();
        std::fs::write(own("again").join("commondir"), "../..\n").unwrap();
        std::fs::remove_file(own("robbed").join("commondir")).unwrap();
        assert_eq!(guard.finish(None), [".git/worktrees/robbed/commondir"]);
        assert!(own("robbed").join("commondir").exists() && !own("gone").exists());
    }

    #[test]
    fn a_comparison_is_cheap() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join(".git/config"), "").unwrap();
        for number in 0..20 {
            std::fs::write(root.join(format!(".git/hooks/{number}.sample")), "").unwrap();
        }
        let places = [".git/config", ".git/hooks"].map(|place| root.join(place));
        let started = marvin_testing::CpuTimer::start();
        for _ in 0..20 {
            assert!(Guard::begin(root, &places).finish(None).is_empty());
        }
        // Below a millisecond each, but tests are built without optimisation.
        assert!(started.elapsed() < std::time::Duration::from_millis(800), "{:?}", started.elapsed());
    }
}
