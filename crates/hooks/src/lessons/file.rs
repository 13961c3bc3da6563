//! Editing of `lessons.jsonl` by lines: unknown and unchanged lines stay byte for byte.

use super::error::LessonsError;
use crate::packs::LessonLine;
use marvin_base::atomic;
use marvin_base::diff;
use marvin_base::files::{self, Links};
use marvin_base::redact::Redactor;
use serde_json::{Map, Value};
use std::fs::File;
use std::path::{Path, PathBuf};

const MAX_LESSONS_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// A file of lessons.
#[derive(Debug, Clone)]
pub struct Lines {
    path: PathBuf,
    before: Vec<u8>,
    lines: Vec<Line>,
}

#[derive(Debug, Clone)]
struct Line {
    /// With its newline, where it has one.
    bytes: Vec<u8>,
    lesson: Option<LessonLine>,
}

impl Line {
    fn new(bytes: Vec<u8>) -> Self {
        let lesson = LessonLine::read(&bytes).ok();
        Line { bytes, lesson }
    }
}

impl Lines {
    /// Reads a file; a missing one has no lines.
    ///
    /// # Errors
    /// When it is a symlink, not a regular file, or too large.
    pub fn read(path: &Path) -> Result<Self, LessonsError> {
        let before = read(path)?;
        let lines =
            before.split_inclusive(|byte| *byte == b'\n').map(|line| Line::new(line.to_vec())).collect();
        Ok(Lines { path: path.to_path_buf(), before, lines })
    }

    /// The lessons, in the order of the file.
    pub fn lessons(&self) -> impl Iterator<Item = &LessonLine> {
        self.lines.iter().filter_map(|line| line.lesson.as_ref())
    }

    #[must_use]
    pub fn find(&self, name: &str) -> Option<&LessonLine> {
        self.lessons().find(|lesson| lesson.name() == name)
    }

    /// Appends a redacted lesson.
    pub(super) fn append_lesson(&mut self, lesson: &LessonLine, redactor: &Redactor) {
        let mut value = serde_json::to_value(lesson).unwrap_or_default();
        redactor.value(&mut value);
        self.append(&value);
    }

    /// Appends a line.
    pub fn append(&mut self, value: &Value) {
        if let Some(last) = self.lines.last_mut()
            && !last.bytes.ends_with(b"\n")
        {
            last.bytes.push(b'\n');
        }
        self.lines.push(Line::new(format!("{value}\n").into_bytes()));
    }

    /// Sets fields of the first lesson of this name; its other fields stay. Says whether there is one.
    pub fn set(&mut self, name: &str, fields: &Map<String, Value>) -> bool {
        let named = |line: &&mut Line| line.lesson.as_ref().is_some_and(|lesson| lesson.name() == name);
        let Some(line) = self.lines.iter_mut().find(named) else { return false };
        let Ok(mut map) = serde_json::from_slice::<Map<String, Value>>(&line.bytes) else { return false };
        map.extend(fields.clone());
        let end = if line.bytes.ends_with(b"\n") { "\n" } else { "" };
        *line = Line::new(format!("{}{end}", Value::Object(map)).into_bytes());
        true
    }

    /// Removes every lesson of this name, and returns the first.
    pub fn take(&mut self, name: &str) -> Option<Map<String, Value>> {
        let named = |line: &Line| line.lesson.as_ref().is_some_and(|lesson| lesson.name() == name);
        let found = self.lines.iter().find(|line| named(line))?;
        let map = serde_json::from_slice(&found.bytes).ok()?;
        self.lines.retain(|line| !named(line));
        Some(map)
    }

    #[must_use]
    pub fn change(&self) -> Change {
        let after = self.lines.iter().flat_map(|line| line.bytes.iter().copied()).collect();
        Change { path: self.path.clone(), before: self.before.clone(), after }
    }
}

