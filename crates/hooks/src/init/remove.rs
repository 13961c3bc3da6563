//! The plan of `marvin init --remove`.
//!
//! In the directory with `.marvin` it removes everything, in every directory of the project that has hooks. In a directory
//! inside it, only the files there. Unchanged packs and rules are removed; changed ones stay and are reported.

use super::clients::{self, Client};
use super::install::{broken, odd, text_of};
use super::place;
use super::settings::{self, Trouble};
use super::{FileOutcome, Planner, Refusal, block, starters, templates};
use marvin_base::layout::clients as places;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A directory of packs with more names than this is looked at no further.
const MAX_DIRECTORY_ENTRIES: usize = 1_000;

/// How the names of files begin that are being written.
const UNFINISHED: &str = ".marvin-";

impl Planner<'_> {
    pub(super) fn remove(&mut self) -> Result<(), Refusal> {
        let whole = self.place.directory == self.place.top;
        let shared = self.shared().to_path_buf();
        if self.has(Client::Claude) {
            let mut directories = BTreeSet::from([self.place.directory.clone()]);
            if whole {
                directories.extend(self.old.directories_of(
                    &[places::CLAUDE_SETTINGS, places::CLAUDE_LOCAL_SETTINGS],
                    &self.place.top,
                ));
            }
            for directory in directories {
                self.take_hooks(Client::Claude, &directory, places::CLAUDE_SETTINGS)?;
                self.take_hooks(Client::Claude, &directory, places::CLAUDE_LOCAL_SETTINGS)?;
            }
        }
        if !whole {
            self.notes.push(format!(
                "only the setup of this directory is removed; for the rest run `marvin init --remove` in {}",
                self.place.top.display()
            ));
            return Ok(());
        }
        if self.has(Client::Codex) {
            self.take_hooks(Client::Codex, &shared, places::CODEX_HOOKS)?;
        }
        self.take_skills(&shared);
        let mut seen: Vec<PathBuf> = Vec::new();
        for client in self.request.clients.clone() {
            let Ok(path) = shared.join(clients::notes(client)).canonicalize() else { continue };
            if !seen.contains(&path) {
                seen.push(path);
                self.take_block(&shared, clients::notes(client), block::SECTION);
            }
        }
        if self.request.clients.len() == Client::ALL.len() {
            self.take_packs()?;
            self.take_rules()?;
            let top = self.place.top.clone();
            self.take_block(&top, places::IGNORED, block::IGNORED);
        }
        Ok(())
    }

    /// The text that a settings file had before hooks were put into it, if nothing else happened to it since.
    pub(super) fn original(&self, name: &str, current: &str, client: Client) -> Option<String> {
        let before = String::from_utf8(self.old.before(name, current.as_bytes())?).ok()?;
        // A receipt is trusted only as far as it agrees with the file.
        let without = settings::take_out(current, client).ok()?;
        settings::same(&before, &without).then_some(before)
    }

    /// Takes hooks out of a settings file.
    pub(super) fn take_hooks(&mut self, client: Client, root: &Path, relative: &str) -> Result<(), Refusal> {
        let found = place::open(self.within(), root, relative)?;
        let Some(content) = found.content.clone() else { return Ok(()) };
        let (name, shown) = (self.place.name(root, relative), root.join(relative));
        let current = text_of(&found, &shown)?;
        let without = match settings::take_out(&current, client) {
            Ok(without) => without,
            // Where hooks are put elsewhere, a file that cannot be read is not in the way.
            Err(_) if !self.request.remove => return Ok(()),
            Err(Trouble::Broken(reason)) => return Err(broken(&shown, &reason)),
            Err(Trouble::Odd(reason)) => {
                self.left(&name, found.path, &odd(&shown, &reason));
                return Ok(());
            }
        };
        let after = if self.old.untouched(&name, &content) {
            (!settings::is_empty(&without)).then_some(without.clone())
        } else if let Some(before) = self.original(&name, &current, client) {
            Some(before)
        } else if without == current {
            return Ok(());
        } else {
            (!settings::is_empty(&without)).then_some(without.clone())
        };
        self.new.forget(&name);
        let state = if after.is_some() { FileOutcome::TakenOut } else { FileOutcome::Deleted };
        self.add(
            &name,
            found,
            after.map(String::into_bytes),
            state,
            format!("the hooks for {}", client.name()),
        );
        Ok(())
    }

    /// Skills of Marvin, and those that the receipt knows.
    fn take_skills(&mut self, root: &Path) {
        let mut names: BTreeMap<String, &[u8]> = BTreeMap::new();
        for client in self.request.clients.clone() {
            let directory = self.place.name(root, clients::skills(client));
            let known = self.old.made_below(&format!("{directory}/"));
            names.extend(known.into_iter().map(|name| (name, [].as_slice())));
            if client == Client::Claude {
                let own = templates::SKILLS.iter();
                names.extend(
                    own.map(|(skill, text)| (format!("{directory}/{skill}/SKILL.md"), text.as_bytes())),
                );
            }
        }
        let top = self.place.top.clone();
        for (name, text) in names {
            let Ok(found) = place::open(self.within(), &top, &name) else { continue };
            let Some(content) = found.content.clone() else { continue };
            if (!text.is_empty() && content == text) || self.old.untouched(&name, &content) {
                self.new.forget(&name);
                self.add(&name, found, None, FileOutcome::Deleted, "");
            } else {
                self.stays(&name, found, FileOutcome::Kept, "it was changed since");
            }
        }
    }

    fn take_block(&mut self, root: &Path, relative: &str, marks: block::Marks) {
        let name = self.place.name(root, relative);
        let Ok(found) = place::open(self.within(), root, relative) else { return };
        let Some(content) = found.content.clone() else { return };
        let Some(without) = block::take_out(&content, marks) else {
            self.stays(&name, found, FileOutcome::Kept, "a mark of Marvin's has no partner");
            return;
        };
        let before = self.old.before(&name, &content);
        let before = before.filter(|before| before.trim_ascii_end() == without.trim_ascii_end());
        let after = match before {
            Some(before) => Some(before),
            None if without == content => return,
            None if without.is_empty() => None,
            None => Some(without),
        };
        self.new.forget(&name);
        let state = if after.is_some() { FileOutcome::TakenOut } else { FileOutcome::Deleted };
        self.add(&name, found, after, state, "");
    }

    fn take_packs(&mut self) -> Result<(), Refusal> {
        let directory = self.place.top.join(places::PACKS);
        for pack in names(&directory) {
            let files: Vec<String> =
                names(&directory.join(&pack)).into_iter().map(|file| format!("{pack}/{file}")).collect();
            let starter = |file: &String| {
                self.request.packs.iter().find(|(name, _)| name == file).map(|(_, text)| *text)
            };
            let mut ours = Vec::new();
            for file in if directory.join(&pack).is_dir() { files.clone() } else { vec![pack.clone()] } {
                let name = format!("{}/{file}", places::PACKS);
                let Ok(found) = place::open_record(&self.place.top, &name) else { continue };
                let Some(content) = found.content.clone() else { continue };
                let as_made = starter(&file).is_some_and(|text| text.as_bytes() == content);
                // What a run that was killed was just writing.
                let unfinished = file.rsplit('/').next().is_some_and(|name| name.starts_with(UNFINISHED));
                if as_made || unfinished || self.old.untouched(&name, &content) {
                    ours.push((name, found));
                }
            }
            if ours.len() == files.len().max(1) {
                for (name, found) in ours {
                    self.new.forget(&name);
                    self.add(&name, found, None, FileOutcome::Deleted, "");
                }
            } else {
                let found = place::ProjectFile { path: directory.join(&pack), content: None };
                let prefix = format!("{}/{pack}", places::PACKS);
                for file in &files {
                    self.new.forget(&format!("{}/{file}", places::PACKS));
                }
                self.stays(&prefix, found, FileOutcome::Kept, "it is yours");
            }
        }
        Ok(())
    }

    fn take_rules(&mut self) -> Result<(), Refusal> {
        let found = place::open_record(&self.place.top, places::DENYLIST)?;
        let Some(content) = found.content.clone() else { return Ok(()) };
        let own = starters::denylist(&starters::ecosystems(&self.place.top, self.place.git.is_some()));
        self.new.forget(places::DENYLIST);
        if self.old.untouched(places::DENYLIST, &content) || own.is_some_and(|own| own.as_bytes() == content)
        {
            self.add(places::DENYLIST, found, None, FileOutcome::Deleted, "");
        } else {
            self.stays(places::DENYLIST, found, FileOutcome::Kept, "it is yours");
        }
        Ok(())
    }
}

/// Entries of a directory, in order; a missing directory has none.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_DIRECTORY_ENTRIES);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
