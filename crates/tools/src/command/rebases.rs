//! Instructions of unfinished rebases, compared before and after a command.
//!
//! The next `git rebase --continue` runs the commands in them, so an agent must not leave one behind for the person. A rebase that met
//! a conflict leaves instructions too; those without a further command stay.

use super::guard::MAX_FILE_BYTES;
use super::held_root::HeldRoot;
use marvin_gate::steering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The instructions of the repositories of a workspace, as they were.
#[derive(Debug, Default)]
pub(super) struct RebaseInstructions {
    /// None: it cannot be read as instructions.
    texts: BTreeMap<PathBuf, Option<String>>,
}

impl RebaseInstructions {
    /// Reads the instructions of the repositories in these directories.
    pub(super) fn read<'a>(
        held: &HeldRoot,
        root: &Path,
        directories: impl Iterator<Item = &'a Path>,
    ) -> RebaseInstructions {
        let mut texts = BTreeMap::new();
        for path in directories.flat_map(steering::rebase_instructions) {
            if !path.starts_with(root) {
                continue;
            }
            // Instructions behind a link were not compared before.
            if let Some(link) = held.link_on_way(&path) {
                texts.insert(link, None);
            } else if let Some(facts) = held.facts(&path) {
                let is_small = facts.is_file() && facts.len() <= MAX_FILE_BYTES;
                let bytes = if is_small { held.read(&path).ok() } else { None };
                texts.insert(path, bytes.and_then(|bytes| String::from_utf8(bytes).ok()));
            }
        }
        RebaseInstructions { texts }
    }

    /// The instructions that run a command which was not in them before.
    pub(super) fn with_new_commands<'a>(&'a self, before: &'a RebaseInstructions) -> Vec<&'a PathBuf> {
        let is_new = |(path, text): &(&PathBuf, &Option<String>)| match (text, before.texts.get(*path)) {
            (None, known) => known.is_none_or(Option::is_some),
            (Some(now), Some(Some(text))) => steering::adds_commands(text, now),
            (Some(now), _) => steering::adds_commands("", now),
        };
        self.texts.iter().filter(is_new).map(|(path, _)| path).collect()
    }

    /// The text that a file had.
    pub(super) fn text(&self, path: &Path) -> Option<&str> {
        self.texts.get(path)?.as_deref()
    }
}
