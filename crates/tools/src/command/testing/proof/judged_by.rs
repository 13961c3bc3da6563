//! The files that a run is judged by, in the copy in which it runs: tests, oracles, and what steers the runner.
//!
//! Code under test can write into the copy. A test that it rewrites before the runner loads it proves nothing, even if it is
//! restored before the end; the change time of a file shows both, since no program can set it. For the same reason cargo builds
//! before it runs ([`CompiledTests`]): a test must not replace the program of another one.
//!
//! Limits: new files are not findings, since honest tests write beside their own. Files that a build system generates are
//! compared where the build is a step of its own.

use super::seal::TestSeal;
use super::source::is_test_file;
use super::table;
use super::tree;
use marvin_base::signature;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files of oracles that are compared.
const MAX_FILES: usize = 20_000;
/// Compiled files that are compared.
const MAX_COMPILED_FILES: usize = 20_000;
/// Directories of a build that are looked into: `target/TRIPLE/debug/deps`.
const MAX_BUILD_DEPTH: usize = 3;
/// The directory of a build with test programs and libraries.
const COMPILED: &str = "deps";
/// Files that builds write again, although they steer what follows.
const GENERATED: [&str; 5] =
    ["CTestTestfile.cmake", "build.ninja", "entry_points.txt", "modules.txt", "pyvenv.cfg"];

/// Metadata of a file that changes with it, and that no program can restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileMark {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl FileMark {
    fn from_metadata(facts: &Metadata) -> Self {
        FileMark { inode: facts.ino(), size: facts.size(), changed: (facts.ctime(), facts.ctime_nsec()) }
    }
}

/// The files by which a run in a copy is judged, at one moment.
#[derive(Debug)]
pub(super) struct JudgingFiles {
    marks: BTreeMap<PathBuf, FileMark>,
}

impl JudgingFiles {
    /// Marks the tests and steering files of these seals, and every file of the oracles.
    pub(super) fn mark<'a>(
        root: &Path,
        seals: impl IntoIterator<Item = &'a TestSeal>,
        oracles: &[&str],
    ) -> Self {
        let mut files = JudgingFiles { marks: BTreeMap::new() };
        let targets = tree::make_targets(root);
        for seal in seals {
            let steering = seal.steering.keys().map(|key| Path::new(table::path_of(key)));
            for path in steering.filter(|path| !is_generated(path) && !targets.is_match(path)) {
                files.add(root, path);
            }
            // Sources with unit tests are compiled before these run, and code generators write some.
            let tests = seal.tests.keys().map(Path::new);
            for path in tests.filter(|path| is_test_file(path) && !targets.is_match(path)) {
                files.add(root, path);
            }
        }
        for oracle in oracles {
            files.add_tree(root, Path::new(oracle));
        }
        files
    }

    fn add(&mut self, root: &Path, path: &Path) {
        if let Ok(facts) = root.join(path).symlink_metadata()
            && !facts.is_dir()
        {
            self.marks.insert(path.to_path_buf(), FileMark::from_metadata(&facts));
        }
    }

    fn add_tree(&mut self, root: &Path, path: &Path) {
        let mut waiting = vec![path.to_path_buf()];
        while let Some(path) = waiting.pop() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !root.join(&path).is_dir() || root.join(&path).is_symlink() {
                self.add(root, &path);
            } else if !tree::is_left_out_of_copies(&name) && name != ".git" && self.marks.len() < MAX_FILES {
                let entries = std::fs::read_dir(root.join(&path)).into_iter().flatten().flatten();
                waiting.extend(entries.map(|entry| path.join(entry.file_name())));
            }
        }
    }

    /// A sentence about a file that is not as it was marked.
    pub(super) fn change(&self, root: &Path) -> Option<String> {
        self.marks.iter().find_map(|(path, mark)| {
            let now = root.join(path).symlink_metadata().ok().map(|facts| FileMark::from_metadata(&facts));
            let happened = match now {
                Some(now) if now == *mark => return None,
                Some(_) => "written",
                None => "removed",
            };
            Some(format!(
                "`{}`, by which the tests are judged, was {happened} while they ran\n  hint: let tests write into a temporary directory",
                path.display()
            ))
        })
    }
}

fn is_generated(path: &Path) -> bool {
    let has_ending = path.extension().is_some_and(|ending| ending == "mk");
    has_ending || path.file_name().is_some_and(|name| GENERATED.iter().any(|known| name == *known))
}

/// Programs and libraries that a build of cargo made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CompiledTests {
    files: BTreeMap<PathBuf, CompiledFile>,
}

