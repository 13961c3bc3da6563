//! The rights of a sandboxed child, and the level that enforces them.

use super::error::SandboxError;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The level of the sandbox that this machine gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Namespaces, with Landlock and seccomp inside.
    Namespaces,
    /// Landlock and seccomp alone.
    Landlock,
}

impl Level {
    /// The word that records use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Level::Namespaces => "namespaces+landlock+seccomp",
            Level::Landlock => "landlock+seccomp",
        }
    }
}

/// The rights of a sandboxed child.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The directory it works in, writable unless `readonly`.
    pub workspace: PathBuf,
    /// Whether it may only read in the workspace.
    pub readonly: bool,
    /// Its private temporary directory, writable; `TMPDIR` points there.
    pub temporary: PathBuf,
    /// Further writable directories and files.
    pub writable: Vec<PathBuf>,
    /// Further readable directories and files.
    pub readable: Vec<PathBuf>,
    /// The person's home directory, whose toolchains are readable.
    pub home: Option<PathBuf>,
    /// Places of credentials (see [`crate::secrets::places`]); writable directories inside them are open all the same.
    pub hidden: Vec<PathBuf>,
    /// Files inside the workspace that cannot be opened: `.env` and the like.
    pub closed: Vec<PathBuf>,
    /// Files and directories inside the workspace that cannot be written.
    pub protected: Vec<PathBuf>,
    /// Protected places, or files in them, that a person opened. What else lies in a protected directory with one of them can be
    /// written too, and is the caller's to compare.
    pub opened: Vec<PathBuf>,
    /// Whether it may reach the network.
    pub network: bool,
    /// The one port of this machine that it may listen on, without a network otherwise. Such a child shares the machine's network
    /// namespace; seccomp leaves it TCP alone, and Landlock leaves TCP that port alone. A program that listens without naming a
    /// port gets one that the kernel draws, which Landlock does not see.
    pub listen: Option<u16>,
    /// The one port that it may connect to, without a network otherwise: that of a proxy which judges its requests. It is bounded as
    /// with `listen`. Landlock knows ports and not addresses, so the same port of another machine is open too.
    pub connect: Option<u16>,
    /// With `connect`: whether it may have Unix sockets too. It gets them only where namespaces and Landlock keep those of others out
    /// of its reach.
    pub unix_sockets: bool,
}

impl Policy {
    /// The usual policy: workspace and temporary directory writable, no network.
    pub fn new(workspace: impl Into<PathBuf>, temporary: impl Into<PathBuf>) -> Self {
        Policy {
            workspace: workspace.into(),
            readonly: false,
            temporary: temporary.into(),
            writable: Vec::new(),
            readable: Vec::new(),
            home: None,
            hidden: Vec::new(),
            closed: Vec::new(),
            protected: Vec::new(),
            opened: Vec::new(),
            network: false,
            listen: None,
            connect: None,
            unix_sockets: false,
        }
    }

    /// Nothing writable may hold the workspace, or a place that is hidden: the sandbox would have no walls.
    pub(super) fn check(&self) -> Result<(), SandboxError> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let workspace = real(&self.workspace);
        for directory in self.writable.iter().map(|directory| real(directory)) {
            let holds = |place: &Path| *place != directory && place.starts_with(&directory);
            if holds(&workspace)
                || directory.parent().is_none()
                || self.hidden.iter().any(|place| holds(place))
            {
                return Err(SandboxError::Rules(format!(
                    "{} holds what must stay closed, so it is not opened for writing",
                    directory.display()
                )));
            }
        }
        Ok(())
    }

    /// The same policy with the names that places really have: mounts follow no links.
    pub(super) fn resolved(mut self) -> Result<Self, SandboxError> {
        self.check()?;
        let real = |path: &Path| {
            path.canonicalize().map_err(|error| SandboxError::Rules(format!("{}: {error}", path.display())))
        };
        self.workspace = real(&self.workspace)?;
        self.temporary = real(&self.temporary)?;
        self.writable = self.writable.iter().map(|path| real(path)).collect::<Result<_, _>>()?;
        Ok(self)
    }
}
