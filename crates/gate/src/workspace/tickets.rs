//! The one closed directory that has a way in: the tickets, for the ticket tools.

use super::Workspace;
use crate::refusal::{Refusal, RefusalKind};
use cap_std::fs::Dir;
use marvin_base::layout::TICKETS;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::time::Duration;

/// The file that is locked where directories cannot be.
const LOCK: &str = ".lock";

/// The lock of a directory against other processes. It is released when dropped, or when the process ends.
#[derive(Debug)]
pub struct DirectoryLock {
    _directory: File,
}

impl Workspace {
    /// The tickets of this workspace, as a workspace of their own; `None` when there are none and none are to be made.
    /// The directory is opened beneath the workspace and must be a directory: a link is refused, wherever it leads.
    ///
    /// # Errors
    /// When it is a link or a file, or cannot be made or opened.
    pub fn tickets(&self, make: bool) -> Result<Option<Workspace>, Refusal> {
        let fail = |error: std::io::Error| Refusal::from_io("open", TICKETS, &error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || openat(&self.directory, TICKETS, flags, Mode::empty());
        let opened = match open() {
            Err(Errno::NOENT) if make => {
                match self.directory.create_dir(TICKETS) {
                    // Another process was faster.
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    made => made.map_err(fail)?,
                }
                open()
            }
            other => other,
        };
        match opened {
            Ok(directory) => {
                let directory = Dir::from_std_file(File::from(directory));
                Ok(Some(Workspace { root: self.root.join(TICKETS), directory }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(Refusal::new(
                RefusalKind::Link,
                format!("cannot open `{TICKETS}`: it is a link or a file, not a directory"),
                "Tell the person: the tickets of a project lie in a directory of that name inside it.",
            )),
            Err(error) => Err(fail(error.into())),
        }
    }

    /// Waits until no other process holds this directory, and locks it. The lock is advisory. The directory itself is
    /// locked, so that nothing is left behind; where a file system cannot do that, a file in it.
    ///
    /// # Errors
    /// When another process held it all the while, or the file system has no locks.
    pub fn hold(&self, patience: Duration) -> Result<DirectoryLock, Refusal> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(&self.directory, ".", flags, Mode::empty()).map_err(std::io::Error::from);
        let unable = [libc::EBADF, libc::EINVAL, libc::EOPNOTSUPP, libc::ENOLCK];
        match self.wait(directory.map(File::from), patience) {
            Err((Some(number), _)) if unable.contains(&number) => self.hold_file(patience),
            waited => waited,
        }
        .map_err(|(_, refusal)| refusal)
    }

    fn hold_file(&self, patience: Duration) -> Result<DirectoryLock, (Option<i32>, Refusal)> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.directory, LOCK, flags, Mode::from(0o644)).map_err(std::io::Error::from);
        self.wait(file.map(File::from), patience)
    }

    /// Waits for a lock. The error carries the system's number.
    fn wait(
        &self,
        opened: std::io::Result<File>,
        patience: Duration,
    ) -> Result<DirectoryLock, (Option<i32>, Refusal)> {
        let shown = self.root.display().to_string();
        let fail = |error: std::io::Error| (error.raw_os_error(), Refusal::from_io("lock", &shown, &error));
        let file = opened.map_err(fail)?;
        match file.try_lock() {
            Ok(()) => return Ok(DirectoryLock { _directory: file }),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        // The system lets those who wait in by their turn, but only those who wait without an end: a thread does. Where it is
        // given up, the lock that comes too late is let go at once.
        let (tell, told) = std::sync::mpsc::channel();
        let waits = move || {
            let locked = file.lock();
            tell.send(locked.map(|()| file)).ok();
        };
        std::thread::Builder::new().spawn(waits).map_err(fail)?;
        match told.recv_timeout(patience) {
            Ok(locked) => locked.map(|file| DirectoryLock { _directory: file }).map_err(fail),
            Err(_) => {
                let refusal = Refusal::new(
                    RefusalKind::System,
                    format!("others have held `{shown}` for {} s", patience.as_secs()),
                    "Try again; if it stays, tell the person that a process holds the lock.",
                );
                Err((None, refusal))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn workspace(root: &Path) -> Workspace {
        Workspace::open(root, Path::new("/nowhere")).unwrap()
    }

    #[test]
    fn tickets_are_a_real_directory_or_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let inside = workspace(directory.path());
        assert!(inside.tickets(false).unwrap().is_none());
        assert!(!directory.path().join(TICKETS).exists(), "asking makes nothing");
        let tickets = inside.tickets(true).unwrap().unwrap();
        tickets.create_new(&tickets.path("a.md").unwrap(), b"x").unwrap();
        assert!(directory.path().join(".tickets/a.md").is_file());
        std::fs::remove_dir_all(directory.path().join(TICKETS)).unwrap();
        for target in [outside.path().to_path_buf(), directory.path().join("elsewhere")] {
            symlink(target, directory.path().join(TICKETS)).unwrap();
            for make in [true, false] {
                assert_eq!(inside.tickets(make).unwrap_err().kind, RefusalKind::Link);
            }
            std::fs::remove_file(directory.path().join(TICKETS)).unwrap();
        }
        std::fs::write(directory.path().join(TICKETS), "x").unwrap();
        assert_eq!(inside.tickets(true).unwrap_err().kind, RefusalKind::Link);
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_one_holds_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (workspace(directory.path()), workspace(directory.path()));
        let held = one.hold(Duration::ZERO).unwrap();
        let refusal = other.hold(Duration::from_millis(20)).unwrap_err();
        assert!(refusal.to_string().contains("others have held"), "{refusal}");
        drop(held);
        // A child that another test is just starting has the directory too, until it becomes a program.
        other.hold(Duration::from_secs(10)).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
        let held = one.hold_file(Duration::from_secs(10)).unwrap();
        assert!(other.hold_file(Duration::from_millis(20)).is_err());
        drop(held);
        other.hold_file(Duration::from_secs(10)).unwrap();
    }
}
