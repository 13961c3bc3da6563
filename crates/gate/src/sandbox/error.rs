//! Errors of the sandbox.

/// The reason why a child cannot be sandboxed. It must then not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel lacks Landlock, or has too old a version.
    #[error(
        "this kernel cannot sandbox commands (Landlock version {abi}, needed: {needed})\n  hint: use Linux 6.2 or newer with Landlock on, \
         or set sandbox.commands = \"off\" in your own config.toml to run commands without a sandbox"
    )]
    Unavailable {
        /// The version that the kernel has.
        abi: i32,
        /// The version that the sandbox needs.
        needed: i32,
    },
    /// The system is not Linux.
    #[error(
        "cannot sandbox commands on {system}: the sandbox is made of Linux namespaces, Landlock and seccomp, which {system} does not \
         have\n  hint: use Linux (on {system}, in a virtual machine or a container), or set sandbox.commands = \"off\" in your own \
         config.toml to run commands without a sandbox"
    )]
    System {
        /// The name of the system.
        system: &'static str,
    },
    /// Namespaces were asked for and cannot be had.
    #[error(
        "cannot run commands in namespaces, as sandbox.commands asks for: {0}\n  hint: allow unprivileged user namespaces, or set \
         sandbox.commands = \"auto\" in your own config.toml"
    )]
    Namespaces(String),
    /// A rule could not be made.
    #[error("cannot sandbox the command: {0}")]
    Rules(String),
}
