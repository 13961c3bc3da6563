//! The record of decisions in the state directory: who decided what, when and from where, with a message authentication code.
//!
//! `person.key` holds 32 random bytes and is readable by its owner only; sandboxes cannot read the state directory. Every line of
//! `decisions.jsonl` carries the code of the line before it, so that a line cannot be changed, removed from the middle or added
//! without the key. A removed end is not noticed.

use crate::environment::Environment;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const KEY_BYTES: usize = 32;
/// Bytes of a block of SHA-256.
const BLOCK_BYTES: usize = 64;
/// Bytes of the end of the record in which its last line must stand.
const MAX_TAIL_BYTES: u64 = 256 * 1024;
/// Characters of a subject that are kept.
const MAX_SUBJECT_CHARS: usize = 400;
/// The code before the first line.
const START: &str = "";

/// The person who decided, and the process and terminal used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedBy {
    /// The name that the person gave, else the user's.
    pub name: String,
    pub uid: u32,
    pub tty: Option<String>,
    pub pid: i32,
    /// The program that it executes.
    pub exe: String,
    /// The terminal program among its ancestors, or the setting that replaces one.
    pub terminal: String,
    /// How the decision arrived: command, screen, page or unattended.
    pub via: String,
}

/// A line of the record. The code covers the line without its `mac`.
#[derive(Serialize)]
struct Decision<'a> {
    at: String,
    command: &'a str,
    subject: String,
    decided_by: &'a DecidedBy,
    before: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
}

/// Failure to record or read decisions.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    #[error("cannot use {path}: {source}")]
    File {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot use {path}: {reason}")]
    Key { path: String, reason: &'static str },
    #[error(
        "cannot believe {path}: line {line} does not fit the key\n  hint: move the file away to begin another one, and look at what was decided since"
    )]
    Changed {
        path: String,
        /// The first line that does not fit.
        line: usize,
    },
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> DecisionError {
    let path = path.display().to_string();
    move |source| DecisionError::File { path, source }
}

/// The person's state directory; none without a home directory.
#[must_use]
pub fn state_dir(environment: &Environment) -> Option<PathBuf> {
    let layout = crate::layout::Layout::new(environment, None);
    let is_known =
        ["MARVIN_STATE_DIR", "XDG_STATE_HOME", "HOME"].iter().any(|name| environment.get(name).is_some());
    is_known.then(|| layout.state().to_path_buf())
}

pub struct Key([u8; KEY_BYTES]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Reads the key; makes one where there is none.
    ///
    /// # Errors
    /// When it cannot be read or made, or other users can read it.
    pub fn load_or_create(state: &Path) -> Result<Self, DecisionError> {
        let path = state.join("person.key");
        match File::open(&path) {
            Ok(file) => Key::read(&path, file),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Key::create(state, &path),
            Err(error) => Err(file_error(&path)(error)),
        }
    }

    fn read(path: &Path, mut file: File) -> Result<Self, DecisionError> {
        let wrong = |reason| DecisionError::Key { path: path.display().to_string(), reason };
        let facts = file.metadata().map_err(file_error(path))?;
        let user = rustix::process::getuid().as_raw();
        if !facts.is_file() || facts.uid() != user || facts.mode() & 0o077 != 0 {
            return Err(wrong("it must be a file of yours that other users cannot read (mode 0600)"));
        }
        let mut bytes = [0; KEY_BYTES];
        file.read_exact(&mut bytes).map_err(|_| wrong("it does not hold 32 bytes"))?;
        Ok(Key(bytes))
    }

    fn create(state: &Path, path: &Path) -> Result<Self, DecisionError> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(file_error(state))?;
        let mut bytes = [0; KEY_BYTES];
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut bytes))
            .map_err(file_error(path))?;
        // Written beside it and linked, so that of two processes one wins and the other reads a whole key.
        let mut fresh = tempfile::NamedTempFile::new_in(state).map_err(file_error(path))?;
        fresh.write_all(&bytes).and_then(|()| fresh.as_file().sync_all()).map_err(file_error(path))?;
        match fresh.persist_noclobber(path) {
            Ok(_) => Ok(Key(bytes)),
            Err(_) => Key::read(path, File::open(path).map_err(file_error(path))?),
        }
    }

    /// HMAC-SHA256 of these bytes, as hexadecimal digits.
    #[must_use]
    pub fn authenticate(&self, bytes: &[u8]) -> String {
        hex::encode(hmac_sha256(&self.0, bytes))
    }
}

