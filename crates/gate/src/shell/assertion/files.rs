//! Files of a line: which paths are part of the work, and which the line itself has written.

use super::{AssertionRefusal, Checker};
use crate::shell::pattern;

/// The author of a file that the line writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// A program whose output is evidence.
    Program,
    /// The line itself: `echo`, `touch`, `cp`, `mkdir`.
    Line,
    /// The line itself, a directory.
    Directory,
}

/// A file that the line has written.
#[derive(Debug, Clone)]
pub(super) struct WrittenFile {
    pub(super) author: Author,
    /// Number of the pipeline.
    pub(super) pipeline: usize,
    /// Files that it was made from.
    pub(super) sources: Vec<String>,
}

const WORK_HINT: &str = "name a file of the work itself, by a path inside of the project";

/// A path without `.` and `..`, from the project's root; none when it leads out of it.
fn normalize(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn is_inside(path: &str, directory: &str) -> bool {
    directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

impl Checker {
    /// The path from the project's root, of a file that may or may not be there.
    pub(super) fn work_path(&self, path: &str) -> Result<String, AssertionRefusal> {
        let normal = self.project_path(path)?;
        let first = normal.split('/').next().unwrap_or_default();
        let is_own = normal == ".marvin"
            || [".marvin/agents", ".marvin/runs", ".marvin/security"]
                .iter()
                .any(|own| normal == *own || is_inside(&normal, own));
        if normal.is_empty() || first == ".git" || is_own {
            return Err(AssertionRefusal::new(path, "is always there, so that it proves nothing", WORK_HINT));
        }
        Ok(normal)
    }

    /// The path from the project's root; the root itself is the empty path.
    pub(super) fn project_path(&self, path: &str) -> Result<String, AssertionRefusal> {
        let refusal = |reason| AssertionRefusal::new(path, reason, WORK_HINT);
        if path.starts_with("/tmp/") {
            let normal = normalize("", path).ok_or_else(|| refusal("is not part of the project"))?;
            return if normal.starts_with("tmp/") {
                Ok(format!("/{normal}"))
            } else {
                Err(refusal("is not part of the project"))
            };
        }
        if path.starts_with('/') || path.is_empty() {
            return Err(refusal("is not part of the project"));
        }
        normalize(&self.directory, path).ok_or_else(|| refusal("leads out of the project"))
    }

    /// Records a file that a command of the line writes.
    pub(super) fn record_written(&mut self, path: &str, author: Author, sources: &[String]) {
        let normal = self.project_path(path).unwrap_or_else(|_| path.to_string());
        let file = WrittenFile { author, pipeline: self.pipelines, sources: sources.to_vec() };
        self.written.insert(normal, file);
    }

    /// Refuses to look at what the line itself has written, at the path, below it, or where the pattern may find it.
    pub(super) fn refuse_own_file(&self, path: &str, part: &str) -> Result<(), AssertionRefusal> {
        let is_seen =
            |own: &str| is_inside(own, path) || path.contains(['*', '?', '[']) && pattern::matches(path, own);
        let own = self.written.iter().find(|(own, file)| file.author != Author::Program && is_seen(own));
        match own {
            Some((own, _)) => Err(own_file_refusal(own, part)),
            None => self.refuse_own_path(path, part),
        }
    }

    /// Refuses to look at a path that the line itself has written, or that lies in a directory that it has copied.
    pub(super) fn refuse_own_path(&self, path: &str, part: &str) -> Result<(), AssertionRefusal> {
        match self.written_by_line(path) {
            Some((own, _)) => Err(own_file_refusal(own, part)),
            None => Ok(()),
        }
    }

    /// The content that the line itself has written there.
    pub(super) fn written_by_line(&self, path: &str) -> Option<(&String, &WrittenFile)> {
        self.written.iter().find(|(own, file)| {
            file.author != Author::Program && *own == path
                || file.author == Author::Line && is_inside(path, own)
        })
    }

    /// Refuses to run a program after the line has put a file in its place, or a file that it does not name.
    pub(super) fn refuse_planted_files(
        &mut self,
        program: &str,
        words: &[String],
        is_known: bool,
    ) -> Result<(), AssertionRefusal> {
        let hint = "check the work as it stands, without writing files before";
        let named: Vec<String> = words
            .iter()
            .filter_map(|word| self.project_path(word.rsplit('=').next().unwrap_or(word)).ok())
            .collect();
        if self.project_path(program).is_ok_and(|path| self.written.contains_key(&path)) {
            return Err(AssertionRefusal::new(
                program,
                "runs a program that the line itself has just written",
                hint,
            ));
        }
        let own = |file: &WrittenFile| file.author == Author::Line;
        let is_named = |path: &String| {
            named.iter().any(|name| name == path || !name.is_empty() && is_inside(path, name))
        };
        if let Some((path, _)) =
            self.written.iter().find(|(path, file)| own(file) && (is_known || !is_named(path)))
        {
            let reason = format!("runs after the line has written `{path}`, which may decide about it");
            return Err(AssertionRefusal::new(program, reason, hint));
        }
        // What a program of the project did to the files that it was given is its work.
        self.written.retain(|path, file| file.author != Author::Line || !is_named(path));
        Ok(())
    }
}

fn own_file_refusal(own: &str, part: &str) -> AssertionRefusal {
    let reason = format!("looks at `{own}`, which the line itself has just written");
    AssertionRefusal::new(part, reason, "look at what a program of the project wrote")
}

/// Whether paths differ only in how they are written, or one was made from the other.
pub(super) fn is_same_content(checker: &Checker, one: &[String], other: &[String]) -> bool {
    let ancestors = |paths: &[String]| -> Vec<String> {
        let made = paths.iter().filter_map(|path| checker.written_by_line(path));
        paths.iter().cloned().chain(made.flat_map(|(_, file)| file.sources.clone())).collect()
    };
    let (ones, others) = (ancestors(one), ancestors(other));
    let is_shared = |path: &String| {
        others.iter().any(|other| other == path || is_inside(path, other) || is_inside(other, path))
    };
    let pipeline =
        |paths: &[String]| paths.iter().find_map(|path| checker.written.get(path)).map(|file| file.pipeline);
    ones.iter().any(is_shared) || pipeline(one).is_some() && pipeline(one) == pipeline(other)
}
