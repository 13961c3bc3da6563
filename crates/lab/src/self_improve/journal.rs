//! The journal of a run, `self_improve.jsonl` in its directory: the audit log, and what a resumed run continues from.
//!
//! Everything is written here before it counts; `session.json` and the reports are made from it. It is hash-chained and in the
//! state directory, where no session can write.

use super::ImproveError;
use super::evaluation::Evaluation;
use super::plan::Plan;
use super::session_report::{AttemptReport, SessionReport};
use marvin_base::clock;
use marvin_base::ledger::{self, Durability, Ledger};
use marvin_base::redact::Redactor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const FILE: &str = "self_improve.jsonl";

/// An entry, in the order in which they come.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Entry {
    Planned {
        plan: Box<Plan>,
    },
    /// The checkout of a batch was evaluated.
    Batch {
        batch: u32,
        base: String,
        evaluation: Evaluation,
    },
    /// An attempt is about to begin in a worktree with the tree of this commit.
    Attempt {
        session: String,
        attempt: u32,
        tree: String,
    },
    /// The workflow of an attempt has a directory.
    Workflow {
        session: String,
        attempt: u32,
        run: String,
    },
    AttemptEnded {
        session: String,
        report: Box<AttemptReport>,
    },
    SessionEnded {
        session: Box<SessionReport>,
    },
    Winner {
        batch: u32,
        session: Option<String>,
    },
    /// The checkout is about to move from one commit to another.
    Merging {
        batch: u32,
        from: String,
        to: String,
        evaluation: Evaluation,
        conflicts: Vec<String>,
    },
    Merged {
        batch: u32,
        merge: MergeReport,
    },
    /// A winner that could not be merged is to be merged after all.
    MergeRetried {
        batch: u32,
    },
    /// Nothing new is begun after this.
    Stopped {
        reason: StopReason,
    },
    Resumed,
    Completed,
}

/// The reason why a run stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// A signal, or `marvin stop-run`.
    Signal,
    StopFile,
    Budget,
}

impl StopReason {
    /// The reason in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            StopReason::Signal => "stopped by a signal or by `marvin stop-run`",
            StopReason::StopFile => "stopped by the file .marvin/stop-self-improve",
            StopReason::Budget => "the budget is spent",
        }
    }
}

/// The merge of a winner, or why there was none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergeReport {
    pub merged: bool,
    /// The commit on the checked-out branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why nothing was merged, or was to be merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The evaluation of the merged tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// Files in which the winner was preferred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// Whether nothing but the state of the checkout was in the way, so that a resumed run tries again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_retry: bool,
}

#[derive(Serialize, Deserialize)]
struct Line {
    timestamp: String,
    #[serde(flatten)]
    entry: Entry,
}

/// The state that the journal describes.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub plan: Option<Plan>,
    pub batches: BTreeMap<u32, BatchHistory>,
    pub stopped: Option<StopReason>,
    pub completed: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct BatchHistory {
    pub base: String,
    pub evaluation: Evaluation,
    pub open: BTreeMap<String, OpenSession>,
    pub ended: BTreeMap<String, SessionReport>,
    /// Some: the comparer has decided.
    pub winner: Option<Option<String>>,
    pub merging: Option<MergeIntent>,
    pub merge: Option<MergeReport>,
}

/// A merge that was begun.
#[derive(Debug, Clone)]
pub(super) struct MergeIntent {
    pub to: String,
    pub evaluation: Evaluation,
    pub conflicts: Vec<String>,
}

/// A session without an end.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenSession {
    pub attempts: Vec<AttemptReport>,
    /// The attempt that was begun: its number, the commit of its tree, and its workflow.
    pub begun: Option<(u32, String, Option<PathBuf>)>,
}

impl History {
    fn batch_of(&mut self, session: &str) -> Option<&mut BatchHistory> {
        let batch = session.split('-').next()?.parse().ok()?;
        self.batches.get_mut(&batch)
    }

