//! Steering files: what instructs agents, or runs by itself at a person's next action in a project.
//!
//! One table (`data/steering.toml`) says which files these are. Hooks, file tools, write targets of commands and the sandbox
//! read it, so that no way of writing knows fewer of them than another. Names are compared as the most forgiving file system
//! compares them. A directory on the way to a steering file (`.github`) counts as one when it is itself the target of a write,
//! because moving a prepared directory there brings the file along.
//!
//! Limits: the table holds conventions of known tools. What a project's own scripts read is not in it. [`protected`] does not
//! walk the tree: nested steering files that do not exist yet are only known when something is written.

use crate::path::folded;
use crate::verdict::Decision;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Directory entries that are looked at for names with a `*`, and for submodules.
const MAX_ENTRIES: usize = 4_096;
/// Nesting of submodule names below `.git/modules`.
const MAX_MODULE_NESTING: usize = 4;
/// Bytes of a configuration of git that are read.
const MAX_CONFIG_BYTES: u64 = 256 * 1024;
/// Bytes of a `.git` or `commondir` file that are read.
const MAX_POINTER_BYTES: u64 = 8 * 1024;

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    /// The files, by the components of a path; `**` last stands for everything below.
    pattern: &'static [&'static str],
    /// The programs that obey these files.
    pub steers: &'static str,
    /// Ask or deny a write.
    pub verdict: Decision,
    /// A path that the row covers.
    pub example: &'static str,
    /// Only in the root of the workspace.
    root: bool,
    /// Text that instructs, not settings or code.
    pub document: bool,
    /// Names directly below the pattern that are open.
    except: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/steering.rs"));

/// A path of a workspace that steers, whether it exists or not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SteeringPath {
    /// The absolute path.
    pub path: PathBuf,
    /// Whether something is there now.
    pub exists: bool,
    /// The programs that obey it.
    pub steers: &'static str,
}

/// The strictest row that covers a path inside a workspace, given by its components.
#[must_use]
pub fn find(parts: &[&str]) -> Option<&'static Row> {
    let folded: Vec<String> = parts.iter().map(|part| folded(part)).collect();
    let parts: Vec<&str> = folded.iter().map(String::as_str).collect();
    // Nearly every path is decided by its names alone: each pattern begins with one of a few letters.
    if !parts.iter().any(|part| may_begin(part)) {
        return None;
    }
    ROWS.iter().filter(|row| row.covers(&parts)).max_by_key(|row| row.verdict)
}

/// Whether the path of a steering file may begin with this name.
#[must_use]
pub fn may_begin_path(name: &str) -> bool {
    may_begin(&folded(name))
}

/// The strictest row that covers a relative path.
#[must_use]
pub fn find_path(inside: &Path) -> Option<&'static Row> {
    let parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
    find(&parts)
}

/// Every row.
#[must_use]
pub fn rows() -> &'static [Row] {
    ROWS
}

/// The names of the files of every row, without what a `*` in them stands for.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let last = |row: &'static Row| row.pattern.iter().rev().find(|name| **name != "**");
    rows().iter().filter_map(last).map(|name| name.replace('*', ""))
}

/// First names of patterns, by their first byte.
static BY_FIRST_BYTE: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
    let mut patterns = vec![Vec::new(); 256];
    for first in ROWS.iter().filter_map(|row| row.pattern.first()) {
        if let Some(group) = patterns.get_mut(usize::from(first_byte(first)))
            && !group.contains(first)
        {
            group.push(*first);
        }
    }
    patterns
});

fn first_byte(text: &str) -> u8 {
    text.bytes().next().unwrap_or_default()
}

/// Could a pattern begin with this name?
fn may_begin(part: &str) -> bool {
    part.starts_with('.')
        || part == "git~1"
        || [first_byte(part), b'*'].iter().any(|byte| {
            let patterns = BY_FIRST_BYTE.get(usize::from(*byte)).into_iter().flatten();
            patterns.copied().any(|pattern| is_match(pattern, part))
        })
}

impl Row {
    fn covers(&self, parts: &[&str]) -> bool {
        let starts = if self.root { 1 } else { parts.len() };
        (0..starts).any(|start| parts.get(start..).is_some_and(|parts| self.covers_from(parts)))
    }

    fn covers_from(&self, parts: &[&str]) -> bool {
        let (names, below) = match self.pattern.split_last() {
            Some((&"**", names)) => (names, true),
            _ => (self.pattern, false),
        };
        let common = names.iter().zip(parts).all(|(name, part)| {
            is_match(name, part)
                // File systems of the DOS kind call it so.
                || *name == ".git" && *part == "git~1"
        });
        if !common || parts.is_empty() {
            return false;
        }
        match parts.get(names.len()..) {
            // A directory on the way to it.
            None => names.get(parts.len()..).is_some_and(|rest| rest.iter().all(|name| !name.contains('*'))),
            Some([]) => true,
            Some([first, ..]) => below && !self.except.iter().any(|open| is_match(open, first)),
        }
    }

