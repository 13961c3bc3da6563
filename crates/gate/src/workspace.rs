//! The one folder that an agent works in.
//!
//! A [`Workspace`] holds an open handle of its folder, and every path is resolved beneath that handle by the operating
//! system (`openat2` with `RESOLVE_BENEATH` where the kernel has it). So a symbolic link that leads out, or a folder that
//! is swapped for one between check and use, is refused at the moment of opening; no string comparison is trusted for it.
//!
//! Limits: hard links and bind mounts inside the workspace are inside it, whatever they show. That a link inside the
//! workspace does not lead to a closed place is looked up just before opening, which a concurrent writer could outrun;
//! agents that write run one at a time.

use crate::path::{self, WorkspacePath};
use crate::refusal::{Refusal, RefusalKind};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt};
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

/// Bounds of the small tree in refusals.
const SKETCH_ENTRIES: usize = 40;
const SKETCH_FILES: usize = 10;
const SKETCH_DEPTH: usize = 2;

/// An open workspace.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    folder: Dir,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name; bytes that are not UTF-8 become `�`.
    pub name: String,
    /// Whether it is a folder (links are not followed).
    pub folder: bool,
}

impl Workspace {
    /// Opens a folder as workspace.
    ///
    /// # Errors
    /// When it is missing, not a folder, the root of the file system, or the home folder itself.
    pub fn open(path: &Path, home: &Path) -> Result<Self, Refusal> {
        let refuse = |reason: String, mend: &str| Refusal::new(RefusalKind::Workspace, reason, mend);
        let root = path.canonicalize().map_err(|error| {
            refuse(
                format!("the working directory {} cannot be used: {error}", path.display()),
                "Name a folder that exists, or make it first.",
            )
        })?;
        if !root.is_dir() {
            return Err(refuse(
                format!("the working directory {} is not a folder", path.display()),
                "Name the folder that holds the file.",
            ));
        }
        if root.parent().is_none() {
            return Err(refuse(
                "the root of the file system cannot be the working directory".into(),
                "Name the folder of the project.",
            ));
        }
        if home.canonicalize().is_ok_and(|home| home == root) {
            return Err(refuse(
                format!("the home folder {} itself cannot be the working directory", root.display()),
                "Name the folder of a project inside it.",
            ));
        }
        let folder = Dir::open_ambient_dir(&root, ambient_authority())
            .map_err(|error| Refusal::from_io("open", &root.display().to_string(), &error))?;
        Ok(Workspace { root, folder })
    }

    /// A folder inside the workspace, made if missing, as a workspace of its own (for notes).
    ///
    /// # Errors
    /// When it cannot be made, or any part of the way is a link: the inner workspace would not know where it lies.
    pub fn inner(&self, path: &WorkspacePath) -> Result<Workspace, Refusal> {
        let fail = |error| Refusal::from_io("open", path.as_str(), &error);
        for part in path.as_path().ancestors().filter(|part| !part.as_os_str().is_empty()) {
            if self.folder.symlink_metadata(part).is_ok_and(|facts| facts.is_symlink()) {
                return Err(Refusal::new(
                    RefusalKind::Link,
                    format!("cannot open `{path}`: `{}` is a symbolic link", part.display()),
                    "Tell the person: this must be a folder, not a link.",
                ));
            }
        }
        self.folder.create_dir_all(path.as_path()).map_err(fail)?;
        let folder = self.folder.open_dir(path.as_path()).map_err(fail)?;
        Ok(Workspace { root: self.root.join(path.as_path()), folder })
    }

    /// The folder, canonical.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Checks the text of a path.
    ///
    /// # Errors
    /// A refusal that shows the working directory, and for absolute paths a sample and a small tree.
    pub fn path(&self, text: &str) -> Result<WorkspacePath, Refusal> {
        path::parse(text).map_err(|mut refusal| {
            if refusal.kind == RefusalKind::Absolute {
                let sample = Path::new(text)
                    .strip_prefix(&self.root)
                    .ok()
                    .map(|rest| rest.display().to_string())
                    .filter(|rest| !rest.is_empty())
                    .or_else(|| self.first_file())
                    .unwrap_or_else(|| "src/main.rs".into());
                refusal.how_to_fix = format!(
                    "Working directory: {}\nGive a relative path, for example `{sample}`. What is there:\n{}",
                    self.root.display(),
                    self.sketch()
                );
            } else {
                refusal.how_to_fix =
                    format!("{}\nWorking directory: {}", refusal.how_to_fix, self.root.display());
            }
            refusal
        })
    }

