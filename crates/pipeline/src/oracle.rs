//! The oracle: the tests, the configuration of the test runners, and the checks of the running application.
//!
//! It is stored with the run when the tests are complete, compared after every agent, and restored where it was changed.

use crate::{files, test_config};
use marvin_base::atomic::{self, WriteError};
use marvin_base::files::{self as bounded, Links};
use marvin_base::open_dir::OpenDir;
use marvin_base::signature;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of all files together.
const MAX_CONTENTS_BYTES: usize = 32 * 1024 * 1024;
/// The plan of phase 4b, which is part of the oracle.
pub(crate) const PLAN: &str = ".marvin/e2e.json";

/// Files with their contents as hexadecimal digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oracle {
    files: BTreeMap<String, String>,
    /// Files that can configure a test runner.
    #[serde(default)]
    steering: BTreeMap<String, TestConfigFile>,
}

/// A file that can configure a test runner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TestConfigFile {
    /// The part that does.
    part: String,
    /// The whole file, as hexadecimal digits.
    whole: String,
}

fn judges(path: &str) -> bool {
    path == PLAN || files::is_test(path)
}

fn present(root: &Path) -> Vec<String> {
    let mut all = files::tests(root);
    if root.join(PLAN).is_file() {
        all.push(PLAN.to_string());
    }
    all
}

fn bytes(root: &Path, path: &str) -> Vec<u8> {
    bounded::read(&root.join(path), files::MAX_FILE_BYTES, Links::Refuse).unwrap_or_default()
}

/// The contents of files as hexadecimal digits, up to a total size.
pub(crate) fn contents(root: &Path, paths: impl IntoIterator<Item = String>) -> BTreeMap<String, String> {
    let mut left = MAX_CONTENTS_BYTES;
    let mut taken = BTreeMap::new();
    for path in paths {
        let bytes = bytes(root, &path);
        left = left.saturating_sub(bytes.len());
        if left > 0 {
            taken.insert(path, hex::encode(bytes));
        }
    }
    taken
}

/// Restores a file; without content it is removed. A link that an agent put in the place of a directory is removed and not
/// followed, and so is a directory in the place of the file.
pub(crate) fn restore(root: &Path, path: &str, content: Option<&String>) -> Result<(), WriteError> {
    let wrap = |source| WriteError { path: root.join(path).display().to_string(), source };
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut directory = OpenDir::open(root).map_err(wrap)?;
    for part in directories.split('/').filter(|part| !part.is_empty()) {
        let place = directory.place().join(part);
        directory = match (OpenDir::open(&place), content) {
            (Ok(inner), _) => inner,
            // The file to remove does not exist.
            (Err(_), None) => return Ok(()),
            (Err(_), Some(_)) => {
                std::fs::remove_file(&place).ok();
                OpenDir::create(&place).map_err(wrap)?
            }
        };
    }
    let place = directory.place().join(name);
    if place.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
        std::fs::remove_dir_all(&place).map_err(wrap)?;
    }
    match content {
        Some(text) => atomic::replace(&place, &hex::decode(text).unwrap_or_default()),
        None => {
            std::fs::remove_file(&place).ok();
            Ok(())
        }
    }
}

impl Oracle {
    /// Captures the current files.
    #[must_use]
    pub fn take(root: &Path) -> Self {
        let taken = contents(root, present(root));
        let config = |(path, part): (String, String)| {
            let whole = hex::encode(bytes(root, &path));
            (path, TestConfigFile { part, whole })
        };
        Oracle {
            files: taken,
            steering: test_config::find_test_config(root).into_iter().map(config).collect(),
        }
    }

