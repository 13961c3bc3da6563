//! Files that a command must not change, compared before and after it and restored.
//!
//! In namespaces the protected files that exist are mounted read-only, so what is left to find is new ones: `.git/commondir`, a hook, a
//! settings file of another agent. Without namespaces they can be written too. Either way a change is undone: what was
//! there is written back, what is new is moved into the run's `artifacts/tampered`, and the names are reported.
//!
//! Names are looked for in the whole tree: an `AGENTS.md` of a directory steers like that of the workspace. So do the
//! settings and hooks of repositories inside it, and of those that its index names. All this is done beneath the open
//! directory of the workspace ([`HeldRoot`]): a link that the command left in the place of a directory leads nowhere.
//!
//! Limits: a file above [`MAX_FILE_BYTES`] is reported and not restored. Of a protected directory that held more than
//! [`MAX_PLACE_ENTRIES`] before, only the first are compared (in namespaces those of the workspace's root are read-only); one that
//! comes to hold more is set aside as a whole. The person may change one of these files in the same moment; that looks the same and is
//! undone too, with a copy kept beside the report. So does a `git checkout` that brings another `AGENTS.md`: the person checks out such a
//! branch.

use super::gitlinks;
use super::held_root::HeldRoot;
use super::rebases::RebaseInstructions;
use super::undone::UndoneChanges;
use cap_std::fs::{Metadata, MetadataExt};
use marvin_base::atomic;
use marvin_gate::steering;
use marvin_gate::tree_scan::{self, TreeScan};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Entries of one protected place that are compared, with those of its directories.
const MAX_PLACE_ENTRIES: usize = 4_096;
/// The largest file whose content is kept for restoring.
pub(super) const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Files of one directory that are named one by one.
const MAX_NAMED: usize = 50;
/// The mode of the instructions of a rebase.
const REBASE_MODE: u32 = 0o644;
/// Files of `.marvin` that steer Marvin. The rest of it is written by other processes of Marvin while a command runs.
const OWN_SETTINGS: [&str; 6] = ["config.toml", "instructions.md", "packs", "rules", "security", "skills"];

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
    /// Protected places that held more than is compared.
    cut: BTreeSet<PathBuf>,
    nested: TreeScan,
    /// Files of git in the repositories inside.
    guarded: BTreeSet<PathBuf>,
    /// Repositories that the index of the workspace's own names.
    gitlinks: BTreeSet<PathBuf>,
    /// Directories that only Marvin makes, and that were not there.
    absent: Vec<PathBuf>,
    rebases: RebaseInstructions,
    undone: UndoneChanges,
}

/// The files of protected places.
#[derive(Debug, Default)]
struct PlaceFiles {
    files: BTreeMap<PathBuf, Metadata>,
    /// Places that hold more than is compared.
    cut: BTreeSet<PathBuf>,
}

#[derive(Debug)]
pub(super) struct FileSnapshot {
    mark: Mark,
    mode: u32,
    /// Its content, or the target of a link; none when it is too large.
    pub(super) content: Option<Content>,
}

