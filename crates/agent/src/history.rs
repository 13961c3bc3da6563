//! The chat log of a profile, of a bounded size, with backups before anything is cut.

use marvin_base::{atomic, clock, truncate};
use marvin_model::Message;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// Entries kept on disk.
const MAX_LOG_ENTRIES: usize = 100;
/// Entries that a model sees.
const MAX_PROMPT_ENTRIES: usize = 20;
/// Characters of an entry in the compact history.
const SHORT: usize = 200;
/// Entries that a search finds.
const MAX_SEARCH_HITS: usize = 50;
/// Entries that compaction leaves whole.
const WHOLE: usize = 20;

/// One entry of `chat_log.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatLogEntry {
    /// `you`, `assistant` or `system`.
    pub role: String,
    pub text: String,
    /// `HH:MM`.
    #[serde(default)]
    pub time: String,
}

/// The chat log.
#[derive(Debug, Clone, Default)]
pub struct History {
    path: PathBuf,
    entries: Vec<ChatLogEntry>,
}

impl History {
    /// Reads a chat log; a missing one is empty.
    ///
    /// # Errors
    /// When the file exists but cannot be parsed; it is left alone.
    pub fn read(path: &Path) -> std::io::Result<Self> {
        let entries = match std::fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map_err(std::io::Error::from)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(History { path: path.to_path_buf(), entries })
    }

    /// The entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[ChatLogEntry] {
        &self.entries
    }

    /// The last entries, one line each, shortened: for the system message.
    #[must_use]
    pub fn compact_lines(&self) -> Vec<String> {
        self.last().iter().map(|entry| format!("{}: {}", entry.role, short(&entry.text))).collect()
    }

    /// The last entries as messages, to continue a conversation.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        self.last()
            .iter()
            .filter_map(|entry| match entry.role.as_str() {
                "you" => Some(Message::user(entry.text.clone())),
                "assistant" => Some(Message::assistant(entry.text.clone())),
                _ => None,
            })
            .collect()
    }

    fn last(&self) -> &[ChatLogEntry] {
        self.entries.get(self.entries.len().saturating_sub(MAX_PROMPT_ENTRIES)..).unwrap_or_default()
    }

    /// Adds an entry; blank texts are not kept.
    fn add(&mut self, role: &str, text: &str) {
        if !text.trim().is_empty() {
            self.entries.push(ChatLogEntry {
                role: role.to_string(),
                text: text.to_string(),
                time: time_now(),
            });
        }
    }

    /// Estimated tokens of the log.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.entries.iter().map(|entry| entry.text.chars().count()).sum::<usize>() / 4
    }

    /// Compacts the log to about `target` tokens, after a backup. The last entries stay whole as long as they fit.
    ///
    /// # Errors
    /// When the backup cannot be written; the log is then untouched.
    fn compact(&mut self, target: usize) -> Result<Option<PathBuf>, atomic::WriteError> {
        if self.tokens() <= target {
            return Ok(None);
        }
        let backup = self.back_up()?;
        let whole = self.entries.len().saturating_sub(WHOLE);
        let last: usize = self.entries.iter().skip(whole).map(|entry| entry.text.chars().count()).sum();
        let budget = (target * 4).saturating_sub(last);
        let each = (budget / whole.max(1)).max(40);
        for entry in self.entries.iter_mut().take(whole) {
            if entry.text.chars().count() > each {
                entry.text = truncate::line(&entry.text, each);
            }
        }
        while self.tokens() > target && self.entries.len() > 1 {
            self.entries.remove(0);
        }
        Ok(Some(backup))
    }

    fn back_up(&self) -> Result<PathBuf, atomic::WriteError> {
        let stamp = clock::now().to_zoned(jiff_zone()).strftime("%Y%m%d_%H%M%S").to_string();
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".backup.{stamp}"));
        // Two within a second: neither may replace the other.
        let mut backup = PathBuf::from(&name);
        for number in 1.. {
            if !backup.exists() {
                break;
            }
            let mut next = name.clone();
            next.push(format!("_{number}"));
            backup = PathBuf::from(next);
        }
        atomic::replace_private(&backup, self.text().as_bytes())?;
        Ok(backup)
    }

    /// Adds entries to the log on disk, safely beside other processes that do the same: takes a lock, reads the log again, adds,
    /// compacts it to `target` tokens once it is longer than `limit`, and writes it.
    ///
    /// # Errors
    /// When the log cannot be read or written; it is then untouched.
    pub fn record(path: &Path, entries: &[(&str, &str)], limit: usize, target: usize) -> std::io::Result<()> {
        let _lock = locked(path)?;
        let mut history = History::read(path)?;
        for (role, text) in entries {
            history.add(role, text);
        }
        if history.tokens() > limit {
            history.compact(target).map_err(|error| error.source)?;
        }
        history.save().map_err(|error| error.source)
    }

    /// Removes the last exchange from the log, after a backup: everything from the last prompt. Gives that prompt; none when the
    /// log has none.
    ///
    /// # Errors
    /// When the log or its backup cannot be read or written; the log is then untouched.
    pub fn undo(path: &Path) -> std::io::Result<Option<(String, usize)>> {
        let _lock = locked(path)?;
        let mut history = History::read(path)?;
        let Some(at) = history.entries.iter().rposition(|entry| entry.role == "you") else { return Ok(None) };
        history.back_up().map_err(|error| error.source)?;
        let gone = history.entries.split_off(at);
        history.save().map_err(|error| error.source)?;
        let count = gone.len();
        Ok(gone.into_iter().next().map(|entry| (entry.text, count)))
    }

    /// Compacts the log to about `target` tokens, after a backup; gives the backup, if it was longer.
    ///
    /// # Errors
    /// When the log or its backup cannot be read or written; the log is then untouched.
    pub fn compact_file(path: &Path, target: usize) -> std::io::Result<Option<PathBuf>> {
        let _lock = locked(path)?;
        let mut history = History::read(path)?;
        let backup = history.compact(target).map_err(|error| error.source)?;
        if backup.is_some() {
            history.save().map_err(|error| error.source)?;
        }
        Ok(backup)
    }

    /// Entries of the backups of a log that hold these words, newest backup first; at most `most`, without repetitions.
    #[must_use]
    pub fn search_backups(path: &Path, words: &str, most: usize) -> Vec<(String, ChatLogEntry)> {
        let wanted = words.trim().to_lowercase();
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
        let prefix = format!("{}.backup.", name.to_string_lossy());
        let mut backups: Vec<PathBuf> = std::fs::read_dir(directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
            .collect();
        backups.sort();
        let mut found: Vec<(String, ChatLogEntry)> = Vec::new();
        for backup in backups.iter().rev() {
            let stamp = backup.to_string_lossy().rsplit('.').next().unwrap_or_default().to_string();
            let Ok(history) = History::read(backup) else { continue };
            for entry in history.entries.into_iter().rev() {
                if found.len() >= most.min(MAX_SEARCH_HITS) {
                    return found;
                }
                let known = found.iter().any(|(_, other)| other.text == entry.text);
                if !known && !wanted.is_empty() && entry.text.to_lowercase().contains(&wanted) {
                    found.push((stamp.clone(), entry));
                }
            }
        }
        found
    }

    /// Writes the log, trimmed to its last entries.
    ///
    /// # Errors
    /// When it cannot be written; the old file is then untouched.
    fn save(&mut self) -> Result<(), atomic::WriteError> {
        let excess = self.entries.len().saturating_sub(MAX_LOG_ENTRIES);
        self.entries.drain(..excess);
        atomic::replace_private(&self.path, self.text().as_bytes())
    }

    fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.entries).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The time as entries have it.
