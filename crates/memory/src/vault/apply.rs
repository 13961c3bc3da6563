//! Execution of a pending change, also from where another process left it.

use super::scan::{self, ErasedEntry};
use super::{Change, Lock, Seal, Vault, chained, stamp};
use crate::error::MemoryError;
use marvin_base::atomic;
use marvin_base::files::{self, Links};
use marvin_base::ledger::{Durability, Ledger};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const MAX_REWRITTEN_FILE_BYTES: u64 = 1024 * 1024 * 1024;

impl Vault {
    /// Finishes the pending change of the seal.
    pub(super) fn finish(&self, _lock: &Lock) -> Result<(), MemoryError> {
        let Some(mut seal) = self.seal()? else { return Ok(()) };
        let Some(change) = seal.next.clone() else { return Ok(()) };
        if !self.write_ledger(&seal, &change)? {
            // Lines of another program are in the place of ours: the change had no effect, and the next scan reports them.
            seal.next = None;
            return self.put_seal(&seal);
        }
        let before = stamp(&self.places.ltm)?;
        let was_right = seal.ltm.as_ref() == Some(&before) || (seal.lines == 0 && before == super::ABSENT);
        let resumed = self.write_memory(&change)?;
        let head = seal.head.clone();
        for line in &change.lines {
            seal.head = chained(&seal.head, line.as_bytes());
            seal.bytes += line.len() as u64 + 1;
            seal.lines += 1;
        }
        seal.next = None;
        // Files that were valid before and changed only here are still valid. Otherwise the next scan decides.
        let right = was_right && !resumed;
        seal.ledger = if right { Some(stamp(&self.places.approvals)?) } else { None };
        seal.ltm = if right { Some(stamp(&self.places.ltm)?) } else { None };
        self.put_seal(&seal)?;
        self.follow(&head, &change);
        Ok(())
    }

    /// Appends the missing lines; false where other lines are in their place.
    fn write_ledger(&self, seal: &Seal, change: &Change) -> Result<bool, MemoryError> {
        let path = &self.places.approvals;
        let mut ledger = Ledger::open(path, Durability::Turn, self.redactor.clone())?;
        let mut tail = Vec::new();
        let read = |tail: &mut Vec<u8>| -> std::io::Result<()> {
            let mut file = files::open(path, Links::Refuse)?;
            file.seek(SeekFrom::Start(seal.bytes))?;
            file.take(super::MAX_SEAL_BYTES).read_to_end(tail)?;
            Ok(())
        };
        read(&mut tail).map_err(|error| MemoryError::read(path, &error))?;
        if ledger.length() < seal.bytes {
            return Ok(false);
        }
        let mut rest = tail.as_slice();
        for line in &change.lines {
            if rest.is_empty() {
                let value: Value = serde_json::from_str(line)
                    .map_err(|error| MemoryError::read(&self.places.seal, &error))?;
                ledger.append(&value)?;
                continue;
            }
            match rest.strip_prefix(line.as_bytes()).and_then(|rest| rest.strip_prefix(b"\n")) {
                Some(after) => rest = after,
                None => return Ok(false),
            }
        }
        ledger.sync()?;
        Ok(rest.is_empty())
    }

    /// Writes and erases memories; true where some of them had been written already.
    fn write_memory(&self, change: &Change) -> Result<bool, MemoryError> {
        let path = &self.places.ltm;
        let mut resumed = false;
        if !change.store.is_empty() {
            // A process that died may have written some of them.
            let new: BTreeSet<&str> = change.store.iter().map(|(id, _)| id.as_str()).collect();
            let there = self.already(&new, change)?;
            resumed = !there.is_empty();
            let mut ledger = Ledger::open(path, Durability::Turn, self.redactor.clone())?;
            for (id, line) in &change.store {
                if !there.contains(id) {
                    let value: Value = serde_json::from_str(line)
                        .map_err(|error| MemoryError::read(&self.places.seal, &error))?;
                    ledger.append(&value)?;
                }
            }
            ledger.sync()?;
        }
        if !change.erase.is_empty() {
            let erase: BTreeSet<&str> = change.erase.iter().map(String::as_str).collect();
            erase_lines(path, &erase, &["id"], true)?;
            for path in [&self.places.candidates, &self.places.practice] {
                erase_lines(
                    path,
                    &erase,
                    &["fingerprint", "candidate_fingerprint", "original_fingerprint"],
                    false,
                )?;
            }
        }
        Ok(resumed)
    }

    /// The ids of the change's lines that are already at the end of the memory.
    fn already(&self, new: &BTreeSet<&str>, change: &Change) -> Result<BTreeSet<String>, MemoryError> {
        let path = &self.places.ltm;
        let Ok(mut file) = files::open(path, Links::Refuse) else { return Ok(BTreeSet::new()) };
        let length: u64 = change.store.iter().map(|(_, line)| line.len() as u64 + 1).sum();
        let mut tail = Vec::new();
        let mut read = || -> std::io::Result<()> {
            let start = file.metadata()?.len().saturating_sub(length + 4096);
            file.seek(SeekFrom::Start(start))?;
            file.read_to_end(&mut tail)?;
            Ok(())
        };
        read().map_err(|error| MemoryError::read(path, &error))?;
        // A line without its end was never written: opening the ledger moves it away.
        tail.truncate(tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
        let mut there = BTreeSet::new();
        for line in tail.split(|byte| *byte == b'\n') {
            if let Ok(entry) = scan::parse(line)
                && new.contains(entry.id.as_str())
                && change.store.iter().any(|(_, own)| own.as_bytes() == line)
            {
                there.insert(entry.id);
            }
        }
        Ok(there)
    }
}

/// Rewrites a file without the content of these ids.
///
/// In the long-term memory a line keeps its length, so that the offsets of the other lines stay valid.
pub(crate) fn erase_lines(
    path: &Path,
    ids: &BTreeSet<&str>,
    keys: &[&str],
    keep_place: bool,
) -> Result<(), MemoryError> {
    let bytes = match files::read(path, MAX_REWRITTEN_FILE_BYTES, Links::Refuse) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(MemoryError::read(path, &error)),
    };
    if bytes.len() as u64 > MAX_REWRITTEN_FILE_BYTES {
        return Err(MemoryError::read(path, &format!("it is larger than {MAX_REWRITTEN_FILE_BYTES} bytes")));
    }
    let mut kept = Vec::with_capacity(bytes.len());
    let mut changed = false;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let value: Option<Value> = serde_json::from_slice(line).ok();
        let found = value.as_ref().and_then(|value| {
            let named = |key: &&str| value.get(*key).and_then(Value::as_str).filter(|id| ids.contains(id));
            keys.iter().find_map(named)
        });
        // A line that was erased before stays as it is.
        let blank = value.as_ref().is_some_and(|value| keep_place && value.get("candidate").is_none());
        match found.filter(|_| !blank) {
            None => kept.extend_from_slice(line),
            Some(id) => {
                changed = true;
                if keep_place {
                    let erased = ErasedEntry { id: id.to_string(), forgotten: true };
                    let mut text = serde_json::to_vec(&erased).unwrap_or_default();
                    text.resize(line.len().saturating_sub(1).max(text.len()), b' ');
                    kept.extend_from_slice(&text);
                    kept.push(b'\n');
                }
            }
        }
    }
    if changed {
        atomic::replace(path, &kept)?;
    }
    Ok(())
}
