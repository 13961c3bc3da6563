//! Files that a sandboxed program may plant in its workspace, and that Marvin, which works outside the sandbox, must not
//! follow, execute or wait for.

use crate::support::Fixture;
use marvin_testing::git;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const SECRET: &str = "my-own-line-of-text";

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A module that stands in the place of pytest, and does this instead.
fn pretend_pytest(fixture: &Fixture, body: &str) {
    fixture.write(
        "pytest.py",
        &format!("import os\nreport = os.environ['TMPDIR'] + '/marvin-report'\n{body}\n"),
    );
    fixture.write("test_a.py", "def test_a(): pass\n");
}

async fn within(
    limit: Duration,
    fixture: &Fixture,
    tool: &str,
    arguments: Value,
) -> marvin_tools::CallOutcome {
    let started = Instant::now();
    let called = fixture.call(tool, arguments).await;
    assert!(started.elapsed() < limit, "{tool}: {:?}", started.elapsed());
    called
}

#[tokio::test]
async fn a_report_that_is_a_pipe_or_a_link_is_none() {
    let fixture = Fixture::new();
    let outside = fixture.home.join("report.xml");
    let report = format!(
        "<testsuites><testsuite tests='1'><testcase classname='{SECRET}' name='x'><failure/></testcase></testsuite></testsuites>"
    );
    std::fs::write(&outside, report).unwrap();
    for body in [
        "os.mkfifo(report)".to_string(),
        format!("os.symlink({:?}, report)", outside.display().to_string()),
        "os.symlink('/dev/zero', report)".to_string(),
    ] {
        pretend_pytest(&fixture, &body);
        let arguments = json!({"runner": "pytest", "timeout": 5});
        let called = within(Duration::from_secs(20), &fixture, "run_tests", arguments).await;
        assert!(
            !called.result.ok && !called.result.for_model().contains(SECRET),
            "{body}: {}",
            called.result.text
        );
    }
}

#[tokio::test]
async fn artifacts_stay_in_their_run() {
    let fixture = Fixture::new().with_run();
    let outside = fixture.home.join("outside");
    std::fs::create_dir(&outside).unwrap();
    let run = fixture.root.join(".marvin/runs/run_1");
    std::fs::rename(run.join("artifacts"), run.join("moved")).unwrap();
    symlink(&outside, run.join("artifacts")).unwrap();
    let lines: String = (0..3000).map(|number| format!("line {number}\n")).collect();
    fixture.write("long.txt", &lines);
    let called = fixture.call("run_command", json!({"command": "cat long.txt"})).await;
    assert!(called.result.artifact.is_some(), "{}", called.result.text);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(run.join("moved")).unwrap().count(), 1);
}

#[tokio::test]
async fn git_is_not_led_elsewhere() {
    let limit = Duration::from_secs(20);
    // A pipe in the place of `.git` is not waited for.
    let fixture = Fixture::new();
    pipe(&fixture.root.join(".git"));
    for tool in ["git_status", "git_log", "git_diff"] {
        assert!(!within(limit, &fixture, tool, json!({})).await.result.ok, "{tool}");
    }
    // A repository of its own making, whose common directory is read as `/` by one and as ` /` by the other.
    let fixture = Fixture::new();
    git(&fixture.root, &["init", "-q"]);
    fixture.write("a", "a");
    let marker = fixture.home.join("marker");
    std::fs::create_dir_all(fixture.root.join("f/wt")).unwrap();
    std::fs::rename(fixture.root.join(".git"), fixture.root.join("f/wt/ ")).unwrap();
    std::fs::copy(fixture.root.join("f/wt/ /HEAD"), fixture.root.join("f/wt/HEAD")).unwrap();
    fixture.write("f/wt/commondir", " /");
    fixture.write("f/wt/gitdir", &format!("{}/.git", fixture.root.display()));
    fixture.write(".git", "gitdir: f/wt");
    let hook = fixture.root.join("f/wt/ /hooks/pre-commit");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
    Command::new("chmod").arg("+x").arg(&hook).status().unwrap();
    for common in [" /", "/", "..", "../../..", &fixture.home.display().to_string()] {
        fixture.write("f/wt/commondir", common);
        let called = fixture.call("git_commit", json!({"message": "m"})).await;
        assert!(!called.result.ok, "{common}: {}", called.result.text);
        assert!(!marker.exists(), "{common}");
    }
    // Another repository behind an ordinary `.git`.
    let other = fixture.home.join("other");
    std::fs::create_dir(&other).unwrap();
    git(&other, &["init", "-q"]);
    git(&other, &["commit", "-q", "--allow-empty", "-m", SECRET]);
    let fixture = Fixture::new();
    fixture.write(".git/commondir", &other.join(".git").display().to_string());
    std::fs::copy(other.join(".git/HEAD"), fixture.root.join(".git/HEAD")).unwrap();
    let called = fixture.call("git_log", json!({})).await;
    assert!(!called.result.for_model().contains(SECRET), "{}", called.result.text);
}

#[tokio::test]
async fn a_clone_that_was_changed_shows_nothing_of_elsewhere() {
    let fixture = Fixture::new();
    let outside = fixture.home.join("hosts.yml");
    std::fs::write(&outside, SECRET).unwrap();
    let git = fixture.root.join(".marvin/tools_cache/github/o/n/.git");
    std::fs::create_dir_all(&git).unwrap();
    for (head, link) in [(None, "HEAD"), (Some("ref: x"), "x"), (Some("ref: ../../../../x"), "y")] {
        if let Some(head) = head {
            std::fs::remove_file(git.join("HEAD")).ok();
            std::fs::write(git.join("HEAD"), head).unwrap();
        }
        symlink(&outside, git.join(link)).unwrap();
        let called = fixture.call("github_clone", json!({"repo": "o/n"})).await;
        assert_eq!(called.result.data["commit"], "", "{link}");
        assert!(!called.result.for_model().contains(SECRET), "{link}");
    }
}

#[tokio::test]
async fn a_hard_link_is_not_written_through() {
    let fixture = Fixture::new();
    let outside = fixture.home.join("outside.txt");
    std::fs::write(&outside, "theirs\n").unwrap();
    std::fs::hard_link(&outside, fixture.root.join("linked.txt")).unwrap();
    fixture.good("append_file", json!({"path": "linked.txt", "content": "ours\n"})).await;
    assert_eq!(fixture.read("linked.txt"), "theirs\nours\n");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "theirs\n");
}
