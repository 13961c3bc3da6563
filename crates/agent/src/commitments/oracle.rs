//! Hashes of files and directories that assertions judge by.
//!
//! In a directory every file counts, added ones too. Left out is only what honest runs of tests write and what a verification
//! never loads: bytecode in `__pycache__`, since a verification has a bytecode cache of its own, data in the caches of tools,
//! and caches and cargo's `target` where the tests run in a copy without them. Whatever can be loaded in place of the
//! oracle's own files counts: dependencies, virtual environments, native modules, bytecode without a source.

use super::commitment::Oracle;
use marvin_base::signature;
use marvin_gate::{DirectoryEntry, DirectoryEntryKind, Refusal, Workspace};
use marvin_tools::command::is_left_out_of_copies;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Bytes and files of one oracle.
const MAX_ORACLE_FILE_BYTES: u64 = 64 * 1024 * 1024;
const MAX_ORACLE_FILES: usize = 5_000;
const MAX_ORACLE_DEPTH: usize = 24;
/// Bytes and files of the dependencies that are installed in one oracle, and how deep they are nested.
const MAX_DEPENDENCY_FILE_BYTES: u64 = 256 * 1024 * 1024;
const MAX_DEPENDENCY_FILES: usize = 100_000;
const MAX_DEPENDENCY_DEPTH: usize = 64;
/// Planted files that are looked for one by one, and names in a sentence.
const MAX_SUSPECTS: usize = 40;
const MAX_NAMES: usize = 5;

/// Python's directory of bytecode, and the endings of bytecode.
const BYTECODE_DIRECTORY: &str = "__pycache__";
const BYTECODE_ENDINGS: [&str; 2] = ["pyc", "pyo"];
/// Directories in which tools keep data between runs.
const DATA_CACHES: [&str; 3] = [".pytest_cache", ".mypy_cache", ".ruff_cache"];
/// Directories of installed dependencies.
const DEPENDENCIES: [&str; 3] = ["node_modules", ".venv", "venv"];
/// Cargo's directory of builds, beside this manifest.
const BUILDS: &str = "target";
const MANIFEST: &str = "Cargo.toml";
/// Endings of files that an interpreter loads in place of a source of the same name, or when it starts.
const REPLACING_ENDINGS: [&str; 7] = ["pyc", "pyo", "pyd", "so", "pth", "node", "wasm"];
/// Endings of files that a program can load as code; the caches of tools have none of them.
const CODE_ENDINGS: [&str; 18] = [
    "pyc", "pyo", "pyd", "so", "pth", "node", "wasm", "py", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts",
    "tsx", "sh", "rb",
];

/// The tree in which an assertion is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VerifiedTree {
    /// The workspace itself, with everything that lies in it.
    Workspace,
    /// A fresh copy without caches and builds.
    Copy,
}

/// Why an oracle cannot be hashed.
#[derive(Debug, thiserror::Error)]
pub(super) enum OracleError {
    #[error("{0}")]
    Path(Refusal),
    #[error("{}", .0.reason)]
    Open(Refusal),
    #[error("cannot {doing} `{path}`: {reason}")]
    Io { doing: &'static str, path: String, reason: String },
    #[error("`{path}` is larger than {most} bytes")]
    TooLarge { path: String, most: u64 },
    #[error("`{0}` is nested too deep")]
    TooDeep(String),
    #[error("it holds more than {MAX_ORACLE_FILES} files, or {MAX_DEPENDENCY_FILES} of dependencies")]
    TooMany,
}

impl OracleError {
    fn io(doing: &'static str, path: &str, error: &impl ToString) -> Self {
        OracleError::Io { doing, path: path.to_string(), reason: error.to_string() }
    }
}

/// Hashes a file or directory.
pub(super) fn hash(workspace: &Workspace, path: &str, tree: VerifiedTree) -> Result<String, OracleError> {
    Ok(match contents(workspace, path, tree)? {
        Contents::File(hash) => hash,
        Contents::Directory { files, .. } => signature::hash(&files),
    })
}

/// The contents of an oracle, as hashes.
enum Contents {
    File(String),
    Directory {
        files: BTreeMap<String, String>,
        /// Files and directories among them that can be loaded in place of others.
        replacing: BTreeSet<String>,
    },
}

fn contents(workspace: &Workspace, path: &str, tree: VerifiedTree) -> Result<Contents, OracleError> {
    let place = workspace.path(path).map_err(OracleError::Path)?;
    let facts = workspace.metadata(&place).map_err(OracleError::Open)?;
    if facts.is_dir() {
        let mut walk =
            Walk { workspace, tree, files: BTreeMap::new(), replacing: BTreeSet::new(), of_dependencies: 0 };
        walk.directory(place.as_path(), DirectoryRole::Own, 0)?;
        return Ok(Contents::Directory { files: walk.files, replacing: walk.replacing });
    }
    let file = workspace.open_read(&place).map_err(OracleError::Open)?;
    Ok(Contents::File(hash_file(file, path, MAX_ORACLE_FILE_BYTES)?))
}

fn hash_file(file: File, path: &str, most: u64) -> Result<String, OracleError> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| OracleError::io("read", path, &error))?;
    if bytes.len() as u64 > most {
        return Err(OracleError::TooLarge { path: path.to_string(), most });
    }
    Ok(signature::hash_bytes(&bytes))
}

