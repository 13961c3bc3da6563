//! A session of a client, kept as a run.
//!
//! Everything that a session is lies in files of its run's directory; memory only keeps it at hand. Who comes to a session anew
//! (a daemon after a crash, a hook without a daemon) reads it back from there ([`restore`]).

mod metrics;
mod restore;

use crate::event::Client;
use crate::packs::InjectionHistory;
use jiff::Timestamp;
use marvin_base::atomic;
use marvin_base::ledger::{Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{Activity, HookSessionRecord, RunKind, RunRecord};
use marvin_base::{clock, signature, truncate};
use marvin_gate::layers::learn::Pending;
use metrics::Metrics;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use metrics::LayerDecision;

/// What happened lately, in `run.json`.
const MAX_RECENT_ACTIVITIES: usize = 20;
/// Corrections whose words are told again.
const MAX_QUOTED_CORRECTIONS: usize = 12;
/// Characters of a text in the record.
const MAX_RECORDED_TEXT_CHARS: usize = 200;
/// How often `run.json` follows what happens; the trace is always first.
const FLUSH: Duration = Duration::from_secs(2);

/// A session.
#[derive(Debug)]
pub struct Session {
    /// The client's name for it.
    pub id: String,
    /// What was told: to the agent of the session (the empty name) and to each sub-agent, which begins knowing nothing.
    pub told: BTreeMap<String, InjectionHistory>,
    /// Corrections: their category and when.
    pub corrections: Vec<(String, Timestamp)>,
    /// What was corrected, in the person's words, newest last.
    pub words: Vec<String>,
    /// Commands that a person is asked about.
    pub pending: Pending,
    /// How often in a row the agent was sent back to work.
    pub sent_back: u32,
    /// How often in a row a stop was taken for a pause.
    pub paused: u32,
    /// The file that was worked on last, and by which tool.
    pub last: Option<(String, String)>,
    /// Whether tests were seen to pass since something was edited.
    pub tested: bool,
    /// What `run.json` holds.
    pub record: RunRecord,
    /// The part of it that sessions of hooks have.
    pub hooks: HookSessionRecord,
    client: Client,
    run: Arc<RunDirectory>,
    trace: Ledger,
    /// Its other files, for as long as they lie at their places.
    files: BTreeMap<&'static str, Ledger>,
    sequence: u64,
    metrics: Metrics,
    redactor: Arc<Redactor>,
    changed: bool,
    flushed: Option<Instant>,
    states: u64,
    /// The newest state that was written, so that none is written over a newer one.
    written: Arc<Mutex<u64>>,
}

impl Session {
    /// The session of a client: a run that goes on, or a new one.
    ///
    /// # Errors
    /// When there is none and none can be made.
    pub fn open(runs: &Path, id: &str, client: Client, redactor: &Arc<Redactor>) -> Result<Session, String> {
        let pointer = runs.join("sessions").join(file_name(id));
        if let Some(run) = restore::run(runs, &pointer, id) {
            return Session::from_run(run, id, client, redactor).map(restore::restored);
        }
        let run = RunDirectory::create(runs).map_err(|error| error.to_string())?;
        match restore::claim(&pointer, run.id()) {
            Ok(true) => Session::from_run(run, id, client, redactor).map(Session::begun),
            // Somebody else was faster: theirs is the run, ours was never one.
            Ok(false) => {
                std::fs::remove_dir_all(run.path()).ok();
                let run = restore::run(runs, &pointer, id)
                    .ok_or_else(|| format!("{} names no run", pointer.display()))?;
                Session::from_run(run, id, client, redactor).map(restore::restored)
            }
            Err(error) => Err(format!("cannot write {}: {error}", pointer.display())),
        }
    }

    fn from_run(
        run: RunDirectory,
        id: &str,
        client: Client,
        redactor: &Arc<Redactor>,
    ) -> Result<Session, String> {
        let trace = Ledger::open_shared_chained(&run.trace(), Durability::Turn, redactor.clone())
            .map_err(|error| error.to_string())?;
        Ok(Session {
            id: id.to_string(),
            told: BTreeMap::new(),
            corrections: Vec::new(),
            words: Vec::new(),
            pending: Pending::default(),
            sent_back: 0,
            paused: 0,
            last: None,
            tested: false,
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

    fn begun(mut self) -> Session {
        self.flush();
        self
    }

    /// The client that it is a session of.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client
    }

    /// The run's id.
    #[must_use]
    pub fn run_id(&self) -> &str {
        self.run.id()
    }

    /// The run's directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.run.path()
    }

    /// Writes an event into the trace.
    ///
    /// # Errors
    /// When it cannot be written: what it announces must not be allowed then.
    pub fn record(&mut self, kind: &str, facts: Value) -> Result<(), LedgerError> {
        self.sequence += 1;
        let mut event = Map::new();
        event.insert("type".into(), format!("hook.{kind}").into());
        event.insert("seq".into(), self.sequence.into());
        event.insert("timestamp".into(), clock::now_stamp().into());
        if let Value::Object(facts) = facts {
            event.extend(facts.into_iter().filter(|(_, value)| !value.is_null()));
        }
        self.changed = true;
        self.trace.append(&Value::Object(event)).map(|_| ())
    }

    /// Appends a line to another file of the run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, file: &'static str, line: &Value) -> Result<(), LedgerError> {
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

    /// A text for the record: without secrets, then short.
    #[must_use]
    pub fn short(&self, text: &str) -> String {
        // The secret may begin before the cut; what lies far behind it cannot be in sight of it.
        let near: String = text.chars().take(MAX_RECORDED_TEXT_CHARS * 20).collect();
        truncate::line(&self.redactor.text(&near), MAX_RECORDED_TEXT_CHARS)
    }

    /// Notes that something happened, for `run.json`.
    pub fn activity(&mut self, kind: &str, data: &Value) {
        let activity = Activity { kind: kind.to_string(), timestamp: clock::now_stamp(), data: data.clone() };
        self.hooks.recent_activity.push(activity);
        let extra = self.hooks.recent_activity.len().saturating_sub(MAX_RECENT_ACTIVITIES);
        self.hooks.recent_activity.drain(..extra);
        self.changed = true;
    }

    /// Counts a tool call.
    pub fn count_call(&mut self) {
        *self.record.tool_call_count.get_or_insert_default() += 1;
    }

    /// `run.json` as it would be written now, with secrets.
    #[must_use]
    pub fn facts(&self) -> RunRecord {
        RunRecord { hooks: Some(self.hooks.clone()), ..self.record.clone() }
    }

    /// Counts a decision of the gate.
    pub fn count(&mut self, counted: LayerDecision) {
        self.metrics.count(counted);
        self.changed = true;
    }

    /// Keeps a correction.
    pub fn correct(&mut self, category: Option<&str>, words: &str, at: Timestamp) {
        if let Some(category) = category {
            self.corrections.push((category.to_string(), at));
        }
        self.words.push(words.to_string());
        let extra = self.words.len().saturating_sub(MAX_QUOTED_CORRECTIONS);
        self.words.drain(..extra);
    }

    /// What was told to an agent of the session.
    pub fn told(&mut self, agent: Option<&str>) -> &mut InjectionHistory {
        self.told.entry(agent.unwrap_or_default().to_string()).or_default()
    }

    /// What is to be written to `run.json` and the figures of the gate, when it is time.
    #[must_use]
    pub fn due(&mut self) -> Option<SessionRecord> {
        (self.changed && self.flushed.is_none_or(|at| at.elapsed() >= FLUSH)).then(|| self.state())
    }

    /// What was due could not be written.
    pub fn keep_trying(&mut self) {
        self.changed = true;
    }

    /// Writes `run.json` and the figures of the gate. What cannot be written now is tried again: the trace has it all.
    pub fn flush(&mut self) {
        self.changed = !self.state().write();
    }

    fn state(&mut self) -> SessionRecord {
        let record = self.facts();
        // Here and not where it is written: every thread that looks for secrets needs memory of its own for it.
        let record = self.run.render(&record, &self.redactor);
        self.changed = false;
        self.flushed = Some(Instant::now());
        self.states += 1;
        SessionRecord {
            number: self.states,
            record,
            metrics: self.metrics.value(),
            run: self.run.clone(),
            written: self.written.clone(),
        }
    }

    /// Counts again from the trace, which others may have written to at the same time.
    pub fn recount(&mut self) {
        restore::recount(self);
    }

    /// Forces the trace to the disk.
    pub fn sync(&self) {
        self.trace.sync().ok();
    }

    /// Does its directory still lie where it was made?
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.run.path().join("trace.jsonl").exists()
    }

    /// Where a copy of what is known goes before a compaction.
    #[must_use]
    pub fn snapshot(&self) -> PathBuf {
        let stamp = clock::now_stamp().replace([':', '.', '-'], "");
        self.run.path().join(format!("snapshot-{stamp}.json"))
    }
}

/// What `run.json` and the figures of the gate are to hold.
#[derive(Debug)]
pub struct SessionRecord {
    number: u64,
    record: String,
    metrics: Option<Value>,
    run: Arc<RunDirectory>,
    written: Arc<Mutex<u64>>,
}

impl SessionRecord {
    /// Writes it, unless a newer one was written. True when there is nothing more to do.
    #[must_use]
    pub fn write(self) -> bool {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written > self.number {
            return true;
        }
        let saved = self.run.write(&self.record).is_ok();
        let counted = self.metrics.is_none_or(|metrics| {
            let path = self.run.path().join("security-metrics.json");
            atomic::replace(&path, format!("{metrics:#}\n").as_bytes()).is_ok()
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

/// A session's name as the name of a file.
fn file_name(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !id.is_empty() && id.len() <= 80 && id.bytes().all(plain) {
        return id.to_string();
    }
    format!("session-{}", signature::hash(&json!(id)))
}
