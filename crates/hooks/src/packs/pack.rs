//! One pack: a directory with `pack.json`, `guardrails.md` and `lessons.jsonl`.
//!
//! The directory belongs to the project, so it may be hostile: reads are bounded, and links are refused.

use super::facts::{self, Facts};
use super::lesson::{self, Lesson};
use super::problem::Problem;
use marvin_base::file_stamp::FileStamp;
use marvin_base::files::{self, Links};
use std::path::{Path, PathBuf};

/// The three files of a pack.
pub const FILES: [&str; 3] = ["pack.json", "guardrails.md", "lessons.jsonl"];
/// Bytes of each.
const MAX_FACTS_BYTES: u64 = 256 * 1024;
const MAX_GUARDRAILS_BYTES: u64 = 64 * 1024;
const MAX_LESSONS_BYTES: u64 = 8 * 1024 * 1024;

/// A pack of knowledge.
#[derive(Debug)]
pub struct Pack {
    facts: Facts,
    /// Where it stands.
    pub directory: PathBuf,
    /// Rules for the agent, as Markdown.
    pub guardrails: Box<str>,
    /// What was learned, best first.
    pub lessons: Box<[Lesson]>,
}

impl Pack {
    /// As programs and pages read it.
    #[must_use]
    pub fn facts(&self) -> serde_json::Value {
        serde_json::json!({
            "name": self.name(), "version": self.version(), "owner": self.owner(), "description": self.description(),
            "categories": self.categories().collect::<Vec<_>>(), "extensions": self.extensions(),
            "depends_on": self.depends_on(), "guardrails": !self.guardrails.is_empty(), "lessons": self.lessons.len(),
            "folder": self.directory,
        })
    }

    /// Its name, which is that of its directory.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.facts.name
    }

    /// Its version, `x.y.z`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.facts.version
    }

    /// Who answers for it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.facts.owner
    }

    /// What it is for.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.facts.description
    }

    /// What it speaks of: its categories and, last, its own name.
    pub fn categories(&self) -> impl Iterator<Item = &str> {
        self.facts.categories.iter().map(|category| &**category).chain([self.name()])
    }

    /// Does it speak of this?
    #[must_use]
    pub fn has_category(&self, category: &str) -> bool {
        self.categories().any(|own| own.eq_ignore_ascii_case(category))
    }

    /// The extensions that it applies to; none: it applies to no file by its name alone.
    #[must_use]
    pub fn extensions(&self) -> &[Box<str>] {
        &self.facts.extensions
    }

    /// Packs that are worth telling where this one is.
    #[must_use]
    pub fn depends_on(&self) -> &[Box<str>] {
        &self.facts.depends_on
    }

    /// Globs of the files that matter most.
    #[must_use]
    pub fn sensitive_paths(&self) -> &[Box<str>] {
        &self.facts.sensitive
    }

    /// Where it keeps silent.
    #[must_use]
    pub fn excludes_paths(&self) -> &[Box<str>] {
        &self.facts.excludes
    }

    /// The code that it is about.
    #[must_use]
    pub fn code_paths(&self) -> &[Box<str>] {
        &self.facts.code_paths
    }

    /// Addresses for people.
    #[must_use]
    pub fn doc_links(&self) -> &[Box<str>] {
        &self.facts.doc_links
    }
}

/// The facts of a pack's files, to see whether one changed.
pub(super) type Stamps = [Option<FileStamp>; 3];

pub(super) fn stamps(directory: &Path) -> Stamps {
    FILES.map(|file| FileStamp::from_path(&directory.join(file)))
}

/// What was found in a directory.
#[derive(Debug)]
pub struct PackLoadResult {
    /// The pack, where the directory holds one that can be used.
    pub pack: Option<Pack>,
    /// What is wrong with it.
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
        let mend = "make it a directory of its own";
        return failed(vec![Problem::new(directory, "", "it is a link, and a pack is not", mend)]);
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
    PackLoadResult {
        pack: Some(Pack { facts, directory: directory.to_path_buf(), guardrails, lessons }),
        problems,
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> Problem {
    let what = format!("it cannot be read: {error}");
    let mend = match error.kind() {
        std::io::ErrorKind::NotFound => "a pack has a pack.json; `marvin packs new NAME` makes one",
        _ => "make it a readable text file of its own, not a link, and not too long",
    };
    Problem::new(file, "", what, mend)
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
        assert!(missing.pack.is_none() && missing.problems[0].mend.contains("packs new"));
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
