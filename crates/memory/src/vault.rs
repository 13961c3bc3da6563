//! The vault: how a decision gets into the ledger and the long-term memory, and how it is known that nothing else did.
//!
//! The record lies in the project, where a contained program may write. So what was decided is sealed in the person's own
//! directory, where it may not: how long the ledger is, a hash over all of its lines, and the facts of both files at that
//! moment. What does not fit the seal does not count, whatever it says.
//!
//! A change is first written into the seal as what comes next, then made, then sealed. Whoever finds a seal with a change in it
//! finishes that change: the process that began it died.
//!
//! Limits: a memory that was made on another machine, or for another person, has no seal here, and counts only after a
//! person took it over ([`Vault::adopt`]).

mod apply;
mod known;
mod scan;

pub(crate) use known::View;
pub use scan::{Entry, Finding, Scan};
pub(crate) use scan::{parse, short};

use crate::decision::{Line, Word};
use crate::error::MemoryError;
use crate::lines;
use crate::person::{Person, record};
use crate::places::Places;
use marvin_base::files::{self, Links};
use marvin_base::redact::Redactor;
use marvin_base::{atomic, signature};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The version of the seal.
const VERSION: u32 = 1;
/// How long another process is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a seal that are read: a change of many lines stands in it for a moment.
const MAX_SEAL_BYTES: u64 = 256 * 1024 * 1024;

/// The facts of a file that is not there.
const ABSENT: &str = "absent";

/// What was sealed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Seal {
    version: u32,
    /// The directory that it is about, for people.
    #[serde(rename = "folder")]
    directory: String,
    /// Lines, bytes and hash of the ledger.
    pub(crate) lines: u64,
    bytes: u64,
    pub(crate) head: String,
    /// Facts of the ledger and of the long-term memory, where both were found right.
    #[serde(default)]
    ledger: Option<String>,
    #[serde(default)]
    pub(crate) ltm: Option<String>,
    /// A change that was begun.
    #[serde(default)]
    next: Option<Change>,
}

/// A change of the ledger and the long-term memory.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Lines of the ledger.
    pub(crate) lines: Vec<String>,
    /// Lines of the long-term memory, with their ids.
    pub(crate) store: Vec<(String, String)>,
    /// Memories whose content is erased.
    pub(crate) erase: Vec<String>,
}

/// How far the files can be relied on.
#[derive(Debug)]
pub(crate) enum Trust {
    /// Both are as they were sealed.
    Whole(Seal),
    /// They are not, or it is not known; this is what was found.
    Looked(Box<Scan>),
}

/// The ledger, the long-term memory and their seal.
#[derive(Debug, Clone)]
pub struct Vault {
    pub(crate) places: Places,
    pub(crate) redactor: Arc<Redactor>,
}

