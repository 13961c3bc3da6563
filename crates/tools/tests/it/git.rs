//! Git on real repositories, friendly and hostile.

use crate::support::Fixture;
use marvin_gate::Access;
use marvin_testing::git;
use marvin_tools::Mode;
use marvin_tools::git::{add_worktree, integrate, remove_worktree};
use serde_json::json;
use std::path::Path;
use std::process::Command;

impl Fixture {
    /// A repository with one commit of `a.txt`.
    fn repository(variables: &[(&str, &str)]) -> Fixture {
        let fixture = Fixture::with(Mode::Coding, &Access::Full, variables);
        git(&fixture.root, &["init", "-q", "-b", "main"]);
        git(&fixture.root, &["config", "user.name", "Test Author"]);
        git(&fixture.root, &["config", "user.email", "some@body"]);
        fixture.write("a.txt", "one\n");
        git(&fixture.root, &["add", "a.txt"]);
        git(&fixture.root, &["commit", "-qm", "first"]);
        fixture
    }
}

#[tokio::test]
async fn status_diff_and_log_show_the_repository() {
    let fixture = Fixture::repository(&[]);
    assert!(fixture.good("git_status", json!({})).await.contains("On branch main\nnothing changed"));
    fixture.write("a.txt", "one\ntwo\n");
    fixture.write("dir/new file.txt", "new\n");
    fixture.write("staged.txt", "s\n");
    git(&fixture.root, &["add", "staged.txt"]);
    let called = fixture.call("git_status", json!({})).await;
    let data = &called.result.data;
    assert_eq!(
        (&data["modified"], &data["staged"], &data["untracked"], &data["clean"]),
        (&json!(["a.txt"]), &json!(["staged.txt"]), &json!(["dir/"]), &json!(false))
    );
    let diff = fixture.good("git_diff", json!({})).await;
    assert!(diff.contains("+two") && !diff.contains("staged.txt"), "{diff}");
    let diff = fixture.good("git_diff", json!({"staged": true})).await;
    assert!(diff.contains("staged.txt") && !diff.contains("+two"), "{diff}");
    assert!(fixture.good("git_diff", json!({"path": "dir"})).await.contains("no changes"));
    assert!(fixture.good("git_diff", json!({"path": "a.txt"})).await.contains("+two"));
    let log = fixture.good("git_log", json!({})).await;
    assert!(log.ends_with(" first\n") && log.lines().count() == 1, "{log}");
    let log = fixture.good("git_log", json!({"oneline": false, "max_count": 1})).await;
    assert!(log.contains("Author: A") && log.contains("    first"), "{log}");
    // A path is a path, not a flag and not a pattern.
    assert!(fixture.bad("git_diff", json!({"path": "../x"})).await.contains("working directory"));
    assert!(fixture.good("git_diff", json!({"path": "--output=x"})).await.contains("no changes"));
    assert!(fixture.good("git_diff", json!({"path": "*"})).await.contains("no changes"));
    assert!(!fixture.root.join("x").exists());
}

#[tokio::test]
async fn read_only_agents_get_only_the_reading_tools() {
    let fixture = Fixture::with(Mode::Coding, &Access::Readonly, &[]);
    git(&fixture.root, &["init", "-q", "-b", "main"]);
    assert!(fixture.good("git_status", json!({})).await.contains("no commits yet"));
    assert!(fixture.good("git_log", json!({})).await.contains("no commits yet"));
    assert!(fixture.good("git_diff", json!({"staged": true})).await.contains("no changes"));
    for tool in ["git_commit", "git_checkout", "run_command"] {
        assert!(fixture.bad(tool, json!({})).await.contains("this agent may only read"), "{tool}");
    }
}

#[tokio::test]
async fn secrets_in_a_diff_are_left_out() {
    let fixture = Fixture::repository(&[]);
    fixture.write(".env", "KEY=old\n");
    git(&fixture.root, &["add", "-f", ".env"]);
    git(&fixture.root, &["commit", "-qm", "oops"]);
    fixture.write(".env", "KEY=hunter2\n");
    fixture.write("a.txt", "changed\n");
    let diff = fixture.good("git_diff", json!({})).await;
    assert!(diff.contains("+changed") && !diff.contains("hunter2") && diff.contains("not shown"), "{diff}");
    assert!(fixture.bad("git_diff", json!({"path": ".env"})).await.contains("may hold secrets"));
}

