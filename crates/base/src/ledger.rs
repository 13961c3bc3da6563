//! Append-only JSONL: the record only grows.
//!
//! One line is one JSON object, written by a single `write` call together with its newline, redacted on the way. A
//! ledger has one writer: it holds an exclusive lock on the file for as long as it lives. Files that several
//! processes of one run share (the cost ledger) are opened with [`Ledger::open_shared`] and locked line by line.
//!
//! A process that dies in the middle of a write leaves a last line without a newline. Such a tail was never
//! acknowledged: it is never parsed as data. The next process that opens the ledger moves it to `<file>.torn` and says so.
//!
//! Ledgers that decide something are opened with [`Ledger::open_chained`] or [`Ledger::open_shared_chained`] and read
//! with [`read_chained`]: their lines are a hash chain ([`chain`]), and one that is broken is not used.
//!
//! Limits: a line that was acknowledged survives the death of the process. Whether it survives a power cut depends on
//! the [`Durability`] that was asked for.

pub mod chain;
#[cfg(test)]
mod tests;

use crate::redact::Redactor;
use chain::{Break, Head, Walk};
use serde::Serialize;
use serde_json::Value;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a shared ledger is waited for.
const SHARED_LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long opening a ledger of one writer waits for its lock.
const OPEN_TIMEOUT: Duration = Duration::from_secs(2);
/// A last line that is longer than this was not written here.
const MAX_LAST_LINE_BYTES: u64 = 64 * 1024 * 1024;

/// Time at which lines are forced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After every line.
    Line,
    /// When the writer says so: at the end of a turn.
    #[default]
    Turn,
    /// Never; the operating system decides.
    System,
}

impl Durability {
    /// Reads the value of the setting `record.durability`.
    #[must_use]
    pub fn from_setting(text: &str) -> Self {
        match text {
            "line" => Durability::Line,
            "system" => Durability::System,
            _ => Durability::Turn,
        }
    }
}

/// An unfinished line at the end of a ledger whose writer died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// How many bytes were cut off the ledger.
    pub bytes: u64,
    /// The file that they were moved to.
    pub saved_to: PathBuf,
}

/// Failure to open, read or append to a ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("cannot {doing} the record {path}: {source}{}", crate::atomic::hint(.source))]
    Io {
        doing: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the record {path} is being written by another process; wait for it to end")]
    Busy { path: String },
    #[error(
        "cannot trust the record {path}: {found}\n  hint: something other than Marvin changed it; look at the file, restore it from a copy, or move it and its run away"
    )]
    Broken {
        path: String,
        /// The place of the break.
        found: Break,
    },
    /// It was put aside by another process since it was opened; open it again.
    #[error("the record {path} was put aside by another process")]
    Moved { path: String },
    #[error("an entry for {path} cannot be written as JSON: {source}")]
    Entry {
        path: String,
        #[source]
        source: serde_json::Error,
    },
}

#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    durability: Durability,
    redactor: Arc<Redactor>,
    shared: bool,
    torn: Option<TornTail>,
    /// Its length after the last line that was written here; zero where that is not known.
    end: u64,
    /// The hash chain, where it has one.
    chain: Option<HashChain>,
}

/// The hash chain of an open ledger.
#[derive(Debug)]
struct HashChain {
    head: File,
    /// The hash of the last line, as of [`Ledger::end`].
    last: String,
}

impl Ledger {
    /// Opens (or makes) the ledger at `path` as its only writer.
    ///
    /// # Errors
    /// When the file cannot be opened or another process holds it.
    pub fn open(path: &Path, durability: Durability, redactor: Arc<Redactor>) -> Result<Self, LedgerError> {
        Ledger::open_alone(path, durability, redactor, false)
    }

    /// The same for a ledger with a hash chain.
    ///
    /// # Errors
    /// When the file cannot be opened, another process holds it, or its end does not fit its head.
    pub fn open_chained(
        path: &Path,
        durability: Durability,
        redactor: Arc<Redactor>,
    ) -> Result<Self, LedgerError> {
        Ledger::open_alone(path, durability, redactor, true)
    }

    fn open_alone(
        path: &Path,
        durability: Durability,
        redactor: Arc<Redactor>,
        chained: bool,
    ) -> Result<Self, LedgerError> {
        let mut ledger = Ledger::open_file(path, durability, redactor, false)?;
        // A process that was killed a moment ago may have a child that has not let go of its files yet.
        ledger.lock_within(OPEN_TIMEOUT)?;
        ledger.torn = ledger.repair()?;
        if chained {
            ledger.begin_chain()?;
        }
        Ok(ledger)
    }

