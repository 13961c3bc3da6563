//! A cache of replies, one file each, named by the hash of the request.
//!
//! Limits: where the files lie in a project, others can write them; an entry that does not fit its name, is too old or comes
//! from the future is ignored, and its text is marked as coming from the web like any other.

use marvin_base::files::{self, Links};
use marvin_base::{atomic, clock, signature};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

const MAX_ENTRY_BYTES: u64 = 8 * 1024 * 1024;
const MAX_ENTRIES: usize = 500;

/// A cached reply on disk.
#[derive(Serialize, Deserialize)]
struct Entry<T> {
    /// The request, which the name of the file hashes.
    asked: String,
    fetched_at: i64,
    data: T,
}

#[derive(Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
    seconds: i64,
}

impl Cache {
    /// The cache in a directory, whose entries are good for this many seconds.
    pub(crate) fn new(directory: PathBuf, seconds: i64) -> Self {
        Cache { directory, seconds }
    }

    fn file(&self, asked: &str) -> PathBuf {
        self.directory.join(format!("{}.json", signature::hash_bytes(asked.as_bytes())))
    }

    /// The cached reply to a request, if it is fresh.
    pub(crate) fn get<T: DeserializeOwned>(&self, asked: &str) -> Option<T> {
        self.get_with_age(asked).map(|(data, _)| data)
    }

    /// The cached reply to a request with its age, if it is fresh.
    pub(crate) fn get_with_age<T: DeserializeOwned>(&self, asked: &str) -> Option<(T, Duration)> {
        let text = files::read_text(&self.file(asked), MAX_ENTRY_BYTES, Links::Refuse).ok()?;
        let entry: Entry<T> = serde_json::from_str(&text).ok()?;
        let age = clock::now().as_second().checked_sub(entry.fetched_at)?;
        let is_fresh = entry.asked == asked && (0..self.seconds).contains(&age);
        is_fresh.then(|| (entry.data, Duration::from_secs(age.unsigned_abs())))
    }

    /// Stores a reply, for the person alone. One that cannot be written is requested again.
    pub(crate) fn put<T: Serialize>(&self, asked: &str, data: &T) {
        let entry = Entry { asked: asked.to_string(), fetched_at: clock::now().as_second(), data };
        if let Ok(text) = serde_json::to_string(&entry)
            && std::fs::create_dir_all(&self.directory).is_ok()
        {
            self.make_room();
            atomic::replace_private(&self.file(asked), format!("{text}\n").as_bytes()).ok();
        }
    }

    /// Removes old entries, once there are many.
    fn make_room(&self) {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().filter_map(Result::ok);
        let files: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|it| it == "json"))
            .collect();
        if files.len() < MAX_ENTRIES {
            return;
        }
        for file in files {
            let age =
                file.metadata().and_then(|facts| facts.modified()).ok().and_then(|then| then.elapsed().ok());
            if age.is_none_or(|age| i64::try_from(age.as_secs()).unwrap_or(i64::MAX) >= self.seconds) {
                std::fs::remove_file(&file).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn only_fresh_and_complete_entries_are_used() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(directory.path().join("x"), 60);
        assert_eq!(cache.get::<Value>("q"), None);
        cache.put("q", &json!({"a": 1}));
        assert_eq!(cache.get("q"), Some(json!({"a": 1})));
        let now = clock::now().as_second();
        for (asked, at) in [("q", now - 61), ("q", now + 100), ("other", now)] {
            let forged = json!({"asked": asked, "fetched_at": at, "data": 2});
            std::fs::write(cache.file("q"), forged.to_string()).unwrap();
            assert_eq!(cache.get::<Value>("q"), None, "{asked} {at}");
        }
        let old = json!({"asked": "q", "fetched_at": now - 30, "data": 2});
        std::fs::write(cache.file("q"), old.to_string()).unwrap();
        assert!(cache.get_with_age::<Value>("q").unwrap().1 >= Duration::from_secs(30));
        for bad in ["", "{", "[]", "\u{0}"] {
            std::fs::write(cache.file("q"), bad).unwrap();
            assert_eq!(cache.get::<Value>("q"), None);
        }
    }
}