    /// May tools write there at all (whatever the agent's access)?
    ///
    /// # Errors
    /// For the record, upstream documents, `.git`, and links that lead there.
    pub fn writable(&self, path: &WorkspacePath) -> Result<(), Refusal> {
        path::open_for_writing(&parts(path.as_path()), path.as_str())?;
        let real = self.resolve(path)?;
        path::open_for_writing(&parts(&real), path.as_str())?;
        match self.folder.symlink_metadata(path.as_path()) {
            Ok(facts) if facts.is_symlink() => Err(Refusal::new(
                RefusalKind::Link,
                format!("cannot write `{path}`: it is a symbolic link"),
                format!("Write the file that it leads to: `{}`.", real.display()),
            )),
            _ => Ok(()),
        }
    }

    /// Opens a regular file for reading. Pipes, devices and sockets are refused, and never waited for.
    ///
    /// # Errors
    /// When there is no such file, it is not a regular one, or a link on the way leads out.
    pub fn open_read(&self, path: &WorkspacePath) -> Result<std::fs::File, Refusal> {
        self.resolve(path)?;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = self
            .folder
            .open_with(path.as_path(), &options)
            .map_err(|error| Refusal::from_io("read", path.as_str(), &error))?;
        regular(&file, path)?;
        Ok(file.into_std())
    }

    /// The text of a file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Workspace::open_read`], and when it is larger or not UTF-8.
    pub fn read_to_string(&self, path: &WorkspacePath, limit: u64) -> Result<String, Refusal> {
        let file = self.open_read(path)?;
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| Refusal::from_io("read", path.as_str(), &error))?;
        if bytes.len() as u64 > limit {
            return Err(Refusal::new(
                RefusalKind::TooLarge,
                format!("`{path}` is larger than {limit} bytes"),
                "Search it with code_grep instead of reading it whole.",
            ));
        }
        String::from_utf8(bytes).map_err(|_| {
            Refusal::new(
                RefusalKind::NotText,
                format!("`{path}` is not UTF-8 text"),
                "This tool works on text files only.",
            )
        })
    }

    /// Makes a file that must not exist yet, and the folders on its way. It appears with all of its text or not at all.
    ///
    /// # Errors
    /// When it exists, the place is closed, or a link on the way leads out.
    pub fn create_new(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), Refusal> {
        self.writable(path)?;
        let fail = |error| Refusal::from_io("create", path.as_str(), &error);
        let parent = path.parent();
        if parent.as_str() != "." {
            self.folder.create_dir_all(parent.as_path()).map_err(fail)?;
        }
        let folder = self.folder.open_dir(parent.as_path()).map_err(fail)?;
        via_temporary(&folder, |temporary| {
            write_new(&folder, temporary, bytes)?.sync_all()?;
            name_new(&folder, temporary, path.name())
        })
        .map_err(fail)
    }

    /// Appends to a regular file that must exist.
    ///
    /// # Errors
    /// When it does not exist, is not a regular file, or the place is closed.
    pub fn append(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), Refusal> {
        self.writable(path)?;
        let fail = |error| Refusal::from_io("append to", path.as_str(), &error);
        let mut options = OpenOptions::new();
        options.append(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW);
        let mut file = self.folder.open_with(path.as_path(), &options).map_err(fail)?;
        regular(&file, path)?;
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(fail)
    }

    /// Replaces a file as a whole: readers see the old text or the new, never a mixture. The mode is kept.
    ///
    /// # Errors
    /// When it is not a regular file, or the place is closed.
    pub fn replace(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), Refusal> {
        self.writable(path)?;
        let fail = |error| Refusal::from_io("write", path.as_str(), &error);
        let facts = self.folder.symlink_metadata(path.as_path()).map_err(fail)?;
        if !facts.is_file() {
            return Err(not_regular(path));
        }
        let folder = self.folder.open_dir(path.parent().as_path()).map_err(fail)?;
        via_temporary(&folder, |temporary| {
            let file = write_new(&folder, temporary, bytes)?;
            file.set_permissions(facts.permissions())?;
            file.sync_all()?;
            folder.rename(temporary, &folder, path.name())
        })
        .map_err(fail)
    }

    /// Deletes a regular file: the way back when one of several writes fails.
    ///
    /// # Errors
    /// When it is not a regular file, or the place is closed.
    pub fn remove(&self, path: &WorkspacePath) -> Result<(), Refusal> {
        self.writable(path)?;
        self.folder
            .remove_file(path.as_path())
            .map_err(|error| Refusal::from_io("delete", path.as_str(), &error))
    }

    /// Size and kind of a file or folder.
    ///
    /// # Errors
    /// When there is none, or a link on the way leads out.
    pub fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, Refusal> {
        self.resolve(path)?;
        self.folder
            .metadata(path.as_path())
            .map_err(|error| Refusal::from_io("look at", path.as_str(), &error))
    }

    /// The entries of a folder, by name.
    ///
    /// # Errors
    /// When it is not a folder, or a link on the way leads out.
    pub fn read_dir(&self, path: &WorkspacePath) -> Result<Vec<Entry>, Refusal> {
        self.resolve(path)?;
        let fail = |error| Refusal::from_io("list", path.as_str(), &error);
        let mut entries = Vec::new();
        for entry in self.folder.read_dir(path.as_path()).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            entries.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), folder });
        }
        entries.sort();
        Ok(entries)
    }

    /// Is there such a file or folder (a link that leads out counts as none)?
    #[must_use]
    pub fn exists(&self, path: &WorkspacePath) -> bool {
        self.metadata(path).is_ok()
    }

    /// A small tree for orientation: depth 2, at most 40 entries, 10 files a folder, hidden folders left out.
    #[must_use]
    pub fn sketch(&self) -> String {
        let mut lines = Vec::new();
        self.sketch_folder(&WorkspacePath::from_parts([]), 1, &mut lines);
        if lines.len() > SKETCH_ENTRIES {
            lines.truncate(SKETCH_ENTRIES);
            lines.push("… (more)".into());
        }
        if lines.is_empty() { "(the folder is empty)".into() } else { lines.join("\n") }
    }

    fn sketch_folder(&self, path: &WorkspacePath, depth: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(depth - 1);
        let entries = self.read_dir(path).unwrap_or_default();
        let (folders, files): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(|entry| entry.folder);
        for folder in folders.iter().filter(|entry| !entry.name.starts_with('.') || entry.name == ".marvin") {
            if lines.len() > SKETCH_ENTRIES {
                return;
            }
            lines.push(format!("{indent}{}/", folder.name));
            if depth < SKETCH_DEPTH {
                let inner =
                    path.as_str().split('/').filter(|part| *part != ".").chain([folder.name.as_str()]);
                self.sketch_folder(&WorkspacePath::from_parts(inner), depth + 1, lines);
            }
        }
        for file in files.iter().take(SKETCH_FILES) {
            lines.push(format!("{indent}{}", file.name));
        }
        if files.len() > SKETCH_FILES {
            lines.push(format!("{indent}… ({} more files)", files.len() - SKETCH_FILES));
        }
    }

    fn first_file(&self) -> Option<String> {
        let entries = self.read_dir(&WorkspacePath::from_parts([])).ok()?;
        entries.into_iter().find(|entry| !entry.folder).map(|entry| entry.name)
    }

    /// Where a path really leads inside the workspace: the nearest part that exists is resolved, the rest is appended.
    ///
    /// # Errors
    /// When a link on the way leads out, or into the tickets.
    pub fn resolve(&self, path: &WorkspacePath) -> Result<PathBuf, Refusal> {
        let mut rest = Vec::new();
        let mut existing = path.as_path();
        let mut real = loop {
            match self.folder.canonicalize(existing) {
                Ok(real) => break real,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => match existing.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => {
                        rest.extend(existing.file_name());
                        existing = parent;
                    }
                    _ => {
                        rest.extend(existing.file_name());
                        break PathBuf::new();
                    }
                },
                Err(error) => return Err(Refusal::from_io("open", path.as_str(), &error)),
            }
        };
        real.extend(rest.into_iter().rev());
        path::not_tickets(&parts(&real), path.as_str())?;
        Ok(real)
    }
}