    /// A hash over the files and their contents.
    #[must_use]
    pub fn signature(&self) -> String {
        signature::hash(&self.files)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Changed, deleted and new files.
    #[must_use]
    pub fn changes(&self, root: &Path) -> Vec<String> {
        let mut changes: Vec<String> = self
            .files
            .iter()
            .filter(|(path, text)| !root.join(path).is_file() || hex::encode(bytes(root, path)) != **text)
            .map(|(path, _)| path.clone())
            .collect();
        changes
            .extend(present(root).into_iter().filter(|path| judges(path) && !self.files.contains_key(path)));
        let now = test_config::find_test_config(root);
        let before = |path: &String| self.steering.get(path).map(|config| config.part.as_str());
        let changed = self.steering.keys().chain(now.keys()).filter(|path| {
            before(path).unwrap_or_default() != now.get(*path).map(String::as_str).unwrap_or_default()
        });
        changes.extend(changed.cloned());
        changes.sort_unstable();
        changes.dedup();
        changes
    }

    /// Restores everything and returns the restored paths.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn restore(&self, root: &Path) -> Result<Vec<String>, WriteError> {
        let changes = self.changes(root);
        for path in &changes {
            let kept = self.files.get(path).or_else(|| self.steering.get(path).map(|config| &config.whole));
            restore(root, path, kept)?;
        }
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_restored() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("tests")).unwrap();
        std::fs::create_dir_all(root.join(".marvin")).unwrap();
        for (path, text) in
            [("tests/test_a.py", "a"), ("tests/test_b.py", "b"), (PLAN, "{}"), ("app.py", "x")]
        {
            std::fs::write(root.join(path), text).unwrap();
        }
        let oracle = Oracle::take(root);
        assert_eq!((oracle.len(), oracle.changes(root)), (3, Vec::new()));
        std::fs::write(root.join("tests/test_a.py"), "weaker").unwrap();
        std::fs::remove_file(root.join("tests/test_b.py")).unwrap();
        std::fs::write(root.join("tests/test_c.py"), "new").unwrap();
        std::fs::write(root.join("app.py"), "code").unwrap();
        let wanted = ["tests/test_a.py", "tests/test_b.py", "tests/test_c.py"];
        assert_eq!(oracle.restore(root).unwrap(), wanted);
        assert_eq!(oracle.changes(root), Vec::<String>::new());
        assert_eq!(std::fs::read_to_string(root.join("app.py")).unwrap(), "code");
        assert_eq!(Oracle::take(root).signature(), oracle.signature());
    }

    #[test]
    fn restoring_does_not_follow_symlinks() {
        let (directory, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = directory.path();
        std::fs::create_dir_all(root.join("tests/deep")).unwrap();
        std::fs::write(root.join("tests/deep/test_a.py"), "def test_a(): pass").unwrap();
        std::fs::write(root.join("tests/test_b.py"), "def test_b(): pass").unwrap();
        let oracle = Oracle::take(root);
        std::fs::remove_dir_all(root.join("tests")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("tests")).unwrap();
        oracle.restore(root).unwrap();
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "nothing is written outside");
        assert!(!root.join("tests").is_symlink() && root.join("tests/deep/test_a.py").is_file());
        // A directory, and a link to a file, in the place of a test.
        std::fs::remove_file(root.join("tests/test_b.py")).unwrap();
        std::fs::create_dir_all(root.join("tests/test_b.py/x")).unwrap();
        std::fs::remove_file(root.join("tests/deep/test_a.py")).unwrap();
        std::fs::write(outside.path().join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(outside.path().join("kept"), root.join("tests/deep/test_a.py")).unwrap();
        oracle.restore(root).unwrap();
        assert_eq!(std::fs::read_to_string(outside.path().join("kept")).unwrap(), "kept");
        assert_eq!(oracle.changes(root), Vec::<String>::new());
        // A new file is removed, but not beyond a link.
        std::os::unix::fs::symlink(outside.path(), root.join("more")).unwrap();
        restore(root, "more/kept", None).unwrap();
        assert!(outside.path().join("kept").is_file());
    }

    #[test]
    fn runner_configuration_is_restored_and_packages_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let manifest = r#"{"name": "a", "scripts": {"test": "node --test test/"}}"#;
        std::fs::write(root.join("package.json"), manifest).unwrap();
        let oracle = Oracle::take(root);
        let package = manifest.replace("\"a\"", "\"a\", \"dependencies\": {\"b\": \"1\"}");
        std::fs::write(root.join("package.json"), &package).unwrap();
        assert_eq!(oracle.changes(root), Vec::<String>::new());
        std::fs::write(root.join("package.json"), package.replace("node --test test/", "echo '# pass 9'"))
            .unwrap();
        std::fs::write(root.join("pytest.py"), "print('9 passed')").unwrap();
        std::fs::create_dir(root.join(".cargo")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.join(".cargo/config.toml")).unwrap();
        assert_eq!(oracle.restore(root).unwrap(), [".cargo/config.toml", "package.json", "pytest.py"]);
        assert_eq!(std::fs::read_to_string(root.join("package.json")).unwrap(), manifest);
        assert!(!root.join("pytest.py").exists() && !root.join(".cargo/config.toml").exists());
        assert_eq!(oracle.changes(root), Vec::<String>::new());
        // Older oracles have no configuration files.
        let old: Oracle = serde_json::from_str(r#"{"files": {}}"#).unwrap();
        assert!(old.is_empty());
    }
}
