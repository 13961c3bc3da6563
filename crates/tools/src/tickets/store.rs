//! The directory of the tickets: one file each, read and changed so that nothing is lost.
//!
//! A writer locks the directory first ([`Workspace::hold`]), reads the file again, and replaces it as a whole; so any number
//! of processes can work on the same tickets, and one that is killed leaves the old file or the new one. The original `tk`
//! has no locks: while it runs at the same time, the last writer of a file wins.

use super::draft::Draft;
use super::error::{TicketError, choice};
use super::format::{Damage, STATUSES, Ticket};
use super::id::{self, Prefix};
use marvin_base::clock;
use marvin_base::environment::Environment;
use marvin_base::layout::{self, TICKETS};
use marvin_base::redact::Redactor;
use marvin_gate::{DirectoryLock, RefusalKind, Workspace, WorkspacePath};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_TICKET_BYTES: u64 = 8 * 1024 * 1024;
/// Random ids that are tried.
const ATTEMPTS: usize = 1000;
/// Prefix of the files of interrupted writes.
const LEFTOVER: &str = ".marvin-";
const EXTENSION: &str = ".md";

/// An open directory of tickets.
#[derive(Debug)]
pub struct Store {
    directory: Workspace,
    prefix: Prefix,
    /// Keeps secrets out of what is written; tickets are read by every agent of the project.
    redactor: Arc<Redactor>,
}

/// A file of the directory that is not a ticket, or whose id differs from its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    pub reason: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.file, self.reason)
    }
}

/// Every ticket, read at one moment.
#[derive(Debug, Default)]
pub struct Shelf {
    /// The tickets by id, which is the name of the file.
    pub tickets: BTreeMap<String, Ticket>,
    pub problems: Vec<Problem>,
}

impl Store {
    /// The tickets for the command line: the named directory, else `.tickets` here or above. With `make` a missing directory
    /// is created.
    ///
    /// # Errors
    /// When there is none, or it cannot be opened.
    pub fn find(from: &Path, named: Option<&str>, home: &Path, make: bool) -> Result<Store, TicketError> {
        let place = match named {
            Some(named) => from.join(named),
            None => match layout::find_tickets(from) {
                Some(found) => found,
                None if make => from.join(TICKETS),
                None => return Err(TicketError::Failed(NONE_FOUND.into())),
            },
        };
        if make {
            std::fs::create_dir_all(&place).map_err(|error| {
                let hint = marvin_base::atomic::hint(&error);
                TicketError::Failed(format!("cannot create {}: {error}{hint}", place.display()))
            })?;
        } else if !place.is_dir() {
            let place = place.display();
            return Err(TicketError::Failed(format!("tickets directory '{place}' does not exist")));
        }
        let directory = Workspace::open(&place, home)?;
        // Ids are named after the project; a directory named by the person may lie anywhere.
        let project = if named.is_some() { from } else { directory.root().parent().unwrap_or(from) };
        let prefix = Prefix::for_directory(project);
        let redactor = Arc::new(Redactor::new(&Environment::of_process(), []));
        Ok(Store { directory, prefix, redactor })
    }

    /// The tickets of a workspace, for tools.
    ///
    /// # Errors
    /// When there are none, or `.tickets` is not a directory of the workspace.
    pub fn of_workspace(workspace: &Workspace, make: bool) -> Result<Store, TicketError> {
        let directory = workspace.tickets(make)?.ok_or_else(|| TicketError::Failed(NONE_HERE.into()))?;
        let redactor = Arc::new(Redactor::patterns_only());
        Ok(Store { directory, prefix: Prefix::for_directory(workspace.root()), redactor })
    }

    /// The same tickets, written without the secrets that this redactor knows.
    #[must_use]
    pub fn redacting(self, redactor: Arc<Redactor>) -> Store {
        Store { redactor, ..self }
    }

    /// The directory of the tickets.
    #[must_use]
    pub fn place(&self) -> &Path {
        self.directory.root()
    }

