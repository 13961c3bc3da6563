//! What a program has no business to change, looked at before and after it ran.
//!
//! Landlock cannot keep a program from writing in `.git` and `.marvin` of its own workspace (see
//! [`marvin_gate::containment`]), so a change is found out and said. This is a look at a few files' facts, not at every
//! byte: well below a millisecond.
//!
//! Limits: somebody else may have changed them in the same time; what was changed and changed back with the same inode is
//! still seen, since the time of a change cannot be set.

use marvin_base::files::{self, Links};
use marvin_gate::containment::GUARDED;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Entries of one folder that are looked at.
const MOST: usize = 256;
/// Bytes of the record that are compared at its beginning and at its end.
const SAMPLE: u64 = 4096;

/// How things were.
#[derive(Debug)]
pub(super) struct Guard {
    root: PathBuf,
    marks: BTreeMap<PathBuf, Mark>,
    /// The ledger of this run, to which the shell itself goes on appending.
    ledger: Option<(PathBuf, Ledger)>,
}

/// The facts of a file that change with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

#[derive(Debug, PartialEq, Eq)]
struct Ledger {
    inode: u64,
    size: u64,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Guard {
    /// Looks at a workspace. `run` is the folder of the run that is going on, if there is one.
    pub(super) fn begin(root: &Path, run: Option<&Path>) -> Self {
        let ledger = run.map(|run| run.join("trace.jsonl"));
        let ledger = ledger.and_then(|path| Some((path.clone(), look_at_ledger(&path, None)?)));
        Guard { marks: look(root), ledger, root: root.to_path_buf() }
    }

    /// What is no longer as it was, relative to the workspace.
    pub(super) fn changed(&self) -> Vec<String> {
        let now = look(&self.root);
        let mut paths: Vec<&PathBuf> = self.marks.keys().chain(now.keys()).collect();
        paths.sort();
        paths.dedup();
        let differs = |path: &&&PathBuf| self.marks.get(**path) != now.get(**path);
        let shown = |path: &Path| path.strip_prefix(&self.root).unwrap_or(path).display().to_string();
        let mut changed: Vec<String> = paths.iter().filter(differs).map(|path| shown(path)).collect();
        if let Some((path, before)) = &self.ledger
            && look_at_ledger(path, Some(before.size)).as_ref() != Some(before)
        {
            changed.push(shown(path));
        }
        changed
    }
}

/// The marks of everything that is guarded, but for the record of runs.
fn look(root: &Path) -> BTreeMap<PathBuf, Mark> {
    let mut marks = BTreeMap::new();
    for place in GUARDED.iter().map(|place| root.join(place)) {
        let Ok(facts) = place.symlink_metadata() else { continue };
        if !facts.is_dir() {
            marks.insert(place, mark(&facts));
            continue;
        }
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten().take(MOST) {
            // Folders of the record (runs, logs, notes) are the shell's own and change with it.
            if let Ok(facts) = entry.metadata()
                && !facts.is_dir()
            {
                marks.insert(entry.path(), mark(&facts));
            }
        }
    }
    marks
}

fn mark(facts: &std::fs::Metadata) -> Mark {
    Mark { inode: facts.ino(), size: facts.size(), changed: (facts.ctime(), facts.ctime_nsec()) }
}

/// A ledger up to a length: lines may be added to it, but what is there stays.
fn look_at_ledger(path: &Path, size: Option<u64>) -> Option<Ledger> {
    // Something else may stand in its place by now: it is not waited for, and no link is followed.
    let mut file = files::open(path, Links::Refuse).ok()?;
    let facts = file.metadata().ok()?;
    let size = size.unwrap_or(facts.size()).min(facts.size());
    let mut piece = |from: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from)).ok()?;
        file.by_ref().take(SAMPLE.min(size - from)).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    Some(Ledger { inode: facts.ino(), size, first: piece(0)?, last: piece(size.saturating_sub(SAMPLE))? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_seen_and_the_shells_own_lines_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let state = tempfile::tempdir().unwrap();
        let run = state.path().join("runs/run_1");
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::create_dir_all(&run).unwrap();
        std::fs::create_dir_all(root.join(".marvin")).unwrap();
        std::os::unix::fs::symlink(state.path().join("runs"), root.join(".marvin/runs")).unwrap();
        std::fs::write(root.join(".git/config"), "[core]\n").unwrap();
        std::fs::write(root.join(".git/hooks/pre-commit"), "true").unwrap();
        std::fs::write(root.join(".marvin/config.toml"), "").unwrap();
        std::fs::write(run.join("trace.jsonl"), "{\"a\":1}\n").unwrap();
        let append = |text: &str| {
            use std::io::Write;
            let mut file = std::fs::OpenOptions::new().append(true).open(run.join("trace.jsonl")).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let begin = || Guard::begin(root, Some(&run));

        let guard = begin();
        append("{\"b\":2}\n");
        std::fs::write(root.join("a"), "a").unwrap();
        std::fs::write(root.join(".git/index"), "i").unwrap();
        assert_eq!(guard.changed(), Vec::<String>::new());

        let guard = begin();
        std::fs::write(root.join(".git/config"), "[evil]\n").unwrap();
        std::fs::write(root.join(".git/hooks/post-commit"), "x").unwrap();
        std::fs::remove_file(root.join(".git/hooks/pre-commit")).unwrap();
        std::fs::write(root.join(".marvin/config.toml"), "x").unwrap();
        assert_eq!(
            guard.changed(),
            [".git/config", ".git/hooks/post-commit", ".git/hooks/pre-commit", ".marvin/config.toml"]
        );
        // The rules of the gate are guarded one by one: beside them lies a log that the shell itself writes.
        std::fs::create_dir(root.join(".marvin/security")).unwrap();
        std::fs::write(root.join(".marvin/security/denylist.json"), "{}").unwrap();
        let guard = begin();
        std::fs::write(root.join(".marvin/security/decisions.jsonl"), "{}\n").unwrap();
        assert_eq!(guard.changed(), Vec::<String>::new());
        std::fs::remove_file(root.join(".marvin/security/denylist.json")).unwrap();
        std::fs::write(root.join(".marvin/security/learned.jsonl"), "x").unwrap();
        assert_eq!(guard.changed(), [".marvin/security/denylist.json", ".marvin/security/learned.jsonl"]);
        let guard = begin();
        std::fs::write(run.join("trace.jsonl"), "{\"x\":1}\n{\"b\":2}\n{\"c\":3}\n").unwrap();
        std::fs::remove_file(root.join(".marvin/runs")).unwrap();
        std::fs::create_dir(root.join(".marvin/runs")).unwrap();
        let trace = run.join("trace.jsonl").display().to_string();
        assert_eq!(guard.changed(), [".marvin/runs".to_string(), trace]);
    }

    #[test]
    fn a_look_is_cheap() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join(".git/config"), "").unwrap();
        for number in 0..20 {
            std::fs::write(root.join(format!(".git/hooks/{number}.sample")), "").unwrap();
        }
        let started = std::time::Instant::now();
        for _ in 0..20 {
            assert!(Guard::begin(root, None).changed().is_empty());
        }
        // Below a millisecond each on a quiet machine; the bound is for a busy one.
        assert!(started.elapsed() < std::time::Duration::from_millis(400), "{:?}", started.elapsed());
    }
}
