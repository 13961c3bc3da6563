//! Escapes from the workspace, each tried with every file tool on a real disk.
//!
//! After every case: files outside are unchanged, none of their text was shown, and every refusal names the
//! path, the working directory and a fix.

use crate::support;
use marvin_tools::CallOutcome;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Text of every file outside; it must never be shown.
const CANARY: &str = "canary-0d1c9f77";
/// Text of every file that is blocked for reading.
const TICKET: &str = "ticket-5be2a1c4";

struct Fixture {
    inner: support::Fixture,
    root: PathBuf,
    outside: PathBuf,
}

fn fixture() -> Fixture {
    let inner = support::Fixture::new();
    let (root, outside) = (inner.root.clone(), inner.home.join("outside"));
    for directory in [".tickets", ".marvin/runs/r1", ".marvin/upstream", ".marvin/notes", ".git/hooks"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::create_dir_all(outside.join("deep")).unwrap();
    for (path, text) in [
        ("src/a.txt", "inside\n"),
        (".tickets/t.md", TICKET),
        (".marvin/upstream/spec.md", "upstream\n"),
        (".marvin/runs/r1/trace.jsonl", "{}\n"),
        (".git/config", "[core]\n"),
    ] {
        inner.write(path, text);
    }
    for path in ["secret", "deep/secret", "a.txt", ".gitignore"] {
        std::fs::write(outside.join(path), format!("{CANARY}\n")).unwrap();
    }
    std::fs::write(inner.home.join("secret"), format!("{CANARY}\n")).unwrap();
    Fixture { inner, root, outside }
}

impl Fixture {
    async fn call(&self, tool: &str, arguments: Value) -> CallOutcome {
        let called = self.inner.call(tool, arguments);
        tokio::time::timeout(Duration::from_secs(20), called)
            .await
            .unwrap_or_else(|_| panic!("{tool} did not end"))
    }

    /// All files outside and all blocked ones inside: path, kind and text.
    fn canaries(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let outer = self.root.parent().unwrap();
        let mut directories: Vec<PathBuf> = [".tickets", ".git", ".marvin/runs", ".marvin/upstream"]
            .iter()
            .map(|closed| self.root.join(closed))
            .chain([outer.to_path_buf(), self.outside.clone()])
            .collect();
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
                let kind = entry.file_type().unwrap();
                let text = if kind.is_file() {
                    std::fs::read_to_string(entry.path()).unwrap()
                } else {
                    format!("{kind:?}")
                };
                found.insert(entry.path(), text);
                if kind.is_dir() && directory != outer {
                    directories.push(entry.path());
                }
            }
        }
        found
    }
}

/// The expectation of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// No tool may do anything with it.
    Refused,
    /// It may be read but not written.
    ReadOnly,
    /// An ordinary path, however odd; every effect stays inside.
    Inside,
}

/// Every file tool call with this path.
fn calls(path: &str) -> Vec<(&'static str, Value, bool)> {
    let codex = format!(
        "*** Begin Patch\n*** Update File: src/a.txt\n@@\n-inside\n+changed\n*** Add File: {path}\n+x\n*** End Patch"
    );
    let update = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-{CANARY}\n+gone\n*** End Patch");
    let diff = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{CANARY}\n+gone\n");
    vec![
        ("read_file", json!({"path": path}), false),
        ("read_file", json!({"path": path, "start_line": 1, "end_line": 5}), false),
        ("code_grep", json!({"pattern": "canary|ticket-", "path": path}), false),
        ("tree", json!({"path": path}), false),
        ("create_file", json!({"path": path, "content": "x"}), true),
        ("append_file", json!({"path": path, "content": "x"}), true),
        ("apply_patch", json!({"path": path, "old_str": CANARY, "new_str": "gone"}), true),
        ("apply_patch", json!({"patch": codex}), true),
        ("apply_patch", json!({"patch": update}), true),
        ("apply_patch", json!({"patch": diff}), true),
        ("read_note", json!({"path": path}), false),
        ("write_note", json!({"path": path, "content": "x"}), true),
    ]
}

fn shown(called: &CallOutcome) -> String {
    format!("{} {:?} {}", called.result.for_model(), called.verdict, json!(called.result))
}

