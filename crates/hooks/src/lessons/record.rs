//! What the records of sessions say: guidance, injections, failures. Read leniently and within bounds: a line that is not
//! understood is left out.

use super::file::lines_of;
use jiff::Timestamp;
use marvin_base::run_record::{self, RunKind, RunRecord};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Runs that are read, the newest.
const MAX_RUNS: usize = 2_000;
/// Bytes of one file of a run.
const MAX_RECORD_FILE_BYTES: u64 = 8 * 1024 * 1024;
const MAX_TRACE_BYTES: u64 = 64 * 1024 * 1024;

/// The directories of runs, oldest first.
#[must_use]
pub fn runs(directory: &Path) -> Vec<PathBuf> {
    let mut runs = run_record::list(directory);
    runs.truncate(MAX_RUNS);
    runs.reverse();
    runs
}

/// The id of a run.
#[must_use]
pub fn id(run: &Path) -> String {
    run.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Runs that somebody's agent made, not Marvin's own: only these have injections or guidance.
#[must_use]
pub fn sessions(directory: &Path) -> Vec<PathBuf> {
    let mut runs = runs(directory);
    runs.retain(|run| is_session(run));
    runs
}

fn is_session(run: &Path) -> bool {
    RunRecord::read(run).is_ok_and(|record| record.manner == RunKind::Hooks)
        || run.join("injections.jsonl").is_file()
        || run.join("guidance.jsonl").is_file()
}

fn entries<T: for<'a> Deserialize<'a>>(path: &Path, limit: u64) -> Vec<T> {
    lines_of(path, limit).iter().filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Something that a person said.
#[derive(Debug, Clone, Deserialize)]
pub struct GuidanceRecord {
    /// When.
    pub timestamp: Timestamp,
    /// `correction` or `direction`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The words.
    pub content: String,
    /// What it was about.
    #[serde(default)]
    pub category: Option<String>,
    /// How sure it is that it was guidance.
    #[serde(default)]
    pub confidence: f64,
    /// The file that was touched last.
    #[serde(default)]
    pub preceding_file: Option<String>,
    /// The packs that were told before it.
    #[serde(default)]
    pub preceding_injections: Option<Vec<String>>,
}

/// The guidance of a run.
#[must_use]
pub fn guidance(run: &Path) -> Vec<GuidanceRecord> {
    entries(&run.join("guidance.jsonl"), MAX_RECORD_FILE_BYTES)
}

/// One telling.
#[derive(Debug, Clone, Deserialize)]
pub struct Injection {
    /// When.
    pub timestamp: Timestamp,
    /// Of which file; empty at the start of a session.
    #[serde(default)]
    pub file: String,
    /// The packs.
    #[serde(default)]
    pub packs_injected: Vec<String>,
    /// The lessons.
    #[serde(default)]
    pub lessons: Vec<LessonRef>,
}

/// A lesson by its pack and its title.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct LessonRef {
    /// The pack.
    pub pack: String,
    /// The title.
    pub title: String,
}

/// The tellings of a run.
#[must_use]
pub fn injections(run: &Path) -> Vec<Injection> {
    entries(&run.join("injections.jsonl"), MAX_RECORD_FILE_BYTES)
}

/// When a tool failed on which file.
#[must_use]
pub fn failures(run: &Path) -> Vec<(Timestamp, String)> {
    #[derive(Deserialize)]
    struct Event {
        timestamp: Timestamp,
        #[serde(default)]
        success: Option<bool>,
        #[serde(default)]
        file: Option<String>,
    }
    let events: Vec<Event> = entries(&run.join("trace.jsonl"), MAX_TRACE_BYTES);
    let failed = events.into_iter().filter(|event| event.success == Some(false));
    failed.filter_map(|event| Some((event.timestamp, event.file?))).collect()
}
