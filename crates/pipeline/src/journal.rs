//! `pipeline.jsonl` in the directory of the run: which phases were begun, are about to be closed, and are closed.
//!
//! A phase is closed in three steps: `closing` is written here, the name into `pipeline_state`, then `closed` here. So the state
//! file always says what `closed` says, or what `closing` says; anything else was somebody else's hand.
//!
//! How long a phase took is the sum over the processes that worked on it. One that is killed cannot say how long it did; whoever
//! goes on writes it down for it, by the last event of the trace. Limits: what it did after that event is not known.

use crate::phase::Phase;
use jiff::Timestamp;
use marvin_base::clock;
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "pipeline.jsonl";

/// The journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    redactor: Arc<Redactor>,
    durability: Durability,
}

/// What the journal says.
#[derive(Debug, Clone, Default)]
pub struct PhaseHistory {
    /// The last phase that is closed.
    pub closed: Option<Phase>,
    /// The last phase that was to be closed.
    pub closing: Option<Phase>,
    /// What is known of phases that were begun: how they began, and how they ended.
    pub phases: BTreeMap<Phase, PhaseRecord>,
    /// How often phases were set back, by the last phase that stood.
    pub resets: Vec<Option<Phase>>,
    /// Phases that failed, once for each time: they are done anew.
    pub failures: Vec<Phase>,
}

/// What is known of a phase.
#[derive(Debug, Clone, Default)]
pub struct PhaseRecord {
    /// When it began.
    pub begun: String,
    /// What the run had cost then, in billionths of a dollar.
    pub cost_before: u64,
    /// How it ended: the facts that the phase gave.
    pub ended: Option<Map<String, Value>>,
    /// How often a process took it up.
    pub taken: u64,
    /// Milliseconds that processes worked on it, without the one that is at it, or was when it was killed.
    pub worked_ms: u64,
    /// When that one took it up; none: nobody is at it.
    pub since: Option<String>,
}

impl PhaseHistory {
    /// How often this phase was set back, or failed: part of the keys of its agents, so that they work anew.
    #[must_use]
    pub fn generation(&self, phase: Phase) -> usize {
        let set_back = self.resets.iter().filter(|to| to.is_none_or(|to| to < phase)).count();
        set_back + self.failures.iter().filter(|failed| **failed == phase).count()
    }

    /// The phase that a process is at, or was when it was killed, and for how many milliseconds: until the last event of the
    /// run's trace.
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

    /// Milliseconds that were worked on a phase, as far as it is known; `under_way` is what [`PhaseHistory::under_way`] gave.
    #[must_use]
    pub fn worked_ms(&self, phase: Phase, under_way: Option<(Phase, u64)>) -> Option<u64> {
        let more = under_way.filter(|(at, _)| *at == phase).map_or(0, |(_, worked)| worked);
        self.phases.get(&phase).map(|record| record.worked_ms.saturating_add(more))
    }

    fn take(&mut self, entry: &Value) {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let phase = Phase::find(text("phase"));
        let number = |value: Option<&Value>| value.and_then(Value::as_u64);
        match (text("type"), phase) {
            ("begun", Some(phase)) => {
                let record = PhaseRecord {
                    begun: text("timestamp").to_string(),
                    cost_before: number(entry.get("cost_nanos")).unwrap_or(0),
                    taken: 1,
                    since: Some(text("timestamp").to_string()),
                    ..PhaseRecord::default()
                };
                self.phases.insert(phase, record);
            }
            ("taken", Some(phase)) => {
                let record = self.phases.entry(phase).or_default();
                record.taken += 1;
                record.since = Some(text("timestamp").to_string());
            }
            ("worked", Some(phase)) => {
                let record = self.phases.entry(phase).or_default();
                record.since = None;
                let worked = number(entry.get("elapsed_ms")).unwrap_or(0);
                record.worked_ms = record.worked_ms.saturating_add(worked);
            }
            ("closing", Some(phase)) => {
                self.closing = Some(phase);
                let facts = entry.get("facts").and_then(Value::as_object).cloned().unwrap_or_default();
                let record = self.phases.entry(phase).or_default();
                record.since = None;
                record.worked_ms = number(facts.get("elapsed_ms")).unwrap_or(record.worked_ms);
                record.ended = Some(facts);
            }
            ("failed", Some(phase)) => self.failures.push(phase),
            ("closed", Some(phase)) => self.closed = Some(phase),
            ("reset", to) => {
                self.resets.push(to);
                (self.closed, self.closing) = (to, to);
                self.phases.retain(|phase, _| to.is_some_and(|to| *phase <= to));
            }
            _ => {}
        }
    }
}

impl Journal {
    /// The journal of a run.
    #[must_use]
    pub fn for_run(run: &RunDirectory, redactor: Arc<Redactor>, durability: Durability) -> Self {
        Journal { path: run.path().join(FILE), redactor, durability }
    }

