//! Write access of agents: everything in the workspace, nothing, a list of files, or what a scope leaves open.

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
    /// Reads everything, runs commands, and writes what the scope leaves open.
    Scoped(Scope),
}

/// Patterns of files that are open or closed for writing. What matches `closed` is closed whatever `open` says; with
/// nothing in `open` everything else is open.
///
/// A pattern is a directory anywhere on the way (`tests/`), a path (`src/lib.rs`), or a file name with at most one star
/// (`test_*.py`). Limits: a scope binds the file tools; what a command writes is checked afterwards by the caller that set the scope.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// A name for refusals: `the tests`.
    pub name: String,
    /// Patterns of files that may be written; empty: everything.
    pub open: Vec<String>,
    /// Patterns of files that may not be written.
    pub closed: Vec<String>,
    /// Why, as a sentence.
    pub reason: String,
}

impl Scope {
    /// Does a pattern of a list cover this path?
    #[must_use]
    pub fn covers(patterns: &[String], path: &str) -> bool {
        patterns.iter().any(|pattern| fits(pattern, path))
    }

    /// May this be written?
    #[must_use]
    pub fn allows(&self, path: &str) -> bool {
        !Scope::covers(&self.closed, path) && (self.open.is_empty() || Scope::covers(&self.open, path))
    }
}

/// Does one pattern cover a path?
fn fits(pattern: &str, path: &str) -> bool {
    if let Some(directory) = pattern.strip_suffix('/') {
        let mut parts = path.split('/').rev().skip(1);
        return match directory.contains('/') {
            true => path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/')),
            false => parts.any(|part| part == directory),
        };
    }
    if pattern.contains('/') {
        return pattern == path;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
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
            Access::Full | Access::Scoped(_) => true,
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
            (Access::Scoped(scope), Access::WritableFiles(theirs)) => {
                theirs.iter().all(|file| scope.allows(file))
            }
            (Access::Scoped(mine), Access::Scoped(theirs)) => mine == theirs,
            (Access::Readonly | Access::WritableFiles(_) | Access::Scoped(_), _) => false,
        }
    }

    /// May an agent with this access run commands?
    #[must_use]
    pub fn executes(&self) -> bool {
        matches!(self, Access::Full | Access::Scoped(_))
    }

    /// A description of the access in a few words.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self {
            Access::Full => "it may write everywhere in the working directory",
            Access::Readonly => "it is read-only",
            Access::WritableFiles(_) => "it may write only some files and run nothing",
            Access::Scoped(_) => "it may not write everywhere",
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
            Access::Scoped(scope) if scope.allows(path.as_str()) => Ok(()),
            Access::Scoped(scope) => Err(Refusal::new(
                RefusalKind::Access,
                format!("cannot write `{path}`: this agent may not write {}", scope.name),
                scope.reason.clone(),
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
    fn a_scope_opens_and_closes_by_patterns() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
        let scope = Scope { closed: list(&["tests/", "test_*.py", ".marvin/spec.md"]), ..Scope::default() };
        for closed in ["tests/a.rs", "a/tests/b/c.py", "test_x.py", "src/test_.py", ".marvin/spec.md"] {
            assert!(!scope.allows(closed), "{closed}");
        }
        for open in ["src/a.py", "tests", "latest/a.py", "test_x.pyc", "spec.md"] {
            assert!(scope.allows(open), "{open}");
        }
        let scope = Scope { open: list(&["tests/", "Cargo.toml", "docs/deep/"]), ..scope };
        assert!(scope.allows("docs/deep/a.md") && scope.allows("Cargo.toml") && !scope.allows("src/a.py"));
        assert!(!scope.allows("tests/a.py"), "closed goes before open");
        let access = Access::Scoped(scope.clone());
        assert!(access.executes() && !access.covers(&Access::Full) && access.covers(&Access::Readonly));
        assert!(access.covers(&Access::writable(["Cargo.toml".to_string()])));
        assert!(!access.covers(&Access::writable(["tests/a".to_string()])));
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