/// The role of a directory inside an oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DirectoryRole {
    Own,
    Dependencies,
    Bytecode,
    DataCache,
}

struct Walk<'a> {
    workspace: &'a Workspace,
    tree: VerifiedTree,
    files: BTreeMap<String, String>,
    replacing: BTreeSet<String>,
    of_dependencies: usize,
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path, role: DirectoryRole, depth: usize) -> Result<(), OracleError> {
        let shown = path.display().to_string();
        let entries = self.workspace.list_plain(path);
        let entries = entries.map_err(|error| OracleError::io("list", &shown, &error))?;
        let most = if role == DirectoryRole::Own { MAX_ORACLE_DEPTH } else { MAX_DEPENDENCY_DEPTH };
        if depth > most {
            return Err(OracleError::TooDeep(shown));
        }
        let has_manifest = entries.iter().any(|entry| entry.name == MANIFEST);
        for entry in &entries {
            let inner = path.join(&entry.name);
            match entry.kind {
                DirectoryEntryKind::Directory => {
                    let name = entry.name.to_string_lossy();
                    // The manifest is part of the oracle, so a planted one is found.
                    let is_build = name == BUILDS && has_manifest && role == DirectoryRole::Own;
                    let is_in_copy = !is_build && !is_left_out_of_copies(&name);
                    if self.tree == VerifiedTree::Copy && !is_in_copy {
                        continue;
                    }
                    let inner_role = match role {
                        _ if name == BYTECODE_DIRECTORY => DirectoryRole::Bytecode,
                        DirectoryRole::Own if is_build || DEPENDENCIES.contains(&&*name) => {
                            self.replacing.insert(inner.display().to_string());
                            DirectoryRole::Dependencies
                        }
                        DirectoryRole::Own if DATA_CACHES.contains(&&*name) => DirectoryRole::DataCache,
                        role => role,
                    };
                    self.directory(&inner, inner_role, depth + 1)?;
                }
                _ => self.entry(&inner, entry, role)?,
            }
        }
        Ok(())
    }

    /// Adds a file, a link or the like.
    fn entry(&mut self, path: &Path, entry: &DirectoryEntry, role: DirectoryRole) -> Result<(), OracleError> {
        let key = path.display().to_string();
        let has_ending = |endings: &[&str]| {
            path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
        };
        let hash = match entry.kind {
            DirectoryEntryKind::Link => {
                let target = std::fs::read_link(self.workspace.root().join(path)).unwrap_or_default();
                format!("link to {}", target.display())
            }
            DirectoryEntryKind::File => {
                if role == DirectoryRole::Bytecode && has_ending(&BYTECODE_ENDINGS) {
                    return Ok(());
                }
                let (file, _) =
                    self.workspace.open_plain(path).map_err(|error| OracleError::io("read", &key, &error))?;
                if role == DirectoryRole::DataCache && !has_ending(&CODE_ENDINGS) && !is_executable(&file) {
                    return Ok(());
                }
                let is_own = role == DirectoryRole::Own;
                let most = if is_own { MAX_ORACLE_FILE_BYTES } else { MAX_DEPENDENCY_FILE_BYTES };
                hash_file(file, &key, most)?
            }
            _ => "neither file nor directory".to_string(),
        };
        match role {
            DirectoryRole::Dependencies => self.of_dependencies += 1,
            DirectoryRole::Own if !has_ending(&REPLACING_ENDINGS) => {}
            _ => {
                self.replacing.insert(key.clone());
            }
        }
        self.files.insert(key, hash);
        let own = self.files.len() - self.of_dependencies;
        if own > MAX_ORACLE_FILES || self.of_dependencies > MAX_DEPENDENCY_FILES {
            return Err(OracleError::TooMany);
        }
        Ok(())
    }
}

fn is_executable(file: &File) -> bool {
    file.metadata().is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

/// A change of an oracle.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OracleChange {
    /// The change, as a sentence.
    pub(super) sentence: String,
    pub(super) hint: Option<String>,
}

