//! Writing: one file or several, all of them or none.
//!
//! Every new text is first written beside its place under another name. Only when all of them lie there are they put in
//! place, one rename each; when one of these fails, the others are put back as they were: the same files, not copies of
//! them. Directories that were made on the way go again too. A reader sees the old text or the new, never a mixture.
//!
//! Each step works in an open handle of a directory, opened by a path that has no links and was judged. So a directory swapped
//! for a link at the last moment leads neither out nor into a closed place.
//!
//! Limits: a process that is killed between two renames leaves some files old and some new, with the temporary ones
//! (`.marvin-…`) beside them. A run that is resumed removes those ([`Workspace::remove_temporary_files`]).

use crate::path::{self, WorkspacePath};
use crate::refusal::{Refusal, RefusalKind};
use crate::workspace::{Workspace, not_regular, parts};
use cap_std::fs::{Dir, OpenOptions, Permissions};
use marvin_base::atomic::{is_temporary_name, temporary_name};
use marvin_base::beneath;
use rustix::fs::{Mode, RenameFlags, mkdirat, renameat_with};
use rustix::io::Errno;
use std::io::{Error, ErrorKind, Read, Result as IoResult, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is made, with the directories on its way; it must not exist yet.
    Create {
        /// Which.
        path: WorkspacePath,
        /// With these bytes.
        bytes: Vec<u8>,
        /// As executable and readable as this file of the workspace.
        like: Option<WorkspacePath>,
    },
    /// It is replaced; it must be a regular file. Its mode is kept.
    Replace {
        /// Which.
        path: WorkspacePath,
        /// By these bytes.
        bytes: Vec<u8>,
        /// If it still holds these.
        expected: Option<Vec<u8>>,
    },
    /// It is deleted; it must be a regular file.
    Remove {
        /// Which.
        path: WorkspacePath,
        /// If it still holds these bytes.
        expected: Option<Vec<u8>>,
    },
}

impl Change {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &WorkspacePath {
        match self {
            Change::Create { path, .. } | Change::Replace { path, .. } | Change::Remove { path, .. } => path,
        }
    }

    fn verb(&self) -> &'static str {
        match self {
            Change::Create { .. } => "create",
            Change::Replace { .. } => "write",
            Change::Remove { .. } => "delete",
        }
    }
}

/// A change that is ready to be put in place.
struct StagedChange<'a> {
    change: &'a Change,
    directory: Dir,
    /// The new text before, the old one after; of a deletion only the latter.
    temporary: String,
}

/// Bytes of a file with a second name that is copied in order to be appended to.
const MAX_APPEND_COPY_BYTES: u64 = 64 * 1024 * 1024;

impl Workspace {
    /// Makes all changes, or none. No file may be named twice.
    ///
    /// # Errors
    /// Which change could not be made, and why. Then everything is as it was; where that could not be brought about, the
    /// refusal says so.
    pub fn change(&self, changes: &[Change]) -> Result<(), Refusal> {
        let mut made = Vec::new();
        let mut staged = Vec::new();
        let outcome = changes
            .iter()
            .try_for_each(|change| self.stage(change, &mut made).map(|ready| staged.push(ready)))
            .and_then(|()| commit(&staged));
        // What is left under the temporary names is the new text of a failure or the old text of a success.
        for ready in &staged {
            ready.directory.remove_file(&ready.temporary).ok();
        }
        if outcome.is_err() {
            self.unmake_directories(&made);
        }
        outcome
    }

    /// Makes a file that must not exist yet, and the directories on its way. It appears with all of its text or not at all.
    ///
    /// # Errors
    /// When it exists, the place is closed, or a link on the way leads out.
    pub fn create_new(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), Refusal> {
        self.change(&[Change::Create { path: path.clone(), bytes: bytes.to_vec(), like: None }])
    }

    /// Replaces a file as a whole: readers see the old text or the new, never a mixture. The mode is kept.
    ///
    /// # Errors
    /// When it is not a regular file, or the place is closed.
    pub fn replace(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), Refusal> {
        self.change(&[Change::Replace { path: path.clone(), bytes: bytes.to_vec(), expected: None }])
    }

    /// Deletes a regular file.
    ///
    /// # Errors
    /// When it is not a regular file, or the place is closed.
    pub fn remove(&self, path: &WorkspacePath) -> Result<(), Refusal> {
        self.change(&[Change::Remove { path: path.clone(), expected: None }])
    }

    /// Makes a directory, with those on its way. One that exists is left as it is.
    ///
    /// # Errors
    /// When a file stands in its place, the place is closed, or a link on the way leads out.
    pub fn make_directory(&self, path: &WorkspacePath) -> Result<(), Refusal> {
        let real = self.place_to_write(path)?;
        let mut made = Vec::new();
        let fail = |error: Error| Refusal::from_io("make", path.as_str(), &error);
        let outcome = self
            .make_directories(&real, &mut made)
            .and_then(|()| Ok(beneath::open(self.directory().as_fd(), &real, beneath::DIRECTORY)?));
        if outcome.is_err() {
            self.unmake_directories(&made);
        }
        outcome.map(drop).map_err(fail)
    }

