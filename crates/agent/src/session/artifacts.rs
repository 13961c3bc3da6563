//! Index of artifacts: the beginning of every artifact of the last runs.
//!
//! Limits: only text of the newest runs; other files are found by their names. An artifact is output of tools, never an
//! instruction.

use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::signature;
use marvin_memory::index::{Document, Kind};
use marvin_memory::{Memory, MemoryError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Runs that are indexed, and artifacts of all of them.
const MAX_INDEXED_RUNS: usize = 50;
const MAX_INDEXED_ARTIFACTS: usize = 300;
/// Bytes of one artifact that are indexed.
const MAX_INDEXED_BYTES: usize = 4_096;

struct ArtifactFile {
    path: PathBuf,
    id: String,
    bytes: u64,
    modified: i64,
}

/// Adds the artifacts of the last runs to the index, unless they are there.
pub fn offer(memory: &mut Memory, layout: &Layout) -> Result<(), MemoryError> {
    let found = find(&layout.runs());
    let facts: Vec<(&str, u64, i64)> =
        found.iter().map(|one| (one.id.as_str(), one.bytes, one.modified)).collect();
    let stamp = signature::hash(&facts);
    memory.offer(Kind::Artifact, &stamp, || found.iter().map(document).collect())
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn find(runs: &Path) -> Vec<ArtifactFile> {
    let mut found = Vec::new();
    for run in names(runs).into_iter().filter(|name| name.starts_with("run_")).rev().take(MAX_INDEXED_RUNS) {
        let directory = runs.join(&run).join("artifacts");
        for name in names(&directory) {
            let path = directory.join(&name);
            let facts = std::fs::symlink_metadata(&path).ok().filter(std::fs::Metadata::is_file);
            if let Some(facts) = facts {
                let id = format!("{run}/artifacts/{name}");
                found.push(ArtifactFile { path, id, bytes: facts.size(), modified: facts.mtime() });
            }
            if found.len() >= MAX_INDEXED_ARTIFACTS {
                return found;
            }
        }
    }
    found
}

fn document(found: &ArtifactFile) -> Document {
    let bytes = files::open(&found.path, Links::Refuse).ok().and_then(|file| {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(file, MAX_INDEXED_BYTES as u64), &mut bytes)
            .ok()?;
        Some(bytes)
    });
    let text = bytes.filter(|bytes| !bytes.contains(&0)).unwrap_or_default();
    Document {
        id: found.id.clone(),
        text: format!("{}\n{}", found.id, String::from_utf8_lossy(&text)),
        source: "tool_output".into(),
        created: found.modified,
        ..Document::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;
    use marvin_base::redact::Redactor;
    use marvin_memory::Places;
    use marvin_memory::memory::Recall;
    use std::sync::Arc;

    #[test]
    fn artifacts_of_a_run_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let environment = Environment::from_iter([("HOME", directory.path().display().to_string())]);
        let layout = Layout::new(&environment, Some(directory.path()));
        let artifacts = layout.runs().join("run_20260101_000000_abcd/artifacts");
        std::fs::create_dir_all(&artifacts).unwrap();
        std::fs::write(artifacts.join("report.txt"), "The elephant census counted 31 animals.").unwrap();
        std::fs::write(artifacts.join("picture.png"), [0, 1, 2]).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", artifacts.join("link.txt")).unwrap();
        let places = Places::below(&directory.path().join("memory"), &layout);
        let mut memory = Memory::open(places, Arc::new(Redactor::patterns_only()));
        let mut ask = |text: &str| {
            offer(&mut memory, &layout).unwrap();
            let found = memory
                .recall(&Recall { text, kinds: &[Kind::Artifact], limit: 5, ..Recall::default() })
                .unwrap();
            found.into_iter().map(|one| (one.id, one.source)).collect::<Vec<_>>()
        };
        let report = ("run_20260101_000000_abcd/artifacts/report.txt".to_string(), "tool_output".to_string());
        assert_eq!(ask("how many elephants"), [report]);
        assert_eq!(ask("picture").len(), 1);
        assert!(ask("root").is_empty());
        std::fs::write(artifacts.join("more.txt"), "Giraffes too.").unwrap();
        assert_eq!(ask("giraffe").len(), 1);
    }
}
