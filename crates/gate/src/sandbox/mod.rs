//! The sandbox around commands: what the operating system guards, whatever the gate thought of the text.
//!
//! On Linux two levels, chosen by trying them out once for each process:
//!
//! - **Namespaces** ([`Level::Namespaces`]): user, mount, PID, IPC, UTS, cgroup and network namespaces of its own. The program sees a
//!   view of the file system in which nothing of the person's is but toolchains and the workspace, its own processes, its own
//!   loopback network and nothing else. Everything that it starts ends with the call. Landlock and seccomp stand inside.
//! - **Landlock and seccomp alone** ([`Level::Landlock`]), where the system refuses namespaces: the same view as Landlock rules, no sockets
//!   but pairs, no System V or POSIX message queues, no shared memory, no access to processes of others. What this level cannot give
//!   is named by [`missing`].
//!
//! Where neither can be had, nothing runs; so it is on every other system, where no sandbox is written yet. In both levels the
//! program has no capabilities, even as root, cannot gain any, has no controlling terminal, and system calls that lead out are
//! refused. Everything is prepared before the fork; between fork and exec the child makes only system calls.
//!
//! Limits: Landlock does not guard modes, owners and times of files; without namespaces a program can `chmod` and `touch -d` files
//! outside that its user owns. A program can use up disk space and processor time within the limits of its call.

mod error;
mod policy;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod other;
#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use other as platform;

pub use error::SandboxError;
pub use policy::{Level, Policy};

use crate::judged::JudgedCommand;
use serde::Serialize;
use std::sync::OnceLock;

/// The setting `sandbox.commands`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    /// The strongest level that this machine gives.
    Auto,
    /// Namespaces or nothing.
    Namespaces,
    /// Landlock and seccomp alone.
    Landlock,
    /// No sandbox.
    Off,
}

impl SandboxMode {
    /// Reads the setting. `bubblewrap` was a way to the same namespaces and means them.
    #[must_use]
    pub fn from_setting(setting: &str) -> Self {
        match setting {
            "off" => SandboxMode::Off,
            "landlock" => SandboxMode::Landlock,
            "namespaces" | "bubblewrap" => SandboxMode::Namespaces,
            _ => SandboxMode::Auto,
        }
    }
}

/// The abilities of this machine, found by trying.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Support {
    /// The strongest level; none when commands cannot be sandboxed.
    pub level: Option<Level>,
    /// The kernel's Landlock version; 0 when it has none.
    pub landlock: i32,
    /// The reason why namespaces cannot be had.
    pub namespaces: Option<String>,
}

/// The abilities of this machine; tried once per process.
pub fn support() -> &'static Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    SUPPORT.get_or_init(platform::support)
}

/// Sentences for a person about what a level leaves open; empty in namespaces.
#[must_use]
pub fn missing(level: Level) -> Vec<&'static str> {
    platform::missing(level)
}

/// The word for what will contain commands when `sandbox.commands` says this; `none` where it cannot be had.
#[must_use]
pub fn chosen(setting: &str) -> &'static str {
    match (SandboxMode::from_setting(setting), support().level) {
        (SandboxMode::Off, _) => "off",
        (_, None) | (SandboxMode::Namespaces, Some(Level::Landlock)) => "none",
        (SandboxMode::Landlock, Some(_)) => Level::Landlock.word(),
        (_, Some(level)) => level.word(),
    }
}

/// Puts a judged command into the sandbox, and says which level it has.
///
/// # Errors
/// When the machine cannot give what is wanted, or a directory of the policy is not there.
pub fn enter(
    command: &mut JudgedCommand,
    policy: Policy,
    wanted: SandboxMode,
) -> Result<&'static str, SandboxError> {
    let level = match (wanted, support().level) {
        (SandboxMode::Off, _) => return Ok("off"),
        (_, None) => return Err(platform::unavailable(support())),
        (SandboxMode::Namespaces, Some(Level::Landlock)) => {
            return Err(SandboxError::Namespaces(support().namespaces.clone().unwrap_or_default()));
        }
        (SandboxMode::Landlock, Some(_)) => Level::Landlock,
        (_, Some(level)) => level,
    };
    tracing::debug!(level = level.word(), network = policy.network, "command enters the sandbox");
    platform::enter_level(command, policy, level)
}

/// Places of a workspace that commands must not write besides [`crate::steering::protected`]: Marvin's own directory and the tickets.
pub const PROTECTED: [&str; 2] = [".marvin", ".tickets"];
