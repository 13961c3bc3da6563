//! Walking the workspace: in the order of names, by the rules of `.gitignore`, without ever leaving it.
//!
//! Every directory and every `.gitignore` is opened beneath the workspace's own handle, and links and mounts are not
//! followed. So a directory that is swapped for a link during the walk is not listed, which a walk by path cannot ensure.
//! The rules themselves are ripgrep's (`ignore::gitignore`).

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use marvin_gate::{DirectoryEntry, DirectoryEntryKind, Workspace};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Directories that are walked only when they are named.
const SKIPPED: [&str; 4] = ["node_modules", "__pycache__", "venv", ".venv"];
/// Hidden directories that are walked.
const WALKED_HIDDEN_DIRECTORIES: [&str; 2] = [".marvin", ".github"];
const MAX_GITIGNORE_BYTES: u64 = 1024 * 1024;
/// Depth of the walk; a deeper path is longer than the system accepts.
const MAX_DIRECTORY_DEPTH: usize = 2048;

/// Options of a walk.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Whether the rules of `.gitignore` count.
    pub(crate) gitignore: bool,
    /// Whether generated and hidden directories are walked; git's own files and the tickets never are.
    pub(crate) everything: bool,
    /// Names of further directories that are skipped.
    pub(crate) without: &'static [&'static str],
    pub(crate) max_depth: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { gitignore: true, everything: false, without: &[], max_depth: MAX_DIRECTORY_DEPTH }
    }
}

#[derive(Debug)]
pub(crate) enum WalkItem {
    Entry(Entry),
    /// A directory that could not be listed.
    Unreadable,
}

#[derive(Debug)]
pub(crate) struct Entry {
    /// Relative to the workspace.
    pub(crate) path: PathBuf,
    pub(crate) kind: DirectoryEntryKind,
    /// 1 for the entries of the directory where the walk began.
    pub(crate) depth: usize,
}

/// A name on one line, with control characters escaped.
pub(crate) fn shown(name: &OsStr) -> Cow<'_, str> {
    let text = name.to_string_lossy();
    if text.chars().any(char::is_control) { Cow::Owned(text.escape_debug().to_string()) } else { text }
}

/// A walk; entries come in the order of their names, those of a directory right after it.
pub(crate) struct Walk<'a> {
    workspace: &'a Workspace,
    plan: Plan,
    frames: Vec<Frame>,
    unreadable: bool,
}

/// A directory whose entries are being returned.
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
    /// The innermost rule that matches decides.
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
        file.take(MAX_GITIGNORE_BYTES).read_to_end(&mut bytes).ok()?;
        let root = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let mut builder = GitignoreBuilder::new(root);
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A rule that cannot be parsed is ignored, as git does.
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
        entry.kind != DirectoryEntryKind::Directory || self.is_walked(name)
    }

    fn is_walked(&self, name: &OsString) -> bool {
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
