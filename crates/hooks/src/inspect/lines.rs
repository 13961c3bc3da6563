//! Lenient reading of a run's files, which may be damaged.

use marvin_base::files::{self, Links};
use serde::Serialize;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub reason: String,
}

/// Longer lines were not written by Marvin.
const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;
const MAX_REPORTED_PROBLEMS: usize = 20;

pub(super) struct RunReader<'a> {
    pub(super) directory: &'a Path,
    pub(super) problems: Vec<Problem>,
}

impl RunReader<'_> {
    pub(super) fn problem(&mut self, file: &str, line: Option<usize>, reason: impl Into<String>) {
        self.problems.push(Problem { file: file.to_string(), line, reason: reason.into() });
    }

    /// The object in a file; `None` for a missing file.
    pub(super) fn object(&mut self, file: &str, limit: u64) -> Option<Value> {
        let read = files::read_text(&self.directory.join(file), limit, Links::Refuse);
        let reason = match read {
            Ok(text) => match serde_json::from_str::<Value>(&text) {
                Ok(value) if value.is_object() => return Some(value),
                Ok(_) => "it is not an object".to_string(),
                Err(error) => format!("it is not JSON: {error}"),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => error.to_string(),
        };
        self.problem(file, None, reason);
        None
    }

    /// The objects of a ledger, one per line; none for a missing file.
    pub(super) fn lines(&mut self, file: &str, limit: u64) -> Vec<Value> {
        let opened = match files::open(&self.directory.join(file), Links::Refuse) {
            Ok(opened) => opened,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                self.problem(file, None, error.to_string());
                return Vec::new();
            }
        };
        let longer = opened.metadata().is_ok_and(|facts| facts.len() > limit);
        let mut reader = BufReader::new(opened.take(limit));
        let (mut entries, mut damaged, mut number) = (Vec::new(), 0, 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            number += 1;
            match reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    self.problem(file, Some(number), error.to_string());
                    break;
                }
            }
            let whole = line.ends_with(b"\n");
            if !whole && line.len() as u64 == MAX_LINE_BYTES {
                pass_over(&mut reader);
            }
            let bare = line.trim_ascii();
            let reason = match serde_json::from_slice::<Value>(bare) {
                _ if bare.is_empty() => continue,
                _ if !whole && (line.len() as u64) < MAX_LINE_BYTES => {
                    format!("{} bytes at the end were never finished", line.len())
                }
                Ok(value) if value.is_object() => {
                    entries.push(value);
                    continue;
                }
                Ok(_) => "it is not an object".to_string(),
                Err(error) => format!("it is not JSON: {error}"),
            };
            damaged += 1;
            if damaged <= MAX_REPORTED_PROBLEMS {
                self.problem(file, Some(number), reason);
            }
        }
        if damaged > MAX_REPORTED_PROBLEMS {
            self.problem(file, None, format!("{} more lines are damaged", damaged - MAX_REPORTED_PROBLEMS));
        }
        if longer {
            self.problem(file, None, format!("only the first {limit} bytes were read"));
        }
        entries
    }

    /// Names in the directory with this beginning and end, in order.
    pub(super) fn names(&self, begin: &str, end: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory).into_iter().flatten().flatten().take(10_000);
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| name.starts_with(begin) && name.ends_with(end)).collect();
        names.sort();
        names
    }
}

/// Reads to the end of a line without keeping it.
fn pass_over(reader: &mut impl BufRead) {
    loop {
        let Ok(buffer) = reader.fill_buf() else { return };
        let (used, done) = match buffer.iter().position(|byte| *byte == b'\n') {
            _ if buffer.is_empty() => return,
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        reader.consume(used);
        if done {
            return;
        }
    }
}
