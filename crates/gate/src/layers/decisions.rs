//! The log of decisions, and figures from it.
//!
//! One line per decision, redacted, appended before the command runs. A file that has grown large is put aside under a name
//! of its own; nothing is deleted.

use super::{Layer, Opinion, Ruling};
use crate::verdict::Decision;
use marvin_base::ledger::{self, Durability, Ledger, LedgerError, chain};
use marvin_base::redact::Redactor;
use marvin_base::{clock, files, ids, truncate};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The file's name.
pub const FILE: &str = "decisions.jsonl";
/// Bytes after which a file is put aside.
const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;
/// Characters of a command in the log.
const MAX_COMMAND_CHARS: usize = 4_000;
/// Bytes from the end of the file in which the last decisions are looked for.
const MAX_LOG_TAIL_BYTES: u64 = 4 * 1024 * 1024;

/// A line of the log: one decision.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DecisionEntry<'a> {
    timestamp: String,
    command: String,
    /// Always null; readers of the format expect the key.
    description: Option<&'a str>,
    decision: Decision,
    reasoning: &'a str,
    duration_ms: f64,
    model: Option<&'a str>,
    confidence: Option<f64>,
    layer: &'static str,
    rule: &'a str,
    /// The decision of the judge alone.
    judge: Decision,
}

/// A line of the log: something is wrong with a rule file.
#[derive(Serialize)]
struct WarningEntry<'a> {
    timestamp: String,
    warning: &'a str,
}

/// The figures of one process, as `security-metrics.json` holds them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metrics {
    by_source: SourceCounts,
    by_decision: VerdictCounts,
    total: u64,
    /// Share of decisions that were allowed without a person or a model.
    auto_accept_rate: f64,
    started_at: String,
    last_updated: String,
}

#[derive(Serialize)]
struct SourceCounts {
    allowlist: u64,
    denylist: u64,
    learned: u64,
    llm: u64,
    error: u64,
    catastrophe: u64,
    judge: u64,
}

#[derive(Serialize)]
struct VerdictCounts {
    allow: u64,
    deny: u64,
    ask: u64,
}

/// The reason why a decision could not be logged.
#[derive(Debug, thiserror::Error)]
enum LogError {
    #[error("{} is a link, and the record must not lead elsewhere", .0.display())]
    Link(PathBuf),
    #[error("cannot put {} aside: {source}", .path.display())]
    Rotate { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The log.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    redactor: Arc<Redactor>,
    largest: u64,
    state: Mutex<DecisionCounts>,
    /// The file, for as long as it lies at its place.
    open: Mutex<Option<Ledger>>,
}

#[derive(Debug, Default)]
struct DecisionCounts {
    layers: BTreeMap<&'static str, u64>,
    decisions: BTreeMap<&'static str, u64>,
    /// Allowed without a person or a model.
    alone: u64,
    started: String,
    updated: String,
    failure: Option<String>,
}

impl Log {
    /// A log in the directory of the gate's files. Nothing is written yet.
    #[must_use]
    pub fn new(directory: &Path, redactor: Arc<Redactor>) -> Self {
        let state = Mutex::new(DecisionCounts { started: clock::now_stamp(), ..DecisionCounts::default() });
        Log { path: directory.join(FILE), redactor, largest: MAX_LOG_BYTES, state, open: Mutex::default() }
    }

    /// Writes down a decision.
    pub(super) fn decision(&self, line: &str, ruling: &Ruling, opinion: Option<&Opinion>, took: Duration) {
        let verdict = &ruling.verdict;
        self.count(verdict.decision, ruling.layer);
        // Redacted before it is cut: half of a secret is not recognised.
        let command = truncate::head_whole(&self.redactor.text(line), MAX_COMMAND_CHARS);
        self.append(&DecisionEntry {
            timestamp: clock::now_stamp(),
            command,
            description: None,
            decision: verdict.decision,
            reasoning: &verdict.reason,
            duration_ms: milliseconds(took),
            model: opinion.map(|opinion| opinion.model.as_str()),
            confidence: opinion.map(|opinion| opinion.confidence),
            layer: ruling.layer.word(),
            rule: &verdict.rule,
            judge: ruling.judgement.verdict.decision,
        });
    }

    /// Writes down that something is wrong with the rules.
    pub(super) fn warn(&self, text: &str) {
        self.append(&WarningEntry { timestamp: clock::now_stamp(), warning: text });
    }

    fn count(&self, decision: Decision, layer: Layer) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state.layers.entry(layer.word()).or_default() += 1;
        *state.decisions.entry(decision.word()).or_default() += 1;
        if decision == Decision::Allow && layer != Layer::Llm {
            state.alone += 1;
        }
        state.updated = clock::now_stamp();
    }

