//! Files that a command must not change, compared before and after it and restored.
//!
//! In namespaces the protected files that exist are mounted read-only, so what is left to find is new ones: `.git/commondir`, a hook, a
//! settings file of another agent. Without namespaces they can be written too. Either way a change is undone: what was
//! there is written back, what is new is moved into the run's `artifacts/tampered`, and the names are reported.
//!
//! Names are looked for in the upper part of the tree: an `AGENTS.md` of a directory steers like that of the workspace. So do the
//! settings and hooks of repositories inside it, and of those that its index comes to name. All this is done beneath the open
//! directory of the workspace ([`HeldRoot`]): a link that the command left in the place of a directory leads nowhere.
//!
//! Limits: a file above [`MAX_FILE_BYTES`] is reported and not restored. In a tree that is larger than what is looked at, a nested
//! file that seems new is reported and stays, because it may have been there before, and one that no earlier command of this
//! process met is not seen. The person may change one of these files in the same moment; that looks the same and is undone too, with
//! a copy kept beside the report. So does a `git checkout` of an agent's command that brings another `AGENTS.md`: such a branch is
//! checked out by the git tools.

use super::gitlinks;
use super::held_root::HeldRoot;
use cap_std::fs::{Metadata, MetadataExt};
use marvin_base::atomic;
use marvin_gate::steering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Entries of one directory that are compared.
const MAX_ENTRIES: usize = 256;
/// The largest file whose content is kept for restoring.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Depth to which protected directories are compared.
const MAX_DEPTH: usize = 3;
/// Depth to which the tree is looked at.
const MAX_TREE_DEPTH: usize = 6;
/// Workspaces of which is kept what was found in them.
const MAX_WORKSPACES: usize = 256;

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
    held: HeldRoot,
    /// Protected places, whether they exist or not.
    listed: Vec<PathBuf>,
    /// Files and directories that the person opened for this command.
    open: Vec<PathBuf>,
    changes: NestedChanges,
    files: BTreeMap<PathBuf, FileSnapshot>,
    nested: NestedPlaces,
    /// Repositories that the index of the workspace's own names.
    gitlinks: BTreeSet<PathBuf>,
    /// Directories that only Marvin makes, and that were not there.
    absent: Vec<PathBuf>,
}

/// What was found in each workspace, so that a tree that grows does not hide it.
static FOUND: Mutex<BTreeMap<PathBuf, NestedPlaces>> = Mutex::new(BTreeMap::new());