#[tokio::test]
async fn commits_carry_the_ticket_and_leave_secrets_out() {
    let fixture = Fixture::repository(&[("MARVIN_TICKET", "wo-9c9c")]);
    // Before it has its own ticket, this agent cannot commit.
    assert!(fixture.bad("git_commit", json!({"message": "Too early"})).await.contains("wo-9c9c"));
    assert!(fixture.bad("git_checkout", json!({"target": "main"})).await.contains("wo-9c9c"));
    fixture.context.duty.made("wo-1a2b");
    fixture.write("src/new.rs", "fn main() {}\n");
    fixture.write("odd [name]*.txt", "x\n");
    fixture.write(".env", "KEY=hunter2\n");
    fixture.write("deep/id_rsa", "k\n");
    fixture.write(".marvin/runs/run_1/trace.jsonl", "{}\n");
    git(&fixture.root, &["add", "-f", ".env"]);
    std::fs::remove_file(fixture.root.join("a.txt")).unwrap();
    let text = fixture.good("git_commit", json!({"message": "Add main\n\nIt was missing."})).await;
    assert!(text.contains("left out") && text.contains(".env") && text.contains("deep/id_rsa"), "{text}");
    let shown = git(&fixture.root, &["show", "--stat", "--format=%an%n%B"]);
    assert!(shown.starts_with("Test Author\nAdd main\n\nIt was missing.\n\nTicket: wo-1a2b\n"), "{shown}");
    let files = git(&fixture.root, &["ls-files"]);
    assert_eq!(files, "odd [name]*.txt\nsrc/new.rs\n");
    let again = fixture.bad("git_commit", json!({"message": "More"})).await;
    assert!(again.contains("nothing to commit") && again.contains(".env"), "{again}");
    assert!(fixture.bad("git_commit", json!({"message": "  "})).await.contains("needs `message`"));
    // Only files in the index.
    fixture.write("b.txt", "b\n");
    let none = fixture.bad("git_commit", json!({"message": "More", "add_all": false})).await;
    assert!(none.contains("nothing is in the index"), "{none}");
    git(&fixture.root, &["add", "-f", ".env"]);
    let secret = fixture.bad("git_commit", json!({"message": "More", "add_all": false})).await;
    assert!(secret.contains("may hold secrets"), "{secret}");
    git(&fixture.root, &["rm", "-q", "--cached", ".env"]);
    git(&fixture.root, &["add", "b.txt"]);
    let called = fixture.call("git_commit", json!({"message": "More for wo-1a2b", "add_all": false})).await;
    assert_eq!((called.result.ok, &called.result.data["files"]), (true, &json!(["b.txt"])));
    assert_eq!(git(&fixture.root, &["log", "-1", "--format=%B"]).trim(), "More for wo-1a2b");
}

#[tokio::test]
async fn the_first_commit_and_a_repository_without_an_author() {
    let fixture = Fixture::new();
    git(&fixture.root, &["init", "-q", "-b", "main"]);
    fixture.write("a", "a\n");
    fixture.write(".env", "K=1\n");
    git(&fixture.root, &["add", "-f", ".env"]);
    let text = fixture.good("git_commit", json!({"message": "Begin"})).await;
    assert!(text.contains("left out"), "{text}");
    assert_eq!(git(&fixture.root, &["ls-files"]), "a\n");
    assert_eq!(git(&fixture.root, &["log", "--format=%s"]), "Begin\n");
}

#[tokio::test]
async fn hooks_of_the_project_run_in_the_sandbox_and_may_refuse() {
    let fixture = Fixture::repository(&[]);
    let hook = fixture.root.join(".git/hooks/pre-commit");
    let outside = fixture.home.join("outside");
    let write = |text: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, text).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write(&format!("#!/bin/sh\necho checked\necho x > {}\ntouch ran\nexit 0\n", outside.display()));
    fixture.write("a.txt", "two\n");
    let text = fixture.good("git_commit", json!({"message": "Two"})).await;
    assert!(text.contains("checked"), "{text}");
    assert!(fixture.root.join("ran").exists() && !outside.exists());
    write("#!/bin/sh\necho too ugly >&2\nexit 1\n");
    fixture.write("a.txt", "three\n");
    assert!(fixture.bad("git_commit", json!({"message": "Three"})).await.contains("too ugly"));
    write("#!/bin/sh\ngit config core.pager evil\n");
    let before = fixture.read(".git/config");
    fixture.call("git_commit", json!({"message": "Three"})).await;
    assert_eq!(fixture.read(".git/config"), before);
}

