//! Topics that a profile follows (`ntfy_subscriptions.json`), and how far each was read (`ntfy_seen.json`).

use super::client::{Message, check_topic};
use super::error::NtfyError;
use marvin_base::atomic;
use marvin_base::files::{self, Links};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// Topics of one profile; servers allow about thirty streams per address.
pub(super) const MAX_TOPICS: usize = 20;
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Ids of shown messages that are kept per topic: servers that forget an id send everything that they have.
const MAX_SHOWN_IDS: usize = 200;

/// A topic that is followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    #[serde(default)]
    pub label: String,
    /// The address of the topic.
    #[serde(default)]
    pub url: String,
}

/// How far a topic was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The time of the last message, or of the subscription, in seconds since 1970.
    pub time: i64,
    /// Ids of the last messages, oldest first.
    #[serde(default)]
    pub ids: Vec<String>,
}

impl Position {
    /// The parameter `since` of a request.
    #[must_use]
    pub fn since(&self) -> String {
        self.ids.last().cloned().unwrap_or_else(|| self.time.to_string())
    }

    /// Notes a message; false: it was shown before, or is older than the subscription.
    pub fn advance(&mut self, message: &Message) -> bool {
        let known = self.ids.contains(&message.id) || message.time < self.time.saturating_sub(1);
        if !known {
            self.time = self.time.max(message.time);
            self.ids.push(message.id.clone());
            let extra = self.ids.len().saturating_sub(MAX_SHOWN_IDS);
            self.ids.drain(..extra);
        }
        !known
    }
}

/// The files of a profile.
#[derive(Debug, Clone)]
pub struct Subscriptions {
    path: PathBuf,
}

impl Subscriptions {
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Subscriptions { path }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn seen_path(&self) -> PathBuf {
        self.path.with_file_name("ntfy_seen.json")
    }

    /// Topics and their labels.
    ///
    /// # Errors
    /// When the file cannot be read or understood.
    pub fn read(&self) -> Result<BTreeMap<String, Subscription>, NtfyError> {
        read_json(&self.path)
    }

    /// How far each topic was read.
    ///
    /// # Errors
    /// When the file cannot be read or understood.
    pub fn positions(&self) -> Result<BTreeMap<String, Position>, NtfyError> {
        read_json(&self.seen_path())
    }

    fn lock(&self) -> Result<File, NtfyError> {
        let path = self.path.with_file_name("ntfy.lock");
        let io = |doing, source| NtfyError::Io { doing, path: path.display().to_string(), source };
        let directory = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).map_err(|error| io("create the directory of", error))?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| io("open", error))?;
        file.lock().map_err(|error| io("lock", error))?;
        Ok(file)
    }

    /// Follows a topic from now on; a topic that is followed already gets the label.
    ///
    /// # Errors
    /// When the topic is invalid, there are too many, or the files cannot be written.
    pub fn subscribe(&self, topic: &str, label: &str, url: &str, now: i64) -> Result<(), NtfyError> {
        let topic = check_topic(topic)?.to_string();
        let _lock = self.lock()?;
        let (mut all, mut positions) = (self.read()?, self.positions()?);
        if all.len() >= MAX_TOPICS && !all.contains_key(&topic) {
            return Err(NtfyError::TooMany(MAX_TOPICS));
        }
        let is_new = !all.contains_key(&topic);
        // First how far it was read: without that, everything that the server has would be shown.
        if is_new {
            positions.insert(topic.clone(), Position { time: now, ids: Vec::new() });
            write_json(&self.seen_path(), &positions)?;
        }
        let label = marvin_base::truncate::line(label.trim(), 100);
        // Following a topic again does not take its name away.
        let known = all.get(&topic).map(|known| known.label.clone());
        let label = if label.is_empty() { known.unwrap_or_default() } else { label };
        all.insert(topic, Subscription { label, url: url.to_string() });
        write_json(&self.path, &all)
    }

    /// Stops following a topic; gives it.
    ///
    /// # Errors
    /// When it is not followed.
    pub fn unsubscribe(&self, topic: &str) -> Result<Subscription, NtfyError> {
        let topic = topic.trim();
        let _lock = self.lock()?;
        let mut all = self.read()?;
        let Some(gone) = all.remove(topic) else {
            let known = all.keys().cloned().collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_string() } else { known };
            return Err(NtfyError::NotSubscribed { topic: marvin_base::truncate::line(topic, 80), known });
        };
        write_json(&self.path, &all)?;
        let mut positions = self.positions()?;
        positions.remove(topic);
        write_json(&self.seen_path(), &positions)?;
        Ok(gone)
    }

    /// Notes that a message was shown; false: it was before, by this or another process.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn note(&self, topic: &str, message: &Message) -> Result<bool, NtfyError> {
        let _lock = self.lock()?;
        let mut positions = self.positions()?;
        let is_new = positions.entry(topic.to_string()).or_default().advance(message);
        if is_new {
            write_json(&self.seen_path(), &positions)?;
        }
        Ok(is_new)
    }
}

