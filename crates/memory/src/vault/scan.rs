//! Looking at everything: the ledger is replayed and compared with the memory.

use super::{Vault, apply, chained};
use crate::candidate::Candidate;
use crate::decision::{Fate, Line, Standing};
use crate::error::MemoryError;
use crate::lines;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// Findings that are kept.
const MAX_KEPT_FINDINGS: usize = 200;

/// A memory as it stands in `ltm.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name: the fingerprint of what is remembered.
    pub id: String,
    /// Since when.
    #[serde(default)]
    pub stored_at_utc: String,
    /// What is remembered.
    pub candidate: Candidate,
    /// Where it came from: session, turn, who proposed it, what it was before a person changed it.
    #[serde(default)]
    pub extra: Value,
}

impl Entry {
    /// Is its time over? By the clock's seconds, so that neither a time zone nor a change of it matters; a clock that was set
    /// back ends nothing.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        let Some(days) = self.candidate.ttl_days else { return false };
        let Ok(stored) = self.stored_at_utc.parse::<Timestamp>() else { return false };
        now.as_second() >= stored.as_second().saturating_add(i64::from(days) * 86_400)
    }
}

/// Reads one line of the memory.
pub(crate) fn parse(line: &[u8]) -> Result<Entry, String> {
    let entry: Entry = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if entry.candidate.fingerprint() == entry.id { Ok(entry) } else { Err("its content was changed".into()) }
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is.
    pub kind: &'static str,
    /// In words.
    pub what: String,
    /// Whether nothing can be decided before it is mended.
    #[serde(skip)]
    pub blocks: bool,
}

/// What a look at everything found.
#[derive(Debug, Default)]
pub struct Scan {
    /// What the sealed part of the ledger comes to.
    pub standing: Standing,
    /// The memories that count, with where they stand; also those in whose place others are, and those whose time is over.
    pub entries: Vec<(u64, Entry)>,
    /// What does not fit.
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
        let length = apply::whole(&self.places.approvals)?;
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
            if is_blank(bytes, standing) {
                return;
            }
            match parse(bytes) {
                Err(error) => {
                    wrong.push(("damaged", format!("line {number} of {name} does not count: {error}")));
                }
                Ok(entry) if !standing.memories.contains_key(&entry.id) => wrong.push((
                    "unapproved",
                    format!(
                        "line {number} of {name} does not count: nobody agreed to it ({})",
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
                format!("{} bytes at the end of {name} are no whole line", length - whole),
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

/// A line whose content was erased.
fn is_blank(bytes: &[u8], standing: &Standing) -> bool {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Blank {
        id: String,
        forgotten: bool,
    }
    bytes.starts_with(b"{\"id\":")
        && bytes.len() < 4096 * 4
        && serde_json::from_slice::<Blank>(bytes)
            .is_ok_and(|blank| blank.forgotten && standing.memories.contains_key(&blank.id))
}

/// The beginning of an id, for people.
pub(crate) fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}
