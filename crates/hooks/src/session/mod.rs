//! A session of a client, recorded as a run.
//!
//! The state of a session is in the files of its run directory; memory is only a cache. A process without it (a daemon
//! after a crash, a hook without a daemon) reads it back from there ([`restore`]).

mod metrics;
mod restore;

use crate::event::Client;
use crate::packs::InjectionHistory;
use jiff::Timestamp;
use marvin_base::atomic::{self, WriteError};
use marvin_base::layout::state::StateError;
use marvin_base::ledger::{Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{Activity, HookSessionRecord, RunKind, RunRecord};
use marvin_base::trace_event::TraceEvent;
use marvin_base::{clock, signature, truncate};
use marvin_gate::layers::learn::Pending;
use metrics::{Metrics, SecurityMetrics};
use serde::Serialize;
use serde_json::Map;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use metrics::LayerDecision;

const MAX_RECENT_ACTIVITIES: usize = 20;
/// Corrections that are quoted to the agent again.
const MAX_QUOTED_CORRECTIONS: usize = 12;
const MAX_RECORDED_TEXT_CHARS: usize = 200;
/// The interval of updates to `run.json`; the trace is always written first.
const FLUSH_INTERVAL: Duration = Duration::from_secs(2);

/// The reason why a session cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Run(#[from] WriteError),
    #[error(transparent)]
    Trace(#[from] LedgerError),
    #[error("cannot write {path}: {source}")]
    Pointer { path: String, source: std::io::Error },
    #[error("{path} names no run")]
    NoRun { path: String },
    #[error(transparent)]
    State(#[from] StateError),
}

/// Facts of an activity in `run.json`; absent ones are null.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ActivityFacts<'a> {
    Injection {
        file: &'a str,
        packs: &'a [String],
    },
    Guidance {
        #[serde(rename = "type")]
        kind: &'a str,
        category: Option<&'a str>,
    },
    Call {
        tool: &'a str,
        file: Option<&'a str>,
    },
    Agent {
        agent_id: Option<&'a str>,
        agent_type: Option<&'a str>,
    },
    Compaction {
        trigger: &'a str,
    },
    Message {
        agent: Option<&'a str>,
        message: Option<&'a str>,
    },
}

#[derive(Debug)]
pub struct Session {
    /// The client's id of the session.
    pub id: String,
    /// Injections per agent: the empty name is the session's own agent; a sub-agent starts without any.
    pub injected: BTreeMap<String, InjectionHistory>,
    /// The category and time of each correction.
    pub corrections: Vec<(String, Timestamp)>,
    /// Categories of the person's directions.
    pub directions: BTreeSet<String>,
    /// The person's words of the corrections and directions, newest last.
    pub words: Vec<String>,
    /// Commands that a person is asked about.
    pub pending: Pending,
    /// Consecutive times that the agent was sent back to work.
    pub sent_back: u32,
    /// Consecutive times that a stop was taken for a pause.
    pub paused: u32,
    /// The last file and the tool that changed it.
    pub last: Option<(String, String)>,
    /// Whether tests passed since the last edit.
    pub tested: bool,
    /// Whether this process saw a call that may have changed something since the person's last prompt.
    pub worked: bool,
    /// The content of `run.json`.
    pub record: RunRecord,
    /// The part of it that only sessions of hooks have.
    pub hooks: HookSessionRecord,
    client: Client,
    run: Arc<RunDirectory>,
    trace: Ledger,
    /// Other open files of the run.
    files: BTreeMap<&'static str, Ledger>,
    sequence: u64,
    metrics: Metrics,
    redactor: Arc<Redactor>,
    changed: bool,
    flushed: Option<Instant>,
    states: u64,
    /// The number of the last written state, so that an older one does not replace it.
    written: Arc<Mutex<u64>>,
}

impl Session {
    /// Resumes the run of a session, or creates one.
    pub fn open(
        runs: &Path,
        id: &str,
        client: Client,
        redactor: &Arc<Redactor>,
    ) -> Result<Session, SessionError> {
        let pointer = runs.join("sessions").join(file_name(id));
        if let Some(run) = restore::run(runs, &pointer, id) {
            return Session::from_run(run, id, client, redactor).map(restore::restored);
        }
        let run = RunDirectory::create(runs)?;
        let path = || pointer.display().to_string();
        match restore::claim(&pointer, run.id()) {
            Ok(true) => {
                let mut session = Session::from_run(run, id, client, redactor)?;
                session.flush();
                Ok(session)
            }
            // Another process was faster, so its run is the session's.
            Ok(false) => {
                std::fs::remove_dir_all(run.path()).ok();
                let run =
                    restore::run(runs, &pointer, id).ok_or_else(|| SessionError::NoRun { path: path() })?;
                Session::from_run(run, id, client, redactor).map(restore::restored)
            }
            Err(source) => Err(SessionError::Pointer { path: path(), source }),
        }
    }

    fn from_run(
        run: RunDirectory,
        id: &str,
        client: Client,
        redactor: &Arc<Redactor>,
    ) -> Result<Session, SessionError> {
        let trace = Ledger::open_shared_chained(&run.trace(), Durability::Turn, redactor.clone())?;
        Ok(Session {
            id: id.to_string(),
            injected: BTreeMap::new(),
            corrections: Vec::new(),
            directions: BTreeSet::new(),
            words: Vec::new(),
            pending: Pending::default(),
            sent_back: 0,
            paused: 0,
            last: None,
            tested: false,
            worked: false,
            record: RunRecord { tool_call_count: Some(0), ..RunRecord::new(RunKind::Hooks) },
            hooks: HookSessionRecord {
                client: client.word().to_string(),
                session_id: id.to_string(),
                ..HookSessionRecord::default()
            },
            client,
            run: Arc::new(run),
            trace,
            files: BTreeMap::new(),
            sequence: 0,
            metrics: Metrics::default(),
            redactor: redactor.clone(),
            changed: true,
            flushed: None,
            states: 0,
            written: Arc::default(),
        })
    }

    #[must_use]
    pub fn client(&self) -> Client {
        self.client
    }

    #[must_use]
    pub fn run_id(&self) -> &str {
        self.run.id()
    }

    #[must_use]
    pub fn directory(&self) -> &Path {
        self.run.path()
    }

    /// Appends an event to the trace.
    ///
    /// # Errors
    /// When it cannot be written; the call that it announces must not be allowed then.
    pub fn record(&mut self, event: &TraceEvent) -> Result<(), LedgerError> {
        self.sequence += 1;
        self.changed = true;
        self.trace.append(&event.line(self.sequence, &Map::new())).map(|_| ())
    }

    /// Appends a line to another file of the run.
    pub fn append(&mut self, file: &'static str, line: &impl Serialize) -> Result<(), LedgerError> {
        let open = self.files.remove(file).filter(Ledger::is_in_place);
        let mut ledger = match open {
            Some(ledger) => ledger,
            None => Ledger::open_shared_chained(
                &self.run.path().join(file),
                Durability::Turn,
                self.redactor.clone(),
            )?,
        };
        ledger.append(line)?;
        self.files.insert(file, ledger);
        Ok(())
    }

    /// A text for the record: redacted, then cut.
    #[must_use]
    pub fn short(&self, text: &str) -> String {
        // A secret may begin before the cut; text far behind the cut does not affect it.
        let near: String = text.chars().take(MAX_RECORDED_TEXT_CHARS * 20).collect();
        truncate::line(&self.redactor.text(&near), MAX_RECORDED_TEXT_CHARS)
    }

    /// Adds to the recent activity in `run.json`.
    pub fn activity(&mut self, kind: &str, facts: &ActivityFacts<'_>) {
        let data = serde_json::to_value(facts).unwrap_or_default();
        let activity = Activity { kind: kind.to_string(), timestamp: clock::now_stamp(), data };
        self.hooks.recent_activity.push(activity);
        let extra = self.hooks.recent_activity.len().saturating_sub(MAX_RECENT_ACTIVITIES);
        self.hooks.recent_activity.drain(..extra);
        self.changed = true;
    }

    pub fn count_call(&mut self) {
        *self.record.tool_call_count.get_or_insert_default() += 1;
    }

    /// The current content of `run.json`, not redacted.
    #[must_use]
    pub fn facts(&self) -> RunRecord {
        RunRecord { hooks: Some(self.hooks.clone()), ..self.record.clone() }
    }

    pub fn count(&mut self, counted: LayerDecision) {
        self.metrics.count(counted);
        self.changed = true;
    }

    /// Stores a correction.
    pub fn correct(&mut self, category: Option<&str>, words: &str, at: Timestamp) {
        if let Some(category) = category {
            self.corrections.push((category.to_string(), at));
        }
        self.words.push(words.to_string());
        let extra = self.words.len().saturating_sub(MAX_QUOTED_CORRECTIONS);
        self.words.drain(..extra);
    }

    /// The injections of an agent of the session.
    pub fn injections_for(&mut self, agent: Option<&str>) -> &mut InjectionHistory {
        self.injected.entry(agent.unwrap_or_default().to_string()).or_default()
    }

    /// Whether the turn has to be verified when it ends: since the person's last prompt something may have been changed, or
    /// a verification failed. Other processes record calls and verifications of the session too.
    #[must_use]
    pub fn has_claim(&self) -> bool {
        self.worked || restore::has_claim(&self.run.trace())
    }

    /// The state to be written to `run.json` and the metrics, when an update is due.
    #[must_use]
    pub fn due(&mut self) -> Option<SessionRecord> {
        (self.changed && self.flushed.is_none_or(|at| at.elapsed() >= FLUSH_INTERVAL)).then(|| self.state())
    }

    /// Schedules another update after one that failed.
    pub fn keep_trying(&mut self) {
        self.changed = true;
    }

    /// Writes `run.json` and the metrics. A failed update is repeated later, since the trace has all of it.
    pub fn flush(&mut self) {
        self.changed = !self.state().write();
    }

    fn state(&mut self) -> SessionRecord {
        let record = self.facts();
        // Redaction happens on this thread, because every thread that redacts needs its own memory for it.
        let record = self.run.render(&record, &self.redactor);
        self.changed = false;
        self.flushed = Some(Instant::now());
        self.states += 1;
        SessionRecord {
            number: self.states,
            record,
            metrics: self.metrics.summary(),
            run: self.run.clone(),
            written: self.written.clone(),
        }
    }

    /// Counts again from the trace, to which other processes may have written.
    pub fn recount(&mut self) {
        restore::recount(self);
    }

    /// Forces the trace to the disk.
    pub fn sync(&self) {
        self.trace.sync().ok();
    }

    /// Whether its directory still exists.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.run.path().join("trace.jsonl").exists()
    }

    /// The path of a snapshot before a compaction.
    #[must_use]
    pub fn snapshot(&self) -> PathBuf {
        let stamp = clock::now_stamp().replace([':', '.', '-'], "");
        self.run.path().join(format!("snapshot-{stamp}.json"))
    }
}