    fn append(&self, entry: &impl Serialize) {
        if let Err(error) = self.try_append(entry) {
            self.state.lock().unwrap_or_else(PoisonError::into_inner).failure = Some(error.to_string());
        }
    }

    fn try_append(&self, entry: &impl Serialize) -> Result<(), LogError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let known = open.take().filter(|ledger| ledger.length() < self.largest);
            let mut ledger = match known {
                Some(ledger) => ledger,
                None => match self.reopen() {
                    // Put aside between opening and locking.
                    Err(LogError::Ledger(LedgerError::Moved { .. })) => continue,
                    opened => opened?,
                },
            };
            match ledger.append(entry) {
                Ok(_) => {
                    *open = Some(ledger);
                    return Ok(());
                }
                // Another process has put the file aside, and the line must not follow it.
                Err(LedgerError::Moved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn reopen(&self) -> Result<Ledger, LogError> {
        let mut opened = self.try_reopen();
        // Another process may be putting the file aside in this moment.
        for _ in 0..2 {
            if opened.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
            opened = self.try_reopen();
        }
        opened
    }

    fn try_reopen(&self) -> Result<Ledger, LogError> {
        if self.path.is_symlink() {
            return Err(LogError::Link(self.path.clone()));
        }
        match self.rotate() {
            // Another process has put it aside in this moment.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(LogError::Rotate { path: self.path.clone(), source }),
            Ok(()) => {}
        }
        Ok(Ledger::open_shared_chained(&self.path, Durability::Turn, self.redactor.clone())?)
    }

    /// Puts a large file aside. A process that has it open still writes whole lines to it, under its new name.
    fn rotate(&self) -> std::io::Result<()> {
        let size = std::fs::metadata(&self.path).map_or(0, |facts| facts.len());
        if size < self.largest {
            return Ok(());
        }
        let file = std::fs::File::open(&self.path)?;
        file.lock()?;
        // Another process may have been faster: then the path leads to a new file, whose lock is not this one.
        let identity = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
        let locked = identity(file.metadata()?);
        if std::fs::symlink_metadata(&self.path).is_ok_and(|facts| identity(facts) == locked) {
            let stamp = clock::now_stamp().replace([':', '.', '-'], "");
            let name = format!("decisions-{stamp}-{}.jsonl", ids::short(4));
            let aside = self.path.with_file_name(name);
            // Its head first: a process that opens the file in between finds no head, and opens it again.
            std::fs::rename(chain::head_path(&self.path), chain::head_path(&aside)).ok();
            std::fs::rename(&self.path, aside)?;
        }
        file.unlock()
    }

    /// The reason why the last line could not be written; given once.
    pub fn take_failure(&self) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failure.take()
    }

    /// The figures of this process, as `security-metrics.json` holds them; `None` when nothing was decided.
    #[must_use]
    pub fn metrics(&self) -> Option<Value> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let total: u64 = state.decisions.values().sum();
        let layer = |name: &str| state.layers.get(name).copied().unwrap_or(0);
        let decision = |name: &str| state.decisions.get(name).copied().unwrap_or(0);
        let metrics = (total > 0).then(|| Metrics {
            by_source: SourceCounts {
                allowlist: layer("allowlist"),
                denylist: layer("denylist"),
                learned: layer("learned"),
                llm: layer("llm"),
                error: layer("error"),
                catastrophe: layer("catastrophe"),
                judge: layer("judge"),
            },
            by_decision: VerdictCounts {
                allow: decision("allow"),
                deny: decision("deny"),
                ask: decision("ask"),
            },
            total,
            auto_accept_rate: ratio(state.alone, total),
            started_at: state.started.clone(),
            last_updated: state.updated.clone(),
        });
        serde_json::to_value(metrics?).ok()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of decisions")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A duration in milliseconds with three digits.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

/// Figures from the log.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Decisions.
    pub total: u64,
    /// By verdict.
    pub decisions: BTreeMap<String, u64>,
    /// By layer.
    pub layers: BTreeMap<String, u64>,
    /// By rule.
    pub rules: BTreeMap<String, u64>,
    /// Milliseconds: half were faster.
    pub p50_ms: f64,
    /// Milliseconds: nine of ten were faster.
    pub p90_ms: f64,
    /// Milliseconds: all but one in a hundred were faster.
    pub p99_ms: f64,
    /// Milliseconds of the slowest.
    pub most_ms: f64,
    /// When the first was made.
    pub first: Option<String>,
    /// When the last was made.
    pub last: Option<String>,
    /// Warnings about rule files.
    pub warnings: u64,
    /// Lines that could not be read.
    pub damaged: u64,
}

impl Stats {
    /// Reads the log and what was put aside.
    ///
    /// # Errors
    /// When a file is there and cannot be read.
    pub fn read(directory: &Path) -> Result<Stats, ledger::LedgerError> {
        let mut stats = Stats::default();
        let mut times: Vec<f64> = Vec::new();
        for path in logs(directory) {
            let contents = ledger::read(&path)?;
            stats.damaged += contents.damaged.len() as u64;
            for entry in &contents.entries {
                stats.add(entry, &mut times);
            }
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| percentile(&times, share);
        (stats.p50_ms, stats.p90_ms, stats.p99_ms, stats.most_ms) = (at(0.5), at(0.9), at(0.99), at(1.0));
        Ok(stats)
    }

    fn add(&mut self, entry: &Value, times: &mut Vec<f64>) {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_string);
        let Some(decision) = text("decision") else {
            self.warnings += u64::from(entry.get("warning").is_some());
            return;
        };
        self.total += 1;
        *self.decisions.entry(decision).or_default() += 1;
        *self.layers.entry(text("layer").unwrap_or_default()).or_default() += 1;
        *self.rules.entry(text("rule").unwrap_or_default()).or_default() += 1;
        times.extend(entry.get("durationMs").and_then(Value::as_f64));
        let stamp = text("timestamp");
        self.first = self.first.take().into_iter().chain(stamp.clone()).min();
        self.last = self.last.take().into_iter().chain(stamp).max();
    }
}

/// The last decisions, newest first, from the file that is written now: at most `most`, from its last megabytes.
///
/// # Errors
/// When the file is there and cannot be read, or is not a regular file.
pub fn last(directory: &Path, most: usize) -> std::io::Result<Vec<Value>> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = match files::open(&directory.join(FILE), files::Links::Refuse) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let begin = file.metadata()?.len().saturating_sub(MAX_LOG_TAIL_BYTES);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(MAX_LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
    // The first line may have been cut, and the last may not be whole yet: neither is JSON then.
    let lines = bytes.split(|byte| *byte == b'\n').rev();
    let decisions = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    Ok(decisions.filter(|entry| entry.get("decision").is_some()).take(most).collect())
}

/// The value below which a share of sorted values lies.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index of a list in memory"
)]
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// The log's files, what was put aside first.
fn logs(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with("decisions") && name.ends_with(".jsonl") && !path.is_symlink()
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::Grounds;
    use crate::layers::{Layers, Place};

    fn log(directory: &Path, largest: u64) -> Log {
        Log { largest, ..Log::new(directory, Arc::new(Redactor::patterns_only())) }
    }

    fn write(log: &Log, line: &str) {
        let place = Place { directory: "/w", grounds: Grounds { workspace: "/w", home: "/home/a" } };
        log.decision(line, &Layers::none().judge(line, place), None, Duration::from_micros(1500));
    }

    #[test]
    fn what_is_put_aside_is_not_lost() {
        let directory = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let log = log(directory.path(), 2_000);
                    for _ in 0..50 {
                        write(&log, "ls");
                    }
                    assert_eq!(log.take_failure(), None);
                });
            }
        });
        assert!(logs(directory.path()).len() > 5);
        let stats = Stats::read(directory.path()).unwrap();
        assert_eq!((stats.total, stats.damaged), (200, 0));
        assert_eq!((stats.decisions["allow"], stats.layers["judge"]), (200, 200));
        assert!((stats.p99_ms - 1.5).abs() < 1e-9);
        for path in logs(directory.path()) {
            assert!(std::fs::metadata(path).unwrap().len() < 4_000);
        }
    }

    #[test]
    fn secrets_are_left_out_and_links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path(), MAX_LOG_BYTES);
        write(&log, "foo --token AKIAIOSFODNN7EXAMPLE");
        let text = std::fs::read_to_string(directory.path().join(FILE)).unwrap();
        assert!(text.contains("foo") && !text.contains("AKIAIOSFODNN7EXAMPLE"), "{text}");
        let metrics = log.metrics().unwrap();
        assert_eq!((metrics["total"].as_u64(), metrics["byDecision"]["ask"].as_u64()), (Some(1), Some(1)));
        std::fs::remove_file(directory.path().join(FILE)).unwrap();
        std::os::unix::fs::symlink("/dev/null", directory.path().join(FILE)).unwrap();
        write(&log, "ls");
        assert!(log.take_failure().unwrap().contains("is a link"));
    }
}
