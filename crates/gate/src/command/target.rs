//! What a word of a command would touch, if it is a path: the same verb is harmless here and a catastrophe there.

use super::words::Word;
use super::{CommandContext, reach};
use crate::secrets;
use std::path::{Component, Path, PathBuf};

/// A place, by what would be lost there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// In the workspace, nothing special.
    Inside,
    /// In the workspace: a file of secrets by convention (`.env`).
    ProjectSecret,
    /// The workspace itself, or a folder above it.
    Workspace,
    /// Git's own files.
    Git,
    /// The record or the tickets.
    Record,
    /// Outside the workspace, nothing special.
    Outside,
    /// Credentials.
    Secret,
    /// Files that are run when somebody logs in.
    Startup,
    /// The home folder itself, or a folder above it.
    Home,
    /// A folder of the system.
    System,
    /// A block device, or memory.
    Device,
    /// The root of the file system.
    Root,
}

impl Target {
    /// Would losing it be a catastrophe?
    pub(crate) fn is_vital(self) -> bool {
        !matches!(self, Target::Inside | Target::Outside | Target::ProjectSecret)
    }

    /// Is it in the workspace, and open to programs that write?
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Target::Inside | Target::ProjectSecret | Target::Workspace)
    }
}

/// Folders of the system, as the first part of an absolute path.
const SYSTEM: [&str; 17] = [
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "opt", "proc", "root", "run", "sbin",
    "srv", "sys", "usr", "var",
];

/// Files below the home folder that are run when somebody logs in.
const STARTUP: [&str; 9] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".config/autostart",
    ".config/systemd",
];

/// What a word would touch, from any of the folders in which the command may run: by its text, by where its links lead,
/// and by what its patterns stand for.
pub(crate) fn classify(word: &Word, folders: &[PathBuf], context: &CommandContext) -> Target {
    let text = expand_home(word, context);
    let mut worst = Target::Inside;
    for folder in folders {
        let by_text = classify_path(&absolute(&text, folder), word.glob, context);
        for found in [by_text, on_disk(&folder.join(&text), word.glob, context)] {
            // A pattern may be the whole workspace by its text, and a secret among the files that it stands for.
            if found == Target::Secret {
                return found;
            }
            if found != Target::Inside && !worst.is_vital() {
                worst = found;
            }
        }
    }
    worst
}

/// Does a word stand for files of secrets, if only by a pattern or a link?
pub(crate) fn holds_secrets(word: &Word, folders: &[PathBuf], context: &CommandContext) -> bool {
    let text = expand_home(word, context);
    let secret = |folder: &PathBuf| on_disk(&folder.join(&text), word.glob, context) == Target::ProjectSecret;
    folders.iter().any(secret)
}

/// Does a word that seems to lie in the workspace lead out of it by a symbolic link (or stand for too many files to know)?
pub(crate) fn leads_out(word: &Word, folders: &[PathBuf], context: &CommandContext) -> bool {
    let text = expand_home(word, context);
    let workspace = reach::real(&context.workspace);
    folders.iter().any(|folder| {
        let inside = absolute(&text, folder).starts_with(&context.workspace);
        let out = |paths: Vec<PathBuf>| paths.iter().any(|path| !path.starts_with(&workspace));
        inside && reached(&folder.join(&text), word.glob).is_none_or(out)
    })
}

/// Does a word name files that agents take instructions from, by its text or by where it leads?
pub(crate) fn is_instruction(word: &Word, folders: &[PathBuf], context: &CommandContext) -> bool {
    names(word, folders, context, crate::path::is_instruction)
}

/// Does a word name the tickets, by its text or by where it leads?
pub(crate) fn is_ticket(word: &Word, folders: &[PathBuf], context: &CommandContext) -> bool {
    names(word, folders, context, |parts| crate::path::not_tickets(parts, "").is_err())
}

/// Does a word name something of the workspace, by its text or by where it leads?
fn names(word: &Word, folders: &[PathBuf], context: &CommandContext, what: impl Fn(&[&str]) -> bool) -> bool {
    let text = expand_home(word, context);
    let workspace = reach::real(&context.workspace);
    folders.iter().any(|folder| {
        let by_text = absolute(&text, folder);
        let on_disk = reached(&folder.join(&text), word.glob).unwrap_or_default();
        let named = |path: &Path, root: &Path| {
            let rest = path.strip_prefix(root).unwrap_or(path);
            what(&rest.iter().filter_map(|part| part.to_str()).collect::<Vec<_>>())
        };
        named(&by_text, &context.workspace) || on_disk.iter().any(|path| named(path, &workspace))
    })
}

