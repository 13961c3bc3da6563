//! Files by their names beneath the open directory of a workspace: a link on the way leads nowhere.
//!
//! A command that has ended may have left links where directories were. What is read, removed or written here lies where
//! its name says, or is left alone. Directories that it closed to their owner are opened for the moment. Places outside of the workspace, such as the repository of a linked worktree, are
//! named by the person's own files and are opened as they are.

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions, OpenOptionsExt, Permissions};
use marvin_base::{atomic, beneath};
use rustix::fs::{AtFlags, OFlags, fstat, statat, symlinkat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Not through a link, and without waiting for the other end of a pipe.
const NO_LINK: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;

/// The rights of an owner.
const OWNER: u32 = 0o700;

/// The open directory of a workspace.
#[derive(Debug)]
pub(super) struct HeldRoot {
    path: PathBuf,
    handle: Option<OwnedFd>,
}

impl HeldRoot {
    pub(super) fn open(path: &Path) -> Self {
        let handle = std::fs::File::open(path).ok().map(OwnedFd::from);
        HeldRoot { path: path.to_path_buf(), handle }
    }

    /// What is at a path, links not followed.
    pub(super) fn facts(&self, path: &Path) -> Option<Metadata> {
        if self.is_absent(path) {
            return None;
        }
        let look = || {
            let (directory, name) = self.parent(path)?;
            directory.symlink_metadata(name)
        };
        self.with_access(path, look).ok()
    }

    /// Whether the first name of a path is not there: one call, and most places that are looked at are not.
    fn is_absent(&self, path: &Path) -> bool {
        let first = path.strip_prefix(&self.path).ok().and_then(|inner| inner.components().next());
        let (Some(handle), Some(Component::Normal(name))) = (&self.handle, first) else { return false };
        matches!(statat(handle, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
    }

    /// Does something at a path; where a directory on the way denies it to its owner, once more with that directory open.
    fn with_access<T>(&self, path: &Path, work: impl Fn() -> Result<T>) -> Result<T> {
        let first = work();
        if !first.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            return first;
        }
        let opened = self.open_directories(path);
        let second = work();
        for (handle, mode) in opened.iter().rev() {
            set_mode(handle, *mode).ok();
        }
        second
    }

    /// Gives the owner all rights to the directories of a path that lack some; returns them with the modes that they had.
    fn open_directories(&self, path: &Path) -> Vec<(OwnedFd, u32)> {
        let Ok(inner) = path.strip_prefix(&self.path) else { return Vec::new() };
        let mut opened = Vec::new();
        let mut ways: Vec<&Path> = inner.ancestors().collect();
        ways.reverse();
        for way in ways {
            let Some(root) = &self.handle else { break };
            let way = if way.as_os_str().is_empty() { Path::new(".") } else { way };
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(handle) = beneath::open(root.as_fd(), way, flags) else { break };
            let Ok(facts) = fstat(&handle) else { break };
            let mode = facts.st_mode & 0o7777;
            if mode & OWNER != OWNER
                && facts.st_uid == rustix::process::geteuid().as_raw()
                && set_mode(&handle, mode | OWNER).is_ok()
            {
                opened.push((handle, mode));
            }
        }
        opened
    }

    /// Gives the owner all rights to a directory, for good.
    pub(super) fn open_for_good(&self, path: &Path) {
        self.open_directories(path);
    }

    /// The outermost link among the directories of a path.
    pub(super) fn link_on_way(&self, path: &Path) -> Option<PathBuf> {
        let inner = path.strip_prefix(&self.path).ok()?;
        let mut ways: Vec<&Path> = inner.ancestors().skip(1).collect();
        ways.reverse();
        let mut ways =
            ways.into_iter().filter(|way| !way.as_os_str().is_empty()).map(|way| self.path.join(way));
        ways.find(|way| self.facts(way).is_some_and(|facts| facts.is_symlink()))
    }

    /// The entries of a directory, at most so many.
    pub(super) fn entries(&self, path: &Path, most: usize) -> Vec<PathBuf> {
        let list = || {
            let entries = self.directory(path)?.entries()?.flatten();
            Ok(entries.take(most).map(|entry| path.join(entry.file_name())).collect())
        };
        self.with_access(path, list).unwrap_or_default()
    }

    /// The bytes of a regular file.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.with_access(path, || {
            let (directory, name) = self.parent(path)?;
            let mut file = directory.open_with(name, OpenOptions::new().read(true).custom_flags(NO_LINK))?;
            if !file.metadata()?.is_file() {
                return Err(ErrorKind::InvalidInput.into());
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    /// The target of a link.
    pub(super) fn read_link(&self, path: &Path) -> Result<PathBuf> {
        self.with_access(path, || {
            let (directory, name) = self.parent(path)?;
            directory.read_link_contents(name)
        })
    }

    /// Removes a file or link.
    pub(super) fn remove(&self, path: &Path) -> Result<()> {
        self.with_access(path, || {
            let (directory, name) = self.parent(path)?;
            Ok(unlinkat(&directory, name, AtFlags::empty())?)
        })
    }

    /// Moves a directory away, as far as that is possible by a change of names.
    pub(super) fn move_directory(&self, path: &Path, to: &Path) -> Result<()> {
        self.with_access(path, || {
            let (directory, name) = self.parent(path)?;
            let (parent, own) = to.parent().zip(to.file_name()).ok_or(ErrorKind::InvalidInput)?;
            directory.rename(name, &Dir::open_ambient_dir(parent, ambient_authority())?, own)
        })
    }

    /// Puts a file in its place, whatever is there, with the directories on its way.
    pub(super) fn replace(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
        self.with_access(path, || {
            let (directory, name) = self.made_parent(path)?;
            let temporary = atomic::temporary_name();
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).custom_flags(NO_LINK);
            let written = directory.open_with(&temporary, &options).and_then(|mut file| {
                use std::os::unix::fs::PermissionsExt;
                file.write_all(bytes)?;
                let mode = std::fs::Permissions::from_mode(mode & 0o7777);
                file.set_permissions(Permissions::from_std(mode))
            });
            let placed = written.and_then(|()| {
                clear_directory(&directory, name)?;
                directory.rename(&temporary, &directory, name)
            });
            if placed.is_err() {
                directory.remove_file(&temporary).ok();
            }
            placed
        })
    }

    /// Puts a link in its place.
    pub(super) fn link(&self, path: &Path, target: &Path) -> Result<()> {
        self.with_access(path, || {
            let (directory, name) = self.made_parent(path)?;
            clear_directory(&directory, name)?;
            unlinkat(&directory, name, AtFlags::empty()).ok();
            Ok(symlinkat(target, &directory, name)?)
        })
    }

    fn directory(&self, path: &Path) -> Result<Dir> {
        let Ok(inner) = path.strip_prefix(&self.path) else {
            return Dir::open_ambient_dir(path, ambient_authority());
        };
        let inner = if inner.as_os_str().is_empty() { Path::new(".") } else { inner };
        let handle = self.handle.as_ref().ok_or(ErrorKind::NotFound)?;
        let opened = beneath::open(handle.as_fd(), inner, beneath::DIRECTORY)?;
        Ok(Dir::from_std_file(std::fs::File::from(opened)))
    }

    /// The directory that a path lies in, and its name there.
    fn parent<'a>(&self, path: &'a Path) -> Result<(Dir, &'a OsStr)> {
        let (parent, name) = path.parent().zip(path.file_name()).ok_or(ErrorKind::InvalidInput)?;
        Ok((self.directory(parent)?, name))
    }

    /// The same; directories that are missing are made, and links and files in their places give way.
    fn made_parent<'a>(&self, path: &'a Path) -> Result<(Dir, &'a OsStr)> {
        let (parent, name) = path.parent().zip(path.file_name()).ok_or(ErrorKind::InvalidInput)?;
        if let Ok(directory) = self.directory(parent) {
            return Ok((directory, name));
        }
        if !parent.starts_with(&self.path) || parent == self.path {
            return Err(Error::from(ErrorKind::NotFound));
        }
        let (above, own) = self.made_parent(parent)?;
        if above.symlink_metadata(own).is_ok_and(|facts| !facts.is_dir()) {
            unlinkat(&above, own, AtFlags::empty())?;
        }
        above.create_dir(own)?;
        Ok((self.directory(parent)?, name))
    }
}

/// Sets the mode of an open directory, also of one that was opened without rights to it.
fn set_mode(handle: &OwnedFd, mode: u32) -> Result<()> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;
    let place = format!("/proc/self/fd/{}", handle.as_raw_fd());
    std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode))
}

/// Removes a directory that stands in the place of a file.
fn clear_directory(directory: &Dir, name: &OsStr) -> Result<()> {
    match directory.symlink_metadata(name) {
        Ok(facts) if facts.is_dir() => directory.remove_dir_all(name),
        _ => Ok(()),
    }
}
