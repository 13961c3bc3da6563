//! The one migration of a project's authority from `PROJECT/.marvin`, where 0.1.0 kept it, to the state directory.
//!
//! The files there are data: agents could write them, and a repository can bring it. So it is only taken from a project
//! that this person has used (there is a seal of its memory, or a file of it was trusted), and nothing of it gains
//! authority by being moved: runs are for reading only, servitors come back with read-only access, learned rules and
//! memory count as far as the trust list and the seal, which lay outside the project, confirm them, and `state.json`
//! is set aside.
//!
//! Files are copied, compared and then removed, never renamed: a renamed file could still be written through a hard
//! link or an open handle that was left in the workspace. Links and special files are not taken. The plan is written
//! down first, every directory appears under its name only when it is whole, and the old one is removed after that:
//! a migration that is killed anywhere is finished by the next command.

use super::Layout;
use super::state::{StateError, identity};
use crate::files::{self, Links};
use crate::ledger::chain;
use crate::{atomic, clock, signature};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Directories of authority in the old layout.
const DIRECTORIES: [&str; 3] = ["runs", "agents", "memory"];
/// The directory whose ledgers are authority, beside rule files that are not.
const SECURITY: &str = "security";
/// The note that a migration is over; nothing is migrated again.
const NOTE: &str = "migrated.json";
/// The plan of a migration that is under way.
const PLAN: &str = "migrating.json";
/// Held while a process migrates.
const LOCK: &str = ".migrate.lock";
/// The end of a directory's name while it is being copied.
const PARTIAL: &str = "importing";
/// The file in a run that makes it one for reading only.
pub const IMPORTED: &str = "imported.json";
/// Bytes of a note or a trust list that are read.
const MAX_NOTE_BYTES: u64 = 4 * 1024 * 1024;
/// Nesting of directories that is followed.
const MAX_DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// There is nothing to migrate, or it was done before.
    Nothing,
    /// These were moved.
    Moved(Vec<String>),
    /// These are there and are ignored, since this person never used the project.
    Ignored(Vec<String>),
}

impl Outcome {
    /// The line for the person; none where nothing happened.
    #[must_use]
    pub fn message(&self, layout: &Layout) -> Option<String> {
        let list = |names: &[String]| {
            names.iter().map(|name| format!(".marvin/{name}")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Outcome::Nothing => None,
            Outcome::Moved(names) => Some(format!(
                "moved {} to {}; old runs are for reading only, servitors are read-only, and rules or memories \
                 without your seal count only after `marvin gate trust` and `marvin memory audit`",
                list(names),
                layout.project_state().display()
            )),
            Outcome::Ignored(names) => Some(format!(
                "ignored {}: you have never trusted anything in this project, so they may come from anyone; \
                 records are kept in {}",
                list(names),
                layout.project_state().display()
            )),
        }
    }
}

/// `migrated.json` and `migrating.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    version: u32,
    from: String,
    at: String,
    moved: Vec<String>,
    ignored: Vec<String>,
}

/// Whether a project has records of 0.1.0 that are not dealt with yet.
#[must_use]
pub fn is_due(layout: &Layout) -> bool {
    let Some(record) = layout.record() else { return false };
    let state = layout.project_state();
    !state.join(NOTE).exists() && (!old_authority(&record).is_empty() || state.join(PLAN).exists())
}

/// Migrates a project once. Call it only for a person, never for an agent's process.
///
/// # Errors
/// When something cannot be read or written; what was not moved yet is where it was.
pub fn run(layout: &Layout) -> Result<Outcome, StateError> {
    let (Some(record), Some(project)) = (layout.record(), layout.project()) else {
        return Ok(Outcome::Nothing);
    };
    // Seals and trust name files by their canonical path.
    let record = record.canonicalize().unwrap_or(record);
    let state = layout.project_state();
    let names = old_authority(&record);
    let is_under_way = state.join(PLAN).exists();
    if state.join(NOTE).exists() || names.is_empty() && !is_under_way {
        return Ok(Outcome::Nothing);
    }
    // Agents and memory that are there already are the project's; runs and decisions a hook may have begun.
    let is_free = |name: &String| matches!(name.as_str(), "runs" | SECURITY) || !state.join(name).exists();
    let names: Vec<String> = names.into_iter().filter(is_free).collect();
    if names.is_empty() && !is_under_way {
        return Ok(Outcome::Nothing);
    }
    layout.prepare_state()?;
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |source| StateError::Io { doing: "migrate to", path, source }
    };
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(state.join(LOCK));
    let lock = lock.map_err(failed(&state))?;
    lock.lock().map_err(failed(&state))?;
    if state.join(NOTE).exists() {
        return Ok(Outcome::Nothing);
    }
    let mut note = Note {
        version: 1,
        from: identity(project).display().to_string(),
        at: clock::now_stamp(),
        moved: Vec::new(),
        ignored: Vec::new(),
    };
    let outcome = if is_under_way || is_known(layout, project, &record) {
        note.moved = match read_note(&state.join(PLAN)) {
            Some(plan) => plan.moved,
            None => names,
        };
        write_note(&state.join(PLAN), &note)?;
        for name in &note.moved {
            move_one(&record, &state, name).map_err(failed(&record.join(name)))?;
        }
        carry_confirmations(layout, &record, &state).map_err(failed(&state))?;
        Outcome::Moved(note.moved.clone())
    } else {
        note.ignored.clone_from(&names);
        Outcome::Ignored(names)
    };
    write_note(&state.join(NOTE), &note)?;
    std::fs::remove_file(state.join(PLAN)).ok();
    Ok(outcome)
}

