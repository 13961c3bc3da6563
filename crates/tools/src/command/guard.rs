//! Files that a command must not change, compared before and after it and restored.
//!
//! In namespaces the protected files that exist are mounted read-only, so what is left to find is new ones: `.git/commondir`, a hook, a
//! settings file of another agent. Without namespaces they can be written too. Either way a change is undone: what was
//! there is written back, what is new is moved into the run's `artifacts/tampered`, and the names are reported.
//!
//! Names are looked for in the upper part of the tree: an `AGENTS.md` of a directory steers like that of the workspace.
//!
//! Limits: a file above [`MAX_FILE_BYTES`] is reported and not restored. In a tree that is larger than what is looked at, a nested
//! file that seems new is reported and stays, because it may have been there before. The person may change one of these files in the
//! same moment; that looks the same and is undone too, with a copy kept beside the report. So does a `git checkout` of an agent's
//! command that brings another `AGENTS.md`: such a branch is checked out by the git tools.

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

/// What happens to changes of nested steering files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NestedChanges {
    /// Undone: a command of an agent made them.
    Undone,
    /// Reported: git made them, or a hook of the project that git ran.
    Reported,
    /// Part of the work: the shell brings in what was verified.
    Kept,
}

/// The protected files of a workspace as they were.
#[derive(Debug)]
pub(super) struct Guard {
    root: PathBuf,
    /// Protected places, whether they exist or not.
    listed: Vec<PathBuf>,
    /// Files and directories that the person opened for this command.
    open: Vec<PathBuf>,
    changes: NestedChanges,
    files: BTreeMap<PathBuf, FileSnapshot>,
    nested: NestedPlaces,
}

/// What the upper part of a workspace's tree holds.
#[derive(Debug, Default)]
struct NestedPlaces {
    /// Repositories below the workspace's own.
    repositories: BTreeSet<PathBuf>,
    /// Steering files, and directories that hold nothing else.
    steering: BTreeSet<PathBuf>,
    /// Directories that were looked into.
    directories: BTreeSet<PathBuf>,
    /// Whether the tree has more than what was looked at.
    is_cut: bool,
}

/// A directory to look into.
struct PendingDirectory {
    path: PathBuf,
    /// Its names below the workspace.
    parts: Vec<String>,
    /// Whether one of the names may begin the path of a steering file.
    may_steer: bool,
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
    pub(super) fn begin(root: &Path, places: &[PathBuf], open: Vec<PathBuf>, changes: NestedChanges) -> Self {
        let mut listed: Vec<PathBuf> =
            places.iter().filter(|place| !is_record(root, place)).cloned().collect();
        listed.extend(OWN_SETTINGS.map(|name| root.join(".marvin").join(name)));
        let nested = NestedPlaces::find_unless(root, changes);
        let files = list(listed.iter().chain(&nested.steering), &open)
            .into_iter()
            .map(|(path, facts)| (path.clone(), save(&path, &facts)))
            .collect();
        Guard { root: root.to_path_buf(), listed, open, changes, files, nested }
    }

    /// Undoes changes and returns the paths, relative to the workspace. New files are moved to `quarantine`.
    pub(super) fn finish(&self, quarantine: Option<&Path>) -> Vec<String> {
        let nested = NestedPlaces::find_unless(&self.root, self.changes);
        let new: Vec<&PathBuf> = nested.repositories.difference(&self.nested.repositories).collect();
        // What came with a repository is reported with it. A `.git` in a directory that was there before brought nothing.
        let foreign: Vec<&Path> = new
            .iter()
            .filter_map(|git| git.parent())
            .filter(|own| !self.nested.directories.contains(*own))
            .collect();
        let is_foreign = |place: &&PathBuf| foreign.iter().any(|own| place.starts_with(own));
        let steering = nested.steering.iter().filter(|place| !is_foreign(place));
        let now = list(self.listed.iter().chain(&self.nested.steering).chain(steering), &self.open);
        let is_complete = !self.nested.is_cut && !nested.is_cut;
        let mut tampered = Vec::new();
        for (path, facts) in &now {
            if self.files.get(path).is_some_and(|saved| saved.is_same(path, facts)) {
                continue;
            }
            tampered.push(self.shown(path));
            if self.undoes(path) && (is_complete || self.is_known(path)) {
                remove(path, quarantine);
            }
        }
        for (path, saved) in &self.files {
            match now.get(path) {
                Some(facts) if saved.is_same(path, facts) => {}
                None if is_removed_worktree(path) => {}
                found => {
                    if found.is_none() {
                        tampered.push(self.shown(path));
                    }
                    if self.undoes(path) {
                        restore(path, saved);
                    }
                }
            }
        }
        // A repository inside the workspace has hooks and settings of its own. It is reported and stays: builds create some.
        tampered.extend(new.iter().map(|path| self.shown(path)));
        tampered.sort();
        tampered.dedup();
        tampered
    }