/// The bytes of a file; empty for a missing one.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, LessonsError> {
    let bytes = match files::read(path, MAX_LESSONS_FILE_BYTES, Links::Refuse) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(LessonsError::io("read", path, error)),
    };
    if bytes.len() as u64 > MAX_LESSONS_FILE_BYTES {
        let path = path.display().to_string();
        return Err(LessonsError::TooLarge { path, bytes: MAX_LESSONS_FILE_BYTES });
    }
    Ok(bytes)
}

/// A change of one file, to be shown before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub before: Vec<u8>,
    pub after: Vec<u8>,
}

impl Change {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.before == self.after
    }

    /// The change as a unified diff, without control characters.
    #[must_use]
    pub fn diff(&self) -> String {
        let (before, after) = (String::from_utf8_lossy(&self.before), String::from_utf8_lossy(&self.after));
        let name = self.path.display().to_string();
        let text = diff::unified((&name, &before), (&name, &after), 1);
        text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
    }

    /// Makes the change, unless the file was changed meanwhile.
    ///
    /// # Errors
    /// When it was, or the file cannot be written.
    pub fn write(&self) -> Result<(), LessonsError> {
        if self.is_empty() {
            return Ok(());
        }
        let _lock = lock(&self.path)?;
        if read(&self.path)? != self.before {
            return Err(LessonsError::Changed(self.path.display().to_string()));
        }
        Ok(atomic::replace(&self.path, &self.after)?)
    }
}

/// Locks the directory of a file; the file itself is replaced, so a lock on it would be lost.
pub(super) fn lock(file: &Path) -> Result<File, LessonsError> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let lock = File::open(directory).and_then(|lock| lock.lock().map(|()| lock));
    lock.map_err(|error| LessonsError::io("lock", directory, error))
}

/// The complete lines within the first `limit` bytes of a file.
pub(super) fn lines_of(path: &Path, limit: u64) -> Vec<Vec<u8>> {
    let Ok(mut bytes) = files::read(path, limit, Links::Refuse) else { return Vec::new() };
    if bytes.len() as u64 > limit {
        // The last line is incomplete.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        bytes.truncate(whole);
    }
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_lines_stay_byte_for_byte() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lessons.jsonl");
        let strange = b"\xff\xfe nonsense\n\n{\"title\" :\"a\",  \"actionable\":\"x\", \"mine\": [1, 2]}\n# note\n{\"title\":\"b\",\"actionable\":\"y\"}";
        std::fs::write(&path, strange).unwrap();
        let mut lines = Lines::read(&path).unwrap();
        assert!(lines.change().is_empty());
        let mut fields = Map::new();
        fields.insert("utility_score".into(), json!(0.75));
        assert!(lines.set("b", &fields) && !lines.set("c", &fields));
        lines.append(&json!({"title": "c", "actionable": "z"}));
        let change = lines.change();
        change.write().unwrap();
        let after = std::fs::read(&path).unwrap();
        let (kept, new) = after.split_at(strange.len() - "{\"title\":\"b\",\"actionable\":\"y\"}".len());
        assert!(strange.starts_with(kept));
        let new = std::str::from_utf8(new).unwrap();
        assert_eq!(
            new,
            "{\"title\":\"b\",\"actionable\":\"y\",\"utility_score\":0.75}\n{\"title\":\"c\",\"actionable\":\"z\"}\n"
        );
        // A change by another process is not overwritten.
        assert!(matches!(change.write(), Err(LessonsError::Changed(_))));
        let mut lines = Lines::read(&path).unwrap();
        assert_eq!(lines.take("a").unwrap()["mine"], json!([1, 2]));
        assert!(lines.find("a").is_none() && lines.find("b").is_some());
        assert!(lines.change().diff().contains("-{\"title\" :\"a\""), "{}", lines.change().diff());
    }

    #[test]
    fn links_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("target"), "x").unwrap();
        let path = directory.path().join("lessons.jsonl");
        std::os::unix::fs::symlink(directory.path().join("target"), &path).unwrap();
        assert!(Lines::read(&path).is_err());
    }
}
