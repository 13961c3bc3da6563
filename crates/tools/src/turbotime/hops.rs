//! Links from headlines to their stories: an id each, which works once. A model never gives a URL itself.

use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::{atomic, clock, ids};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MAX_HOPS: usize = 400;
const MAX_AGE_SECONDS: i64 = 24 * 3_600;

/// The story that an id leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hop {
    pub(super) url: String,
    pub(super) title: String,
    made_at: i64,
}

/// The file of unused ids.
#[derive(Debug)]
pub(super) struct Hops {
    path: PathBuf,
}

impl Hops {
    pub(super) fn new(layout: &Layout) -> Self {
        Hops { path: layout.tools_cache().join("news").join("hops.json") }
    }

    fn read(&self) -> BTreeMap<String, Hop> {
        let text = files::read_text(&self.path, MAX_FILE_BYTES, Links::Refuse).unwrap_or_default();
        let mut hops: BTreeMap<String, Hop> = serde_json::from_str(&text).unwrap_or_default();
        let now = clock::now().as_second();
        hops.retain(|_, hop| (0..MAX_AGE_SECONDS).contains(&(now - hop.made_at)));
        hops
    }

    /// Changes the file under its lock.
    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Hop>) -> T) -> std::io::Result<T> {
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let lock = File::options().create(true).append(true).open(self.path.with_extension("lock"))?;
        lock.lock()?;
        let mut hops = self.read();
        let result = change(&mut hops);
        let text = serde_json::to_string(&hops)?;
        atomic::replace(&self.path, text.as_bytes()).map_err(std::io::Error::other)?;
        Ok(result)
    }

    /// Creates an id for each story.
    pub(super) fn open(&self, stories: &[(String, String)]) -> std::io::Result<Vec<String>> {
        let made_at = clock::now().as_second();
        self.change(|hops| {
            let mut names = Vec::new();
            for (url, title) in stories {
                let name = format!("hop_{}", ids::short(12));
                hops.insert(name.clone(), Hop { url: url.clone(), title: title.clone(), made_at });
                names.push(name);
            }
            while hops.len() > MAX_HOPS {
                let oldest = hops.iter().min_by_key(|(_, hop)| hop.made_at).map(|(name, _)| name.clone());
                oldest.and_then(|name| hops.remove(&name));
            }
            names
        })
    }

    /// The story of an id, which stays valid.
    pub(super) fn look(&self, name: &str) -> Option<Hop> {
        self.read().remove(name)
    }

    /// The story of an id, which is used up by this.
    pub(super) fn take(&self, name: &str) -> Option<Hop> {
        self.change(|hops| hops.remove(name)).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;

    #[test]
    fn an_id_works_once() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::from_iter([("HOME", directory.path().display().to_string())]);
        let hops = Hops::new(&Layout::new(&environment, None));
        let story = ("https://h/1".to_string(), "One".to_string());
        let names = hops.open(&[story.clone(), story]).unwrap();
        assert_ne!(names[0], names[1]);
        assert_eq!(hops.look(&names[0]).unwrap().url, "https://h/1");
        assert!(hops.take(&names[0]).is_some() && hops.take(&names[0]).is_none());
        assert!(hops.take("hop_forged").is_none() && hops.look(&names[1]).is_some());
        std::fs::write(&hops.path, r#"{"hop_old": {"url": "https://h/2", "title": "x", "made_at": 1}}"#)
            .unwrap();
        assert!(hops.look("hop_old").is_none(), "too old");
        std::fs::write(&hops.path, "garbage").unwrap();
        assert_eq!(hops.open(&[]).unwrap().len(), 0);
    }
}
