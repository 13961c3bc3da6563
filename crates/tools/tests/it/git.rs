//! Git on real repositories, friendly and hostile.

use crate::support::House;
use marvin_gate::Access;
use marvin_tools::Mode;
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// Runs git by hand, as the test's own person.
fn git(directory: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(words)
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@b"), ("GIT_COMMITTER_NAME", "A")])
        .env("GIT_COMMITTER_EMAIL", "a@b")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl House {
    /// A repository with one commit of `a.txt`.
    fn repository(variables: &[(&str, &str)]) -> House {
        let house = House::with(Mode::Coding, &Access::Full, variables);
        git(&house.root, &["init", "-q", "-b", "main"]);
        git(&house.root, &["config", "user.name", "Somebody"]);
        git(&house.root, &["config", "user.email", "some@body"]);
        house.write("a.txt", "one\n");
        git(&house.root, &["add", "a.txt"]);
        git(&house.root, &["commit", "-qm", "first"]);
        house
    }
}

#[tokio::test]
async fn status_diff_and_log_say_what_is_there() {
    let house = House::repository(&[]);
    assert!(house.good("git_status", json!({})).await.contains("On branch main\nnothing changed"));
    house.write("a.txt", "one\ntwo\n");
    house.write("dir/new file.txt", "new\n");
    house.write("staged.txt", "s\n");
    git(&house.root, &["add", "staged.txt"]);
    let called = house.call("git_status", json!({})).await;
    let data = &called.result.data;
    assert_eq!(
        (&data["modified"], &data["staged"], &data["untracked"], &data["clean"]),
        (&json!(["a.txt"]), &json!(["staged.txt"]), &json!(["dir/"]), &json!(false))
    );
    let diff = house.good("git_diff", json!({})).await;
    assert!(diff.contains("+two") && !diff.contains("staged.txt"), "{diff}");
    let diff = house.good("git_diff", json!({"staged": true})).await;
    assert!(diff.contains("staged.txt") && !diff.contains("+two"), "{diff}");
    assert!(house.good("git_diff", json!({"path": "dir"})).await.contains("no changes"));
    assert!(house.good("git_diff", json!({"path": "a.txt"})).await.contains("+two"));
    let log = house.good("git_log", json!({})).await;
    assert!(log.ends_with(" first\n") && log.lines().count() == 1, "{log}");
    let log = house.good("git_log", json!({"oneline": false, "max_count": 1})).await;
    assert!(log.contains("Author: A") && log.contains("    first"), "{log}");
    // A path is a path, not a flag and not a pattern.
    assert!(house.bad("git_diff", json!({"path": "../x"})).await.contains("working directory"));
    assert!(house.good("git_diff", json!({"path": "--output=x"})).await.contains("no changes"));
    assert!(house.good("git_diff", json!({"path": "*"})).await.contains("no changes"));
    assert!(!house.root.join("x").exists());
}

#[tokio::test]
async fn readers_have_the_reading_ones_only() {
    let house = House::with(Mode::Coding, &Access::Readonly, &[]);
    git(&house.root, &["init", "-q", "-b", "main"]);
    assert!(house.good("git_status", json!({})).await.contains("no commits yet"));
    assert!(house.good("git_log", json!({})).await.contains("no commits yet"));
    assert!(house.good("git_diff", json!({"staged": true})).await.contains("no changes"));
    for tool in ["git_commit", "git_checkout", "run_command"] {
        assert!(house.bad(tool, json!({})).await.contains("there is no tool"), "{tool}");
    }
}

#[tokio::test]
async fn secrets_in_a_diff_are_left_out() {
    let house = House::repository(&[]);
    house.write(".env", "KEY=old\n");
    git(&house.root, &["add", "-f", ".env"]);
    git(&house.root, &["commit", "-qm", "oops"]);
    house.write(".env", "KEY=hunter2\n");
    house.write("a.txt", "changed\n");
    let diff = house.good("git_diff", json!({})).await;
    assert!(diff.contains("+changed") && !diff.contains("hunter2") && diff.contains("not shown"), "{diff}");
    assert!(house.bad("git_diff", json!({"path": ".env"})).await.contains("may hold secrets"));
}

#[tokio::test]
async fn commits_carry_the_ticket_and_leave_secrets_out() {
    let house = House::repository(&[("MARVIN_TICKET", "wo-9c9c")]);
    // Before it has a ticket of its own, this agent commits nothing.
    assert!(house.bad("git_commit", json!({"message": "Too early"})).await.contains("wo-9c9c"));
    assert!(house.bad("git_checkout", json!({"target": "main"})).await.contains("wo-9c9c"));
    house.context.duty.made("wo-1a2b");
    house.write("src/new.rs", "fn main() {}\n");
    house.write("odd [name]*.txt", "x\n");
    house.write(".env", "KEY=hunter2\n");
    house.write("deep/id_rsa", "k\n");
    house.write(".marvin/runs/run_1/trace.jsonl", "{}\n");
    git(&house.root, &["add", "-f", ".env"]);
    std::fs::remove_file(house.root.join("a.txt")).unwrap();
    let text = house.good("git_commit", json!({"message": "Add main\n\nIt was missing."})).await;
    assert!(text.contains("left out") && text.contains(".env") && text.contains("deep/id_rsa"), "{text}");
    let shown = git(&house.root, &["show", "--stat", "--format=%an%n%B"]);
    assert!(shown.starts_with("Somebody\nAdd main\n\nIt was missing.\n\nTicket: wo-1a2b\n"), "{shown}");
    let files = git(&house.root, &["ls-files"]);
    assert_eq!(files, "odd [name]*.txt\nsrc/new.rs\n");
    let again = house.bad("git_commit", json!({"message": "More"})).await;
    assert!(again.contains("nothing to commit") && again.contains(".env"), "{again}");
    assert!(house.bad("git_commit", json!({"message": "  "})).await.contains("needs `message`"));
    // Only what is in the index.
    house.write("b.txt", "b\n");
    let none = house.bad("git_commit", json!({"message": "More", "add_all": false})).await;
    assert!(none.contains("nothing is in the index"), "{none}");
    git(&house.root, &["add", "-f", ".env"]);
    let secret = house.bad("git_commit", json!({"message": "More", "add_all": false})).await;
    assert!(secret.contains("may hold secrets"), "{secret}");
    git(&house.root, &["rm", "-q", "--cached", ".env"]);
    git(&house.root, &["add", "b.txt"]);
    let called = house.call("git_commit", json!({"message": "More for wo-1a2b", "add_all": false})).await;
    assert_eq!((called.result.ok, &called.result.data["files"]), (true, &json!(["b.txt"])));
    assert_eq!(git(&house.root, &["log", "-1", "--format=%B"]).trim(), "More for wo-1a2b");
}

#[tokio::test]
async fn the_first_commit_and_a_repository_of_nobody() {
    let house = House::new();
    git(&house.root, &["init", "-q", "-b", "main"]);
    house.write("a", "a\n");
    house.write(".env", "K=1\n");
    git(&house.root, &["add", "-f", ".env"]);
    let text = house.good("git_commit", json!({"message": "Begin"})).await;
    assert!(text.contains("left out"), "{text}");
    assert_eq!(git(&house.root, &["ls-files"]), "a\n");
    assert_eq!(git(&house.root, &["log", "--format=%s"]), "Begin\n");
}

#[tokio::test]
async fn hooks_of_the_project_run_in_the_box_and_may_refuse() {
    let house = House::repository(&[]);
    let hook = house.root.join(".git/hooks/pre-commit");
    let outside = house.home.join("outside");
    let write = |text: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, text).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write(&format!("#!/bin/sh\necho checked\necho x > {}\ntouch ran\nexit 0\n", outside.display()));
    house.write("a.txt", "two\n");
    let text = house.good("git_commit", json!({"message": "Two"})).await;
    assert!(text.contains("checked"), "{text}");
    assert!(house.root.join("ran").exists() && !outside.exists());
    write("#!/bin/sh\necho too ugly >&2\nexit 1\n");
    house.write("a.txt", "three\n");
    assert!(house.bad("git_commit", json!({"message": "Three"})).await.contains("too ugly"));
    write("#!/bin/sh\ngit config core.pager evil\n");
    let before = house.read(".git/config");
    house.call("git_commit", json!({"message": "Three"})).await;
    assert_eq!(house.read(".git/config"), before);
}