fn read_note(path: &Path) -> Option<Note> {
    serde_json::from_str(&files::read_text(path, MAX_NOTE_BYTES, Links::Refuse).ok()?).ok()
}

fn write_note(path: &Path, note: &Note) -> Result<(), StateError> {
    let text = serde_json::to_string_pretty(note).unwrap_or_default();
    atomic::replace_private(path, format!("{text}\n").as_bytes()).map_err(|error| StateError::Io {
        doing: "write to",
        path: path.display().to_string(),
        source: error.source,
    })
}

/// The directories and ledgers of the old layout that exist; symlinks do not count.
fn old_authority(record: &Path) -> Vec<String> {
    let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|facts| facts.is_dir());
    if !is_dir(record) {
        return Vec::new();
    }
    let directories = DIRECTORIES.into_iter().filter(|name| is_dir(&record.join(name))).map(str::to_string);
    let mut names: Vec<String> = directories.collect();
    let security = record.join(SECURITY);
    if is_dir(&security) && !ledgers(&security).is_empty() {
        names.push(SECURITY.to_string());
    }
    names
}

/// Files of the old `security` that carry authority: ledgers and evaluator files, not rules.
fn ledgers(security: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(security).into_iter().flatten().flatten();
    let is_ledger = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        entry.file_type().is_ok_and(|kind| kind.is_file())
            && (name.ends_with(".jsonl") || name.starts_with("evaluator-"))
    };
    let mut found: Vec<PathBuf> = entries.filter(is_ledger).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Has this person used the project? Both signs lie outside of it, in the person's own directory.
fn is_known(layout: &Layout, project: &Path, record: &Path) -> bool {
    if layout.memory_seal(&record.join("memory")).is_file() {
        return true;
    }
    let trusted = read_trust(layout);
    let files = trusted.as_ref().and_then(|list| list.get("files")).and_then(Value::as_object);
    let roots = [project.to_path_buf(), identity(project)];
    files.is_some_and(|files| {
        files.keys().any(|file| roots.iter().any(|root| Path::new(file).starts_with(root)))
    })
}

fn read_trust(layout: &Layout) -> Option<Value> {
    serde_json::from_str(&files::read_text(&layout.trusted(), MAX_NOTE_BYTES, Links::Follow).ok()?).ok()
}

/// Moves one directory, or the ledgers of `security`. May be done again after it was killed anywhere: the old one is
/// removed only when everything of it has its new place.
fn move_one(record: &Path, state: &Path, name: &str) -> std::io::Result<()> {
    let (from, to) = (record.join(name), state.join(name));
    if !from.exists() {
        return Ok(());
    }
    let partial = to.with_extension(PARTIAL);
    if partial.exists() {
        std::fs::remove_dir_all(&partial)?;
    }
    let chosen = if name == SECURITY { Some(ledgers(&from)) } else { None };
    copy_directory(&from, &partial, chosen.as_deref(), 0)?;
    disarm(&partial, name)?;
    install(&partial, &to)?;
    File::open(state)?.sync_all()?;
    match name {
        SECURITY => ledgers(&from).iter().try_for_each(std::fs::remove_file),
        _ => std::fs::remove_dir_all(&from),
    }
}

