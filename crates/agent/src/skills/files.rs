//! Files of a skill's directory, and the hash over all of them.

use super::skill::{SKILL_FILE, SkillError};
use marvin_base::file_stamp::FileStamp;
use marvin_base::files::{self, Links};
use marvin_base::signature;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Files of one skill, their bytes together, and directories on the way to one.
const MAX_FILES: usize = 500;
const MAX_BYTES: u64 = 32 * 1024 * 1024;
const MAX_NESTING: usize = 8;
/// Directories that tools leave behind; they are not part of a skill.
const LEFT_BEHIND: [&str; 5] = [".git", "__pycache__", ".pytest_cache", "node_modules", ".venv"];

/// Files of a skill, relative to its directory, sorted. What is neither a file nor a directory is refused.
///
/// # Errors
/// When the directory cannot be read, has a link in it, or is too large.
pub fn list(directory: &Path) -> Result<Vec<PathBuf>, SkillError> {
    let mut found = Vec::new();
    let mut bytes = 0;
    walk(directory, Path::new(""), 0, &mut found, &mut bytes)?;
    found.sort();
    Ok(found)
}

fn walk(
    root: &Path,
    below: &Path,
    nesting: usize,
    found: &mut Vec<PathBuf>,
    bytes: &mut u64,
) -> Result<(), SkillError> {
    let unreadable =
        |error: std::io::Error| SkillError::Unreadable(below.display().to_string(), error.to_string());
    for entry in std::fs::read_dir(root.join(below)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        if LEFT_BEHIND.iter().any(|left| name == *left) {
            continue;
        }
        let path = below.join(&name);
        let facts = entry.metadata().map_err(unreadable)?;
        if facts.is_dir() {
            if nesting >= MAX_NESTING {
                return Err(SkillError::TooMany(format!("{MAX_NESTING} nested directories in it")));
            }
            walk(root, &path, nesting + 1, found, bytes)?;
        } else if facts.is_file() && path.to_str().is_some() {
            *bytes += facts.len();
            found.push(path);
            if found.len() > MAX_FILES || *bytes > MAX_BYTES {
                return Err(SkillError::TooMany(format!("{MAX_FILES} files or {MAX_BYTES} bytes in it")));
            }
        } else {
            return Err(SkillError::NotAFile(path.display().to_string()));
        }
    }
    Ok(())
}

/// Hidden files are not part of what a skill tells.
pub(super) fn is_hidden(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

/// Files of a directory with their stamps.
pub(super) type FileStamps = Vec<(PathBuf, Option<FileStamp>)>;

/// Stamps of all files of a directory, by which a cached hash is known to be valid.
pub(super) fn stamps(directory: &Path) -> Result<FileStamps, SkillError> {
    let stamp = |path: PathBuf| {
        let stamp = FileStamp::from_path(&directory.join(&path));
        (path, stamp)
    };
    Ok(list(directory)?.into_iter().map(stamp).collect())
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Relative to the directory of the skill.
    pub path: String,
    pub content: Vec<u8>,
    pub is_executable: bool,
}

/// Whether the owner of a file may execute it.
pub(super) fn is_executable(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|facts| facts.permissions().mode() & 0o100 != 0)
}

/// Reads a file of a skill.
pub(super) fn read(directory: &Path, path: &Path) -> Result<Vec<u8>, SkillError> {
    files::read(&directory.join(path), MAX_BYTES, Links::Refuse)
        .map_err(|error| SkillError::Unreadable(path.display().to_string(), error.to_string()))
}

/// Hashes of a directory: over paths and contents of all files, and of `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectoryHash {
    pub(super) all: String,
    pub(super) skill_file: Option<String>,
}

impl DirectoryHash {
    pub(super) fn take(directory: &Path) -> Result<Self, SkillError> {
        let mut all = Vec::new();
        for path in list(directory)? {
            let content = signature::hash_bytes(&read(directory, &path)?);
            all.push((path.display().to_string(), content));
        }
        let skill_file = all.iter().find(|(path, _)| path == SKILL_FILE).map(|(_, hash)| hash.clone());
        Ok(DirectoryHash { all: signature::hash(&all), skill_file })
    }
}

/// SHA-256 over the paths and contents of all files of a directory.
///
/// # Errors
/// When one of them cannot be read.
pub fn hash(directory: &Path) -> Result<String, SkillError> {
    DirectoryHash::take(directory).map(|hash| hash.all)
}
