//! What an agent may write: everything in the workspace, nothing, or a list of files.

use crate::intent::Touches;
use crate::path::WorkspacePath;
use crate::refusal::{Refusal, RefusalKind};
use marvin_base::settings::{Settings, table};
use std::collections::BTreeSet;

/// The access that an agent has to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Access {
    /// Reads and writes.
    #[default]
    Full,
    /// Reads only.
    Readonly,
    /// Reads everything, writes only these files (relative, normalised).
    WritableFiles(BTreeSet<String>),
}

impl Access {
    /// The access that the settings of this process give. Readonly is stronger than a list.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        if settings.on(&table::READONLY) {
            return Access::Readonly;
        }
        match settings.given(&table::WRITABLE_FILES) {
            None => Access::Full,
            Some(_) => Access::writable(settings.list(&table::WRITABLE_FILES)),
        }
    }

    /// Access to a list of files.
    #[must_use]
    pub fn writable(files: impl IntoIterator<Item = String>) -> Self {
        let normal = |file: String| {
            file.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
        };
        Access::WritableFiles(files.into_iter().map(normal).collect())
    }

    /// Is a tool that touches this offered to such an agent? Notes, tickets and downloads are on no list of files.
    #[must_use]
    pub fn offers(&self, touches: Touches) -> bool {
        match self {
            Access::Full => true,
            Access::Readonly => touches.changes_nothing(),
            Access::WritableFiles(_) => !touches.stores && !touches.executes,
        }
    }

    /// May an agent with this access hand on that one?
    #[must_use]
    pub fn covers(&self, other: &Access) -> bool {
        match (self, other) {
            (Access::Full, _) | (_, Access::Readonly) => true,
            (Access::WritableFiles(mine), Access::WritableFiles(theirs)) => theirs.is_subset(mine),
            (Access::Readonly | Access::WritableFiles(_), _) => false,
        }
    }

    /// What such an agent may do, in a few words.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self {
            Access::Full => "it may write everywhere in the working directory",
            Access::Readonly => "it is read-only",
            Access::WritableFiles(_) => "it may write only some files and run nothing",
        }
    }

    /// May this agent write there?
    ///
    /// # Errors
    /// A refusal that says what it may write.
    pub fn may_write(&self, path: &WorkspacePath) -> Result<(), Refusal> {
        match self {
            Access::Full => Ok(()),
            Access::Readonly => Err(Refusal::new(
                RefusalKind::Access,
                format!("cannot write `{path}`: this agent is read-only"),
                "Report what should change instead of changing it.",
            )),
            Access::WritableFiles(files) if files.contains(path.as_str()) => Ok(()),
            Access::WritableFiles(files) => {
                let list = files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ");
                Err(Refusal::new(
                    RefusalKind::Access,
                    format!("cannot write `{path}`: this agent may write only {list}"),
                    "Write to one of these files.",
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;
    use marvin_base::settings::Sources;

    fn access(pairs: &[(&str, &str)]) -> Access {
        let environment = Environment::from_iter(pairs.iter().copied());
        Access::from_settings(&Settings::load(&Sources { environment, ..Sources::default() }).unwrap())
    }

    #[test]
    fn settings_give_access_and_readonly_is_strongest() {
        assert_eq!(access(&[]), Access::Full);
        assert_eq!(access(&[("MARVIN_READONLY", "1"), ("MARVIN_WRITABLE_FILES", "a")]), Access::Readonly);
        assert_eq!(
            access(&[("MARVIN_WRITABLE_FILES", "./a.md, docs//b.md")]),
            Access::WritableFiles(["a.md".to_string(), "docs/b.md".to_string()].into())
        );
    }

    #[test]
    fn a_list_is_a_list() {
        let access = Access::writable(["a.md".to_string()]);
        let root = tempfile::tempdir().unwrap();
        let workspace = crate::Workspace::open(root.path(), std::path::Path::new("/nowhere")).unwrap();
        access.may_write(&workspace.path("./a.md").unwrap()).unwrap();
        let refusal = access.may_write(&workspace.path("b.md").unwrap()).unwrap_err();
        assert!(refusal.to_string().contains("`a.md`"), "{refusal}");
    }
}
