//! The directories around a project, and safe access to its files.

use super::Refusal;
use marvin_base::files::{self, Links};
use marvin_base::layout::clients::RECORD;
use std::path::{Component, Path, PathBuf};

/// A directory and its project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The named directory, in which a session of Claude Code starts.
    pub directory: PathBuf,
    /// The directory that has or gets `.marvin`.
    pub top: PathBuf,
    /// The root of the git working tree.
    pub git: Option<PathBuf>,
    /// Whether that is a linked worktree.
    pub linked: bool,
    /// The number of linked worktrees of the main checkout.
    pub worktrees: usize,
}

impl Place {
    /// Finds the project of a directory.
    ///
    /// # Errors
    /// When it is not a directory, or is the home directory or the root.
    pub fn find(directory: &Path, home: &Path) -> Result<Place, Refusal> {
        let shown = directory.display();
        let directory = directory.canonicalize().map_err(|error| {
            Refusal::new(format!("cannot use {shown}: {error}"), "name a directory that exists")
        })?;
        if !directory.is_dir() {
            return Err(Refusal::new(
                format!("{shown} is not a directory"),
                "name the directory of a project",
            ));
        }
        let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
        if directory.parent().is_none() || directory == home {
            return Err(Refusal::new(
                format!("{shown} is not a project: everything below it would be one"),
                "go to the directory of a project, or name it with --working-dir",
            ));
        }
        let below: Vec<&Path> =
            directory.ancestors().take_while(|path| *path != home && path.parent().is_some()).collect();
        let git = below.iter().position(|path| path.join(".git").exists());
        // A linked worktree inside the main checkout does not share its files, so the search ends at the working tree.
        let within = below.iter().take(git.map_or(below.len(), |index| index + 1));
        let top = within.copied().find(|path| path.join(RECORD).is_dir()).unwrap_or(&directory).to_path_buf();
        let git = git.and_then(|index| below.get(index)).map(|path| path.to_path_buf());
        let linked = git.as_ref().is_some_and(|git| git.join(".git").is_file());
        let worktrees = git.as_ref().and_then(|git| std::fs::read_dir(git.join(".git/worktrees")).ok());
        let worktrees = worktrees.map_or(0, |entries| entries.take(1_000).count());
        Ok(Place { directory, top, git, linked, worktrees })
    }

    /// The name of a file relative to the project, for people and for the receipt.
    pub(super) fn name(&self, root: &Path, relative: &str) -> String {
        let path = root.join(relative);
        path.strip_prefix(&self.top).unwrap_or(&path).display().to_string()
    }
}

pub(super) type Content = Option<Vec<u8>>;

/// A file of a project, with symlinks resolved.
#[derive(Debug, Clone)]
pub(super) struct ProjectFile {
    pub(super) path: PathBuf,
    pub(super) content: Content,
}

const MAX_FILE_BYTES: u64 = 2 * 1024 * 1024;

/// Finds a file below `root` and reads it. Links are followed where they stay inside `within`.
pub(super) fn open(within: &Path, root: &Path, relative: &str) -> Result<ProjectFile, Refusal> {
    let shown = root.join(relative);
    let mut path = root.to_path_buf();
    for part in Path::new(relative).components() {
        let Component::Normal(name) = part else {
            return Err(Refusal::new(format!("{} is not a file name", shown.display()), "use another name"));
        };
        if path.symlink_metadata().is_ok_and(|facts| !facts.is_dir()) {
            return Err(Refusal::new(
                format!("{} is not a directory", path.display()),
                "move it away, then run `marvin init` again",
            ));
        }
        path.push(name);
        if path.is_symlink() {
            path = follow(within, &path)?;
        }
    }
    let content = match files::read(&path, MAX_FILE_BYTES, Links::Refuse) {
        Ok(bytes) if bytes.len() as u64 > MAX_FILE_BYTES => {
            return Err(Refusal::new(
                format!("{} is larger than {MAX_FILE_BYTES} bytes", shown.display()),
                "look at what it holds",
            ));
        }
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(Refusal::new(
                format!("{} cannot be read: {error}", shown.display()),
                "fix that, then run `marvin init` again",
            ));
        }
    };
    Ok(ProjectFile { path, content })
}

fn follow(within: &Path, link: &Path) -> Result<PathBuf, Refusal> {
    let target = link.canonicalize().map_err(|_| {
        Refusal::new(
            format!("{} is a link that leads to nothing", link.display()),
            "remove it, then run `marvin init` again",
        )
    })?;
    if target.starts_with(within) {
        return Ok(target);
    }
    Err(Refusal::new(
        format!("{} is a link that leads out of the project, to {}", link.display(), target.display()),
        "put a copy in its place, or run `marvin init` where it leads",
    ))
}

/// Refuses symlinks as directories of the record, so that it stays in the project.
pub(super) fn check_record(top: &Path) -> Result<(), Refusal> {
    for name in [RECORD, ".marvin/packs", ".marvin/security"] {
        let path = top.join(name);
        if path.is_symlink() {
            return Err(Refusal::new(
                format!("{} is a link", path.display()),
                "put a directory in its place",
            ));
        }
        if path.exists() && !path.is_dir() {
            return Err(Refusal::new(format!("{} is not a directory", path.display()), "move it away"));
        }
    }
    Ok(())
}

/// The links inside the record: a file of ours in it is never one.
pub(super) fn open_record(top: &Path, relative: &str) -> Result<ProjectFile, Refusal> {
    let mut path = top.to_path_buf();
    for part in Path::new(relative).components() {
        path.push(part);
        if path.is_symlink() {
            return Err(Refusal::new(
                format!("{} is a link", path.display()),
                "put what it leads to in its place",
            ));
        }
    }
    open(top, top, relative)
}
