//! The directory of lessons and its index.
//!
//! The files are the record: a file that was added, changed or removed by hand is noticed before the next query.
//!
//! Limits: in a directory of more than `MAX_CHECKED_LESSONS` lessons, a file that was changed in place is found by its old
//! words until the directory changes.

use super::{Header, Lesson, LessonMatch, Query, file};
use crate::error::MemoryError;
use crate::index::{self, Document, Hit, Index, Kind, Search};
use crate::words;
use jiff::Timestamp;
use marvin_base::files::{self, Links};
use marvin_base::redact::Redactor;
use marvin_base::{atomic, clock, ids};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAX_LESSON_BYTES: u64 = 1024 * 1024;
/// Up to this number, every file is checked before a query.
const MAX_CHECKED_LESSONS: usize = 2_000;
/// Keys of the index's notes about files and about the directory.
const FILES: &str = "lesson:";
const DIRECTORY: &str = "lessons";

#[derive(Debug)]
pub struct Lessons {
    directory: PathBuf,
    index_path: PathBuf,
    index: Option<Index>,
    redactor: Arc<Redactor>,
}

/// The metadata of a file that changes with its content.
fn stamp(facts: &std::fs::Metadata) -> String {
    format!("{}.{}.{}.{}", facts.ino(), facts.size(), facts.mtime(), facts.mtime_nsec())
}

impl Lessons {
    /// The lessons of a directory; files are opened when they are needed.
    #[must_use]
    pub fn open(directory: &Path, index: &Path, redactor: Arc<Redactor>) -> Self {
        Lessons { directory: directory.to_path_buf(), index_path: index.to_path_buf(), index: None, redactor }
    }

    /// Writes a lesson without secrets and returns its path. A missing id or time is filled in.
    ///
    /// # Errors
    /// When its id is not a valid file name, or it cannot be written.
    pub fn write(&mut self, lesson: &Lesson) -> Result<PathBuf, MemoryError> {
        let mut lesson = lesson.clone();
        if lesson.header.id.is_empty() {
            lesson.header.id = format!("lesson-{}", ids::uuid());
        }
        if lesson.header.timestamp.is_empty() {
            lesson.header.timestamp = clock::now_stamp();
        }
        let path = self.path(&lesson.header.id)?;
        self.clean(&mut lesson);
        atomic::replace(&path, file::text(&lesson).as_bytes())?;
        Ok(path)
    }

    fn clean(&self, lesson: &mut Lesson) {
        let Header {
            task_id,
            step_id,
            tags,
            component,
            root_cause_hypothesis,
            strategy_change,
            evidence_of_novelty,
            ..
        } = &mut lesson.header;
        let texts =
            [task_id, step_id, component, root_cause_hypothesis, strategy_change, evidence_of_novelty];
        for text in texts.into_iter().chain(tags).chain([&mut lesson.body]) {
            *text = self.redactor.text(text).into_owned();
        }
    }

    /// Reads a lesson by its id.
    ///
    /// # Errors
    /// When there is none, or it cannot be parsed.
    pub fn read(&self, id: &str) -> Result<Lesson, MemoryError> {
        let path = self.path(id)?;
        let bytes = files::read(&path, MAX_LESSON_BYTES, Links::Refuse)
            .map_err(|error| MemoryError::read(&path, &error))?;
        if bytes.len() as u64 > MAX_LESSON_BYTES {
            return Err(MemoryError::read(&path, &format!("it is larger than {MAX_LESSON_BYTES} bytes")));
        }
        file::parse(&bytes, id).map_err(|why| MemoryError::read(&path, &why))
    }

    fn path(&self, id: &str) -> Result<PathBuf, MemoryError> {
        let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
        if id.is_empty() || id.len() > 200 || id.starts_with('.') || !id.chars().all(plain) {
            return Err(MemoryError::Asked(format!(
                "`{}` is not an id of a lesson\n  hint: letters, digits, `-`, `_` and `.`",
                marvin_base::truncate::line(id, 80)
            )));
        }
        Ok(self.directory.join(format!("{id}.md")))
    }

    /// Every lesson that can be read, by id.
    pub fn all(&self) -> Result<Vec<Lesson>, MemoryError> {
        Ok(self.listing()?.keys().filter_map(|id| self.read(id).ok()).collect())
    }

