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
    let mut listing = Listing::default();
    listing.walk_root(directory)?;
    listing.files.sort();
    Ok(listing.files)
}

/// Stamps of the directories of a skill whose files can be listed. While they hold, no file was added, removed or replaced by a
/// link; a file that grew beyond the limit is noticed when the skill is loaded.
pub(super) fn directory_stamps(directory: &Path) -> Result<FileStamps, SkillError> {
    let mut listing = Listing::default();
    listing.walk_root(directory)?;
    Ok(listing.directories)
}

/// A directory as it is walked.
#[derive(Debug, Default)]
struct Listing {
    files: Vec<PathBuf>,
    bytes: u64,
    /// Each stamp is older than the listing of its directory.
    directories: FileStamps,
}

impl Listing {
    fn walk_root(&mut self, root: &Path) -> Result<(), SkillError> {
        self.directories.push((root.to_path_buf(), FileStamp::from_path(root)));
        self.walk(root, Path::new(""), 0)
    }

    fn walk(&mut self, root: &Path, below: &Path, nesting: usize) -> Result<(), SkillError> {
        let unreadable =
            |error: std::io::Error| SkillError::Unreadable(below.display().to_string(), error.to_string());
        let directory = root.join(below);
        for entry in std::fs::read_dir(&directory).map_err(unreadable)? {
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
                self.directories.push((root.join(&path), Some(FileStamp::from_metadata(&facts))));
                self.walk(root, &path, nesting + 1)?;
            } else if facts.is_file() && path.to_str().is_some() {
                self.bytes += facts.len();
                self.files.push(path);
                if self.files.len() > MAX_FILES || self.bytes > MAX_BYTES {
                    return Err(SkillError::TooMany(format!("{MAX_FILES} files or {MAX_BYTES} bytes in it")));
                }
            } else {
                return Err(SkillError::NotAFile(path.display().to_string()));
            }
        }
        Ok(())
    }
}

/// Hidden files are not part of what a skill tells.
pub(super) fn is_hidden(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

/// Paths with their stamps.
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
