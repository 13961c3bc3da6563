//! The one directory that an agent works in.
//!
//! A [`Workspace`] holds an open handle of its directory, and every path is resolved beneath that handle by the operating
//! system (`openat2` with `RESOLVE_BENEATH` where the kernel has it). So a symbolic link that leads out, or a directory that
//! is swapped for one between check and use, is refused at the moment of opening; no string comparison is trusted for it.
//!
//! A path without links lies where its text says, and opening follows none ([`marvin_base::beneath`]). Where there is a link on
//! the way, it is first looked up where it leads; that place is judged, and then opened as a path without links. So no
//! link leads out, or into a closed place, however fast it is swapped. Writing is in [`crate::change`].
//!
//! What is mounted inside the workspace is not of it. Limit: a hard link is the file itself; one that was made inside the
//! workspace to a file outside cannot be told from any other file.

mod tickets;

pub use tickets::DirectoryLock;

use crate::path::{self, WorkspacePath};
use crate::refusal::{Refusal, RefusalKind};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use marvin_base::beneath;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Bounds of the small tree in refusals.
const SKETCH_ENTRIES: usize = 40;
const SKETCH_FILES: usize = 10;
const SKETCH_DEPTH: usize = 2;

/// An open workspace.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    directory: Dir,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name; bytes that are not UTF-8 become `�`.
    pub name: String,
    /// Whether it is a directory (links are not followed).
    pub directory: bool,
}

/// One entry of a directory of a walk.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: OsString,
    /// Its kind.
    pub kind: DirectoryEntryKind,
}

/// The kind of a directory entry; links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DirectoryEntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, a device, a socket.
    Other,
}

impl Workspace {
    /// Opens a directory as workspace.
    ///
    /// # Errors
    /// When it is missing, not a directory, the root of the file system, or the home directory itself.
    pub fn open(path: &Path, home: &Path) -> Result<Self, Refusal> {
        let refuse = |reason: String, hint: &str| Refusal::new(RefusalKind::Workspace, reason, hint);
        let root = path.canonicalize().map_err(|error| {
            refuse(
                format!("the working directory {} cannot be used: {error}", path.display()),
                "Name a directory that exists, or make it first.",
            )
        })?;
        if !root.is_dir() {
            return Err(refuse(
                format!("the working directory {} is not a directory", path.display()),
                "Name the directory that holds the file.",
            ));
        }
        if root.parent().is_none() {
            return Err(refuse(
                "the root of the file system cannot be the working directory".into(),
                "Name the directory of the project.",
            ));
        }
        let home = home.canonicalize().ok();
        if home.as_ref() == Some(&root) {
            return Err(refuse(
                format!("the home directory {} itself cannot be the working directory", root.display()),
                "Name the directory of a project inside it.",
            ));
        }
        if home.is_some_and(|home| home.starts_with(&root)) {
            return Err(refuse(
                format!("{} holds the home directory, so it cannot be the working directory", root.display()),
                "Name the directory of a project.",
            ));
        }
        let directory = Dir::open_ambient_dir(&root, ambient_authority())
            .map_err(|error| Refusal::from_io("open", &root.display().to_string(), &error))?;
        Ok(Workspace { root, directory })
    }

    /// A directory inside the workspace, made if missing, as a workspace of its own (for notes).
    ///
    /// # Errors
    /// When it cannot be made, or any part of the way is a link: the inner workspace would not know where it lies.
    pub fn inner(&self, path: &WorkspacePath) -> Result<Workspace, Refusal> {
        let fail = |error| Refusal::from_io("open", path.as_str(), &error);
        for part in path.as_path().ancestors().filter(|part| !part.as_os_str().is_empty()) {
            if self.directory.symlink_metadata(part).is_ok_and(|facts| facts.is_symlink()) {
                return Err(Refusal::new(
                    RefusalKind::Link,
                    format!("cannot open `{path}`: `{}` is a symbolic link", part.display()),
                    "Tell the person: this must be a directory, not a link.",
                ));
            }
        }
        self.directory.create_dir_all(path.as_path()).map_err(fail)?;
        let directory = self.open_as("open", path, beneath::DIRECTORY)?;
        Ok(Workspace {
            root: self.root.join(path.as_path()),
            directory: Dir::from_std_file(File::from(directory)),
        })
    }