    /// The files of the directory: ids with what changes when they do.
    fn listing(&self) -> Result<BTreeMap<String, String>, MemoryError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(MemoryError::read(&self.directory, &error)),
        };
        let mut found = BTreeMap::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".md")) else { continue };
            // Of the link, not of what it leads to.
            let Ok(facts) = entry.metadata() else { continue };
            if facts.is_file() && self.path(id).is_ok() {
                found.insert(id.to_string(), stamp(&facts));
            }
        }
        Ok(found)
    }

    /// The lessons that match a query, in up to three stages; the best of each first.
    ///
    /// # Errors
    /// When the directory cannot be read or no index can be made; any text is a valid query.
    pub fn retrieve(&mut self, query: &Query) -> Result<Vec<LessonMatch>, MemoryError> {
        self.with_index(|lessons, index| {
            lessons.sync(index)?;
            lessons.ask(index, query)
        })
    }

    /// Updates the index.
    pub fn refresh(&mut self) -> Result<(), MemoryError> {
        self.with_index(Lessons::sync)
    }

    fn with_index<T>(
        &mut self,
        work: impl Fn(&Lessons, &mut Index) -> Result<T, MemoryError>,
    ) -> Result<T, MemoryError> {
        let mut slot = self.index.take();
        let result = index::with_index(&mut slot, &self.index_path, |index| work(self, index));
        self.index = slot;
        result
    }

    fn sync(&self, index: &mut Index) -> Result<(), MemoryError> {
        let failed = |error: rusqlite::Error| MemoryError::index(&self.index_path, &error);
        let directory = std::fs::metadata(&self.directory).map(|facts| stamp(&facts)).unwrap_or_default();
        let many = index.count(Kind::Lesson).map_err(failed)? > MAX_CHECKED_LESSONS as u64;
        if many && index.note(DIRECTORY).map_err(failed)?.as_ref() == Some(&directory) {
            return Ok(());
        }
        let known: BTreeMap<String, String> = index.notes(FILES).map_err(failed)?.into_iter().collect();
        let found = self.listing()?;
        let mut put = Vec::new();
        let mut notes = vec![(DIRECTORY.to_string(), Some(directory))];
        for (id, stamp) in &found {
            if known.get(id) == Some(stamp) {
                continue;
            }
            // Files that cannot be parsed are noted too, so that they are not read before every query.
            notes.push((format!("{FILES}{id}"), Some(stamp.clone())));
            put.extend(self.read(id).ok().map(|lesson| document(&lesson)));
        }
        let put_ids: Vec<&String> = put.iter().map(|document| &document.id).collect();
        let gone = known.keys().filter(|id| !found.contains_key(*id));
        let unreadable = notes.iter().filter_map(|(key, _)| key.strip_prefix(FILES));
        let mut remove: Vec<String> = gone.cloned().collect();
        remove.extend(unreadable.filter(|id| !put_ids.iter().any(|put| put == id)).map(str::to_string));
        notes.extend(
            known.keys().filter(|id| !found.contains_key(*id)).map(|id| (format!("{FILES}{id}"), None)),
        );
        if put.is_empty() && remove.is_empty() && known.len() == found.len() {
            return Ok(());
        }
        index.change(Kind::Lesson, &put, &remove, &notes).map_err(failed)
    }

    fn ask(&self, index: &Index, query: &Query) -> Result<Vec<LessonMatch>, MemoryError> {
        let failed = |error: rusqlite::Error| MemoryError::index(&self.index_path, &error);
        let component = query.component.as_deref().filter(|component| !component.is_empty());
        let failure = query.failure_signature.as_deref().filter(|failure| !failure.is_empty());
        let all = Search {
            kinds: &[Kind::Lesson],
            tags: &query.tags,
            component,
            like: failure,
            now: clock::now().as_second(),
            limit: query.limit.min(1_000),
            ..Search::default()
        };
        let tags = query.tags.join(" ");
        let failure_words = failure.unwrap_or_default();
        // Each stage is broader than the one before it.
        let mut stages = vec![(1, Search { text: &query.text, within: component, ..all.clone() })];
        if query.stage >= 2 {
            stages.push((2, Search { text: &query.text, ..all.clone() }));
            stages.push((2, Search { text: &tags, ..all.clone() }));
        }
        if query.stage >= 3 && failure.is_some() {
            stages.push((3, Search { failure, ..all.clone() }));
            stages.push((3, Search { text: failure_words, ..all.clone() }));
        }
        let mut found: Vec<LessonMatch> = Vec::new();
        for (stage, search) in stages {
            // A stage without words would return the newest lessons of any topic.
            let aimless =
                words::terms(search.text).is_empty() && search.within.is_none() && search.failure.is_none();
            if aimless || found.len() >= all.limit {
                continue;
            }
            for hit in index.search(&search).map_err(failed)? {
                if found.iter().any(|known| known.lesson.header.id == hit.id) {
                    continue;
                }
                found.extend(self.found(&hit, stage));
            }
        }
        found.truncate(all.limit);
        Ok(found)
    }

    /// Reads the lesson from its file, because the index is not the record.
    fn found(&self, hit: &Hit, stage: u8) -> Option<LessonMatch> {
        Some(LessonMatch { lesson: self.read(&hit.id).ok()?, stage, score: hit.score })
    }
}

/// A lesson as a document of the index.
fn document(lesson: &Lesson) -> Document {
    let header = &lesson.header;
    let text = [
        &lesson.body,
        &header.root_cause_hypothesis,
        &header.strategy_change,
        &header.evidence_of_novelty,
        &header.failure_signature,
        &header.step_id,
        &header.component,
    ];
    Document {
        id: header.id.clone(),
        text: text.map(String::as_str).join("\n"),
        source: "run".into(),
        component: header.component.clone(),
        failure: header.failure_signature.clone(),
        tags: header.tags.clone(),
        created: header.timestamp.parse::<Timestamp>().map_or(0, Timestamp::as_second),
        ..Document::default()
    }
}

#[cfg(test)]
mod tests;