#[derive(Debug)]
pub(super) enum Content {
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
        // A tree that is too large is refused before the command.
        let nested = scan(root, changes).unwrap_or_default();
        let mut guarded = BTreeSet::new();
        if changes != NestedChanges::Kept {
            guarded.extend(nested.repositories.iter().flat_map(|file| repository_places(file)));
            guarded.extend(gitlinks.iter().flat_map(|own| steering::repository_places(own)));
        }
        let PlaceFiles { files, cut } =
            list(&held, listed.iter().chain(&nested.steering).chain(&guarded), &open);
        let files =
            files.into_iter().map(|(path, facts)| (path.clone(), save(&held, &path, &facts))).collect();
        let rebases = rebases(&held, root, &nested, &gitlinks);
        let tickets = root.join(".tickets");
        let absent = if held.facts(&tickets).is_none() { vec![tickets] } else { Vec::new() };
        Guard {
            root: root.to_path_buf(),
            held,
            listed,
            open,
            changes,
            files,
            cut,
            nested,
            guarded,
            gitlinks,
            absent,
            rebases,
            undone: UndoneChanges::default(),
        }
    }

    /// The same with a file in which guards of other processes note what they undo.
    pub(super) fn noting_in(self, file: PathBuf) -> Self {
        Guard { undone: UndoneChanges::new(file), ..self }
    }

    /// Undoes changes and returns the paths, relative to the workspace. New files are moved to `quarantine`.
    pub(super) fn finish(&self, quarantine: Option<&Path>) -> Vec<String> {
        let mut tampered = Vec::new();
        let nested = self.look_everywhere(&mut tampered);
        let new: Vec<&PathBuf> = nested.repositories.difference(&self.nested.repositories).collect();
        // What came with a repository is reported with it. A `.git` in a directory that was there before brought nothing.
        let foreign: Vec<&Path> = new
            .iter()
            .filter_map(|file| file.parent())
            .filter(|own| !self.nested.has_directory(own))
            .collect();
        let is_foreign = |place: &&PathBuf| foreign.iter().any(|own| place.starts_with(own));
        let steering = nested.steering.iter().filter(|place| !is_foreign(place));
        let known = self.listed.iter().chain(&self.nested.steering).chain(&self.guarded);
        let linked = self.linked_repositories();
        let PlaceFiles { files: mut now, cut } =
            list(&self.held, known.chain(steering).chain(&linked), &self.open);
        for place in cut.difference(&self.cut) {
            tampered.push(self.shown(place));
            if self.undoes(place) {
                self.set_aside(place);
                now.retain(|path, _| !path.starts_with(place));
            }
        }
        for (path, facts) in &now {
            let saved = self.files.get(path);
            // Of a place that held too much before, it is not known what is new.
            let is_unknown = saved.is_none() && self.cut.iter().any(|place| path.starts_with(place));
            let is_as_it_was =
                |saved: &FileSnapshot| saved.is_same(&self.held, path, facts) || self.undone.has(path, saved);
            if is_unknown || saved.is_some_and(is_as_it_was) {
                continue;
            }
            tampered.push(self.shown(path));
            if self.undoes(path) {
                self.undone.note(path, &save(&self.held, path, facts));
                if let Err(error) = remove(&self.held, path, quarantine) {
                    tampered.push(format!("{} (cannot be undone: {error})", self.shown(path)));
                }
            }
        }
        tampered.extend(self.made_records());
        tampered.extend(self.undo_rebases(&nested, quarantine));
        for (path, saved) in &self.files {
            match now.get(path) {
                Some(facts) if saved.is_same(&self.held, path, facts) => {}
                None if is_removed_worktree(path) => {}
                // It was there only because another command had made it, whose guard has undone that.
                _ if self.undone.has(path, saved) => {}
                found => {
                    if found.is_none() {
                        tampered.push(self.shown(path));
                    }
                    if self.undoes(path)
                        && let Err(error) = restore(&self.held, path, saved)
                    {
                        tampered.push(format!("{} (cannot be restored: {error})", self.shown(path)));
                    }
                }
            }
        }
        // A repository inside the workspace has hooks and settings of its own. It is reported and stays: builds create some.
        tampered.extend(new.iter().map(|path| self.shown(path)));
        tampered.sort();
        tampered.dedup();
        summarise(tampered)
    }

    /// What the tree holds now. Directories that the command closed to their owner are opened and reported.
    fn look_everywhere(&self, tampered: &mut Vec<String>) -> TreeScan {
        loop {
            let nested = scan(&self.root, self.changes).unwrap_or_else(|error| {
                tampered.push(error.to_string());
                TreeScan::default()
            });
            let mut closed =
                nested.unlisted.difference(&self.nested.unlisted).map(|path| (path, self.shown(path)));
            // One that stays closed is looked at once.
            let closed: Vec<(&PathBuf, String)> =
                closed.by_ref().filter(|(_, name)| !tampered.contains(name)).collect();
            if closed.is_empty() {
                return nested;
            }
            for (path, name) in closed {
                self.held.open_for_good(path);
                tampered.push(name);
            }
        }
    }

    /// Steering files of repositories that the index names: git enters them, wherever they lie. One that was not there before has none.
    fn linked_repositories(&self) -> Vec<PathBuf> {
        if self.changes != NestedChanges::Undone {
            return Vec::new();
        }
        let now = gitlinks::named_by_index(&self.root);
        now.union(&self.gitlinks).flat_map(|own| steering::repository_places(own)).collect()
    }

    /// Moves a directory out of the way, for the person to look at.
    fn set_aside(&self, place: &Path) {
        let aside = self.root.join(".marvin/tampered");
        std::fs::create_dir_all(&aside).ok();
        let name = atomic::temporary_name();
        self.held.move_directory(place, &aside.join(name.trim_start_matches('.'))).ok();
    }

    /// Moves away directories that only Marvin makes, and names them.
    fn made_records(&self) -> Vec<String> {
        let mut made = Vec::new();
        for place in self.absent.iter().filter(|place| self.held.facts(place).is_some()) {
            made.push(self.shown(place));
            if self.held.remove(place).is_err() {
                self.set_aside(place);
            }
        }
        made
    }

    /// Undoes instructions of rebases that came to run a command, and names them.
    fn undo_rebases(&self, nested: &TreeScan, quarantine: Option<&Path>) -> Vec<String> {
        if self.changes == NestedChanges::Kept {
            return Vec::new();
        }
        let now = rebases(&self.held, &self.root, nested, &self.gitlinks);
        let undo = |path: &PathBuf| {
            let result = match self.rebases.text(path) {
                Some(text) => self.held.replace(path, text.as_bytes(), REBASE_MODE),
                None => remove(&self.held, path, quarantine),
            };
            match result {
                Ok(()) => self.shown(path),
                Err(error) => format!("{} (cannot be undone: {error})", self.shown(path)),
            }
        };
        now.with_new_commands(&self.rebases).into_iter().map(undo).collect()
    }

    /// Whether a change of this file is undone.
    fn undoes(&self, path: &Path) -> bool {
        self.changes == NestedChanges::Undone || self.is_listed(path)
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

/// What the tree holds; nothing where its changes are kept.
fn scan(root: &Path, changes: NestedChanges) -> Result<TreeScan, tree_scan::TooLarge> {
    if changes == NestedChanges::Kept { Ok(TreeScan::default()) } else { tree_scan::scan(root) }
}

/// The instructions of rebases in the workspace's repository and those inside it.
fn rebases(
    held: &HeldRoot,
    root: &Path,
    nested: &TreeScan,
    gitlinks: &BTreeSet<PathBuf>,
) -> RebaseInstructions {
    let inner = nested.repositories.iter().filter_map(|file| file.parent());
    let linked = gitlinks.iter().map(PathBuf::as_path);
    RebaseInstructions::read(held, root, [root].into_iter().chain(inner).chain(linked))
}

/// The steering files of a repository, given by the file that makes it one.
fn repository_places(file: &Path) -> Vec<PathBuf> {
    let directory = file.parent().unwrap_or(file);
    if file.ends_with(".git") {
        steering::repository_places(directory)
    } else {
        steering::bare_repository_places(directory)
    }
}

/// Every file and link of the protected places that is not open, with its metadata. Of a place behind a link that link.
fn list<'a>(held: &HeldRoot, places: impl Iterator<Item = &'a PathBuf>, open: &[PathBuf]) -> PlaceFiles {
    let mut found = PlaceFiles::default();
    for place in places {
        let mut waiting = VecDeque::from([place.clone()]);
        let mut seen = 0;
        while let Some(path) = waiting.pop_front() {
            if open.iter().any(|own| path.starts_with(own)) {
                continue;
            }
            seen += 1;
            let Some(facts) = held.facts(&path) else {
                let link = held.link_on_way(&path);
                found.files.extend(link.and_then(|link| held.facts(&link).map(|facts| (link, facts))));
                continue;
            };
            if !facts.is_dir() {
                found.files.insert(path, facts);
            } else if path.file_name().is_none_or(|name| name != ".git") {
                waiting.extend(held.entries(&path, MAX_PLACE_ENTRIES + 1));
            }
            if seen + waiting.len() > MAX_PLACE_ENTRIES {
                found.cut.insert(place.clone());
                break;
            }
        }
    }
    found
}