/// First oracle that changed or cannot be read.
pub(super) fn changed(workspace: &Workspace, oracles: &[Oracle], tree: VerifiedTree) -> Option<OracleChange> {
    oracles.iter().find_map(|oracle| match contents(workspace, &oracle.path, tree) {
        Ok(found) => found.change_from(oracle),
        Err(why) => {
            let sentence = format!("`{}`, by which it is judged, cannot be read: {why}", oracle.path);
            Some(OracleChange { sentence, hint: None })
        }
    })
}

impl Contents {
    /// The difference from an oracle's hash. What can be loaded in place of the oracle's files is named where the oracle is as
    /// it was without it.
    fn change_from(&self, oracle: &Oracle) -> Option<OracleChange> {
        let (files, replacing) = match self {
            Contents::File(hash) if *hash == oracle.sha256 => return None,
            Contents::Directory { files, .. } if signature::hash(files) == oracle.sha256 => return None,
            Contents::File(_) => return Some(OracleChange::plain(oracle)),
            Contents::Directory { files, replacing } => (files, replacing),
        };
        let is_without = |left_out: &[&String]| {
            let is_kept = |path: &&String| !left_out.iter().any(|place| Path::new(path).starts_with(place));
            let rest: BTreeMap<_, _> = files.iter().filter(|(path, _)| is_kept(path)).collect();
            signature::hash(&rest) == oracle.sha256
        };
        let all: Vec<&String> = replacing.iter().collect();
        let planted = all
            .iter()
            .take(MAX_SUSPECTS)
            .map(std::slice::from_ref)
            .chain([&*all])
            .find(|some| is_without(some));
        let Some(planted) = planted.filter(|planted| !planted.is_empty()) else {
            return Some(OracleChange::plain(oracle));
        };
        let mut names: Vec<String> = planted.iter().take(MAX_NAMES).map(|path| format!("`{path}`")).collect();
        if planted.len() > MAX_NAMES {
            names.push(format!("{} more", planted.len() - MAX_NAMES));
        }
        let names = names.join(", ");
        Some(OracleChange {
            sentence: format!(
                "`{}`, by which it is judged, was changed: it now holds {names}, which can be loaded in place of its own files",
                oracle.path
            ),
            hint: Some(format!(
                "remove {names}, or install it outside of `{}`; a person accepts it with `marvin commitments rehash ID`",
                oracle.path
            )),
        })
    }
}

impl OracleChange {
    fn plain(oracle: &Oracle) -> Self {
        let sentence = format!("`{}`, by which it is judged, was changed", oracle.path);
        OracleChange { sentence, hint: None }
    }

