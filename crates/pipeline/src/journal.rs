//! The journal of the phases, `pipeline.jsonl` in the run directory.
//!
//! A phase is closed in three steps: `closing` is written here, the name into `pipeline_state`, then `closed` here. So the state
//! file always agrees with `closed` or with `closing`; anything else is tampering.
//!
//! The time of a phase is the sum over the processes that worked on it. A killed process cannot write its time; the next one
//! does, from the last event of the trace. Limits: work after that event is not counted.

use crate::phase::Phase;
use jiff::Timestamp;
use marvin_base::clock;
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "pipeline.jsonl";

#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    redactor: Arc<Redactor>,
    durability: Durability,
}

/// The content of the journal.
#[derive(Debug, Clone, Default)]
pub struct PhaseHistory {
    /// The last closed phase.
    pub closed: Option<Phase>,
    /// The last phase that was about to be closed.
    pub closing: Option<Phase>,
    /// The phases that were begun.
    pub phases: BTreeMap<Phase, PhaseRecord>,
    /// Resets, each with the last phase that stayed closed.
    pub resets: Vec<Option<Phase>>,
    /// Failed phases, once per failure: they are repeated.
    pub failures: Vec<Phase>,
}

/// The record of a phase.
#[derive(Debug, Clone, Default)]
pub struct PhaseRecord {
    pub begun: String,
    /// The cost of the run before it, in billionths of a dollar.
    pub cost_before: u64,
    /// The facts of a phase that ended.
    pub ended: Option<Map<String, Value>>,
    /// The number of processes that worked on it.
    pub taken: u64,
    /// Milliseconds of finished processes.
    pub worked_ms: u64,
    /// The start of the process that works on it, or that was killed.
    pub since: Option<String>,
}

impl PhaseHistory {
    /// How often this phase was reset or failed: part of the keys of its agents, so that they work again.
    #[must_use]
    pub fn generation(&self, phase: Phase) -> usize {
        let set_back = self.resets.iter().filter(|to| to.is_none_or(|to| to < phase)).count();
        set_back + self.failures.iter().filter(|failed| **failed == phase).count()
    }

    /// The phase of a running or killed process, and its milliseconds until the last event of the trace.
    #[must_use]
    pub fn under_way(&self, trace: &[Value]) -> Option<(Phase, u64)> {
        let (phase, since) = self
            .phases
            .iter()
            .rev()
            .find_map(|(phase, record)| record.since.as_deref().map(|since| (*phase, since)))?;
        let moment = |stamp: &str| stamp.parse::<Timestamp>().ok();
        let stamps = trace.iter().rev().filter_map(|event| event.get("timestamp")?.as_str());
        let last = stamps.filter_map(moment).next();
        let worked =
            last.zip(moment(since)).map_or(0, |(last, since)| last.as_millisecond() - since.as_millisecond());
        Some((phase, u64::try_from(worked).unwrap_or(0)))
    }

    /// Milliseconds of a phase; `under_way` is the result of [`PhaseHistory::under_way`].
    #[must_use]
    pub fn worked_ms(&self, phase: Phase, under_way: Option<(Phase, u64)>) -> Option<u64> {
        let more = under_way.filter(|(at, _)| *at == phase).map_or(0, |(_, worked)| worked);
        self.phases.get(&phase).map(|record| record.worked_ms.saturating_add(more))
    }

    fn apply(&mut self, entry: &Value) {
        let Ok(entry) = Entry::deserialize(entry) else { return };
        let phase = entry.phase.as_deref().and_then(Phase::find);
        match (entry.kind, phase) {
            (EntryKind::Begun, Some(phase)) => {
                let record = PhaseRecord {
                    begun: entry.timestamp.clone(),
                    cost_before: entry.cost_nanos.unwrap_or(0),
                    taken: 1,
                    since: Some(entry.timestamp),
                    ..PhaseRecord::default()
                };
                self.phases.insert(phase, record);
            }
            (EntryKind::Taken, Some(phase)) => {
                let record = self.phases.entry(phase).or_default();
                record.taken += 1;
                record.since = Some(entry.timestamp);
            }
            (EntryKind::Worked, Some(phase)) => {
                let record = self.phases.entry(phase).or_default();
                record.since = None;
                record.worked_ms = record.worked_ms.saturating_add(entry.elapsed_ms.unwrap_or(0));
            }
            (EntryKind::Closing, Some(phase)) => {
                self.closing = Some(phase);
                let facts = entry.facts.unwrap_or_default();
                let record = self.phases.entry(phase).or_default();
                record.since = None;
                let worked = facts.get("elapsed_ms").and_then(Value::as_u64);
                record.worked_ms = worked.unwrap_or(record.worked_ms);
                record.ended = Some(facts);
            }
            (EntryKind::Failed, Some(phase)) => self.failures.push(phase),
            (EntryKind::Closed, Some(phase)) => self.closed = Some(phase),
            (EntryKind::Reset, to) => {
                self.resets.push(to);
                (self.closed, self.closing) = (to, to);
                self.phases.retain(|phase, _| to.is_some_and(|to| *phase <= to));
            }
            _ => {}
        }
    }
}

/// An entry of the journal.
#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: EntryKind,
    phase: Option<String>,
    #[serde(default)]
    timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_nanos: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    facts: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EntryKind {
    Begun,
    Taken,
    Worked,
    Closing,
    Closed,
    Failed,
    Reset,
    /// An entry of a later version.
    #[serde(other)]
    Unknown,
}

