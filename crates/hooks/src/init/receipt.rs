//! The receipt of `marvin init` on this machine: `.marvin/init.json`.
//!
//! It is used to restore the exact bytes of a file, and to distinguish unchanged files from those that a person changed.
//! Without it hooks are found by the command that they start. A project's files may be hostile, so a receipt is used only
//! where it matches the file.

use super::text::{self, Edit};
use marvin_base::signature;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    #[serde(default)]
    version: u32,
    /// Created directories.
    #[serde(default)]
    #[serde(rename = "folders")]
    pub(super) directories: BTreeSet<String>,
    /// By names relative to the project.
    #[serde(default)]
    files: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Whether the file was created, not changed.
    #[serde(default)]
    made: bool,
    /// Of the written content.
    sha256: String,
    /// The changes to undo.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edits: Vec<Edit>,
}

impl Receipt {
    /// Parses a receipt; an invalid one is empty.
    pub(super) fn read(bytes: &[u8]) -> Receipt {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// The bytes of the receipt; `None` for an empty one.
    pub(super) fn written(&self) -> Option<Vec<u8>> {
        if self.files.is_empty() && self.directories.is_empty() {
            return None;
        }
        let text = serde_json::to_string_pretty(&Receipt { version: 1, ..self.clone() }).ok()?;
        Some(format!("{text}\n").into_bytes())
    }

    pub(super) fn made(&mut self, name: &str, content: &[u8]) {
        let entry = Entry { made: true, sha256: signature::hash_bytes(content), edits: Vec::new() };
        self.files.insert(name.to_string(), entry);
    }

    pub(super) fn changed(&mut self, name: &str, content: &[u8], edits: Vec<Edit>) {
        self.files
            .insert(name.to_string(), Entry { made: false, sha256: signature::hash_bytes(content), edits });
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.files.remove(name);
    }

    /// Whether Marvin created the file and it is unchanged.
    pub(super) fn untouched(&self, name: &str, content: &[u8]) -> bool {
        self.entry(name, content).is_some_and(|entry| entry.made)
    }

    /// The bytes that a changed file had before, if it is unchanged since.
    pub(super) fn before(&self, name: &str, content: &[u8]) -> Option<Vec<u8>> {
        let entry = self.entry(name, content).filter(|entry| !entry.made && !entry.edits.is_empty())?;
        // Marvin's edits replace only white space; a receipt that restores anything else is forged.
        let blank = entry.edits.iter().all(|edit| edit.was.trim().is_empty());
        blank.then(|| text::undo(content, &entry.edits)).flatten()
    }

    /// Names of created files that begin like this.
    pub(super) fn made_below(&self, prefix: &str) -> Vec<String> {
        let is_plain =
            |name: &str| Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let made = self.files.iter().filter(|(name, entry)| entry.made && name.starts_with(prefix));
        made.map(|(name, _)| name.clone()).filter(|name| is_plain(name)).collect()
    }

    /// The directories below `top` of files with these endings.
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