    /// Opens (or makes) a ledger that several processes append to; each line takes the lock for itself.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open_shared(
        path: &Path,
        durability: Durability,
        redactor: Arc<Redactor>,
    ) -> Result<Self, LedgerError> {
        Ledger::open_together(path, durability, redactor, false)
    }

    /// The same for a ledger with a hash chain.
    ///
    /// # Errors
    /// When the file cannot be opened, or its end does not fit its head.
    pub fn open_shared_chained(
        path: &Path,
        durability: Durability,
        redactor: Arc<Redactor>,
    ) -> Result<Self, LedgerError> {
        Ledger::open_together(path, durability, redactor, true)
    }

    fn open_together(
        path: &Path,
        durability: Durability,
        redactor: Arc<Redactor>,
        chained: bool,
    ) -> Result<Self, LedgerError> {
        let mut ledger = Ledger::open_file(path, durability, redactor, true)?;
        ledger.lock()?;
        // Between opening and locking, another process may have put the file aside; the head at the path is of a new file then.
        if chained && !ledger.is_in_place() {
            return Err(LedgerError::Moved { path: path.display().to_string() });
        }
        let torn = ledger.repair().and_then(|torn| {
            if chained {
                ledger.begin_chain()?;
            }
            Ok(torn)
        });
        ledger.file.unlock().map_err(|source| ledger.io("unlock", source))?;
        ledger.torn = torn?;
        Ok(ledger)
    }

    fn open_file(
        path: &Path,
        durability: Durability,
        redactor: Arc<Redactor>,
        shared: bool,
    ) -> Result<Self, LedgerError> {
        let open = || {
            if let Some(directory) = path.parent() {
                std::fs::create_dir_all(directory)?;
            }
            // A link would lead the record elsewhere, and a pipe would make its writer wait.
            let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
            let file =
                OpenOptions::new().create(true).append(true).read(true).custom_flags(flags).open(path)?;
            if file.metadata()?.is_file() {
                return Ok(file);
            }
            Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a regular file"))
        };
        let file = open().map_err(|source| io("open", path, source))?;
        Ok(Ledger {
            path: path.to_path_buf(),
            file,
            durability,
            redactor,
            shared,
            torn: None,
            end: 0,
            chain: None,
        })
    }

    /// Opens the head and compares it with the end of the ledger. The lock is held, and the last line is whole.
    fn begin_chain(&mut self) -> Result<(), LedgerError> {
        let head = chain::open_head(&self.path).map_err(|source| self.io("open the head of", source))?;
        self.chain = Some(HashChain { head, last: String::new() });
        self.follow_chain()
    }

    /// Reads the head again, since another process may have written. The lock is held.
    fn follow_chain(&mut self) -> Result<(), LedgerError> {
        let length = self.length();
        let Some(chained) = &mut self.chain else { return Ok(()) };
        let known = Head::from_file(&chained.head);
        let checked = chain::check_end(&mut self.file, known.as_ref(), length);
        let last = checked.map_err(|source| io("read", &self.path, source))?;
        let broken = |found| LedgerError::Broken { path: self.path.display().to_string(), found };
        chained.last = last.map_err(broken)?;
        if known.is_none_or(|head| head.bytes != length) {
            Head::write(&chained.head, length, &chained.last)
                .map_err(|source| io("write the head of", &self.path, source))?;
        }
        self.end = length;
        Ok(())
    }

    /// The unfinished line of a former writer, if any.
    #[must_use]
    pub fn torn(&self) -> Option<&TornTail> {
        self.torn.as_ref()
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Is this still the file that its path leads to, and no link?
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.file.metadata().is_ok_and(|facts| self.path_leads_to(&facts))
    }

    fn path_leads_to(&self, own: &Metadata) -> bool {
        let identity = |facts: &Metadata| (facts.dev(), facts.ino());
        std::fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == identity(own))
    }

    /// Its length in bytes; none where it cannot be told.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |facts| facts.len())
    }

    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Appends one entry; when this returns, the entry is acknowledged. Returns what was written, redacted.
    ///
    /// # Errors
    /// When the entry is not JSON or the write failed; a partial line is then cut off again.
    pub fn append(&mut self, entry: &impl Serialize) -> Result<Value, LedgerError> {
        let mut value = serde_json::to_value(entry)
            .map_err(|source| LedgerError::Entry { path: self.path.display().to_string(), source })?;
        self.redactor.value(&mut value);
        self.append_line(&value.to_string())?;
        Ok(value)
    }

    fn append_line(&mut self, line: &str) -> Result<(), LedgerError> {
        if !self.shared {
            let length = self.length();
            if self.chain.is_some() && length != self.end {
                // The only writer knows how long its ledger is.
                let found = Break::Shorter { expected: self.end, found: length };
                return Err(LedgerError::Broken { path: self.path.display().to_string(), found });
            }
            return self.write_linked(line, length);
        }
        self.lock()?;
        let appended = self.append_to_whole_lines(line);
        self.file.unlock().map_err(|source| self.io("unlock", source))?;
        appended
    }

    /// Writes a line at the end of the file of this length, linked to the last one where there is a chain; then the head.
    fn write_linked(&mut self, line: &str, length: u64) -> Result<(), LedgerError> {
        let line = match &self.chain {
            Some(chained) => chain::link(line, &chained.last),
            None => format!("{line}\n"),
        };
        self.write_whole(line.as_bytes(), length).map_err(|source| self.io("append to", source))?;
        if let Some(chained) = &mut self.chain {
            chained.last = chain::hash(line.trim_end_matches('\n').as_bytes());
            // Where this fails the head is behind, which the next writer makes good.
            Head::write(&chained.head, self.end, &chained.last).ok();
        }
        Ok(())
    }

    /// Appends behind what others may have left. The lock is held.
    fn append_to_whole_lines(&mut self, line: &str) -> Result<(), LedgerError> {
        // The head is found by its path: written for a file that was put aside, it would speak of the new one.
        let facts = self.file.metadata().map_err(|source| self.io("look at", source))?;
        if self.chain.is_some() && !self.path_leads_to(&facts) {
            return Err(LedgerError::Moved { path: self.path.display().to_string() });
        }
        // If no other process has written since, the last line is complete.
        if self.end > 0 && facts.len() == self.end {
            return self.write_linked(line, facts.len());
        }
        if let Some(torn) = self.repair()? {
            self.torn = Some(torn);
        }
        self.follow_chain()?;
        let length = self.length();
        self.write_linked(line, length)
    }

    /// Takes the lock within a timeout: a process that holds it for long is not writing a line.
    fn lock(&self) -> Result<(), LedgerError> {
        self.lock_within(SHARED_LOCK_TIMEOUT)
    }

    fn lock_within(&self, timeout: Duration) -> Result<(), LedgerError> {
        let until = Instant::now() + timeout;
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(LedgerError::Busy { path: self.path.display().to_string() });
                }
                Err(TryLockError::Error(source)) => return Err(self.io("lock", source)),
            }
        }
    }

    fn write_whole(&mut self, line: &[u8], before: u64) -> std::io::Result<()> {
        self.end = 0;
        let written = self.file.write_all(line).and_then(|()| match self.durability {
            Durability::Line => self.file.sync_data(),
            Durability::Turn | Durability::System => Ok(()),
        });
        if written.is_err() {
            // The line was not acknowledged; take back whatever part of it reached the file.
            self.file.set_len(before)?;
        } else {
            self.end = before + line.len() as u64;
        }
        written
    }

    /// Forces everything appended so far to the disk, unless the durability is [`Durability::System`].
    ///
    /// # Errors
    /// When the operating system cannot.
    pub fn sync(&self) -> Result<(), LedgerError> {
        match self.durability {
            Durability::System => Ok(()),
            Durability::Line | Durability::Turn => {
                self.file.sync_data().map_err(|source| self.io("sync", source))
            }
        }
    }

    /// Moves a torn tail out of the ledger.
    fn repair(&mut self) -> Result<Option<TornTail>, LedgerError> {
        let repair = |file: &mut File, path: &Path| -> std::io::Result<Option<TornTail>> {
            let length = file.metadata()?.len();
            let whole = whole_lines(file, length)?;
            if whole == length {
                return Ok(None);
            }
            file.seek(SeekFrom::Start(whole))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail)?;
            let saved_to = torn_path(path);
            let mut torn = OpenOptions::new().create(true).append(true).open(&saved_to)?;
            torn.write_all(&tail)?;
            torn.write_all(b"\n")?;
            torn.sync_all()?;
            file.set_len(whole)?;
            Ok(Some(TornTail { bytes: length - whole, saved_to }))
        };
        repair(&mut self.file, &self.path).map_err(|source| io("repair", &self.path, source))
    }

    fn io(&self, doing: &'static str, source: std::io::Error) -> LedgerError {
        io(doing, &self.path, source)
    }
}

