//! The short-term memory: traces of recent turns, for the model and not for people.
//!
//! It is bounded in number, size and age; the oldest entries are removed first. An entry that was used repeatedly is
//! proposed for the long-term memory, once.
//!
//! Ages are differences of UTC seconds and do not depend on time zones. A clock that was set back makes entries younger,
//! never expired; the limit on their number still holds.

mod entry;

pub use entry::{Promotion, StmEntry, Trace};

use crate::candidate::{Candidate, Source, Type};
use crate::error::MemoryError;
use crate::lines;
use entry::Metadata;
use jiff::Timestamp;
use marvin_base::redact::Redactor;
use marvin_base::settings::{Settings, table};
use marvin_base::{atomic, clock, ids};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The time to live of a promoted trace.
const PROMOTED_DAYS: u32 = 180;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub enabled: bool,
    pub ttl_hours: i64,
    pub entries: usize,
    /// Characters of one entry.
    pub characters: usize,
    /// Hours before an entry is injected again.
    pub refresh_hours: i64,
    /// Entries that are injected into one turn.
    pub top: usize,
    /// Accesses and sessions before an entry is proposed.
    pub accesses: u64,
    pub sessions: u64,
    /// Proposals of one turn.
    pub promotions: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            enabled: true,
            ttl_hours: 72,
            entries: 200,
            characters: 3072,
            refresh_hours: 24,
            top: 6,
            accesses: 3,
            sessions: 2,
            promotions: 2,
        }
    }
}

impl Bounds {
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Bounds {
            enabled: settings.on(&table::STM_ENABLED),
            ttl_hours: settings.whole(&table::STM_TTL),
            entries: settings.count(&table::STM_ENTRIES),
            characters: settings.count(&table::STM_CHARACTERS),
            refresh_hours: settings.whole(&table::STM_REFRESH),
            top: settings.count(&table::STM_TOP),
            accesses: settings.count(&table::STM_ACCESS_MIN) as u64,
            sessions: settings.count(&table::STM_SESSIONS_MIN) as u64,
            promotions: settings.count(&table::STM_PROMOTIONS),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceOutcome {
    /// Stored under this id.
    Kept(String),
    /// Not stored, for this reason.
    Skipped(&'static str),
}

/// The short-term memory in one file.
#[derive(Debug, Clone)]
pub struct Stm {
    path: PathBuf,
    bounds: Bounds,
    redactor: Arc<Redactor>,
}

impl Stm {
    #[must_use]
    pub fn at(path: &Path, bounds: Bounds, redactor: Arc<Redactor>) -> Self {
        Stm { path: path.to_path_buf(), bounds, redactor }
    }

    /// Every readable entry of a file, oldest first.
    pub(crate) fn entries_of(path: &Path) -> Result<Vec<StmEntry>, MemoryError> {
        let mut entries = Vec::new();
        lines::each(path, None, |line| {
            entries.extend(line.bytes.and_then(|bytes| serde_json::from_slice::<StmEntry>(bytes).ok()));
        })?;
        Ok(entries)
    }

    /// The entries that have not expired, oldest first.
    pub fn entries(&self, now: Timestamp) -> Result<Vec<StmEntry>, MemoryError> {
        let mut entries = Stm::entries_of(&self.path)?;
        entries.retain(|entry| !entry.is_over(self.bounds.ttl_hours, now));
        Ok(entries)
    }

    /// Changes the file under its lock, and removes expired and surplus entries.
    fn change<T>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut Vec<StmEntry>) -> T,
    ) -> Result<T, MemoryError> {
        rewrite(&self.path, &self.redactor, |entries| {
            entries.retain(|entry| !entry.is_over(self.bounds.ttl_hours, now));
            let result = change(entries);
            let surplus = entries.len().saturating_sub(self.bounds.entries);
            entries.drain(..surplus);
            result
        })
    }

    /// Stores the trace of a turn, unless the turn failed or gave no answer.
    pub fn write(
        &self,
        trace: &Trace,
        session_id: &str,
        turn_number: u64,
        went_wrong: bool,
    ) -> Result<TraceOutcome, MemoryError> {
        if !self.bounds.enabled {
            return Ok(TraceOutcome::Skipped("the short-term memory is switched off"));
        }
        if went_wrong {
            return Ok(TraceOutcome::Skipped("the turn went wrong"));
        }
        if trace.resolution.trim().is_empty() {
            return Ok(TraceOutcome::Skipped("the turn gave no answer"));
        }
        let Some(text) = trace.text(self.bounds.characters) else {
            return Ok(TraceOutcome::Skipped("it does not fit into an entry"));
        };
        let now = clock::now();
        let id = format!("stm_{}", ids::uuid());
        let entry = StmEntry {
            id: id.clone(),
            text,
            metadata: Metadata::new(now, self.bounds.ttl_hours, session_id, turn_number),
        };
        self.change(now, |entries| entries.push(entry))?;
        Ok(TraceOutcome::Kept(id))
    }

    /// The wanted entries that may be injected into a turn now; each of them counts as accessed.
    pub fn inject(
        &self,
        wanted: &[String],
        session_id: &str,
        now: Timestamp,
    ) -> Result<Vec<StmEntry>, MemoryError> {
        if wanted.is_empty() || !self.bounds.enabled {
            return Ok(Vec::new());
        }
        let bounds = self.bounds;
        self.change(now, |entries| {
            let mut injected = Vec::new();
            for id in wanted {
                let Some(entry) = entries.iter_mut().find(|entry| entry.id == *id) else { continue };
                if injected.len() == bounds.top || !entry.metadata.is_injectable(bounds.refresh_hours, now) {
                    continue;
                }
                entry.metadata.count_injection(session_id, now);
                injected.push(entry.clone());
            }
            injected
        })
    }

    /// Counts an access to each of these entries: a model asked for them.
    pub fn count_accesses(
        &self,
        wanted: &[String],
        session_id: &str,
        now: Timestamp,
    ) -> Result<(), MemoryError> {
        if wanted.is_empty() || !self.bounds.enabled {
            return Ok(());
        }
        self.change(now, |entries| {
            for entry in entries.iter_mut().filter(|entry| wanted.contains(&entry.id)) {
                entry.metadata.count_access(session_id, now);
            }
        })
    }

    /// Candidates from entries that were used often enough in enough sessions; each entry is proposed once.
    pub fn promote(&self, now: Timestamp) -> Result<Vec<(String, Candidate)>, MemoryError> {
        let bounds = self.bounds;
        let due = |entry: &StmEntry| {
            let facts = &entry.metadata;
            facts.promotion_status == Promotion::None
                && !facts.error_tainted
                && facts.access_count >= bounds.accesses
                && facts.sessions_seen >= bounds.sessions
        };
        if !bounds.enabled || !self.entries(now)?.iter().any(due) {
            return Ok(Vec::new());
        }
        self.change(now, |entries| {
            let mut proposed = Vec::new();
            for entry in entries.iter_mut().filter(|entry| due(entry)).take(bounds.promotions) {
                entry.metadata.promotion_status = Promotion::Attempted;
                proposed.push((entry.id.clone(), candidate(entry)));
            }
            proposed
        })
    }
}

/// Changes the entries of a file under its lock.
fn rewrite<T>(
    path: &Path,
    redactor: &Redactor,
    change: impl FnOnce(&mut Vec<StmEntry>) -> T,
) -> Result<T, MemoryError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let failed = |error: std::io::Error| MemoryError::read(directory, &error);
    std::fs::create_dir_all(directory).map_err(failed)?;
    let lock = File::open(directory).map_err(failed)?;
    let until = Instant::now() + LOCK_TIMEOUT;
    while let Err(error) = lock.try_lock() {
        match error {
            TryLockError::WouldBlock if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(2));
            }
            TryLockError::WouldBlock => {
                return Err(MemoryError::Asked(format!(
                    "{} is held by another process",
                    directory.display()
                )));
            }
            TryLockError::Error(error) => return Err(failed(error)),
        }
    }
    let mut entries = Stm::entries_of(path)?;
    let result = change(&mut entries);
    let mut text = String::new();
    for entry in &entries {
        let mut value = serde_json::to_value(entry).unwrap_or_default();
        redactor.value(&mut value);
        text.push_str(&value.to_string());
        text.push('\n');
    }
    atomic::replace(path, text.as_bytes())?;
    Ok(result)
}

