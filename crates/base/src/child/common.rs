//! Parts of a keeper that all systems share.
//!
//! Everything but [`StatusFile::new`] runs between fork and exec, or in the keeper: system calls only, no allocation.

use rustix::process::Signal;
use std::ffi::CString;

/// Tells the keeper to ask the program's process group to end.
pub(super) const ASK: Signal = Signal::TERM;
/// Tells the keeper to end everything now.
pub(super) const END: Signal = Signal::INT;

/// The signals that the keeper waits for.
#[expect(unsafe_code, reason = "a signal set can only be made by libc")]
pub(super) fn watched() -> libc::sigset_t {
    // SAFETY: a zeroed set is a valid argument of sigemptyset, which makes it a valid set.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGCHLD, ASK.as_raw(), END.as_raw()] {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// File for the exit status, out of the program's reach.
pub(super) struct StatusFile {
    part: CString,
    whole: CString,
}

impl StatusFile {
    pub(super) fn new(path: &std::path::Path) -> std::io::Result<Self> {
        use std::os::unix::ffi::OsStrExt;
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        Ok(StatusFile {
            part: CString::new(part.as_bytes())?,
            whole: CString::new(path.as_os_str().as_bytes())?,
        })
    }

    /// Writes the exit code, or 128 and the signal. The file appears whole.
    #[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
    pub(super) fn write(&self, status: i32) {
        let code =
            if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) };
        let digits =
            [code / 100 % 10, code / 10 % 10, code % 10].map(|digit| b'0' + u8::try_from(digit).unwrap_or(0));
        // SAFETY: both paths end with a zero byte; the buffer is ours.
        unsafe {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
            let handle = libc::open(self.part.as_ptr(), flags, 0o600);
            let written = libc::write(handle, digits.as_ptr().cast(), digits.len());
            libc::close(handle);
            if written == 3 {
                libc::rename(self.part.as_ptr(), self.whole.as_ptr());
            }
        }
    }
}

/// The kind of a resource, which C libraries do not agree about.
#[cfg(target_env = "gnu")]
pub(super) type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
pub(super) type Resource = libc::c_int;

/// Lowers a bound of this process and of what it starts; a lower one stays.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn bound(resource: Resource, most: u64) -> std::io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours.
    unsafe {
        if libc::getrlimit(resource, &raw mut now) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let lower = libc::rlimit { rlim_cur: now.rlim_cur.min(most), rlim_max: now.rlim_max.min(most) };
        if libc::setrlimit(resource, &raw const lower) != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// First descriptor that is not a standard stream.
const FIRST_BEYOND_STREAMS: i32 = 3;
/// Descriptors that are tried one by one where the system cannot list them.
const MAX_TRIED_DESCRIPTORS: i32 = 65_536;

/// Keeps every descriptor beyond the standard streams out of the program that this process is about to become.
///
/// The program that started Marvin may have left a directory outside the sandbox, a socket or a pipe open, and no sandbox
/// closes what a program was born with. They are marked, not closed: set-up that runs until the exec uses some, and so does the pipe over
/// which a failed exec is reported.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn close_on_exec() {
    #[cfg(target_os = "linux")]
    if super::linux::close_range(FIRST_BEYOND_STREAMS, super::linux::RangeClose::OnExec) {
        return;
    }
    each_descriptor(FIRST_BEYOND_STREAMS, |handle| {
        // SAFETY: a plain system call on a number. It fails where nothing is open.
        unsafe { libc::fcntl(handle, libc::F_SETFD, libc::FD_CLOEXEC) };
    });
}

/// Closes every descriptor from `first` on.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn close_from(first: i32) {
    #[cfg(target_os = "linux")]
    if super::linux::close_range(first, super::linux::RangeClose::Now) {
        return;
    }
    each_descriptor(first, |handle| {
        // SAFETY: a plain system call on a number. It fails where nothing is open.
        unsafe { libc::close(handle) };
    });
}

/// Calls `visit` with the descriptors from `first` on that may be open: those that the system lists, else all up to the
/// limit of this process.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn each_descriptor(first: i32, mut visit: impl FnMut(i32)) {
    #[cfg(target_os = "linux")]
    if super::linux::each_open_descriptor(|handle| {
        if handle >= first {
            visit(handle);
        }
    }) {
        return;
    }
    // SAFETY: a plain system call.
    let limit = unsafe { libc::getdtablesize() };
    (first..limit.clamp(256, MAX_TRIED_DESCRIPTORS)).for_each(visit);
}

/// Milliseconds of a clock that only goes forward.
#[expect(unsafe_code, reason = "the standard library's clock is not documented as safe after a fork")]
pub(super) fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000 + 1
}

/// Ends as the program ended.
#[expect(unsafe_code, reason = "system calls without a safe form that allocates nothing")]
pub(super) fn leave(status: Option<i32>) -> ! {
    let status = status.unwrap_or(0x0100);
    // SAFETY: plain system calls on numbers and on memory of this function.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(signal, libc::SIG_DFL);
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
            libc::kill(libc::getpid(), signal);
            libc::_exit(128 + signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