fn io(doing: &'static str, path: &Path, source: std::io::Error) -> LedgerError {
    LedgerError::Io { doing, path: path.display().to_string(), source }
}

fn torn_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn");
    PathBuf::from(name)
}

/// The length of the part of `file` that ends in a newline and holds no NUL in its last line (a file system may
/// leave a hole of zeros after a power cut).
fn whole_lines(file: &mut File, length: u64) -> std::io::Result<u64> {
    const BLOCK: u64 = 64 * 1024;
    // Nearly always the last line is whole and short; it is looked at before every line of a shared ledger.
    const LAST: u64 = 4 * 1024;
    if length > LAST {
        let mut block = [0; LAST as usize];
        file.seek(SeekFrom::Start(length - LAST))?;
        file.read_exact(&mut block)?;
        if let Some(lines) = block.strip_suffix(b"\n")
            && let Some(at) = lines.iter().rposition(|byte| *byte == b'\n')
            && !lines.get(at..).unwrap_or_default().contains(&0)
        {
            return Ok(length);
        }
    }
    let mut end = length;
    while end > 0 {
        if length - end > MAX_LAST_LINE_BYTES {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "its last line does not end"));
        }
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        let mut block = vec![0; usize::try_from(end - start).unwrap_or(usize::MAX)];
        file.read_exact(&mut block)?;
        // Cut at the last newline, then look whether what stands before it is text.
        let mut block = block.as_slice();
        while let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            let (line, _) = block.split_at(at);
            let line_start = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |p| p + 1);
            if !line.get(line_start..).unwrap_or_default().contains(&0) {
                return Ok(start + at as u64 + 1);
            }
            block = line;
        }
        end = start;
    }
    Ok(0)
}