/// Whether a refusal names the problem, the place and a fix.
fn assert_actionable(fixture: &Fixture, path: &str, called: &CallOutcome, what: &str) {
    let text = called.result.for_model();
    let named = path.chars().take(20).collect::<String>();
    let named = [named.clone(), format!("{named:?}").trim_matches('"').to_string()];
    let tidy = path.trim_matches('/').trim_start_matches("./");
    let parts = path.len() > 255 && text.contains("longer than");
    let empty = path.trim().is_empty() && text.contains("empty");
    assert!(
        parts || empty || named.iter().any(|name| text.contains(name.as_str())) || text.contains(tidy),
        "{what}: the path is not named: {text}"
    );
    assert!(text.contains(&fixture.root.display().to_string()), "{what}: the workspace is not named: {text}");
    assert!(text.lines().count() >= 2, "{what}: the fix is missing: {text}");
}

async fn attempt(path: &str, expect: Expect, setup: impl Fn(&Fixture)) {
    let fresh = || {
        let fixture = fixture();
        setup(&fixture);
        fixture
    };
    let mut fixture = fresh();
    for (tool, arguments, writes) in calls(path) {
        let before = fixture.canaries();
        let called = fixture.call(tool, arguments.clone()).await;
        let what = format!("{path:?} {expect:?} {tool} {arguments}");
        assert_eq!(fixture.canaries(), before, "{what}: something outside changed");
        let shown = shown(&called);
        assert!(!shown.contains(CANARY) || arguments.to_string().contains(CANARY), "{what}: {shown}");
        assert!(!shown.contains(TICKET), "{what}: {shown}");
        let notes = tool.ends_with("_note");
        let refused = match expect {
            Expect::Refused => true,
            Expect::ReadOnly => writes,
            Expect::Inside => false,
        };
        // A note of that name is another path, where an odd name may be fine.
        if refused && !notes {
            assert!(!called.result.ok, "{what}: {shown}");
            // A name with a line break cannot be written into a patch, which is refused as malformed.
            let broken = tool == "apply_patch" && path.contains(['\n', '\r']);
            if !broken {
                assert_actionable(&fixture, path, &called, &what);
            }
        }
        if !called.result.ok {
            let text = std::fs::read_to_string(fixture.root.join("src/a.txt")).unwrap_or("inside\n".into());
            assert_eq!(text, "inside\n", "{what}: half of a patch was applied");
        } else if writes {
            fixture = fresh();
        }
    }
}

fn nothing(_house: &Fixture) {}

