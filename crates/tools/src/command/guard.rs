//! Files that a command must not change, compared before and after it and restored.
//!
//! In namespaces the protected files that exist are mounted read-only, so what is left to find is new ones: `.git/commondir`, a hook, a
//! settings file of another agent. Without namespaces they can be written too. Either way a change is undone: what was
//! there is written back, what is new is moved into the run's `artifacts/tampered`, and the names are reported.
//!
//! Names are looked for in the upper part of the tree: an `AGENTS.md` of a directory steers like that of the workspace.
//!
//! Limits: a file above [`MAX_FILE_BYTES`] is reported and not restored. The person may change one of these files in the same
//! moment; that looks the same and is undone too, with a copy kept beside the report.

use marvin_base::atomic;
use marvin_gate::steering;
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
    /// Files that the person opened for this command.
    open: Vec<PathBuf>,
    files: BTreeMap<PathBuf, FileSnapshot>,
    repositories: BTreeSet<PathBuf>,
}

/// What the upper part of a workspace's tree holds.
#[derive(Debug, Default)]
struct NestedPlaces {
    /// Repositories below the workspace's own.
    repositories: BTreeSet<PathBuf>,
    /// Steering files, and directories that hold nothing else.
    steering: BTreeSet<PathBuf>,
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
    pub(super) fn begin(root: &Path, places: &[PathBuf], open: Vec<PathBuf>) -> Self {
        let mut places: Vec<PathBuf> =
            places.iter().filter(|place| !is_record(root, place)).cloned().collect();
        places.extend(OWN_SETTINGS.map(|name| root.join(".marvin").join(name)));
        let nested = NestedPlaces::find(root);
        places.extend(nested.steering);
        let files = list(&places, &open)
            .into_iter()
            .map(|(path, facts)| (path.clone(), save(&path, &facts)))
            .collect();
        Guard { root: root.to_path_buf(), places, open, files, repositories: nested.repositories }
    }

    /// Undoes every change and returns the paths, relative to the workspace. New files are moved to `quarantine`.
    pub(super) fn finish(&self, quarantine: Option<&Path>) -> Vec<String> {
        let nested = NestedPlaces::find(&self.root);
        let new: Vec<&PathBuf> = nested.repositories.difference(&self.repositories).collect();
        // What came with a repository is reported with it.
        let is_foreign =
            |place: &Path| new.iter().filter_map(|git| git.parent()).any(|own| place.starts_with(own));
        let mut places = self.places.clone();
        places.extend(nested.steering.iter().filter(|place| !is_foreign(place)).cloned());
        let now = list(&places, &self.open);
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
        tampered.extend(new.iter().map(|path| self.shown(path)));
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

impl NestedPlaces {
    fn find(root: &Path) -> Self {
        let mut found = NestedPlaces::default();
        let mut waiting = VecDeque::from([Vec::new()]);
        let mut left = MAX_DIRECTORIES;
        while let Some(parts) = waiting.pop_front().filter(|_| left > 0) {
            left -= 1;
            let directory = root.join(parts.iter().collect::<PathBuf>());
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten().take(MAX_ENTRIES) {
                let Ok(name) = entry.file_name().into_string() else { continue };
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let inner: Vec<String> = parts.iter().cloned().chain([name]).collect();
                waiting.extend(found.note(entry.path(), inner, is_directory));
            }
        }
        found
    }

    /// Notes an entry, and returns its parts if it is a directory to look into.
    fn note(&mut self, path: PathBuf, parts: Vec<String>, is_directory: bool) -> Option<Vec<String>> {
        let name = parts.last().map(String::as_str).unwrap_or_default();
        if name == ".git" {
            if parts.len() > 1 {
                self.repositories.insert(path);
            }
            return None;
        }
        if is_directory && (REGENERATED.contains(&name) || [".marvin", ".tickets"].contains(&name)) {
            return None;
        }
        let mut names: Vec<&str> = parts.iter().map(String::as_str).collect();
        // Of a directory only what lies in it counts.
        names.extend(is_directory.then_some("x"));
        if steering::find(&names).is_some() {
            self.steering.insert(path);
            return None;
        }
        (is_directory && parts.len() <= MAX_DEPTH).then_some(parts)
    }
}

/// Every file and link of the protected places that is not open, with its metadata.
fn list(places: &[PathBuf], open: &[PathBuf]) -> BTreeMap<PathBuf, std::fs::Metadata> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<(PathBuf, usize)> = places.iter().map(|place| (place.clone(), 0)).collect();
    while let Some((place, depth)) = waiting.pop() {
        let Ok(facts) = place.symlink_metadata() else { continue };
        if facts.is_dir() && depth < MAX_DEPTH {
            let entries = std::fs::read_dir(&place).into_iter().flatten().flatten().take(MAX_ENTRIES);
            waiting.extend(entries.map(|entry| (entry.path(), depth + 1)));
        } else if !facts.is_dir() && !open.contains(&place) {
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

        let guard = Guard::begin(&root, &places, Vec::new());
        std::fs::write(root.join("a"), "a").unwrap();
        std::fs::write(root.join(".git/index"), "i").unwrap();
        assert_eq!(guard.finish(Some(&quarantine)), Vec::<String>::new());

        let guard = Guard::begin(&root, &places, Vec::new());
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
        assert_eq!(Guard::begin(&root, &places, Vec::new()).finish(None), Vec::<String>::new());
    }

    #[test]
    fn s6_new_and_nested_files_that_steer_are_undone() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        std::fs::write(root.join("sub/AGENTS.md"), "own").unwrap();
        let open = root.join("CLAUDE.md");
        let guard = Guard::begin(root, &[], vec![open.clone()]);
        std::fs::create_dir_all(root.join("sub/deep/.claude/skills/a")).unwrap();
        std::fs::create_dir_all(root.join("clone/.git")).unwrap();
        let written = [
            "AGENTS.md",
            "lefthook.yml",
            "sub/AGENTS.md",
            "sub/deep/.claude/skills/a/SKILL.md",
            "sub/deep/.cursorrules",
        ];
        for path in written.iter().chain(&["CLAUDE.md", "clone/AGENTS.md", "sub/deep/agents.rs"]) {
            std::fs::write(root.join(path), "obey").unwrap();
        }
        let expected: Vec<&str> =
            ["AGENTS.md", "clone/.git"].into_iter().chain(written[1..].iter().copied()).collect();
        assert_eq!(guard.finish(None), expected);
        assert_eq!(std::fs::read_to_string(root.join("sub/AGENTS.md")).unwrap(), "own");
        assert!(!root.join("AGENTS.md").exists() && !root.join("sub/deep/.cursorrules").exists());
        assert!(open.exists() && root.join("sub/deep/agents.rs").exists(), "opened, and not steering");
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
        let guard = Guard::begin(root, &places, Vec::new());
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
            assert!(Guard::begin(root, &places, Vec::new()).finish(None).is_empty());
        }
        // Below a millisecond each, but tests are built without optimisation.
        assert!(started.elapsed() < std::time::Duration::from_millis(800), "{:?}", started.elapsed());
    }
}