    /// The batch whose winner can be merged after all. Only the last one: later batches began without it.
    pub(super) fn batch_to_retry(&self) -> Option<u32> {
        let (number, batch) = self.batches.last_key_value()?;
        batch.merge.as_ref().filter(|merge| merge.can_retry).map(|_| *number)
    }

    pub(super) fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Planned { plan } => self.plan = Some(*plan),
            Entry::Batch { batch, base, evaluation } => {
                self.batches.insert(batch, BatchHistory { base, evaluation, ..BatchHistory::default() });
            }
            Entry::Attempt { session, attempt, tree } => {
                if let Some(batch) = self.batch_of(&session) {
                    batch.open.entry(session).or_default().begun = Some((attempt, tree, None));
                }
            }
            Entry::Workflow { session, run, .. } => {
                let open = self.batch_of(&session).and_then(|batch| batch.open.get_mut(&session));
                if let Some((_, _, place)) = open.and_then(|open| open.begun.as_mut()) {
                    *place = Some(run.into());
                }
            }
            Entry::AttemptEnded { session, report } => {
                if let Some(batch) = self.batch_of(&session) {
                    let open = batch.open.entry(session).or_default();
                    open.begun = None;
                    open.attempts.push(*report);
                }
            }
            Entry::SessionEnded { session } => {
                if let Some(batch) = self.batch_of(&session.session_id.clone()) {
                    batch.open.remove(&session.session_id);
                    batch.ended.insert(session.session_id.clone(), *session);
                }
            }
            Entry::Winner { batch, session } => {
                if let Some(batch) = self.batches.get_mut(&batch) {
                    batch.winner = Some(session);
                }
            }
            Entry::Merging { batch, to, evaluation, conflicts, .. } => {
                if let Some(batch) = self.batches.get_mut(&batch) {
                    batch.merging = Some(MergeIntent { to, evaluation, conflicts });
                }
            }
            Entry::Merged { batch, merge } => {
                if let Some(batch) = self.batches.get_mut(&batch) {
                    batch.merging = None;
                    batch.merge = Some(merge);
                }
            }
            Entry::MergeRetried { batch } => {
                self.completed = false;
                if let Some(batch) = self.batches.get_mut(&batch) {
                    batch.merge = None;
                }
            }
            Entry::Stopped { reason } => self.stopped = Some(reason),
            Entry::Resumed => self.stopped = None,
            Entry::Completed => self.completed = true,
        }
    }
}

/// The open journal with its state.
#[derive(Debug)]
pub(super) struct Journal {
    state: Mutex<(Ledger, History)>,
}

impl Journal {
    /// Opens the journal of a run.
    ///
    /// # Errors
    /// When it cannot be opened, or its chain is broken.
    pub(super) fn open(run: &Path, redactor: &Arc<Redactor>) -> Result<Self, ImproveError> {
        let history = Journal::read(run)?;
        let ledger = Ledger::open_chained(&run.join(FILE), Durability::Line, redactor.clone())?;
        Ok(Journal { state: Mutex::new((ledger, history)) })
    }

    /// Reads the journal of a run without opening it.
    ///
    /// # Errors
    /// When its chain is broken, or an entry is not understood.
    pub(super) fn read(run: &Path) -> Result<History, ImproveError> {
        let mut history = History::default();
        let path = run.join(FILE);
        if !ledger::is_known(&path) {
            return Ok(history);
        }
        for entry in ledger::read_chained(&path)?.entries {
            let line = Line::deserialize(entry).map_err(|error| {
                ImproveError::Internal(format!("cannot read {}: {error}", path.display()))
            })?;
            history.apply(line.entry);
        }
        Ok(history)
    }

    /// Writes an entry; then it counts.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn append(&self, entry: Entry) -> Result<(), ImproveError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.append(&Line { timestamp: clock::now_stamp(), entry: entry.clone() })?;
        state.1.apply(entry);
        Ok(())
    }

    #[must_use]
    pub(super) fn history(&self) -> History {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}
