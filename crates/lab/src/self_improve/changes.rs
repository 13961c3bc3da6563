//! Changed files by their hashes, and the oracles among them: files by which a session is judged.
//!
//! An oracle is a file that is a test by its name or directory, and the tests inside a Rust source. A session may add tests in
//! new files; oracles that were there before must stay as they were, unless the plan lets them change, and must hold without the
//! new ones.
//!
//! Limits: the tests of a Rust source are everything from its first `#[cfg(test)]` on.

use super::ImproveError;
use super::plan::Plan;
use marvin_base::files::{self, Links};
use marvin_base::signature;
use marvin_tools::ToolContext;
use marvin_tools::command::is_test_file;
use marvin_tools::git::integrate;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Larger files are compared by their first bytes and their size.
const MAX_HASHED_BYTES: u64 = 64 * 1024 * 1024;
const RUST_TESTS: &[u8] = b"#[cfg(test)]";
/// Paths that are listed in a reason.
const MAX_LISTED_PATHS: usize = 10;

/// The files of a checkout with their hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileHashes {
    files: BTreeMap<String, String>,
    oracles: BTreeMap<String, String>,
    /// Links that lead out of the checkout or nowhere, and repositories inside it.
    outside: BTreeSet<String>,
}

impl FileHashes {
    /// Hashes the files that git knows in a checkout.
    ///
    /// # Errors
    /// When git fails.
    pub(super) async fn take(context: &ToolContext) -> Result<FileHashes, ImproveError> {
        let root = context.workspace()?.root().to_path_buf();
        let names = integrate::files(context).await?;
        let hashed = tokio::task::spawn_blocking(move || FileHashes::read(&root, names)).await;
        let mut hashes = hashed.map_err(|error| ImproveError::Internal(error.to_string()))?;
        for (path, commit) in integrate::nested_repositories(context).await? {
            hashes.outside.insert(path.clone());
            hashes.files.insert(path, format!("repository at {commit}"));
        }
        Ok(hashes)
    }

    fn read(root: &Path, names: Vec<String>) -> FileHashes {
        let mut hashes = FileHashes::default();
        for name in names {
            let path = root.join(&name);
            let Ok(facts) = path.symlink_metadata() else { continue };
            if facts.is_symlink() {
                let target = std::fs::read_link(&path).unwrap_or_default();
                let mark = format!("link to {}", target.display());
                if !stays_inside(root, &path, &target) {
                    hashes.outside.insert(name.clone());
                }
                hashes.add(name, &mark.clone().into_bytes(), mark);
            } else if let Ok(bytes) = files::read(&path, MAX_HASHED_BYTES, Links::Refuse) {
                use std::os::unix::fs::PermissionsExt;
                let runs = facts.permissions().mode() & 0o111 != 0;
                let mark = format!("{} {} {runs}", signature::hash_bytes(&bytes), facts.len());
                hashes.add(name, &bytes, mark);
            }
        }
        hashes
    }

    fn add(&mut self, name: String, bytes: &[u8], mark: String) {
        if is_test_file(Path::new(&name)) {
            self.oracles.insert(name.clone(), mark.clone());
        } else if name.ends_with(".rs")
            && let Some(at) = bytes.windows(RUST_TESTS.len()).position(|window| window == RUST_TESTS)
        {
            let tests = signature::hash_bytes(bytes.get(at..).unwrap_or_default());
            self.oracles.insert(name.clone(), tests);
        }
        self.files.insert(name, mark);
    }

    /// Changed, new and removed files, sorted.
    #[must_use]
    pub(super) fn changed(&self, after: &FileHashes) -> Vec<String> {
        let names: BTreeSet<&String> = self.files.keys().chain(after.files.keys()).collect();
        let differs = |name: &&&String| self.files.get(**name) != after.files.get(**name);
        names.iter().filter(differs).map(|name| (*name).clone()).collect()
    }

    /// Test files that were added.
    #[must_use]
    pub(super) fn added_tests(&self, after: &FileHashes) -> Vec<String> {
        let is_new = |name: &&String| !self.files.contains_key(*name) && is_test_file(Path::new(name));
        after.oracles.keys().filter(is_new).cloned().collect()
    }