/// A state of a session for `run.json` and the metrics.
#[derive(Debug)]
pub struct SessionRecord {
    number: u64,
    record: String,
    metrics: Option<SecurityMetrics>,
    run: Arc<RunDirectory>,
    written: Arc<Mutex<u64>>,
}

impl SessionRecord {
    /// Writes it, unless a newer one was written; false when it must be repeated.
    #[must_use]
    pub fn write(self) -> bool {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written > self.number {
            return true;
        }
        let saved = self.run.write(&self.record).is_ok();
        let counted = self.metrics.is_none_or(|metrics| {
            let path = self.run.path().join("security-metrics.json");
            let text = serde_json::to_string_pretty(&metrics).unwrap_or_default();
            atomic::replace(&path, format!("{text}\n").as_bytes()).is_ok()
        });
        *written = self.number;
        saved && counted
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.changed {
            self.flush();
        }
    }
}

/// The file name for a session id.
fn file_name(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !id.is_empty() && id.len() <= 80 && id.bytes().all(plain) {
        return id.to_string();
    }
    format!("session-{}", signature::hash(&id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lessons::record::GuidanceRecord;

    #[test]
    fn guidance_survives_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let redactor = Arc::new(Redactor::patterns_only());
        let open = || Session::open(directory.path(), "one", Client::Claude, &redactor).unwrap();
        for (kind, category) in [("direction", "testing"), ("correction", "naming")] {
            let line = GuidanceRecord {
                id: "g_1".into(),
                timestamp: clock::now(),
                run_id: String::new(),
                kind: kind.into(),
                content: format!("a {kind}"),
                category: Some(category.into()),
                confidence: 0.9,
                preceding_tool: None,
                preceding_file: None,
                preceding_injections: None,
            };
            open().append("guidance.jsonl", &line).unwrap();
        }
        let session = open();
        assert_eq!(session.directions, BTreeSet::from(["testing".to_string()]));
        let corrected: Vec<&str> =
            session.corrections.iter().map(|(category, _)| category.as_str()).collect();
        assert_eq!(corrected, ["naming"]);
        assert_eq!(session.words, ["a direction", "a correction"]);
    }
}
