//! Real children in the box that `bwrap` makes. Where it is missing, the tests say so and pass; `cargo xtask test` installs
//! it and sets `MARVIN_TEST_BUBBLEWRAP`, and then nothing is left out.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr
)]

use marvin_base::child::{Child, Ending, Limits, Outcome, run};
use marvin_gate::sandbox::{Policy, bubblewrap};
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

struct Box {
    _folder: tempfile::TempDir,
    root: PathBuf,
    policy: Policy,
}

impl Box {
    fn new() -> Option<Self> {
        if let Err(why) = bubblewrap::ready() {
            assert!(std::env::var_os("MARVIN_TEST_BUBBLEWRAP").is_none(), "bubblewrap must work here: {why}");
            eprintln!("SKIPPED: nothing of bubblewrap was tested: {why}");
            return None;
        }
        // Not in /tmp, which is empty inside.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in
            ["work/.git/hooks", "work/.marvin/runs", "work/.tickets", "temporary", "home/.ssh", "elsewhere"]
        {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in
            ["work/.git/config", "work/.git/hooks/pre-commit", "work/.marvin/runs/a", "work/.tickets/a.md"]
        {
            std::fs::write(root.join(name), "old").unwrap();
        }
        for name in ["home/.ssh/id_rsa", "home/.bash_history", "elsewhere/keep"] {
            std::fs::write(root.join(name), "s3cret").unwrap();
        }
        let mut policy = Policy::new(root.join("work"), root.join("temporary"));
        policy.hidden = marvin_gate::secrets::places(&root.join("home"));
        Some(Box { _folder: folder, root, policy })
    }

    fn child(&self, script: &str) -> Child {
        let mut child = Child::new("bash").args(["-c", script]);
        child.folder = Some(self.root.join("work"));
        child.set.insert("R".into(), self.root.display().to_string());
        assert_eq!(bubblewrap::wrap(&mut child, &self.policy).unwrap(), "bubblewrap+seccomp");
        child
    }

    async fn run(&self, script: &str) -> Outcome {
        run(self.child(script), &CancellationToken::new()).await.unwrap()
    }

    async fn works(&self, script: &str) -> String {
        let outcome = self.run(script).await;
        assert_eq!(outcome.ending, Ending::Exited(0), "{script}: {}", outcome.stderr.text());
        outcome.stdout.text()
    }

    async fn fails(&self, script: &str) {
        let outcome = self.run(script).await;
        assert_ne!(outcome.ending, Ending::Exited(0), "{script}: {}", outcome.stdout.text());
        assert!(!outcome.stdout.text().contains("s3cret"), "{script}");
    }
}

#[tokio::test]
async fn writes_stay_inside_and_what_is_guarded_stays_as_it_is() {
    let Some(sandbox) = Box::new() else { return };
    sandbox.works("echo a > a && mkdir b && mv a b/a && echo t > $TMPDIR/t && echo t > /tmp/private && echo o > .git/ORIG_HEAD").await;
    assert!(!std::path::Path::new("/tmp/private").exists());
    for script in [
        "echo x > $R/elsewhere/x",
        "echo x > $R/elsewhere/keep",
        "rm $R/elsewhere/keep",
        "chmod 777 $R/elsewhere/keep",
        "touch -d 2001-01-01 $R/elsewhere/keep",
        "echo x > /usr/x",
        "echo x > .git/config",
        "echo x > .git/hooks/post-commit",
        "rm .git/hooks/pre-commit",
        "mv .git old",
        "mv .git/hooks .git/old",
        "rm -rf .git/config",
        "echo x > .marvin/runs/b",
        "echo x > .marvin/runs/a",
        "mv .marvin old",
        "echo x > .tickets/b.md",
        "mount -o remount,rw .marvin",
        "umount .marvin",
    ] {
        sandbox.fails(script).await;
    }
    for name in
        ["work/.git/config", "work/.git/hooks/pre-commit", "work/.marvin/runs/a", "work/.tickets/a.md"]
    {
        assert_eq!(std::fs::read_to_string(sandbox.root.join(name)).unwrap(), "old", "{name}");
    }
    assert_eq!(std::fs::read_to_string(sandbox.root.join("elsewhere/keep")).unwrap(), "s3cret");
}

#[tokio::test]
async fn secrets_and_other_processes_are_not_there() {
    let Some(sandbox) = Box::new() else { return };
    for script in [
        "cat $R/home/.ssh/id_rsa",
        "cat $R/home/.ssh/*",
        "grep . $R/home/.bash_history",
        "grep . /etc/shadow",
        "ls $R/home/.ssh/id_rsa",
        &format!("kill -0 {}", std::process::id()),
        &format!("cat /proc/{}/environ", std::process::id()),
        "ls /run/*",
    ] {
        sandbox.fails(script).await;
    }
    assert!(sandbox.works("ls /proc | grep -c '^[0-9]'").await.trim().parse::<u32>().unwrap() < 10);
    // The home folder itself can be listed, unlike in the other box.
    sandbox.works("ls -a $R/home && ls $R/home/.ssh && cat /etc/passwd > /dev/null").await;
    assert_eq!(std::fs::read_to_string(sandbox.root.join("home/.ssh/id_rsa")).unwrap(), "s3cret");
}

#[tokio::test]
async fn the_network_is_its_own() {
    let Some(mut sandbox) = Box::new() else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let knock = format!("echo x > /dev/tcp/127.0.0.1/{port}");
    sandbox.fails(&knock).await;
    sandbox.fails("unshare -Ur true").await;
    sandbox.fails("mount -t tmpfs none .").await;
    // Tests of servers work: loopback is there, with nobody else on it.
    if std::process::Command::new("python3").arg("--version").output().is_ok() {
        sandbox
            .works(
                "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen(); \
                 c = socket.create_connection(s.getsockname())'",
            )
            .await;
        sandbox.fails("python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'").await;
        sandbox.fails("python3 -c 'import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)'").await;
    }
    sandbox.policy.network = true;
    sandbox.works(&knock).await;
    sandbox.policy.readonly = true;
    sandbox.fails("echo x > x").await;
}

#[tokio::test]
async fn everything_ends_with_it() {
    let Some(sandbox) = Box::new() else { return };
    let mut late = sandbox.child("setsid -f sleep 81.25; trap '' TERM; sleep 81.25");
    late.deadline = Duration::from_millis(500);
    let outcome = run(late, &CancellationToken::new()).await.unwrap();
    assert_eq!(outcome.ending, Ending::Late);
    assert!(outcome.elapsed < Duration::from_secs(8));
    let mut bomb =
        sandbox.child(
        "F=$((EPOCHSECONDS + 10)); b() { if (( $1 < 11 && EPOCHSECONDS < F )); then b $(($1 + 1)) | b $(($1 + 1)) & else sleep 9; fi; }; \
         b 0; sleep 81.25",
    );
    bomb.limits = Limits { processes: Some(150), ..bomb.limits };
    bomb.deadline = Duration::from_secs(20);
    assert_eq!(run(bomb, &CancellationToken::new()).await.unwrap().ending, Ending::Crowded);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    assert!(!lines.any(|line| String::from_utf8_lossy(&line).contains("81.25")));
}
