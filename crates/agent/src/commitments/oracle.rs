//! Hashes of files and directories that assertions judge by.
//!
//! In a directory every file counts, added ones too, except what test runs leave behind.

use super::commitment::Oracle;
use marvin_base::signature;
use marvin_gate::{DirectoryEntryKind, Refusal, Workspace};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes and files of one oracle.
const MAX_ORACLE_FILE_BYTES: u64 = 64 * 1024 * 1024;
const MAX_ORACLE_FILES: usize = 5_000;
const MAX_ORACLE_DEPTH: usize = 24;
/// Directories that runs of tests leave behind.
const LEFTOVERS: [&str; 6] =
    ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules", "target"];

/// Why an oracle cannot be hashed.
#[derive(Debug, thiserror::Error)]
pub(super) enum OracleError {
    #[error("{0}")]
    Path(Refusal),
    #[error("{}", .0.reason)]
    Open(Refusal),
    #[error("cannot {doing} `{path}`: {reason}")]
    Io { doing: &'static str, path: String, reason: String },
    #[error("`{0}` is larger than {MAX_ORACLE_FILE_BYTES} bytes")]
    TooLarge(String),
    #[error("`{0}` is nested too deep")]
    TooDeep(String),
    #[error("it holds more than {MAX_ORACLE_FILES} files")]
    TooMany,
}

impl OracleError {
    fn io(doing: &'static str, path: &str, error: &impl ToString) -> Self {
        OracleError::Io { doing, path: path.to_string(), reason: error.to_string() }
    }
}

/// Hashes a file or directory.
pub(super) fn hash(workspace: &Workspace, path: &str) -> Result<String, OracleError> {
    let place = workspace.path(path).map_err(OracleError::Path)?;
    let facts = workspace.metadata(&place).map_err(OracleError::Open)?;
    if facts.is_dir() {
        let mut found = BTreeMap::new();
        directory(workspace, place.as_path(), 0, &mut found)?;
        return Ok(signature::hash(&found));
    }
    let file = workspace.open_read(&place).map_err(OracleError::Open)?;
    of_file(file, path)
}

fn of_file(file: std::fs::File, path: &str) -> Result<String, OracleError> {
    let mut bytes = Vec::new();
    file.take(MAX_ORACLE_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| OracleError::io("read", path, &error))?;
    if bytes.len() as u64 > MAX_ORACLE_FILE_BYTES {
        return Err(OracleError::TooLarge(path.to_string()));
    }
    Ok(signature::hash_bytes(&bytes))
}

fn directory(
    workspace: &Workspace,
    path: &Path,
    depth: usize,
    found: &mut BTreeMap<String, String>,
) -> Result<(), OracleError> {
    let shown = path.display().to_string();
    let entries = workspace.list_plain(path).map_err(|error| OracleError::io("list", &shown, &error))?;
    if depth > MAX_ORACLE_DEPTH {
        return Err(OracleError::TooDeep(shown));
    }
    for entry in entries {
        let name = entry.name.to_string_lossy();
        if LEFTOVERS.contains(&&*name) || name.ends_with(".pyc") {
            continue;
        }
        if found.len() >= MAX_ORACLE_FILES {
            return Err(OracleError::TooMany);
        }
        let inner: PathBuf = path.join(&entry.name);
        let key = inner.display().to_string();
        match entry.kind {
            DirectoryEntryKind::Directory => directory(workspace, &inner, depth + 1, found)?,
            DirectoryEntryKind::File => {
                let (file, _) =
                    workspace.open_plain(&inner).map_err(|error| OracleError::io("read", &key, &error))?;
                let hash = of_file(file, &key)?;
                found.insert(key, hash);
            }
            DirectoryEntryKind::Link => {
                let target = std::fs::read_link(workspace.root().join(&inner)).unwrap_or_default();
                found.insert(key, format!("link to {}", target.display()));
            }
            DirectoryEntryKind::Other => {
                found.insert(key, "neither file nor directory".to_string());
            }
        }
    }
    Ok(())
}

/// First oracle that changed or cannot be read, as a sentence.
pub(super) fn changed(workspace: &Workspace, oracles: &[Oracle]) -> Option<String> {
    oracles.iter().find_map(|oracle| match hash(workspace, &oracle.path) {
        Ok(hash) if hash == oracle.sha256 => None,
        Ok(_) => Some(format!("`{}`, by which it is judged, was changed", oracle.path)),
        Err(why) => Some(format!("`{}`, by which it is judged, cannot be read: {why}", oracle.path)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_directories_are_hashed_by_content() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("tests/deep/__pycache__")).unwrap();
        std::fs::write(root.join("tests/a.py"), "a").unwrap();
        std::fs::write(root.join("tests/deep/b.py"), "b").unwrap();
        let workspace = Workspace::open(root, Path::new("/nowhere")).unwrap();
        let whole = hash(&workspace, "tests").unwrap();
        let one = Oracle { path: "tests/a.py".into(), sha256: hash(&workspace, "tests/a.py").unwrap() };
        assert_eq!(one.sha256, signature::hash_bytes(b"a"));
        std::fs::write(root.join("tests/deep/__pycache__/b.pyc"), "x").unwrap();
        assert_eq!(hash(&workspace, "tests").unwrap(), whole, "what a run leaves behind does not count");
        assert_eq!(changed(&workspace, std::slice::from_ref(&one)), None);
        std::fs::write(root.join("tests/conftest.py"), "skip").unwrap();
        assert_ne!(hash(&workspace, "tests").unwrap(), whole, "a new file counts");
        std::fs::write(root.join("tests/a.py"), "pass").unwrap();
        assert!(changed(&workspace, std::slice::from_ref(&one)).unwrap().contains("was changed"));
        std::fs::remove_file(root.join("tests/a.py")).unwrap();
        assert!(changed(&workspace, &[one]).unwrap().contains("cannot be read"));
        assert!(hash(&workspace, "../x").is_err());
    }
}
