//! What `marvin init` wrote on this machine: `.marvin/init.json`.
//!
//! It makes two things possible: taking a file back to the very bytes it had, and telling a file that nobody touched since
//! from one that somebody changed. It is not needed for anything else; without it hooks are found by what they start.
//! A project's files may come from a stranger, so nothing is believed that the file itself does not bear out.

use super::text::{self, Edit};
use marvin_base::signature;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The whole receipt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    #[serde(default)]
    version: u32,
    /// Directories that were made.
    #[serde(default)]
    #[serde(rename = "folders")]
    pub(super) directories: BTreeSet<String>,
    /// Files, by their names relative to the project.
    #[serde(default)]
    files: BTreeMap<String, Entry>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Whether it was made, not changed.
    #[serde(default)]
    made: bool,
    /// Its content when it had been written.
    sha256: String,
    /// How to take it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edits: Vec<Edit>,
}

impl Receipt {
    /// Reads a receipt; one that cannot be read is none.
    pub(super) fn read(bytes: &[u8]) -> Receipt {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// The receipt as it is written; `None` when there is nothing to say.
    pub(super) fn written(&self) -> Option<Vec<u8>> {
        if self.files.is_empty() && self.directories.is_empty() {
            return None;
        }
        let text = serde_json::to_string_pretty(&Receipt { version: 1, ..self.clone() }).ok()?;
        Some(format!("{text}\n").into_bytes())
    }

    /// Notes a file that was made.
    pub(super) fn made(&mut self, name: &str, content: &[u8]) {
        let entry = Entry { made: true, sha256: signature::hash_bytes(content), edits: Vec::new() };
        self.files.insert(name.to_string(), entry);
    }

    /// Notes a file that was changed.
    pub(super) fn changed(&mut self, name: &str, content: &[u8], edits: Vec<Edit>) {
        self.files
            .insert(name.to_string(), Entry { made: false, sha256: signature::hash_bytes(content), edits });
    }

    /// Forgets a file.
    pub(super) fn forget(&mut self, name: &str) {
        self.files.remove(name);
    }

    /// Was this file made, and is it still what was written?
    pub(super) fn untouched(&self, name: &str, content: &[u8]) -> bool {
        self.entry(name, content).is_some_and(|entry| entry.made)
    }

    /// The bytes that a changed file had before, if it is still what was written.
    pub(super) fn before(&self, name: &str, content: &[u8]) -> Option<Vec<u8>> {
        let entry = self.entry(name, content).filter(|entry| !entry.made && !entry.edits.is_empty())?;
        // Our changes put things in between blanks; a receipt that would bring back anything else is not ours.
        let blank = entry.edits.iter().all(|edit| edit.was.trim().is_empty());
        blank.then(|| text::undo(content, &entry.edits)).flatten()
    }

    /// The directories below `top` that files with these endings stand in.
    pub(super) fn directories_of(&self, endings: &[&str], top: &Path) -> BTreeSet<PathBuf> {
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        let names = self.files.keys().filter(|name| Path::new(name).components().all(plain));
        names
            .filter_map(|name| endings.iter().find_map(|ending| name.strip_suffix(ending)))
            .filter(|directory| directory.is_empty() || directory.ends_with('/'))
            .map(|directory| top.join(directory.trim_end_matches('/')))
            .filter(|directory| directory.is_dir())
            .collect()
    }

    fn entry(&self, name: &str, content: &[u8]) -> Option<&Entry> {
        self.files.get(name).filter(|entry| entry.sha256 == signature::hash_bytes(content))
    }
}