    /// Appends to a regular file that must exist.
    ///
    /// # Errors
    /// When it does not exist, is not a regular file, or the place is closed.
    pub fn append(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<(), Refusal> {
        use cap_std::fs::OpenOptionsExt;
        let real = self.place_to_write(path)?;
        let fail = |error| Refusal::from_io("append to", path.as_str(), &error);
        let directory = self.directory_of(&real).map_err(fail)?;
        let mut options = OpenOptions::new();
        options.append(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW);
        let mut file = directory.open_with(path.name(), &options).map_err(fail)?;
        let facts = file.metadata().map_err(fail)?;
        if !facts.is_file() {
            return Err(not_regular(path));
        }
        // A file with a second name may belong to another directory too: it is replaced, not written through.
        if cap_std::fs::MetadataExt::nlink(&facts) > 1 {
            let mut whole = self.read_bytes(path, MAX_APPEND_COPY_BYTES)?;
            whole.extend_from_slice(bytes);
            return self.replace(path, &whole);
        }
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(fail)
    }

    /// Removes temporary files that killed processes left in the workspace; returns their number. What cannot be read or
    /// removed stays. No process may write to the workspace meanwhile.
    #[must_use]
    pub fn remove_temporary_files(&self) -> usize {
        remove_temporary_files(self.directory())
    }

    /// Writes the new text beside its place, and looks whether the place is as the change needs it.
    fn stage<'a>(&self, change: &'a Change, made: &mut Vec<PathBuf>) -> Result<StagedChange<'a>, Refusal> {
        let path = change.path();
        let real = self.place_to_write(path)?;
        let fail = |error| Refusal::from_io(change.verb(), path.as_str(), &error);
        if let (Change::Create { .. }, Some(parent)) = (change, real.parent()) {
            self.make_directories(parent, made).map_err(fail)?;
        }
        let directory = self.directory_of(&real).map_err(fail)?;
        let temporary = temporary_name();
        let there = directory.symlink_metadata(path.name());
        let mode = match (change, there) {
            (Change::Create { .. }, Ok(_)) => return Err(fail(ErrorKind::AlreadyExists.into())),
            (Change::Create { like, .. }, Err(_)) => match like {
                None => None,
                Some(like) => Some(Permissions::from_std(self.metadata(like)?.permissions())),
            },
            (_, Ok(facts)) if facts.is_file() => Some(facts.permissions()),
            (_, Ok(_)) => return Err(not_regular(path)),
            (_, Err(error)) => return Err(fail(error)),
        };
        if let Change::Create { bytes, .. } | Change::Replace { bytes, .. } = change {
            write_new(&directory, &temporary, bytes, mode).map_err(|error| {
                directory.remove_file(&temporary).ok();
                fail(error)
            })?;
        }
        Ok(StagedChange { change, directory, temporary })
    }

    /// Takes back [`Workspace::make_directories`]. A directory in which something was put meanwhile stays.
    fn unmake_directories(&self, made: &[PathBuf]) {
        for directory in made.iter().rev() {
            if let (Ok(parent), Some(name)) = (self.directory_of(directory), directory.file_name()) {
                parent.remove_dir(name).ok();
            }
        }
    }

    /// The path without links on its way, judged for writing.
    fn place_to_write(&self, path: &WorkspacePath) -> Result<PathBuf, Refusal> {
        self.writable(path)?;
        let real = self.resolve(path)?;
        path::open_for_writing(&parts(&real), path.as_str())?;
        Ok(real)
    }

    /// Makes the directories of a path that are missing, outermost first, and notes each.
    fn make_directories(&self, path: &Path, made: &mut Vec<PathBuf>) -> IoResult<()> {
        let root = self.directory().as_fd();
        if path.as_os_str().is_empty() || beneath::open(root, path, beneath::DIRECTORY).is_ok() {
            return Ok(());
        }
        let (Some(name), parent) = (path.file_name(), path.parent().unwrap_or(Path::new(""))) else {
            return Ok(());
        };
        self.make_directories(parent, made)?;
        let parent = beneath::open(root, or_here(parent), beneath::DIRECTORY)?;
        match mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => made.push(path.to_path_buf()),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// An open handle of the directory that a path without links lies in.
    fn directory_of(&self, real: &Path) -> IoResult<Dir> {
        let parent = or_here(real.parent().unwrap_or(Path::new("")));
        let handle = beneath::open(self.directory().as_fd(), parent, beneath::DIRECTORY)?;
        Ok(Dir::from_std_file(std::fs::File::from(handle)))
    }
}