#[tokio::test]
async fn only_the_workspaces_own_repository_is_used() {
    let fixture = Fixture::new();
    git(&fixture.home, &["init", "-q", "-b", "main"]);
    for (tool, arguments) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_log", json!({})),
        ("git_commit", json!({"message": "x"})),
        ("git_checkout", json!({"target": "main"})),
    ] {
        let text = fixture.bad(tool, arguments).await;
        assert!(text.contains("no git repository in the working directory"), "{tool}: {text}");
    }
    // A directory that only looks like a repository.
    std::fs::create_dir(fixture.root.join(".git")).unwrap();
    fixture.write("a", "a");
    assert!(fixture.bad("git_status", json!({})).await.contains("not a git repository"));
    assert!(!fixture.call("git_commit", json!({"message": "x"})).await.result.ok);
    std::fs::remove_dir(fixture.root.join(".git")).unwrap();
    // A symlink and a forged worktree.
    std::os::unix::fs::symlink(fixture.home.join(".git"), fixture.root.join(".git")).unwrap();
    assert!(fixture.bad("git_status", json!({})).await.contains("symbolic link"));
    std::fs::remove_file(fixture.root.join(".git")).unwrap();
    fixture.write(".git", &format!("gitdir: {}\n", fixture.home.join(".git").display()));
    assert!(fixture.bad("git_status", json!({})).await.contains("does not name a worktree"));
}

