//! Files that a run left: artifacts, lessons, reports, logs. Only regular files below the run's directory, reached without a link.

use super::runs;
use crate::answer::{Answer, Refusal, json};
use marvin_agent::ProjectContext;
use marvin_base::beneath;
use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

/// Directories of a run whose files are shown.
const DIRECTORIES: [&str; 4] = ["artifacts", "lessons", "reports", "logs"];
/// Files that are listed, and how deep.
const MAX_LISTED_FILES: usize = 1_000;
const MAX_DIRECTORY_DEPTH: usize = 8;
/// Bytes of a file that are shown.
const MAX_DISPLAYED_BYTES: u64 = 512 * 1024;

#[derive(Debug, Serialize)]
pub(super) struct RunFile {
    path: String,
    bytes: u64,
}

#[derive(Serialize)]
struct FileText<'a> {
    path: &'a str,
    bytes: u64,
    /// Whether only the beginning is shown.
    cut: bool,
    text: Option<String>,
}

pub(super) fn list(run: &Path) -> Vec<RunFile> {
    let mut found = Vec::new();
    for name in DIRECTORIES {
        walk(&run.join(name), name, 0, &mut found);
    }
    found
}

fn walk(directory: &Path, below: &str, depth: usize, found: &mut Vec<RunFile>) {
    if depth > MAX_DIRECTORY_DEPTH || directory.is_symlink() {
        return;
    }
    let mut entries: Vec<std::fs::DirEntry> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_LISTED_FILES).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // A name that is not UTF-8 cannot be asked for.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let (Ok(facts), path) = (entry.metadata(), format!("{below}/{name}")) else { continue };
        if found.len() >= MAX_LISTED_FILES {
            return;
        }
        if facts.is_dir() {
            walk(&entry.path(), &path, depth + 1, found);
        } else if facts.is_file() {
            found.push(RunFile { path, bytes: facts.len() });
        }
    }
}

/// The text of a file.
pub(super) fn show(context: &ProjectContext, run: &str, path: &str) -> Answer {
    let directory = runs::directory(context, run)?;
    let absent =
        || Refusal::absent(format!("the run has no such file: {}", marvin_base::truncate::line(path, 200)));
    let plain = path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    let first = path.split('/').next().unwrap_or_default();
    if !plain || path.contains('\0') || !DIRECTORIES.contains(&first) || path == first {
        return Err(absent());
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let base = rustix::fs::open(&directory, flags, Mode::empty()).map_err(|_| absent())?;
    // Opening a pipe without a writer must not block.
    let file = beneath::open(base.as_fd(), Path::new(path), beneath::READ).map_err(|_| absent())?;
    let file = std::fs::File::from(file);
    let facts = file.metadata().map_err(|_| absent())?;
    if !facts.is_file() {
        return Err(absent());
    }
    let mut bytes = Vec::new();
    file.take(MAX_DISPLAYED_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| Refusal::broken(format!("cannot read it: {error}")))?;
    let is_text = !bytes.contains(&0);
    let text = is_text.then(|| context.redactor.text(&String::from_utf8_lossy(&bytes)).into_owned());
    let bytes = facts.len();
    json(&FileText { path, bytes, cut: bytes > MAX_DISPLAYED_BYTES, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;

    #[test]
    fn files_outside_a_run_cannot_be_reached() {
        let files = marvin_testing::Project::new(&[]);
        let (home, project) = (files.home(), files.path());
        let name = "run_20260203_040506_1a2b";
        let environment = Environment::from_iter(files.variables());
        let layout = marvin_base::layout::Layout::new(&environment, Some(&project));
        let run = layout.runs().join(name);
        std::fs::create_dir_all(run.join("artifacts/deep")).unwrap();
        std::fs::write(home.join("secret"), "secret").unwrap();
        std::fs::write(run.join("run.json"), "{}").unwrap();
        std::fs::write(run.join("artifacts/deep/a.txt"), b"hello \xff").unwrap();
        std::fs::write(run.join("artifacts/b.bin"), b"\0\x01").unwrap();
        std::os::unix::fs::symlink(home.join("secret"), run.join("artifacts/link")).unwrap();
        std::os::unix::fs::symlink(&home, run.join("artifacts/directory")).unwrap();
        let context =
            ProjectContext::find(environment, project.clone(), Some(&project), true, Vec::new()).unwrap();
        let paths: Vec<String> = list(&run).into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["artifacts/b.bin", "artifacts/deep/a.txt"]);
        assert_eq!(show(&context, name, "artifacts/deep/a.txt").unwrap()["text"], "hello \u{fffd}");
        assert_eq!(show(&context, name, "artifacts/b.bin").unwrap()["text"], serde_json::Value::Null);
        let others = [
            "",
            "artifacts",
            "artifacts/",
            "run.json",
            "artifacts/link",
            "artifacts/directory/secret",
            "artifacts/../run.json",
            "../../x",
            "/etc/passwd",
            "artifacts//deep/a.txt",
            "artifacts/deep",
            "artifacts/./deep/a.txt",
            "artifacts/deep/a.txt\0",
        ];
        for path in others {
            assert!(show(&context, name, path).is_err(), "{path}");
        }
        assert!(show(&context, "..", "artifacts/b.bin").is_err());
    }
}