#[tokio::test]
async fn path_spellings_do_not_escape() {
    use Expect::{Inside, ReadOnly, Refused};
    let long_part = "n".repeat(300);
    let long_path = "d/".repeat(2500) + "f";
    let deep = "d/".repeat(200) + "f";
    let texts: Vec<(&str, Expect)> = vec![
        // Absolute paths in every spelling.
        ("/etc/passwd", Refused),
        ("//etc/passwd", Refused),
        ("/", Refused),
        ("///", Refused),
        ("/./etc/passwd", Refused),
        ("/proc/self/root/etc/passwd", Refused),
        ("/proc/self/cwd/src/a.txt", Refused),
        ("/dev/fd/0", Refused),
        ("/dev/zero", Refused),
        ("~", Refused),
        ("~/secret", Refused),
        ("~/../outside/secret", Refused),
        // `..` in every position.
        ("..", Refused),
        ("../", Refused),
        ("../outside/secret", Refused),
        ("../secret", Refused),
        ("./../outside/secret", Refused),
        (".//../outside/secret", Refused),
        ("src/../../outside/secret", Refused),
        ("src/../src/a.txt", Refused),
        ("src/..", Refused),
        ("src/../..", Refused),
        ("missing/../../outside/secret", Refused),
        ("src/a.txt/../../../outside/secret", Refused),
        ("a/../.tickets/t.md", Refused),
        ("../work/src/a.txt", Refused),
        ("src/a.txt/..", Refused),
        // Invalid.
        ("", Refused),
        ("   ", Refused),
        ("src/a.txt\0", Refused),
        ("../outside/secret\0.txt", Refused),
        ("src\n/a.txt", Refused),
        ("src/\r../outside", Refused),
        ("src/\u{7f}a", Refused),
        (&long_part, Refused),
        (&long_path, Refused),
        // Protected places.
        (".tickets", Refused),
        (".tickets/t.md", Refused),
        ("./.tickets/t.md", Refused),
        (".//.//.tickets//t.md", Refused),
        (".TICKETS/t.md", Refused),
        (".tickets./t.md", Refused),
        (".tickets /t.md", Refused),
        (".tick\u{200b}ets/t.md", Refused),
        (".git/config", ReadOnly),
        (".git/hooks/pre-commit", ReadOnly),
        (".GIT/config", ReadOnly),
        (".Git/hooks/post-checkout", ReadOnly),
        (".git./config", ReadOnly),
        ("vendored/.git/config", ReadOnly),
        (".marvin/runs/r1/trace.jsonl", ReadOnly),
        (".marvin/upstream/spec.md", ReadOnly),
        (".MARVIN/Upstream/spec.md", ReadOnly),
        (".marvin/config.toml", ReadOnly),
        // Odd but ordinary names, without the meaning they have elsewhere.
        ("...", Inside),
        ("src/.../a", Inside),
        ("file:///etc/passwd", Inside),
        ("C:\\Windows\\system.ini", Inside),
        ("..\\outside\\secret", Inside),
        ("src\\..\\..\\outside\\secret", Inside),
        ("$HOME/secret", Inside),
        ("${HOME}/secret", Inside),
        ("*", Inside),
        ("src/*", Inside),
        ("{a,b}", Inside),
        ("`id`", Inside),
        ("%2e%2e/outside/secret", Inside),
        ("%2fetc%2fpasswd", Inside),
        ("\u{ff0e}\u{ff0e}/outside/secret", Inside),
        ("src\u{ff0f}..\u{ff0f}..\u{ff0f}secret", Inside),
        ("\u{2025}/outside/secret", Inside),
        ("\u{202e}terces/edistuo/..", Refused),
        ("\u{202e}txt.a", Inside),
        (".\u{200b}./outside/secret", Inside),
        ("caf\u{e9}.txt", Inside),
        ("cafe\u{301}.txt", Inside),
        ("src/a.txt.", Inside),
        ("src/a.txt ", Inside),
        ("src/a.txt/", Inside),
        (" src/a.txt", Inside),
        ("~root/secret", Inside),
        ("-rf", Inside),
        (&deep, Inside),
    ];
    let mut cases = 0;
    for (path, expect) in &texts {
        attempt(path, *expect, nothing).await;
        cases += 1;
    }
    assert!(cases >= 60, "only {cases} cases");
}

/// Makes a symlink in the workspace.
fn link(fixture: &Fixture, target: impl AsRef<Path>, name: &str) {
    symlink(target, fixture.root.join(name)).unwrap();
}

