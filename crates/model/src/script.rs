//! Scripts: a deterministic model, written down.
//!
//! A script is JSONL, one entry a line. The first unused entry whose `when` matches the request is consumed; `repeat`
//! keeps it. Consumption is shared by all processes of a run through a small locked file, so a sub-agent never plays
//! a line that its parent has played.
//!
//! ```json
//! {"when":{"role":"Implementer","step":"s1","contains":"text in the last message"},
//!  "reply":{"text":"…","tool_calls":[{"name":"create_file","arguments":{"path":"a.txt","content":"hi"}}]}}
//! {"reply":{"json":{"status":"SUCCESS","summary":"…"}}}
//! {"fail":{"kind":"http","status":429,"retry_after_s":0}}
//! ```

use crate::arguments::Arguments;
use crate::client::{Request, Usage};
use marvin_base::files;
use marvin_base::person::process::start_ticks;
use marvin_base::signature;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a script; a recording of a long run has a few megabytes.
const MAX_SCRIPT_BYTES: u64 = 256 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Conditions, all of which must match.
    #[serde(default, skip_serializing_if = "RequestCondition::is_empty")]
    pub when: RequestCondition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<ScriptReply>,
    /// How the model fails; with a reply: in the middle of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<ScriptFailure>,
    /// Keep the entry after use.
    #[serde(default, skip_serializing_if = "is_false")]
    pub repeat: bool,
    /// Wait this long before answering.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_ms: u64,
    /// Stream the text in this many pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<usize>,
    /// The request that was answered, in recordings; replay compares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestCondition {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// A text that the last message contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

impl RequestCondition {
    fn is_empty(&self) -> bool {
        *self == RequestCondition::default()
    }

    fn matches(&self, request: &Request) -> bool {
        let same = |wanted: &Option<String>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| is == Some(wanted))
        };
        same(&self.role, Some(&request.role))
            && same(&self.step, request.step.as_deref())
            && self.contains.as_deref().is_none_or(|text| {
                request.messages.last().is_some_and(|message| message.content().contains(text))
            })
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptReply {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// An object, sent as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ScriptCall>,
    /// Tokens; estimated from the text when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Data that the vendor wants back unchanged, in recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Value>,
}

impl ScriptReply {
    /// The text that the model says: `text`, or `json` as text.
    #[must_use]
    pub fn spoken(&self) -> String {
        match &self.json {
            Some(json) if self.text.is_empty() => json.to_string(),
            _ => self.text.clone(),
        }
    }
}

/// A call in a script. `arguments` may be an object, JSON text or a patch, as real models send them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    pub name: String,
    /// The arguments exactly as the model sends them.
    #[serde(default)]
    pub arguments: Value,
    /// The call's id, where it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Data that the vendor wants back unchanged with this call, in recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Value>,
}

impl ScriptCall {
    /// The arguments as the shell understands them.
    #[must_use]
    pub fn understood(&self) -> Arguments {
        Arguments::from_value(self.arguments.clone())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFailure {
    pub kind: FailureKind,
    /// The status of an `http` failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The `Retry-After` of an `http` failure, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// An HTTP status.
    Http,
    /// No answer at all.
    Timeout,
    /// The connection breaks.
    Disconnect,
    /// An answer that is not the protocol.
    Garbage,
}

fn is_false(b: &bool) -> bool {
    !*b
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the script {path}: {source}")]
    Unreadable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "{path}, line {line}: {reason}\n  hint: an entry is {{\"when\":{{…}},\"reply\":{{\"text\":\"…\"}}}} or {{\"fail\":{{\"kind\":\"http\",\"status\":429}}}}"
    )]
    Line { path: String, line: usize, reason: String },
    #[error("cannot keep the script's state in {path}: {source}")]
    State {
        path: String,
        #[source]
        source: std::io::Error,
    },
}

/// A script and how far it has been played.
#[derive(Debug)]
pub struct Script {
    entries: Vec<Entry>,
    used: Mutex<BTreeSet<usize>>,
    state: Option<SharedState>,
}

