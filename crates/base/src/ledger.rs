//! Append-only JSONL: the record only grows.
//!
//! One line is one JSON object, written by a single `write` call together with its newline, redacted on the way. A
//! ledger has one writer: it holds an exclusive lock on the file for as long as it lives. Files that several
//! processes of one run share (the cost ledger) are opened with [`Ledger::open_shared`] and locked line by line.
//!
//! A process that dies in the middle of a write leaves a last line without a newline. Such a tail was never
//! acknowledged: it is never parsed as data. Whoever opens the ledger next moves it to `<file>.torn` and says so.
//!
//! Limits: a line that was acknowledged survives the death of the process. Whether it survives a power cut depends on
//! the [`Durability`] that was asked for.

use crate::redact::Redactor;
use serde::Serialize;
use serde_json::Value;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a shared ledger is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// A last line that is longer than this was not written here.
const LONGEST_TAIL: u64 = 64 * 1024 * 1024;

/// When lines are forced to the disk.
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

/// What was found at the end of a ledger whose writer died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// How many bytes were cut off the ledger.
    pub bytes: u64,
    /// Where they were put.
    pub saved_to: PathBuf,
}

/// Why a ledger could not be opened, read or appended to.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The operating system refused.
    #[error("cannot {doing} the record {path}: {source}{}", crate::atomic::hint(.source))]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: String,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// Another process writes to it.
    #[error("the record {path} is being written by another process; wait for it to end")]
    Busy {
        /// The file.
        path: String,
    },
    /// The entry cannot be written as JSON.
    #[error("an entry for {path} cannot be written as JSON: {source}")]
    Entry {
        /// The file.
        path: String,
        /// The reason.
        #[source]
        source: serde_json::Error,
    },
}

/// An open ledger.
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
}

