//! The plan of `marvin init`.

use super::clients::{self, Client, Program};
use super::place::{self, ProjectFile};
use super::settings::{self, Trouble};
use super::text::Edit;
use super::{FileOutcome, Planner, Refusal, block, starters, templates};
use marvin_agent::skills::SkillFile;
use marvin_base::layout::clients as places;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

impl Planner<'_> {
    pub(super) fn install(&mut self) -> Result<(), Refusal> {
        let local = self.has(Client::Claude) && self.claude()?;
        if self.has(Client::Codex) {
            self.codex()?;
        }
        let ecosystems = starters::ecosystems(&self.place.top, self.place.git.is_some());
        self.packs(&ecosystems)?;
        self.rules(&ecosystems)?;
        self.skills();
        self.ignore(local);
        self.sections();
        self.surroundings();
        Ok(())
    }

    /// Hooks of Claude Code: in the settings that a team shares where everybody's `marvin` is found by that name, else in
    /// the person's own. Returns whether they are in the person's own.
    fn claude(&mut self) -> Result<bool, Refusal> {
        let directory = self.place.directory.clone();
        let shared = self.text(&directory, places::CLAUDE_SETTINGS)?;
        let local = self.text(&directory, places::CLAUDE_LOCAL_SETTINGS)?;
        for (file, text) in [(places::CLAUDE_SETTINGS, &shared), (places::CLAUDE_LOCAL_SETTINGS, &local)] {
            if settings::switched_off(text) {
                self.notes.push(format!(
                    "{file} says `disableAllHooks`: no hook runs until that is taken out of it"
                ));
            }
        }
        let is_shared = settings::holds(&shared, Client::Claude);
        if let (Some(path), true) = (self.request.program.path(), is_shared) {
            self.problems.push(format!(
                "the hooks in {} start `marvin`, which is not on your PATH: Claude Code will refuse every tool call\n  \
                 hint: put this program on it, as in `ln -s {path} {path}-hook ~/.local/bin/`",
                places::CLAUDE_SETTINGS
            ));
        }
        if is_shared || self.request.program.path().is_none() {
            self.take_hooks(Client::Claude, &directory, places::CLAUDE_LOCAL_SETTINGS)?;
            self.hooks(Client::Claude, &directory, places::CLAUDE_SETTINGS, &self.request.program.by_name())?;
            return Ok(false);
        }
        self.hooks(Client::Claude, &directory, places::CLAUDE_LOCAL_SETTINGS, &self.request.program)?;
        self.notes.push(format!(
            "`marvin` on your PATH is not this program, so the hooks name its place and went into {}, which is yours alone\n  \
             hint: to share them, put this program on the PATH as `marvin` and run `marvin init` again",
            places::CLAUDE_LOCAL_SETTINGS
        ));
        Ok(true)
    }

    fn codex(&mut self) -> Result<(), Refusal> {
        let root = self.shared().to_path_buf();
        let before = self.changes.len();
        self.hooks(Client::Codex, &root, places::CODEX_HOOKS, &self.request.program)?;
        if self.request.program.path().is_some() {
            self.notes.push(format!(
                "{} names the place of this program on this machine: do not commit it as it is",
                places::CODEX_HOOKS
            ));
        }
        let changed = self.changes.iter().skip(before).any(|change| change.before != change.after);
        let again = if changed { "" } else { " (nothing to do if you trusted them already)" };
        self.notes.push(format!(
            "Codex runs hooks of a project only when you have trusted them, and `codex exec` does not say when it \
             passes over them{again}:\n  hint: start `codex` in {}, trust the directory, and approve Marvin's hooks where it \
             asks (or with /hooks); again whenever {} changes",
            root.display(),
            places::CODEX_HOOKS
        ));
        Ok(())
    }

    /// The text of a settings file; one that is not there is empty.
    fn text(&self, root: &Path, relative: &str) -> Result<String, Refusal> {
        text_of(&place::open(self.within(), root, relative)?, &root.join(relative))
    }

    /// Puts hooks into a settings file.
    fn hooks(
        &mut self,
        client: Client,
        root: &Path,
        relative: &str,
        program: &Program,
    ) -> Result<(), Refusal> {
        let found = place::open(self.within(), root, relative)?;
        let name = self.place.name(root, relative);
        let current = text_of(&found, &root.join(relative))?;
        // What is still as it was written is written from the beginning: an older layout of ours leaves nothing behind.
        let untouched = found.content.as_deref().is_some_and(|bytes| self.old.untouched(&name, bytes));
        let base = if untouched {
            String::new()
        } else {
            self.original(&name, &current, client).unwrap_or(current.clone())
        };
        let merged = match settings::merge(&base, client, program) {
            Ok(merged) => merged,
            Err(Trouble::Broken(reason)) => return Err(broken(&root.join(relative), &reason)),
            Err(Trouble::Odd(reason)) => {
                self.left(&name, found.path, &odd(&root.join(relative), &reason));
                return Ok(());
            }
        };
        let mut note =
            format!("{} hooks for {}", client.events().len() - merged.changed.len(), client.name());
        if !merged.changed.is_empty() {
            note.push_str(&format!("; as you changed them: {}", merged.changed.join(", ")));
        }
        if merged.text == current && found.content.is_some() {
            self.stays(&name, found, FileOutcome::Unchanged, note);
            return Ok(());
        }
        let after = merged.text.into_bytes();
        let made = found.content.is_none() || untouched;
        if made {
            self.new.made(&name, &after);
        } else {
            self.new.changed(&name, &after, merged.edits);
        }
        let state = if found.content.is_none() { FileOutcome::Made } else { FileOutcome::Merged };
        self.add(&name, found, Some(after), state, note);
        Ok(())
    }

    fn packs(&mut self, ecosystems: &BTreeSet<&'static str>) -> Result<(), Refusal> {
        for (file, text) in self.request.packs.iter().filter(|(file, _)| starters::fits(file, ecosystems)) {
            self.own_file(&format!("{}/{file}", places::PACKS), text)?;
        }
        Ok(())
    }

    fn rules(&mut self, ecosystems: &BTreeSet<&'static str>) -> Result<(), Refusal> {
        starters::denylist(ecosystems).map_or(Ok(()), |text| self.own_file(places::DENYLIST, &text))
    }

    /// A file of the record: made when it is not there, never overwritten.
    fn own_file(&mut self, name: &str, text: &str) -> Result<(), Refusal> {
        let found = place::open_record(&self.place.top, name)?;
        match &found.content {
            None => {
                self.new.made(name, text.as_bytes());
                self.add(name, found, Some(text.as_bytes().to_vec()), FileOutcome::Made, "");
            }
            Some(content) if content == text.as_bytes() => {
                self.stays(name, found, FileOutcome::Unchanged, "");
            }
            Some(_) => self.stays(name, found, FileOutcome::Kept, "it is yours"),
        }
        Ok(())
    }

    /// Skills that speak of Marvin, for Claude Code, and those of the project and the person for both.
    fn skills(&mut self) {
        let root = self.shared().to_path_buf();
        let mut files: Vec<SkillFile> = Vec::new();
        for client in self.request.clients.clone() {
            let directory = clients::skills(client);
            if client == Client::Claude {
                let own = templates::SKILLS.iter();
                files.extend(own.map(|(skill, text)| SkillFile {
                    path: format!("{directory}/{skill}/SKILL.md"),
                    content: text.as_bytes().to_vec(),
                    is_executable: false,
                }));
            }
            let further = self.request.skills.iter();
            files.extend(
                further.map(|file| SkillFile { path: format!("{directory}/{}", file.path), ..file.clone() }),
            );
        }
        for SkillFile { path: relative, content: text, is_executable } in files {
            let name = self.place.name(&root, &relative);
            let found = match place::open(self.within(), &root, &relative) {
                Ok(found) => found,
                Err(refusal) => {
                    self.left(&name, root.join(&relative), &refusal.to_string());
                    continue;
                }
            };
            let content = found.content.as_deref();
            let state = match content {
                None => FileOutcome::Made,
                Some(content) if content == text => FileOutcome::Unchanged,
                Some(content) if self.old.untouched(&name, content) => FileOutcome::Merged,
                Some(_) => FileOutcome::Kept,
            };
            match state {
                FileOutcome::Made | FileOutcome::Merged => {
                    self.new.made(&name, &text);
                    self.add(&name, found, Some(text), state, "");
                    if let Some(change) = self.changes.last_mut() {
                        change.is_executable = is_executable;
                    }
                }
                FileOutcome::Kept => self.stays(&name, found, state, "it is yours"),
                _ => self.stays(&name, found, state, ""),
            }
        }
    }

    fn ignore(&mut self, local: bool) {
        if self.place.git.is_none() {
            self.notes.push(
                "this is not a git repository, so nothing is ignored; run `marvin init` again when it is one"
                    .to_string(),
            );
            return;
        }
        let top = self.place.top.clone();
        if let Some(text) =
            self.block(&top, places::IGNORED, block::IGNORED, &templates::ignored(local), true)
            && let Some(line) = ignores_all(&text)
        {
            self.notes.push(format!(
                "line {line} of {} ignores all of .marvin: packs and rules will not be shared",
                places::IGNORED
            ));
        }
    }

    fn sections(&mut self) {
        let root = self.shared().to_path_buf();
        let mut seen: Vec<PathBuf> = Vec::new();
        for client in self.request.clients.clone() {
            let relative = clients::notes(client);
            // `CLAUDE.md` is often a link to `AGENTS.md`.
            let Ok(path) = root.join(relative).canonicalize() else { continue };
            if !seen.contains(&path) {
                seen.push(path);
                self.block(&root, relative, block::SECTION, templates::SECTION, false);
            }
        }
    }

    /// Puts marked lines into a file, and returns what stood there before.
    fn block(
        &mut self,
        root: &Path,
        relative: &str,
        marks: block::Marks,
        lines: &str,
        make: bool,
    ) -> Option<Vec<u8>> {
        let name = self.place.name(root, relative);
        let found = match place::open(self.within(), root, relative) {
            Ok(found) => found,
            Err(refusal) => {
                self.left(&name, root.join(relative), &refusal.to_string());
                return None;
            }
        };
        if found.content.is_none() && !make {
            return None;
        }
        let current = found.content.clone().unwrap_or_default();
        let untouched = found.content.is_none() || self.old.untouched(&name, &current);
        let base =
            if untouched { Vec::new() } else { self.old.before(&name, &current).unwrap_or(current.clone()) };
        let Some(after) = block::put(&base, marks, lines) else {
            let reason = format!(
                "{} has a mark of Marvin's without its partner\n  hint: take the lines `{}…` and `{}` out of it",
                root.join(relative).display(),
                marks.begin,
                marks.end
            );
            self.left(&name, found.path, &reason);
            return None;
        };
        if found.content.as_deref() == Some(after.as_slice()) {
            self.stays(&name, found, FileOutcome::Unchanged, "");
        } else {
            if untouched {
                self.new.made(&name, &after);
            } else if block::find(&base, marks) == block::BlockLocation::Nowhere {
                let edit = Edit { at: base.len(), len: after.len() - base.len(), was: String::new() };
                self.new.changed(&name, &after, vec![edit]);
            } else {
                self.new.forget(&name);
            }
            let state = if found.content.is_none() { FileOutcome::Made } else { FileOutcome::Merged };
            self.add(&name, found, Some(after), state, "");
        }
        Some(current)
    }

    /// What to know about where this is.
    fn surroundings(&mut self) {
        let place = self.place;
        if place.directory != place.top {
            self.notes.push(format!(
                "{} has the packs and rules for this directory too; the hooks of Claude Code were written here, since it reads \
                 settings only from the directory that it is started in",
                place.top.join(places::RECORD).display()
            ));
        } else if let Some(git) = place.git.as_ref().filter(|git| **git != place.directory) {
            self.notes.push(format!(
                "this directory is a project of its own inside {}; run `marvin init` there instead to have one for all of it",
                git.display()
            ));
        }
        if place.linked {
            self.notes.push(
                "this is a linked worktree; commit what was written, so that the others have it too"
                    .to_string(),
            );
        } else if place.worktrees > 0 {
            self.notes.push(format!(
                "{} linked worktrees have their own files: commit what was written, so that they have it too",
                place.worktrees
            ));
        }
    }
}