impl Entry {
    fn new(kind: EntryKind, phase: Option<Phase>) -> Self {
        Entry {
            kind,
            phase: phase.map(|phase| phase.name().to_string()),
            timestamp: clock::now_stamp(),
            cost_nanos: None,
            elapsed_ms: None,
            facts: None,
        }
    }
}

impl Journal {
    #[must_use]
    pub fn for_run(run: &RunDirectory, redactor: Arc<Redactor>, durability: Durability) -> Self {
        Journal { path: run.path().join(FILE), redactor, durability }
    }

    /// Reads the journal of a run.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(run: &Path) -> Result<PhaseHistory, LedgerError> {
        let path = run.join(FILE);
        let mut known = PhaseHistory::default();
        if ledger::is_known(&path) {
            ledger::read_chained(&path)?.entries.iter().for_each(|entry| known.apply(entry));
        }
        Ok(known)
    }

    fn append(&self, entry: Entry) -> Result<(), LedgerError> {
        let mut ledger = Ledger::open_shared_chained(&self.path, self.durability, self.redactor.clone())?;
        ledger.append(&serde_json::to_value(entry).unwrap_or_default())?;
        ledger.sync()
    }

    /// A phase begins.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begun(&self, phase: Phase, cost_nanos: u64) -> Result<(), LedgerError> {
        self.append(Entry { cost_nanos: Some(cost_nanos), ..Entry::new(EntryKind::Begun, Some(phase)) })
    }

    /// A phase is resumed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn taken(&self, phase: Phase) -> Result<(), LedgerError> {
        self.append(Entry::new(EntryKind::Taken, Some(phase)))
    }

    /// Adds the time of a process that did not close its phase.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn worked(&self, phase: Phase, elapsed_ms: u64) -> Result<(), LedgerError> {
        self.append(Entry { elapsed_ms: Some(elapsed_ms), ..Entry::new(EntryKind::Worked, Some(phase)) })
    }

    /// A phase is about to be closed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn closing(&self, phase: Phase, facts: &Map<String, Value>) -> Result<(), LedgerError> {
        self.append(Entry { facts: Some(facts.clone()), ..Entry::new(EntryKind::Closing, Some(phase)) })
    }

    /// A phase is closed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn closed(&self, phase: Phase) -> Result<(), LedgerError> {
        self.append(Entry::new(EntryKind::Closed, Some(phase)))
    }

    /// A phase failed; the next process repeats it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn failed(&self, phase: Phase) -> Result<(), LedgerError> {
        self.append(Entry::new(EntryKind::Failed, Some(phase)))
    }

    /// Everything after this phase is repeated.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn reset(&self, to: Option<Phase>) -> Result<(), LedgerError> {
        self.append(Entry::new(EntryKind::Reset, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reset_reopens_later_phases_under_new_keys() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDirectory::create(directory.path()).unwrap();
        let journal = Journal::for_run(&run, Arc::new(Redactor::patterns_only()), Durability::System);
        for phase in [Phase::Specification, Phase::SpecificationReview] {
            journal.begun(phase, 5).unwrap();
            journal.closing(phase, &Map::new()).unwrap();
            journal.closed(phase).unwrap();
        }
        journal.begun(Phase::Design, 7).unwrap();
        journal.closing(Phase::Design, &Map::new()).unwrap();
        let known = Journal::read(run.path()).unwrap();
        assert_eq!((known.closed, known.closing), (Some(Phase::SpecificationReview), Some(Phase::Design)));
        journal.reset(Some(Phase::Specification)).unwrap();
        let known = Journal::read(run.path()).unwrap();
        assert_eq!((known.closed, known.closing), (Some(Phase::Specification), Some(Phase::Specification)));
        assert_eq!(known.generation(Phase::Specification), 0);
        assert_eq!((known.generation(Phase::Design), known.phases.len()), (1, 1));
    }

    #[test]
    fn the_time_of_a_phase_is_the_sum_over_its_processes() {
        let mut known = PhaseHistory::default();
        let entry = |kind: &str, second: u64, more: Value| {
            let mut entry = json!({"type": kind, "phase": "1b", "timestamp": format!("2026-02-03T04:00:{second:02}.000Z")});
            entry.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            entry
        };
        let event = |second: u64| json!({"type": "notice", "timestamp": format!("2026-02-03T04:00:{second:02}.500Z")});
        known.apply(&entry("begun", 0, json!({})));
        // Killed: the trace has its last event.
        assert_eq!(known.under_way(&[event(2), event(4)]), Some((Phase::Design, 4_500)));
        assert_eq!(known.worked_ms(Phase::Design, Some((Phase::Design, 4_500))), Some(4_500));
        assert_eq!(known.worked_ms(Phase::Design, Some((Phase::Debug, 9))), Some(0));
        known.apply(&entry("worked", 30, json!({"elapsed_ms": 4_500})));
        assert_eq!(known.under_way(&[event(4)]), None, "no process works on it");
        known.apply(&entry("taken", 30, json!({})));
        // A trace that ends earlier, has no timestamps, or is empty adds no time.
        for trace in [vec![event(4)], vec![json!({"timestamp": "x"}), json!(null)], Vec::new()] {
            assert_eq!(known.under_way(&trace), Some((Phase::Design, 0)));
        }
        known.apply(&entry("closing", 40, json!({"facts": {"elapsed_ms": 14_000}})));
        let record = &known.phases[&Phase::Design];
        assert_eq!((record.taken, record.worked_ms, &record.since), (2, 14_000, &None));
        assert_eq!(known.worked_ms(Phase::Debug, None), None);
    }
}