#[tokio::test]
async fn only_the_workspaces_own_repository_is_used() {
    let house = House::new();
    git(&house.home, &["init", "-q", "-b", "main"]);
    for (tool, arguments) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_log", json!({})),
        ("git_commit", json!({"message": "x"})),
        ("git_checkout", json!({"target": "main"})),
    ] {
        let text = house.bad(tool, arguments).await;
        assert!(text.contains("no git repository in the working directory"), "{tool}: {text}");
    }
    // A directory that only looks like one.
    std::fs::create_dir(house.root.join(".git")).unwrap();
    house.write("a", "a");
    assert!(house.bad("git_status", json!({})).await.contains("not a git repository"));
    assert!(!house.call("git_commit", json!({"message": "x"})).await.result.ok);
    std::fs::remove_dir(house.root.join(".git")).unwrap();
    // A link and a forged worktree.
    std::os::unix::fs::symlink(house.home.join(".git"), house.root.join(".git")).unwrap();
    assert!(house.bad("git_status", json!({})).await.contains("symbolic link"));
    std::fs::remove_file(house.root.join(".git")).unwrap();
    house.write(".git", &format!("gitdir: {}\n", house.home.join(".git").display()));
    assert!(house.bad("git_status", json!({})).await.contains("does not name a worktree"));
}

