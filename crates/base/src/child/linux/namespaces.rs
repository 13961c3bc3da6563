//! Children in namespaces of their own, with an init process that ends with the program.
//!
//! The keeper starts the child by `clone` with the namespace flags instead of `fork`. That child is process 1 of its PID
//! namespace: it waits until the keeper has written its ID maps, runs the caller's set-up (mounts, network), and then forks the
//! program. From there on it only reaps. When the program has ended, what it left behind gets a moment; then init ends, and
//! the kernel kills every process of the namespace with it. So nothing outlives the call, whatever session or group it is in.
//!
//! Init and keeper share a socket: the keeper says when the maps are written, init says how the program ended. A program
//! cannot see its keeper, and init is protected from it by the kernel (process 1 gets no signal of its own namespace that
//! it does not handle).
//!
//! Everything here runs between fork and exec: system calls only, no allocation.

use super::tree::Path;
use crate::child::common::{close_from, now};

/// How long processes that a program left behind may continue, in milliseconds.
const DRAIN_MS: i64 = 300;
/// The keeper's word that the ID maps are written.
const GO: u8 = b'g';

/// ID maps of a child, as text, made before the fork.
#[derive(Debug, Clone)]
pub(super) struct IdMaps {
    /// All IDs of this process's own user namespace, for root.
    all: Option<(Text, Text)>,
    /// The one user and group of this process.
    own: (Text, Text),
}

/// A short text in place, so that it can be used after a fork.
#[derive(Debug, Clone, Copy)]
struct Text {
    bytes: [u8; 512],
    length: usize,
}

impl Text {
    fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; 512];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Text { bytes, length: text.len() })
    }
}

impl IdMaps {
    /// The maps for children of this process. Root maps every ID it has to itself, so that files of other users in a
    /// workspace keep their owners; other users can map only themselves.
    pub(super) fn of_process() -> std::io::Result<Self> {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let one = |id: u32| Text::new(&format!("{id} {id} 1\n"));
        let own = one(user.as_raw()).zip(one(group.as_raw()));
        let own = own.ok_or_else(|| std::io::Error::other("an ID map is too long"))?;
        let identity = |file: &str| {
            let text = std::fs::read_to_string(file).ok()?;
            let lines = text.lines().filter_map(|line| {
                let mut fields = line.split_whitespace();
                let (inside, count) = (fields.next()?, fields.nth(1)?);
                Some(format!("{inside} {inside} {count}\n"))
            });
            Text::new(&lines.collect::<String>())
        };
        let all = user.is_root().then(|| identity("/proc/self/uid_map").zip(identity("/proc/self/gid_map")));
        Ok(IdMaps { all: all.flatten(), own })
    }

    /// Writes the maps of a child. Called by the keeper, in the parent namespace.
    pub(super) fn write(&self, child: i32) -> bool {
        let file = |name: &[u8]| Path::new().text(b"/proc/").number(child).text(b"/").text(name);
        if let Some((users, groups)) = &self.all
            && put(&file(b"uid_map"), users)
            && put(&file(b"gid_map"), groups)
        {
            return true;
        }
        let (user, group) = &self.own;
        let denied = Text::new("deny").is_some_and(|deny| put(&file(b"setgroups"), &deny));
        denied && put(&file(b"gid_map"), group) && put(&file(b"uid_map"), user)
    }
}

#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn put(file: &Path, text: &Text) -> bool {
    // SAFETY: the path ends with a zero byte, and the buffer is as long as is said.
    unsafe {
        let handle = libc::open(file.as_pointer(), libc::O_WRONLY | libc::O_CLOEXEC);
        if handle < 0 {
            return false;
        }
        let written = libc::write(handle, text.bytes.as_ptr().cast(), text.length);
        libc::close(handle);
        usize::try_from(written) == Ok(text.length)
    }
}

