//! Walking the workspace: in the order of names, by the rules of `.gitignore`, without ever leaving it.
//!
//! Every directory and every `.gitignore` is opened beneath the workspace's own handle, and links and mounts are not
//! followed. So a directory that is swapped for a link during the walk is not listed, which walks by path cannot promise.
//! The rules themselves are ripgrep's (`ignore::gitignore`).

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use marvin_gate::{DirectoryEntry, DirectoryEntryKind, Workspace};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Directories that are never worth a look unless they are named.
const SKIPPED: [&str; 4] = ["node_modules", "__pycache__", "venv", ".venv"];
/// Hidden directories that people do look into.
const WALKED_HIDDEN_DIRECTORIES: [&str; 2] = [".marvin", ".github"];
/// Bytes of a file of ignore rules that are read.
const RULES: u64 = 1024 * 1024;
/// Directories in directories that are looked into; a path deeper than this is longer than the system takes.
const MAX_DIRECTORY_DEPTH: usize = 2048;

/// What is walked, and what is left out.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Whether the rules of `.gitignore` count.
    pub(crate) gitignore: bool,
    /// Whether generated and hidden directories are looked into; git's own files and the tickets never are.
    pub(crate) everything: bool,
    /// Names of further directories that are not looked into.
    pub(crate) without: &'static [&'static str],
    /// Levels to go down.
    pub(crate) max_depth: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { gitignore: true, everything: false, without: &[], max_depth: MAX_DIRECTORY_DEPTH }
    }
}

/// What was met on the way.
#[derive(Debug)]
pub(crate) enum WalkItem {
    /// An entry of a directory.
    Entry(Entry),
    /// A directory that could not be listed.
    Unreadable,
}

/// One entry.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its path in the workspace.
    pub(crate) path: PathBuf,
    /// What it is.
    pub(crate) kind: DirectoryEntryKind,
    /// 1 for what lies in the directory where the walk began.
    pub(crate) depth: usize,
}

/// A name as it is shown: on one line, whatever it holds.
pub(crate) fn shown(name: &OsStr) -> Cow<'_, str> {
    let text = name.to_string_lossy();
    if text.chars().any(char::is_control) { Cow::Owned(text.escape_debug().to_string()) } else { text }
}

/// A walk; entries come in the order of their names, what lies in a directory right after it.
pub(crate) struct Walk<'a> {
    workspace: &'a Workspace,
    plan: Plan,
    frames: Vec<Frame>,
    unreadable: bool,
}

/// A directory whose entries are being handed out.
struct Frame {
    path: PathBuf,
    entries: std::vec::IntoIter<DirectoryEntry>,
    rules: Option<Rc<Rules>>,
}

/// The rules of a directory, and those of the directories above it.
struct Rules {
    own: Gitignore,
    above: Option<Rc<Rules>>,
}

impl Rules {
    /// The innermost rule that says anything decides.
    fn ignore(&self, path: &Path, directory: bool) -> bool {
        let mut rules = Some(self);
        while let Some(here) = rules {
            let found = here.own.matched(path, directory);
            if !found.is_none() {
                return found.is_ignore();
            }
            rules = here.above.as_deref();
        }
        false
    }
}

impl<'a> Walk<'a> {
    /// A walk from a directory of the workspace, given by a path without links (the empty path is the workspace).
    pub(crate) fn new(workspace: &'a Workspace, start: &Path, plan: Plan) -> Self {
        let mut walk = Walk { workspace, plan, frames: Vec::new(), unreadable: false };
        walk.enter(start.to_path_buf(), None);
        walk
    }

    fn enter(&mut self, path: PathBuf, above: Option<Rc<Rules>>) {
        let here = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        let Ok(mut entries) = self.workspace.list_plain(here) else {
            self.unreadable = true;
            return;
        };
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let rules = if self.plan.gitignore { self.rules(&path, &entries, above) } else { None };
        self.frames.push(Frame { path, entries: entries.into_iter(), rules });
    }

    /// The rules that hold in a directory.
    fn rules(&self, path: &Path, entries: &[DirectoryEntry], above: Option<Rc<Rules>>) -> Option<Rc<Rules>> {
        let has = |name: &str| entries.binary_search_by(|entry| entry.name.as_os_str().cmp(OsStr::new(name)));
        let mut rules = above;
        for (there, file) in [(".git", ".git/info/exclude"), (".gitignore", ".gitignore")] {
            if has(there).is_ok()
                && let Some(own) = self.read_rules(path, file)
            {
                rules = Some(Rc::new(Rules { own, above: rules }));
            }
        }
        rules
    }

    fn read_rules(&self, directory: &Path, file: &str) -> Option<Gitignore> {
        let (file, _) = self.workspace.open_plain(&directory.join(file)).ok()?;
        let mut bytes = Vec::new();
        file.take(RULES).read_to_end(&mut bytes).ok()?;
        let root = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let mut builder = GitignoreBuilder::new(root);
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A rule that cannot be understood is no rule.
            builder.add_line(None, line).ok();
        }
        builder.build().ok().filter(|rules| !rules.is_empty())
    }

    fn offers(&self, entry: &DirectoryEntry, path: &Path) -> bool {
        let name = &entry.name;
        // A worktree's `.git` is a file.
        if name == ".git" || (path.as_os_str().is_empty() && name.eq_ignore_ascii_case(".tickets")) {
            return false;
        }
        entry.kind != DirectoryEntryKind::Directory || self.looked_into(name)
    }

    fn looked_into(&self, name: &OsString) -> bool {
        let is = |names: &[&str]| names.iter().any(|known| name == known);
        if is(self.plan.without) {
            return false;
        }
        let hidden = name.as_encoded_bytes().first() == Some(&b'.');
        self.plan.everything || is(&WALKED_HIDDEN_DIRECTORIES) || !(hidden || is(&SKIPPED))
    }
}

impl Iterator for Walk<'_> {
    type Item = WalkItem;

    fn next(&mut self) -> Option<WalkItem> {
        loop {
            if std::mem::take(&mut self.unreadable) {
                return Some(WalkItem::Unreadable);
            }
            let depth = self.frames.len();
            let frame = self.frames.last_mut()?;
            let Some(entry) = frame.entries.next() else {
                self.frames.pop();
                continue;
            };
            let directory = entry.kind == DirectoryEntryKind::Directory;
            let path = frame.path.join(&entry.name);
            let rules = frame.rules.clone();
            if rules.as_ref().is_some_and(|rules| rules.ignore(&path, directory)) {
                continue;
            }
            if !self.offers(&entry, path.parent().unwrap_or(Path::new(""))) {
                continue;
            }
            if directory && depth < self.plan.max_depth {
                self.enter(path.clone(), rules);
            }
            return Some(WalkItem::Entry(Entry { path, kind: entry.kind, depth }));
        }
    }
}
