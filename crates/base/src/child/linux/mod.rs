//! Children on Linux: subreapers, namespaces, seccomp listeners and `/proc`.

mod forks;
pub(super) mod keeper;
mod namespaces;
mod tree;

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