/// The paths in order; of a directory with very many of them only their number.
fn summarise(paths: Vec<String>) -> Vec<String> {
    let directory = |path: &str| path.rsplit_once('/').map_or("", |(directory, _)| directory).to_string();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in &paths {
        *counts.entry(directory(path)).or_default() += 1;
    }
    let mut shown = Vec::new();
    for path in paths {
        match counts.get(&directory(&path)) {
            Some(count) if *count > MAX_NAMED => {
                let line = format!("{}/* ({count} files)", directory(&path));
                if shown.last() != Some(&line) {
                    shown.push(line);
                }
            }
            _ => shown.push(path),
        }
    }
    shown
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
fn remove(held: &HeldRoot, path: &Path, to: Option<&Path>) -> std::io::Result<()> {
    let is_small = || held.facts(path).is_some_and(|facts| facts.is_file() && facts.size() <= MAX_FILE_BYTES);
    if let Some(to) = to.filter(|_| is_small())
        && let Ok(bytes) = held.read(path)
    {
        let name = path.to_string_lossy().replace('/', "_");
        // A copy for the person; the file is removed either way.
        std::fs::create_dir_all(to).and_then(|()| std::fs::write(to.join(name), bytes)).ok();
    }
    match held.remove(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn restore(held: &HeldRoot, path: &Path, saved: &FileSnapshot) -> std::io::Result<()> {
    match &saved.content {
        Some(Content::Bytes(bytes)) => held.replace(path, bytes, saved.mode),
        Some(Content::Link(target)) => held.link(path, target),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
