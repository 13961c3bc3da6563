//! Setting a project up for Claude Code and Codex, and taking it back.
//!
//! [`plan`] looks at a project and says what would become of each file; it writes nothing. [`Plan::apply`] does it, one file
//! at a time, each replaced atomically, so that a run that was cut off is completed by the next one. Whatever is wrong is
//! found before the first byte is written.
//!
//! What belongs to somebody else stays as it is: settings keep their keys, their order and their layout; files that exist
//! are not overwritten; what a person changed since is kept and named. Nothing outside the project is read or written.

mod apply;
mod block;
mod clients;
mod install;
mod place;
mod receipt;
mod remove;
mod settings;
mod starters;
mod templates;
#[cfg(test)]
mod tests;
mod text;

pub use clients::{Client, Program, kebab};
pub use place::Place;

use marvin_base::layout::clients as places;
use place::ProjectFile;
use receipt::Receipt;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// For whom.
    pub clients: Vec<Client>,
    /// How the hooks start this program.
    pub program: Program,
    /// The files of packs to begin with: name below the directory of packs, and text.
    pub packs: &'a [(&'a str, &'a str)],
    /// Take it back instead.
    pub remove: bool,
}

/// Why nothing can be done.
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

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOutcome {
    /// It was not there.
    Made,
    /// Something was put into it, or what was ours in it was written anew.
    Merged,
    /// It is as it should be.
    Unchanged,
    /// It is somebody's own, and stays.
    Kept,
    /// What was ours is taken out of it.
    TakenOut,
    /// It goes: nothing in it was anybody else's.
    Deleted,
    /// It should change and cannot: a person has to look.
    Left,
}

impl FileOutcome {
    /// The word for people.
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

/// What becomes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name, relative to the project.
    pub name: String,
    /// Where it really is.
    pub path: PathBuf,
    /// What it holds; `None` when it is not there.
    pub before: Option<Vec<u8>>,
    /// What it will hold; `None` when it will not be there.
    pub after: Option<Vec<u8>>,
    /// What that is called.
    pub state: FileOutcome,
    /// What there is to say about it.
    pub note: String,
}

/// What becomes of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Where it is.
    pub place: Place,
    /// Every file that was looked at, in the order in which they are written.
    pub changes: Vec<Change>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// What a person has to mend: something could not be done.
    pub problems: Vec<String>,
    /// Directories to remove when they are empty in the end, the deepest first.
    directories: Vec<PathBuf>,
}

impl Plan {
    /// Would anything be written?
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        self.changes.iter().any(|change| change.before != change.after)
    }
}

/// Looks at a project and says what would become of it.
///
/// # Errors
/// When something stands in the way that only a person can mend; nothing should be changed then.
pub fn plan(place: &Place, request: &Request<'_>) -> Result<Plan, Refusal> {
    let mut planner = Planner::new(place, request)?;
    if request.remove {
        planner.remove()?;
    } else {
        planner.install()?;
    }
    planner.finish()
}

/// A plan in the making.
struct Planner<'a> {
    place: &'a Place,
    request: &'a Request<'a>,
    /// What was written on this machine before.
    old: Receipt,
    /// What will have been written.
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
                // Nobody knows who made them, and nobody misses one that is empty.
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
                note: "what was written, so that it can be taken back".to_string(),
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
    let own = [".claude", ".codex", places::RECORD];
    path.strip_prefix(top).is_ok_and(|name| {
        name.components().any(|part| part.as_os_str().to_str().is_some_and(|part| own.contains(&part)))
    })
}