/// Moves a complete copy into place. Existing files stay: a hook may have written them since.
fn install(partial: &Path, to: &Path) -> std::io::Result<()> {
    if !to.exists() {
        return std::fs::rename(partial, to);
    }
    let mut names: Vec<_> = std::fs::read_dir(partial)?.flatten().map(|entry| entry.file_name()).collect();
    // Heads of ledgers begin with a dot and come first: no ledger is seen without its head.
    names.sort();
    for name in names {
        let shown = name.to_string_lossy();
        let ledger = shown.strip_prefix('.').and_then(|name| name.strip_suffix(".head"));
        if !to.join(&name).exists() && !ledger.is_some_and(|ledger| to.join(ledger).exists()) {
            std::fs::rename(partial.join(&name), to.join(&name))?;
        }
    }
    std::fs::remove_dir_all(partial)
}

/// Copies regular files and directories, and compares what was written with what was read.
fn copy_directory(from: &Path, to: &Path, chosen: Option<&[PathBuf]>, depth: usize) -> std::io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(to)?;
    if depth >= MAX_DEPTH {
        return Ok(());
    }
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if chosen.is_some_and(|chosen| !chosen.contains(&source)) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_directory(&source, &target, None, depth + 1)?;
        } else if kind.is_file() {
            copy_file(&source, &target)?;
        }
    }
    File::open(to)?.sync_all()
}

fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    files::open(from, Links::Refuse)?.read_to_end(&mut bytes)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    if std::fs::read(to)? == bytes {
        return Ok(());
    }
    Err(std::io::Error::new(
        std::io::ErrorKind::InvalidData,
        format!("the copy of {} differs", from.display()),
    ))
}

/// Content of the file that marks an imported run.
#[derive(Serialize)]
struct ImportNote {
    version: u32,
    reason: &'static str,
}

/// Takes from a copy the authority that nothing outside the project confirms, before it gets its place.
fn disarm(partial: &Path, name: &str) -> std::io::Result<()> {
    let write = |path: &Path, text: &str| {
        atomic::replace_private(path, text.as_bytes()).map_err(|error| error.source)
    };
    match name {
        "runs" => {
            let note = ImportNote {
                version: 1,
                reason: "made by 0.1.0, where agents could write it: for reading only",
            };
            let note = serde_json::to_string_pretty(&note).map_err(std::io::Error::other)?;
            for run in subdirectories(partial) {
                write(&run.join(IMPORTED), &format!("{note}\n"))?;
            }
        }
        "agents" => {
            for document in files_in(partial, "md") {
                let text = std::fs::read_to_string(&document).unwrap_or_default();
                let bounded = without_rights(&text);
                if bounded != text {
                    write(&document, &bounded)?;
                }
            }
            let records = files_in(&partial.join("records"), "jsonl");
            files_in(partial, "jsonl").into_iter().chain(records).try_for_each(|ledger| adopt(&ledger))?;
        }
        SECURITY => files_in(partial, "jsonl")
            .into_iter()
            .filter(|path| path.file_name().is_some_and(|name| name != "learned.jsonl"))
            .try_for_each(|ledger| adopt(&ledger))?,
        _ => {
            let working_state = partial.join("state.json");
            if working_state.exists() {
                std::fs::rename(&working_state, partial.join("state.imported.json"))?;
            }
        }
    }
    Ok(())
}

fn adopt(ledger: &Path) -> std::io::Result<()> {
    chain::adopt(ledger).map(|_| ()).map_err(|error| std::io::Error::other(error.to_string()))
}

/// Carries what confirms the moved files, from the name of their old place to the name of their new one: the seal of
/// the memory, and the trust in exactly these learned rules.
fn carry_confirmations(layout: &Layout, record: &Path, state: &Path) -> std::io::Result<()> {
    let (old, new) = (layout.memory_seal(&record.join("memory")), layout.memory_seal(&state.join("memory")));
    if old.is_file() && !new.exists() {
        let text = std::fs::read(&old)?;
        atomic::replace_private(&new, &text).map_err(|error| error.source)?;
    }
    carry_trust(layout, record, &state.join(SECURITY))
}

/// Trusts the learned rules in their new place, if exactly this content was trusted in the old one.
fn carry_trust(layout: &Layout, record: &Path, security: &Path) -> std::io::Result<()> {
    let name = |path: PathBuf| {
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        parent.map_or_else(|| path.clone(), |parent| parent.join("learned.jsonl")).display().to_string()
    };
    let learned = security.join("learned.jsonl");
    let (Ok(bytes), Some(mut trusted)) = (std::fs::read(&learned), read_trust(layout)) else { return Ok(()) };
    let Some(files) = trusted.get_mut("files").and_then(Value::as_object_mut) else { return Ok(()) };
    let hash = Value::from(signature::hash_bytes(&bytes));
    if files.get(&name(record.join(SECURITY).join("learned.jsonl"))) != Some(&hash) {
        return Ok(());
    }
    files.insert(name(learned), hash);
    let text = format!("{trusted:#}\n");
    atomic::replace_private(&layout.trusted(), text.as_bytes()).map_err(|error| error.source)
}

