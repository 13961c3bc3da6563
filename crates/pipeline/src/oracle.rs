//! What the work is judged by, once it is written: the tests, what decides which of them are run, and what is asked of the
//! running application. It is kept with the run when the tests are done, compared after every agent, and put back where it was changed.

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
/// The plan of phase 4b, which belongs to it.
pub(crate) const PLAN: &str = ".marvin/e2e.json";

/// The files of an oracle, with their contents as hexadecimal digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oracle {
    files: BTreeMap<String, String>,
    /// Files that could decide which tests are run.
    #[serde(default)]
    steering: BTreeMap<String, TestConfigFile>,
}

/// A file that could decide which tests are run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TestConfigFile {
    /// What in it does.
    part: String,
    /// All of it, as hexadecimal digits.
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

/// The contents of files as hexadecimal digits, as far as all of them together are not too large.
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

/// Writes a file as it was; one that was not there is taken away. An agent may have put a link in the place of a directory: it is
/// taken away and not followed, and so is a directory in the place of the file.
pub(crate) fn restore(root: &Path, path: &str, content: Option<&String>) -> Result<(), WriteError> {
    let wrap = |source| WriteError { path: root.join(path).display().to_string(), source };
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut directory = OpenDir::open(root).map_err(wrap)?;
    for part in directories.split('/').filter(|part| !part.is_empty()) {
        let place = directory.place().join(part);
        directory = match (OpenDir::open(&place), content) {
            (Ok(inner), _) => inner,
            // What would be taken away is not there.
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
    /// Takes what is there now.
    #[must_use]
    pub fn take(root: &Path) -> Self {
        let taken = contents(root, present(root));
        let steers = |(path, part): (String, String)| {
            let whole = hex::encode(bytes(root, &path));
            (path, TestConfigFile { part, whole })
        };
        Oracle {
            files: taken,
            steering: test_config::find_test_config(root).into_iter().map(steers).collect(),
        }
    }

    /// Its signature: the same files with the same contents have the same.
    #[must_use]
    pub fn signature(&self) -> String {
        signature::hash(&self.files)
    }

    /// How many files it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What is not as it was: changed, gone, or new.
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
        let before = |path: &String| self.steering.get(path).map(|steers| steers.part.as_str());
        let steered = self.steering.keys().chain(now.keys()).filter(|path| {
            before(path).unwrap_or_default() != now.get(*path).map(String::as_str).unwrap_or_default()
        });
        changes.extend(steered.cloned());
        changes.sort_unstable();
        changes.dedup();
        changes
    }

    /// Puts everything back as it was, and says what that was.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn put_back(&self, root: &Path) -> Result<Vec<String>, WriteError> {
        let changes = self.changes(root);
        for path in &changes {
            let kept = self.files.get(path).or_else(|| self.steering.get(path).map(|steers| &steers.whole));
            restore(root, path, kept)?;
        }
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_put_back() {
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
        assert_eq!(oracle.put_back(root).unwrap(), wanted);
        assert_eq!(oracle.changes(root), Vec::<String>::new());
        assert_eq!(std::fs::read_to_string(root.join("app.py")).unwrap(), "code");
        assert_eq!(Oracle::take(root).signature(), oracle.signature());
    }

    #[test]
    fn what_is_put_back_stays_inside() {
        let (directory, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = directory.path();
        std::fs::create_dir_all(root.join("tests/deep")).unwrap();
        std::fs::write(root.join("tests/deep/test_a.py"), "def test_a(): pass").unwrap();
        std::fs::write(root.join("tests/test_b.py"), "def test_b(): pass").unwrap();
        let oracle = Oracle::take(root);
        std::fs::remove_dir_all(root.join("tests")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("tests")).unwrap();
        oracle.put_back(root).unwrap();
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "nothing is written outside");
        assert!(!root.join("tests").is_symlink() && root.join("tests/deep/test_a.py").is_file());
        // A directory, and a link to a file, in the place of a test.
        std::fs::remove_file(root.join("tests/test_b.py")).unwrap();
        std::fs::create_dir_all(root.join("tests/test_b.py/x")).unwrap();
        std::fs::remove_file(root.join("tests/deep/test_a.py")).unwrap();
        std::fs::write(outside.path().join("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(outside.path().join("kept"), root.join("tests/deep/test_a.py")).unwrap();
        oracle.put_back(root).unwrap();
        assert_eq!(std::fs::read_to_string(outside.path().join("kept")).unwrap(), "kept");
        assert_eq!(oracle.changes(root), Vec::<String>::new());
        // What was not there is taken away, but not beyond a link.
        std::os::unix::fs::symlink(outside.path(), root.join("more")).unwrap();
        restore(root, "more/kept", None).unwrap();
        assert!(outside.path().join("kept").is_file());
    }

    #[test]
    fn what_takes_tests_away_is_put_back_and_packages_are_left() {
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
        assert_eq!(oracle.put_back(root).unwrap(), [".cargo/config.toml", "package.json", "pytest.py"]);
        assert_eq!(std::fs::read_to_string(root.join("package.json")).unwrap(), manifest);
        assert!(!root.join("pytest.py").exists() && !root.join(".cargo/config.toml").exists());
        assert_eq!(oracle.changes(root), Vec::<String>::new());
        // An oracle of before this was kept is read as one without.
        let old: Oracle = serde_json::from_str(r#"{"files": {}}"#).unwrap();
        assert!(old.is_empty());
    }
}
