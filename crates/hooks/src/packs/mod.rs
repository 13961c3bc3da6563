//! Packs of knowledge: loading, relevance to a file, and injection.
//!
//! A pack is a directory with facts ([`pack`]), guardrails and lessons ([`lesson`]). [`Packs`] keeps all packs of a project
//! in memory and reloads those that changed. [`score`] computes the relevance of a pack to a file, [`inject`] makes the
//! text. A broken pack is reported, and its last good version stays in use.

mod facts;
pub mod injection;
pub(crate) mod keywords;
pub mod lesson;
pub mod pack;
mod paths;
mod problem;
pub mod sample;
pub mod score;
mod start;
pub mod starter;

pub use injection::{InjectionHistory, PackInjection, clean_line, inject};
pub use lesson::{Lesson, LessonLine};
pub use pack::Pack;
pub use paths::relative;
pub(crate) use paths::{same_word, words};
pub use problem::Problem;
pub use score::{Reach, RecentGuidance, ScoredPack, Signal};
pub use start::{at_start, extensions_below};

use keywords::Keywords;
use marvin_base::file_stamp::FileStamp;
use pack::Stamps;
use score::Matcher;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// In all directories together.
const MAX_PACKS: usize = 500;
/// The interval of checks for changed files.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The FNV-1a hash, which is the same on every machine and in every version.
fn number(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[derive(Debug)]
struct PackDirectory {
    path: PathBuf,
    stamp: Option<FileStamp>,
    keywords: Option<FileStamp>,
    names: Vec<String>,
}

/// A pack with the stamps of its files.
#[derive(Debug)]
struct Entry {
    directory: PathBuf,
    stamps: Stamps,
    good: Option<Arc<Pack>>,
    problems: Vec<Problem>,
}

impl Entry {
    fn read(directory: PathBuf) -> Self {
        let mut entry = Entry { directory, stamps: [None; 3], good: None, problems: Vec::new() };
        entry.refresh(pack::stamps(&entry.directory));
        entry
    }

    /// Reloads it; the last good version stays when the new one cannot be used.
    fn refresh(&mut self, stamps: Stamps) {
        let found = pack::read(&self.directory);
        self.stamps = stamps;
        self.problems = found.problems;
        if let Some(pack) = found.pack {
            self.good = Some(Arc::new(pack));
        }
    }

    fn changed(&self) -> Option<Stamps> {
        let now = pack::stamps(&self.directory);
        let still = self.stamps.iter().zip(&now).all(|(old, new)| FileStamp::still(*old, *new));
        (!still).then_some(now)
    }
}

/// All packs of a project and of the person.
#[derive(Debug)]
pub struct Packs {
    directories: Vec<PackDirectory>,
    entries: BTreeMap<String, Entry>,
    active: Vec<Arc<Pack>>,
    matcher: Matcher,
    keywords: Keywords,
    problems: Vec<Problem>,
    looked: Option<Instant>,
}

impl Packs {
    /// Loads the packs of directories; the first of a name wins. Names that begin with `_` or `.` are ignored.
    #[must_use]
    pub fn load(directories: &[PathBuf]) -> Packs {
        let directory = |path: &PathBuf| PackDirectory {
            path: path.clone(),
            stamp: None,
            keywords: None,
            names: Vec::new(),
        };
        let mut packs = Packs {
            directories: directories.iter().map(directory).collect(),
            entries: BTreeMap::new(),
            active: Vec::new(),
            matcher: Matcher::new(&[]),
            keywords: Keywords::common(),
            problems: Vec::new(),
            looked: None,
        };
        packs.look();
        packs.settle();
        packs
    }

    /// Reloads changed packs, at most every 200 ms; true when something changed.
    pub fn refresh(&mut self, now: Instant) -> bool {
        if self.looked.is_some_and(|looked| now.saturating_duration_since(looked) < CHECK_INTERVAL) {
            return false;
        }
        self.looked = Some(now);
        let changed = self.look();
        if changed {
            self.settle();
        }
        changed
    }

    /// Checks the files and reloads those that changed.
    fn look(&mut self) -> bool {
        let mut changed = false;
        for directory in &mut self.directories {
            let stamp = FileStamp::from_path(&directory.path);
            if !FileStamp::still(directory.stamp, stamp) {
                let names = names(&directory.path);
                changed |= names != directory.names;
                (directory.stamp, directory.names) = (stamp, names);
            }
            let keywords = FileStamp::from_path(&directory.path.join(keywords::FILE));
            if !FileStamp::still(directory.keywords, keywords) {
                directory.keywords = keywords;
                changed = true;
            }
        }
        if changed {
            // A name may now belong to another directory.
            let mut wanted: BTreeMap<&str, PathBuf> = BTreeMap::new();
            for directory in &self.directories {
                for name in &directory.names {
                    if wanted.len() < MAX_PACKS {
                        wanted.entry(name).or_insert_with(|| directory.path.join(name));
                    }
                }
            }
            self.entries.retain(|name, entry| wanted.get(name.as_str()) == Some(&entry.directory));
            for (name, directory) in wanted {
                if !self.entries.contains_key(name) {
                    self.entries.insert(name.to_string(), Entry::read(directory));
                }
            }
        }
        for entry in self.entries.values_mut() {
            if let Some(stamps) = entry.changed() {
                entry.refresh(stamps);
                changed = true;
            }
        }
        changed
    }

    /// Rebuilds the matcher, the keywords and the problems of all packs.
    fn settle(&mut self) {
        self.active = self.entries.values().filter_map(|entry| entry.good.clone()).collect();
        self.matcher = Matcher::new(&self.active);
        self.keywords = Keywords::common();
        let directories = self.directories.iter();
        self.problems = directories
            .filter_map(|directory| self.keywords.read(&directory.path.join(keywords::FILE)))
            .collect();
        self.problems.extend(self.entries.values().flat_map(|entry| entry.problems.iter().cloned()));
        let known: BTreeSet<&str> = self.active.iter().map(|pack| pack.name()).collect();
        for pack in &self.active {
            if pack.depends_on().iter().any(|other| **other == *pack.name()) {
                self.problems.push(Problem::new(
                    &pack.directory.join(pack::FILES[0]),
                    "depends_on",
                    format!("`{}` depends on itself", pack.name()),
                    "take it out".to_string(),
                ));
            }
            for other in pack.depends_on().iter().filter(|other| !known.contains(&***other)) {
                self.problems.push(Problem::new(
                    &pack.directory.join(pack::FILES[0]),
                    "depends_on",
                    format!("unknown pack `{other}`"),
                    format!("`marvin packs new {other}` makes one, or take it out"),
                ));
            }
        }
    }

    /// Every valid pack, sorted by name.
    #[must_use]
    pub fn all(&self) -> &[Arc<Pack>] {
        &self.active
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Pack>> {
        self.active.iter().find(|pack| pack.name() == name)
    }

    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The searched directories; the first wins.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(|directory| directory.path.as_path())
    }

    pub(crate) fn keywords(&self) -> &Keywords {
        &self.keywords
    }
}

/// The names of packs in a directory.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        // Symlinks are listed too, so that they are reported.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with(['_', '.']))
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests;
