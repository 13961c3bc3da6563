//! Records of sessions: guidance, injections, failures.
//!
//! They are read leniently and within limits: a line that cannot be parsed is left out.

use super::file::lines_of;
use jiff::Timestamp;
use marvin_base::run_record::{self, RunKind, RunRecord};
use serde::{Deserialize, Serialize, Serializer};
use std::path::{Path, PathBuf};

/// Only the newest runs are read.
const MAX_RUNS: usize = 2_000;
/// The runs among which the last session is searched.
const MAX_SEARCHED_RUNS: usize = 50;
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

#[must_use]
pub fn id(run: &Path) -> String {
    run.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The runs of clients' sessions, which are the only ones with injections or guidance.
#[must_use]
pub fn sessions(directory: &Path) -> Vec<PathBuf> {
    let mut runs = runs(directory);
    runs.retain(|run| is_session(run));
    runs
}

/// The newest run of a client's session apart from `current`, among the newest runs.
pub(crate) fn last_session(directory: &Path, current: &str) -> Option<PathBuf> {
    let newest = run_record::list(directory).into_iter().filter(|run| id(run) != current);
    newest.take(MAX_SEARCHED_RUNS).find(|run| is_session(run))
}

fn is_session(run: &Path) -> bool {
    RunRecord::read(run).is_ok_and(|record| record.manner == RunKind::Hooks)
        || run.join("injections.jsonl").is_file()
        || run.join("guidance.jsonl").is_file()
}

fn entries<T: for<'a> Deserialize<'a>>(path: &Path, limit: u64) -> Vec<T> {
    lines_of(path, limit).iter().filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// A line of `guidance.jsonl`: a correction or direction of a person.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GuidanceRecord {
    #[serde(default)]
    pub id: String,
    #[serde(serialize_with = "as_stamp")]
    pub timestamp: Timestamp,
    #[serde(default)]
    pub run_id: String,
    /// `correction` or `direction`.
    #[serde(rename = "type")]
    pub kind: String,
    pub content: String,
    #[serde(default)]
    pub category: Option<String>,
    #[serde(default)]
    pub confidence: f64,
    #[serde(default)]
    pub preceding_tool: Option<String>,
    #[serde(default)]
    pub preceding_file: Option<String>,
    /// The packs of the last injection.
    #[serde(default)]
    pub preceding_injections: Option<Vec<String>>,
}

/// Writes a time as all records do.
fn as_stamp<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&marvin_base::clock::stamp(*time))
}

#[must_use]
pub fn guidance(run: &Path) -> Vec<GuidanceRecord> {
    entries(&run.join("guidance.jsonl"), MAX_RECORD_FILE_BYTES)
}

/// A line of `injections.jsonl`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InjectionRecord {
    #[serde(serialize_with = "as_stamp")]
    pub timestamp: Timestamp,
    /// Empty at the start of a session.
    #[serde(default)]
    pub file: String,
    #[serde(default)]
    pub packs_injected: Vec<String>,
    /// The titles of `lessons`, for other programs.
    #[serde(default)]
    pub lessons_injected: Vec<String>,
    #[serde(default)]
    pub lessons: Vec<LessonRef>,
    #[serde(default)]
    pub guardrails: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// A lesson by its pack and its title.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LessonRef {
    pub pack: String,
    pub title: String,
}

#[must_use]
pub fn injections(run: &Path) -> Vec<InjectionRecord> {
    entries(&run.join("injections.jsonl"), MAX_RECORD_FILE_BYTES)
}

/// The times and files of failed tool calls.
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