    /// Whether a change of this file is undone.
    fn undoes(&self, path: &Path) -> bool {
        self.changes == NestedChanges::Undone || self.is_listed(path)
    }

    /// Whether it is certain what was at this path before.
    fn is_known(&self, path: &Path) -> bool {
        self.files.contains_key(path) || self.is_listed(path)
    }

    fn is_listed(&self, path: &Path) -> bool {
        self.listed.iter().any(|place| path.starts_with(place))
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
    /// What the tree holds; nothing where its changes are kept.
    fn find_unless(root: &Path, changes: NestedChanges) -> Self {
        if changes == NestedChanges::Kept { NestedPlaces::default() } else { NestedPlaces::find(root) }
    }

    fn find(root: &Path) -> Self {
        let mut found = NestedPlaces::default();
        let top = PendingDirectory { path: root.to_path_buf(), parts: Vec::new(), may_steer: false };
        let mut waiting = VecDeque::from([top]);
        while let Some(directory) = waiting.pop_front() {
            if found.directories.len() >= MAX_DIRECTORIES {
                found.is_cut = true;
                break;
            }
            for (number, entry) in
                std::fs::read_dir(&directory.path).into_iter().flatten().flatten().enumerate()
            {
                if number >= MAX_ENTRIES {
                    found.is_cut = true;
                    break;
                }
                waiting.extend(found.note(&directory, &entry));
            }
            found.directories.insert(directory.path);
        }
        found
    }

    /// Notes an entry, and returns it if it is a directory to look into.
    fn note(&mut self, directory: &PendingDirectory, entry: &std::fs::DirEntry) -> Option<PendingDirectory> {
        let name = entry.file_name().into_string().ok()?;
        if name == ".git" {
            if !directory.parts.is_empty() {
                self.repositories.insert(entry.path());
            }
            return None;
        }
        let kind = entry.file_type().ok()?;
        if kind.is_dir()
            && (REGENERATED.contains(&name.as_str()) || [".marvin", ".tickets"].contains(&name.as_str()))
        {
            return None;
        }
        let may_steer = directory.may_steer || steering::may_begin_path(&name);
        if may_steer {
            let mut names: Vec<&str> =
                directory.parts.iter().map(String::as_str).chain([name.as_str()]).collect();
            let is_file = !kind.is_dir() && steering::find(&names).is_some();
            // Of a directory, also one behind a link, only what lies in it counts.
            names.push("x");
            if is_file || !kind.is_file() && steering::find(&names).is_some() {
                self.steering.insert(entry.path());
                return None;
            }
        }
        if !kind.is_dir() || directory.parts.len() >= MAX_DEPTH {
            return None;
        }
        let parts = directory.parts.iter().cloned().chain([name]).collect();
        Some(PendingDirectory { path: entry.path(), parts, may_steer })
    }
}

/// Every file and link of the protected places that is not open, with its metadata.
fn list<'a>(
    places: impl Iterator<Item = &'a PathBuf>,
    open: &[PathBuf],
) -> BTreeMap<PathBuf, std::fs::Metadata> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<(PathBuf, usize)> = places.map(|place| (place.clone(), 0)).collect();
    while let Some((place, depth)) = waiting.pop() {
        if open.iter().any(|own| place.starts_with(own)) {
            continue;
        }
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

        let guard = Guard::begin(&root, &places, Vec::new(), NestedChanges::Undone);
        std::fs::write(root.join("a"), "a").unwrap();
        std::fs::write(root.join(".git/index"), "i").unwrap();
        assert_eq!(guard.finish(Some(&quarantine)), Vec::<String>::new());

        let guard = Guard::begin(&root, &places, Vec::new(), NestedChanges::Undone);
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
        assert_eq!(
            Guard::begin(&root, &places, Vec::new(), NestedChanges::Undone).finish(None),
            Vec::<String>::new()
        );
    }

    #[test]
    fn s6_new_and_nested_files_that_steer_are_undone() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        std::fs::write(root.join("sub/AGENTS.md"), "own").unwrap();
        let open = root.join("CLAUDE.md");
        let guard = Guard::begin(root, &[], vec![open.clone()], NestedChanges::Undone);
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
    fn a_git_file_in_a_directory_that_was_there_hides_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir_all(root.join("prepared")).unwrap();
        let guard = Guard::begin(root, &[], Vec::new(), NestedChanges::Undone);
        std::fs::write(root.join("src/.git"), "").unwrap();
        std::fs::write(root.join("src/AGENTS.md"), "obey").unwrap();
        std::os::unix::fs::symlink("../prepared", root.join("src/.claude")).unwrap();
        assert_eq!(guard.finish(None), ["src/.claude", "src/.git", "src/AGENTS.md"]);
        assert!(!root.join("src/AGENTS.md").exists());
        assert!(root.join("src/.claude").symlink_metadata().is_err());
    }

    #[test]
    fn what_may_have_been_there_before_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for number in 0..=MAX_DIRECTORIES {
            std::fs::create_dir(root.join(format!("d{number:03}"))).unwrap();
            std::fs::write(root.join(format!("d{number:03}/AGENTS.md")), "own").unwrap();
        }
        let guard = Guard::begin(root, &[], Vec::new(), NestedChanges::Undone);
        let seen: Vec<PathBuf> =
            guard.nested.directories.iter().filter(|seen| *seen != root).take(9).cloned().collect();
        seen.iter().for_each(|own| std::fs::remove_dir_all(own).unwrap());
        // The second look reaches directories that the first one did not.
        guard.finish(None);
        for number in 0..=MAX_DIRECTORIES {
            assert!(root.join(format!("d{number:03}/AGENTS.md")).exists(), "{number}");
        }
    }

    #[test]
    fn what_git_and_the_shell_bring_in_stays() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        let own = [root.join(".git/config")];
        std::fs::write(&own[0], "[core]\n").unwrap();
        for (changes, expected) in [
            (NestedChanges::Reported, vec![".git/config", "AGENTS.md", "sub/AGENTS.md"]),
            (NestedChanges::Kept, vec![".git/config"]),
        ] {
            std::fs::write(root.join("AGENTS.md"), "old").unwrap();
            std::fs::remove_file(root.join("sub/AGENTS.md")).ok();
            let guard = Guard::begin(root, &own, Vec::new(), changes);
            std::fs::write(root.join("AGENTS.md"), "new").unwrap();
            std::fs::write(root.join("sub/AGENTS.md"), "new").unwrap();
            std::fs::write(&own[0], "[evil]\n").unwrap();
            assert_eq!(guard.finish(None), expected);
            assert_eq!(std::fs::read_to_string(root.join("AGENTS.md")).unwrap(), "new");
            assert!(root.join("sub/AGENTS.md").exists());
            assert_eq!(std::fs::read_to_string(&own[0]).unwrap(), "[core]\n");
        }
    }

    #[test]
    fn an_opened_place_is_open_with_what_lies_in_it_and_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for own in [".github/workflows", ".husky"] {
            std::fs::create_dir_all(root.join(own)).unwrap();
        }
        std::fs::write(root.join(".husky/pre-commit"), "true").unwrap();
        let listed = [root.join(".github/workflows"), root.join(".husky")];
        let open = vec![root.join(".github/workflows/ci.yml"), root.join(".husky")];
        let guard = Guard::begin(root, &listed, open, NestedChanges::Undone);
        std::fs::write(root.join(".github/workflows/ci.yml"), "on: push").unwrap();
        std::fs::write(root.join(".github/workflows/evil.yml"), "on: push").unwrap();
        std::fs::remove_dir_all(root.join(".husky")).unwrap();
        assert_eq!(guard.finish(None), [".github/workflows/evil.yml"]);
        assert!(root.join(".github/workflows/ci.yml").exists() && !root.join(".husky").exists());
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
        let guard = Guard::begin(root, &places, Vec::new(), NestedChanges::Undone);
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
            assert!(Guard::begin(root, &places, Vec::new(), NestedChanges::Undone).finish(None).is_empty());
        }
        // Below a millisecond each, but tests are built without optimisation.
        assert!(started.elapsed() < std::time::Duration::from_millis(800), "{:?}", started.elapsed());
    }
}
