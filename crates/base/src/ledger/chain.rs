//! The hash chain of ledgers that decide something.
//!
//! Format, version 1: every line ends in the key `prev`, whose value is `v1:` and 32 hexadecimal digits: the
//! first half of the SHA-256 of the line before it, without its newline. The first line carries the hash of
//! [`GENESIS`]. Beside the ledger lies its head, `.<name>.head`: one line of fixed width with the length of
//! the ledger, the hash of its last line and the boot in which it was written. So a line that was changed,
//! removed or inserted breaks the chain, and lines that were cut off at the end, or another file in its
//! place, do not fit the head.
//!
//! The head is written after the line and under the same lock. A process that dies in between leaves a ledger
//! that is longer than its head; the lines beyond must continue the chain. After a power cut the ledger may
//! be shorter than its head: that is accepted when the head is of an earlier boot and what is left is a
//! chain, because lines that were not forced to the disk are allowed to be lost then.
//!
//! Limits: the hashes have no key. They show accidents and edits by hand; what keeps agents away is that the
//! state directory cannot be written from a sandbox.

use super::{LedgerError, io};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The hash before the first line.
const GENESIS: &[u8] = b"marvin ledger v1";
/// The version of the format.
const VERSION: &str = "v1";
/// Hexadecimal digits of a hash.
const HASH_DIGITS: usize = 32;
/// Bytes of a head: version, length, hash, boot, newline.
const HEAD_BYTES: usize = 2 + 1 + 20 + 1 + HASH_DIGITS + 1 + 16 + 1;
/// Bytes of a line beyond which no `prev` is looked for.
const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;

/// A place where a ledger and its chain differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Break {
    /// A line has no `prev`, or is not JSON.
    Unchained(usize),
    /// A line does not continue the one before it.
    Line(usize),
    /// The ledger ends before its head says so.
    Shorter {
        /// Bytes that there should be.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// The last line is not the one that the head names.
    Head(usize),
    /// The head is missing or not readable.
    NoHead,
}

impl std::fmt::Display for Break {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Break::Unchained(line) => write!(formatter, "line {line} is not part of its hash chain"),
            Break::Line(line) => {
                write!(
                    formatter,
                    "line {line} does not continue line {}: one of them was changed, removed or inserted",
                    line.saturating_sub(1)
                )
            }
            Break::Shorter { expected, found } => {
                write!(formatter, "lines were cut off its end: {found} bytes are left of {expected}")
            }
            Break::Head(line) => write!(formatter, "line {line} is not the line that was written last"),
            Break::NoHead => write!(formatter, "its head is missing or damaged"),
        }
    }
}

/// The hash of a line, without its newline.
#[must_use]
pub fn hash(line: &[u8]) -> String {
    let mut digits = hex::encode(Sha256::digest(line));
    digits.truncate(HASH_DIGITS);
    digits
}

/// The hash that the first line continues.
#[must_use]
pub fn genesis() -> String {
    hash(GENESIS)
}

/// Adds `prev` to a JSON object; gives the whole line with its newline. What is not an object is not changed.
#[must_use]
pub fn link(object: &str, prev: &str) -> String {
    let Some(open) = object.strip_suffix('}') else { return format!("{object}\n") };
    let comma = if open.ends_with('{') { "" } else { "," };
    format!("{open}{comma}\"prev\":\"{VERSION}:{prev}\"}}\n")
}

/// The hash that a line says it continues. The key is the last of the line, as [`link`] writes it.
#[must_use]
pub fn prev(line: &[u8]) -> Option<&str> {
    const KEY: &[u8] = b"\"prev\":\"v1:";
    let rest = line.strip_suffix(b"\"}")?;
    let at = rest.len().checked_sub(HASH_DIGITS)?;
    let (before, digits) = rest.split_at(at);
    let is_hash = digits.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    (before.ends_with(KEY) && is_hash).then(|| std::str::from_utf8(digits).ok()).flatten()
}

/// Checks line after line, with what was seen so far.
#[derive(Debug, Clone)]
pub struct Walk {
    /// The hash of the last line.
    pub last: String,
    pub lines: usize,
    /// Bytes so far, newlines included.
    pub bytes: u64,
}

impl Default for Walk {
    fn default() -> Self {
        Walk { last: genesis(), lines: 0, bytes: 0 }
    }
}

impl Walk {
    /// Takes the next line, without its newline.
    ///
    /// # Errors
    /// When it does not continue the one before it.
    pub fn step(&mut self, line: &[u8]) -> Result<(), Break> {
        let number = self.lines + 1;
        match prev(line) {
            None => return Err(Break::Unchained(number)),
            Some(prev) if prev != self.last => return Err(Break::Line(number)),
            Some(_) => {}
        }
        self.last = hash(line);
        self.lines = number;
        self.bytes += line.len() as u64 + 1;
        Ok(())
    }
}

#[must_use]
pub fn head_path(ledger: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(ledger.file_name().unwrap_or_default());
    name.push(".head");
    ledger.with_file_name(name)
}

/// The content of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) bytes: u64,
    pub(super) hash: String,
    boot: String,
}