    /// The part of the pattern that holds no `*`, and the pattern of a name in it, if one follows.
    fn place(&self) -> (PathBuf, Option<&'static str>) {
        let mut path = PathBuf::new();
        // The example has the case in which the tools write the names.
        for (name, written) in self.pattern.iter().zip(self.example.split('/')) {
            match *name {
                "**" => return (path, None),
                name if name.contains('*') => return (path, Some(name)),
                _ => path.push(written),
            }
        }
        (path, None)
    }
}

/// Does a folded name match a pattern in lower case with any number of `*`?
fn is_match(pattern: &str, name: &str) -> bool {
    let first = pattern.as_bytes().first();
    if first != name.as_bytes().first() && first != Some(&b'*') {
        return false;
    }
    let Some((head, mut rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    while let Some((middle, tail)) = rest.split_once('*') {
        let Some(at) = name.find(middle) else { return false };
        name = name.get(at + middle.len()..).unwrap_or_default();
        rest = tail;
    }
    name.ends_with(rest)
}

/// The steering paths of a workspace: those that exist, and the well-known ones that could be made.
///
/// Known relative paths and known directories only; a name with a `*` is listed where it exists. Git's own files are found
/// through `.git` of a linked worktree as well, and submodules through `.git/modules`.
#[must_use]
pub fn paths(root: &Path) -> Vec<SteeringPath> {
    let mut found = Vec::new();
    let names = names_in(root);
    for row in ROWS {
        // The repository itself changes with every commit; what in it steers has rows of its own.
        if matches!(row.pattern, [".git"] | [".git", "modules" | "worktrees", ..]) {
            continue;
        }
        match row.place() {
            (place, None) => push(&mut found, root.join(place), row.steers),
            (place, Some(name)) if place.as_os_str().is_empty() => {
                for own in names.iter().filter(|own| is_match(name, &folded(own))) {
                    push(&mut found, root.join(own), row.steers);
                }
            }
            (place, Some(name)) => {
                let directory = root.join(place);
                for own in names_in(&directory).iter().filter(|own| is_match(name, &folded(own))) {
                    push(&mut found, directory.join(own), row.steers);
                }
            }
        }
    }
    git_paths(root, &mut found);
    for place in configured(root) {
        push(&mut found, place, "git: hooks and settings that its configuration names");
    }
    found.sort();
    found.dedup();
    found
}

/// Places of a workspace that the configuration of its repository names as hooks or as further configuration.
#[must_use]
pub fn configured(root: &Path) -> Vec<PathBuf> {
    let Some(directory) = git_directory(root) else { return Vec::new() };
    let common = pointer(&directory.join("commondir"), "", &directory);
    let mut found = Vec::new();
    for own in [Some(directory), common].into_iter().flatten() {
        for (section, key, value) in settings(&own.join("config")) {
            let base = match (section.as_str(), key.as_str()) {
                ("core", "hookspath") => root,
                ("include" | "includeif", "path") => own.as_path(),
                _ => continue,
            };
            let place = without_steps(&base.join(value));
            if place.starts_with(root) && place != root {
                found.push(place);
            }
        }
    }
    found
}

/// The settings of a configuration of git: section and key in small letters, and the value.
fn settings(file: &Path) -> Vec<(String, String, String)> {
    use marvin_base::files::{self, Links};
    let bytes = files::read(file, MAX_CONFIG_BYTES, Links::Refuse).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let mut line = line;
        if let Some((head, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            section = head.split([' ', '.', '"']).next().unwrap_or_default().to_ascii_lowercase();
            line = rest.trim();
        }
        if let Some((key, value)) = line.split_once('=') {
            let value = value.trim().trim_matches('"');
            found.push((section.clone(), key.trim().to_ascii_lowercase(), value.to_string()));
        }
    }
    found
}

/// A path without `.` and `..`, by its names.
fn without_steps(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            std::path::Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The absolute paths of [`paths`].
#[must_use]
pub fn protected(root: &Path) -> Vec<PathBuf> {
    paths(root).into_iter().map(|one| one.path).collect()
}

fn push(found: &mut Vec<SteeringPath>, path: PathBuf, steers: &'static str) {
    let exists = path.symlink_metadata().is_ok();
    found.push(SteeringPath { path, exists, steers });
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_ENTRIES);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The instructions of a rebase, in a repository.
const REBASE_INSTRUCTIONS: &str = "rebase-merge/git-rebase-todo";

/// Files of a repository, of its common directory and of its submodules that name programs or other places.
const REPOSITORY: [&str; 7] = [
    "config",
    "config.worktree",
    "hooks",
    "commondir",
    "info/attributes",
    "info/sparse-checkout",
    "objects/info/alternates",
];

/// The files of git that steer in a repository inside a workspace, whether they exist or not; none that lie outside of it.
#[must_use]
pub fn repository_places(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    git_paths(directory, &mut found);
    found.into_iter().map(|one| one.path).filter(|path| path.starts_with(directory)).collect()
}

/// The instructions of a rebase that is not finished, in the repository of a working tree: the next `git rebase --continue` runs
/// the commands in them. They are not steering files, since a rebase of an agent that met a conflict writes them too.
#[must_use]
pub fn rebase_instructions(directory: &Path) -> Vec<PathBuf> {
    let Some(own) = git_directory(directory) else { return Vec::new() };
    let common = pointer(&own.join("commondir"), "", &own).unwrap_or_else(|| own.clone());
    let worktrees = common.join("worktrees");
    let linked = names_in(&worktrees).into_iter().map(|name| worktrees.join(name));
    let repositories = [own, common].into_iter().chain(linked);
    let mut found: Vec<PathBuf> = repositories.map(|place| place.join(REBASE_INSTRUCTIONS)).collect();
    found.dedup();
    found
}

/// Whether instructions of a rebase run a command that those before it did not.
#[must_use]
pub fn adds_commands(before: &str, now: &str) -> bool {
    let commands = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| line.split_whitespace().next().is_some_and(|word| ["exec", "x"].contains(&word)));
        lines.map(str::to_string).collect()
    };
    let known = commands(before);
    commands(now).iter().any(|command| !known.contains(command))
}

/// The same as [`repository_places`] for a repository without a working tree.
#[must_use]
pub fn bare_repository_places(directory: &Path) -> Vec<PathBuf> {
    REPOSITORY.iter().map(|name| directory.join(name)).collect()
}

/// The directory of git's own files for a working tree.
#[must_use]
pub fn git_directory(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() { Some(dot_git) } else { pointer(&dot_git, "gitdir:", root) }
}

fn git_paths(root: &Path, found: &mut Vec<SteeringPath>) {
    let dot_git = root.join(".git");
    let mut repositories = Vec::new();
    if dot_git.is_dir() {
        repositories.push(dot_git);
    } else if let Some(own) = pointer(&dot_git, "gitdir:", root) {
        push(found, dot_git, "git: which repository a directory belongs to");
        if let Some(common) = pointer(&own.join("commondir"), "", &own) {
            repositories.push(common);
        }
        repositories.push(own);
    }
    for repository in &repositories {
        for name in REPOSITORY {
            push(found, repository.join(name), "git: settings, hooks and objects");
        }
        for (directory, nesting) in [("modules", MAX_MODULE_NESTING), ("worktrees", 1)] {
            modules(&repository.join(directory), nesting, found);
        }
    }
}

/// The repositories below `.git/modules`: a submodule's name may hold slashes.
fn modules(directory: &Path, nesting: usize, found: &mut Vec<SteeringPath>) {
    if nesting == 0 || found.len() > MAX_ENTRIES {
        return;
    }
    for name in names_in(directory) {
        let inner = directory.join(name);
        if inner.join("HEAD").is_file() {
            for name in REPOSITORY {
                push(found, inner.join(name), "git: settings, hooks and objects of a submodule or worktree");
            }
            modules(&inner.join("modules"), nesting - 1, found);
        } else if inner.is_dir() {
            modules(&inner, nesting - 1, found);
        }
    }
}

/// The path that a pointer file of git names.
fn pointer(file: &Path, key: &str, base: &Path) -> Option<PathBuf> {
    use marvin_base::files::{self, Links};
    let bytes = files::read(file, MAX_POINTER_BYTES, Links::Refuse).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let named = text.trim().strip_prefix(key)?.trim();
    (!named.is_empty()).then(|| base.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_covers_its_example_and_says_what_obeys_it() {
        assert!(ROWS.len() >= 150, "{}", ROWS.len());
        for row in ROWS {
            let parts: Vec<&str> = row.example.split('/').collect();
            let lower: Vec<String> = parts.iter().map(|part| folded(part)).collect();
            assert!(row.covers(&lower.iter().map(String::as_str).collect::<Vec<_>>()), "{row:?}");
            assert!(find(&parts).is_some(), "{row:?}");
            assert!(!row.steers.is_empty() && row.verdict != Decision::Allow, "{row:?}");
            if !row.root {
                let nested: Vec<&str> = ["a", "b"].into_iter().chain(parts).collect();
                assert!(find(&nested).is_some(), "{nested:?}");
            }
        }
    }

    #[test]
    fn s7_spellings_and_directories_on_the_way_are_covered() {
        for path in [
            ".Claude/Settings.JSON",
            ".claude./settings.json",
            ".cl\u{200b}aude/settings.json",
            "sub/.mcp.json",
            ".github",
            ".github/workflows",
            ".vscode",
            ".idea",
            "claude.md",
            ".GIT/hooks/pre-commit",
            "git~1/config",
            "vendor/x/.git/config",
            "vendor/x/.git",
            ".marvin/init.json",
        ] {
            assert!(find_path(Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn ordinary_files_are_not_covered() {
        for path in [
            "src/main.rs",
            "README.md",
            "docs/CLAUDE.txt",
            ".marvin/notes/a.md",
            ".marvin/spec.md",
            ".marvin/e2e.json",
            ".marvin/review-history-1.md",
            ".github/ISSUE_TEMPLATE/bug.md",
            ".github/dependabot.yml",
            ".vscode/extensions.json",
            ".gitignore",
            "Makefile",
            "package.json",
            "tests/fixtures/azure-pipelines.yml",
            "src/gdb.py",
            ".eslintrc.json",
            ".env.example",
            "misery.toml",
        ] {
            assert!(find_path(Path::new(path)).is_none(), "{path}");
        }
    }

    #[test]
    fn s6_git_files_are_denied_and_documents_are_asked_about() {
        for path in [".git/commondir", "nested/.git", "nested/.git/hooks/pre-commit", ".git/modules/a/config"]
        {
            assert_eq!(find_path(Path::new(path)).map(|row| row.verdict), Some(Decision::Deny), "{path}");
        }
        for path in ["AGENTS.md", "docs/CLAUDE.md", ".github/copilot-instructions.md"] {
            let row = find_path(Path::new(path)).unwrap();
            assert!(row.document && row.verdict == Decision::Ask, "{path}");
        }
    }

    #[test]
    fn s6_what_the_repository_names_as_hooks_and_settings_steers() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        let text = "[user]\n\tname = a\n[core] hooksPath = \"scripts/hooks\"\n[include]\n\tpath = ../shared/git\n\
                    [includeIf \"gitdir:~/x/\"]\n\tpath = ~/other\n\tpath = /etc/gitconfig\n[core]\n\thookspath = .\n";
        std::fs::write(root.join(".git/config"), text).unwrap();
        let own = [root.join("scripts/hooks"), root.join("shared/git")];
        assert!(own.iter().all(|path| configured(root).contains(path)), "{:?}", configured(root));
        assert!(
            !configured(root).contains(&root.to_path_buf())
                && !configured(root).contains(&"/etc/gitconfig".into())
        );
        assert!(own.iter().all(|path| protected(root).contains(path)));
    }

    #[test]
    fn protected_lists_what_exists_and_what_could_be_made() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in [".git/modules/lib/deep", ".vscode", ".git/worktrees/w"] {
            std::fs::create_dir_all(root.join(path)).unwrap();
        }
        for path in
            [".git/modules/lib/deep/HEAD", ".aider.conf.yml", "x.code-workspace", ".git/worktrees/w/HEAD"]
        {
            std::fs::write(root.join(path), "x").unwrap();
        }
        let found = paths(root);
        let exists = |path: &str| found.iter().find(|one| one.path == root.join(path)).map(|one| one.exists);
        assert_eq!(exists(".aider.conf.yml"), Some(true));
        assert_eq!(exists("x.code-workspace"), Some(true));
        for path in [
            ".claude",
            ".mcp.json",
            ".git/config",
            ".git/hooks",
            ".git/commondir",
            ".git/objects/info/alternates",
            ".git/modules/lib/deep/hooks",
            ".git/worktrees/w/config.worktree",
            ".vscode/tasks.json",
        ] {
            assert_eq!(exists(path), Some(false), "{path}");
        }
        assert!(!protected(root).contains(&root.join(".git")));
        // A linked worktree: the pointer itself, its own directory and the common one.
        let linked = root.join("linked");
        std::fs::create_dir(&linked).unwrap();
        std::fs::write(linked.join(".git"), format!("gitdir: {}\n", root.join(".git/worktrees/w").display()))
            .unwrap();
        std::fs::write(root.join(".git/worktrees/w/commondir"), "../..\n").unwrap();
        let found = protected(&linked);
        assert!(found.contains(&linked.join(".git")), "{found:?}");
        assert!(found.contains(&root.join(".git/worktrees/w/../../hooks")), "{found:?}");
    }
}