#[tokio::test]
async fn a_linked_worktree_works() {
    let house = House::repository(&[]);
    let main = house.home.join("main");
    std::fs::create_dir(&main).unwrap();
    git(&main, &["init", "-q", "-b", "main"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    std::fs::remove_dir_all(&house.root).unwrap();
    git(&main, &["worktree", "add", "-q", "-b", "side", house.root.to_str().unwrap()]);
    house.write("a", "a\n");
    assert!(house.good("git_status", json!({})).await.contains("On branch side"));
    house.good("git_commit", json!({"message": "On the side"})).await;
    assert_eq!(git(&main, &["log", "--format=%s", "side"]), "On the side\nfirst\n");
}

#[tokio::test]
async fn branches_are_changed_and_work_is_not_lost() {
    let house = House::repository(&[]);
    let text = house.good("git_checkout", json!({"target": "side", "create_branch": true})).await;
    assert!(text.contains("On branch side"), "{text}");
    house.write("a.txt", "side\n");
    house.good("git_commit", json!({"message": "Side"})).await;
    house.write("a.txt", "not committed\n");
    let text = house.bad("git_checkout", json!({"target": "main"})).await;
    assert!(text.contains("would be overwritten"), "{text}");
    assert_eq!(house.read("a.txt"), "not committed\n");
    git(&house.root, &["checkout", "-q", "--", "a.txt"]);
    house.good("git_checkout", json!({"target": "main"})).await;
    assert_eq!(house.read("a.txt"), "one\n");
    let detached = house.good("git_checkout", json!({"target": "HEAD~0"})).await;
    assert!(detached.contains("No branch"), "{detached}");
    house.write("a.txt", "precious\n");
    for target in
        ["-f", "--orphan", "--", ".", "-", "a.txt", "a b", "", ":/first", "-b x", "--detach", "no-such"]
    {
        let text = house.bad("git_checkout", json!({"target": target})).await;
        assert!(!text.is_empty(), "{target}");
        assert_eq!(house.read("a.txt"), "precious\n", "{target}");
    }
    assert!(!house.call("git_checkout", json!({"target": "-q", "create_branch": true})).await.result.ok);
    assert!(
        !house.call("git_checkout", json!({"target": "bad..name", "create_branch": true})).await.result.ok
    );
}

/// Everything in a repository that starts a program by itself when git looks at it.
fn trap(house: &House, marker: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let bait = house.root.join("bait.sh");
    let text = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat \"$1\" 2>/dev/null || cat\n", marker.display());
    std::fs::write(&bait, text).unwrap();
    std::fs::set_permissions(&bait, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = bait.display().to_string();
    house.write(".gitattributes", "*.txt diff=evil filter=evil.er\n*.c diff=worse filter=evil=er\n");
    house.write("b.c", "int a;\n");
    git(&house.root, &["add", "."]);
    git(&house.root, &["commit", "-qm", "bait"]);
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
        git(&house.root, &["config", key, &program]);
    }
    for (key, value) in [
        ("alias.status", format!("!{program}")),
        ("alias.diff", format!("!{program}")),
        ("log.showSignature", "true".to_string()),
        ("core.hooksPath", house.root.join("hooks").display().to_string()),
        ("protocol.ext.allow", "always".to_string()),
        ("filter.evil.er.required", "true".to_string()),
        ("pager.status", program.clone()),
    ] {
        git(&house.root, &["config", key, &value]);
    }
    for hook in ["post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"] {
        house.write(&format!("hooks/{hook}"), &format!("#!/bin/sh\n{program} {hook}\n"));
        let path = house.root.join("hooks").join(hook);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    house.write("a.txt", "changed\n");
    house.write("b.c", "int b;\n");
}

#[tokio::test]
async fn a_hostile_repository_runs_nothing_in_the_reading_tools() {
    // Without the box: what would run, would leave its mark.
    let house = House::repository(&[("MARVIN_SANDBOX", "off")]);
    let marker = house.home.join("marker");
    trap(&house, &marker);
    std::fs::remove_file(&marker).ok();
    let status = house.good("git_status", json!({})).await;
    assert!(status.contains(" M a.txt") && status.contains(" M b.c"), "{status}");
    let diff = house.good("git_diff", json!({})).await;
    assert!(diff.contains("+changed") && diff.contains("+int b;"), "{diff}");
    house.good("git_diff", json!({"staged": true, "path": "a.txt"})).await;
    house.good("git_log", json!({"oneline": false})).await;
    assert!(!marker.exists(), "{}", std::fs::read_to_string(&marker).unwrap_or_default());
    // The trap is a real one: git by hand falls into it.
    Command::new("git").args(["diff"]).current_dir(&house.root).output().unwrap();
    Command::new("git").args(["status"]).current_dir(&house.root).output().unwrap();
    let fallen = std::fs::read_to_string(&marker).unwrap();
    assert!(fallen.lines().count() > 2, "{fallen}");
}

#[tokio::test]
async fn a_configuration_that_names_another_directory_leads_nowhere() {
    let house = House::repository(&[]);
    let other = house.home.join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("x"), "x").unwrap();
    git(&house.root, &["config", "core.worktree", other.to_str().unwrap()]);
    assert!(house.good("git_status", json!({})).await.contains("nothing changed"));
    house.write("mine.txt", "mine");
    let called = house.call("git_commit", json!({"message": "only mine"})).await;
    assert!(called.result.ok, "{}", called.result.text);
    git(&house.root, &["config", "--unset", "core.worktree"]);
    let files = git(&house.root, &["show", "--name-only", "--format=", "HEAD"]);
    assert_eq!(files.trim(), "mine.txt");
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
}