#[tokio::test]
async fn symlinks_do_not_escape() {
    use Expect::{Inside, ReadOnly, Refused};
    type Setup = fn(&Fixture);
    let cases: Vec<(&str, Expect, Setup)> = vec![
        ("l", Refused, |h| link(h, h.outside.join("secret"), "l")),
        ("l", Refused, |h| link(h, "../outside/secret", "l")),
        ("src/l", Refused, |h| link(h, "../../outside/secret", "src/l")),
        ("l/secret", Refused, |h| link(h, &h.outside, "l")),
        ("l/deep/secret", Refused, |h| link(h, &h.outside, "l")),
        ("l/new", Refused, |h| link(h, "../outside", "l")),
        ("l/new/newer/file", Refused, |h| link(h, "../outside", "l")),
        ("src/l/secret", Refused, |h| link(h, "../../outside", "src/l")),
        ("one", Refused, |h| {
            link(h, "two", "one");
            link(h, "src/../three", "two");
            link(h, h.outside.join("secret"), "three");
        }),
        ("one/secret", Refused, |h| {
            link(h, "two", "one");
            link(h, "three", "two");
            link(h, "../outside", "three");
        }),
        ("in/out/secret", Refused, |h| {
            link(h, "src", "in");
            link(h, "../../outside", "src/out");
        }),
        ("l/work/src/a.txt", Refused, |h| link(h, "..", "l")),
        ("l/outside/secret", Refused, |h| link(h, "..", "l")),
        ("l/outside/secret", Refused, |h| link(h, "src/../..", "l")),
        ("root/etc/passwd", Refused, |h| link(h, "/", "root")),
        ("p", Refused, |h| link(h, "/proc/self/root/etc/passwd", "p")),
        ("p/etc/passwd", Refused, |h| link(h, "/proc/self/root", "p")),
        ("p/src/a.txt", Refused, |h| link(h, "/proc/self/cwd", "p")),
        ("p/0", Refused, |h| link(h, "/proc/self/fd", "p")),
        ("p/0", Refused, |h| link(h, "/dev/fd", "p")),
        ("p", Refused, |h| link(h, "/proc/self/environ", "p")),
        ("zero", Refused, |h| link(h, "/dev/zero", "zero")),
        ("tty", Refused, |h| link(h, "/dev/tty", "tty")),
        ("loop", Refused, |h| link(h, "loop", "loop")),
        ("ping", Refused, |h| {
            link(h, "pong", "ping");
            link(h, "ping", "pong");
        }),
        ("loop/x", Refused, |h| link(h, "loop/y", "loop")),
        ("dangling", Refused, |h| link(h, h.outside.join("new"), "dangling")),
        ("dangling", Refused, |h| link(h, "../outside/new", "dangling")),
        ("dangling", Refused, |h| link(h, "nowhere", "dangling")),
        ("dangling/new", Refused, |h| link(h, "../outside/newer", "dangling")),
        ("abs", Refused, |h| link(h, h.root.join("src/a.txt"), "abs")),
        ("t/t.md", Refused, |h| link(h, ".tickets", "t")),
        ("t", Refused, |h| link(h, ".tickets/t.md", "t")),
        ("s/t.md", Refused, |h| {
            link(h, "../.tickets", "src/t");
            link(h, "src/t", "s");
        }),
        ("g/config", ReadOnly, |h| link(h, ".git", "g")),
        ("g/hooks/pre-commit", ReadOnly, |h| link(h, ".git", "g")),
        ("g/new", ReadOnly, |h| link(h, ".git/hooks", "g")),
        ("r/trace.jsonl", ReadOnly, |h| link(h, ".marvin/runs/r1", "r")),
        ("u/spec.md", ReadOnly, |h| link(h, ".marvin/upstream", "u")),
        ("alias", ReadOnly, |h| link(h, "src/a.txt", "alias")),
        ("alias2", ReadOnly, |h| {
            link(h, "src/a.txt", "alias");
            link(h, "alias", "alias2");
        }),
        ("in/a.txt", Inside, |h| link(h, "src", "in")),
        ("in/new.txt", Inside, |h| link(h, "src", "in")),
        (".marvin/notes/out/secret", Refused, |h| link(h, &h.outside, ".marvin/notes/out")),
        ("hard", Inside, |h| std::fs::hard_link(h.root.join("src/a.txt"), h.root.join("hard")).unwrap()),
    ];
    assert!(cases.len() >= 40);
    for (path, expect, setup) in cases {
        attempt(path, expect, setup).await;
    }
}

/// A hard link is the file itself. An agent cannot create one to a file outside (the sandbox prevents it), but a person can,
/// and then the file is inside.
#[tokio::test]
async fn a_hard_link_is_the_file_and_is_replaced_not_written_through() {
    let fixture = fixture();
    std::fs::hard_link(fixture.outside.join("secret"), fixture.root.join("hard")).unwrap();
    let before = fixture.canaries();
    let done =
        fixture.call("apply_patch", json!({"path": "hard", "old_str": CANARY, "new_str": "mine"})).await;
    assert!(done.result.ok, "{:?}", done.result);
    assert_eq!(std::fs::read_to_string(fixture.root.join("hard")).unwrap(), "mine\n");
    assert_eq!(fixture.canaries(), before, "the other name keeps the old text");
}

#[tokio::test]
async fn searches_of_the_whole_tree_stay_inside() {
    let fixture = fixture();
    link(&fixture, &fixture.outside, "src/directory");
    link(&fixture, fixture.outside.join("secret"), "src/file");
    link(&fixture, fixture.outside.join(".gitignore"), "src/.gitignore");
    link(&fixture, "../.tickets", "src/tickets");
    let odd = fixture.root.join("src").join(OsStr::from_bytes(b"odd-\xff\xfe-name"));
    std::fs::write(&odd, "odd text\n").unwrap();
    symlink(&fixture.outside, fixture.root.join(OsStr::from_bytes(b"link-\xff"))).unwrap();
    for (tool, arguments) in [
        ("code_grep", json!({"pattern": "canary-|ticket-", "max_results": 1000})),
        ("code_grep", json!({"pattern": ".", "path": "src", "max_results": 1000})),
        ("tree", json!({"max_depth": 20})),
        ("tree", json!({"max_depth": 20, "respect_gitignore": false})),
    ] {
        let called = fixture.call(tool, arguments).await;
        assert!(called.result.ok, "{:?}", called.result);
        let shown = shown(&called);
        assert!(!shown.contains(CANARY) && !shown.contains(TICKET), "{shown}");
        assert!(!shown.contains("deep"), "{shown}");
    }
    for path in ["src/odd-\u{fffd}\u{fffd}-name", "link-\u{fffd}/secret"] {
        let called = fixture.call("read_file", json!({"path": path})).await;
        assert!(!called.result.ok && called.result.for_model().contains("no such file"));
    }
}