/// Starts a child in namespaces, like `fork`: 0 in the child, its number in the keeper, -1 on failure.
#[expect(unsafe_code, reason = "a raw clone without a new stack behaves like fork")]
pub(super) fn clone(flags: i32) -> i32 {
    let flags = flags | libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::SIGCHLD;
    // The maps can be written only while the child's files in /proc belong to its user.
    // SAFETY: without CLONE_VM and with a null stack, the child gets a copy of this process, as by fork.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
        let child = libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0, 0, 0, 0);
        i32::try_from(child).unwrap_or(-1)
    }
}

/// The keeper's side: writes the maps and lets the child continue. Without maps the child ends.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn release(child: i32, maps: &IdMaps, link: i32) {
    let written = maps.write(child);
    // SAFETY: plain system calls; the byte is ours.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        if written {
            libc::send(link, [GO].as_ptr().cast(), 1, libc::MSG_NOSIGNAL);
        } else {
            libc::shutdown(link, libc::SHUT_RDWR);
        }
    }
}

/// The child's side: waits for the keeper's word.
///
/// # Errors
/// When the keeper could not write the maps, or is gone.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn wait_for_release(link: i32) -> std::io::Result<()> {
    let mut byte = [0u8];
    // SAFETY: the buffer is ours.
    let read = unsafe { libc::recv(link, byte.as_mut_ptr().cast(), 1, 0) };
    // SAFETY: a plain system call. The maps are written: what this copy of the process holds is closed to others again.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    if read == 1 && byte == [GO] { Ok(()) } else { Err(std::io::Error::from_raw_os_error(libc::EPERM)) }
}

/// Forks the program off init. Returns in the program only; init reaps until the program and what it left have ended.
///
/// # Errors
/// When the program cannot be forked.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn become_init(link: i32) -> std::io::Result<()> {
    // SAFETY: only async-signal-safe calls on both sides; init's side never returns.
    unsafe {
        let mut children: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut children);
        libc::sigaddset(&raw mut children, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const children, std::ptr::null_mut());
        match libc::fork() {
            -1 => Err(std::io::Error::last_os_error()),
            0 => {
                libc::sigprocmask(libc::SIG_UNBLOCK, &raw const children, std::ptr::null_mut());
                Ok(())
            }
            program => reap(program, link, &children),
        }
    }
}

#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
fn reap(program: i32, link: i32, children: &libc::sigset_t) -> ! {
    // SAFETY: plain system calls on numbers and on memory of this function.
    unsafe {
        // Only the link stays open: pipes of the program must not be held by init.
        libc::dup2(link, 0);
        close_from(1);
        libc::prctl(libc::PR_SET_NAME, c"marvin-init".as_ptr(), 0, 0, 0);
        let mut deadline: Option<i64> = None;
        loop {
            let mut status = 0;
            match libc::waitpid(-1, &raw mut status, libc::WNOHANG) {
                // No process is left.
                -1 => libc::_exit(0),
                0 => {}
                found => {
                    if found == program {
                        libc::send(0, status.to_ne_bytes().as_ptr().cast(), 4, libc::MSG_NOSIGNAL);
                        deadline = Some(now().saturating_add(DRAIN_MS));
                    }
                    continue;
                }
            }
            let rest = deadline.map_or(3_600_000, |deadline| deadline.saturating_sub(now()));
            if rest <= 0 {
                libc::_exit(0);
            }
            let timeout = libc::timespec { tv_sec: rest / 1000, tv_nsec: (rest % 1000) * 1_000_000 };
            libc::sigtimedwait(children, std::ptr::null_mut(), &raw const timeout);
        }
    }
}

/// How the program ended, as init said; none when init ended without a word.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn program_status(link: i32) -> Option<i32> {
    let mut bytes = [0u8; 4];
    // SAFETY: the buffer is ours.
    let read = unsafe { libc::recv(link, bytes.as_mut_ptr().cast(), 4, libc::MSG_DONTWAIT) };
    (read == 4).then(|| i32::from_ne_bytes(bytes))
}
