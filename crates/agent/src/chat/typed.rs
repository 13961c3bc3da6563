//! Input history of a person: `profiles/<name>/history`.
//!
//! The first line is `_HiStOrY_V2_`; each further line is one that was typed, with `\` and control characters written as
//! `\ooo`. The last thousand are kept.

use marvin_base::atomic::{self, WriteError};
use marvin_base::environment::Environment;
use marvin_base::files::{self, Links};
use marvin_base::redact::Redactor;
use std::path::{Path, PathBuf};

const HEAD: &str = "_HiStOrY_V2_";
/// Lines that are kept, and bytes that are read.
const MAX_HISTORY_LINES: usize = 1_000;
const MAX_HISTORY_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// Lines that were typed, oldest first.
#[derive(Debug, Clone, Default)]
pub struct InputHistory {
    path: PathBuf,
    lines: Vec<String>,
}

impl InputHistory {
    /// Reads the history; a file that cannot be read is an empty one.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let text = files::read(path, MAX_HISTORY_FILE_BYTES, Links::Follow)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
        let lines =
            text.lines().filter(|line| *line != HEAD && !line.trim().is_empty()).map(decode).collect();
        InputHistory { path: path.to_path_buf(), lines }
    }

    /// The lines, oldest first.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Adds a line and keeps it. The same line twice in a row is kept once.
    ///
    /// # Errors
    /// When it cannot be written; it can still be called back in this process.
    pub fn add(&mut self, line: &str) -> Result<(), WriteError> {
        if line.trim().is_empty() || self.lines.last().is_some_and(|last| last == line) {
            return Ok(());
        }
        self.lines.push(line.to_string());
        let excess = self.lines.len().saturating_sub(MAX_HISTORY_LINES);
        self.lines.drain(..excess);
        let redactor = Redactor::new(&Environment::of_process(), []);
        let mut text = format!("{HEAD}\n");
        for line in &self.lines {
            // The lines stay whole in memory; the file outlives the session.
            text.push_str(&encode(&redactor.text(line)));
            text.push('\n');
        }
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory).ok();
        }
        atomic::replace_private(&self.path, text.as_bytes())
    }

    /// The newest line before `below` that holds these words; with its place.
    #[must_use]
    pub fn search(&self, words: &str, below: usize) -> Option<(usize, &str)> {
        let lines = self.lines.iter().enumerate().take(below);
        lines.rev().find(|(_, line)| line.contains(words)).map(|(at, line)| (at, line.as_str()))
    }
}

fn encode(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for char in line.chars() {
        if char == '\\' || char.is_ascii_control() {
            text.push_str(&format!("\\{:03o}", u32::from(char)));
        } else {
            text.push(char);
        }
    }
    text
}

fn decode(line: &str) -> String {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', further @ ..]) => {
                bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = further;
            }
            _ => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p/history");
        let mut typed = InputHistory::read(&path);
        let odd = "two\nlines \\ and \\101 \t ñ 日本 🙂";
        for line in ["one", "one", odd, " "] {
            typed.add(line).unwrap();
        }
        let read = InputHistory::read(&path);
        assert_eq!(read.lines(), ["one", odd]);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("_HiStOrY_V2_\none\ntwo\\012lines"));
        assert_eq!(read.search("日本", 2), Some((1, odd)));
        assert_eq!(read.search("one", 0), None);
        std::fs::write(&path, b"plain words\nhello\\040there\n\xff\\9\\").unwrap();
        assert_eq!(InputHistory::read(&path).lines(), ["plain words", "hello there", "\u{fffd}\\9\\"]);
        for n in 0..1_100 {
            typed.lines.push(n.to_string());
        }
        typed.add("last").unwrap();
        assert_eq!(InputHistory::read(&path).lines().len(), 1_000);
    }
}
