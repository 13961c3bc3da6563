//! Children on Linux: subreapers, namespaces, seccomp listeners and `/proc`.

mod forks;
pub(super) mod keeper;
mod namespaces;
mod tree;

/// When descriptors of a range are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeClose {
    Now,
    OnExec,
}

/// Closes the descriptors from `first` on by one system call; false where the kernel does not know it (before Linux 5.9, and
/// before 5.11 for those that are closed on exec).
#[expect(unsafe_code, reason = "a system call without a safe form that allocates nothing")]
pub(super) fn close_range(first: i32, when: RangeClose) -> bool {
    const CLOSE_RANGE_CLOEXEC: u32 = 1 << 2;
    let flags = if when == RangeClose::OnExec { CLOSE_RANGE_CLOEXEC } else { 0 };
    // SAFETY: a plain system call on numbers.
    unsafe { libc::syscall(libc::SYS_close_range, first.cast_unsigned(), u32::MAX, flags) == 0 }
}

/// Calls `visit` with every open descriptor; false where `/proc` does not list them.
pub(super) fn each_open_descriptor(visit: impl FnMut(i32)) -> bool {
    tree::each_entry(&tree::Path::new().text(b"/proc/self/fd"), visit)
}

/// Closes `/proc/PID/environ`, `/proc/PID/mem` and tracing of this process to others of the same user: its environment
/// holds the keys that are taken out of its children's. Lasts until the process ends; core dumps are off with it.
///
/// Limits: a process with `CAP_SYS_PTRACE` (root outside the sandbox) still sees it.
///
/// # Errors
/// When the kernel refuses.
pub fn hide_environment() -> std::io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}