#[tokio::test]
async fn files_that_are_not_regular_are_refused_at_once() {
    let made = |program: &str, arguments: &[&str], path: &Path| {
        Command::new(program).arg(path).args(arguments).status().is_ok_and(|status| status.success())
    };
    let check = async |path: &str, setup: &dyn Fn(&Fixture)| {
        let started = Instant::now();
        attempt(path, Expect::Refused, setup).await;
        assert!(started.elapsed() < Duration::from_secs(20), "{path} was waited for");
    };
    check("pipe", &|fixture| assert!(made("mkfifo", &[], &fixture.root.join("pipe")))).await;
    check("l", &|fixture| {
        assert!(made("mkfifo", &[], &fixture.root.join("src/pipe")));
        link(fixture, "src/pipe", "l");
    })
    .await;
    check("socket", &|fixture| {
        // The socket file stays when the listener is gone.
        drop(std::os::unix::net::UnixListener::bind(fixture.root.join("socket")).unwrap());
    })
    .await;
    let trial = fixture();
    if !made("mknod", &["c", "1", "5"], &trial.root.join("zero")) {
        say("SKIPPED: device nodes (mknod needs root)");
        return;
    }
    check("zero", &|fixture| assert!(made("mknod", &["c", "1", "5"], &fixture.root.join("zero")))).await;
    check("disk", &|fixture| assert!(made("mknod", &["b", "7", "200"], &fixture.root.join("disk")))).await;
}

#[expect(clippy::print_stderr, reason = "what a test could not try must be seen")]
fn say(text: &str) {
    eprintln!("{text}");
}

const MOUNTED: &str = "MARVIN_TEST_MOUNT";

/// An outside directory mounted inside: this test runs again in its own user and mount namespace.
#[test]
fn a_bind_mount_inside_is_refused() {
    if std::env::var_os(MOUNTED).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(mounts());
        return;
    }
    let myself = std::env::current_exe().unwrap();
    let trial = Command::new("unshare").args(["-rm", "true"]).status();
    if !trial.is_ok_and(|status| status.success()) {
        say("SKIPPED: a mount inside (user namespaces are not allowed here)");
        return;
    }
    let status = Command::new("unshare")
        .args(["-rm"])
        .arg(myself)
        .args(["--exact", "escape::a_bind_mount_inside_is_refused"])
        .env(MOUNTED, "1")
        .status()
        .unwrap();
    assert!(status.success());
}

async fn mounts() {
    let mount = |fixture: &Fixture, from: &Path, to: &str| {
        let to = fixture.root.join(to);
        if from.is_dir() {
            std::fs::create_dir_all(&to).unwrap();
        } else {
            std::fs::write(&to, "").unwrap();
        }
        let status = Command::new("mount").arg("--bind").arg(from).arg(&to).status().unwrap();
        assert!(status.success());
    };
    for path in ["m/secret", "m/deep/secret", "m/new", "m/new/newer", "m/a.txt"] {
        attempt(path, Expect::Refused, |fixture| mount(fixture, &fixture.outside, "m")).await;
    }
    attempt("file", Expect::Refused, |fixture| mount(fixture, &fixture.outside.join("secret"), "file")).await;
    attempt("l/secret", Expect::Refused, |fixture| {
        mount(fixture, &fixture.outside, "src/m");
        link(fixture, "src/m", "l");
    })
    .await;
    let fixture = fixture();
    mount(&fixture, &fixture.outside, "m");
    for (tool, arguments) in [("code_grep", json!({"pattern": "canary-"})), ("tree", json!({"max_depth": 9}))]
    {
        let shown = shown(&fixture.call(tool, arguments).await);
        assert!(!shown.contains(CANARY) && !shown.contains("deep"), "{shown}");
    }
}