/// How far the processes of a run have played a script.
#[derive(Debug)]
struct SharedState {
    path: PathBuf,
    /// Entries that this process has played and whose replies it may still have to record.
    played: Arc<Mutex<Vec<usize>>>,
}

/// The text of a script, which may come through a pipe.
fn read_text(path: &Path) -> std::io::Result<String> {
    let bytes = files::read_stream(File::open(path)?, MAX_SCRIPT_BYTES)?;
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not UTF-8 text"))
}

impl Script {
    /// A script from entries, played by this process alone.
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        Script { entries, used: Mutex::default(), state: None }
    }

    /// Reads a script; `state` is the file through which the processes of a run share consumption.
    ///
    /// # Errors
    /// When the file cannot be read or a line is not an entry.
    pub fn load(path: &Path, state: Option<PathBuf>) -> Result<Self, ScriptError> {
        let name = path.display().to_string();
        let text =
            read_text(path).map_err(|source| ScriptError::Unreadable { path: name.clone(), source })?;
        Ok(Script {
            entries: parse(&name, &text)?,
            used: Mutex::default(),
            state: state.map(SharedState::new),
        })
    }

    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Takes the first unused entry that matches, or `None` when nothing is left for this request.
    ///
    /// # Errors
    /// When the shared state cannot be read or written.
    pub fn take(&self, request: &Request) -> Result<Option<TakenEntry>, ScriptError> {
        match &self.state {
            None => {
                let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
                let found = self.first_unused(&used, request);
                used.extend(found.and_then(|(index, entry)| (!entry.repeat).then_some(index)));
                Ok(found.map(|(_, entry)| TakenEntry { entry: entry.clone(), shared: None }))
            }
            Some(state) => self
                .take_shared(state, request)
                .map_err(|source| ScriptError::State { path: state.path.display().to_string(), source }),
        }
    }

    fn first_unused(&self, used: &BTreeSet<usize>, request: &Request) -> Option<(usize, &Entry)> {
        let mut entries = self.entries.iter().enumerate();
        entries.find(|(index, entry)| !used.contains(index) && entry.when.matches(request))
    }

    fn take_shared(&self, state: &SharedState, request: &Request) -> std::io::Result<Option<TakenEntry>> {
        if let Some(directory) = state.path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut file = open_state(&state.path)?;
        let Consumption { mut used, lost } = read_state(&mut file)?;
        // Who asks again has recorded the reply of before.
        state.keep(&mut file)?;
        let request_hash = hash(request);
        used.retain(|index| {
            let is_reply = self.entries.get(*index).is_some_and(|entry| entry.fail.is_none());
            !(is_reply && lost.get(index) == Some(&request_hash))
        });
        let Some((index, entry)) = self.first_unused(&used, request) else { return Ok(None) };
        let mut taken = TakenEntry { entry: entry.clone(), shared: None };
        if !entry.repeat {
            let pid = std::process::id();
            let started = start_ticks(pid).unwrap_or_default();
            append(&mut file, &StateLine::Take { entry: index, pid, started, request: request_hash })?;
            let (path, played) = (state.path.clone(), state.played.clone());
            taken.shared = Some(SharedEntry { path, played, index });
        }
        Ok(Some(taken))
    }
}

impl SharedState {
    fn new(path: PathBuf) -> Self {
        SharedState { path, played: Arc::default() }
    }

    /// Notes that the replies so far are recorded.
    fn keep(&self, file: &mut File) -> std::io::Result<()> {
        let entries = std::mem::take(&mut *lock(&self.played));
        if entries.is_empty() { Ok(()) } else { append(file, &StateLine::Kept { entries }) }
    }
}

impl Drop for SharedState {
    fn drop(&mut self) {
        if !lock(&self.played).is_empty() {
            open_state(&self.path).and_then(|mut file| self.keep(&mut file)).ok();
        }
    }
}

fn lock(played: &Mutex<Vec<usize>>) -> MutexGuard<'_, Vec<usize>> {
    played.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An entry that is being played. It counts as used when this is dropped; when the process is killed before, the entry is