    /// The ids of all files with the extension of tickets, in order.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn ids(&self) -> Result<Vec<String>, TicketError> {
        let entries = self.directory.read_dir(&self.directory.path(".")?)?;
        let id = |name: &str| name.strip_suffix(EXTENSION).filter(|id| !id.is_empty()).map(str::to_string);
        let visible = entries.iter().filter(|entry| !entry.name.starts_with('.'));
        Ok(visible.filter_map(|entry| id(&entry.name)).collect())
    }

    /// Resolves an id or a part of one.
    ///
    /// # Errors
    /// When there is none or several.
    pub fn resolve(&self, given: &str) -> Result<String, TicketError> {
        id::resolve(given, &self.ids()?)
    }

    /// Reads one ticket.
    ///
    /// # Errors
    /// When its file cannot be read or is damaged.
    pub fn read(&self, id: &str) -> Result<Ticket, TicketError> {
        let bytes = self.bytes(id)?;
        Ticket::parse(&bytes).map_err(|damage| damaged(id, &damage))
    }

    /// Reads every ticket; damaged ones are listed as problems.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn shelf(&self) -> Result<Shelf, TicketError> {
        let mut shelf = Shelf::default();
        for id in self.ids()? {
            let mut problem = |reason: String| {
                shelf.problems.push(Problem { file: format!("{id}{EXTENSION}"), reason });
            };
            match self.bytes(&id) {
                // Deleted since the directory was listed.
                Err(TicketError::Refused(refusal)) if refusal.kind == RefusalKind::Missing => {
                    if id.contains(char::REPLACEMENT_CHARACTER) {
                        problem("its name is not UTF-8 text".into());
                    }
                }
                Err(error) => problem(error.to_string().lines().next().unwrap_or_default().to_string()),
                Ok(bytes) => match Ticket::parse(&bytes) {
                    Err(damage) => problem(damage.to_string()),
                    Ok(ticket) => {
                        let own = ticket.id();
                        if own != id {
                            problem(format!("it says `id: {own}`; the name of the file counts"));
                        }
                        shelf.tickets.insert(id, ticket);
                    }
                },
            }
        }
        Ok(shelf)
    }

    /// When a ticket was last changed; the epoch where that is unknown.
    #[must_use]
    pub fn changed_at(&self, id: &str) -> SystemTime {
        let facts = self.file(id).ok().and_then(|path| self.directory.metadata(&path).ok());
        facts.and_then(|facts| facts.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Creates a ticket.
    ///
    /// # Errors
    /// When the draft is wrong, the parent does not exist, or the disk refuses.
    pub fn create(&self, draft: Draft) -> Result<(String, Ticket), TicketError> {
        let mut draft = draft.checked()?;
        for text in [&mut draft.title, &mut draft.description, &mut draft.design, &mut draft.acceptance] {
            if let Cow::Owned(clean) = self.redactor.text(text) {
                *text = clean;
            }
        }
        let _held = self.hold()?;
        if !draft.parent.is_empty() {
            draft.parent = self.resolve(&draft.parent)?;
            word(&draft.parent)?;
        }
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let named = Some(&draft.name).filter(|name| !name.is_empty() && name.chars().all(plain));
        let mut wanted = named.map(|name| format!("{}-{name}", self.prefix.text()));
        for _ in 0..ATTEMPTS {
            let id = wanted.take().unwrap_or_else(|| Draft::new_id(&self.prefix));
            let bytes = draft.render(&id, &stamp());
            fits(&id, &bytes)?;
            let ticket = Ticket::parse(&bytes).map_err(|damage| damaged(&id, &damage))?;
            match self.directory.create_new(&self.file(&id)?, &bytes) {
                Ok(()) => return Ok((id, ticket)),
                Err(refusal) if refusal.kind == RefusalKind::Exists => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Err(TicketError::Failed("no free id was found; close and archive old tickets".into()))
    }

    /// Sets the status of a ticket and returns its whole id.
    ///
    /// # Errors
    /// When the status or the ticket does not exist.
    pub fn set_status(&self, id: &str, status: &str) -> Result<String, TicketError> {
        choice("status", status, &STATUSES)?;
        let _held = self.hold()?;
        let id = self.resolve(id)?;
        self.change(&id, |ticket| ticket.set("status", status))?;
        Ok(id)
    }

    /// Makes one ticket depend on another. Returns both ids, and whether something changed.
    ///
    /// # Errors
    /// When one does not exist, or both are the same.
    pub fn add_dependency(&self, id: &str, on: &str) -> Result<(String, String, bool), TicketError> {
        let _held = self.hold()?;
        let (id, on) = (self.resolve(id)?, self.resolve(on)?);
        if id == on {
            return Err(TicketError::Usage(format!("{id} cannot depend on itself")));
        }
        word(&on)?;
        let added = self.change(&id, |ticket| ticket.add("deps", &on))?;
        Ok((id, on, added))
    }

    /// Removes a dependency, also on a ticket whose file is gone. Returns both ids.
    ///
    /// # Errors
    /// When the dependency does not exist.
    pub fn remove_dependency(&self, id: &str, on: &str) -> Result<(String, String), TicketError> {
        let _held = self.hold()?;
        let id = self.resolve(id)?;
        let on = self.resolve(on).or_else(|error| {
            let named = id::resolve(on, &self.read(&id)?.list("deps"));
            named.map_err(|_| error)
        })?;
        if !self.change(&id, |ticket| ticket.remove("deps", &on))? {
            return Err(TicketError::Failed(format!("Dependency not found: {id} does not depend on {on}")));
        }
        Ok((id, on))
    }

    /// Links tickets with each other. Returns their ids and the number of links that were added, counted in each file.
    ///
    /// # Errors
    /// When one does not exist, or fewer than two are named.
    pub fn link(&self, given: &[String]) -> Result<(Vec<String>, usize), TicketError> {
        let _held = self.hold()?;
        let mut ids: Vec<String> = Vec::new();
        for id in given {
            let id = self.resolve(id)?;
            word(&id)?;
            // Damage is found before the first file is changed.
            self.read(&id)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        if ids.len() < 2 {
            return Err(TicketError::Usage("link needs two different tickets".into()));
        }
        let mut added = 0;
        for id in &ids {
            let others = ids.iter().filter(|other| *other != id);
            added += self.change(id, |ticket| others.filter(|other| ticket.add("links", other)).count())?;
        }
        Ok((ids, added))
    }

    /// Removes a link, on both sides. Returns both ids.
    ///
    /// # Errors
    /// When neither is linked to the other.
    pub fn unlink(&self, one: &str, other: &str) -> Result<(String, String), TicketError> {
        let _held = self.hold()?;
        let one = self.resolve(one)?;
        let other = self.resolve(other)?;
        self.read(&other)?;
        let here = self.change(&one, |ticket| ticket.remove("links", &other))?;
        let there = self.change(&other, |ticket| ticket.remove("links", &one))?;
        if !here && !there {
            return Err(TicketError::Failed(format!("Link not found: {one} and {other} are not linked")));
        }
        Ok((one, other))
    }

    /// Appends a note and returns the whole id.
    ///
    /// # Errors
    /// When the note is empty or the ticket does not exist.
    pub fn add_note(&self, id: &str, text: &str) -> Result<String, TicketError> {
        let text = text.trim_end_matches(['\n', '\r']);
        if text.trim().is_empty() {
            return Err(TicketError::Usage("no note provided".into()));
        }
        let text = &*self.redactor.text(text);
        let _held = self.hold()?;
        let id = self.resolve(id)?;
        self.change(&id, |ticket| ticket.add_note(&stamp(), text))?;
        Ok(id)
    }

    /// Replaces a ticket by an edited one, unless its file was changed in the meantime.
    ///
    /// # Errors
    /// When it was, or when the new text is not a ticket.
    pub fn replace(&self, id: &str, before: &Ticket, after: &[u8]) -> Result<(), TicketError> {
        let ticket = Ticket::parse(after).map_err(|damage| damaged(id, &damage))?;
        fits(id, after)?;
        let _held = self.hold()?;
        if self.bytes(id)? != before.bytes() {
            return Err(TicketError::Failed(format!("{id} was changed by another process in the meantime")));
        }
        Ok(self.directory.replace(&self.file(id)?, ticket.bytes())?)
    }

    /// Changes the file of a ticket, if the change has an effect. The directory must be locked.
    fn change<T>(&self, id: &str, change: impl FnOnce(&mut Ticket) -> T) -> Result<T, TicketError> {
        let mut ticket = self.read(id)?;
        let before = ticket.clone();
        let result = change(&mut ticket);
        if ticket != before {
            fits(id, ticket.bytes())?;
            self.directory.replace(&self.file(id)?, ticket.bytes())?;
        }
        Ok(result)
    }

    /// Locks out other writers, and removes the leftovers of a killed one.
    fn hold(&self) -> Result<DirectoryLock, TicketError> {
        let held = self.directory.hold(LOCK_TIMEOUT)?;
        for entry in self.directory.read_dir(&self.directory.path(".")?)? {
            if entry.name.starts_with(LEFTOVER) && !entry.directory {
                // A leftover does no harm, so failing to delete it is not an error.
                self.directory.path(&entry.name).and_then(|path| self.directory.remove(&path)).ok();
            }
        }
        Ok(held)
    }

    fn file(&self, id: &str) -> Result<WorkspacePath, TicketError> {
        Ok(self.directory.path(&format!("{id}{EXTENSION}"))?)
    }

    fn bytes(&self, id: &str) -> Result<Vec<u8>, TicketError> {
        let path = self.file(id)?;
        let mut bytes = Vec::new();
        let file = self.directory.open_read(&path)?;
        file.take(MAX_TICKET_BYTES + 1).read_to_end(&mut bytes).map_err(|error| {
            TicketError::Failed(format!(
                "cannot read {}: {error}",
                self.place().join(path.as_path()).display()
            ))
        })?;
        if bytes.len() as u64 > MAX_TICKET_BYTES {
            return Err(TicketError::Failed(format!("{id} is larger than {MAX_TICKET_BYTES} bytes")));
        }
        Ok(bytes)
    }
}

const NONE_FOUND: &str =
    "no .tickets directory found here or above; `create` makes one, or set TICKETS_DIR to the directory";
const NONE_HERE: &str = "no tickets here yet; `create` makes the first one";

fn damaged(id: &str, damage: &Damage) -> TicketError {
    TicketError::Failed(format!("{id}{EXTENSION} is damaged: {damage}"))
}

/// Refuses to write a file that would be too large to read again.
fn fits(id: &str, bytes: &[u8]) -> Result<(), TicketError> {
    if bytes.len() as u64 <= MAX_TICKET_BYTES {
        return Ok(());
    }
    Err(TicketError::Failed(format!(
        "{id} would be larger than {MAX_TICKET_BYTES} bytes, and could not be read any more; keep long texts in a file of their own"
    )))
}

/// Refuses an id that cannot be written in a list.
fn word(id: &str) -> Result<(), TicketError> {
    if id::fits_list(id) {
        return Ok(());
    }
    Err(TicketError::Failed(format!(
        "`{id}` cannot be named in another ticket; rename its file to a single word"
    )))
}

/// The time in the format of tickets: UTC, whole seconds.
fn stamp() -> String {
    format!("{:.0}", clock::now())
}