    /// What is known of a run.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn known(run: &Path) -> Result<PhaseHistory, LedgerError> {
        let path = run.join(FILE);
        let mut known = PhaseHistory::default();
        if ledger::is_known(&path) {
            ledger::read_chained(&path)?.entries.iter().for_each(|entry| known.take(entry));
        }
        Ok(known)
    }

    fn append(
        &self,
        kind: &str,
        phase: Option<Phase>,
        mut more: Map<String, Value>,
    ) -> Result<(), LedgerError> {
        let mut entry = Map::new();
        entry.insert("type".into(), kind.into());
        entry.insert("phase".into(), json!(phase.map(Phase::name)));
        entry.insert("timestamp".into(), clock::now_stamp().into());
        entry.append(&mut more);
        let mut ledger = Ledger::open_shared_chained(&self.path, self.durability, self.redactor.clone())?;
        ledger.append(&Value::Object(entry))?;
        ledger.sync()
    }

    /// A phase begins.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begun(&self, phase: Phase, cost_nanos: u64) -> Result<(), LedgerError> {
        self.append("begun", Some(phase), Map::from_iter([("cost_nanos".to_string(), cost_nanos.into())]))
    }

    /// A phase that was begun is taken up again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn taken(&self, phase: Phase) -> Result<(), LedgerError> {
        self.append("taken", Some(phase), Map::new())
    }

    /// How long a process worked on a phase that it did not close.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn worked(&self, phase: Phase, elapsed_ms: u64) -> Result<(), LedgerError> {
        self.append("worked", Some(phase), Map::from_iter([("elapsed_ms".to_string(), elapsed_ms.into())]))
    }

    /// A phase is about to be closed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn closing(&self, phase: Phase, facts: &Map<String, Value>) -> Result<(), LedgerError> {
        self.append("closing", Some(phase), Map::from_iter([("facts".to_string(), json!(facts))]))
    }

    /// A phase is closed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn closed(&self, phase: Phase) -> Result<(), LedgerError> {
        self.append("closed", Some(phase), Map::new())
    }

    /// A phase failed; whoever goes on does it anew.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn failed(&self, phase: Phase) -> Result<(), LedgerError> {
        self.append("failed", Some(phase), Map::new())
    }

    /// Everything after this phase is to be done again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn reset(&self, to: Option<Phase>) -> Result<(), LedgerError> {
        self.append("reset", to, Map::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_takes_later_phases_back_and_gives_them_new_keys() {
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
        let known = Journal::known(run.path()).unwrap();
        assert_eq!((known.closed, known.closing), (Some(Phase::SpecificationReview), Some(Phase::Design)));
        journal.reset(Some(Phase::Specification)).unwrap();
        let known = Journal::known(run.path()).unwrap();
        assert_eq!((known.closed, known.closing), (Some(Phase::Specification), Some(Phase::Specification)));
        assert_eq!(known.generation(Phase::Specification), 0);
        assert_eq!((known.generation(Phase::Design), known.phases.len()), (1, 1));
    }

    #[test]
    fn the_time_of_a_phase_is_that_of_all_who_worked_on_it() {
        let mut known = PhaseHistory::default();
        let entry = |kind: &str, second: u64, more: Value| {
            let mut entry = json!({"type": kind, "phase": "1b", "timestamp": format!("2026-02-03T04:00:{second:02}.000Z")});
            entry.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            entry
        };
        let event = |second: u64| json!({"type": "notice", "timestamp": format!("2026-02-03T04:00:{second:02}.500Z")});
        known.take(&entry("begun", 0, json!({})));
        // Killed: its trace tells until when it worked.
        assert_eq!(known.under_way(&[event(2), event(4)]), Some((Phase::Design, 4_500)));
        assert_eq!(known.worked_ms(Phase::Design, Some((Phase::Design, 4_500))), Some(4_500));
        assert_eq!(known.worked_ms(Phase::Design, Some((Phase::Debug, 9))), Some(0));
        known.take(&entry("worked", 30, json!({"elapsed_ms": 4_500})));
        assert_eq!(known.under_way(&[event(4)]), None, "nobody is at it");
        known.take(&entry("taken", 30, json!({})));
        // A trace that ends before it was taken up, has no stamps, or is empty, tells nothing.
        for trace in [vec![event(4)], vec![json!({"timestamp": "x"}), json!(null)], Vec::new()] {
            assert_eq!(known.under_way(&trace), Some((Phase::Design, 0)));
        }
        known.take(&entry("closing", 40, json!({"facts": {"elapsed_ms": 14_000}})));
        let record = &known.phases[&Phase::Design];
        assert_eq!((record.taken, record.worked_ms, &record.since), (2, 14_000, &None));
        assert_eq!(known.worked_ms(Phase::Debug, None), None);
    }
}