/// The whole lines of a ledger.
#[derive(Debug, Default)]
pub struct Contents {
    pub entries: Vec<Value>,
    /// Lines that are not JSON, as (line number, reason). A ledger of ours has none.
    pub damaged: Vec<(usize, String)>,
    /// Bytes at the end that were never acknowledged.
    pub torn_bytes: usize,
}

/// Reads a ledger without taking it: whole lines only. What links its lines is left out of the entries.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path) -> Result<Contents, LedgerError> {
    read_lines(path, |_| Ok(()))
}

/// Reads a ledger that something is decided by.
///
/// # Errors
/// When the file cannot be read, or its hash chain is broken.
pub fn read_chained(path: &Path) -> Result<Contents, LedgerError> {
    // The head first: a ledger that grows while it is read is longer than its head, never shorter.
    let mut meets_head = chain::meets_head(path);
    let (mut walk, mut met) = (Walk::default(), meets_head(&Walk::default()));
    let broken = |found| LedgerError::Broken { path: path.display().to_string(), found };
    let read = read_lines(path, |line| {
        walk.step(line).map_err(broken)?;
        met = met.take().or_else(|| meets_head(&walk));
        Ok(())
    });
    let contents = match read {
        Err(LedgerError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            chain::check_walk(path, &walk, met)?;
            // A ledger that was opened and never written to may have a head alone.
            return if is_known(path) { Ok(Contents::default()) } else { Err(io("read", path, source)) };
        }
        read => read?,
    };
    chain::check_walk(path, &walk, met)?;
    Ok(contents)
}

/// Is there a ledger with a chain at this path, or was there one?
#[must_use]
pub fn is_known(path: &Path) -> bool {
    path.symlink_metadata().is_ok() || chain::head_path(path).symlink_metadata().is_ok()
}

fn read_lines(
    path: &Path,
    mut each: impl FnMut(&[u8]) -> Result<(), LedgerError>,
) -> Result<Contents, LedgerError> {
    let file = File::open(path).map_err(|source| io("read", path, source))?;
    let mut reader = BufReader::new(file);
    let mut contents = Contents::default();
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let read = reader.read_until(b'\n', &mut line).map_err(|source| io("read", path, source))?;
        if read == 0 {
            return Ok(contents);
        }
        if line.pop() != Some(b'\n') {
            contents.torn_bytes = read;
            return Ok(contents);
        }
        each(&line)?;
        match serde_json::from_slice(&line) {
            Ok(mut value) => {
                if let Value::Object(entry) = &mut value
                    && chain::prev(&line).is_some()
                {
                    entry.remove("prev");
                }
                contents.entries.push(value);
            }
            Err(error) => contents.damaged.push((number, error.to_string())),
        }
    }
}
