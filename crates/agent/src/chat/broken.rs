//! Prompts that are being answered, written down before anything happens, so that an interruption is noticed.
//!
//! A prompt is a ledger of one or two lines: the prompt, and the run that answers it. Its process holds the lock of that
//! ledger, which ends with the process, however that ends. A ledger without an owner was interrupted.

use crate::history::History;
use marvin_base::ledger::{self, Durability, Ledger, LedgerError};
use marvin_base::redact::Redactor;
use marvin_base::run_record::{RunRecord, RunStatus};
use marvin_base::{clock, ids, signature};
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAX_INTERRUPTED_PROMPTS: usize = 50;

/// A prompt whose answer was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InterruptedPrompt {
    /// Its ledger.
    pub(super) path: PathBuf,
    pub(super) prompt: String,
    /// The run that was answering it, if it had begun.
    pub(super) run: Option<String>,
    pub(super) asked: String,
}

impl InterruptedPrompt {
    /// Id that an answer names.
    pub(super) fn id(&self) -> String {
        let name = self.path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("turn:{name}")
    }

    /// Removes it: it was answered or dismissed.
    pub(super) fn settle(&self) {
        forget(&self.path);
    }
}

fn forget(path: &Path) {
    // One that cannot be removed is offered once more, which does no harm.
    std::fs::remove_file(path).ok();
}

/// First line of the ledger.
#[derive(Serialize)]
struct PromptLine<'a> {
    prompt: &'a str,
    asked: &'a str,
    runs: &'a str,
    /// Of the chat log.
    signature: &'a str,
}

/// Second line of the ledger.
#[derive(Serialize)]
struct RunLine<'a> {
    run: &'a str,
}

/// A prompt that this process answers.
#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    ledger: Ledger,
}

impl Mark {
    /// Writes the prompt down. `runs` is where the run that answers it will be.
    pub(super) fn new(
        directory: &Path,
        prompt: &str,
        runs: &Path,
        chat_log: &Path,
        redactor: &Arc<Redactor>,
    ) -> Result<Self, LedgerError> {
        let path = directory.join(format!("{}.jsonl", ids::uuid()));
        let io = |source| LedgerError::Io { doing: "make", path: directory.display().to_string(), source };
        std::fs::create_dir_all(directory).map_err(io)?;
        let mut ledger = Ledger::open(&path, Durability::Turn, redactor.clone())?;
        let runs = runs.display().to_string();
        let log = signature_of(chat_log);
        let asked = clock::now_stamp();
        ledger.append(&PromptLine { prompt, asked: &asked, runs: &runs, signature: &log })?;
        ledger.sync()?;
        Ok(Mark { path, ledger })
    }

    /// Records the run that answers it.
    pub(super) fn answered_by(&mut self, run: &str) -> Result<(), LedgerError> {
        self.ledger.append(&RunLine { run }).map(|_| ())
    }

    /// Removes the mark: the answer is stored.
    pub(super) fn done(self) {
        forget(&self.path);
    }
}

/// Signature of the chat log, to see whether it changed.
fn signature_of(chat_log: &Path) -> String {
    std::fs::read(chat_log).map(|bytes| signature::hash_bytes(&bytes)).unwrap_or_default()
}

/// Prompts of these runs that no living process answers, oldest first. One whose answer was stored before its process ended
/// is removed.
pub(super) fn find(directory: &Path, runs: &Path, chat_log: &Path) -> Vec<InterruptedPrompt> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<InterruptedPrompt> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .take(MAX_INTERRUPTED_PROMPTS)
        .filter_map(|path| read(path, runs, chat_log))
        .collect();
    found.sort_by(|a, b| a.asked.cmp(&b.asked));
    found
}

fn read(path: PathBuf, runs: &Path, chat_log: &Path) -> Option<InterruptedPrompt> {
    File::open(&path).ok()?.try_lock().ok()?;
    let entries = ledger::read(&path).ok()?.entries;
    let text = |key: &str| {
        entries.iter().find_map(|entry| entry.get(key).and_then(Value::as_str)).map(str::to_string)
    };
    let Some(prompt) = text("prompt") else {
        // Interrupted before the prompt was written.
        forget(&path);
        return None;
    };
    if text("runs").is_some_and(|other| Path::new(&other) != runs) {
        return None;
    }
    let run = text("run");
    if run.as_deref().is_some_and(|run| has_ended(runs, run))
        || was_kept(chat_log, text("signature"), &prompt)
    {
        forget(&path);
        return None;
    }
    Some(InterruptedPrompt { prompt, run, asked: text("asked").unwrap_or_default(), path })
}

fn has_ended(runs: &Path, run: &str) -> bool {
    let plain = run.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain
        && RunRecord::read(&runs.join(run))
            .is_ok_and(|record| record.status.is_some_and(|status| status != RunStatus::Running))
}

/// Did the chat log change since the prompt was sent, and is it the last one there?
fn was_kept(chat_log: &Path, before: Option<String>, prompt: &str) -> bool {
    if before.is_none_or(|before| before == signature_of(chat_log)) {
        return false;
    }
    let history = History::read(chat_log).unwrap_or_default();
    history.entries().iter().rfind(|entry| entry.role == "you").is_some_and(|entry| entry.text == prompt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_without_a_living_process_is_interrupted() {
        let directory = tempfile::tempdir().unwrap();
        let redactor = Arc::new(Redactor::patterns_only());
        let (here, runs) = (directory.path().join("open"), directory.path().join("runs"));
        let log = directory.path().join("chat_log.json");
        let find = |here: &Path, runs: &Path| find(here, runs, &log);
        let mut mark = Mark::new(&here, "what is it?", &runs, &log, &redactor).unwrap();
        mark.answered_by("run_1").unwrap();
        assert!(find(&here, &runs).is_empty(), "it is being answered");
        drop(mark);
        // A child that another test starts holds a copy of the lock until it runs its program.
        let begun = std::time::Instant::now();
        let mut found = find(&here, &runs);
        while found.is_empty() && begun.elapsed() < std::time::Duration::from_secs(20) {
            std::thread::sleep(std::time::Duration::from_millis(5));
            found = find(&here, &runs);
        }
        assert_eq!(
            (found.len(), found[0].prompt.as_str(), found[0].run.as_deref()),
            (1, "what is it?", Some("run_1"))
        );
        assert!(find(&here, directory.path()).is_empty(), "another project's");
        found[0].settle();
        assert!(find(&here, &runs).is_empty());
        Mark::new(&here, "again", &runs, &log, &redactor).unwrap().done();
        assert!(find(&here, &runs).is_empty());
        drop(Mark::new(&here, "kept", &runs, &log, &redactor).unwrap());
        assert_eq!(find(&here, &runs).len(), 1);
        History::record(&log, &[("you", "kept"), ("assistant", "yes")], 1_000_000, 1).unwrap();
        assert!(find(&here, &runs).is_empty(), "its answer is in the log");
        drop(Mark::new(&here, "kept", &runs, &log, &redactor).unwrap());
        assert_eq!(find(&here, &runs).len(), 1, "the same question, asked again");
        std::fs::write(here.join("torn.jsonl"), b"{\"prom\xff").unwrap();
        assert_eq!(find(&here, &runs).len(), 1);
    }
}