/// Records a person's decision about a promoted entry.
pub(crate) fn record_promotion(
    path: &Path,
    redactor: &Redactor,
    fingerprint: &str,
    status: Promotion,
) -> Result<(), MemoryError> {
    if !path.exists() {
        return Ok(());
    }
    let is_meant = |entry: &StmEntry| {
        entry.metadata.promotion_status == Promotion::Attempted
            && candidate(entry).checked(redactor).is_ok_and(|proposed| proposed.fingerprint() == fingerprint)
    };
    rewrite(path, redactor, |entries| {
        for entry in entries.iter_mut().filter(|entry| is_meant(entry)) {
            entry.metadata.promotion_status = status;
        }
    })
}

/// The candidate that a trace makes.
fn candidate(entry: &StmEntry) -> Candidate {
    let trace = entry.trace();
    let text = if trace.resolution.is_empty() {
        trace.intent.clone()
    } else {
        format!("{}: {}", trace.intent, trace.resolution)
    };
    let low = text.to_lowercase();
    let kind = if ["prefer", "like", "favourite", "favorite", "always", "never"]
        .iter()
        .any(|word| low.contains(word))
    {
        Type::Preference
    } else if ["how to", "steps", "first ", "then "].iter().any(|word| low.contains(word)) {
        Type::Procedure
    } else {
        Type::Fact
    };
    let Metadata { access_count, sessions_seen, .. } = &entry.metadata;
    let reason = format!("needed {access_count} times in {sessions_seen} sessions");
    let mut candidate = Candidate::new(text, kind, Source::AssistantInferred, reason);
    candidate.tags = std::iter::once("stm_promotion".to_string()).chain(trace.entities).collect();
    candidate.ttl_days = Some(PROMOTED_DAYS);
    candidate
}

#[cfg(test)]
mod tests;
