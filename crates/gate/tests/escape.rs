//! Ways out of the workspace, each tried on a real disk.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use marvin_base::redact::Redactor;
use marvin_base::settings::Settings;
use marvin_gate::{
    Access, Context, Decision, Duty, Intent, Layers, Refusal, RefusalKind, Touches, Workspace, judge,
};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

struct Place {
    _outer: tempfile::TempDir,
    workspace: Workspace,
    root: std::path::PathBuf,
    outside: std::path::PathBuf,
}

fn place() -> Place {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().canonicalize().unwrap().join("work");
    let outside = outer.path().canonicalize().unwrap().join("outside");
    for directory in ["src", ".tickets", ".marvin/runs", ".marvin/upstream", ".git"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    std::fs::write(root.join("src/a.txt"), "inside").unwrap();
    std::fs::write(root.join(".tickets/t.md"), "ticket").unwrap();
    std::fs::write(root.join(".marvin/upstream/spec.md"), "upstream").unwrap();
    std::fs::write(root.join(".marvin/runs/trace.jsonl"), "{}").unwrap();
    std::fs::write(root.join(".git/config"), "git").unwrap();
    let workspace = Workspace::open(&root, Path::new("/nowhere")).unwrap();
    Place { _outer: outer, workspace, root, outside }
}

fn read(place: &Place, path: &str) -> Result<String, Refusal> {
    place.workspace.path(path).and_then(|path| place.workspace.read_to_string(&path, 1000))
}

fn write_all_ways(place: &Place, path: &str) -> Vec<Refusal> {
    let Ok(checked) = place.workspace.path(path) else {
        return vec![place.workspace.path(path).unwrap_err()];
    };
    [
        place.workspace.create_new(&checked, b"x"),
        place.workspace.append(&checked, b"x"),
        place.workspace.replace(&checked, b"x"),
    ]
    .into_iter()
    .map(|result| result.expect_err(path))
    .collect()
}

#[test]
fn paths_that_are_refused_by_their_text() {
    let place = place();
    let long = "a/".repeat(3000);
    let long_part = "a".repeat(300);
    for (path, kind) in [
        ("/etc/passwd", RefusalKind::Absolute),
        ("//etc/passwd", RefusalKind::Absolute),
        ("/", RefusalKind::Absolute),
        ("~", RefusalKind::Absolute),
        ("~/.ssh/id_rsa", RefusalKind::Absolute),
        ("..", RefusalKind::Climbing),
        ("../outside/secret", RefusalKind::Climbing),
        ("src/../../outside/secret", RefusalKind::Climbing),
        ("src/../src/a.txt", RefusalKind::Climbing),
        ("a/../.tickets/t.md", RefusalKind::Climbing),
        ("./../x", RefusalKind::Climbing),
        ("src/..", RefusalKind::Climbing),
        ("", RefusalKind::Unusable),
        ("   ", RefusalKind::Unusable),
        ("src/a.txt\0", RefusalKind::Unusable),
        ("src\n/a.txt", RefusalKind::Unusable),
        (&long, RefusalKind::Unusable),
        (&long_part, RefusalKind::Unusable),
        (".tickets", RefusalKind::Tickets),
        (".tickets/t.md", RefusalKind::Tickets),
        ("./.tickets/t.md", RefusalKind::Tickets),
        (".tickets//t.md", RefusalKind::Tickets),
        (".//./.tickets/", RefusalKind::Tickets),
    ] {
        let refusal = place.workspace.path(path).expect_err(path);
        assert_eq!(refusal.kind, kind, "{path}: {refusal}");
        assert!(!refusal.how_to_fix.is_empty(), "{path}");
        assert_eq!(refusal.verdict().decision, Decision::Deny);
        assert!(refusal.to_string().contains(&place.root.display().to_string()), "{refusal}");
    }
    let absolute = place.root.join("src/a.txt").display().to_string();
    let refusal = place.workspace.path(&absolute).unwrap_err().to_string();
    assert!(refusal.contains("for example `src/a.txt`"), "{refusal}");
    assert!(refusal.contains("src/\n  a.txt") && refusal.contains(".marvin/"), "{refusal}");
    assert!(!refusal.contains(".git/") && !refusal.contains(".tickets"), "{refusal}");
    assert!(place.workspace.path(".tickets").unwrap_err().to_string().contains("tk tool"));
}

#[test]
fn links_that_lead_out_are_refused() {
    let place = place();
    let link = |target: &Path, name: &str| symlink(target, place.root.join(name)).unwrap();
    link(&place.outside.join("secret"), "file");
    link(&place.outside, "directory");
    link(Path::new("../outside/secret"), "relative");
    link(Path::new("chain2"), "chain1");
    link(Path::new("src/../chain3"), "chain2");
    link(&place.outside.join("secret"), "chain3");
    link(Path::new("/proc/self/root/etc/passwd"), "proc");
    link(Path::new("/proc/self/cwd"), "cwd");
    link(Path::new("/dev/zero"), "zero");
    link(Path::new("/"), "root");
    link(Path::new("loop"), "loop");
    for path in [
        "file",
        "directory/secret",
        "relative",
        "chain1",
        "chain2",
        "chain3",
        "proc",
        "cwd/Cargo.toml",
        "zero",
        "root/etc/passwd",
        "loop",
    ] {
        let refusal = read(&place, path).expect_err(path);
        assert!(matches!(refusal.kind, RefusalKind::LeadsOut | RefusalKind::Link), "{path}: {refusal:?}");
        if path != "loop" {
            assert!(refusal.to_string().contains("leads out"), "{refusal}");
        }
        assert!(!place.workspace.exists(&place.workspace.path(path).unwrap()));
    }
    for path in ["file", "directory/new", "directory/deep/new", "relative", "chain1", "root/tmp/x"] {
        write_all_ways(&place, path);
    }
    // A link that leads nowhere yet must not make a file out there either.
    link(&place.outside.join("new"), "dangling");
    write_all_ways(&place, "dangling");
    assert!(place.workspace.read_dir(&place.workspace.path("directory").unwrap()).is_err());
    assert_eq!(std::fs::read_dir(&place.outside).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(place.outside.join("secret")).unwrap(), "secret");
}

#[test]
fn links_inside_are_read_but_closed_places_stay_closed() {
    let place = place();
    symlink("src/a.txt", place.root.join("alias")).unwrap();
    symlink(".tickets", place.root.join("tickets")).unwrap();
    symlink(".git", place.root.join("repository")).unwrap();
    symlink(".marvin/runs", place.root.join("runs")).unwrap();
    assert_eq!(read(&place, "alias").unwrap(), "inside");
    assert_eq!(read(&place, "tickets/t.md").unwrap_err().kind, RefusalKind::Tickets);
    assert!(write_all_ways(&place, "alias").iter().all(|refusal| refusal.kind == RefusalKind::Link));
    for path in ["tickets/new.md", "repository/config", "repository/hooks/x", "runs/trace.jsonl", "runs/new"]
    {
        let refusals = write_all_ways(&place, path);
        assert!(
            refusals.iter().all(|refusal| matches!(refusal.kind, RefusalKind::Closed | RefusalKind::Tickets)),
            "{path}: {refusals:?}"
        );
    }
}

#[test]
fn the_record_is_read_but_not_written() {
    let place = place();
    assert_eq!(read(&place, ".marvin/upstream/spec.md").unwrap(), "upstream");
    assert_eq!(read(&place, ".marvin/runs/trace.jsonl").unwrap(), "{}");
    for path in [
        ".marvin/upstream/spec.md",
        ".marvin/upstream/new.md",
        ".marvin/runs/trace.jsonl",
        ".marvin/memory/state.json",
        ".marvin/security/denylist.json",
        ".marvin/agents/a.md",
        ".marvin/config.toml",
        ".marvin/pipeline_state",
        ".git/config",
        ".git/hooks/pre-commit",
        "vendored/.git/config",
        ".",
    ] {
        let refusals = write_all_ways(&place, path);
        assert!(refusals.iter().all(|refusal| refusal.kind == RefusalKind::Closed), "{path}: {refusals:?}");
    }
    place.workspace.create_new(&place.workspace.path(".marvin/spec.md").unwrap(), b"spec").unwrap();
}

#[test]
fn only_regular_files_are_opened_and_nothing_waits() {
    let place = place();
    let pipe = place.root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(place.root.join("socket")).unwrap();
    for path in ["pipe", "src"] {
        assert_eq!(read(&place, path).unwrap_err().kind, RefusalKind::NotRegular, "{path}");
    }
    assert!(read(&place, "socket").is_err());
    for path in ["pipe", "socket", "src"] {
        write_all_ways(&place, path);
    }
    assert_eq!(read(&place, "nothing").unwrap_err().kind, RefusalKind::Missing);
    assert_eq!(read(&place, "src/a.txt/b").unwrap_err().kind, RefusalKind::Missing);
    std::fs::write(place.root.join("binary"), [0xff, 0xfe]).unwrap();
    assert_eq!(read(&place, "binary").unwrap_err().kind, RefusalKind::NotText);
    std::fs::write(place.root.join("large"), vec![b'x'; 1001]).unwrap();
    assert_eq!(read(&place, "large").unwrap_err().kind, RefusalKind::TooLarge);
}

#[test]
fn plain_work_works() {
    let place = place();
    let path = place.workspace.path("new/deep/file.sh").unwrap();
    place.workspace.create_new(&path, b"one\n").unwrap();
    assert_eq!(place.workspace.create_new(&path, b"x").unwrap_err().kind, RefusalKind::Exists);
    place.workspace.append(&path, b"two\n").unwrap();
    let real = place.root.join("new/deep/file.sh");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o750)).unwrap();
    place.workspace.replace(&path, b"three\n").unwrap();
    let mut text = String::new();
    place.workspace.open_read(&path).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "three\n");
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(place.workspace.metadata(&path).unwrap().len(), 6);
    let entries = place.workspace.read_dir(&place.workspace.path("new/deep").unwrap()).unwrap();
    assert_eq!(entries.len(), 1, "no temporary file is left: {entries:?}");
    assert!(place.workspace.append(&place.workspace.path("absent").unwrap(), b"x").is_err());
    assert!(place.workspace.replace(&place.workspace.path("absent").unwrap(), b"x").is_err());
}