    /// The reason to refuse the changes to a later state, whatever its evaluation.
    #[must_use]
    pub(super) fn forbidden(&self, after: &FileHashes, plan: &Plan) -> Option<String> {
        let changed = self.changed(after);
        let reason = |what: &str, paths: Vec<&String>| {
            let names: Vec<&str> = paths.iter().take(MAX_LISTED_PATHS).map(|path| path.as_str()).collect();
            (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
        };
        let not_included = changed.iter().filter(|path| !plan.includes(path)).collect();
        let outside = changed.iter().filter(|path| after.outside.contains(*path)).collect();
        let oracles = self.changed_oracles(after);
        let oracles = oracles.iter().filter(|path| !plan.may_change(path)).collect();
        let outside_include =
            format!("files outside of what may be changed ({}) were changed", plan.describe_include());
        reason(&outside_include, not_included)
            .or_else(|| reason("links or repositories lead out of the checkout, or nowhere", outside))
            .or_else(|| reason("existing tests were changed or removed", oracles))
    }

    /// Oracles that were changed or removed.
    #[must_use]
    fn changed_oracles(&self, after: &FileHashes) -> Vec<String> {
        let differs = |(name, mark): &(&String, &String)| after.oracles.get(*name) != Some(*mark);
        self.oracles.iter().filter(differs).map(|(name, _)| name.clone()).collect()
    }
}

/// Whether a link leads to something in the same checkout, wherever that is checked out.
fn stays_inside(root: &Path, link: &Path, target: &Path) -> bool {
    let (Ok(root), Ok(found)) = (root.canonicalize(), link.canonicalize()) else { return false };
    let is_git = |rest: &Path| rest.components().next().is_some_and(|first| first.as_os_str() == ".git");
    target.is_relative() && found.strip_prefix(&root).is_ok_and(|rest| !is_git(rest))
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::*;

    fn hashes(files: &[(&str, &str)]) -> FileHashes {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        FileHashes::read(root.path(), files.iter().map(|(name, _)| (*name).to_string()).collect())
    }

    #[test]
    fn changes_and_changed_oracles_are_found_by_content() {
        let before = hashes(&[
            ("src/a.py", "1"),
            ("src/b.py", "1"),
            ("tests/test_a.py", "assert 1"),
            ("tests/data.json", "{}"),
            ("src/c.rs", "fn c() {}\n#[cfg(test)]\nmod tests {}\n"),
        ]);
        assert!(before.changed(&before).is_empty() && before.changed_oracles(&before).is_empty());
        let after = hashes(&[
            ("src/a.py", "2"),
            ("src/new.py", ""),
            ("tests/test_a.py", "assert 1"),
            ("tests/test_new.py", "assert 2"),
            ("tests/data.json", "{ }"),
            ("src/c.rs", "fn c() { }\n#[cfg(test)]\nmod tests {}\n"),
        ]);
        let changed =
            ["src/a.py", "src/b.py", "src/c.rs", "src/new.py", "tests/data.json", "tests/test_new.py"];
        assert_eq!(before.changed(&after), changed);
        assert_eq!(before.changed_oracles(&after), ["tests/data.json"]);
        assert_eq!(before.added_tests(&after), ["tests/test_new.py"]);
        let cheated = hashes(&[("src/c.rs", "fn c() {}\n#[cfg(test)]\nmod tests { }\n")]);
        assert_eq!(before.changed_oracles(&cheated), ["src/c.rs", "tests/data.json", "tests/test_a.py"]);
    }
    #[test]
    fn changes_elsewhere_and_of_tests_are_forbidden() {
        let mut plan = plan("Fix the sum");
        let before = hashes(&[("src/a.py", "1"), ("src/tests/test_a.py", "assert 1")]);
        let forbidden = |files: &[(&str, &str)], plan: &Plan| before.forbidden(&hashes(files), plan);
        let kept = ("src/tests/test_a.py", "assert 1");
        assert_eq!(forbidden(&[("src/a.py", "2"), kept], &plan), None);
        let elsewhere = forbidden(&[("src/a.py", "2"), kept, ("Makefile", "")], &plan);
        assert!(elsewhere.unwrap().ends_with(": Makefile"));
        let weakened = [("src/a.py", "1"), ("src/tests/test_a.py", "")];
        assert!(forbidden(&weakened, &plan).unwrap().contains("existing tests"));
        plan.may_change = vec!["./src/tests".into()];
        assert_eq!(forbidden(&weakened, &plan), None);
    }

    #[test]
    fn links_that_lead_out_are_forbidden() {
        let root = tempfile::tempdir().unwrap();
        let (outside, checkout) = (root.path().join("outside"), root.path().join("checkout"));
        for file in [outside.join("x"), checkout.join("src/deep/a.py"), checkout.join(".git")] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "x").unwrap();
        }
        std::os::unix::fs::symlink(".", checkout.join("src/here")).unwrap();
        let absolute = outside.join("x").display().to_string();
        let own = checkout.join("src/deep/a.py").display().to_string();
        for (target, is_forbidden) in [
            ("deep/a.py", false),
            ("../src/deep", false),
            ("here/here/deep/a.py", false),
            ("../../outside/x", true),
            ("here/../../../outside/x", true),
            ("missing", true),
            ("../.git", true),
            (absolute.as_str(), true),
            (own.as_str(), true),
        ] {
            let link = checkout.join("src/link");
            std::fs::remove_file(&link).ok();
            std::os::unix::fs::symlink(target, &link).unwrap();
            let names = || vec!["src/deep/a.py".to_string(), "src/here".to_string()];
            let before = FileHashes::read(&checkout, names());
            let after = FileHashes::read(&checkout, [names(), vec!["src/link".to_string()]].concat());
            let reason = before.forbidden(&after, &plan("x"));
            assert_eq!(reason.is_some(), is_forbidden, "{target}: {reason:?}");
            assert_eq!(after.forbidden(&after, &plan("x")), None, "{target}: it was there before");
        }
    }
}