/// Where a path, or what a pattern stands for, really leads; `None` when that are too many places.
pub(crate) fn reached(path: &Path, glob: bool) -> Option<Vec<PathBuf>> {
    // What is longer names no file.
    if path.as_os_str().len() > 4096 {
        return Some(Vec::new());
    }
    let paths = if glob { reach::expand(path)? } else { vec![path.to_path_buf()] };
    Some(paths.iter().map(|path| reach::real(path)).collect())
}

/// What a path really leads to; patterns with too many matches are not known to be inside.
fn on_disk(path: &Path, glob: bool, context: &CommandContext) -> Target {
    let Some(reached) = reached(path, glob) else { return Target::Outside };
    let real =
        CommandContext { workspace: reach::real(&context.workspace), home: reach::real(&context.home) };
    let found = reached.iter().map(|path| classify_path(path, false, &real));
    let strictness = |target: &Target| match target {
        Target::Inside | Target::Workspace => 0,
        Target::ProjectSecret => 1,
        Target::Outside => 2,
        Target::Secret => 4,
        _ => 3,
    };
    found.max_by_key(strictness).unwrap_or(Target::Inside)
}

/// The word with `~`, `$HOME` and `${HOME}` at its beginning resolved.
fn expand_home(word: &Word, context: &CommandContext) -> String {
    let home = context.home.to_string_lossy();
    for start in ["$HOME", "${HOME}"] {
        if let Some(rest) = word.text.strip_prefix(start)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return format!("{home}{rest}");
        }
    }
    match word.text.strip_prefix('~') {
        Some(rest) if word.tilde && (rest.is_empty() || rest.starts_with('/')) => format!("{home}{rest}"),
        // Somebody's home.
        Some(rest) if word.tilde => format!("/home/{rest}"),
        _ => word.text.clone(),
    }
}