pub(crate) fn time_now() -> String {
    clock::now().to_zoned(jiff_zone()).strftime("%H:%M").to_string()
}

/// The lock of a log, held as long as the file is open.
fn locked(path: &Path) -> std::io::Result<File> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let lock =
        OpenOptions::new().create(true).truncate(false).write(true).open(path.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

fn short(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= SHORT {
        return flat;
    }
    let cut: String = flat.chars().take(SHORT).collect();
    format!("{cut}...")
}

fn jiff_zone() -> jiff::tz::TimeZone {
    jiff::tz::TimeZone::system()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_and_backed_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("chat_log.json");
        let mut history = History::read(&path).unwrap();
        for n in 0..150 {
            history
                .add(if n % 2 == 0 { "you" } else { "assistant" }, &format!("{n} {}", "word ".repeat(100)));
        }
        history.add("you", "  ");
        history.save().unwrap();
        let mut history = History::read(&path).unwrap();
        assert_eq!(history.entries().len(), 100);
        assert_eq!(history.messages().len(), 20);
        let lines = history.compact_lines();
        assert!(lines[19].starts_with("assistant: 149 ") && lines[19].ends_with("..."), "{}", lines[19]);
        let before = history.tokens();
        let backup = history.compact(before / 2).unwrap().unwrap();
        assert!(history.tokens() <= before / 2);
        assert!(std::fs::read_to_string(backup).unwrap().contains("100 word"));
        assert_eq!(history.entries().last().unwrap().text, format!("149 {}", "word ".repeat(100)));
        history.save().unwrap();
        assert_eq!(History::search_backups(&path, "100 WORD", 5).len(), 1);
        assert_eq!(History::search_backups(&path, "word", 500).len(), 50);
        assert!(History::search_backups(&path, " ", 5).is_empty());
        let (text, gone) = History::undo(&path).unwrap().unwrap();
        assert!(text.starts_with("148 ") && gone == 2, "{text}");
        assert!(History::read(&path).unwrap().entries().last().unwrap().text.starts_with("147 "));
        assert!(History::search_backups(&path, "149 word", 5)[0].1.text.starts_with("149 "));
        assert!(History::compact_file(&path, 1000).unwrap().is_some_and(|backup| backup.exists()));
        assert!(History::compact_file(&path, 1000).unwrap().is_none());
        std::thread::scope(|scope| {
            for n in 0..8 {
                let path = path.with_file_name("other.json");
                scope.spawn(move || {
                    let text = format!("q{n}");
                    History::record(&path, &[("you", &text), ("assistant", "a")], 1000, 500).unwrap();
                });
            }
        });
        assert_eq!(
            History::read(&path.with_file_name("other.json")).unwrap().entries().len(),
            16,
            "no entry is lost"
        );
        std::fs::write(&path, "broken").unwrap();
        assert!(History::read(&path).is_err());
        assert!(History::record(&path, &[("you", "x")], 9, 9).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "broken");
    }
}