impl Ledger {
    /// Opens (or makes) the ledger at `path` as its only writer.
    ///
    /// # Errors
    /// When the file cannot be opened or another process holds it.
    pub fn open(path: &Path, durability: Durability, redactor: Arc<Redactor>) -> Result<Self, LedgerError> {
        let mut ledger = Ledger::open_file(path, durability, redactor, false)?;
        match ledger.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LedgerError::Busy { path: path.display().to_string() });
            }
            Err(TryLockError::Error(source)) => return Err(ledger.io("lock", source)),
        }
        ledger.torn = ledger.repair()?;
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
        let mut ledger = Ledger::open_file(path, durability, redactor, true)?;
        ledger.lock()?;
        let torn = ledger.repair();
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
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            // A link would lead the record elsewhere, and a pipe would make its writer wait.
            let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
            let file =
                OpenOptions::new().create(true).append(true).read(true).custom_flags(flags).open(path)?;
            if file.metadata()?.is_file() {
                return Ok(file);
            }
            Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is no regular file"))
        };
        let file = open().map_err(|source| io("open", path, source))?;
        Ok(Ledger { path: path.to_path_buf(), file, durability, redactor, shared, torn: None, end: 0 })
    }

    /// What a former writer left unfinished, if anything.
    #[must_use]
    pub fn torn(&self) -> Option<&TornTail> {
        self.torn.as_ref()
    }

    /// Where the ledger is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Is this still the file that its path leads to, and no link?
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let identity = |facts: Metadata| (facts.dev(), facts.ino());
        let found = std::fs::symlink_metadata(&self.path).map(identity);
        found.is_ok_and(|found| self.file.metadata().is_ok_and(|own| identity(own) == found))
    }

    /// Its length in bytes; none where it cannot be told.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |facts| facts.len())
    }

    /// What its entries are cleaned by.
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
        let mut line = value.to_string();
        line.push('\n');
        self.append_line(line.as_bytes())?;
        Ok(value)
    }

    fn append_line(&mut self, line: &[u8]) -> Result<(), LedgerError> {
        if !self.shared {
            return self.write_whole(line).map_err(|source| self.io("append to", source));
        }
        self.lock()?;
        let appended = self.append_to_whole_lines(line);
        self.file.unlock().map_err(|source| self.io("unlock", source))?;
        appended
    }

    /// Appends behind what others may have left. The lock is held.
    fn append_to_whole_lines(&mut self, line: &[u8]) -> Result<(), LedgerError> {
        // Where nobody else has written since, the last line is whole.
        let known = self.end > 0 && self.length() == self.end;
        if !known && let Some(torn) = self.repair()? {
            self.torn = Some(torn);
        }
        self.write_whole(line).map_err(|source| self.io("append to", source))
    }

    /// Takes the lock, and does not wait for ever: whoever holds it for long does not write a line.
    fn lock(&self) -> Result<(), LedgerError> {
        let until = Instant::now() + PATIENCE;
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

    fn write_whole(&mut self, line: &[u8]) -> std::io::Result<()> {
        let before = self.file.metadata()?.len();
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
        if length - end > LONGEST_TAIL {
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
    /// The entries, in order.
    pub entries: Vec<Value>,
    /// Lines that are not JSON, as (line number, reason). A ledger of ours has none.
    pub damaged: Vec<(usize, String)>,
    /// Bytes at the end that were never acknowledged.
    pub torn_bytes: usize,
}

/// Reads a ledger without taking it: whole lines only.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path) -> Result<Contents, LedgerError> {
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
        match serde_json::from_slice(&line) {
            Ok(value) => contents.entries.push(value),
            Err(error) => contents.damaged.push((number, error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn open(path: &Path) -> Ledger {
        Ledger::open(path, Durability::Turn, Arc::new(Redactor::patterns_only())).unwrap()
    }

    #[test]
    fn a_torn_tail_is_moved_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/trace.jsonl");
        let mut ledger = open(&path);
        ledger.append(&json!({"n": 1})).unwrap();
        drop(ledger);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"n\": 2, \"half").unwrap();
        assert_eq!(read(&path).unwrap().torn_bytes, 14);
        let mut ledger = open(&path);
        let torn = ledger.torn().cloned().unwrap();
        assert_eq!(torn.bytes, 14);
        assert_eq!(std::fs::read(&torn.saved_to).unwrap(), b"{\"n\": 2, \"half\n");
        ledger.append(&json!({"n": 3})).unwrap();
        let contents = read(&path).unwrap();
        assert_eq!(contents.entries, [json!({"n": 1}), json!({"n": 3})]);
        assert!(contents.damaged.is_empty() && contents.torn_bytes == 0);
    }

    #[test]
    fn only_a_regular_file_is_a_record() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        std::fs::write(&victim, "no newline").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        for path in [&link, &pipe] {
            assert!(
                Ledger::open_shared(path, Durability::Turn, Arc::new(Redactor::patterns_only())).is_err()
            );
        }
        assert_eq!(std::fs::read(&victim).unwrap(), b"no newline");
        let endless = folder.path().join("endless");
        File::create(&endless).unwrap().set_len(1 << 32).unwrap();
        assert!(
            Ledger::open_shared(&endless, Durability::Turn, Arc::new(Redactor::patterns_only())).is_err()
        );
    }

    #[test]
    fn zeros_after_a_power_cut_are_not_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        std::fs::write(&path, b"{}\n\0\0\0\0\n\0\0").unwrap();
        assert_eq!(open(&path).torn().unwrap().bytes, 7);
        assert_eq!(std::fs::read(&path).unwrap(), b"{}\n");
    }

    #[test]
    fn one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        let first = open(&path);
        let second = Ledger::open(&path, Durability::Turn, Arc::new(Redactor::patterns_only()));
        assert!(matches!(second, Err(LedgerError::Busy { .. })));
        drop(first);
        open(&path);
    }

    #[test]
    fn what_another_writer_left_unfinished_is_moved_before_the_next_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("costs.jsonl");
        let mut ledger =
            Ledger::open_shared(&path, Durability::System, Arc::new(Redactor::patterns_only())).unwrap();
        for number in 0..3 {
            ledger.append(&json!({"n": number})).unwrap();
            OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"half").unwrap();
        }
        ledger.append(&json!({"n": 3})).unwrap();
        ledger.append(&json!({"n": 4})).unwrap();
        assert_eq!(ledger.torn().map(|torn| torn.bytes), Some(6));
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, (0..5).map(|number| format!("{{\"n\":{number}}}\n")).collect::<String>());
    }

    #[test]
    fn shared_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let mut ledger =
                        Ledger::open_shared(path, Durability::System, Arc::new(Redactor::patterns_only()))
                            .unwrap();
                    for n in 0..200 {
                        ledger.append(&json!({"writer": writer, "n": n})).unwrap();
                    }
                });
            }
        });
        let contents = read(&path).unwrap();
        assert_eq!(contents.entries.len(), 800);
        assert!(contents.damaged.is_empty());
    }

    #[test]
    fn secrets_do_not_reach_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        open(&path).append(&json!({"text": "key AKIAIOSFODNN7EXAMPLE!"})).unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("AKIAIOSFODNN7EXAMPLE"));
    }

    proptest! {
        #[test]
        fn any_tail_is_survived(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("l");
            let mut bytes = b"{\"n\":1}\n".to_vec();
            bytes.extend(&tail);
            std::fs::write(&path, &bytes).unwrap();
            let mut ledger = open(&path);
            ledger.append(&json!({"n": 2})).unwrap();
            let contents = read(&path).unwrap();
            prop_assert_eq!(contents.torn_bytes, 0);
            prop_assert_eq!(contents.entries.last(), Some(&json!({"n": 2})));
        }
    }
}
