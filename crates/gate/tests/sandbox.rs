//! Real children in the real box. Where the kernel has no Landlock, only the refusal is tested.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use marvin_gate::sandbox::{Policy, SandboxError, available, contain};
use std::path::Path;
use std::process::{Command, Output};

struct Box {
    workspace: tempfile::TempDir,
    temporary: tempfile::TempDir,
    elsewhere: tempfile::TempDir,
}

impl Box {
    fn new() -> Option<Self> {
        let made = Box {
            workspace: tempfile::tempdir().unwrap(),
            temporary: tempfile::tempdir().unwrap(),
            elsewhere: tempfile::tempdir().unwrap(),
        };
        if available().kind == "none" {
            let mut command = Command::new("true");
            let policy = Policy::new(made.workspace.path(), made.temporary.path());
            assert!(matches!(contain(&mut command, &policy), Err(SandboxError::Unavailable { .. })));
            return None;
        }
        Some(made)
    }

    fn run(&self, script: &str) -> Output {
        self.run_listening(script, None)
    }

    fn run_listening(&self, script: &str, listen: Option<u16>) -> Output {
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(self.workspace.path());
        command.env("ELSEWHERE", self.elsewhere.path());
        let mut policy = Policy::new(self.workspace.path(), self.temporary.path());
        policy.listen = listen;
        assert_eq!(contain(&mut command, &policy).unwrap(), "landlock+seccomp");
        command.output().unwrap()
    }