/// A file as text.
pub(super) fn text_of(found: &ProjectFile, shown: &Path) -> Result<String, Refusal> {
    String::from_utf8(found.content.clone().unwrap_or_default()).map_err(|_| {
        Refusal::new(
            format!("{} is not UTF-8 text", shown.display()),
            "save it as UTF-8, then run `marvin init` again",
        )
    })
}

/// The refusal of a settings file that is not JSON.
pub(super) fn broken(path: &Path, reason: &str) -> Refusal {
    Refusal::new(
        format!("{} is not JSON: {reason}; nothing was changed", path.display()),
        "fix that line, then run `marvin init` again",
    )
}

/// The report on a settings file with an undocumented structure.
pub(super) fn odd(path: &Path, reason: &str) -> String {
    format!(
        "{} was left as it is: {reason}\n  hint: bring it into the form that the client documents \
         (\"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": …}}]}}]}}), then run `marvin init` again",
        path.display()
    )
}

/// The line of a `.gitignore` that leaves out the whole record, if there is one.
fn ignores_all(text: &[u8]) -> Option<usize> {
    let all: [&[u8]; 6] = [b".marvin", b".marvin/", b"/.marvin", b"/.marvin/", b".marvin/*", b".marvin/**"];
    let line = text.split(|byte| *byte == b'\n').position(|line| all.contains(&line.trim_ascii()))?;
    Some(line + 1)
}