    /// The reason of a commitment that failed, and what else was found.
    pub(super) fn reason(&self, addition: &str) -> String {
        let hint = self.hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
        format!("{}{addition}{hint}", self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_testing::write;
    use std::fs;

    /// A project with an oracle `tests`.
    struct JudgedOracle {
        directory: tempfile::TempDir,
        tree: VerifiedTree,
        oracle: Oracle,
    }

    impl JudgedOracle {
        fn new(tree: VerifiedTree, files: &[&str]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            for path in ["tests/test_a.py", "tests/deep/helper.py"].iter().chain(files) {
                write(directory.path().join(path), "text");
            }
            let workspace = Workspace::open(directory.path(), Path::new("/nowhere")).unwrap();
            let oracle = Oracle { path: "tests".into(), sha256: hash(&workspace, "tests", tree).unwrap() };
            JudgedOracle { directory, tree, oracle }
        }

        fn write(&self, path: &str) {
            write(self.directory.path().join(path), "other text");
        }

        fn change(&self) -> Option<String> {
            let workspace = Workspace::open(self.directory.path(), Path::new("/nowhere")).unwrap();
            let change = changed(&workspace, std::slice::from_ref(&self.oracle), self.tree);
            change.map(|change| change.reason(""))
        }
    }

    #[test]
    fn files_and_directories_are_hashed_by_content() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        write(root.join("tests/a.py"), "a");
        write(root.join("tests/deep/b.py"), "b");
        let workspace = Workspace::open(root, Path::new("/nowhere")).unwrap();
        let hash = |path: &str| hash(&workspace, path, VerifiedTree::Workspace);
        let changed = |oracle: &Oracle| {
            let change = super::changed(&workspace, std::slice::from_ref(oracle), VerifiedTree::Workspace);
            change.map(|change| change.reason(""))
        };
        let whole = hash("tests").unwrap();
        let one = Oracle { path: "tests/a.py".into(), sha256: hash("tests/a.py").unwrap() };
        assert_eq!(one.sha256, signature::hash_bytes(b"a"));
        assert_eq!(changed(&one), None);
        fs::write(root.join("tests/conftest.py"), "skip").unwrap();
        assert_ne!(hash("tests").unwrap(), whole, "a new file counts");
        fs::write(root.join("tests/a.py"), "pass").unwrap();
        assert!(changed(&one).unwrap().contains("was changed"));
        fs::remove_file(root.join("tests/a.py")).unwrap();
        assert!(changed(&one).unwrap().contains("cannot be read"));
        assert!(hash("../x").is_err());
    }

    #[test]
    fn files_of_honest_runs_do_not_count() {
        let honest = [
            "tests/__pycache__/test_a.cpython-311.pyc",
            "tests/deep/__pycache__/helper.cpython-311-pytest-8.3.4.pyc",
            "tests/.pytest_cache/v/cache/lastfailed",
            "tests/.pytest_cache/README.md",
            "tests/.pytest_cache/CACHEDIR.TAG",
            "tests/.mypy_cache/3.11/helper.data.json",
            "tests/.ruff_cache/0.9.1/1234567",
        ];
        for tree in [VerifiedTree::Workspace, VerifiedTree::Copy] {
            let judged = JudgedOracle::new(tree, &[]);
            honest.iter().for_each(|path| judged.write(path));
            assert_eq!(judged.change(), None, "{tree:?}");
        }
        let judged =
            JudgedOracle::new(VerifiedTree::Copy, &["tests/Cargo.toml", "tests/node_modules/a/index.js"]);
        judged.write("tests/target/debug/build");
        judged.write("tests/node_modules/.cache/babel/a.js");
        judged.write("tests/.hypothesis/examples/1");
        assert_eq!(judged.change(), None, "the copy has no builds and no caches");
    }

    #[test]
    fn files_that_are_loaded_in_place_of_the_oracle_count_and_are_named() {
        let planted = [
            ("tests/node_modules/chai/index.js", "tests/node_modules"),
            ("tests/deep/.venv/lib/helper.py", "tests/deep/.venv"),
            ("tests/venv/lib/helper.py", "tests/venv"),
            ("tests/helper.pyc", "tests/helper.pyc"),
            ("tests/helper.cpython-311-x86_64-linux-gnu.so", "tests/helper.cpython-311-x86_64-linux-gnu.so"),
            ("tests/hook.pth", "tests/hook.pth"),
            ("tests/addon.node", "tests/addon.node"),
            ("tests/__pycache__/helper.py", "tests/__pycache__/helper.py"),
            ("tests/.pytest_cache/conftest.py", "tests/.pytest_cache/conftest.py"),
            ("tests/.mypy_cache/a/index.js", "tests/.mypy_cache/a/index.js"),
        ];
        for (path, name) in planted {
            let judged = JudgedOracle::new(VerifiedTree::Workspace, &[]);
            judged.write("tests/__pycache__/test_a.cpython-311.pyc");
            judged.write(path);
            let reason = judged.change().unwrap_or_else(|| panic!("{path} does not count"));
            assert!(reason.contains(&format!("it now holds `{name}`")), "{path}: {reason}");
            assert!(reason.contains("hint: remove"), "{path}: {reason}");
        }
        let judged = JudgedOracle::new(VerifiedTree::Workspace, &["tests/Cargo.toml"]);
        judged.write("tests/target/debug/check");
        assert!(judged.change().unwrap().contains("`tests/target`"));
        let judged = JudgedOracle::new(VerifiedTree::Workspace, &[]);
        (0..9).for_each(|number| judged.write(&format!("tests/{number}.so")));
        assert!(judged.change().unwrap().contains("`tests/4.so`, 4 more, which"));
        let judged = JudgedOracle::new(VerifiedTree::Copy, &[]);
        judged.write("tests/target/conftest.py");
        assert!(judged.change().is_some(), "without a manifest it is a directory like any other");
        let judged = JudgedOracle::new(VerifiedTree::Workspace, &[]);
        let (cache, elsewhere) = ("tests/__pycache__", "caches");
        fs::create_dir(judged.directory.path().join(elsewhere)).unwrap();
        std::os::unix::fs::symlink("../caches", judged.directory.path().join(cache)).unwrap();
        assert!(judged.change().is_some(), "a link is not a cache");
    }

    #[test]
    fn dependencies_that_were_there_are_compared_by_content() {
        let judged = JudgedOracle::new(VerifiedTree::Workspace, &["tests/node_modules/chai/index.js"]);
        assert_eq!(judged.change(), None);
        judged.write("tests/node_modules/chai/index.js");
        assert!(judged.change().unwrap().contains("was changed"));
    }
}
