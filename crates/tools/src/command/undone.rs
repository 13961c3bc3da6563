//! Changes that guards have undone, noted for guards of commands that run at the same time.
//!
//! A guard records the protected files as they are when its command begins. If another command has changed one by then, the
//! change is part of that record, and the guard would bring it back after the other one's guard has undone it. So each guard
//! notes what it undoes before it does, and none restores what was noted since its command began.

use super::guard::{Content, FileSnapshot};
use marvin_base::clock;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes that are read from the end of the file.
const MAX_READ_BYTES: u64 = 4 * 1024 * 1024;
const VERSION: u32 = 1;

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct UndoneChange {
    version: u32,
    /// Nanoseconds since 1970.
    at: i128,
    path: PathBuf,
    /// SHA-256 of the content, or of the target of a link.
    sha256: String,
}

/// The file of one project, as one guard uses it.
#[derive(Debug, Default)]
pub(super) struct UndoneChanges {
    /// None: nothing is noted.
    file: Option<PathBuf>,
    /// When the guard's command began.
    since: i128,
}

impl UndoneChanges {
    pub(super) fn new(file: PathBuf) -> Self {
        UndoneChanges { file: Some(file), since: clock::now().as_nanosecond() }
    }

    /// Notes a change that is about to be undone.
    pub(super) fn note(&self, path: &Path, changed: &FileSnapshot) {
        let (Some(file), Some(sha256)) = (&self.file, hash(changed)) else { return };
        let at = clock::now().as_nanosecond();
        let Ok(line) =
            serde_json::to_string(&UndoneChange { version: VERSION, at, path: path.into(), sha256 })
        else {
            return;
        };
        let written = OpenOptions::new().append(true).create(true).mode(0o600).open(file);
        let written = written.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, file = %file.display(), "cannot note an undone change");
        }
    }

    /// Whether this content of a file was undone since the guard's command began.
    pub(super) fn has(&self, path: &Path, saved: &FileSnapshot) -> bool {
        let (Some(file), Some(sha256)) = (&self.file, hash(saved)) else { return false };
        let Ok(mut file) = File::open(file) else { return false };
        let length = file.metadata().map_or(0, |facts| facts.len());
        if file.seek(SeekFrom::Start(length.saturating_sub(MAX_READ_BYTES))).is_err() {
            return false;
        }
        let lines = BufReader::new(file).lines().map_while(Result::ok);
        lines
            .filter_map(|line| serde_json::from_str::<UndoneChange>(&line).ok())
            .any(|noted| noted.at >= self.since && noted.path == path && noted.sha256 == sha256)
    }
}

fn hash(file: &FileSnapshot) -> Option<String> {
    let bytes = match file.content.as_ref()? {
        Content::Bytes(bytes) => bytes.as_slice(),
        Content::Link(target) => target.as_os_str().as_bytes(),
    };
    Some(hex::encode(Sha256::digest(bytes)))
}
