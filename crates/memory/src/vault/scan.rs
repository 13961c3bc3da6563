//! Scan of the record: replays the ledger and compares it with the memory.

use super::{Vault, chained};
use crate::candidate::{Candidate, Source};
use crate::decision::{Fate, Line, Standing};
use crate::error::MemoryError;
use crate::lines;
use crate::proposal::Origin;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

const MAX_KEPT_FINDINGS: usize = 200;

/// A memory: a line of `ltm.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The fingerprint of the candidate.
    pub id: String,
    #[serde(default)]
    pub stored_at_utc: String,
    pub candidate: Candidate,
    /// A [`Provenance`], or the value that another program wrote.
    #[serde(default)]
    pub extra: Value,
}

/// The proposal that a memory was approved from.
#[derive(Debug, Serialize)]
pub(crate) struct Provenance {
    pub(crate) origin: Origin,
    pub(crate) proposed_at_utc: String,
    pub(crate) session_id: Option<String>,
    pub(crate) turn_number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) claimed_source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) original_fingerprint: Option<String>,
}

/// The line that replaces an erased memory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErasedEntry {
    pub(super) id: String,
    pub(super) forgotten: bool,
}

/// The reason why a line of the memory has no effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EntryError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("its content was changed")]
    Changed,
}

impl Entry {
    /// Whether its time to live has passed, by UTC seconds, which do not depend on time zones.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        let Some(days) = self.candidate.ttl_days else { return false };
        let Ok(stored) = self.stored_at_utc.parse::<Timestamp>() else { return false };
        now.as_second() >= stored.as_second().saturating_add(i64::from(days) * 86_400)
    }
}

/// Parses one line of the memory.
pub(crate) fn parse(line: &[u8]) -> Result<Entry, EntryError> {
    let entry: Entry = serde_json::from_slice(line)?;
    if entry.candidate.fingerprint() == entry.id { Ok(entry) } else { Err(EntryError::Changed) }
}

/// A difference between the files and the seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: &'static str,
    pub what: String,
    /// Whether it must be fixed before the next decision.
    #[serde(skip)]
    pub blocks: bool,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub struct Scan {
    /// The state that the sealed part of the ledger describes.
    pub standing: Standing,
    /// Approved memories with their offsets, including superseded and expired ones.
    pub entries: Vec<(u64, Entry)>,
    pub findings: Vec<Finding>,
    /// The hash over the ledger.
    pub(crate) head: String,
}

impl Scan {
    fn find(&mut self, kind: &'static str, blocks: bool, what: String) {
        if self.findings.len() < MAX_KEPT_FINDINGS {
            self.findings.push(Finding { kind, what, blocks });
        }
    }
}

impl Vault {
    /// Replays the ledger and compares it with the memory. Changes nothing.
    pub(super) fn scan(&self) -> Result<Scan, MemoryError> {
        let mut scan = Scan::default();
        let seal = self.seal()?;
        let length = lines::each(&self.places.approvals, None, |_| {})?;
        let sealed = seal.as_ref().map_or(0, |seal| seal.bytes);
        let mut standing = Standing::default();
        let mut head = String::new();
        let mut damaged = Vec::new();
        let read = lines::each(&self.places.approvals, Some(sealed), |line| {
            let Some(bytes) = line.bytes else { return };
            head = chained(&head, bytes);
            match serde_json::from_slice::<Line>(bytes) {
                Ok(line) => standing.take(&line),
                Err(error) => {
                    damaged.push(format!("line {} of the ledger cannot be read: {error}", line.number));
                }
            }
        })?;
        for what in damaged {
            scan.find("damaged", false, what);
        }
        let ledger = self.places.approvals.display();
        match &seal {
            None if length > 0 => scan.find(
                "unsealed",
                true,
                format!("{ledger} was not made here, or its seal is lost; what it says does not count"),
            ),
            Some(seal) if read < sealed || head != seal.head => {
                scan.find(
                    "changed",
                    true,
                    format!("{ledger} is not what was sealed ({} lines); nothing of it counts", seal.lines),
                );
                standing = Standing::default();
            }
            Some(_) if length > sealed => {
                let mut more = 0;
                lines::each(&self.places.approvals, None, |line| more += u64::from(line.offset >= sealed))?;
                scan.find(
                    "unsealed",
                    true,
                    format!("{more} lines at the end of {ledger} were not written by Marvin"),
                );
            }
            _ => {}
        }
        scan.standing = standing;
        scan.head = head;
        self.scan_memory(&mut scan)?;
        Ok(scan)
    }

    fn scan_memory(&self, scan: &mut Scan) -> Result<(), MemoryError> {
        let name = self.places.ltm.display().to_string();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut entries: Vec<(u64, Entry)> = Vec::new();
        let mut wrong: Vec<(&'static str, String)> = Vec::new();
        let standing = &scan.standing;
        let whole = lines::each(&self.places.ltm, None, |line| {
            let number = line.number;
            let Some(bytes) = line.bytes else {
                return wrong.push(("damaged", format!("line {number} of {name} is too long")));
            };
            if is_erased(bytes, standing) {
                return;
            }
            match parse(bytes) {
                Err(error) => {
                    wrong.push(("damaged", format!("line {number} of {name} does not count: {error}")));
                }
                Ok(entry) if !standing.memories.contains_key(&entry.id) => wrong.push((
                    "unapproved",
                    format!(
                        "line {number} of {name} does not count: it was never approved ({})",
                        short(&entry.id)
                    ),
                )),
                Ok(entry) if !standing.is_kept(&entry.id) => wrong.push((
                    "forgotten",
                    format!(
                        "line {number} of {name} does not count: it was forgotten ({})",
                        short(&entry.id)
                    ),
                )),
                Ok(entry) if !seen.insert(entry.id.clone()) => {
                    wrong.push((
                        "double",
                        format!("line {number} of {name} stands there twice ({})", short(&entry.id)),
                    ));
                }
                Ok(entry) => entries.push((line.offset, entry)),
            }
        })?;
        let length = std::fs::symlink_metadata(&self.places.ltm).map_or(0, |facts| facts.len());
        if length > whole {
            wrong.push((
                "damaged",
                format!("{} bytes at the end of {name} are not a whole line", length - whole),
            ));
        }
        let missing: Vec<String> = standing
            .memories
            .iter()
            .filter(|(id, memory)| memory.fate == Fate::Active && !seen.contains(*id))
            .map(|(id, _)| id.clone())
            .collect();
        for id in missing {
            wrong.push(("missing", format!("{} was agreed to and is not in {name}", short(&id))));
        }
        for (kind, what) in wrong {
            scan.find(kind, false, what);
        }
        scan.entries = entries;
        Ok(())
    }
}

/// Whether a line is an [`ErasedEntry`] of a memory that was once approved.
fn is_erased(bytes: &[u8], standing: &Standing) -> bool {
    bytes.starts_with(b"{\"id\":")
        && bytes.len() < 4096 * 4
        && serde_json::from_slice::<ErasedEntry>(bytes)
            .is_ok_and(|erased| erased.forgotten && standing.memories.contains_key(&erased.id))
}

/// The prefix of an id that people are shown.
pub(crate) fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}
