//! Several files changed at once: all of them, or none, on a real disk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use marvin_gate::{Change, Refusal, RefusalKind, Workspace, WorkspacePath};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

struct Place {
    _directory: tempfile::TempDir,
    root: PathBuf,
    workspace: Workspace,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for (path, text, mode) in
        [("a.txt", "old a\n", 0o640), ("run.sh", "old run\n", 0o755), ("d/b.txt", "old b\n", 0o600)]
    {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let workspace = Workspace::open(&root, Path::new("/nowhere")).unwrap();
    Place { _directory: directory, root, workspace }
}

/// Everything that lies there: text, mode and identity.
fn state(root: &Path) -> BTreeMap<PathBuf, (String, u32, u64)> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let facts = entry.metadata().unwrap();
            if facts.is_dir() {
                directories.push(entry.path());
                found.insert(entry.path(), (String::new(), 0, facts.ino()));
            } else {
                let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                found.insert(entry.path(), (text, facts.mode(), facts.ino()));
            }
        }
    }
    found
}

impl Place {
    fn path(&self, text: &str) -> WorkspacePath {
        self.workspace.path(text).unwrap()
    }

    fn create(&self, path: &str, like: Option<&str>) -> Change {
        let like = like.map(|like| self.path(like));
        Change::Create { path: self.path(path), bytes: b"new\n".to_vec(), like }
    }

    fn replace(&self, path: &str, expected: Option<&str>) -> Change {
        let expected = expected.map(|text| text.as_bytes().to_vec());
        Change::Replace { path: self.path(path), bytes: b"new\n".to_vec(), expected }
    }

    fn remove(&self, path: &str, expected: Option<&str>) -> Change {
        Change::Remove { path: self.path(path), expected: expected.map(|text| text.as_bytes().to_vec()) }
    }

    #[track_caller]
    fn refused(&self, changes: &[Change]) -> Refusal {
        let before = state(&self.root);
        let refusal = self.workspace.change(changes).unwrap_err();
        assert_eq!(state(&self.root), before, "{refusal}");
        refusal
    }
}

#[test]
fn all_of_them_with_their_modes() {
    let place = place();
    place
        .workspace
        .change(&[
            place.replace("a.txt", Some("old a\n")),
            place.create("new/deep/er.sh", Some("run.sh")),
            place.remove("run.sh", Some("old run\n")),
            place.create("plain.txt", None),
        ])
        .unwrap();
    let names: Vec<String> = state(&place.root)
        .keys()
        .map(|path| path.strip_prefix(&place.root).unwrap().display().to_string())
        .collect();
    assert_eq!(names, ["a.txt", "d", "d/b.txt", "new", "new/deep", "new/deep/er.sh", "plain.txt"]);
    let mode = |path: &str| std::fs::metadata(place.root.join(path)).unwrap().mode() & 0o777;
    assert_eq!((mode("a.txt"), mode("new/deep/er.sh")), (0o640, 0o755));
}

#[test]
fn none_of_them_when_one_cannot_be() {
    let place = place();
    let first =
        [place.replace("a.txt", None), place.create("x/y/z.txt", None), place.remove("d/b.txt", None)];
    let cases: Vec<(Change, RefusalKind)> = vec![
        (place.create("run.sh", None), RefusalKind::Exists),
        (place.replace("missing", None), RefusalKind::Missing),
        (place.remove("missing", None), RefusalKind::Missing),
        (place.replace("d", None), RefusalKind::NotRegular),
        (place.remove("d", None), RefusalKind::NotRegular),
        (place.create("run.sh/inner", None), RefusalKind::Missing),
        (place.create(".git/config", None), RefusalKind::Closed),
        (place.replace("run.sh", Some("something else\n")), RefusalKind::System),
        (place.remove("run.sh", Some("old run")), RefusalKind::System),
        (place.remove("run.sh", Some("old run\nand more\n")), RefusalKind::System),
        // This one is seen only when the first is in its place already.
        (place.create("x/y/z.txt", None), RefusalKind::Exists),
        (place.create("x/y", None), RefusalKind::Exists),
    ];
    for (last, kind) in cases {
        let mut changes = first.to_vec();
        changes.push(last.clone());
        let refusal = place.refused(&changes);
        assert_eq!(refusal.kind, kind, "{last:?}: {refusal}");
        // And in the other order, where there is nothing to take back yet.
        changes.rotate_right(1);
        place.refused(&changes);
    }
    place.workspace.change(&first).unwrap();
}