#[tokio::test]
async fn a_linked_worktree_works() {
    let fixture = Fixture::repository(&[]);
    let main = fixture.home.join("main");
    std::fs::create_dir(&main).unwrap();
    git(&main, &["init", "-q", "-b", "main"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    std::fs::remove_dir_all(&fixture.root).unwrap();
    git(&main, &["worktree", "add", "-q", "-b", "side", fixture.root.to_str().unwrap()]);
    fixture.write("a", "a\n");
    assert!(fixture.good("git_status", json!({})).await.contains("On branch side"));
    fixture.good("git_commit", json!({"message": "On the side"})).await;
    assert_eq!(git(&main, &["log", "--format=%s", "side"]), "On the side\nfirst\n");
}

#[tokio::test]
async fn a_removed_worktree_leaves_nothing_in_the_repository() {
    let fixture = Fixture::repository(&[]);
    let path = ".marvin/worktrees/run/work-1";
    add_worktree(path, &fixture.context).await.unwrap();
    assert!(fixture.root.join(path).join("a.txt").exists());
    assert!(fixture.root.join(".git/worktrees/work-1/commondir").exists());
    // In place of the first, under the same name.
    add_worktree(path, &fixture.context).await.unwrap();
    assert!(!fixture.root.join(".git/worktrees/work-11").exists());
    remove_worktree(path, &fixture.context).await.unwrap();
    assert!(!fixture.root.join(path).exists() && !fixture.root.join(".git/worktrees/work-1").exists());
}

#[tokio::test]
async fn branches_are_switched_and_no_work_is_lost() {
    let fixture = Fixture::repository(&[]);
    let text = fixture.good("git_checkout", json!({"target": "side", "create_branch": true})).await;
    assert!(text.contains("On branch side"), "{text}");
    fixture.write("a.txt", "side\n");
    fixture.good("git_commit", json!({"message": "Side"})).await;
    fixture.write("a.txt", "not committed\n");
    let text = fixture.bad("git_checkout", json!({"target": "main"})).await;
    assert!(text.contains("would be overwritten"), "{text}");
    assert_eq!(fixture.read("a.txt"), "not committed\n");
    git(&fixture.root, &["checkout", "-q", "--", "a.txt"]);
    fixture.good("git_checkout", json!({"target": "main"})).await;
    assert_eq!(fixture.read("a.txt"), "one\n");
    let detached = fixture.good("git_checkout", json!({"target": "HEAD~0"})).await;
    assert!(detached.contains("No branch"), "{detached}");
    fixture.write("a.txt", "precious\n");
    for target in
        ["-f", "--orphan", "--", ".", "-", "a.txt", "a b", "", ":/first", "-b x", "--detach", "no-such"]
    {
        let text = fixture.bad("git_checkout", json!({"target": target})).await;
        assert!(!text.is_empty(), "{target}");
        assert_eq!(fixture.read("a.txt"), "precious\n", "{target}");
    }
    assert!(!fixture.call("git_checkout", json!({"target": "-q", "create_branch": true})).await.result.ok);
    assert!(
        !fixture.call("git_checkout", json!({"target": "bad..name", "create_branch": true})).await.result.ok
    );
}

#[tokio::test]
async fn s6_a_checkout_brings_no_steering_files() {
    let fixture = Fixture::repository(&[]);
    let root = &fixture.root;
    for (branch, path) in [
        ("root", "AGENTS.md"),
        ("nested", "sub/deep/CLAUDE.md"),
        ("settings", "sub/.claude/settings.json"),
        ("spelled", "sub/Agents.MD"),
        ("a/slash", ".github/workflows/ci.yml"),
    ] {
        git(root, &["checkout", "-q", "-b", branch, "main"]);
        fixture.write(path, "evil\n");
        git(root, &["add", "--all"]);
        git(root, &["commit", "-qm", branch]);
        git(root, &["checkout", "-q", "main"]);
        for target in [branch, &format!("{branch}~0"), git(root, &["rev-parse", branch]).trim()] {
            let text = fixture.bad("git_checkout", json!({"target": target})).await;
            assert!(text.contains(path) && text.contains("ask the person"), "{target}: {text}");
            assert!(!root.join(path).exists(), "{target}");
        }
    }
    // A name that git completes to that of a remote branch.
    git(root, &["update-ref", "refs/remotes/origin/guessed", "nested"]);
    git(root, &["config", "remote.origin.url", "/nonexistent"]);
    git(root, &["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
    fixture.call("git_checkout", json!({"target": "guessed"})).await;
    assert!(!root.join("sub/deep/CLAUDE.md").exists());
    git(root, &["checkout", "-qf", "main"]);
    // The same files on both sides.
    git(root, &["checkout", "-q", "nested"]);
    git(root, &["checkout", "-q", "-b", "work"]);
    fixture.write("b.txt", "b\n");
    git(root, &["add", "--all"]);
    git(root, &["commit", "-qm", "work"]);
    fixture.good("git_checkout", json!({"target": "nested"})).await;
    assert_eq!(fixture.read("sub/deep/CLAUDE.md"), "evil\n");
}

/// Every repository setting that makes git start a program.
fn trap(fixture: &Fixture, marker: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let bait = fixture.root.join("bait.sh");
    let text = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat \"$1\" 2>/dev/null || cat\n", marker.display());
    std::fs::write(&bait, text).unwrap();
    std::fs::set_permissions(&bait, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = bait.display().to_string();
    fixture.write(".gitattributes", "*.txt diff=evil filter=evil.er\n*.c diff=worse filter=evil=er\n");
    fixture.write("b.c", "int a;\n");
    git(&fixture.root, &["add", "."]);
    git(&fixture.root, &["commit", "-qm", "bait"]);
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.evil.textconv",
        "diff.worse.command",
        "filter.evil.er.clean",
        "filter.evil.er.smudge",
        "filter.evil=er.clean",
        "filter.evil=er.process",
        "gpg.program",
        "interactive.diffFilter",
        "credential.helper",
    ] {
        git(&fixture.root, &["config", key, &program]);
    }
    for (key, value) in [
        ("alias.status", format!("!{program}")),
        ("alias.diff", format!("!{program}")),
        ("log.showSignature", "true".to_string()),
        ("core.hooksPath", fixture.root.join("hooks").display().to_string()),
        ("protocol.ext.allow", "always".to_string()),
        ("filter.evil.er.required", "true".to_string()),
        ("pager.status", program.clone()),
    ] {
        git(&fixture.root, &["config", key, &value]);
    }
    for hook in ["post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"] {
        fixture.write(&format!("hooks/{hook}"), &format!("#!/bin/sh\n{program} {hook}\n"));
        let path = fixture.root.join("hooks").join(hook);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    fixture.write("a.txt", "changed\n");
    fixture.write("b.c", "int b;\n");
}

#[tokio::test]
async fn a_hostile_repository_runs_nothing_in_the_reading_tools() {
    // Without the sandbox: a program that ran would leave its mark.
    let fixture = Fixture::repository(&[("MARVIN_SANDBOX", "off")]);
    let marker = fixture.home.join("marker");
    trap(&fixture, &marker);
    std::fs::remove_file(&marker).ok();
    let status = fixture.good("git_status", json!({})).await;
    assert!(status.contains(" M a.txt") && status.contains(" M b.c"), "{status}");
    let diff = fixture.good("git_diff", json!({})).await;
    assert!(diff.contains("+changed") && diff.contains("+int b;"), "{diff}");
    fixture.good("git_diff", json!({"staged": true, "path": "a.txt"})).await;
    fixture.good("git_log", json!({"oneline": false})).await;
    assert!(!marker.exists(), "{}", std::fs::read_to_string(&marker).unwrap_or_default());
    // The trap works: git itself triggers it.
    Command::new("git").args(["diff"]).current_dir(&fixture.root).output().unwrap();
    Command::new("git").args(["status"]).current_dir(&fixture.root).output().unwrap();
    let fallen = std::fs::read_to_string(&marker).unwrap();
    assert!(fallen.lines().count() > 2, "{fallen}");
}

#[tokio::test]
async fn a_configuration_with_another_worktree_is_not_followed() {
    let fixture = Fixture::repository(&[]);
    let other = fixture.home.join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("x"), "x").unwrap();
    git(&fixture.root, &["config", "core.worktree", other.to_str().unwrap()]);
    assert!(fixture.good("git_status", json!({})).await.contains("nothing changed"));
    fixture.write("mine.txt", "mine");
    let called = fixture.call("git_commit", json!({"message": "only mine"})).await;
    assert!(called.result.ok, "{}", called.result.text);
    git(&fixture.root, &["config", "--unset", "core.worktree"]);
    let files = git(&fixture.root, &["show", "--name-only", "--format=", "HEAD"]);
    assert_eq!(files.trim(), "mine.txt");
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
}

/// A repository whose branch `main` and whose commit `side` changed the same lines; the workspace is at `main`.
fn diverged(main: &[(&str, Option<&str>)], side: &[(&str, Option<&str>)]) -> (Fixture, String) {
    let fixture = Fixture::repository(&[]);
    fixture.write("b.txt", "b\n");
    git(&fixture.root, &["add", "--all"]);
    git(&fixture.root, &["commit", "-qm", "second"]);
    let apply = |changes: &[(&str, Option<&str>)], message: &str| {
        for (path, text) in changes {
            match text {
                Some(text) => fixture.write(path, text),
                None => std::fs::remove_file(fixture.root.join(path)).unwrap(),
            }
        }
        git(&fixture.root, &["add", "--all"]);
        git(&fixture.root, &["commit", "-qm", message]);
    };
    git(&fixture.root, &["checkout", "-q", "-b", "side"]);
    apply(side, "side");
    let commit = git(&fixture.root, &["rev-parse", "HEAD"]).trim().to_string();
    git(&fixture.root, &["checkout", "-q", "main"]);
    apply(main, "main");
    (fixture, commit)
}

#[tokio::test]
async fn a_squash_prefers_the_squashed_commit_on_conflicts() {
    let read = |fixture: &Fixture, path: &str| std::fs::read_to_string(fixture.root.join(path)).ok();
    // Both changed the same line; what only one of them changed is kept.
    let (fixture, commit) = diverged(
        &[("a.txt", Some("ours\n")), ("b.txt", Some("b\nours\n")), ("ours.txt", Some("o\n"))],
        &[("a.txt", Some("theirs\n")), ("theirs.txt", Some("t\n"))],
    );
    let head = git(&fixture.root, &["rev-parse", "HEAD"]);
    assert_eq!(integrate::squash(&commit, &fixture.context).await.unwrap(), ["a.txt"]);
    assert_eq!(read(&fixture, "a.txt").as_deref(), Some("theirs\n"));
    assert_eq!(read(&fixture, "b.txt").as_deref(), Some("b\nours\n"));
    assert!(read(&fixture, "ours.txt").is_some() && read(&fixture, "theirs.txt").is_some());
    // It is staged, and no branch was moved.
    assert_eq!(git(&fixture.root, &["rev-parse", "HEAD"]), head);
    let new = integrate::commit_index(head.trim(), "squashed", &fixture.context).await.unwrap().unwrap();
    let changed = integrate::changed_between(head.trim(), &new, &fixture.context).await.unwrap();
    assert_eq!(changed, ["a.txt", "theirs.txt"]);
    assert_eq!(
        git(&fixture.root, &["rev-list", "--count", &new]).trim(),
        "4",
        "one commit, without a second parent"
    );
}

#[tokio::test]
async fn a_squash_settles_removals_as_the_squashed_commit_has_them() {
    let (fixture, commit) = diverged(
        &[("a.txt", Some("ours\n")), ("b.txt", None)],
        &[("a.txt", None), ("b.txt", Some("theirs\n"))],
    );
    assert_eq!(integrate::squash(&commit, &fixture.context).await.unwrap(), ["a.txt", "b.txt"]);
    assert!(!fixture.root.join("a.txt").exists());
    assert_eq!(std::fs::read_to_string(fixture.root.join("b.txt")).unwrap(), "theirs\n");
    assert_eq!(git(&fixture.root, &["diff", "--name-only", "--diff-filter=U"]), "");
}
