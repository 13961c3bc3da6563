//! Rule files of projects that a person trusts.
//!
//! A project's directory can be written by the agent that works in it, or come from a stranger. So a project may always make
//! things stricter; what it would allow counts only while a person has said so for exactly this content. The list of
//! contents lies in the person's directory, which no contained command can write.

use marvin_base::atomic::{self, WriteError};
use marvin_base::files::{self, Links};
use marvin_base::signature;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A list larger than this is not one.
const MAX_TRUST_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// SHA-256 of the content, by absolute path.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

impl Trust {
    /// Reads the list. One that is missing or broken trusts nothing.
    #[must_use]
    pub fn read(path: &Path) -> Trust {
        let text = files::read_text(path, MAX_TRUST_FILE_BYTES, Links::Follow).ok();
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Is this content of this file trusted?
    #[must_use]
    pub fn holds(&self, file: &Path, hash: &str) -> bool {
        !hash.is_empty() && self.files.get(&name(file)).is_some_and(|known| known == hash)
    }

    /// Is there any content of this file that is trusted?
    #[must_use]
    pub fn knows(&self, file: &Path) -> bool {
        self.files.contains_key(&name(file))
    }

    /// Is a file trusted as it is now? One that cannot be read is not.
    #[must_use]
    pub fn holds_file(&self, file: &Path) -> bool {
        files::read(file, MAX_TRUST_FILE_BYTES, Links::Refuse).is_ok_and(|bytes| {
            bytes.len() as u64 <= MAX_TRUST_FILE_BYTES && self.holds(file, &signature::hash_bytes(&bytes))
        })
    }

    /// Trusts a file as it is now, or no longer when it is gone; writes the list.
    ///
    /// # Errors
    /// When the file cannot be read or the list cannot be written.
    pub fn note(list: &Path, file: &Path) -> Result<(), WriteError> {
        let mut trust = Trust::read(list);
        match files::read(file, u64::MAX - 1, Links::Refuse) {
            Ok(bytes) => {
                trust.files.insert(name(file), signature::hash_bytes(&bytes));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                trust.files.remove(&name(file));
            }
            Err(source) => return Err(WriteError { path: file.display().to_string(), source }),
        }
        trust.write(list)
    }

    /// Trusts a content that is not a whole file, under a name like one's; writes the list.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub fn note_hash(list: &Path, file: &Path, hash: &str) -> Result<(), WriteError> {
        let mut trust = Trust::read(list);
        trust.files.insert(name(file), hash.to_string());
        trust.write(list)
    }

    /// Trusts a file no longer; writes the list.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub fn forget(list: &Path, file: &Path) -> Result<(), WriteError> {
        let mut trust = Trust::read(list);
        trust.files.remove(&name(file));
        trust.write(list)
    }

    fn write(&self, list: &Path) -> Result<(), WriteError> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        atomic::replace_private(list, format!("{text}\n").as_bytes())
    }
}

/// The one name of a file: links on the way to it are resolved.
fn name(file: &Path) -> String {
    let directory = file.parent().and_then(|directory| directory.canonicalize().ok());
    match (directory, file.file_name()) {
        (Some(directory), Some(last)) => directory.join(last).display().to_string(),
        _ => file.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_trusted_and_not_a_name() {
        let directory = tempfile::tempdir().unwrap();
        let (list, file) =
            (directory.path().join("user/trusted.json"), directory.path().join("allowlist.json"));
        std::fs::write(&file, "one").unwrap();
        let (one, two) = (signature::hash_bytes(b"one"), signature::hash_bytes(b"two"));
        assert!(!Trust::read(&list).holds(&file, &one));
        Trust::note(&list, &file).unwrap();
        assert!(Trust::read(&list).holds(&file, &one) && !Trust::read(&list).holds(&file, &two));
        Trust::forget(&list, &file).unwrap();
        assert!(!Trust::read(&list).holds(&file, &one));
        std::fs::write(&list, "{").unwrap();
        assert!(!Trust::read(&list).holds(&file, &one));
    }
}
