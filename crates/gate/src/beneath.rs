//! Opening what lies beneath a directory, without following a single link.
//!
//! Most paths have no link on their way, and for those one call of the operating system (`openat2`) both resolves and
//! guards: what it opens lies exactly where the text says. Where the kernel has no such call, or a filter hides it, the
//! path is walked part by part, each part opened beneath the one before, which is slower and says the same.
//!
//! What is mounted beneath the directory is not of it: a mount can show any other place. The walk knows a mount by its
//! device, so there another place of the same device is not noticed.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, statat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once the kernel has said that it does not know `openat2`.
static MISSING: AtomicBool = AtomicBool::new(false);

/// Flags for a file that may be a pipe or a terminal: without waiting, without becoming its owner.
pub(crate) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
/// Flags for a directory.
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
/// Flags for a handle that does not open the file.
pub(crate) const HOLD: OFlags = OFlags::PATH;

/// Opens `path`, which is relative and has no `..`, beneath `directory`. A link anywhere on the way is [`Errno::LOOP`], a
/// mount is [`Errno::XDEV`].
pub(crate) fn open(directory: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    if !MISSING.load(Ordering::Relaxed) {
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        match openat2(directory, path, flags, Mode::empty(), resolve) {
            Err(Errno::NOSYS) => MISSING.store(true, Ordering::Relaxed),
            // A filter on system calls says one of these; the walk finds out what is true.
            Err(Errno::PERM | Errno::AGAIN) => {}
            result => return result,
        }
    }
    walk(directory, path, flags)
}

/// The same, part by part.
fn walk(directory: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::ParentDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    let Some((last, way)) = parts.split_last() else {
        return openat(directory, ".", flags | OFlags::NOFOLLOW, Mode::empty());
    };
    let device = fstat(directory)?.st_dev;
    let same = |opened: &OwnedFd| match fstat(opened)? {
        facts if facts.st_dev == device => Ok(facts),
        _ => Err(Errno::XDEV),
    };
    let mut held: Option<OwnedFd> = None;
    for name in way {
        let here = held.as_ref().map_or(directory, AsFd::as_fd);
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = openat(here, *name, step, Mode::empty()).map_err(|error| {
            let link = statat(here, *name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode).is_symlink());
            if error == Errno::NOTDIR && link { Errno::LOOP } else { error }
        })?;
        same(&next)?;
        held = Some(next);
    }
    let here = held.as_ref().map_or(directory, AsFd::as_fd);
    let opened = openat(here, *last, flags | OFlags::NOFOLLOW, Mode::empty())?;
    // A held place may be the link itself.
    let link = FileType::from_raw_mode(same(&opened)?.st_mode).is_symlink();
    if flags.contains(OFlags::PATH) && link { Err(Errno::LOOP) } else { Ok(opened) }
}

/// Is it certain that a path from the root has no link on its way, as far as there is something? Asked by one call.
pub(crate) fn has_no_links(path: &Path) -> bool {
    let plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    if !plain || MISSING.load(Ordering::Relaxed) {
        return false;
    }
    match openat2(rustix::fs::CWD, path, HOLD | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => true,
        Err(Errno::NOSYS) => {
            MISSING.store(true, Ordering::Relaxed);
            false
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Both ways give the same answer, so that a kernel without `openat2` is not a hole.
    #[test]
    fn the_walk_says_the_same_as_the_kernel() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/b/file"), "x").unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("a/b/file", root.join("file-link")).unwrap();
        symlink("/etc", root.join("out")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let handle = std::fs::File::open(root).unwrap();
        for path in [
            ".",
            "a",
            "a/b",
            "a/b/file",
            "./a//b/./file",
            "link",
            "link/b",
            "link/b/file",
            "file-link",
            "out",
            "out/passwd",
            "dangling",
            "loop",
            "loop/x",
            "missing",
            "a/missing/x",
            "a/b/file/x",
            "..",
            "a/../..",
            "/etc/passwd",
            "a/b/\0",
        ] {
            for flags in [READ, DIRECTORY, HOLD] {
                let flags = flags | OFlags::CLOEXEC;
                let fast = open(handle.as_fd(), Path::new(path), flags).map(|_| ());
                let slow = walk(handle.as_fd(), Path::new(path), flags).map(|_| ());
                // `a/../..` may be found out at either `..`; all that matters is that it is refused.
                if path.contains("..") || path.starts_with('/') {
                    assert!(fast.is_err() && slow.is_err(), "{path}: {fast:?} {slow:?}");
                } else {
                    let same = fast == slow
                        // A link that must be a directory is a link to one call and no directory to the other.
                        || (flags.contains(OFlags::DIRECTORY)
                            && matches!((fast, slow), (Err(Errno::LOOP), Err(Errno::NOTDIR))));
                    assert!(same, "{path} {flags:?}: {fast:?} {slow:?}");
                }
            }
        }
        assert!(open(handle.as_fd(), Path::new("out/passwd"), READ).is_err_and(|error| error == Errno::LOOP));
    }
}