/// A document whose head gives no more than read access.
fn without_rights(text: &str) -> String {
    let mut marks = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        marks += usize::from(line.trim_end() == "---");
        let ending = if line.ends_with('\n') { "\n" } else { "" };
        if marks == 1 && line.starts_with("access:") {
            format!("access: readonly{ending}")
        } else {
            line.to_string()
        }
    });
    lines.collect()
}

fn subdirectories(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

fn files_in(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_one = |entry: &std::fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_file())
            && entry.path().extension().is_some_and(|found| found == extension)
    };
    entries.filter(is_one).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::ledger;

    struct Place {
        root: tempfile::TempDir,
        layout: Layout,
    }

    impl Place {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let layout = layout(root.path());
            for (file, text) in [
                ("runs/run_20260101_000000_abcd/run.json", "{}"),
                ("runs/run_20260101_000000_abcd/artifacts/a.txt", "artifact"),
                ("agents/ann.md", "---\nid: ann\naccess: full\n---\naccess: full is only text here\n"),
                ("agents/commitments.jsonl", "{\"type\":\"added\"}\n{\"type\":\"dropped\"}\n"),
                ("agents/records/ann.jsonl", "{\"n\":1}\n"),
                ("memory/state.json", "{\"active_context\":\"obey\"}"),
                ("memory/ltm.jsonl", "{\"id\":\"m\"}\n"),
                ("security/learned.jsonl", "{\"id\":\"l\"}\n"),
                ("security/decisions.jsonl", "{\"d\":1}\n"),
                ("security/allowlist.json", "{\"rules\":[]}"),
                ("config.toml", ""),
            ] {
                put(&root.path().join("project/.marvin").join(file), text);
            }
            Place { root, layout }
        }

        fn record(&self) -> PathBuf {
            self.root.path().join("project/.marvin")
        }

        fn state(&self, name: &str) -> PathBuf {
            self.layout.project_state().join(name)
        }

        fn trust_learned(&self) {
            let file = self.record().canonicalize().unwrap().join("security/learned.jsonl");
            let hash = signature::hash_bytes(&std::fs::read(&file).unwrap());
            put(
                &self.layout.trusted(),
                &serde_json::json!({"files": {file.display().to_string(): hash}}).to_string(),
            );
        }
    }

    fn layout(root: &Path) -> Layout {
        let environment = Environment::from_iter([("HOME", root.join("home").display().to_string())]);
        Layout::new(&environment, Some(&root.join("project")))
    }

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn a_project_that_was_used_is_moved_once_and_gains_nothing() {
        let place = Place::new();
        place.trust_learned();
        let secret = place.root.path().join("secret");
        std::fs::write(&secret, "secret").unwrap();
        std::os::unix::fs::symlink(&secret, place.record().join("agents/link.md")).unwrap();
        let backdoor = place.root.path().join("project/backdoor");
        std::fs::hard_link(place.record().join("agents/commitments.jsonl"), &backdoor).unwrap();
        let outcome = run(&place.layout).unwrap();
        assert_eq!(
            outcome,
            Outcome::Moved(["runs", "agents", "memory", "security"].map(String::from).to_vec())
        );
        assert!(outcome.message(&place.layout).unwrap().contains("read-only"));
        for gone in ["runs", "agents", "memory", "security/learned.jsonl", "security/decisions.jsonl"] {
            assert!(!place.record().join(gone).exists(), "{gone}");
        }
        assert!(
            place.record().join("security/allowlist.json").exists()
                && place.record().join("config.toml").exists()
        );
        assert!(place.state("runs/run_20260101_000000_abcd/artifacts/a.txt").exists());
        assert!(crate::run::RunDirectory::open(&place.layout.runs(), "run_20260101_000000_abcd").is_err());
        assert_eq!(
            std::fs::read_to_string(place.state("agents/ann.md")).unwrap(),
            "---\nid: ann\naccess: readonly\n---\naccess: full is only text here\n"
        );
        assert!(!place.state("agents/link.md").exists() && !place.state("memory/state.json").exists());
        assert_eq!(ledger::read_chained(&place.state("agents/commitments.jsonl")).unwrap().entries.len(), 2);
        assert_eq!(ledger::read_chained(&place.state("security/decisions.jsonl")).unwrap().entries.len(), 1);
        std::fs::write(&backdoor, "{\"type\":\"forged\"}\n").unwrap();
        assert_eq!(ledger::read_chained(&place.state("agents/commitments.jsonl")).unwrap().entries.len(), 2);
        let trusted = read_trust(&place.layout).unwrap();
        let new = place.state("security").canonicalize().unwrap().join("learned.jsonl");
        assert!(trusted["files"].get(new.display().to_string()).is_some(), "{trusted:#}");
        // Once: what appears later is not taken.
        put(&place.record().join("agents/evil.md"), "---\naccess: full\n---\n");
        assert_eq!(run(&place.layout).unwrap(), Outcome::Nothing);
        assert!(!place.state("agents/evil.md").exists());
    }

    #[test]
    fn learned_rules_that_were_not_trusted_are_not_trusted_by_being_moved() {
        let place = Place::new();
        place.trust_learned();
        put(&place.record().join("security/learned.jsonl"), "{\"id\":\"forged\"}\n");
        run(&place.layout).unwrap();
        assert_eq!(read_trust(&place.layout).unwrap()["files"].as_object().unwrap().len(), 1);
    }

    #[test]
    fn s5_a_repository_that_brings_records_is_ignored() {
        let place = Place::new();
        let outcome = run(&place.layout).unwrap();
        assert!(matches!(&outcome, Outcome::Ignored(names) if names.len() == 4), "{outcome:?}");
        assert!(outcome.message(&place.layout).unwrap().starts_with("ignored .marvin/runs"));
        for name in ["runs", "agents", "memory", "security"] {
            assert!(!place.state(name).exists() && place.record().join(name).exists(), "{name}");
        }
        assert_eq!(run(&place.layout).unwrap(), Outcome::Nothing, "said once");
        // Trust that comes later is for what comes later.
        place.trust_learned();
        assert_eq!(run(&place.layout).unwrap(), Outcome::Nothing);
    }

    #[test]
    fn links_in_the_place_of_old_directories_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let layout = layout(root.path());
        let record = root.path().join("project/.marvin");
        std::fs::create_dir_all(&record).unwrap();
        put(&root.path().join("elsewhere/x"), "x");
        for name in DIRECTORIES {
            std::os::unix::fs::symlink(root.path().join("elsewhere"), record.join(name)).unwrap();
        }
        assert_eq!(run(&layout).unwrap(), Outcome::Nothing);
        assert!(root.path().join("elsewhere/x").exists());
    }

    /// The variable that makes this test program one that migrates.
    const MIGRATES: &str = "MARVIN_TEST_MIGRATES";

    #[test]
    fn a_migration_that_is_killed_loses_nothing() {
        if let Ok(root) = std::env::var(MIGRATES) {
            run(&layout(Path::new(&root))).unwrap();
            return;
        }
        let place = Place::new();
        place.trust_learned();
        for run in 0..20 {
            for file in 0..10 {
                let name = format!("runs/run_20260101_0000{run:02}_0000/artifacts/{file}.txt");
                put(&place.record().join(name), &format!("{run} {file} {}", "x".repeat(20_000)));
            }
        }
        let program = std::env::current_exe().unwrap();
        let mut kills = 0;
        // Each attempt gets a little longer, until one is long enough on a machine however busy.
        let mut time = std::time::Duration::from_millis(5);
        loop {
            let mut child = std::process::Command::new(&program)
                .args(["--exact", "layout::migrate::tests::a_migration_that_is_killed_loses_nothing"])
                .env(MIGRATES, place.root.path())
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(time);
            time = time.mul_f64(1.1);
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "after {kills} kills");
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        }
        assert!(place.state(NOTE).exists() && !place.state(PLAN).exists(), "after {kills} kills");
        assert!(kills > 0, "it was never killed");
        for run in 0..20 {
            for file in 0..10 {
                let name = format!("runs/run_20260101_0000{run:02}_0000/artifacts/{file}.txt");
                let text = std::fs::read_to_string(place.state(&name)).unwrap();
                assert!(text.starts_with(&format!("{run} {file} ")) && text.len() > 20_000, "{name}");
            }
        }
        assert_eq!(std::fs::read_to_string(place.state("memory/ltm.jsonl")).unwrap(), "{\"id\":\"m\"}\n");
        assert!(old_authority(&place.record()).is_empty());
    }
}
