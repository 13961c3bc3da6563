//! Real targets of paths, looked up on the disk: a name inside the workspace may be a link out of it.
//!
//! Limits: this is looked up before the command runs; a program that swaps a file for a link in between is stopped only by
//! the sandbox ([`crate::sandbox`]). Patterns (`*`) and trees are walked within bounds; beyond them the answer is "unknown".

use crate::shell::pattern as shell_pattern;
use marvin_base::beneath;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Links that are followed on one path, as the kernel does.
const LINKS: usize = 40;
/// Entries that the expansion of one pattern looks at.
const PATTERN_ENTRIES: usize = 20_000;
/// Entries that a walk over a tree looks at.
const TREE_ENTRIES: usize = 200_000;
/// Directories of other people's code and of builds, in which a project keeps no secrets of its own.
const FOREIGN: [&str; 6] = [".git", "node_modules", ".venv", "venv", "site-packages", "target"];

/// Follows every link of a path; parts that do not exist are kept as they are.
#[must_use]
pub fn real(path: &Path) -> PathBuf {
    if beneath::has_no_links(path) {
        return path.components().collect();
    }
    let mut waiting: Vec<OsString> = Vec::new();
    let push = |waiting: &mut Vec<OsString>, path: &Path| {
        let parts =
            path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        let parts: Vec<OsString> = parts.map(|part| part.as_os_str().to_os_string()).collect();
        waiting.extend(parts.into_iter().rev());
    };
    push(&mut waiting, path);
    let mut found = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = waiting.pop() {
        if part == ".." {
            found.pop();
            continue;
        }
        found.push(&part);
        let Ok(target) = std::fs::read_link(&found) else { continue };
        links += 1;
        if links > LINKS {
            // A loop: the kernel will not open it either.
            return found;
        }
        found.pop();
        if target.is_absolute() {
            found = PathBuf::from("/");
        }
        push(&mut waiting, &target);
    }
    found
}

/// The paths that a pattern stands for, links among them not followed; `None` when there are too many to know.
pub(crate) fn expand(pattern: &Path) -> Option<Vec<PathBuf>> {
    let mut found = vec![PathBuf::from("/")];
    let mut looked = 0;
    for part in pattern.components() {
        let Component::Normal(name) = part else {
            if part == Component::ParentDir {
                found.iter_mut().for_each(|path| path.push(".."));
            }
            continue;
        };
        if !name.as_bytes().iter().any(|byte| b"*?[".contains(byte)) {
            found.iter_mut().for_each(|path| path.push(name));
            continue;
        }
        // With `globstar` it is any number of directories, none among them.
        let is_any_depth = name.as_bytes() == b"**";
        let mut next = if is_any_depth { found.clone() } else { Vec::new() };
        while let Some(directory) = found.pop() {
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                looked += 1;
                if looked > PATTERN_ENTRIES {
                    return None;
                }
                if !fits(name.as_bytes(), entry.file_name().as_bytes()) {
                    continue;
                }
                if is_any_depth && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    found.push(entry.path());
                }
                next.push(entry.path());
            }
        }
        found = next;
    }
    Some(found)
}

/// Does a name fit a pattern of the shell? A range of letters may hold the other case, by the locale; what is not text
/// may always fit.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    if name.starts_with(b".") && !pattern.starts_with(b".") {
        return false;
    }
    let (Ok(pattern), Ok(name)) = (std::str::from_utf8(pattern), std::str::from_utf8(name)) else {
        return true;
    };
    shell_pattern::matches(pattern, name)
        || pattern.contains('[') && shell_pattern::matches(&pattern.to_lowercase(), &name.to_lowercase())
}

/// The finding on a tree that a command reads as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeFinding {
    /// Nothing of the kind.
    Nothing,
    /// A file of secrets by convention.
    Secret,
    /// A link that leads out of the workspace.
    LeadsOut,
    /// The tree is too large to know.
    TooLarge,
}

/// Looks through a tree: for secret files among those that `is_read` names, and for links that lead out of `workspace`
/// when `links` are followed.
pub(crate) fn look_through(
    start: &Path,
    workspace: &Path,
    links: bool,
    is_read: &dyn Fn(&str) -> bool,
) -> TreeFinding {
    let mut directories = vec![start.to_path_buf()];
    let mut looked = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            looked += 1;
            if looked > TREE_ENTRIES {
                return TreeFinding::TooLarge;
            }
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !FOREIGN.iter().any(|foreign| name == *foreign) {
                directories.push(entry.path());
            } else if kind.is_symlink() && links && !real(&entry.path()).starts_with(workspace) {
                return TreeFinding::LeadsOut;
            } else if kind.is_file()
                && is_read(&name.to_string_lossy())
                && crate::secrets::is_project_secret(&name.to_string_lossy())
            {
                return TreeFinding::Secret;
            }
        }
    }
    TreeFinding::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_even_where_they_lead_nowhere() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("/nowhere/at/all", root.join("dangling")).unwrap();
        symlink("a/b", root.join("deep")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        assert_eq!(real(&root.join("dangling/x")), Path::new("/nowhere/at/all/x"));
        assert_eq!(
            real(&root.join("deep/../x")),
            root.join("a/x"),
            "as the kernel climbs, not as the text does"
        );
        assert_eq!(real(&root.join("a/none/../x")), root.join("a/x"));
        assert_eq!(real(&root.join("loop")), root.join("loop"));
        symlink("a", root.join("b")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        for (path, leads) in
            [("a//./b/", "a/b"), ("none/x", "none/x"), ("file/x", "file/x"), ("b/b", "a/b"), ("b/x/", "a/x")]
        {
            assert_eq!(real(&root.join(path)).as_os_str(), root.join(leads).as_os_str(), "{path}");
        }
    }

    #[test]
    fn patterns_fit_as_in_the_shell() {
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("*", ".a", false),
            (".*", ".a", true),
            ("*.rs", "a.rs", true),
            ("*.rs", "a.rsx", false),
            ("a*b*c", "a1b2b3c", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[ab]*", "x", false),
            ("[A-C]x", "bx", true),
            (".[e]nv", ".env", true),
            (".[e]nv", ".git", false),
            ("[.]env", ".env", false),
            ("[[:alpha:]]b", "ab", true),
            ("?.txt", "é.txt", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
