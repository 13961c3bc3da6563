//! The vault: writes decisions to the ledger and the long-term memory, and detects any other change to them.
//!
//! The record is in the project, where a sandboxed program may write. So decisions are sealed in the person's own
//! directory, where it may not: the length of the ledger, a hash over all of its lines, and the stamps of both files.
//! Entries that do not match the seal have no effect.
//!
//! A change is first written into the seal as pending, then made, then sealed. A process that finds a pending change
//! finishes it, because the process that began it died.
//!
//! Limits: a memory that was made on another machine, or for another person, has no seal here, and takes effect only
//! after a person adopts it ([`Vault::adopt`]).

mod apply;
mod known;
mod scan;

pub(crate) use known::View;
pub use scan::{Entry, Finding, Scan};
pub(crate) use scan::{Provenance, parse, short};

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

const VERSION: u32 = 1;
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Large, because a pending change of many lines is part of the seal.
const MAX_SEAL_BYTES: u64 = 256 * 1024 * 1024;
/// The stamp of a missing file.
const ABSENT: &str = "absent";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Seal {
    version: u32,
    /// For people who read the file.
    #[serde(rename = "folder")]
    directory: String,
    /// Lines, bytes and hash of the ledger.
    pub(crate) lines: u64,
    bytes: u64,
    pub(crate) head: String,
    /// Stamps of the ledger and of the long-term memory, where both were found valid.
    #[serde(default)]
    ledger: Option<String>,
    #[serde(default)]
    pub(crate) ltm: Option<String>,
    /// The pending change.
    #[serde(default)]
    next: Option<Change>,
}

/// A change of the ledger and the long-term memory.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Change {
    /// New lines of the ledger.
    pub(crate) lines: Vec<String>,
    /// New lines of the long-term memory, with their ids.
    pub(crate) store: Vec<(String, String)>,
    /// Ids of memories to erase.
    pub(crate) erase: Vec<String>,
}

/// The state of the files relative to the seal.
#[derive(Debug)]
pub(crate) enum Trust {
    /// Both files are as they were sealed.
    Whole(Seal),
    /// The files were scanned, because their stamps differ from the seal.
    Scanned(Box<Scan>),
}

/// The ledger, the long-term memory and their seal.
#[derive(Debug, Clone)]
pub struct Vault {
    pub(crate) places: Places,
    pub(crate) redactor: Arc<Redactor>,
}

/// The metadata of a file that changes with its content; [`ABSENT`] for a missing file.
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
            &"it is not a regular file\n  hint: remove it, or name another one in the settings",
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ABSENT.into()),
        Err(error) => Err(MemoryError::read(path, &error)),
    }
}

/// The hash over a ledger with one more line.
pub(crate) fn chained(head: &str, line: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(head.len() + line.len() + 1);
    bytes.extend_from_slice(head.as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(line);
    signature::hash_bytes(&bytes)
}

/// The lock on the files; dropping it releases it.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

impl Vault {
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

    /// Compares the files with the seal. The cost does not depend on their size while their stamps match.
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
        Ok(Trust::Scanned(Box::new(scan)))
    }

    fn first_seal(&self) -> Seal {
        Seal { version: VERSION, directory: self.places.directory.display().to_string(), ..Seal::default() }
    }

    /// Finishes a pending change and scans both files; where they are valid, seals their stamps.
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

    /// The state of the ledger: from the cache where the files are unchanged, else from a scan.
    pub(crate) fn view(&self, lock: &Lock) -> Result<View, MemoryError> {
        if let Some(seal) = self.seal()?
            && self.fits(&seal)?
            && let Some(known) = self.known(&seal)
        {
            return Ok(View::Cached(known));
        }
        Ok(View::Scanned(Box::new(self.settle(lock)?)))
    }

    /// The error for a cache that cannot be read.
    pub(crate) fn failed(&self, error: &rusqlite::Error) -> MemoryError {
        MemoryError::index(&self.places.seal.with_extension("sqlite"), error)
    }

    /// Scans both files, whether or not their stamps match the seal.
    pub fn audit(&self) -> Result<Scan, MemoryError> {
        let lock = self.lock()?;
        self.settle(&lock)
    }

    /// Makes a change atomically, also when the process dies in between.
    pub(crate) fn commit(
        &self,
        make: impl FnOnce(&View) -> Result<Change, MemoryError>,
    ) -> Result<(), MemoryError> {
        let lock = self.lock()?;
        let view = self.view(&lock)?;
        if let View::Scanned(scan) = &view
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

    /// As [`Vault::commit`], for Marvin's own lines, which do not depend on the record.
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

    /// A redacted line of the ledger.
    pub(crate) fn text(&self, line: &Line) -> String {
        let mut value = serde_json::to_value(line).unwrap_or_default();
        self.redactor.value(&mut value);
        // The ledger redacts the line again when it is written: the second pass makes the text stable.
        self.redactor.value(&mut value);
        value.to_string()
    }

    /// Seals the files as they are, so that the memories that the ledger and the file agree on take effect.
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
