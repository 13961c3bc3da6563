//! Restores a session from the files of its run.

use super::{MAX_QUOTED_CORRECTIONS, Session};
use crate::packs::InjectionHistory;
use jiff::Timestamp;
use marvin_base::files::{self, Links};
use marvin_base::ledger;
use marvin_base::run::RunDirectory;
use marvin_base::run_record::{HookSessionRecord, RunKind, RunRecord};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const MAX_RESTORED_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The run that a session's pointer file names.
pub(super) fn run(runs: &Path, pointer: &Path, session: &str) -> Option<RunDirectory> {
    let id = files::read_text(pointer, 256, Links::Refuse).ok()?;
    let run = RunDirectory::open(runs, id.trim()).ok()?;
    // A run of another session is not used, whatever the pointer names.
    let hooks = RunRecord::read(run.path()).ok().and_then(|record| record.hooks);
    if hooks.is_some_and(|hooks| hooks.session_id != session) {
        std::fs::remove_file(pointer).ok();
        return None;
    }
    Some(run)
}

/// Assigns a run to a session; false when the session has one.
pub(super) fn claim(pointer: &Path, run: &str) -> std::io::Result<bool> {
    let directory = pointer.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::Builder::new().prefix(".claim-").tempfile_in(directory)?;
    writeln!(file, "{run}")?;
    match file.persist_noclobber(pointer) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

pub(super) fn restored(mut session: Session) -> Session {
    let directory = session.run.path().to_path_buf();
    if let Ok(mut record) = RunRecord::read(&directory) {
        if let Some(hooks) = record.hooks.take() {
            session.hooks = HookSessionRecord { client: session.hooks.client.clone(), ..hooks };
        }
        session.record = RunRecord { manner: RunKind::Hooks, ..record };
    }
    let since = trace(&mut session);
    corrections(&mut session, &directory.join("guidance.jsonl"));
    session.injected = injected(&directory.join("injections.jsonl"), since.as_deref());
    session.changed = false;
    session
}

/// Reads the trace; returns the time of the last compaction.
fn trace(session: &mut Session) -> Option<String> {
    let mut compacted = None;
    let (mut calls, mut corrected) = (0, 0);
    for event in lines(&session.run.trace()) {
        let text = |key: &str| event.get(key).and_then(Value::as_str);
        session.sequence = session.sequence.max(event.get("seq").and_then(Value::as_u64).unwrap_or(0));
        let stamp = text("timestamp").unwrap_or_default();
        if let Some(verdict) = event.get("verdict") {
            let word = |key: &str| verdict.get(key).and_then(Value::as_str).unwrap_or_default();
            session.metrics.add(word("decision"), word("layer"), stamp.to_string());
            if let (Some(line), "ask") = (text("command"), word("decision")) {
                let age = age(stamp);
                if let Some(asked) = Instant::now().checked_sub(age) {
                    session.pending.ask(&session.id.clone(), line, asked);
                }
            }
        }
        match text("type").unwrap_or_default() {
            "hook.pre-compact" => compacted = Some(stamp.to_string()),
            "hook.post-tool-use" | "hook.post-tool-use-failure" => calls += 1,
            "hook.verified" => {
                let back = event.get("sent_back").and_then(Value::as_u64).unwrap_or(0);
                session.sent_back = u32::try_from(back).unwrap_or(u32::MAX);
            }
            "hook.user-prompt-submit" => {
                if event.get("person").and_then(Value::as_bool) == Some(true) {
                    session.sent_back = 0;
                }
                corrected += u64::from(text("guidance") == Some("correction"));
            }
            _ => {}
        }
        if let Some(tested) = event.get("tested").and_then(Value::as_bool) {
            session.tested = tested;
        }
        if let (Some(file), Some(tool)) = (text("file"), text("tool")) {
            session.last = Some((file.to_string(), tool.to_string()));
        }
    }
    // The trace is written first; after a crash, run.json may be older.
    session.record.tool_call_count = session.record.tool_call_count.max(Some(calls));
    session.hooks.correction_count = session.hooks.correction_count.max(corrected);
    compacted
}

/// Whether, since the person's last prompt, something may have been changed or a verification failed.
pub(super) fn has_claim(trace: &Path) -> bool {
    let flag = |event: &Value, key: &str| event.get(key).and_then(Value::as_bool);
    let events = lines(trace);
    let mut turn = events.iter().rev().take_while(|event| flag(event, "person") != Some(true));
    turn.any(|event| flag(event, "changed") == Some(true) || flag(event, "verified") == Some(false))
}

fn corrections(session: &mut Session, path: &Path) {
    for line in lines(path) {
        let text = |key: &str| line.get(key).and_then(Value::as_str);
        let Some(at) = text("timestamp").and_then(|stamp| stamp.parse::<Timestamp>().ok()) else { continue };
        match (text("type"), text("category")) {
            (Some("correction"), Some(category)) => session.corrections.push((category.to_string(), at)),
            (Some("direction"), Some(category)) => {
                session.directions.insert(category.to_string());
            }
            _ => {}
        }
        session.words.extend(text("content").map(str::to_string));
    }
    let extra = session.words.len().saturating_sub(MAX_QUOTED_CORRECTIONS);
    session.words.drain(..extra);
}

fn injected(path: &Path, since: Option<&str>) -> BTreeMap<String, InjectionHistory> {
    let mut injected: BTreeMap<String, InjectionHistory> = BTreeMap::new();
    for line in lines(path) {
        let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
        if since.is_some_and(|since| text("timestamp") < since) {
            continue;
        }
        let list = |key: &str| line.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let word = |lesson: &'_ Value, key: &str| {
            lesson.get(key).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        let lessons: Vec<(String, String)> =
            list("lessons").iter().map(|lesson| (word(lesson, "pack"), word(lesson, "title"))).collect();
        injected.entry(text("agent_id").to_string()).or_default().note(
            text("file"),
            list("guardrails").iter().filter_map(Value::as_str),
            lessons.iter().map(|(pack, title)| (pack.as_str(), title.as_str())),
        );
    }
    injected
}

pub(super) fn recount(session: &mut Session) {
    session.metrics = super::metrics::Metrics::default();
    (session.record.tool_call_count, session.hooks.correction_count) = (Some(0), 0);
    trace(session);
}

fn lines(path: &Path) -> Vec<Value> {
    let large = std::fs::symlink_metadata(path)
        .is_ok_and(|facts| facts.len() > MAX_RESTORED_FILE_BYTES || !facts.is_file());
    if large {
        return Vec::new();
    }
    ledger::read(path).map(|contents| contents.entries).unwrap_or_default()
}

/// The age of a time stamp; zero after a clock that was set back.
fn age(stamp: &str) -> Duration {
    let Ok(moment) = stamp.parse::<Timestamp>() else { return Duration::MAX };
    let seconds = marvin_base::clock::now().duration_since(moment).as_secs();
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