#[test]
fn a_directory_that_may_not_be_written_stops_all() {
    let place = place();
    let directory = place.root.join("d");
    let chattr = |flag: &str| {
        std::process::Command::new("chattr")
            .arg(flag)
            .arg(&directory)
            .status()
            .is_ok_and(|status| status.success())
    };
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o555)).unwrap();
    let root = rustix::process::geteuid().is_root();
    if root && !chattr("+i") {
        marvin_testing::skip(
            "a read-only directory (root may write everywhere, and chattr does not work here)",
        );
        return;
    }
    let changes =
        [place.replace("a.txt", None), place.create("n/n.txt", None), place.replace("d/b.txt", None)];
    let before = state(&place.root);
    let refusal = place.workspace.change(&changes).unwrap_err();
    let after = state(&place.root);
    if root {
        chattr("-i");
    }
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(after, before, "{refusal}");
    assert!(refusal.to_string().contains("d/b.txt"), "{refusal}");
}

/// Another thread makes and deletes a file of the same name all the time; either everything of ours is there, or nothing.
#[test]
fn a_file_that_appears_meanwhile_stops_all() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let place = place();
    let stop = AtomicBool::new(false);
    let late = place.root.join("late.txt");
    let (mut done, mut stopped) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if std::fs::File::create_new(&late).is_ok() {
                    std::thread::yield_now();
                    if std::fs::read(&late).is_ok_and(|bytes| bytes.is_empty()) {
                        std::fs::remove_file(&late).ok();
                    }
                }
            }
        });
        let started = std::time::Instant::now();
        // Both must have happened; on a busy machine that takes longer.
        let seconds = std::time::Duration::from_secs;
        while started.elapsed() < seconds(2) || (done == 0 || stopped == 0) && started.elapsed() < seconds(60)
        {
            let changes = [place.replace("a.txt", Some("old a\n")), place.create("late.txt", None)];
            let outcome = place.workspace.change(&changes);
            let text = std::fs::read_to_string(place.root.join("a.txt")).unwrap();
            if outcome.is_ok() {
                done += 1;
                assert_eq!(text, "new\n");
                assert_eq!(std::fs::read_to_string(&late).unwrap(), "new\n");
                std::fs::write(place.root.join("a.txt"), "old a\n").unwrap();
                std::fs::remove_file(&late).unwrap();
            } else {
                stopped += 1;
                assert_eq!(text, "old a\n");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(done > 0 && stopped > 0, "{done} {stopped}");
    let left: Vec<_> = state(&place.root)
        .into_keys()
        .filter(|path| path.display().to_string().contains(".marvin-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn directories_are_made_inside_only() {
    let place = place();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), place.root.join("out")).unwrap();
    symlink("d", place.root.join("in")).unwrap();
    place.workspace.make_directory(&place.path("x/y")).unwrap();
    place.workspace.make_directory(&place.path("x/y")).unwrap();
    place.workspace.make_directory(&place.path("in/z")).unwrap();
    assert!(place.root.join("d/z").is_dir() && place.root.join("x/y").is_dir());
    for path in ["out/x", "a.txt", "a.txt/x", ".git/x", ".marvin/runs/x", "."] {
        let before = state(&place.root);
        place.workspace.make_directory(&place.path(path)).expect_err(path);
        assert_eq!(state(&place.root), before, "{path}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn temporary_files_of_a_killed_process_are_removed() {
    let place = place();
    let outside = tempfile::tempdir().unwrap();
    let name = ".marvin-0123456789ab";
    std::fs::write(outside.path().join(name), "not ours").unwrap();
    symlink(outside.path(), place.root.join("out")).unwrap();
    std::fs::create_dir_all(place.root.join("d/deep")).unwrap();
    let before = state(&place.root);
    for directory in ["", "d", "d/deep"] {
        std::fs::write(place.root.join(directory).join(name), "half").unwrap();
    }
    assert_eq!(place.workspace.remove_temporary_files(), 3);
    assert_eq!(state(&place.root), before);
    // Files of other names, and what a link leads to, stay.
    for name in
        [".marvin-instructions", ".marvin-0123456789a", ".marvin-0123456789abc", "x.marvin-0123456789ab"]
    {
        std::fs::write(place.root.join(name), "mine").unwrap();
    }
    let before = state(&place.root);
    assert_eq!(place.workspace.remove_temporary_files(), 0);
    assert_eq!(state(&place.root), before);
    assert!(outside.path().join(name).exists());
}