fn remove_temporary_files(directory: &Dir) -> usize {
    let entries = directory.entries().into_iter().flatten().flatten();
    let removed = entries.map(|entry| {
        let name = entry.file_name();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && name != ".git" => {
                entry.open_dir().map_or(0, |inner| remove_temporary_files(&inner))
            }
            Ok(kind) if kind.is_file() && name.to_str().is_some_and(is_temporary_name) => {
                usize::from(entry.remove_file().is_ok())
            }
            _ => 0,
        }
    });
    removed.sum()
}

/// The path, or `.` for the empty one.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Puts every change in its place; at the first that fails, puts the ones before it back.
fn commit(staged: &[StagedChange<'_>]) -> Result<(), Refusal> {
    for (done, ready) in staged.iter().enumerate() {
        let Err(failure) = ready.commit() else { continue };
        let lost: Vec<String> = staged
            .iter()
            .take(done)
            .rev()
            .filter_map(|ready| {
                ready.undo().err().map(|error| format!("`{}` ({error})", ready.change.path()))
            })
            .collect();
        return Err(match lost.as_slice() {
            [] => failure,
            _ => Refusal {
                reason: format!(
                    "{}; and what was changed before it could not be put back: {}",
                    failure.reason,
                    lost.join(", ")
                ),
                ..failure
            },
        });
    }
    Ok(())
}

impl StagedChange<'_> {
    fn commit(&self) -> Result<(), Refusal> {
        let path = self.change.path();
        let fail = |error| Refusal::from_io(self.change.verb(), path.as_str(), &error);
        let expected = match self.change {
            Change::Create { .. } => {
                return name_new(&self.directory, &self.temporary, path.name()).map_err(fail);
            }
            Change::Replace { expected, .. } => {
                exchange(&self.directory, &self.temporary, path.name()).map_err(fail)?;
                expected
            }
            Change::Remove { expected, .. } => {
                name_new(&self.directory, path.name(), &self.temporary).map_err(fail)?;
                expected
            }
        };
        // What was there is now under the temporary name, where no other process writes it.
        let Err(refusal) = self.is_expected(expected.as_deref()) else { return Ok(()) };
        match self.undo() {
            Ok(()) => Err(refusal),
            Err(error) => Err(fail(error)),
        }
    }

    fn is_expected(&self, expected: Option<&[u8]>) -> Result<(), Refusal> {
        let path = self.change.path();
        let fail = |error| Refusal::from_io(self.change.verb(), path.as_str(), &error);
        if !self.directory.symlink_metadata(&self.temporary).map_err(fail)?.is_file() {
            return Err(not_regular(path));
        }
        let Some(expected) = expected else { return Ok(()) };
        let mut found = Vec::new();
        let file = self.directory.open(&self.temporary).map_err(fail)?;
        file.take(expected.len() as u64 + 1).read_to_end(&mut found).map_err(fail)?;
        if found == expected {
            return Ok(());
        }
        Err(Refusal::new(
            RefusalKind::System,
            format!("cannot {} `{path}`: another process changed it meanwhile", self.change.verb()),
            "Read it again, then make the change anew.",
        ))
    }

    /// Puts back what was there.
    fn undo(&self) -> IoResult<()> {
        let name = self.change.path().name();
        match self.change {
            Change::Create { .. } => self.directory.remove_file(name),
            Change::Replace { .. } => exchange(&self.directory, &self.temporary, name),
            Change::Remove { .. } => name_new(&self.directory, &self.temporary, name),
        }
    }
}

fn write_new(directory: &Dir, name: &str, bytes: &[u8], mode: Option<Permissions>) -> IoResult<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = directory.open_with(name, &options)?;
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        file.set_permissions(mode)?;
    }
    file.sync_all()
}

/// Gives a file another name, unless something has that name already.
fn name_new(directory: &Dir, from: &str, to: &str) -> IoResult<()> {
    match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        // A file system that cannot rename so (NFS) can link.
        Err(Errno::INVAL | Errno::NOSYS) => {
            directory.hard_link(from, directory, to).and_then(|()| directory.remove_file(from))
        }
        result => result.map_err(Error::from),
    }
}

/// Lets two files change names.
fn exchange(directory: &Dir, one: &str, other: &str) -> IoResult<()> {
    match renameat_with(directory, one, directory, other, RenameFlags::EXCHANGE) {
        // A file system that cannot do this at once does it in three steps.
        Err(Errno::INVAL | Errno::NOSYS) => {
            let third = temporary_name();
            directory.rename(other, directory, &third)?;
            directory
                .rename(one, directory, other)
                .inspect_err(|_| drop(directory.rename(&third, directory, other)))
                .and_then(|()| directory.rename(&third, directory, one))
        }
        result => result.map_err(Error::from),
    }
}