/// HMAC-SHA256 (RFC 2104) for keys of at most a block; `sha2` is the only hash crate here.
fn hmac_sha256(key: &[u8], bytes: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| -> [u8; BLOCK_BYTES] {
        let mut block = [pad; BLOCK_BYTES];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(bytes).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

/// Whether two codes are equal, in a time that does not depend on where they differ.
fn is_equal(one: &str, two: &str) -> bool {
    let differing = one.bytes().zip(two.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == two.len() && differing == 0
}

fn record_path(state: &Path) -> PathBuf {
    state.join("decisions.jsonl")
}

pub(super) fn append(
    state: &Path,
    by: &DecidedBy,
    command: &str,
    subject: &str,
) -> Result<(), DecisionError> {
    let key = Key::load_or_create(state)?;
    let path = record_path(state);
    let options = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path);
    let mut file = options.map_err(file_error(&path))?;
    file.lock().map_err(file_error(&path))?;
    let length = file.metadata().map_err(file_error(&path))?.len();
    let start = length.saturating_sub(MAX_TAIL_BYTES);
    file.seek(SeekFrom::Start(start)).map_err(file_error(&path))?;
    let mut tail = String::new();
    file.read_to_string(&mut tail).map_err(file_error(&path))?;
    let last: Option<Value> = tail.lines().next_back().and_then(|line| serde_json::from_str(line).ok());
    let before = match (&last, length) {
        (_, 0) => START,
        (Some(last), _) if fits(&key, last) => last.get("mac").and_then(Value::as_str).unwrap_or_default(),
        _ => {
            return Err(DecisionError::Changed {
                path: path.display().to_string(),
                line: tail.lines().count(),
            });
        }
    };
    let mut decision = Decision {
        at: crate::clock::now().to_string(),
        command,
        subject: crate::truncate::line(&crate::printable::visible(subject), MAX_SUBJECT_CHARS),
        decided_by: by,
        before,
        mac: None,
    };
    decision.mac = Some(key.authenticate(&canonical(&decision)));
    let line = serde_json::to_string(&decision).map_err(|error| file_error(&path)(error.into()))?;
    file.write_all(format!("{line}\n").as_bytes()).and_then(|()| file.sync_data()).map_err(file_error(&path))
}

fn canonical(entry: &impl Serialize) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(entry).unwrap_or_default()
}

fn fits(key: &Key, entry: &Value) -> bool {
    let mut plain = entry.clone();
    let mac = plain.as_object_mut().and_then(|map| map.remove("mac"));
    let mac = mac.as_ref().and_then(Value::as_str).unwrap_or_default();
    is_equal(mac, &key.authenticate(&canonical(&plain)))
}

/// The decisions of a state directory, checked line by line.
///
/// # Errors
/// When the record cannot be read, or a line does not fit the key and the line before it.
pub fn read(state: &Path) -> Result<Vec<Value>, DecisionError> {
    let path = record_path(state);
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(file_error(&path))?,
    };
    let key = Key::load_or_create(state)?;
    let mut before = START.to_string();
    let mut entries = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let entry: Value = serde_json::from_str(line).unwrap_or_default();
        let follows = entry.get("before").and_then(Value::as_str) == Some(before.as_str());
        if !follows || !fits(&key, &entry) {
            return Err(DecisionError::Changed { path: path.display().to_string(), line: at + 1 });
        }
        before = entry.get("mac").and_then(Value::as_str).unwrap_or_default().to_string();
        entries.push(entry);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by() -> DecidedBy {
        DecidedBy {
            name: "ann".into(),
            uid: 1000,
            tty: Some("/dev/pts/3".into()),
            pid: 40,
            exe: "/usr/bin/marvin".into(),
            terminal: "kitty".into(),
            via: "command".into(),
        }
    }

    #[test]
    fn codes_are_those_of_rfc_4231() {
        let code = hmac_sha256(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(hex::encode(code), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let code = hmac_sha256(&[0x0b; 20], b"Hi There");
        assert_eq!(hex::encode(code), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    }

    #[test]
    fn a_changed_removed_or_added_line_is_noticed() {
        let state = tempfile::tempdir().unwrap();
        for subject in ["one", "two", "three"] {
            append(state.path(), &by(), "memory approve", subject).unwrap();
        }
        assert_eq!(read(state.path()).unwrap().len(), 3);
        let path = record_path(state.path());
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (changed, at) in [
            (text.replace("two", "owt"), 2),
            (format!("{}\n{}\n", lines[0], lines[2]), 2),
            (format!("{text}{}\n", lines[1]), 4),
            (format!("{text}{}\n", lines[2].replace("three", "four")), 4),
        ] {
            std::fs::write(&path, changed).unwrap();
            assert!(matches!(read(state.path()), Err(DecisionError::Changed { line, .. }) if line == at));
        }
        std::fs::write(&path, format!("{text}{}\n", lines[2].replace("three", "four"))).unwrap();
        assert!(
            append(state.path(), &by(), "memory approve", "five").is_err(),
            "a forged end is not built upon"
        );
    }

    #[test]
    fn a_key_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().unwrap();
        Key::load_or_create(state.path()).unwrap();
        let path = state.path().join("person.key");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Key::load_or_create(state.path()).is_err());
    }
}
