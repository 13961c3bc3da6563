//! Opening what lies beneath a directory, without following a single link.
//!
//! Most paths have no link on their way, and for those one call of the operating system (`openat2`) both resolves and
//! guards: what it opens lies exactly where the text says. Where the system has no such call, or a filter hides it, the
//! path is walked part by part, each part opened beneath the one before, which is slower and says the same.
//!
//! What is mounted beneath the directory is not of it: a mount can show any other place. The walk knows a mount by its
//! device, so there another place of the same device is not noticed.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod other;
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use other as platform;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

/// Flags for a file that may be a pipe or a terminal: without waiting, without becoming its owner.
pub const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
/// Flags for a directory.
pub const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Flags for a handle that does not open the file, where the system has such handles.
pub const HOLD: OFlags = platform::HOLD;

/// Opens `path`, which is relative and has no `..`, beneath `directory`.
///
/// # Errors
/// A link anywhere on the way is [`Errno::LOOP`], a mount is [`Errno::XDEV`].
pub fn open(directory: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    match platform::open_at_once(directory, path, flags) {
        Some(opened) => opened,
        None => walk(directory, path, flags),
    }
}

/// Is it certain that a path from the root has no link on its way, as far as there is something? Asked by one call.
#[must_use]
pub fn has_no_links(path: &Path) -> bool {
    platform::has_no_links(path)
}

/// Calls `visit` with the name and kind of every entry of an open directory but `.` and `..`, in no order.
///
/// # Errors
/// An error of the operating system.
pub fn each_entry(directory: &OwnedFd, visit: impl FnMut(&OsStr, FileType)) -> Result<(), Errno> {
    platform::each_entry(directory, visit)
}

/// Opens a path part by part.
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
        let step = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
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
    if link { Err(Errno::LOOP) } else { Ok(opened) }
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

    #[test]
    fn entries_are_the_same_by_either_call() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("a")).unwrap();
        std::fs::write(directory.path().join("b"), "x").unwrap();
        symlink("b", directory.path().join("c")).unwrap();
        type Entries = Vec<(String, FileType)>;
        let list = |visit: &dyn Fn(&OwnedFd, &mut Entries)| {
            let mut listed = Vec::new();
            visit(&OwnedFd::from(std::fs::File::open(directory.path()).unwrap()), &mut listed);
            listed.sort_by(|one, two| one.0.cmp(&two.0));
            listed
        };
        let name = |name: &std::ffi::OsStr| name.to_str().unwrap().to_string();
        let here = list(&|handle, listed| {
            each_entry(handle, |entry, kind| listed.push((name(entry), kind))).unwrap();
        });
        let elsewhere = list(&|handle, listed| {
            other::each_entry(handle, |entry, kind| listed.push((name(entry), kind))).unwrap();
        });
        let kinds = [FileType::Directory, FileType::RegularFile, FileType::Symlink];
        assert_eq!(here, ["a", "b", "c"].map(String::from).into_iter().zip(kinds).collect::<Vec<_>>());
        assert_eq!(here, elsewhere);
    }

    /// A system without `openat2` and `O_PATH` never follows a link either.
    #[test]
    fn no_link_is_followed_without_calls_of_linux() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), "x").unwrap();
        symlink("file", directory.path().join("link")).unwrap();
        let handle = std::fs::File::open(directory.path()).unwrap();
        let open = |path: &str| walk(handle.as_fd(), Path::new(path), other::HOLD | OFlags::CLOEXEC);
        assert!(open("file").is_ok());
        assert_eq!(open("link").unwrap_err(), Errno::LOOP);
        assert!(!other::has_no_links(directory.path()));
        assert!(other::open_at_once(handle.as_fd(), Path::new("file"), READ).is_none());
    }
}
