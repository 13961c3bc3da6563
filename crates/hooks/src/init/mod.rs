//! Setting a project up for Claude Code and Codex, and taking it back.
//!
//! [`plan`] reads a project and plans the change of each file; it writes nothing. [`Plan::apply`] makes the changes, one
//! file at a time, each replaced atomically, so that the next run completes an interrupted one. Problems are found before
//! the first byte is written.
//!
//! A person's content stays as it is: settings keep their keys, their order and their layout; existing files are not
//! overwritten; later changes are kept and reported. Nothing outside the project is read or written.

mod apply;
mod block;
mod clients;
mod install;
mod place;
mod receipt;
mod remove;
mod settings;
mod starters;
mod status;
mod templates;
#[cfg(test)]
mod tests;
mod text;

pub use clients::{Client, HOOK_PROGRAM, Program, kebab};
pub use place::Place;
pub use status::{HookFile, hook_files};

use marvin_agent::skills::SkillFile;
use marvin_base::layout::clients as places;
use place::ProjectFile;
use receipt::Receipt;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub clients: Vec<Client>,
    /// The command that hooks start.
    pub program: Program,
    /// The files of starter packs: path below the directory of packs, and text.
    pub packs: &'a [(&'a str, &'a str)],
    /// The files of skills for the clients, with paths below a directory of skills.
    pub skills: Vec<SkillFile>,
    pub remove: bool,
}

/// The reason why nothing can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}\n  hint: {hint}")]
pub struct Refusal {
    message: String,
    hint: String,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Refusal { message: message.into(), hint: hint.into() }
    }
}

/// The planned change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOutcome {
    Made,
    /// Marvin's part was added or rewritten.
    Merged,
    Unchanged,
    /// It is the person's own.
    Kept,
    /// Marvin's part is removed.
    TakenOut,
    /// All of it was Marvin's.
    Deleted,
    /// It should change and cannot: a person has to look.
    Left,
}

impl FileOutcome {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            FileOutcome::Made => "made",
            FileOutcome::Merged => "merged",
            FileOutcome::Unchanged => "unchanged",
            FileOutcome::Kept => "kept",
            FileOutcome::TakenOut => "taken out",
            FileOutcome::Deleted => "deleted",
            FileOutcome::Left => "left",
        }
    }
}

/// The change of one file; `None` is a missing file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Relative to the project.
    pub name: String,
    /// With symlinks resolved.
    pub path: PathBuf,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
    pub state: FileOutcome,
    /// Whether the file is a program.
    pub is_executable: bool,
    pub note: String,
}

impl Change {
    /// Whether it is the receipt of the other changes.
    #[must_use]
    pub fn is_receipt(&self) -> bool {
        self.name == places::RECEIPT
    }
}

/// The changes of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub place: Place,
    /// Every file, in the order in which they are written.
    pub changes: Vec<Change>,
    pub notes: Vec<String>,
    /// Parts that could not be done and that a person has to fix.
    pub problems: Vec<String>,
    /// Directories to remove if they are empty, the deepest first.
    directories: Vec<PathBuf>,
}

impl Plan {
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        self.changes.iter().any(|change| change.before != change.after)
    }
}

/// Plans the changes of a project.
///
/// # Errors
/// When a person has to fix something first.
pub fn plan(place: &Place, request: &Request<'_>) -> Result<Plan, Refusal> {
    let mut planner = Planner::new(place, request)?;
    if request.remove {
        planner.remove()?;
    } else {
        planner.install()?;
    }
    planner.finish()
}

struct Planner<'a> {
    place: &'a Place,
    request: &'a Request<'a>,
    /// The receipt of the last run, and of this one.
    old: Receipt,
    new: Receipt,
    receipt: ProjectFile,
    changes: Vec<Change>,
    notes: Vec<String>,
    problems: Vec<String>,
}