#[test]
fn a_directory_swapped_for_a_link_is_not_followed() {
    let place = place();
    let path = place.workspace.path("src/a.txt").unwrap();
    std::fs::rename(place.root.join("src"), place.root.join("old")).unwrap();
    symlink(&place.outside, place.root.join("src")).unwrap();
    assert!(place.workspace.read_to_string(&path, 100).is_err());
    let secret = place.workspace.path("src/secret").unwrap();
    assert!(place.workspace.append(&secret, b"x").is_err());
    assert!(place.workspace.replace(&secret, b"x").is_err());
}

#[test]
fn what_cannot_be_a_workspace() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "").unwrap();
    for path in
        [Path::new("/"), directory.path(), &directory.path().join("file"), &directory.path().join("missing")]
    {
        let refusal = Workspace::open(path, directory.path()).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Workspace, "{}", path.display());
        assert!(!refusal.how_to_fix.is_empty());
    }
    symlink("/", directory.path().join("root")).unwrap();
    assert!(Workspace::open(&directory.path().join("root"), directory.path()).is_err());
}

#[test]
fn the_one_question() {
    let place = place();
    let full = Access::Full;
    let list = Access::writable(["src/a.txt".to_string()]);
    let (settings, redactor) = (Settings::defaults().unwrap(), Redactor::patterns_only());
    let layers = Layers::none();
    let ask = |intent: &Intent, access: &Access, attended: bool, may_execute: bool| {
        let context = Context {
            workspace: Some(&place.workspace),
            home: Path::new("/home/a"),
            access,
            attended,
            may_execute,
            duty: &Duty::default(),
            settings: &settings,
            redactor: &redactor,
            layers: &layers,
        };
        judge(intent, &context).decision
    };
    let command = |line: &str| Intent::Command { line: line.into() };
    let write = |path: &str| Intent::Write { path: path.into() };
    let read = |path: &str| Intent::Read { path: path.into() };
    let tool = |touches| Intent::Tool { name: "t".into(), touches };
    assert_eq!(ask(&command("ls"), &full, false, true), Decision::Allow);
    assert_eq!(ask(&command("pip install x"), &full, true, true), Decision::Ask);
    assert_eq!(ask(&command("pip install x"), &full, false, true), Decision::Deny);
    assert_eq!(ask(&command("ls"), &full, true, false), Decision::Deny);
    assert_eq!(ask(&command("ls"), &Access::Readonly, true, true), Decision::Deny);
    assert_eq!(ask(&write("src/b.txt"), &full, false, true), Decision::Allow);
    assert_eq!(ask(&write("src/b.txt"), &Access::Readonly, false, true), Decision::Deny);
    assert_eq!(ask(&write("src/b.txt"), &list, false, true), Decision::Deny);
    assert_eq!(ask(&write("./src//a.txt"), &list, false, true), Decision::Allow);
    assert_eq!(ask(&write(".git/config"), &full, false, true), Decision::Deny);
    assert_eq!(ask(&read(".git/config"), &Access::Readonly, false, true), Decision::Allow);
    assert_eq!(ask(&read("/etc/passwd"), &full, true, true), Decision::Deny);
    for path in [
        "AGENTS.md",
        "CLAUDE.md",
        ".marvin-instructions",
        ".marvin/instructions.md",
        ".marvin/packs/a/b",
        ".marvin/skills/c.md",
    ] {
        assert_eq!(ask(&write(path), &full, true, true), Decision::Ask, "{path}");
        assert_eq!(ask(&write(path), &full, false, true), Decision::Deny, "{path}");
        assert_eq!(ask(&read(path), &full, false, true), Decision::Allow, "{path}");
    }
    assert_eq!(
        ask(&write("AGENTS.md"), &Access::writable(["AGENTS.md".to_string()]), false, true),
        Decision::Allow
    );
    assert_eq!(ask(&tool(Touches::WRITES), &Access::Readonly, true, true), Decision::Deny);
    assert_eq!(ask(&tool(Touches::WRITES), &list, true, true), Decision::Allow);
    assert_eq!(ask(&tool(Touches::EXECUTES), &list, true, true), Decision::Deny);
    assert_eq!(ask(&tool(Touches::READS), &Access::Readonly, true, true), Decision::Allow);
    let nowhere = Context {
        workspace: None,
        home: Path::new("/"),
        access: &full,
        attended: true,
        may_execute: true,
        duty: &Duty::default(),
        settings: &settings,
        redactor: &redactor,
        layers: &layers,
    };
    assert_eq!(judge(&read("a"), &nowhere).decision, Decision::Deny);
    let request = |url: &str| Intent::Request { url: url.into(), service: None };
    assert_eq!(ask(&request("https://example.com/"), &full, true, true), Decision::Ask);
    assert_eq!(ask(&request("https://example.com/"), &full, false, true), Decision::Deny);
    assert_eq!(ask(&request("http://127.0.0.1/"), &full, true, true), Decision::Deny);
    assert_eq!(judge(&command("ls"), &nowhere).decision, Decision::Deny);
}