/// The facts of a file that change with it, and a word for one that is not there.
pub(crate) fn stamp(path: &Path) -> Result<String, MemoryError> {
    match std::fs::symlink_metadata(path) {
        Ok(facts) if facts.is_file() => Ok(format!(
            "{}.{}.{}.{}.{}.{}.{}",
            facts.dev(),
            facts.ino(),
            facts.size(),
            facts.mtime(),
            facts.mtime_nsec(),
            facts.ctime(),
            facts.ctime_nsec()
        )),
        Ok(_) => Err(MemoryError::read(
            path,
            &"it is no regular file\n  hint: remove it, or name another one in the settings",
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ABSENT.into()),
        Err(error) => Err(MemoryError::read(path, &error)),
    }
}

/// The hash over a ledger with one line more.
pub(crate) fn chained(head: &str, line: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(head.len() + line.len() + 1);
    bytes.extend_from_slice(head.as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(line);
    signature::hash_bytes(&bytes)
}

/// Held while the files are looked at or changed. Dropping it lets go.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

impl Vault {
    /// The vault of these files. Nothing is read yet.
    #[must_use]
    pub fn new(places: Places, redactor: Arc<Redactor>) -> Self {
        Vault { places, redactor }
    }

    pub(crate) fn lock(&self) -> Result<Lock, MemoryError> {
        let path = self.places.seal.with_extension("lock");
        let failed = |error: std::io::Error| MemoryError::read(&path, &error);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let file = File::options().create(true).append(true).open(&path).map_err(failed)?;
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(MemoryError::Asked(format!(
                        "the memory {} is being changed by another process; wait for it to end",
                        self.places.directory.display()
                    )));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// Reads the seal; none where there is none.
    pub(crate) fn seal(&self) -> Result<Option<Seal>, MemoryError> {
        let path = &self.places.seal;
        let text = match files::read_text(path, MAX_SEAL_BYTES, Links::Follow) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(MemoryError::read(path, &error)),
        };
        let seal: Seal = serde_json::from_str(&text).map_err(|error| {
            MemoryError::read(
                path,
                &format!("it is damaged: {error}\n  hint: remove it, then `marvin memory audit --adopt`"),
            )
        })?;
        if seal.version > VERSION {
            return Err(MemoryError::read(
                path,
                &format!(
                    "it was made by a newer version of Marvin (version {})\n  hint: use that one",
                    seal.version
                ),
            ));
        }
        Ok(Some(seal))
    }

    fn put_seal(&self, seal: &Seal) -> Result<(), MemoryError> {
        let text = serde_json::to_string(seal).unwrap_or_default();
        Ok(atomic::replace_private(&self.places.seal, text.as_bytes())?)
    }

    fn fits(&self, seal: &Seal) -> Result<bool, MemoryError> {
        let same = |sealed: &Option<String>, path: &Path| -> Result<bool, MemoryError> {
            Ok(sealed.as_ref() == Some(&stamp(path)?))
        };
        Ok(seal.next.is_none()
            && same(&seal.ledger, &self.places.approvals)?
            && same(&seal.ltm, &self.places.ltm)?)
    }

    /// How far the files can be relied on. Costs the same however large they are, while nobody touches them.
    pub(crate) fn trust(&self) -> Result<Trust, MemoryError> {
        match self.seal()? {
            Some(seal) if self.fits(&seal)? => return Ok(Trust::Whole(seal)),
            None if stamp(&self.places.approvals)? == ABSENT && stamp(&self.places.ltm)? == ABSENT => {
                return Ok(Trust::Whole(self.first_seal()));
            }
            _ => {}
        }
        let lock = self.lock()?;
        let scan = self.settle(&lock)?;
        Ok(Trust::Looked(Box::new(scan)))
    }

    fn first_seal(&self) -> Seal {
        Seal { version: VERSION, directory: self.places.directory.display().to_string(), ..Seal::default() }
    }

    /// Finishes what was begun, then looks at everything; where all of it is right, that is sealed.
    pub(crate) fn settle(&self, lock: &Lock) -> Result<Scan, MemoryError> {
        self.finish(lock)?;
        let scan = self.scan()?;
        if let Some(mut seal) = self.seal()?
            && scan.findings.is_empty()
        {
            let both = (Some(stamp(&self.places.approvals)?), Some(stamp(&self.places.ltm)?));
            if (&seal.ledger, &seal.ltm) != (&both.0, &both.1) {
                (seal.ledger, seal.ltm) = both;
                self.put_seal(&seal)?;
            }
            self.keep_known(&scan, &seal);
        }
        Ok(scan)
    }

    /// What the ledger comes to: from what was kept, where nobody touched the files, else from a look at everything.
    pub(crate) fn view(&self, lock: &Lock) -> Result<View, MemoryError> {
        if let Some(seal) = self.seal()?
            && self.fits(&seal)?
            && let Some(known) = self.known(&seal)
        {
            return Ok(View::Known(known));
        }
        Ok(View::Looked(Box::new(self.settle(lock)?)))
    }

    /// What is said when that which was kept cannot be read.
    pub(crate) fn failed(&self, error: &rusqlite::Error) -> MemoryError {
        MemoryError::index(&self.places.seal.with_extension("sqlite"), error)
    }

    /// Looks at everything, whatever the seal says of the files' facts.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn audit(&self) -> Result<Scan, MemoryError> {
        let lock = self.lock()?;
        self.settle(&lock)
    }

    /// Makes a change: all of it, also when the process dies in between.
    pub(crate) fn commit(
        &self,
        make: impl FnOnce(&View) -> Result<Change, MemoryError>,
    ) -> Result<(), MemoryError> {
        let lock = self.lock()?;
        let view = self.view(&lock)?;
        if let View::Looked(scan) = &view
            && let Some(finding) = scan.findings.iter().find(|finding| finding.blocks)
        {
            return Err(MemoryError::Refused(format!(
                "nothing can be decided while the record does not fit what was sealed: {}\n  hint: `marvin memory audit` shows all of it",
                finding.what
            )));
        }
        let change = make(&view)?;
        drop(view);
        self.carry_out(&lock, change)
    }

    /// As [`Vault::commit`], for what needs nothing of the record: the shell's own lines.
    pub(crate) fn append(&self, line: &Line) -> Result<(), MemoryError> {
        let lock = self.lock()?;
        let known = match self.seal()? {
            Some(seal) => self.fits(&seal)?,
            None => false,
        };
        if !known {
            let scan = self.settle(&lock)?;
            if scan.findings.iter().any(|finding| finding.blocks) {
                return Err(MemoryError::Refused(
                    "the record does not fit what was sealed\n  hint: `marvin memory audit`".into(),
                ));
            }
        }
        self.carry_out(&lock, Change { lines: vec![self.text(line)], ..Change::default() })
    }

    fn carry_out(&self, lock: &Lock, change: Change) -> Result<(), MemoryError> {
        if change.lines.is_empty() {
            return Ok(());
        }
        let mut seal = self.seal()?.unwrap_or_else(|| self.first_seal());
        seal.next = Some(change);
        self.put_seal(&seal)?;
        self.finish(lock)
    }

    /// A line of the ledger as it is written: redacted, on one line.
    pub(crate) fn text(&self, line: &Line) -> String {
        let mut value = serde_json::to_value(line).unwrap_or_default();
        self.redactor.value(&mut value);
        // Writing it redacts it again; twice is the same as ever after.
        self.redactor.value(&mut value);
        value.to_string()
    }

    /// A person takes over what is there: what the ledger and the memory agree on counts from now on.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn adopt(&self, person: &Person) -> Result<Scan, MemoryError> {
        record(person, "memory audit --adopt", &self.places.approvals.display().to_string())?;
        let lock = self.lock()?;
        self.finish(&lock)?;
        let mut seal = self.first_seal();
        seal.bytes = lines::each(&self.places.approvals, None, |line| {
            if let Some(bytes) = line.bytes {
                seal.head = chained(&seal.head, bytes);
            }
            seal.lines += 1;
        })?;
        self.put_seal(&seal)?;
        self.carry_out(
            &lock,
            Change {
                lines: vec![self.text(&Line::new(Word::Adopt, "", person.name()))],
                ..Change::default()
            },
        )?;
        self.settle(&lock)
    }
}
