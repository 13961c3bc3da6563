//! One pack: a directory with `pack.json`, `guardrails.md` and `lessons.jsonl`.
//!
//! The directory belongs to the project, so it may be hostile: reads are bounded, and symlinks are refused.

use super::facts::{self, Facts};
use super::lesson::{self, Lesson, WordIndex};
use super::problem::Problem;
use marvin_base::file_stamp::FileStamp;
use marvin_base::files::{self, Links};
use serde::Serialize;
use std::path::{Path, PathBuf};

pub const FILES: [&str; 3] = ["pack.json", "guardrails.md", "lessons.jsonl"];
const MAX_FACTS_BYTES: u64 = 256 * 1024;
const MAX_GUARDRAILS_BYTES: u64 = 64 * 1024;
const MAX_LESSONS_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug)]
pub struct Pack {
    facts: Facts,
    pub directory: PathBuf,
    /// Markdown.
    pub guardrails: Box<str>,
    /// Best first.
    pub lessons: Box<[Lesson]>,
    pub(super) lesson_words: WordIndex,
}

/// A pack as JSON output and pages show it.
#[derive(Debug, Serialize)]
struct PackSummary<'a> {
    name: &'a str,
    version: &'a str,
    owner: &'a str,
    description: &'a str,
    categories: Vec<&'a str>,
    extensions: &'a [Box<str>],
    depends_on: &'a [Box<str>],
    guardrails: bool,
    lessons: usize,
    #[serde(rename = "folder")]
    directory: &'a Path,
}

impl Pack {
    /// Its summary as JSON.
    #[must_use]
    pub fn facts(&self) -> serde_json::Value {
        let summary = PackSummary {
            name: self.name(),
            version: self.version(),
            owner: self.owner(),
            description: self.description(),
            categories: self.categories().collect(),
            extensions: self.extensions(),
            depends_on: self.depends_on(),
            guardrails: !self.guardrails.is_empty(),
            lessons: self.lessons.len(),
            directory: &self.directory,
        };
        serde_json::to_value(summary).unwrap_or_default()
    }

    /// Its name, which is that of its directory.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.facts.name
    }

    #[must_use]
    pub fn version(&self) -> &str {
        &self.facts.version
    }

    #[must_use]
    pub fn owner(&self) -> &str {
        &self.facts.owner
    }

    #[must_use]
    pub fn description(&self) -> &str {
        &self.facts.description
    }

    /// Its categories and, last, its own name.
    pub fn categories(&self) -> impl Iterator<Item = &str> {
        self.facts.categories.iter().map(|category| &**category).chain([self.name()])
    }

    #[must_use]
    pub fn has_category(&self, category: &str) -> bool {
        self.categories().any(|own| own.eq_ignore_ascii_case(category))
    }

    /// The extensions that it applies to.
    #[must_use]
    pub fn extensions(&self) -> &[Box<str>] {
        &self.facts.applies_to.extensions
    }

    /// Packs that are boosted where this one is relevant.
    #[must_use]
    pub fn depends_on(&self) -> &[Box<str>] {
        &self.facts.depends_on
    }

    /// Globs of sensitive files.
    #[must_use]
    pub fn sensitive_paths(&self) -> &[Box<str>] {
        &self.facts.sensitive_paths
    }

    /// Globs of files for which the pack is never injected.
    #[must_use]
    pub fn excludes_paths(&self) -> &[Box<str>] {
        &self.facts.excludes_paths
    }

    /// Globs of the code that it is about.
    #[must_use]
    pub fn code_paths(&self) -> &[Box<str>] {
        &self.facts.references.code_paths
    }

    #[must_use]
    pub fn doc_links(&self) -> &[Box<str>] {
        &self.facts.references.doc_links
    }
}

/// The stamps of a pack's files, which change with them.
pub(super) type Stamps = [Option<FileStamp>; 3];

pub(super) fn stamps(directory: &Path) -> Stamps {
    FILES.map(|file| FileStamp::from_path(&directory.join(file)))
}

#[derive(Debug)]
pub struct PackLoadResult {
    pub pack: Option<Pack>,
    pub problems: Vec<Problem>,
}