/// What the upper part of a workspace's tree holds.
#[derive(Debug, Default, Clone)]
struct NestedPlaces {
    /// Repositories below the workspace's own.
    repositories: BTreeSet<PathBuf>,
    /// Steering files, and directories that hold nothing else.
    steering: BTreeSet<PathBuf>,
    /// Files of git in those that were there before.
    guarded: BTreeSet<PathBuf>,
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
        let held = HeldRoot::open(root);
        let mut listed: Vec<PathBuf> =
            places.iter().filter(|place| !is_record(root, place)).cloned().collect();
        listed.extend(OWN_SETTINGS.map(|name| root.join(".marvin").join(name)));
        let git = root.join(".git");
        if !held.facts(&git).is_some_and(|facts| facts.is_dir()) {
            listed.push(git);
        }
        // Behind a link of the person's own lies what it leads to.
        let led_to = listed.iter().filter(|place| held.link_on_way(place).is_some());
        let led_to = led_to.filter_map(|place| place.canonicalize().ok());
        let led_to: Vec<PathBuf> = led_to.filter(|place| place.starts_with(root)).collect();
        listed.extend(led_to);
        let gitlinks = gitlinks::named_by_index(root);
        let mut nested = NestedPlaces::find_unless(root, changes);
        if changes != NestedChanges::Kept {
            nested.remember(root);
            let repositories = nested.repositories.iter().filter_map(|git| git.parent());
            let repositories = repositories.chain(gitlinks.iter().map(PathBuf::as_path));
            nested.guarded = repositories.flat_map(steering::repository_places).collect();
        }
        let files = list(&held, listed.iter().chain(&nested.steering).chain(&nested.guarded), &open)
            .into_iter()
            .map(|(path, facts)| (path.clone(), save(&held, &path, &facts)))
            .collect();
        let tickets = root.join(".tickets");
        let absent = if held.facts(&tickets).is_none() { vec![tickets] } else { Vec::new() };
        Guard { root: root.to_path_buf(), held, listed, open, changes, files, nested, gitlinks, absent }
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
        let known = self.listed.iter().chain(&self.nested.steering).chain(&self.nested.guarded);
        let linked = self.linked_repositories();
        let now = list(&self.held, known.chain(steering).chain(&linked), &self.open);
        let is_complete = !self.nested.is_cut && !nested.is_cut;
        let mut tampered = Vec::new();
        for (path, facts) in &now {
            if self.files.get(path).is_some_and(|saved| saved.is_same(&self.held, path, facts)) {
                continue;
            }
            tampered.push(self.shown(path));
            let is_linked = || linked.iter().any(|place| path.starts_with(place));
            if self.undoes(path) && (is_complete || self.is_known(path) || is_linked()) {
                remove(&self.held, path, quarantine);
            }
        }
        tampered.extend(self.made_records());
        for (path, saved) in &self.files {
            match now.get(path) {
                Some(facts) if saved.is_same(&self.held, path, facts) => {}
                None if is_removed_worktree(path) => {}
                found => {
                    if found.is_none() {
                        tampered.push(self.shown(path));
                    }
                    if self.undoes(path) {
                        restore(&self.held, path, saved);
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

    /// Steering files of repositories that the index has come to name: git enters them, wherever they lie.
    fn linked_repositories(&self) -> Vec<PathBuf> {
        if self.changes != NestedChanges::Undone {
            return Vec::new();
        }
        let now = gitlinks::named_by_index(&self.root);
        now.difference(&self.gitlinks).flat_map(|own| steering::repository_places(own)).collect()
    }

    /// Moves away directories that only Marvin makes, and names them.
    fn made_records(&self) -> Vec<String> {
        let mut made = Vec::new();
        for place in self.absent.iter().filter(|place| self.held.facts(place).is_some()) {
            made.push(self.shown(place));
            let aside = self.root.join(".marvin/tampered");
            std::fs::create_dir_all(&aside).ok();
            let name = atomic::temporary_name();
            if self.held.remove(place).is_err() {
                self.held.move_directory(place, &aside.join(name.trim_start_matches('.'))).ok();
            }
        }
        made
    }

    /// Whether a change of this file is undone.
    fn undoes(&self, path: &Path) -> bool {
        self.changes == NestedChanges::Undone || self.is_listed(path)
    }

    /// Whether it is certain what was at this path before.
    fn is_known(&self, path: &Path) -> bool {
        // A link may stand on the way to what was there.
        let mut files = self.files.range(path.to_path_buf()..);
        files.next().is_some_and(|(own, _)| own.starts_with(path)) || self.is_listed(path)
    }

    fn is_listed(&self, path: &Path) -> bool {
        self.listed.iter().any(|place| path.starts_with(place) || place.starts_with(path))
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

impl FileSnapshot {
    /// Whether the file is as it was; one that was written again with the same content is.
    fn is_same(&self, held: &HeldRoot, path: &Path, facts: &Metadata) -> bool {
        let is_rewritten = || match &self.content {
            Some(Content::Bytes(bytes)) => {
                facts.is_file()
                    && facts.nlink() == 1
                    && facts.mode() == self.mode
                    && facts.size() == bytes.len() as u64
                    && held.read(path).is_ok_and(|now| now == *bytes)
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

    /// Adds what was found in this workspace before, and keeps what is found now.
    fn remember(&mut self, root: &Path) {
        let mut all = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_WORKSPACES && !all.contains_key(root) {
            all.pop_first();
        }
        let known = all.entry(root.to_path_buf()).or_default();
        if self.is_cut {
            self.repositories.extend(known.repositories.iter().cloned());
            self.steering.extend(known.steering.iter().cloned());
        }
        known.repositories.clone_from(&self.repositories);
        known.steering.clone_from(&self.steering);
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
        if !kind.is_dir() || directory.parts.len() >= MAX_TREE_DEPTH {
            return None;
        }
        let parts = directory.parts.iter().cloned().chain([name]).collect();
        Some(PendingDirectory { path: entry.path(), parts, may_steer })
    }
}

/// Every file and link of the protected places that is not open, with its metadata. Of a place behind a link that link.
fn list<'a>(
    held: &HeldRoot,
    places: impl Iterator<Item = &'a PathBuf>,
    open: &[PathBuf],
) -> BTreeMap<PathBuf, Metadata> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<(PathBuf, usize)> = places.map(|place| (place.clone(), 0)).collect();
    while let Some((place, depth)) = waiting.pop() {
        if open.iter().any(|own| place.starts_with(own)) {
            continue;
        }
        let Some(facts) = held.facts(&place) else {
            let link = held.link_on_way(&place);
            found.extend(link.and_then(|link| held.facts(&link).map(|facts| (link, facts))));
            continue;
        };
        if !facts.is_dir() {
            found.insert(place, facts);
        } else if depth < MAX_DEPTH && place.file_name().is_none_or(|name| name != ".git") {
            waiting.extend(held.entries(&place, MAX_ENTRIES).into_iter().map(|entry| (entry, depth + 1)));
        }
    }
    found
}

fn mark(facts: &Metadata) -> Mark {
    Mark { inode: facts.ino(), size: facts.size(), changed: (facts.ctime(), facts.ctime_nsec()) }
}

fn save(held: &HeldRoot, path: &Path, facts: &Metadata) -> FileSnapshot {
    let content = if facts.is_symlink() {
        held.read_link(path).ok().map(Content::Link)
    } else if facts.is_file() && facts.size() <= MAX_FILE_BYTES {
        held.read(path).ok().map(Content::Bytes)
    } else {
        None
    };
    FileSnapshot { mark: mark(facts), mode: facts.mode(), content }
}

/// Moves a file out of the workspace, into `to` where that is possible.
fn remove(held: &HeldRoot, path: &Path, to: Option<&Path>) {
    let is_small = held.facts(path).is_some_and(|facts| facts.is_file() && facts.size() <= MAX_FILE_BYTES);
    if let (Some(to), true, Ok(bytes)) = (to, is_small, held.read(path)) {
        let name = path.to_string_lossy().replace('/', "_");
        // A copy for the person; the file is removed either way.
        std::fs::create_dir_all(to).and_then(|()| std::fs::write(to.join(name), bytes)).ok();
    }
    held.remove(path).ok();
}

fn restore(held: &HeldRoot, path: &Path, saved: &FileSnapshot) {
    match &saved.content {
        Some(Content::Bytes(bytes)) => held.replace(path, bytes, saved.mode).ok(),
        Some(Content::Link(target)) => held.link(path, target).ok(),
        None => None,
    };
}

#[cfg(test)]
mod tests;