    /// The directory, canonical.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The open handle.
    pub(crate) fn directory(&self) -> &Dir {
        &self.directory
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
            }
            self.explain(refusal)
        })
    }

    /// The refusal with the working directory in it, where it does not say it yet.
    #[must_use]
    pub fn explain(&self, mut refusal: Refusal) -> Refusal {
        let root = self.root.display().to_string();
        if !refusal.how_to_fix.contains(&root) {
            refusal.how_to_fix = format!("{}\nWorking directory: {root}", refusal.how_to_fix);
        }
        refusal
    }

    /// Whether tools may write there at all (whatever the agent's access). Returns where the path leads.
    ///
    /// # Errors
    /// For the record, upstream documents, `.git`, and links that lead there.
    pub fn writable(&self, path: &WorkspacePath) -> Result<PathBuf, Refusal> {
        path::open_for_writing(&parts(path.as_path()), path.as_str())?;
        let real = self.resolve(path)?;
        path::open_for_writing(&parts(&real), path.as_str())?;
        match self.directory.symlink_metadata(path.as_path()) {
            Ok(facts) if facts.is_symlink() => Err(Refusal::new(
                RefusalKind::Link,
                format!("cannot write `{path}`: it is a symbolic link"),
                format!("Write the file that it leads to: `{}`.", real.display()),
            )),
            _ => Ok(real),
        }
    }

    /// Opens a regular file for reading. Pipes, devices and sockets are refused, and never waited for.
    ///
    /// # Errors
    /// When the file does not exist, it is not a regular one, or a link on the way leads out.
    pub fn open_read(&self, path: &WorkspacePath) -> Result<File, Refusal> {
        self.open_sized(path).map(|(file, _)| file)
    }

    /// The same, with its size.
    fn open_sized(&self, path: &WorkspacePath) -> Result<(File, u64), Refusal> {
        let file = File::from(self.open_as("read", path, beneath::READ)?);
        let facts = rustix::fs::fstat(&file)
            .map_err(|error| Refusal::from_io("read", path.as_str(), &error.into()))?;
        if FileType::from_raw_mode(facts.st_mode).is_file() {
            Ok((file, u64::try_from(facts.st_size).unwrap_or(0)))
        } else {
            Err(not_regular(path))
        }
    }

    /// Opens whatever a path leads to inside the workspace.
    fn open_as(&self, doing: &str, path: &WorkspacePath, flags: OFlags) -> Result<OwnedFd, Refusal> {
        let opened = match beneath::open(self.directory.as_fd(), path.as_path(), flags) {
            Err(Errno::LOOP) => {
                let real = self.resolve(path)?;
                let real = if real.as_os_str().is_empty() { Path::new(".") } else { &real };
                beneath::open(self.directory.as_fd(), real, flags)
            }
            opened => opened,
        };
        opened.map_err(|error| Refusal::from_io(doing, path.as_str(), &error.into()))
    }

    /// Opens a regular file of a walk for reading, if there is one and no link is on the way. For many files: it takes two
    /// calls of the operating system, and what it refuses it does not explain.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn open_plain(&self, path: &Path) -> std::io::Result<(File, u64)> {
        let file = File::from(beneath::open(self.directory.as_fd(), path, beneath::READ)?);
        let facts = rustix::fs::fstat(&file)?;
        if !FileType::from_raw_mode(facts.st_mode).is_file() {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        Ok((file, u64::try_from(facts.st_size).unwrap_or(0)))
    }

    /// The entries of a directory of a walk, in no order, if no link is on the way.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn list_plain(&self, path: &Path) -> std::io::Result<Vec<DirectoryEntry>> {
        let directory = beneath::open(self.directory.as_fd(), path, beneath::DIRECTORY)?;
        list(&directory)
    }

    /// The text of a file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Workspace::open_read`], and when it is larger or not UTF-8.
    pub fn read_to_string(&self, path: &WorkspacePath, limit: u64) -> Result<String, Refusal> {
        let bytes = self.read_bytes(path, limit)?;
        String::from_utf8(bytes).map_err(|_| {
            Refusal::new(
                RefusalKind::NotText,
                format!("`{path}` is not UTF-8 text"),
                "This tool works on text files only.",
            )
        })
    }

    /// The bytes of a file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Workspace::open_read`], and when it is larger.
    pub fn read_bytes(&self, path: &WorkspacePath, limit: u64) -> Result<Vec<u8>, Refusal> {
        let (file, size) = self.open_sized(path)?;
        let fail = |error| Refusal::from_io("read", path.as_str(), &error);
        // Room for all of it and one more, so that one read gets it and sees the end.
        let expected = usize::try_from(size.min(limit)).unwrap_or(0);
        let mut bytes = Vec::with_capacity(expected.saturating_add(1));
        let at_once = rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes));
        if at_once.map_err(|error| fail(error.into()))? != expected {
            file.take(limit.saturating_add(1).saturating_sub(bytes.len() as u64))
                .read_to_end(&mut bytes)
                .map_err(fail)?;
        }
        if bytes.len() as u64 > limit {
            return Err(Refusal::new(
                RefusalKind::TooLarge,
                format!("`{path}` is larger than {limit} bytes"),
                "Search it with code_grep instead of reading it whole.",
            ));
        }
        Ok(bytes)
    }

    /// Size and kind of a file or directory.
    ///
    /// # Errors
    /// When there is none, or a link on the way leads out.
    pub fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, Refusal> {
        let held = self.open_as("look at", path, beneath::HOLD)?;
        File::from(held).metadata().map_err(|error| Refusal::from_io("look at", path.as_str(), &error))
    }

    /// The entries of a directory, by name.
    ///
    /// # Errors
    /// When it is not a directory, or a link on the way leads out.
    pub fn read_dir(&self, path: &WorkspacePath) -> Result<Vec<Entry>, Refusal> {
        let directory = self.open_as("list", path, beneath::DIRECTORY)?;
        let listed = list(&directory).map_err(|error| Refusal::from_io("list", path.as_str(), &error))?;
        let entry = |listed: DirectoryEntry| Entry {
            name: listed.name.to_string_lossy().into_owned(),
            directory: listed.kind == DirectoryEntryKind::Directory,
        };
        let mut entries: Vec<Entry> = listed.into_iter().map(entry).collect();
        entries.sort();
        Ok(entries)
    }

    /// Is there such a file or directory (a link that leads out counts as none)?
    #[must_use]
    pub fn exists(&self, path: &WorkspacePath) -> bool {
        self.metadata(path).is_ok()
    }

    /// Creates a new file for what a tool put out, with its directories; no link leads it out of the workspace.
    ///
    /// # Errors
    /// When it exists already, or cannot be created.
    pub fn create_output(&self, path: &Path) -> std::io::Result<File> {
        if let Some(parent) = path.parent() {
            self.directory.create_dir_all(parent)?;
        }
        let mut options = cap_std::fs::OpenOptions::new();
        self.directory.open_with(path, options.write(true).create_new(true)).map(cap_std::fs::File::into_std)
    }

    /// A small tree for orientation: depth 2, at most 40 entries, 10 files a directory, hidden directories left out.
    #[must_use]
    pub fn sketch(&self) -> String {
        let mut lines = Vec::new();
        self.sketch_directory(&WorkspacePath::from_parts([]), 1, &mut lines);
        if lines.len() > SKETCH_ENTRIES {
            lines.truncate(SKETCH_ENTRIES);
            lines.push("… (more)".into());
        }
        if lines.is_empty() { "(the directory is empty)".into() } else { lines.join("\n") }
    }

    fn sketch_directory(&self, path: &WorkspacePath, depth: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(depth - 1);
        let entries = self.read_dir(path).unwrap_or_default();
        let (directories, files): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().partition(|entry| entry.directory);
        for directory in
            directories.iter().filter(|entry| !entry.name.starts_with('.') || entry.name == ".marvin")
        {
            if lines.len() > SKETCH_ENTRIES {
                return;
            }
            lines.push(format!("{indent}{}/", directory.name));
            if depth < SKETCH_DEPTH {
                let inner =
                    path.as_str().split('/').filter(|part| *part != ".").chain([directory.name.as_str()]);
                self.sketch_directory(&WorkspacePath::from_parts(inner), depth + 1, lines);
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
        entries.into_iter().find(|entry| !entry.directory).map(|entry| entry.name)
    }

    /// As [`Workspace::resolve`], with what is there. Where no link is on the way, it is looked at once.
    pub(crate) fn resolve_with_metadata(
        &self,
        path: &WorkspacePath,
    ) -> (Result<PathBuf, Refusal>, Option<Metadata>) {
        if path.as_str() != "."
            && let Ok(held) = beneath::open(self.directory.as_fd(), path.as_path(), beneath::HOLD)
        {
            return (Ok(path.as_path().to_path_buf()), File::from(held).metadata().ok());
        }
        (self.resolve(path), self.metadata(path).ok())
    }

    /// Resolves a path inside the workspace: the nearest part that exists is resolved, the rest is appended.
    ///
    /// # Errors
    /// When a link on the way leads out, or into the tickets.
    pub fn resolve(&self, path: &WorkspacePath) -> Result<PathBuf, Refusal> {
        // Without a link on the way it lies where its text says, and the text was judged.
        match beneath::open(self.directory.as_fd(), path.as_path(), beneath::HOLD) {
            Ok(_) if path.as_str() == "." => return Ok(PathBuf::new()),
            Ok(_) => return Ok(path.as_path().to_path_buf()),
            Err(Errno::XDEV) => {
                return Err(Refusal::from_io("open", path.as_str(), &Errno::XDEV.into()));
            }
            Err(_) => {}
        }
        let mut rest = Vec::new();
        let mut existing = path.as_path();
        let mut real = loop {
            match self.directory.canonicalize(existing) {
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

/// The entries of an open directory, in no order.
fn list(directory: &OwnedFd) -> std::io::Result<Vec<DirectoryEntry>> {
    let mut listed = Vec::new();
    beneath::each_entry(directory, |name, kind| {
        let kind = match kind {
            // Some file systems do not say.
            FileType::Unknown => rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |facts| FileType::from_raw_mode(facts.st_mode)),
            kind => kind,
        };
        let kind = match kind {
            FileType::Directory => DirectoryEntryKind::Directory,
            FileType::RegularFile => DirectoryEntryKind::File,
            FileType::Symlink => DirectoryEntryKind::Link,
            _ => DirectoryEntryKind::Other,
        };
        listed.push(DirectoryEntry { name: name.to_os_string(), kind });
    })?;
    Ok(listed)
}

/// The plain parts of a relative path; one that is not UTF-8 cannot be a name that matters.
pub(crate) fn parts(path: &Path) -> Vec<&str> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_str().unwrap_or("?")),
            _ => None,
        })
        .collect()
}

pub(crate) fn not_regular(path: &WorkspacePath) -> Refusal {
    Refusal::new(
        RefusalKind::NotRegular,
        format!("`{path}` is not a regular file (a directory, a pipe or a device)"),
        "Name a regular file; the tree tool lists what is there.",
    )
}