impl<'a> Planner<'a> {
    fn new(place: &'a Place, request: &'a Request<'a>) -> Result<Self, Refusal> {
        place::check_record(&place.top)?;
        let receipt = place::open_record(&place.top, places::RECEIPT)?;
        let old = receipt.content.as_deref().map(Receipt::read).unwrap_or_default();
        let (changes, notes, problems) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Planner { place, request, new: old.clone(), old, receipt, changes, notes, problems })
    }

    /// Links may lead as far as this.
    fn within(&self) -> &Path {
        self.place.git.as_deref().unwrap_or(&self.place.top)
    }

    fn has(&self, client: Client) -> bool {
        self.request.clients.contains(&client)
    }

    /// Where what a client reads upwards to the top of a repository is put.
    fn shared(&self) -> &'a Path {
        if self.place.git.is_some() { &self.place.top } else { &self.place.directory }
    }

    /// Adds what becomes of a file; a new one brings its directories into the receipt.
    fn add(
        &mut self,
        name: &str,
        found: ProjectFile,
        after: Option<Vec<u8>>,
        state: FileOutcome,
        note: impl Into<String>,
    ) {
        if found.content.is_none() && after.is_some() {
            let outer = found.path.ancestors().skip(1).take_while(|path| path.starts_with(&self.place.top));
            let new: Vec<String> = outer
                .filter(|path| !path.exists())
                .filter_map(|path| path.strip_prefix(&self.place.top).ok()?.to_str().map(str::to_string))
                .collect();
            self.new.directories.extend(new);
            // A run that was cut off at the very beginning leaves this directory and no receipt.
            self.new.directories.insert(places::RECORD.to_string());
        }
        self.changes.push(Change {
            name: name.to_string(),
            path: found.path,
            before: found.content,
            after,
            state,
            is_executable: false,
            note: note.into(),
        });
    }

    /// Adds a file that stays as it is.
    fn stays(&mut self, name: &str, found: ProjectFile, state: FileOutcome, note: impl Into<String>) {
        let after = found.content.clone();
        self.add(name, found, after, state, note);
    }

    /// Adds a file that cannot be changed, and says so.
    fn left(&mut self, name: &str, path: PathBuf, reason: &str) {
        self.problems.push(reason.to_string());
        self.add(name, ProjectFile { path, content: None }, None, FileOutcome::Left, "see below");
    }

    /// The receipt goes first when things are made, and last when they are taken back: wherever a run is cut off, the
    /// next one knows as much as this one.
    fn finish(mut self) -> Result<Plan, Refusal> {
        let mut directories: Vec<PathBuf> = Vec::new();
        if self.request.remove {
            let inside = |name: &&String| {
                Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
            };
            let noted = self.old.directories.iter().filter(inside).map(|name| self.place.top.join(name));
            let mut all: BTreeSet<PathBuf> = noted.collect();
            if self.receipt.content.is_none() {
                // Their origin is unknown, but empty directories are not needed.
                let gone = self.changes.iter().filter(|change| change.state == FileOutcome::Deleted);
                let outer = gone.flat_map(|change| change.path.ancestors().skip(1));
                all.extend(outer.filter(|path| is_ours(path, &self.place.top)).map(Path::to_path_buf));
            }
            directories = all.into_iter().rev().collect();
            let whole =
                self.place.directory == self.place.top && self.request.clients.len() == Client::ALL.len();
            if whole && self.problems.is_empty() {
                self.new = Receipt::default();
            }
        }
        let after = self.new.written();
        if after != self.receipt.content {
            let state = match (&self.receipt.content, &after) {
                (None, _) => FileOutcome::Made,
                (_, None) => FileOutcome::Deleted,
                _ => FileOutcome::Merged,
            };
            let change = Change {
                name: places::RECEIPT.to_string(),
                path: self.receipt.path.clone(),
                before: self.receipt.content.clone(),
                after,
                state,
                is_executable: false,
                note: "receipt for `marvin init --remove`".to_string(),
            };
            let at = if self.request.remove { self.changes.len() } else { 0 };
            self.changes.insert(at, change);
        }
        Ok(Plan {
            place: self.place.clone(),
            changes: self.changes,
            notes: self.notes,
            problems: self.problems,
            directories,
        })
    }
}

/// Is this the directory of a client or of the record, or one inside it?
fn is_ours(path: &Path, top: &Path) -> bool {
    let own = [".claude", ".codex", ".agents", places::RECORD];
    path.strip_prefix(top).is_ok_and(|name| {
        name.components().any(|part| part.as_os_str().to_str().is_some_and(|part| own.contains(&part)))
    })
}
