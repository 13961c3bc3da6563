//! The state of the conversation: `state.json`, two lists of short lines and a version.

use crate::error::MemoryError;
use marvin_base::files::{self, Links};
use marvin_base::{atomic, truncate};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

const VERSION: u32 = 1;
const MAX_STATE_FILE_BYTES: u64 = 1024 * 1024;
const MAX_CONTEXT_LINES: usize = 6;
const MAX_THREAD_LINES: usize = 4;
const MAX_LINE_CHARS: usize = 140;
/// Questions taken from the person's input when the model's account cannot be parsed.
const MAX_FALLBACK_QUESTIONS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationState {
    pub active_context: Vec<String>,
    pub open_threads: Vec<String>,
    pub version: u32,
}

impl Default for ConversationState {
    fn default() -> Self {
        ConversationState { active_context: Vec::new(), open_threads: Vec::new(), version: VERSION }
    }
}

/// A model's account of the conversation after a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Continuity {
    pub active_context: Vec<String>,
    /// New threads.
    pub open_threads: Vec<String>,
    /// Finished threads, with the text that they had.
    pub resolved_threads: Vec<String>,
}

impl ConversationState {
    /// Reads the file, also one of an older program; a missing file is an empty state.
    ///
    /// # Errors
    /// When the file cannot be parsed: it is never overwritten.
    pub fn read(path: &Path) -> Result<Self, MemoryError> {
        let text = match files::read_text(path, MAX_STATE_FILE_BYTES, Links::Refuse) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(ConversationState::default());
            }
            Err(error) => return Err(MemoryError::read(path, &error)),
        };
        let hint = "\n  hint: fix it, or move it away to start with an empty state";
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| MemoryError::read(path, &format!("it is not JSON: {error}{hint}")))?;
        let version = value.get("version").and_then(Value::as_u64).unwrap_or(0);
        if version > u64::from(VERSION) {
            let why =
                format!("it was made by a newer version of Marvin (version {version})\n  hint: use that one");
            return Err(MemoryError::read(path, &why));
        }
        // Older programs kept both lists one level deeper.
        let place = value.get("continuity").unwrap_or(&value);
        let lines = |key: &str| -> Option<Vec<String>> {
            place.get(key)?.as_array()?.iter().map(|line| line.as_str().map(str::to_string)).collect()
        };
        match (lines("active_context"), lines("open_threads")) {
            (Some(active_context), Some(open_threads)) => {
                Ok(ConversationState { active_context, open_threads, version: VERSION })
            }
            _ => Err(MemoryError::read(
                path,
                &format!("it does not hold the lists active_context and open_threads{hint}"),
            )),
        }
    }

    /// Replaces the file.
    pub fn write(&self, path: &Path) -> Result<(), MemoryError> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        Ok(atomic::replace(path, format!("{text}\n").as_bytes())?)
    }

    /// The state after a turn.
    ///
    /// An empty account changes nothing; from one that cannot be parsed, only the person's own questions are added.
    #[must_use]
    pub fn after(&self, account: &str, user_input: &str) -> ConversationState {
        let account = account.trim();
        if account.is_empty() {
            return self.clone();
        }
        match serde_json::from_str::<Continuity>(account) {
            Ok(continuity) => self.merged(&continuity),
            Err(_) => {
                let questions = user_input.split_inclusive(['?', '.', '!', '\n']).map(str::trim);
                let open_threads = questions
                    .filter(|text| text.ends_with('?'))
                    .take(MAX_FALLBACK_QUESTIONS)
                    .map(str::to_string)
                    .collect();
                self.merged(&Continuity { open_threads, ..Continuity::default() })
            }
        }
    }

    fn merged(&self, continuity: &Continuity) -> ConversationState {
        let tidy = |lines: &[String], most: usize| -> Vec<String> {
            let mut kept: Vec<String> = Vec::new();
            for line in
                lines.iter().map(|line| truncate::line(line, MAX_LINE_CHARS)).filter(|line| !line.is_empty())
            {
                if !kept.contains(&line) && kept.len() < most {
                    kept.push(line);
                }
            }
            kept
        };
        let context = tidy(&continuity.active_context, MAX_CONTEXT_LINES);
        let resolved = |line: &&String| !continuity.resolved_threads.contains(line);
        let threads: Vec<String> =
            self.open_threads.iter().filter(resolved).chain(&continuity.open_threads).cloned().collect();
        ConversationState {
            active_context: if context.is_empty() { self.active_context.clone() } else { context },
            open_threads: tidy(&threads, MAX_THREAD_LINES),
            version: VERSION,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(threads: &[&str]) -> ConversationState {
        ConversationState {
            active_context: vec!["old".into()],
            open_threads: threads.iter().map(ToString::to_string).collect(),
            version: 1,
        }
    }

    #[test]
    fn exactly_two_lists_and_a_version() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        assert_eq!(ConversationState::read(&path).unwrap(), ConversationState::default());
        state(&["a"]).write(&path).unwrap();
        let value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["active_context", "open_threads", "version"]);
        assert_eq!(ConversationState::read(&path).unwrap(), state(&["a"]));
        std::fs::write(
            &path,
            r#"{"identity": {}, "continuity": {"active_context": ["x"], "open_threads": []}}"#,
        )
        .unwrap();
        assert_eq!(ConversationState::read(&path).unwrap().active_context, ["x"]);
        for bad in [
            "",
            "{",
            "[]",
            r#"{"active_context": "x", "open_threads": []}"#,
            r#"{"version": 2, "active_context": [], "open_threads": []}"#,
        ] {
            std::fs::write(&path, bad).unwrap();
            assert!(ConversationState::read(&path).is_err(), "{bad}");
        }
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(ConversationState::read(&path).is_err());
    }

    #[test]
    fn threads_stay_until_they_are_resolved() {
        let account = r#"{"active_context": ["new", "new", "more"], "open_threads": ["c", "d", "e"], "resolved_threads": ["a"]}"#;
        let after = state(&["a", "b"]).after(account, "");
        assert_eq!(
            (after.active_context, after.open_threads),
            (
                vec!["new".into(), "more".to_string()],
                vec!["b".into(), "c".into(), "d".into(), "e".to_string()]
            )
        );
        assert_eq!(state(&["a"]).after("", "x?"), state(&["a"]));
        assert_eq!(
            state(&["a"]).after("nonsense", "Why? Do it. And when?").open_threads,
            ["a", "Why?", "And when?"]
        );
        let long = format!(r#"{{"active_context": ["{}"]}}"#, "x".repeat(500));
        assert!(state(&[]).after(&long, "").active_context[0].chars().count() <= MAX_LINE_CHARS);
    }
}