/// Does something by way of a temporary file of this name, which does not stay behind when it fails.
fn via_temporary(folder: &Dir, attempt: impl FnOnce(&str) -> std::io::Result<()>) -> std::io::Result<()> {
    let temporary = format!(".marvin-{}", marvin_base::ids::short(12));
    attempt(&temporary).inspect_err(|_| {
        // The failed attempt is what matters; a leftover temporary file is only untidy.
        folder.remove_file(&temporary).ok();
    })
}

fn write_new(folder: &Dir, name: &str, bytes: &[u8]) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = folder.open_with(name, &options)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Gives a file another name, unless something has that name already.
fn name_new(folder: &Dir, from: &str, to: &str) -> std::io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // A file system that cannot rename so (NFS) can link.
        Err(Errno::INVAL | Errno::NOSYS) => {
            folder.hard_link(from, folder, to).and_then(|()| folder.remove_file(from))
        }
        result => result.map_err(std::io::Error::from),
    }
}

/// The plain parts of a relative path; one that is not UTF-8 cannot be a name that matters.
fn parts(path: &Path) -> Vec<&str> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_str().unwrap_or("?")),
            _ => None,
        })
        .collect()
}

fn regular(file: &File, path: &WorkspacePath) -> Result<(), Refusal> {
    match file.metadata() {
        Ok(facts) if facts.is_file() => Ok(()),
        Ok(_) => Err(not_regular(path)),
        Err(error) => Err(Refusal::from_io("look at", path.as_str(), &error)),
    }
}

fn not_regular(path: &WorkspacePath) -> Refusal {
    Refusal::new(
        RefusalKind::NotRegular,
        format!("`{path}` is not a regular file (a folder, a pipe or a device)"),
        "Name a regular file; the tree tool lists what is there.",
    )
}