impl Head {
    /// Reads a head; none where it is missing or damaged.
    pub(super) fn read(path: &Path) -> Option<Head> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)
            .ok()?;
        Head::from_file(&file)
    }

    pub(super) fn from_file(file: &File) -> Option<Head> {
        let mut bytes = [0; HEAD_BYTES];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?.strip_suffix('\n')?;
        let mut parts = text.split(' ');
        let (version, length, hash, boot) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_whole = version == VERSION && hash.len() == HASH_DIGITS && parts.next().is_none();
        is_whole.then_some(())?;
        Some(Head { bytes: length.parse().ok()?, hash: hash.to_string(), boot: boot.to_string() })
    }

    pub(super) fn write(file: &File, bytes: u64, hash: &str) -> std::io::Result<()> {
        let text = format!("{VERSION} {bytes:020} {hash} {}\n", boot());
        file.write_all_at(text.as_bytes(), 0)
    }

    /// May the ledger be shorter than this head says, since the machine lost power?
    fn is_of_another_boot(&self) -> bool {
        self.boot != boot()
    }
}

/// Opens (or creates) the file of a head.
pub(super) fn open_head(ledger: &Path) -> std::io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let path = head_path(ledger);
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)
}

/// This boot of the machine, as 16 hexadecimal digits.
fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut digits = hash(&id);
        digits.truncate(16);
        digits
    })
}

/// Compares the end of a ledger with its head without reading all of it; gives the hash of its last line.
/// The lock is held and the last line is whole.
pub(super) fn check_end(
    file: &mut File,
    head: Option<&Head>,
    length: u64,
) -> std::io::Result<Result<String, Break>> {
    let Some(head) = head else {
        return Ok(if length == 0 { Ok(genesis()) } else { Err(Break::NoHead) });
    };
    if length < head.bytes {
        if !head.is_of_another_boot() {
            return Ok(Err(Break::Shorter { expected: head.bytes, found: length }));
        }
        return walk(file).map(|walked| walked.map(|walk| walk.last));
    }
    if length == head.bytes {
        return Ok(Ok(head.hash.clone()));
    }
    // Written by a process that died before it could say so, or by another one in this moment.
    file.seek(SeekFrom::Start(head.bytes))?;
    let mut walk = Walk { last: head.hash.clone(), lines: 0, bytes: head.bytes };
    Ok(steps(BufReader::new(&mut *file), &mut walk)?.map(|()| walk.last))
}

fn walk(file: &mut File) -> std::io::Result<Result<Walk, Break>> {
    file.seek(SeekFrom::Start(0))?;
    let mut walk = Walk::default();
    Ok(steps(BufReader::new(&mut *file), &mut walk)?.map(|()| walk))
}

fn steps(mut reader: impl BufRead, walk: &mut Walk) -> std::io::Result<Result<(), Break>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 || line.pop() != Some(b'\n') {
            return Ok(Ok(()));
        }
        if let Err(broken) = walk.step(&line) {
            return Ok(Err(broken));
        }
    }
}

/// Compares a whole walk over a ledger with its head.
pub(super) fn check_walk(
    path: &Path,
    walk: &Walk,
    head_line: Option<(usize, bool)>,
) -> Result<(), LedgerError> {
    let broken = |found| Err(LedgerError::Broken { path: path.display().to_string(), found });
    let Some(head) = Head::read(&head_path(path)) else {
        return if walk.lines == 0 { Ok(()) } else { broken(Break::NoHead) };
    };
    if walk.bytes < head.bytes {
        let found = Break::Shorter { expected: head.bytes, found: walk.bytes };
        return if head.is_of_another_boot() { Ok(()) } else { broken(found) };
    }
    match head_line {
        Some((_, true)) => Ok(()),
        Some((line, false)) => broken(Break::Head(line)),
        None if head.bytes == 0 => Ok(()),
        None => broken(Break::Head(walk.lines)),
    }
}

/// Is this the line that the head names? None while the head's length is not reached.
pub(super) fn meets_head(path: &Path) -> impl FnMut(&Walk) -> Option<(usize, bool)> + use<> {
    let head = Head::read(&head_path(path));
    move |walk| {
        let head = head.as_ref()?;
        (walk.bytes == head.bytes).then(|| (walk.lines, walk.last == head.hash))
    }
}

/// Gives a ledger of 0.1.0 its chain and its head: every whole line is kept and linked to the one before it. The
/// file is replaced whole. Lines that are not JSON objects are left out and counted.
///
/// # Errors
/// When it cannot be read or written.
pub fn adopt(path: &Path) -> Result<usize, LedgerError> {
    let bytes = std::fs::read(path).map_err(|source| io("read", path, source))?;
    let (mut text, mut last, mut dropped) = (String::new(), genesis(), 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n")) {
        let Ok(serde_json::Value::Object(mut entry)) = serde_json::from_slice(line) else {
            dropped += 1;
            continue;
        };
        entry.remove("prev");
        let line = link(&serde_json::Value::Object(entry).to_string(), &last);
        last = hash(line.trim_end_matches('\n').as_bytes());
        text.push_str(&line);
    }
    let failed = |error: crate::atomic::WriteError| io("write", path, error.source);
    crate::atomic::replace_private(path, text.as_bytes()).map_err(failed)?;
    let head = open_head(path).map_err(|source| io("open", path, source))?;
    Head::write(&head, text.len() as u64, &last).map_err(|source| io("write", path, source))?;
    Ok(dropped)
}