fn read_json<T: DeserializeOwned + Default>(path: &Path) -> Result<T, NtfyError> {
    match files::read_text(path, MAX_FILE_BYTES, Links::Follow) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| NtfyError::Damaged {
            path: path.display().to_string(),
            reason: error.to_string(),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
        Err(source) => Err(NtfyError::Io { doing: "read", path: path.display().to_string(), source }),
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), NtfyError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| NtfyError::Damaged {
        path: path.display().to_string(),
        reason: error.to_string(),
    })?;
    Ok(atomic::replace_private(path, format!("{text}\n").as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, time: i64) -> Message {
        Message {
            id: id.into(),
            time,
            event: "message".into(),
            title: String::new(),
            message: "x".into(),
            sequence_id: String::new(),
        }
    }

    #[test]
    fn a_subscription_is_kept_with_its_position() {
        let directory = tempfile::tempdir().unwrap();
        let all = Subscriptions::new(directory.path().join("p/ntfy_subscriptions.json"));
        all.subscribe("one", " Label ", "https://ntfy.sh/one", 1000).unwrap();
        let text = std::fs::read_to_string(all.path()).unwrap();
        assert_eq!(
            text,
            "{\n  \"one\": {\n    \"label\": \"Label\",\n    \"url\": \"https://ntfy.sh/one\"\n  }\n}\n"
        );
        assert_eq!(all.positions().unwrap()["one"].since(), "1000");
        assert!(all.note("one", &message("a", 1001)).unwrap());
        assert!(!all.note("one", &message("a", 1001)).unwrap(), "shown before");
        assert!(!all.note("one", &message("old", 900)).unwrap(), "from before the subscription");
        assert_eq!(all.positions().unwrap()["one"].since(), "a");
        all.subscribe("one", "Other", "https://ntfy.sh/one", 5000).unwrap();
        all.subscribe("one", "", "https://ntfy.sh/one", 6000).unwrap();
        assert_eq!(all.read().unwrap()["one"].label, "Other", "following it again keeps its name");
        assert_eq!(all.positions().unwrap()["one"].since(), "a", "a new label changes nothing else");
        assert!(all.subscribe("no/slash", "", "", 0).unwrap_err().is_usage());
        assert!(all.unsubscribe("two").unwrap_err().to_string().ends_with("Subscriptions: one"));
        all.unsubscribe("one").unwrap();
        assert!(all.read().unwrap().is_empty() && all.positions().unwrap().is_empty());
    }

    #[test]
    fn a_damaged_file_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let all = Subscriptions::new(directory.path().join("ntfy_subscriptions.json"));
        std::fs::write(all.path(), "{").unwrap();
        assert!(all.subscribe("one", "", "", 0).is_err());
        assert_eq!(std::fs::read_to_string(all.path()).unwrap(), "{");
    }
}