/// Absolute, with `.` and `..` taken out of the text.
fn absolute(text: &str, folder: &Path) -> PathBuf {
    let mut path = PathBuf::from("/");
    for component in folder.join(text).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::ParentDir => {
                path.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    path
}

fn classify_path(path: &Path, glob: bool, context: &CommandContext) -> Target {
    let has_glob = |part: &str| glob && part.contains(['*', '?', '[']);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // `/etc/*` is as much as `/etc`; `.*` and `.g*` may be `.git`.
    let path = match path.parent() {
        Some(parent) if has_glob(&name) && (name.starts_with(['*', '?', '[', '.'])) => parent,
        _ => path,
    };
    if let Ok(rest) = path.strip_prefix(&context.workspace) {
        return inside(rest);
    }
    if context.workspace.starts_with(path) && path.parent().is_some() {
        return if context.home.starts_with(path) { Target::Home } else { Target::Workspace };
    }
    if secrets::is_key_name(&name) {
        return Target::Secret;
    }
    // Where there is no home folder, it is said to be `/`, which is none.
    let has_home = context.home.parent().is_some();
    if let (true, Ok(rest)) = (has_home, path.strip_prefix(&context.home)) {
        return match rest {
            _ if rest.as_os_str().is_empty() => Target::Home,
            _ if name.ends_with(".pub") || name == "known_hosts" => Target::Outside,
            _ if secrets::HOME.iter().any(|secret| rest.starts_with(secret)) => Target::Secret,
            _ if STARTUP.iter().any(|startup| rest.starts_with(startup)) => Target::Startup,
            _ => Target::Outside,
        };
    }
    let Some(first) = path.iter().nth(1).map(|part| part.to_string_lossy().into_owned()) else {
        return Target::Root;
    };
    let elsewhere_secret = || {
        let below = |home: &Path| {
            path.strip_prefix(home).is_ok_and(|rest| {
                secrets::HOME
                    .iter()
                    .any(|secret| rest.iter().skip(1).collect::<PathBuf>().starts_with(secret))
            })
        };
        below(Path::new("/home"))
            || below(Path::new("/Users"))
            || secrets::HOME.iter().any(|secret| path.starts_with(Path::new("/root").join(secret)))
    };
    match first.as_str() {
        _ if context.home.starts_with(path) => Target::Home,
        _ if secrets::SYSTEM.iter().any(|secret| path.starts_with(secret)) || elsewhere_secret() => {
            Target::Secret
        }
        "proc" if name == "environ" || name == "mem" => Target::Secret,
        "var" if path.starts_with("/var/tmp") => Target::Outside,
        "dev" if is_plain_device(path) => Target::Outside,
        "dev" => Target::Device,
        _ if SYSTEM.contains(&first.as_str()) => Target::System,
        _ => Target::Outside,
    }
}

fn is_plain_device(path: &Path) -> bool {
    let plain =
        ["null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty", "fd", "shm", "pts"];
    path.iter().nth(2).is_some_and(|name| plain.contains(&&*name.to_string_lossy()))
}

/// A place in the workspace, by its path from there.
fn inside(rest: &Path) -> Target {
    let parts: Vec<String> = rest.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if parts.is_empty() {
        return Target::Workspace;
    }
    if parts.contains(&".git") {
        return Target::Git;
    }
    if crate::path::not_tickets(&parts, "").is_err() || crate::path::open_for_writing(&parts, "").is_err() {
        return Target::Record;
    }
    let name = parts.last().copied().unwrap_or_default();
    if secrets::is_project_secret(name) {
        return Target::ProjectSecret;
    }
    Target::Inside
}

/// The parts of a word that may be a path: the word, and what follows `=`, `@` and a short flag.
pub(crate) fn path_candidates(word: &Word) -> Vec<Word> {
    let mut candidates = vec![word.clone()];
    let part = |text: &str| Word {
        text: text.to_string(),
        tilde: text.starts_with('~'),
        glob: word.glob,
        quoted: word.quoted,
    };
    for mark in ['=', '@', ':', ','] {
        candidates.extend(word.text.split(mark).skip(1).filter(|rest| !rest.is_empty()).map(part));
    }
    // `-C/etc`; two letters such as `-d/` are a delimiter.
    if let Some(flag) = word.text.strip_prefix('-')
        && !flag.starts_with('-')
        && flag.len() > 2
        && let Some((at, _)) = flag.char_indices().nth(1)
        && let Some(rest) = flag.get(at..)
        && rest.starts_with(['/', '~', '.'])
    {
        candidates.push(part(rest));
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        let context = CommandContext { workspace: "/home/a/work".into(), home: "/home/a".into() };
        let line = super::super::words::split(&format!("x {text}"));
        classify(&line.commands[0].words[1], std::slice::from_ref(&context.workspace), &context)
    }

    #[test]
    fn places_are_known() {
        for (text, expected) in [
            ("src/main.rs", Target::Inside),
            ("/home/a/work/src", Target::Inside),
            (".", Target::Workspace),
            ("*", Target::Workspace),
            ("./.*", Target::Workspace),
            ("..", Target::Home),
            ("../..", Target::Home),
            ("../other", Target::Outside),
            ("/", Target::Root),
            ("/*", Target::Root),
            ("//", Target::Root),
            ("/tmp/../*", Target::Root),
            ("~", Target::Home),
            ("~/", Target::Home),
            ("~/*", Target::Home),
            ("$HOME", Target::Home),
            ("\"${HOME}/\"", Target::Home),
            ("/etc", Target::System),
            ("/usr/*", Target::System),
            ("/home", Target::Home),
            ("/home/b", Target::System),
            ("~/.ssh/id_rsa", Target::Secret),
            ("/root/.ssh/x", Target::Secret),
            ("/home/b/.aws/credentials", Target::Secret),
            ("/etc/shadow", Target::Secret),
            ("/proc/self/environ", Target::Secret),
            ("~/.bashrc", Target::Startup),
            ("/dev/sda", Target::Device),
            ("/dev/null", Target::Outside),
            (".git", Target::Git),
            (".tickets/a.md", Target::Record),
            (".marvin/runs", Target::Record),
            (".env", Target::ProjectSecret),
            (".env.example", Target::Inside),
            ("/tmp/x", Target::Outside),
            ("'~'", Target::Inside),
        ] {
            assert_eq!(target(text), expected, "{text}");
        }
    }
}