/// there again for the process that resumes the run. A process may also be killed when its entry is used and the reply is not
/// recorded yet: then the resumed run sends the same request again, and the same entry answers it.
#[derive(Debug)]
pub struct TakenEntry {
    entry: Entry,
    shared: Option<SharedEntry>,
}

/// The place of an entry that is being played, in the state that processes share.
#[derive(Debug)]
struct SharedEntry {
    path: PathBuf,
    played: Arc<Mutex<Vec<usize>>>,
    index: usize,
}

impl Deref for TakenEntry {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

impl Drop for TakenEntry {
    fn drop(&mut self) {
        if let Some(SharedEntry { path, played, index }) = self.shared.take() {
            // Where this cannot be written, the entry stays taken while this process lives.
            open_state(&path).and_then(|mut file| append(&mut file, &StateLine::Done { entry: index })).ok();
            lock(&played).push(index);
        }
    }
}

/// A line of the state file, which only grows.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateLine {
    /// A process plays an entry. It is identified by its id and its start, in clock ticks since the machine started.
    Take {
        entry: usize,
        pid: u32,
        started: u64,
        /// The hash of the request that it answers.
        #[serde(default)]
        request: String,
    },
    /// It was played to its end.
    Done { entry: usize },
    /// The process did not end before it recorded these replies.
    Kept { entries: Vec<usize> },
    /// Entries that are used up, as earlier versions wrote them.
    #[serde(untagged)]
    Used(Vec<usize>),
}

/// Opens the state file and locks it until it is closed.
fn open_state(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    file.lock()?;
    Ok(file)
}

fn append(file: &mut File, line: &StateLine) -> std::io::Result<()> {
    file.write_all(format!("\n{}", serde_json::to_string(line)?).as_bytes())
}

/// What the state file says.
struct Consumption {
    /// Entries that are used up, or played by a process that lives.
    used: BTreeSet<usize>,
    /// Those whose replies a process may have lost when it was killed, with the hash of the request.
    lost: BTreeMap<usize, String>,
}

fn read_state(file: &mut File) -> std::io::Result<Consumption> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let mut used = BTreeSet::new();
    let mut playing = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match serde_json::from_str(line)? {
            StateLine::Take { entry, pid, started, request } => {
                playing.insert(entry, (pid, started, request));
            }
            StateLine::Done { entry } => {
                used.insert(entry);
            }
            StateLine::Kept { entries } => entries.iter().for_each(|entry| drop(playing.remove(entry))),
            StateLine::Used(entries) => used.extend(entries),
        }
    }
    let mut lost = BTreeMap::new();
    for (entry, (pid, started, request)) in playing {
        if start_ticks(pid) == Some(started) {
            used.insert(entry);
        } else {
            lost.insert(entry, request);
        }
    }
    Ok(Consumption { used, lost })
}

/// The hash of what a request asks, by whom. The offered tools do not count.
fn hash(request: &Request) -> String {
    signature::hash(&(&request.role, &request.step, &request.messages))
}

/// Reads the lines of a script; blank lines and lines that begin with `#` or `//` are skipped.
///
/// # Errors
/// Names the first line that is not an entry.
pub fn parse(path: &str, text: &str) -> Result<Vec<Entry>, ScriptError> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') || trimmed.starts_with("//") {
            continue;
        }
        let wrong = |reason: String| ScriptError::Line { path: path.into(), line: index + 1, reason };
        let entry: Entry = serde_json::from_str(trimmed).map_err(|error| wrong(error.to_string()))?;
        if entry.reply.is_none() && entry.fail.is_none() {
            return Err(wrong("the entry has neither `reply` nor `fail`".into()));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// A text in `count` pieces of about equal length, at character boundaries, joined the text again.
#[must_use]
pub fn pieces(text: &str, count: usize) -> Vec<&str> {
    let count = count.max(1);
    let step = text.len().div_ceil(count).max(1);
    let mut pieces = Vec::with_capacity(count);
    let mut start = 0;
    while start < text.len() {
        let mut end = (start + step).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        pieces.extend(text.get(start..end));
        start = end;
    }
    pieces
}

#[cfg(test)]
mod tests;
