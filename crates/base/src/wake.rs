//! Waiting for a moment of the wall clock, for a change of the clock, or for a change of files.
//!
//! A sleep counts the time that the machine is awake, so it is late after a suspend and wrong after the clock was set. On
//! Linux the kernel wakes the process for all of these; elsewhere the clock and the files are looked at every second.

use jiff::Timestamp;
use std::path::PathBuf;

/// Whether a file holds something: locks are opened by every reader, and files that begin with a dot are temporary.
fn is_content(name: &str) -> bool {
    !name.ends_with(".lock") && !name.starts_with('.')
}

/// Directories whose files a process waits for.
#[derive(Debug)]
pub struct Waker {
    #[cfg(target_os = "linux")]
    changes: Option<rustix::fd::OwnedFd>,
    #[cfg(not(target_os = "linux"))]
    directories: Vec<PathBuf>,
}

#[cfg(target_os = "linux")]
impl Waker {
    /// Watches these directories from now on; those that do not exist are not watched.
    #[must_use]
    pub fn new(directories: &[PathBuf]) -> Self {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let flags =
            WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::DELETE | WatchFlags::DELETE_SELF;
        if let Some(changes) = &changes {
            for directory in directories {
                inotify::add_watch(changes, directory, flags).ok();
            }
        }
        Waker { changes }
    }

    /// Waits until the clock shows `until`, the clock is set, or a file in one of the directories changes. Without a
    /// moment it waits for the others only.
    ///
    /// # Errors
    /// When the operating system gives no timer.
    pub fn wait(&self, until: Option<Timestamp>) -> std::io::Result<()> {
        use rustix::event::{PollFd, PollFlags, poll};
        use rustix::time::{
            Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
            timerfd_settime,
        };
        // The furthest moment still tells when the clock is set.
        let until = until.unwrap_or(Timestamp::MAX);
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A zero would switch the timer off.
        let seconds = until.as_second().max(1);
        let moment = Timespec { tv_sec: seconds, tv_nsec: i64::from(until.subsec_nanosecond().max(0)) };
        let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        timerfd_settime(
            &timer,
            TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET,
            &Itimerspec { it_interval: zero, it_value: moment },
        )?;
        loop {
            let mut handles = vec![PollFd::new(&timer, PollFlags::IN)];
            handles.extend(self.changes.as_ref().map(|changes| PollFd::new(changes, PollFlags::IN)));
            match poll(&mut handles, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let is_time = handles.first().is_some_and(|timer| !timer.revents().is_empty());
            if self.take_changes() || is_time {
                return Ok(());
            }
        }
    }

    /// Reads what changed; true: something that counts.
    fn take_changes(&self) -> bool {
        let Some(changes) = &self.changes else { return false };
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = rustix::fs::inotify::Reader::new(changes, &mut buffer);
        let mut counts = false;
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            counts |= name.is_none_or(|name| is_content(&name));
        }
        counts
    }
}

#[cfg(not(target_os = "linux"))]
impl Waker {
    #[must_use]
    pub fn new(directories: &[PathBuf]) -> Self {
        Waker { directories: directories.to_vec() }
    }

    /// # Errors
    /// Never, here.
    pub fn wait(&self, until: Option<Timestamp>) -> std::io::Result<()> {
        let stamps = || -> Vec<_> {
            let files =
                self.directories.iter().filter_map(|directory| std::fs::read_dir(directory).ok()).flatten();
            let files =
                files.filter_map(Result::ok).filter(|file| is_content(&file.file_name().to_string_lossy()));
            files.filter_map(|file| file.metadata().ok()?.modified().ok()).collect()
        };
        let before = stamps();
        while until.is_none_or(|until| crate::clock::now() < until) && stamps() == before {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use jiff::SignedDuration;

    #[test]
    fn a_moment_and_a_file_wake() {
        let directory = tempfile::tempdir().unwrap();
        let waker = Waker::new(&[directory.path().to_path_buf(), directory.path().join("missing")]);
        waker.wait(Some(Timestamp::UNIX_EPOCH)).unwrap();
        let until = clock::now() + SignedDuration::from_millis(300);
        waker.wait(Some(until)).unwrap();
        assert!(clock::now() >= until);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| waker.wait(None));
            while !waiting.is_finished() {
                crate::atomic::replace(&directory.path().join("file"), b"x").unwrap();
            }
            waiting.join().unwrap().unwrap();
        });
        // A lock that is taken is not a change.
        let waker = Waker::new(&[directory.path().to_path_buf()]);
        std::fs::write(directory.path().join("file.lock"), "").unwrap();
        let until = clock::now() + SignedDuration::from_millis(200);
        waker.wait(Some(until)).unwrap();
        assert!(clock::now() >= until);
    }
}