/// Another thread swaps a file and a directory for symlinks, thousands of times a second, while every tool works on them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_swapped_at_the_last_moment_does_not_help() {
    let fixture = fixture();
    let stop = Arc::new(AtomicBool::new(false));
    let swaps = Arc::new(AtomicU64::new(0));
    let (root, outside) = (fixture.root.clone(), fixture.outside.clone());
    std::fs::create_dir(root.join("directory")).unwrap();
    for name in ["secret", "a.txt"] {
        std::fs::write(root.join("directory").join(name), "inside\n").unwrap();
    }
    std::fs::write(root.join("file"), "inside\n").unwrap();
    let before = fixture.canaries();
    let swapper = {
        let (root, stop, swaps) = (root.clone(), Arc::clone(&stop), Arc::clone(&swaps));
        std::thread::spawn(move || {
            let closed = root.join(".git");
            let mut out = false;
            while !stop.load(Ordering::Relaxed) {
                // Alternately a symlink out and one into a protected place.
                out = !out;
                let directory = if out { &outside } else { &closed };
                let file = if out { outside.join("secret") } else { closed.join("config") };
                for (name, target) in [("directory", directory), ("file", &file)] {
                    let (real, aside) = (root.join(name), root.join(format!("{name}.aside")));
                    // A tool may have created a file of that name meanwhile; then that is swapped.
                    if std::fs::rename(&real, &aside).is_ok() {
                        symlink(target, &real).ok();
                        std::thread::yield_now();
                        std::fs::remove_file(&real).ok();
                        std::fs::remove_dir_all(&real).ok();
                        std::fs::rename(&aside, &real).ok();
                    }
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
    };
    let calls = [
        ("read_file", json!({"path": "directory/secret"})),
        ("read_file", json!({"path": "file"})),
        ("append_file", json!({"path": "directory/secret", "content": "x"})),
        ("append_file", json!({"path": "file", "content": "x"})),
        ("create_file", json!({"path": "directory/new-ROUND", "content": "x"})),
        ("create_file", json!({"path": "directory/sub-ROUND/new", "content": "x"})),
        ("apply_patch", json!({"path": "directory/secret", "old_str": "inside", "new_str": "inside "})),
        ("apply_patch", json!({"path": "file", "old_str": "inside", "new_str": "inside "})),
        ("apply_patch", json!({"path": "directory/secret", "old_str": "canary", "new_str": "gone"})),
        ("code_grep", json!({"pattern": "canary-", "path": "directory"})),
        ("code_grep", json!({"pattern": "canary-"})),
        ("tree", json!({"path": "directory"})),
        ("tree", json!({})),
    ];
    let started = Instant::now();
    let (mut rounds, mut worked, mut refused) = (0u64, 0u64, 0u64);
    let is_enough = |rounds: u64, worked: u64, refused: u64| {
        rounds > 5 && swaps.load(Ordering::Relaxed) > 1000 && worked > 0 && refused > 0
    };
    // At least for a while, and on a busy machine until there were swaps enough.
    while started.elapsed() < Duration::from_secs(4)
        || (!is_enough(rounds, worked, refused) && started.elapsed() < Duration::from_secs(120))
    {
        for (tool, arguments) in &calls {
            let mut arguments = arguments.clone();
            if let Some(Value::String(path)) = arguments.get_mut("path") {
                *path = path.replace("ROUND", &rounds.to_string());
            }
            let called = fixture.call(tool, arguments.clone()).await;
            let shown = shown(&called);
            assert!(!shown.contains(CANARY) && !shown.contains("[core]"), "{tool} {arguments}: {shown}");
            // A name that exists only outside.
            assert!(!shown.contains("deep") && !shown.contains("hooks"), "{tool} {arguments}: {shown}");
            if called.result.ok { worked += 1 } else { refused += 1 }
        }
        rounds += 1;
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    let counts = format!(
        "{} swaps, {rounds} rounds, {worked} calls worked, {refused} were refused",
        swaps.load(Ordering::Relaxed)
    );
    assert_eq!(fixture.canaries(), before, "{counts}");
    say(&counts);
    assert!(is_enough(rounds, worked, refused), "{counts}");
}