    #[track_caller]
    fn works(&self, script: &str) -> String {
        let output = self.run(script);
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[track_caller]
    fn fails(&self, script: &str) {
        let output = self.run(script);
        assert!(!output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

fn installed(program: &str) -> bool {
    std::env::var("PATH").unwrap().split(':').any(|folder| Path::new(folder).join(program).exists())
}

#[test]
fn writes_stay_inside() {
    let Some(sandbox) = Box::new() else { return };
    sandbox
        .works("echo hi > a && mkdir -p b && mv a b/a && cat b/a && echo x > $TMPDIR/y && echo z >/dev/null");
    std::fs::write(sandbox.elsewhere.path().join("keep"), "old").unwrap();
    for script in [
        "echo x > $ELSEWHERE/x",
        "echo x >> $ELSEWHERE/keep",
        "truncate -s 0 $ELSEWHERE/keep",
        "rm $ELSEWHERE/keep",
        "mv $ELSEWHERE/keep .",
        "mkdir $ELSEWHERE/folder",
        "ln $ELSEWHERE/keep here",
        "ln -s $ELSEWHERE out && echo x > out/x",
        "cd $ELSEWHERE && echo x > x",
        "echo x > /tmp/marvin-should-not-exist",
        "echo x > \"$HOME/.marvin-should-not-exist\"",
        "bash -c 'bash -c \"echo x > $ELSEWHERE/x\"'",
        "(setsid bash -c 'echo x > $ELSEWHERE/x')",
    ] {
        sandbox.fails(script);
    }
    assert_eq!(std::fs::read_to_string(sandbox.elsewhere.path().join("keep")).unwrap(), "old");
    assert_eq!(std::fs::read_dir(sandbox.elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn there_is_no_network() {
    let Some(sandbox) = Box::new() else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    sandbox.fails(&format!("echo x > /dev/tcp/127.0.0.1/{port}"));
    sandbox.fails(&format!("echo x > /dev/udp/127.0.0.1/{port}"));
    if installed("python3") {
        for kind in
            ["AF_INET, socket.SOCK_STREAM", "AF_INET, socket.SOCK_DGRAM", "AF_INET6, socket.SOCK_DGRAM"]
        {
            sandbox.fails(&format!("python3 -c 'import socket; socket.socket(socket.{kind})'"));
        }
        sandbox.works("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'");
        sandbox
            .works("python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'");
    }
}

#[test]
fn the_ways_out_are_closed() {
    let Some(sandbox) = Box::new() else { return };
    if installed("unshare") {
        sandbox.fails("unshare -Ur true");
        sandbox.fails("unshare -n true");
    }
    if installed("mount") {
        sandbox.fails("mount -t tmpfs none .");
    }
    sandbox.fails(&format!("kill -0 {}", std::process::id()));
    sandbox.works("sleep 5 & kill $!");
}

#[test]
fn git_works_inside() {
    let Some(sandbox) = Box::new() else { return };
    if !installed("git") {
        return;
    }
    let log = sandbox.works(
        "export HOME=$TMPDIR && git init -q . && echo a > a && git add a && \
         git -c user.name=a -c user.email=a@b commit -qm first && git log --oneline && git status --short",
    );
    assert!(log.contains("first"), "{log}");
}

#[test]
fn a_missing_folder_is_an_error_before_anything_runs() {
    if Box::new().is_none() {
        return;
    }
    let mut command = Command::new("true");
    let error = contain(&mut command, &Policy::new("/no/such/folder", "/tmp")).unwrap_err();
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}

#[test]
fn places_of_credentials_are_hidden() {
    let Some(sandbox) = Box::new() else { return };
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let workspace = home.join("work");
    for folder in ["work", ".ssh", ".cargo", ".config/gh", ".config/git", "real-aws", "other"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    for file in [".ssh/id_rsa", ".cargo/credentials.toml", ".cargo/config.toml", ".config/gh/hosts.yml"] {
        std::fs::write(home.join(file), "s3cret").unwrap();
    }
    for file in [".bash_history", ".gitconfig", "real-aws/credentials", "other/a.txt", "work/a.txt"] {
        std::fs::write(home.join(file), "s3cret").unwrap();
    }
    std::os::unix::fs::symlink(home.join("real-aws"), home.join(".aws")).unwrap();
    std::os::unix::fs::symlink(home.join(".ssh"), workspace.join("link")).unwrap();
    std::os::unix::fs::symlink(home.join(".ssh"), home.join("keys")).unwrap();
    let mut policy = Policy::new(&workspace, sandbox.temporary.path());
    policy.hidden = marvin_gate::secrets::places(&home);
    let run = |script: &str| {
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(&workspace).env("H", &home);
        contain(&mut command, &policy).unwrap();
        command.output().unwrap()
    };
    for script in [
        "cat $H/.ssh/id_rsa",
        "cat link/id_rsa",
        "cat $H/keys/id_rsa",
        "ls $H/.ssh",
        "cat $H/.cargo/credentials.toml",
        "cat $H/.config/gh/hosts.yml",
        "cat $H/.bash_history",
        "cat $H/.aws/credentials",
        "cat $H/real-aws/credentials",
        "cat /etc/shadow",
        "cp $H/.ssh/id_rsa stolen",
        "ln $H/.ssh/id_rsa stolen && cat stolen",
        "mv $H/.ssh stolen",
    ] {
        let output = run(script);
        assert!(!output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(!String::from_utf8_lossy(&output.stdout).contains("s3cret"), "{script}");
    }
    for script in [
        "cat a.txt $H/.gitconfig $H/other/a.txt $H/.cargo/config.toml",
        "echo x > b.txt && ls . && ls $H/other",
        "cat /etc/passwd >/dev/null && ls /usr/bin >/dev/null && /bin/sh -c true",
        "cd src 2>/dev/null; pwd -P",
    ] {
        let output = run(script);
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_environment_of_the_shell_is_closed() {
    let Some(sandbox) = Box::new() else { return };
    let shell = std::process::id();
    sandbox.works("true");
    for script in [
        format!("cat /proc/{shell}/environ"),
        format!("head -c1 /proc/{shell}/mem"),
        format!("readlink /proc/{shell}/fd/1"),
        format!("readlink /proc/{shell}/exe"),
    ] {
        sandbox.fails(&script);
    }
    sandbox.works("cat /proc/self/environ > /dev/null");
    // Once more as somebody without privileges, where that can be arranged.
    if rustix::process::geteuid().is_root() && installed("setpriv") {
        let nobody = |arguments: &[&std::ffi::OsStr]| {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(arguments);
            command.output().unwrap()
        };
        let program = std::env::current_exe().unwrap();
        if nobody(&["test".as_ref(), "-x".as_ref(), program.as_os_str()]).status.success() {
            let name = "the_environment_of_the_shell_is_closed";
            let output = nobody(&[program.as_os_str(), "--exact".as_ref(), name.as_ref()]);
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
        }
    }
}

#[test]
fn root_is_nobody_inside() {
    let Some(sandbox) = Box::new() else { return };
    let sets = sandbox.works("grep ^Cap /proc/self/status");
    for line in
        sets.lines().filter(|line| !line.starts_with("CapBnd") || rustix::process::geteuid().is_root())
    {
        assert!(line.ends_with("0000000000000000"), "{sets}");
    }
    sandbox.fails("mknod null c 1 3");
    sandbox.fails("mknod disk b 8 0");
    sandbox.works(
        "mkfifo pipe && echo x > own && chmod 600 own && cat own && chmod 755 own && touch -d 2001-01-01 own",
    );
    if installed("setfattr") {
        sandbox.fails("setfattr -n user.a -v b own");
    }
    if rustix::process::geteuid().is_root() {
        sandbox.fails("chown 65534 own");
        // A mounted project that belongs to somebody else can still be worked in.
        std::os::unix::fs::chown(sandbox.workspace.path(), Some(65534), Some(65534)).unwrap();
        sandbox.works("echo x > theirs && rm theirs");
        sandbox.fails("mknod null c 1 3");
    }
}

#[test]
fn builds_work_while_the_real_home_is_hidden() {
    let Some(sandbox) = Box::new() else { return };
    let home = std::env::var("HOME").unwrap_or_else(|_| "/".into());
    let mut policy = Policy::new(sandbox.workspace.path(), sandbox.temporary.path());
    policy.hidden = marvin_gate::secrets::places(Path::new(&home));
    let project = sandbox.workspace.path();
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::fs::write(
        project.join("Cargo.toml"),
        "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    )
    .unwrap();
    std::fs::write(project.join("src/main.rs"), "fn main() { println!(\"built\"); }\n").unwrap();
    for (program, script) in [
        ("git", "git init -q . && git status --short"),
        ("python3", "python3 -c 'import json, sys, tempfile; tempfile.TemporaryFile(); print(sys.path)'"),
        ("node", "node -e 'console.log(require(\"os\").cpus().length)'"),
        ("cargo", "unset CARGO_TARGET_DIR; CARGO_NET_OFFLINE=true cargo run -q --offline"),
    ] {
        if !installed(program) {
            continue;
        }
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(project);
        contain(&mut command, &policy).unwrap();
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn one_port_can_be_listened_on_and_nobody_called() {
    let Some(sandbox) = Box::new() else { return };
    if !installed("python3") || !available().tcp {
        return;
    }
    let somebody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = somebody.local_addr().unwrap().port();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let python = |line: &str| {
        let output = sandbox
            .run_listening(&format!("python3 -c 'import socket; s = socket.socket(); {line}'"), Some(free));
        output.status.success()
    };
    assert!(python(&format!("s.bind((\"127.0.0.1\", {free})); s.listen()")));
    for line in [
        "s.bind((\"127.0.0.1\", 0)); s.listen()".to_string(),
        format!("s.bind((\"127.0.0.1\", {})); s.listen()", free.wrapping_add(1).max(1024)),
        format!("s.connect((\"127.0.0.1\", {taken}))"),
        format!("s.connect((\"127.0.0.1\", {free}))"),
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)".to_string(),
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)".to_string(),
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)".to_string(),
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)".to_string(),
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)".to_string(),
    ] {
        assert!(!python(&line), "{line}");
    }
    let unix = sandbox.run_listening("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", Some(free));
    assert!(unix.status.success());
}
