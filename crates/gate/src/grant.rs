//! Openings of the sandbox by a person's approval, for one command and no longer.
//!
//! A command that needs the network or a place outside the workspace fails in the sandbox whatever the person said. So the
//! question names what the command needs, and a yes opens exactly that. What the gate cannot name stays closed.

use crate::effects::{Act, Effect, Judgement, Place};
use std::path::{Path, PathBuf};

/// The openings for one command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grant {
    /// Whether it reaches the network.
    pub network: bool,
    /// Paths outside the workspace that it may write.
    pub write: Vec<PathBuf>,
    /// Steering files of the workspace that it may write.
    pub steering: Vec<PathBuf>,
    /// Paths that it may read though they are otherwise closed or not shown.
    pub read: Vec<PathBuf>,
}

impl Grant {
    /// The openings that a judged line needs.
    #[must_use]
    pub fn needed_by(judgement: &Judgement, workspace: &Path, home: &Path) -> Self {
        let mut grant = Grant::default();
        for effect in judgement.segments.iter().flat_map(|segment| &segment.effects) {
            grant.add(effect, workspace, home);
        }
        for places in [&mut grant.write, &mut grant.steering, &mut grant.read] {
            places.sort();
            places.dedup();
        }
        grant
    }

    fn add(&mut self, effect: &Effect, workspace: &Path, home: &Path) {
        let path = || resolve(&effect.target, workspace, home);
        match effect.act {
            Act::Send | Act::Receive | Act::Remote | Act::Package => self.network = true,
            Act::Read | Act::List => match effect.place {
                Place::Outside | Place::InHome => self.read.extend(path().filter(|path| path.exists())),
                Place::ProjectSecret => self.read.extend(path()),
                _ => {}
            },
            Act::Write
            | Act::Change
            | Act::Delete
            | Act::DeleteTree
            | Act::MakeExecutable
            | Act::Permission
            | Act::PermissionTree
            | Act::MakeDirectory => {
                if matches!(effect.place, Place::Outside | Place::InHome | Place::StartUp) {
                    self.write.extend(path().and_then(|path| writable(&path, home)));
                } else if effect.place == Place::Instructions {
                    self.steering.extend(path());
                }
            }
            Act::Run
            | Act::Process
            | Act::Service
            | Act::User
            | Act::History
            | Act::Database
            | Act::Machine => {}
        }
    }

    /// Whether nothing is opened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Grant::default()
    }

    /// A description of the openings for the person who is asked; empty when there are none.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        if self.network {
            parts.push("the network".to_string());
        }
        let written = self.write.iter().chain(&self.steering);
        parts.extend(written.map(|path| format!("writing {}", path.display())));
        parts.extend(self.read.iter().map(|path| format!("reading {}", path.display())));
        parts.join(", ")
    }
}

/// The path that an effect names; none when a part of it is not known.
fn resolve(target: &str, workspace: &Path, home: &Path) -> Option<PathBuf> {
    if target.is_empty() || target.contains(['…', '*', '?', '[', '$', '`']) {
        return None;
    }
    let path = match target.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => workspace.join(target),
    };
    Some(crate::command::reach::real(&path))
}

/// The path to open so that a path can be written: itself, or its directory when it is not there or is to be replaced. Never
/// the home directory or one above it.
fn writable(path: &Path, home: &Path) -> Option<PathBuf> {
    let open = if path.is_dir() { path } else { path.parent()? };
    (open.is_dir() && !home.starts_with(open) && open.parent().is_some()).then(|| open.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::{Grounds, judge};

    #[test]
    fn a17_an_approval_names_what_it_opens_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (workspace, home) = (root.join("home/work"), root.join("home"));
        std::fs::create_dir_all(&workspace).unwrap();
        std::fs::create_dir_all(home.join("other")).unwrap();
        std::fs::write(home.join("notes.txt"), "x").unwrap();
        let grant = |line: &str| {
            let (workspace_text, home_text) = (workspace.display().to_string(), home.display().to_string());
            let grounds = Grounds { workspace: &workspace_text, home: &home_text };
            Grant::needed_by(&judge(line, &workspace_text, grounds), &workspace, &home).describe()
        };
        assert_eq!(grant("make test"), "");
        assert_eq!(grant("rm a"), "");
        assert_eq!(grant("curl https://example.com/x"), "the network");
        assert_eq!(grant("cp a ~/other/b"), format!("writing {}", home.join("other").display()));
        // The home directory itself is never opened, and what is not known stays closed.
        assert_eq!(grant("touch ~/b"), "");
        assert_eq!(grant("cp a $(cat where)"), "");
        assert_eq!(grant("cat .env"), format!("reading {}", workspace.join(".env").display()));
    }
}
