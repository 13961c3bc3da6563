//! A cache of replies, one file each, named by the hash of the request.
//!
//! Limits: the files lie in the project, where others can write; an entry that does not fit its name, is too old or comes
//! from the future is ignored, and its text is marked as coming from the web like any other.

use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::{atomic, clock, signature};
use serde_json::{Value, json};
use std::path::PathBuf;

const MAX_ENTRY_BYTES: u64 = 4 * 1024 * 1024;
const MAX_ENTRIES: usize = 500;

#[derive(Debug)]
pub(super) struct Cache {
    directory: PathBuf,
    seconds: i64,
}

impl Cache {
    pub(super) fn new(layout: &Layout, service: &str, seconds: i64) -> Self {
        Cache { directory: layout.tools_cache().join(service), seconds }
    }

    fn file(&self, asked: &str) -> PathBuf {
        self.directory.join(format!("{}.json", signature::hash_bytes(asked.as_bytes())))
    }

    /// The cached reply to a request, if it is fresh.
    pub(super) fn get(&self, asked: &str) -> Option<Value> {
        let text = files::read_text(&self.file(asked), MAX_ENTRY_BYTES, Links::Refuse).ok()?;
        let mut kept: Value = serde_json::from_str(&text).ok()?;
        let age = clock::now().as_second() - kept.get("fetched_at")?.as_i64()?;
        let fits = kept.get("asked")?.as_str()? == asked && (0..self.seconds).contains(&age);
        fits.then(|| kept.get_mut("data").map(Value::take)).flatten()
    }

    /// Stores a reply. One that cannot be written is requested again.
    pub(super) fn put(&self, asked: &str, data: &Value) {
        let kept = json!({"asked": asked, "fetched_at": clock::now().as_second(), "data": data});
        if std::fs::create_dir_all(&self.directory).is_ok() {
            self.make_room();
            atomic::replace(&self.file(asked), format!("{kept}\n").as_bytes()).ok();
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
    use marvin_base::environment::Environment;

    #[test]
    fn only_what_is_fresh_and_whole_is_believed() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::from_iter([("HOME", directory.path().display().to_string())]);
        let cache = Cache::new(&Layout::new(&environment, None), "x", 60);
        assert_eq!(cache.get("q"), None);
        cache.put("q", &json!({"a": 1}));
        assert_eq!(cache.get("q"), Some(json!({"a": 1})));
        let now = clock::now().as_second();
        for (asked, at) in [("q", now - 61), ("q", now + 100), ("other", now)] {
            let forged = json!({"asked": asked, "fetched_at": at, "data": 2});
            std::fs::write(cache.file("q"), forged.to_string()).unwrap();
            assert_eq!(cache.get("q"), None, "{asked} {at}");
        }
        for bad in ["", "{", "[]", "\u{0}"] {
            std::fs::write(cache.file("q"), bad).unwrap();
            assert_eq!(cache.get("q"), None);
        }
    }
}
