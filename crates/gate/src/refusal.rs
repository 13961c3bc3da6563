//! Refusals of paths and requests, in words for the model: the fault, and what to do instead.

use crate::verdict::Verdict;

/// The kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// No workspace is set, or the directory offered cannot be one.
    Workspace,
    /// The path is absolute.
    Absolute,
    /// The path climbs with `..`.
    Climbing,
    /// The path is empty, too long, or holds characters that no path here may have.
    Unusable,
    /// The path belongs to the tickets.
    Tickets,
    /// The path is closed for writing: the record, upstream documents, `.git`.
    Closed,
    /// A symbolic link on the way leads out of the workspace.
    LeadsOut,
    /// The last part of a path to be written is a symbolic link.
    Link,
    /// Not a regular file (a directory, a pipe, a device, a socket).
    NotRegular,
    /// The file does not exist.
    Missing,
    /// There is such a file already.
    Exists,
    /// The file is larger than the caller takes.
    TooLarge,
    /// The file is not UTF-8 text.
    NotText,
    /// This agent may not write there.
    Access,
    /// The operating system refused.
    System,
    /// The address of a request is not plainly an http or https address.
    Url,
    /// The address of a machine that is not on the public internet.
    Address,
    /// A host that is not on a list.
    Allowlist,
    /// A list of hosts that cannot be understood.
    Lists,
    /// A redirect to somewhere that may not be fetched.
    Redirect,
    /// The address would carry a secret out.
    SendsSecret,
    /// A name without an address.
    Unresolved,
}

impl RefusalKind {
    /// The rule's name in verdicts.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            RefusalKind::Workspace => "path.workspace",
            RefusalKind::Absolute => "path.absolute",
            RefusalKind::Climbing => "path.climbing",
            RefusalKind::Unusable => "path.unusable",
            RefusalKind::Tickets => "path.tickets",
            RefusalKind::Closed => "path.closed",
            RefusalKind::LeadsOut => "path.leads-out",
            RefusalKind::Link => "path.link",
            RefusalKind::NotRegular => "path.not-regular",
            RefusalKind::Missing => "path.missing",
            RefusalKind::Exists => "path.exists",
            RefusalKind::TooLarge => "path.too-large",
            RefusalKind::NotText => "path.not-text",
            RefusalKind::Access => "path.access",
            RefusalKind::System => "path.system",
            RefusalKind::Url => "network.url",
            RefusalKind::Address => "network.address",
            RefusalKind::Allowlist => "network.allowlist",
            RefusalKind::Lists => "network.lists",
            RefusalKind::Redirect => "network.redirect",
            RefusalKind::SendsSecret => "network.secret",
            RefusalKind::Unresolved => "network.unresolved",
        }
    }
}

/// A refused path or request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}\n{how_to_fix}")]
pub struct Refusal {
    /// The kind.
    pub kind: RefusalKind,
    /// The fault.
    pub reason: String,
    /// The hint.
    pub how_to_fix: String,
}

impl Refusal {
    /// A refusal of a kind.
    pub fn new(kind: RefusalKind, reason: impl Into<String>, how_to_fix: impl Into<String>) -> Self {
        Refusal { kind, reason: reason.into(), how_to_fix: how_to_fix.into() }
    }

    /// The refusal as a verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::deny(self.kind.rule(), self.reason.clone(), self.how_to_fix.clone())
    }

    /// Turns an I/O error about `path` into a refusal with a hint.
    #[must_use]
    pub fn from_io(doing: &str, path: &str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        // cap-std reports an escape as a refusal that carries no system error number.
        let escape = error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none();
        match error.kind() {
            _ if error.raw_os_error() == Some(libc::EXDEV) => Refusal::new(
                RefusalKind::LeadsOut,
                format!(
                    "cannot {doing} `{path}`: another place is mounted there, and a mount leads out of the workspace"
                ),
                "Use a path whose files really lie inside the working directory.",
            ),
            _ if escape => Refusal::new(
                RefusalKind::LeadsOut,
                format!("cannot {doing} `{path}`: a symbolic link on the way leads out of the workspace"),
                "Use a path whose files really lie inside the working directory.",
            ),
            _ if error.raw_os_error() == Some(libc::ELOOP) => Refusal::new(
                RefusalKind::Link,
                format!("cannot {doing} `{path}`: a symbolic link on the way leads nowhere or in a circle"),
                "Use the path of the file itself; the tree tool marks links with `@`.",
            ),
            // This is how a socket answers, and a pipe without a reader.
            _ if error.raw_os_error() == Some(libc::ENXIO) => Refusal::new(
                RefusalKind::NotRegular,
                format!("cannot {doing} `{path}`: it is not a regular file (a socket, a pipe or a device)"),
                "Name a regular file; the tree tool lists what is there.",
            ),
            ErrorKind::NotFound => Refusal::new(
                RefusalKind::Missing,
                format!("cannot {doing} `{path}`: no such file or directory"),
                "Look with the tree tool which files there are, then use a path from there.",
            ),
            ErrorKind::AlreadyExists => Refusal::new(
                RefusalKind::Exists,
                format!("cannot {doing} `{path}`: it exists already"),
                "Use apply_patch to change a file that exists.",
            ),
            ErrorKind::NotADirectory => Refusal::new(
                RefusalKind::Missing,
                format!("cannot {doing} `{path}`: a part of the path is a file, not a directory"),
                "Look with the tree tool which directories there are.",
            ),
            ErrorKind::IsADirectory => Refusal::new(
                RefusalKind::NotRegular,
                format!("cannot {doing} `{path}`: it is a directory"),
                "Name a file inside it; the tree tool lists them.",
            ),
            _ => Refusal::new(
                RefusalKind::System,
                format!("cannot {doing} `{path}`: {error}{}", marvin_base::atomic::hint(error)),
                "This is a limit of the machine, not of the call; tell the person if it stays.",
            ),
        }
    }
}