/// Reads the pack in a directory.
#[must_use]
pub fn read(directory: &Path) -> PackLoadResult {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let place = FILES.map(|file| directory.join(file));
    let [facts, guardrails, lessons] = &place;
    let failed = |problems| PackLoadResult { pack: None, problems };
    if std::fs::symlink_metadata(directory).is_ok_and(|facts| facts.is_symlink()) {
        let hint = "make it a directory of its own";
        return failed(vec![Problem::new(directory, "", "it is a link, and a pack is not", hint)]);
    }
    let text = match files::read_text(facts, MAX_FACTS_BYTES, Links::Refuse) {
        Ok(text) => text,
        Err(error) => return failed(vec![unreadable(facts, &error)]),
    };
    let facts = match facts::parse(&text, facts, &name) {
        Ok(facts) => facts,
        Err(problems) => return failed(problems),
    };
    let mut problems = Vec::new();
    let guardrails = match files::read_text(guardrails, MAX_GUARDRAILS_BYTES, Links::Refuse) {
        Ok(text) => text.trim().into(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Box::default(),
        Err(error) => {
            problems.push(unreadable(guardrails, &error));
            Box::default()
        }
    };
    let lessons = match files::read(lessons, MAX_LESSONS_BYTES, Links::Refuse) {
        Ok(bytes) if bytes.len() as u64 > MAX_LESSONS_BYTES => {
            let error = std::io::Error::other(format!("it is larger than {MAX_LESSONS_BYTES} bytes"));
            problems.push(unreadable(lessons, &error));
            Box::default()
        }
        Ok(bytes) => {
            let (lessons, wrong) = lesson::parse(&bytes, lessons);
            problems.extend(wrong);
            lessons
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Box::default(),
        Err(error) => {
            problems.push(unreadable(lessons, &error));
            Box::default()
        }
    };
    let lesson_words = WordIndex::new(&lessons);
    PackLoadResult {
        pack: Some(Pack { facts, directory: directory.to_path_buf(), guardrails, lessons, lesson_words }),
        problems,
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> Problem {
    let what = format!("it cannot be read: {error}");
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "a pack has a pack.json; `marvin packs new NAME` makes one",
        _ => "make it a readable text file of its own, not a link, and not too long",
    };
    Problem::new(file, "", what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_directories_are_problems_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("demo");
        std::fs::create_dir(&directory).unwrap();
        let missing = read(&directory);
        assert!(missing.pack.is_none() && missing.problems[0].hint.contains("packs new"));
        let facts = r#"{"name": "demo", "version": "1.0.0", "owner": "me"}"#;
        std::fs::write(directory.join("pack.json"), facts).unwrap();
        std::fs::write(root.path().join("secret"), "the secret").unwrap();
        std::os::unix::fs::symlink(root.path().join("secret"), directory.join("guardrails.md")).unwrap();
        std::fs::write(directory.join("lessons.jsonl"), vec![b'x'; 8 * 1024 * 1024 + 1]).unwrap();
        let found = read(&directory);
        let pack = found.pack.unwrap();
        assert!(pack.guardrails.is_empty() && pack.lessons.is_empty());
        assert_eq!(found.problems.len(), 2, "{:?}", found.problems);
        assert!(found.problems[1].what.contains("larger"));
        std::fs::remove_file(directory.join("guardrails.md")).unwrap();
        std::fs::write(directory.join("guardrails.md"), b"\xff\xfe\x00").unwrap();
        assert!(read(&directory).problems[0].what.contains("not UTF-8"));
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        assert!(read(&link).pack.is_none());
    }

    #[test]
    fn the_name_is_a_category() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("git-workflow");
        std::fs::create_dir(&directory).unwrap();
        let facts = r#"{"name": "git-workflow", "version": "1.0.0", "owner": "me", "categories": ["git"]}"#;
        std::fs::write(directory.join("pack.json"), facts).unwrap();
        let pack = read(&directory).pack.unwrap();
        assert!(pack.has_category("git-workflow") && pack.has_category("Git") && !pack.has_category("x"));
    }
}