#[derive(Debug, PartialEq, Eq)]
enum CompiledFile {
    Mark(FileMark),
    /// Of a file with a second name, which cargo makes and removes: that is a change too.
    Content(String),
}

impl CompiledTests {
    /// Marks what is in the directories `deps` of a build directory.
    pub(super) fn mark(build: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut waiting = vec![(build.to_path_buf(), 0)];
        while let Some((directory, depth)) = waiting.pop() {
            let is_compiled = directory.ends_with(COMPILED);
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                let (path, Ok(facts)) = (entry.path(), entry.metadata()) else { continue };
                if facts.is_dir() && depth < MAX_BUILD_DEPTH {
                    waiting.push((path, depth + 1));
                } else if facts.is_file() && is_compiled && files.len() < MAX_COMPILED_FILES {
                    let file = if facts.nlink() == 1 {
                        CompiledFile::Mark(FileMark::from_metadata(&facts))
                    } else {
                        let bytes = std::fs::read(&path).unwrap_or_default();
                        CompiledFile::Content(signature::hash_bytes(&bytes))
                    };
                    files.insert(path, file);
                }
            }
        }
        CompiledTests { files }
    }

    /// A sentence about a file that is not as it was built.
    pub(super) fn change(&self, build: &Path) -> Option<String> {
        let now = CompiledTests::mark(build);
        let changed = self.files.iter().find(|(path, file)| match (file, now.files.get(*path)) {
            (file, Some(same)) if *file == same => false,
            // It has another number of names now.
            (CompiledFile::Content(content), Some(CompiledFile::Mark(_))) => {
                let bytes = std::fs::read(path).unwrap_or_default();
                *content != signature::hash_bytes(&bytes)
            }
            _ => true,
        });
        changed.map(|(path, _)| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!("the compiled file `{name}` was replaced while the tests ran")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_testing::write;
    use std::fs::{self, File};
    use std::time::Duration;

    fn sealed(paths: &[&str]) -> TestSeal {
        let steering = paths.iter().map(|path| ((*path).to_string(), String::new())).collect();
        TestSeal { steering, ..TestSeal::default() }
    }

    #[test]
    fn s8_a_test_that_was_rewritten_and_restored_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in ["tests/test_a.py", "tests/data/want.txt", "conftest.py", "rules.mk", "calc.py"] {
            write(root.join(path), "text");
        }
        let seal = sealed(&["conftest.py", "rules.mk", "pyproject.toml#tool.pytest"]);
        let mark = || JudgingFiles::mark(root, [&seal], &["tests"]);
        let files = mark();
        std::thread::sleep(Duration::from_millis(20));
        for path in ["tests/new.txt", "tests/__pycache__/a.pyc", "rules.mk", "calc.py"] {
            write(root.join(path), "other");
        }
        assert_eq!(files.change(root), None, "new files, generated ones, and the work");
        for path in ["tests/test_a.py", "tests/data/want.txt", "conftest.py"] {
            let (files, place) = (mark(), root.join(path));
            let time = fs::metadata(&place).unwrap().modified().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            fs::write(&place, "pass").unwrap();
            fs::write(&place, "text").unwrap();
            File::options().write(true).open(&place).unwrap().set_modified(time).unwrap();
            assert!(files.change(root).unwrap().contains(path), "{path}");
        }
        let files = mark();
        fs::remove_file(root.join("conftest.py")).unwrap();
        assert!(files.change(root).unwrap().contains("was removed"));
    }

    #[test]
    fn s8_a_replaced_test_program_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let build = directory.path();
        let (program, library) = (build.join("debug/deps/calc-1"), build.join("debug/deps/libcalc-1.rlib"));
        write(&program, "program");
        write(&library, "library");
        fs::hard_link(&library, build.join("debug/libcalc.rlib")).unwrap();
        let built = CompiledTests::mark(build);
        std::thread::sleep(Duration::from_millis(20));
        write(build.join("debug/deps/other-2"), "a further build");
        fs::remove_file(build.join("debug/libcalc.rlib")).unwrap();
        assert_eq!(built.change(build), None, "new files, and another number of names");
        let built = CompiledTests::mark(build);
        fs::remove_file(&program).unwrap();
        write(&program, "program");
        assert!(built.change(build).unwrap().contains("calc-1"));
        let built = CompiledTests::mark(build);
        fs::write(&library, "another").unwrap();
        assert!(built.change(build).unwrap().contains("libcalc-1.rlib"));
    }
}
